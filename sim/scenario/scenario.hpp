// A scenario: everything that decides a simulated job. The same scenario gives the same bytes of trace on
// every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/collective/schedule.hpp"
#include "sim/collective/topology.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::sim {

/// How the tensors of the ranks come about.
enum class ValueSource : std::uint8_t { Index, List, File, RandomNormal, None, Ones };
enum class OnNan : std::uint8_t { Continue, Raise, SkipHere, SkipAll };
std::string_view to_word(OnNan on_nan);
enum class Library : std::uint8_t { Nccl, Gloo, Mpi };
std::string_view to_word(Library library);
enum class Transport : std::uint8_t { NvLink, Ib, Roce, Tcp, Shm };
std::string_view to_word(Transport transport);
enum class Launcher : std::uint8_t { Torchrun, Mpirun, MpirunEnableRecovery, Srun, SrunKillOnBadExit };
std::string_view to_word(Launcher launcher);
enum class AfterFailure : std::uint8_t { Restart, Stop };
std::string_view to_word(AfterFailure after);

struct ClusterSpec {
  std::string preset;  // empty = explicit links
  int nodes = 1;
  int gpus_per_node = 4;
  int nodes_per_rack = 8;
  Topology topology;  // resolved: preset, then intra/inter keys, then [[link]]
};

struct TensorSpec {
  Shape shape;
  DType dtype = DType::Float32;
  ValueSource values = ValueSource::Index;
  std::vector<std::shared_ptr<const Tensor>> list;  // List and File: one a rank, already in dtype
  std::string file_pattern;                         // File: "grads/rank{rank}.npy", for saving again
};

/// The real small network of the classroom: layers 2-8-8-1 and so on, ReLU that passes NaN, mean squared
/// error.
struct NetworkSpec {
  bool enabled = false;
  std::vector<int> layers;  // input, hidden …, output
  int batch = 4;            // samples a rank and step
  double learning_rate = 0.05;
  bool all_reduce = true;  // false: every rank trains alone
};

struct TrainingSpec {
  std::int64_t steps = 1;
  std::int64_t forward_ns = 0, loss_ns = 0, backward_ns = 0, optimizer_ns = 0;
  std::int64_t jitter_ppm = 0;  // ± parts per million of a phase's duration, per rank and step
  int buckets = 1;              // DDP's buckets: the gradient is cut in so many collectives a step
  bool overlap = false;         // start a bucket's AllReduce while backward goes on
  OnNan on_nan = OnNan::Continue;
  std::int64_t checkpoint_steps = 0;  // 0 = none
  std::int64_t checkpoint_ns = 0;
  std::int64_t restart_ns = 90'000'000'000;
  NetworkSpec network;
};

struct CollectiveSpec {
  Collective collective = Collective::AllReduce;
  Algorithm algorithm = Algorithm::Ring;
  RingOrder order = RingOrder::Nccl;
  Chunking chunking = Chunking::Even;
  ReduceOp op = ReduceOp::Avg;
  int channels = 1;
  int root = 0;
  std::int64_t reduce_ns = 0;             // time of one reduction in a ring step
  std::vector<std::vector<int>> rings{};  // ring: each channel's ranks in ring order; empty: 0, 1, 2 …
  bool inter_tree = false;                // hierarchical: a tree between the nodes instead of a ring
};

struct StackSpec {
  Library library = Library::Nccl;
  Transport transport = Transport::NvLink;
  Launcher launcher = Launcher::Torchrun;
  std::int64_t watchdog_ns = 600'000'000'000;  // 0 = off (written "off"; "0s" is refused)
  std::int64_t heartbeat_ns = 480'000'000'000;
  bool debug_detail = false;  // TORCH_DISTRIBUTED_DEBUG=DETAIL
};

struct FailureSpec {
  std::int64_t per_million_node_days = 0;  // per_1000_node_days × 1000; 0 = none
  AfterFailure after = AfterFailure::Restart;
};

struct Scenario {
  std::string title;
  std::uint64_t seed = 1;
  ClusterSpec cluster;
  TensorSpec tensor;
  TrainingSpec training;
  CollectiveSpec collective;
  StackSpec stack;
  FailureSpec failures;
  std::vector<Fault> faults;

  int world_size() const { return cluster.nodes * cluster.gpus_per_node; }
  ScheduleRequest schedule_request() const;
  /// "n17": the host name of a simulated node.
  static std::string node_name(int node);
};

inline constexpr std::int64_t kMaxRanksTimeOnly = 1'048'576;
inline constexpr std::int64_t kMaxRanksWithNumbers = 1'024;
inline constexpr std::int64_t kMaxNumberBytes = std::int64_t{4} << 30;

/// Gives the bytes of a file that a scenario names (values = { file = … }), or an error; opening files is the
/// caller's.
using FileLoader = std::function<Result<std::string>(std::string_view path)>;

/// Parses and checks a scenario. `file_name` is for messages only. An unknown key, wrong type, value out of
/// range or contradiction is an Error with line, column, the offending text and the legal values. Nothing is
/// silently defaulted but absent keys.
Result<Scenario> parse_scenario(std::string_view toml_text, std::string_view file_name,
                                const FileLoader& load = {});

/// The scenario as a TOML file that parses back to an equal scenario (values written out where they were
/// edited).
std::string to_toml(const Scenario& scenario);

/// One row per legal key, in the order of reference.toml: the source of that file, of error messages and of
/// completion.
struct KeyInfo {
  std::string_view table;  // "cluster", "" for top level, "fault" for [[fault]]
  std::string_view key;
  std::string_view type;      // "integer", "duration", "one of …"
  std::string_view range;     // "1 … 1048576"
  std::string_view fallback;  // its default as text
  std::string_view meaning;   // one sentence
};
const std::vector<KeyInfo>& scenario_keys();

/// The inputs of all ranks as the scenario says (before any fault). Empty for ValueSource::None.
/// RandomNormal: draw_normal with Purpose::TensorValues, step 0, rounded to the dtype (integers: × 1000).
std::vector<std::shared_ptr<const Tensor>> make_inputs(const Scenario& scenario);

}  // namespace ringside::sim
