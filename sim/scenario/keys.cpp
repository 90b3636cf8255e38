// Every legal key of a scenario file, once: the parser's unknown-key check, reference.toml and the format's
// page are made from this table.
#include <array>
#include <string>

#include "sim/scenario/reference.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::sim {
namespace {

/// A key and how reference.toml sets it. An example that begins with '#' stays a comment there.
struct Row {
  KeyInfo info;
  std::string_view example;
};

constexpr std::string_view kDuration = "duration";
constexpr std::string_view kAnyDuration = "0ns … 292 years; a whole number with ns, us, ms, s, min or h";
constexpr std::string_view kRate = "rate";
constexpr std::string_view kAnyRate =
    "above 0; a number with B/s … TB/s (10^3), KiB/s … TiB/s (2^10) or Kb/s … Tb/s (bits)";

constexpr auto kRows = std::to_array<Row>({
    {{"", "title", "string", "up to 200 characters, one line", "\"\"",
      "What people see as the name of the scenario."},
     "\"Every key of a scenario file\""},
    {{"", "seed", "integer", "0 … 9223372036854775807", "1",
      "Start of every random draw; the same seed gives the same bytes of trace."},
     "1"},

    {{"cluster", "preset", "name of a preset", "see ringside-cli check --help", "none: the keys below",
      "Kind of node, by name: GPUs per node, links inside a node and between nodes."},
     "\"dgx-a100\""},
    {{"cluster", "nodes", "integer", "1 … 1048576", "1", "Number of machines."}, "2"},
    {{"cluster", "gpus_per_node", "integer", "1 … 1048576", "the preset's, else 4",
      "GPUs of a machine; world size = nodes × gpus_per_node, at most 1048576, or 1024 with numbers."},
     "4"},
    {{"cluster", "nodes_per_rack", "integer", "1 … 1048576", "8",
      "Machines that are drawn together as one rack."},
     "8"},
    {{"cluster", "intra_latency", kDuration, kAnyDuration, "the preset's, else 3400ns",
      "Latency of a link between two GPUs of one node."},
     "\"700ns\""},
    {{"cluster", "intra_bandwidth", kRate, kAnyRate, "the preset's, else 240GB/s",
      "Bandwidth of a link between two GPUs of one node, in one direction."},
     "\"240GB/s\""},
    {{"cluster", "inter_latency", kDuration, kAnyDuration, "the preset's, else 5us",
      "Latency of a link between two GPUs of different nodes."},
     "\"2700ns\""},
    {{"cluster", "inter_bandwidth", kRate, kAnyRate,
      "the preset's (all NICs of a node together), else 25GB/s",
      "Bandwidth of a link between two GPUs of different nodes, in one direction."},
     "\"200GB/s\""},

    {{"cluster.shared", "nics_per_node", "integer", "1 … gpus_per_node", "needed in this table",
      "NICs that the GPUs of a node share on the way to other nodes; GPU l takes NIC l · nics / GPUs."},
     "2"},
    {{"cluster.shared", "nic_bandwidth", kRate, kAnyRate, "inter_bandwidth",
      "Bandwidth of one NIC, in one direction."},
     "\"400Gb/s\""},
    {{"cluster.shared", "nodes_per_leaf", "integer", "0 … nodes", "0 (all under one switch)",
      "Nodes under one leaf switch; ways to other nodes go over the spine."},
     "1"},
    {{"cluster.shared", "rails", "boolean", "true, false", "false",
      "Rail-optimised: NIC i of these nodes has a leaf switch of its own."},
     "true"},
    {{"cluster.shared", "spine_bandwidth", kRate, kAnyRate, "needed with nodes_per_leaf or rails",
      "All uplinks of one leaf switch together; less than what hangs below it is oversubscribed."},
     "\"50GB/s\""},

    {{"link", "from", "integer", "0 … world size - 1", "needed",
      "Rank at which the link starts; a link has one direction."},
     "3"},
    {{"link", "to", "integer", "0 … world size - 1, not from", "needed", "Rank at which the link ends."},
     "4"},
    {{"link", "latency", kDuration, kAnyDuration, "that of its class", "Latency of this link alone."},
     "\"3us\""},
    {{"link", "bandwidth", kRate, kAnyRate, "that of its class", "Bandwidth of this link alone."},
     "\"400Gb/s\""},

    {{"tensor", "shape", "list of integers or sizes",
      "1 … in every place, at most 16 places, 4 GiB for all ranks",
      "needed, unless files or the network decide it", "Extents of the tensor that every rank contributes."},
     "[2, 8]"},
    {{"tensor", "dtype", "word", "float64, float32, float16, bfloat16, int32, int64",
      "float32, or that of the files", "Type of the elements; rounding happens in it at every hop."},
     "\"float32\""},
    {{"tensor", "values", "word, list or table",
      "\"index\" (rank · count + i), \"ones\", \"none\" (time only, no numbers), one list a rank, or one of "
      "the tables below",
      "\"index\"", "Numbers that the ranks start from."},
     "\"index\""},
    {{"tensor.values", "file", "string", "a path with {rank} in it, below the scenario's folder", "no files",
      "NumPy .npy files, one a rank."},
     "# values = { file = \"grads/rank{rank}.npy\" }"},
    {{"tensor.values", "random", "word", "normal", "no random numbers",
      "Numbers drawn from the seed: mean 0, variance 1 (integers: × 1000)."},
     "# values = { random = \"normal\" }"},

    {{"training", "steps", "integer", "1 … 1000000", "1", "Training steps of the job, counted from 1."},
     "20"},
    {{"training", "forward", kDuration, kAnyDuration, "0ns", "Time of a forward pass."}, "\"30ms\""},
    {{"training", "loss", kDuration, kAnyDuration, "0ns", "Time of the loss."}, "\"2ms\""},
    {{"training", "backward", kDuration, kAnyDuration, "0ns", "Time of a backward pass."}, "\"60ms\""},
    {{"training", "optimizer", kDuration, kAnyDuration, "0ns", "Time of the optimizer's step."}, "\"5ms\""},
    {{"training", "jitter", "number", "0 … 0.9", "0",
      "How far a phase's time differs per rank and step, at random: 0.02 is ± 2 %."},
     "0.02"},
    {{"training", "buckets", "integer", "1 … 1024, at most one per element", "1",
      "DDP's buckets: the gradient is reduced in so many collectives a step, with a network the last layer "
      "first."},
     "2"},
    {{"training", "overlap", "boolean", "true, false", "false",
      "Whether a bucket's collective starts while the backward pass goes on."},
     "false"},
    {{"training", "on_nan", "word", "continue, raise, skip-here, skip-all", "continue",
      "What a rank does with NaN in its gradient: go on, stop with an error, skip the step alone, or skip it "
      "with all."},
     "\"continue\""},
    {{"training", "checkpoint_steps", "integer", "0 … 1000000", "0 (no checkpoints)",
      "Steps between two checkpoints."},
     "10"},
    {{"training", "checkpoint", kDuration, kAnyDuration, "0ns", "Time to write a checkpoint."}, "\"2s\""},
    {{"training", "restart", kDuration, kAnyDuration, "90s",
      "Time from a failure to the first step after it."},
     "\"90s\""},

    {{"training.network", "enabled", "boolean", "true, false", "true when the table is there",
      "Whether a small real network is trained; its gradient is then the tensor."},
     "false"},
    {{"training.network", "layers", "list of integers", "2 … 16 places, 1 … 4096 each", "needed when enabled",
      "Widths of the layers: input, hidden …, output."},
     "[2, 8, 8, 1]"},
    {{"training.network", "batch", "integer", "1 … 65536", "4", "Samples of a rank in a step."}, "4"},
    {{"training.network", "learning_rate", "number", "0 … 1000", "0.05",
      "Step size of plain gradient descent."},
     "0.05"},
    {{"training.network", "all_reduce", "boolean", "true, false", "true",
      "Whether gradients are averaged; false calls no collective: every rank trains alone."},
     "true"},

    {{"collective", "collective", "word",
      "all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all", "all_reduce",
      "What the ranks do together once a step and bucket."},
     "\"all_reduce\""},
    {{"collective", "algorithm", "word",
      "ring, naive, recursive_doubling, rabenseifner, binomial_tree, tree, hierarchical, nvls", "ring",
      "Who sends what to whom."},
     "\"ring\""},
    {{"collective", "order", "word", "nccl, textbook", "nccl",
      "Order of the ring: position r sends chunk r-1 first and ends owning chunk r, or sends chunk r first "
      "and ends "
      "owning chunk r+1."},
     "\"nccl\""},
    {{"collective", "chunking", "word", "even, nccl", "even",
      "How the buffer is cut: evenly, or as NCCL does it (loops, tail rounded up to 16 bytes)."},
     "\"even\""},
    {{"collective", "op", "word", "sum, avg, sum_then_divide, prod, min, max", "avg",
      "How numbers are combined; avg multiplies by 1/n before the sum, sum_then_divide divides after it."},
     "\"avg\""},
    {{"collective", "channels", "integer", "1 … 64", "1", "Channels that the buffer is split over."}, "1"},
    {{"collective", "root", "integer", "0 … world size - 1", "0", "Root of broadcast, reduce and naive."},
     "0"},
    {{"collective", "reduce", kDuration, kAnyDuration, "0ns",
      "Time of one reduction after a chunk has arrived."},
     "\"300ns\""},

    {{"collective", "rings", "list of lists of integers", "every rank once in each; at most one a channel",
      "0, 1, 2 … in every channel",
      "Order of the GPUs in each channel's ring (the last one for all further channels), so that each "
      "channel "
      "crosses "
      "nodes at another NIC."},
     "[[0, 1, 2, 3, 4, 5, 6, 7]]"},
    {{"collective", "inter_tree", "boolean", "true, false", "false",
      "hierarchical: NCCL's tree between the nodes instead of a ring."},
     "false"},

    {{"stack", "library", "word", "nccl, gloo, mpi", "nccl",
      "Library whose behaviour on mistakes is simulated."},
     "\"nccl\""},
    {{"stack", "transport", "word", "nvlink, ib, roce, tcp, shm",
      "nccl: nvlink in one node, else the preset's network or ib; gloo: tcp; mpi: shm in one node, else tcp",
      "What the bytes travel on, for what the stack would report."},
     "\"ib\""},
    {{"stack", "launcher", "word",
      "torchrun, mpirun, mpirun --enable-recovery, srun, srun --kill-on-bad-exit", "torchrun; mpirun for mpi",
      "What started the ranks, and what it does when one ends."},
     "\"torchrun\""},
    {{"stack", "watchdog", "duration or word", "above 0ns, or \"off\"", "nccl 600s, gloo 1800s, mpi off",
      "How long a collective may take before the job is ended."},
     "\"600s\""},
    {{"stack", "heartbeat", kDuration, "above 0ns", "480s", "How long the watchdog itself may be silent."},
     "\"480s\""},
    {{"stack", "debug", "word", "off, detail", "off",
      "TORCH_DISTRIBUTED_DEBUG: detail compares every call between the ranks before it runs."},
     "\"off\""},

    {{"failures", "per_1000_node_days", "number", "0 … 1000000", "0",
      "Random failures: how many in 1000 days of a node."},
     "0"},
    {{"failures", "after", "word", "restart, stop", "restart", "What the job does after one."},
     "\"restart\""},

    {{"fault", "kind", "word", "see the list of kinds above", "needed", "What breaks."}, ""},
    {{"fault", "rank", "integer", "0 … world size - 1", "needed, unless a node or a link is struck",
      "The rank that it strikes."},
     ""},
    {{"fault", "node", "integer", "0 … nodes - 1", "none", "The node that it strikes, instead of a rank."},
     ""},
    {{"fault", "from", "integer", "0 … world size - 1", "needed for a link",
      "Rank at which the link starts."},
     ""},
    {{"fault", "to", "integer", "0 … world size - 1", "needed for a link", "Rank at which the link ends."},
     ""},
    {{"fault", "step", "integer", "1 … training steps", "1", "Training step in which it strikes."}, ""},
    {{"fault", "at", "word", "forward, loss, backward, all_reduce, optimizer", "backward",
      "Where in the step it strikes."},
     ""},
    {{"fault", "time", kDuration, kAnyDuration, "none", "When it strikes, instead of step and at."}, ""},
    {{"fault", "duration", kDuration, "above 0ns", "needed for link_flap and ib_flap",
      "How long it lasts; for slow: how much longer every step is."},
     ""},
    {{"fault", "factor", "number", "0.000001 … 0.999999", "needed for link_slow",
      "Speed that is left, as a part of the healthy one."},
     ""},
    {{"fault", "element", "integer", "0 … count - 1", "0", "Flat index of the number that it strikes."}, ""},
    {{"fault", "bit", "integer", "0 … 63, below the dtype's width", "needed for bit_flip",
      "Bit that flips, counted from the lowest."},
     ""},
    {{"fault", "shape", "list of integers or sizes", "as in [tensor], but another", "needed for shape",
      "Shape that this rank uses."},
     ""},
    {{"fault", "dtype", "word", "as in [tensor], but another", "needed for dtype",
      "dtype that this rank uses."},
     ""},
    {{"fault", "op", "word", "as in [collective], but another", "needed for op", "op that this rank uses."},
     ""},
});

constexpr std::string_view kHead =
    R"(# Every key of a scenario file, with its type, legal values and default. An absent key takes its default; an
# unknown key or a bad value is an error with line and column. This file is a valid scenario and is made from the
# table in sim/scenario/keys.cpp; a test compares the two.
#
# Durations: a whole number and ns, us, ms, s, min or h. Sizes: K, M, G are powers of 2^10.
# Counting: training steps and ring steps from 1; ranks, nodes, chunks and elements from 0.
)";

