// What the AllReduce scene shows at one time, in words and numbers and without places: a function of the
// Trace and a Frame. Layout gives it places, the figure draws it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/scenes/allreduce_numbers.hpp"
#include "app/scenes/allreduce_transfers.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

/// A sentence by its key in the language tables, with its arguments.
struct Sentence {
  std::string key;
  std::vector<std::string> args;
};

/// One element on demand: the value that a rank works with in a place after its transfer (index into
/// TransferTable::all(), -1 = its input). Nothing where the inputs are not at hand (live, imports).
using ElementReader =
    std::function<std::optional<sim::Scalar>(int rank, std::int64_t element, int after_transfer)>;

struct ViewOptions {
  bool tensor = false;  // what a debugger on that rank would see, instead of what is in transit
  ElementReader element;
  std::int64_t followed = -1;  // an element of the buffer: its chunk shows this number alone; -1 = none
};

/// What is drawn of one chunk on one rank. `Adding` counts as added: the number is the new one.
struct CellView {
  sim::CellState state = sim::CellState::Own;
  std::uint64_t contributions = 0;
  int contribution_count = 0;
  bool poisoned = false;
  bool finished = false;  // the op's finish (÷ N) is applied
  int after_transfer = -1;
  Numbers numbers{};
};

struct FlightView {
  int src = 0, dst = 0;
  std::uint32_t chunk = 0, step = 0;
  std::uint16_t channel = 0;
  float progress = 0;  // 0 … 1 of its time; -1: the trace does not know when it ends
  bool reduces = false;
  std::uint64_t contributions = 0;
  Numbers numbers{};
};

/// A reduction: arrived ∘ own = result.
struct SumView {
  int src = 0, dst = 0;
  std::uint32_t chunk = 0, step = 0;
  bool hot = false;  // going on now; else the last one, still on its link
  std::uint64_t arrived_from = 0, own_from = 0;
  Numbers arrived{}, own{}, result{};
};

enum class Doing : std::uint8_t { Adds, Sends, Receives };
struct Activity {
  Doing doing = Doing::Adds;
  std::uint32_t chunk = 0;
};

struct RankView {
  sim::RankStatus status = sim::RankStatus::Idle;
  bool entered = false;   // it called the collective on stage
  bool finished = false;  // it is through
  bool dividing = false;
  bool poisoned = false;
  int node = 0, local_rank = 0;
  std::vector<Activity> activities;
  double share = 0;  // of all contributions to all chunks, how many are here: 1/N … 1
};

enum class ViewKind : std::uint8_t {
  Empty,    // no collective on stage yet
  Single,   // one GPU
  Hidden,   // ring steps are not visible
  Untold,   // they were, but the trace leaves them out: sampled or lost
  TooMany,  // more ranks than have cells
  Chunks,
};

struct RingView {
  ViewKind kind = ViewKind::Empty;
  int world = 0;
  bool ring = true;  // neighbours only; false: the naive algorithm and others
  int root = 0;
  sim::CollectiveInfo info;
  std::uint32_t ring_step = 0, steps = 0, reduce_steps = 0;
  float step_progress = 0;  // how far the current ring step is, 0 … 1
  std::int64_t t = 0, started = -1, ended = -1;
  bool reducing = false, done = false, divides = false, divided = false;
  std::vector<std::uint32_t> chunks;  // indices of the chunks that are shown: those that are not empty
  std::uint32_t hidden_empty = 0;
  bool one_number = false;  // one element altogether: the first lesson's form
  std::vector<RankView> ranks;
  std::vector<CellView> cells;  // rank-major over `chunks`
  std::vector<FlightView> flights;
  std::vector<SumView> sums;                        // hot ones first
  std::vector<std::pair<int, int>> poisoned_links;  // the last chunk that took this link held NaN or infinity
  std::vector<Sentence> now;
  Numbers goal_sum, goal_result;                          // of the first shown elements; empty: not known
  std::uint32_t transfers_done = 0, transfers_total = 0;  // without empty chunks

  const CellView& cell(int rank, std::size_t shown) const {
    return cells[static_cast<std::size_t>(rank) * chunks.size() + shown];
  }
  /// Place in `chunks` of a chunk index; chunks.size() if it is not shown.
  std::size_t shown(std::uint32_t chunk) const;
};

/// Everything about one moment. `table` is that of the collective on stage.
RingView make_view(const sim::Trace& trace, const sim::Frame& frame, const TransferTable& table,
                   const ViewOptions& options);

/// The first two sentences of a moment: what the ranks do now. Part of make_view.
std::vector<Sentence> now_sentences(const RingView& view);

/// "reduce-scatter", "all-gather", "÷ 4": keys of the phase that is on.
Sentence phase_name(const RingView& view);

}  // namespace ringside::app
