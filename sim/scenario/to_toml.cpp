// A scenario as TOML that parses back to the same scenario. Keys that hold their default are left out, so
// that a saved file reads like one written by hand.
#include <charconv>
#include <cmath>

#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/model/preset.hpp"
#include "sim/scenario/fault_rules.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/words.hpp"

namespace ringside::sim {
namespace {

/// A basic string of TOML.
std::string quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string integer_text(std::int64_t value) {
  std::string out;
  append_int(out, value);
  return out;
}

/// A float of TOML: needs a point or an exponent, and its own words for what is not finite.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string out;
  append_double(out, value);
  return out;
}

/// A number of a tensor so that reading it gives the same bits: shortest in its own type where that works.
std::string scalar_text(Scalar value) {
  const double exact = to_double(value);
  if (!is_floating(value.dtype)) return integer_text(to_int64(value));
  if (is_nan(value) || is_inf(value)) return float_text(exact);
  std::string text;
  append_scalar(text, value);
  double back = 0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  if (make_scalar(value.dtype, back) != value) text = float_text(exact);
  const bool plain = text.find_first_of(".e") == std::string::npos;
  if (plain && (text == "-0" || text.size() > 15)) text += ".0";  // an integer has no -0 and ends at 2^63
  return text;
}

class Writer {
 public:
  void table(std::string_view name) { pending_ = "\n" + std::string(name) + "\n"; }
  void raw(std::string_view key, std::string_view value) {
    out += pending_;
    pending_.clear();
    out += key;
    out += " = ";
    out += value;
    out += '\n';
  }
  void string(std::string_view key, std::string_view value) { raw(key, quoted(value)); }
  void integer(std::string_view key, std::int64_t value, std::int64_t fallback) {
    if (value != fallback) raw(key, integer_text(value));
  }
  void duration(std::string_view key, std::int64_t value, std::int64_t fallback) {
    if (value != fallback) string(key, duration_text(value));
  }
  void rate(std::string_view key, std::int64_t value, std::int64_t fallback) {
    if (value != fallback) string(key, rate_text(value));
  }
  void boolean(std::string_view key, bool value, bool fallback) {
    if (value != fallback) raw(key, value ? "true" : "false");
  }
  void number(std::string_view key, double value, double fallback) {
    if (value != fallback) raw(key, float_text(value));
  }
  template <class T, std::size_t N>
  void word(std::string_view key, const Word<T> (&words)[N], T value, T fallback) {
    if (value != fallback) string(key, word_of(words, value));
  }
  std::string out;