constexpr std::string_view kFaults = R"(
# The kinds of fault and the keys of each, beside step or time. A key that means nothing for a kind is an error.
#   nan, inf_overflow            rank, at, element
#   crash, hang                  rank, at
#   slow                         rank, duration or factor
#   shape, dtype, op             rank, and the key of the same name
#   skip_step, skip_collective, extra_step, early_exit, wrong_order    rank
#   bit_flip                     rank, at, element, bit
#   link_down                    from, to, at
#   link_slow                    from, to, at, factor
#   link_flap                    from, to, at, duration
#   gpu_reset, pcie_power, oom   rank or node, at
#   ib_flap                      rank or node, at, duration

[[fault]]
kind = "slow"
rank = 1
step = 2
duration = "15ms"

[[fault]]
kind = "link_slow"
from = 3
to = 4
step = 3
at = "all_reduce"
factor = 0.25

[[fault]]
kind = "link_flap"
from = 7
to = 0
time = "500ms"
duration = "20ms"

[[fault]]
kind = "bit_flip"
rank = 2
step = 6
at = "backward"
element = 5
bit = 30

[[fault]]
kind = "op"
rank = 4
step = 7
op = "sum"

[[fault]]
kind = "nan"
rank = 3
step = 8
at = "backward"
element = 0

