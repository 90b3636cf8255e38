// What the same-shape scene asks the simulator: ranks that bring what does not match, by library. Nothing
// here knows an outcome: every one is read off a simulated job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/job/simulate.hpp"

namespace ringside::app {

/// In what the odd rank differs from the others: the rows of the table.
enum class Mismatch : std::uint8_t {
  None,          // it does not: all bring the same
  OtherCount,    // another shape with another number of elements
  Tail,          // a few elements more: the number of transfers happens to agree
  SameCount,     // another shape with as many elements
  SameWidth,     // another dtype of the same width
  OtherWidth,    // a wider dtype
  Op,            // another reduction op
  Order,         // its calls in another order
  Skip,          // one call left out
  Construction,  // DDP: another parameter shape in the model
};
inline constexpr std::array kMismatches{Mismatch::OtherCount, Mismatch::Tail,       Mismatch::SameCount,
                                        Mismatch::SameWidth,  Mismatch::OtherWidth, Mismatch::Op,
                                        Mismatch::Order,      Mismatch::Skip,       Mismatch::Construction};
/// "other_count" …: in keys of texts and in places.
std::string_view to_word(Mismatch mismatch);

/// The columns: who moves the numbers.
enum class Stack : std::uint8_t { Nccl, NcclDetail, Gloo, Mpi };
inline constexpr std::array kStacks{Stack::Nccl, Stack::NcclDetail, Stack::Gloo, Stack::Mpi};
std::string_view to_word(Stack stack);

/// What everybody brings, and what the odd rank brings.
struct Shapes {
  sim::Shape all{{4096, 4096}};
  sim::Shape odd{{2048, 4096}};
  int world = 4;
  bool operator==(const Shapes&) const = default;
  /// R2, as in the lesson; R1 of two.
  int odd_rank() const { return world > 2 ? 2 : 1; }
};

/// The job that shows it. Small numbers where numbers tell something; sizes only where they are large. The
/// rows about shapes take `shapes` (SameCount and None only if their counts agree: else a pair that does).
sim::Scenario scenario_of(Mismatch mismatch, Stack stack, const Shapes& shapes);
/// The shape that the odd rank brings in that job.
sim::Shape odd_shape_of(Mismatch mismatch, const Shapes& shapes);
sim::Shape all_shape_of(Mismatch mismatch, const Shapes& shapes);

/// How it ends for the person who waits for it.
enum class Ending : std::uint8_t {
  Fine,      // completes, and the numbers are right
  Silent,    // completes, nobody says anything, and the numbers are wrong
  Says,      // an error says so
  TimesOut,  // everybody waits until the watchdog or a timeout ends it
  Waits,     // everybody waits for ever
};
/// What kind of error, where it is one.
enum class Saying : std::uint8_t { None, Fingerprint, Size, Construction, Closed, Other };

/// The k-th call of a rank: which training step it was in, and whether all ranks called the same there.
struct CallBox {
  std::int64_t step = 0;
  sim::Collective collective = sim::Collective::AllReduce;
  bool done = false;
  bool agrees = true;
};

struct Verdict {
  Ending ending = Ending::Fine;
  Saying saying = Saying::None;
  int who = -1;               // the rank that says it first
  std::string line;           // its first line, as the stack prints it
  std::int64_t t_ns = 0;      // when
  int collectives_done = 0;   // collectives that every rank finished
  std::vector<double> first;  // element 0 of each rank's result, where the job ends with results
  std::vector<std::vector<CallBox>> calls;  // by rank
};
Verdict verdict_of(const sim::Simulation& simulation);

/// All verdicts of the table, computed when first asked for the shapes.
class VerdictTable {
 public:
  void set_shapes(const Shapes& shapes);
  const Shapes& shapes() const { return shapes_; }
  const Verdict& at(Mismatch mismatch, Stack stack);
  /// False for DDP over MPI: nobody does that.
  static bool applies(Mismatch mismatch, Stack stack) {
    return !(mismatch == Mismatch::Construction && stack == Stack::Mpi);
  }

 private:
  Shapes shapes_;
  std::array<std::array<std::optional<Verdict>, 4>, 10> cells_;
};

/// The numbers that the first card adds: 3 × 3 a rank.
sim::Tensor example_gradient(int rank);
/// Added element by element, in the order of the ranks, in float32.
sim::Tensor sum_of_gradients(int world);

/// Two shapes laid over each other, seen as rows and columns (more directions in front are rows; a vector is
/// one row): how large a drawn tile is, and how many tiles each has.
struct Overlay {
  std::int64_t tile = 1;  // extents of a tile; 0 = tiles are only about to scale
  int all_rows = 1, all_columns = 1, odd_rows = 1, odd_columns = 1;
  int common_rows() const { return all_rows < odd_rows ? all_rows : odd_rows; }
  int common_columns() const { return all_columns < odd_columns ? all_columns : odd_columns; }
};
Overlay overlay_of(const sim::Shape& all, const sim::Shape& odd);

/// The paper story: everybody brings a sheet of numbers; who adds what, and who waits for whom.
enum class Paper : std::uint8_t { All, Half, Absent };  // all bring 100; one brings 50; one never comes
struct PaperStory {
  static constexpr int kPeople = 4, kNumbers = 100;
  int added = 0;         // sheets that were added whole
  int stuck_at = -1;     // numbers that were added before there was no partner; -1 = not stuck
  bool waiting = false;  // for the one who does not come
};
/// The state at a share 0 … 1 of the story.
PaperStory paper_at(Paper paper, double share);

}  // namespace ringside::app