 private:
  std::string pending_;
};

std::string list_text(const std::vector<std::int64_t>& values) {
  std::string out = "[";
  for (const std::int64_t value : values) {
    if (out.size() > 1) out += ", ";
    append_int(out, value);
  }
  return out + "]";
}

void write_cluster(Writer& writer, const Scenario& scenario, const Scenario& defaults) {
  const ClusterSpec& cluster = scenario.cluster;
  writer.table("[cluster]");
  if (!cluster.preset.empty()) writer.string("preset", cluster.preset);
  writer.raw("nodes", integer_text(cluster.nodes));
  writer.raw("gpus_per_node", integer_text(cluster.gpus_per_node));
  writer.integer("nodes_per_rack", cluster.nodes_per_rack, defaults.cluster.nodes_per_rack);
  const Topology& own = cluster.topology;
  const Topology& usual = defaults.cluster.topology;
  writer.duration("intra_latency", own.intra.latency_ns, usual.intra.latency_ns);
  writer.rate("intra_bandwidth", own.intra.bytes_per_s, usual.intra.bytes_per_s);
  writer.duration("inter_latency", own.inter.latency_ns, usual.inter.latency_ns);
  writer.rate("inter_bandwidth", own.inter.bytes_per_s, usual.inter.bytes_per_s);
  if (own.shared.on()) {
    writer.table("[cluster.shared]");
    writer.raw("nics_per_node", integer_text(own.shared.nics_per_node));
    writer.string("nic_bandwidth", rate_text(own.shared.nic_bytes_per_s));
    writer.integer("nodes_per_leaf", own.shared.nodes_per_leaf, 0);
    writer.boolean("rails", own.shared.rails, false);
    writer.rate("spine_bandwidth", own.shared.spine_bytes_per_s, 0);
  }
  for (const LinkOverride& link : own.overrides) {
    writer.table("[[link]]");
    writer.raw("from", integer_text(link.from));
    writer.raw("to", integer_text(link.to));
    writer.string("latency", duration_text(link.spec.latency_ns));
    writer.string("bandwidth", rate_text(link.spec.bytes_per_s));
  }
}

std::string values_text(const TensorSpec& tensor) {
  std::string out = "[\n";
  for (const auto& rank : tensor.list) {
    out += "  [";
    for (std::int64_t i = 0; i < rank->count(); ++i) {
      if (i > 0) out += ", ";
      out += scalar_text(rank->at(i));
    }
    out += "],\n";
  }
  return out + "]";
}

void write_tensor(Writer& writer, const Scenario& scenario) {
  const TensorSpec& tensor = scenario.tensor;
  writer.table("[tensor]");
  if (!scenario.training.network.enabled) writer.raw("shape", list_text(tensor.shape.extents));
  writer.string("dtype", to_word(tensor.dtype));
  if (scenario.training.network.enabled) return;
  switch (tensor.values) {
    case ValueSource::Index:
      return writer.string("values", "index");
    case ValueSource::Ones:
      return writer.string("values", "ones");
    case ValueSource::None:
      return writer.string("values", "none");
    case ValueSource::RandomNormal:
      return writer.raw("values", "{ random = \"normal\" }");
    case ValueSource::File:
      return writer.raw("values", "{ file = " + quoted(tensor.file_pattern) + " }");
    case ValueSource::List:
      return writer.raw("values", values_text(tensor));
  }
}

void write_training(Writer& writer, const TrainingSpec& training) {
  const TrainingSpec usual;
  writer.table("[training]");
  writer.integer("steps", training.steps, usual.steps);
  writer.duration("forward", training.forward_ns, usual.forward_ns);
  writer.duration("loss", training.loss_ns, usual.loss_ns);
  writer.duration("backward", training.backward_ns, usual.backward_ns);
  writer.duration("optimizer", training.optimizer_ns, usual.optimizer_ns);
  writer.number("jitter", static_cast<double>(training.jitter_ppm) / 1e6, 0);
  writer.integer("buckets", training.buckets, usual.buckets);
  writer.boolean("overlap", training.overlap, usual.overlap);
  writer.word("on_nan", kOnNanWords, training.on_nan, usual.on_nan);
  writer.integer("checkpoint_steps", training.checkpoint_steps, usual.checkpoint_steps);
  writer.duration("checkpoint", training.checkpoint_ns, usual.checkpoint_ns);
  writer.duration("restart", training.restart_ns, usual.restart_ns);
  const NetworkSpec& network = training.network;
  if (!network.enabled && network.layers.empty()) return;
  writer.table("[training.network]");
  writer.boolean("enabled", network.enabled, true);
  writer.raw("layers", list_text({network.layers.begin(), network.layers.end()}));
  writer.integer("batch", network.batch, usual.network.batch);
  writer.number("learning_rate", network.learning_rate, usual.network.learning_rate);
  writer.boolean("all_reduce", network.all_reduce, usual.network.all_reduce);
}

std::string rings_text(const std::vector<std::vector<int>>& rings) {
  std::string out = "[";
  for (const auto& ring : rings) {
    if (out.size() > 1) out += ", ";
    out += list_text({ring.begin(), ring.end()});
  }
  return out + "]";
}

void write_collective(Writer& writer, const CollectiveSpec& collective) {
  const CollectiveSpec usual;
  writer.table("[collective]");
  writer.word("collective", kCollectiveWords, collective.collective, usual.collective);
  writer.word("algorithm", kAlgorithmWords, collective.algorithm, usual.algorithm);
  writer.word("order", kOrderWords, collective.order, usual.order);
  writer.word("chunking", kChunkingWords, collective.chunking, usual.chunking);
  writer.word("op", kOpWords, collective.op, usual.op);
  writer.integer("channels", collective.channels, usual.channels);
  writer.integer("root", collective.root, usual.root);
  writer.duration("reduce", collective.reduce_ns, usual.reduce_ns);
  if (!collective.rings.empty()) writer.raw("rings", rings_text(collective.rings));
  writer.boolean("inter_tree", collective.inter_tree, usual.inter_tree);
}

void write_stack(Writer& writer, const StackSpec& stack) {
  const StackSpec usual;
  writer.table("[stack]");
  writer.word("library", kLibraryWords, stack.library, usual.library);
  writer.string("transport", to_word(stack.transport));  // these three follow the library: always written
  writer.string("launcher", to_word(stack.launcher));
  writer.string("watchdog", stack.watchdog_ns == 0 ? "off" : duration_text(stack.watchdog_ns));
  writer.duration("heartbeat", stack.heartbeat_ns, usual.heartbeat_ns);
  if (stack.debug_detail) writer.string("debug", "detail");
}

void write_failures(Writer& writer, const FailureSpec& failures) {
  writer.table("[failures]");
  writer.number("per_1000_node_days", static_cast<double>(failures.per_million_node_days) / 1e3, 0);
  writer.word("after", kAfterWords, failures.after, AfterFailure::Restart);
}

/// What the cluster would be if no key but preset were given.
Scenario cluster_defaults(const std::string& preset) {
  const std::string text = (preset.empty() ? std::string() : "[cluster]\npreset = " + quoted(preset) + "\n") +
                           "[tensor]\nshape = [1]\nvalues = \"none\"\n";
  auto defaults = parse_scenario(text, "");
  RINGSIDE_CHECK(static_cast<bool>(defaults));
  return std::move(*defaults);
}

}  // namespace

std::string to_toml(const Scenario& scenario) {
  Writer writer;
  if (!scenario.title.empty()) writer.string("title", scenario.title);
  writer.raw("seed", integer_text(static_cast<std::int64_t>(scenario.seed)));
  write_cluster(writer, scenario, cluster_defaults(scenario.cluster.preset));
  write_tensor(writer, scenario);
  write_training(writer, scenario.training);
  write_collective(writer, scenario.collective);
  write_stack(writer, scenario.stack);
  write_failures(writer, scenario.failures);
  for (const Fault& fault : scenario.faults) {
    writer.table("[[fault]]");
    writer.string("kind", to_word(fault.kind));
    for (const auto& [key, value] : fault_fields(fault)) writer.raw(key, value);
  }
  return std::move(writer.out);
}

}  // namespace ringside::sim