[[fault]]
kind = "shape"
rank = 5
step = 12
shape = [2, 7]

[[fault]]
kind = "dtype"
rank = 6
step = 16
dtype = "float16"

[[fault]]
kind = "gpu_reset"
node = 1
step = 20
)";

void append_table_header(std::string& out, std::string_view table) {
  out += '\n';
  if (table.empty()) return;
  out += table == "link" || table == "fault" ? "[[" : "[";
  out += table;
  out += table == "link" || table == "fault" ? "]]\n" : "]\n";
}

void append_comment(std::string& out, const KeyInfo& info) {
  const auto line = [&](std::string_view label, std::string_view text) {
    out += "#   ";
    out += label;
    out += ": ";
    out += text;
    out += '\n';
  };
  out += "# ";
  if (info.table == "fault" || info.table == "tensor.values") {
    out += info.key;
    out += ": ";
  }
  out += info.meaning;
  out += '\n';
  line("type", info.type);
  line("legal", info.range);
  line("default", info.fallback);
}

}  // namespace

const std::vector<KeyInfo>& scenario_keys() {
  static const std::vector<KeyInfo> keys = [] {
    std::vector<KeyInfo> list;
    for (const Row& row : kRows) list.push_back(row.info);
    return list;
  }();
  return keys;
}

std::string reference_toml() {
  std::string out(kHead);
  std::string_view table = "-";
  for (const Row& row : kRows) {
    const bool heading = row.info.table != table && row.info.table != "tensor.values";
    if (heading && row.info.table != "fault") append_table_header(out, row.info.table);
    if (heading && row.info.table == "fault") out += "\n# [[fault]]: what breaks, where and when.\n";
    if (heading) table = row.info.table;
    append_comment(out, row.info);
    if (row.example.empty()) continue;
    if (row.example.front() != '#') {
      out += row.info.key;
      out += " = ";
    }
    out += row.example;
    out += '\n';
  }
  out += kFaults;
  return out;
}

}  // namespace ringside::sim
