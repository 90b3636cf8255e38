// The scenario parser: one function a table, read straight down. Every problem goes through TableReader,
// which knows the place in the file.
#include <algorithm>
#include <set>

#include "sim/base/text.hpp"
#include "sim/job/buckets.hpp"
#include "sim/model/preset.hpp"
#include "sim/scenario/parse_sections.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/words.hpp"

namespace ringside::sim {
namespace {

constexpr LinkSpec kIntraDefault{3'400, 240'000'000'000};
constexpr LinkSpec kInterDefault{5'000, 25'000'000'000};
constexpr std::int64_t kMaxSteps = 1'000'000;

void read_title(TableReader& root, Scenario& scenario) {
  constexpr std::size_t kLongest = 200;
  const auto title = root.string("title");
  if (!title) return;
  std::size_t characters = 0;
  bool control = false;
  for (const char c : *title) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) ++characters;
    control = control || byte < 0x20 || byte == 0x7F;
  }
  if (characters > kLongest) root.fail("title", "the title is too long", "up to 200 characters");
  if (control) root.fail("title", "the title holds a control character", "one line of text");
  scenario.title = *title;
}

void read_class(TableReader& table, std::string_view latency, std::string_view bandwidth, LinkSpec& spec) {
  if (const auto value = table.duration(latency)) spec.latency_ns = *value;
  if (const auto value = table.rate(bandwidth)) spec.bytes_per_s = *value;
}

/// What a preset says of links. A ring that crosses nodes uses all NICs of a node, one a channel.
void use_preset(const Preset& preset, Scenario& scenario) {
  scenario.cluster.preset = preset.name;
  scenario.cluster.gpus_per_node = preset.links.gpus_per_node;
  scenario.cluster.topology.intra = {preset.links.intra_latency_ns, preset.links.intra_bytes_per_s};
  scenario.cluster.topology.inter = {preset.links.inter_latency_ns,
                                     preset.links.inter_bytes_per_s * preset.links.nics};
}

/// Links between nodes that ranks share.
void read_shared(TableReader& cluster_table, ClusterSpec& cluster) {
  const toml::table* node = cluster_table.table("shared");
  if (node == nullptr) return;
  TableReader table(cluster_table.context(), node, "cluster.shared");
  SharedLinks& shared = cluster.topology.shared;
  if (!table.has("nics_per_node"))
    return table.fail("", "shared links need nics_per_node", "1 … " + std::to_string(cluster.gpus_per_node));
  if (const auto value = table.integer("nics_per_node", 1, cluster.gpus_per_node))
    shared.nics_per_node = static_cast<int>(*value);
  shared.nic_bytes_per_s = table.rate("nic_bandwidth").value_or(cluster.topology.inter.bytes_per_s);
  if (const auto value = table.integer("nodes_per_leaf", 0, cluster.nodes))
    shared.nodes_per_leaf = static_cast<int>(*value);
  shared.rails = table.boolean("rails").value_or(false);
  const bool spine = shared.nodes_per_leaf > 0 || shared.rails;
  if (const auto value = table.rate("spine_bandwidth")) {
    shared.spine_bytes_per_s = *value;
    if (!spine) table.fail("spine_bandwidth", "there is no spine", "only with nodes_per_leaf or rails");
  } else if (spine) {
    table.fail(shared.rails ? "rails" : "nodes_per_leaf", "leaf switches need spine_bandwidth");
  }
}

void read_cluster(TableReader& root, Scenario& scenario) {
  ClusterSpec& cluster = scenario.cluster;
  cluster.topology.intra = kIntraDefault;
  cluster.topology.inter = kInterDefault;
  TableReader table(root.context(), root.table("cluster"), "cluster");
  if (const auto name = table.string("preset")) {
    const auto preset = find_preset(*name);
    if (preset) {
      use_preset(*preset, scenario);
    } else {
      Error error = preset.error();
      error.text = escape_for_display(error.text);
      error.what = "unknown preset \"" + error.text + "\"";
      root.context().fail(std::move(error), table.where("preset"));
    }
  }
  const auto size = [&](std::string_view key, int& target) {
    if (const auto value = table.integer(key, 1, kMaxRanksTimeOnly)) target = static_cast<int>(*value);
  };
  size("nodes", cluster.nodes);
  size("gpus_per_node", cluster.gpus_per_node);
  size("nodes_per_rack", cluster.nodes_per_rack);
  const std::int64_t world = std::int64_t{cluster.nodes} * cluster.gpus_per_node;
  if (world > kMaxRanksTimeOnly)
    table.fail(table.has("nodes") ? "nodes" : "gpus_per_node",
               "nodes × gpus_per_node = " + std::to_string(world) + " ranks are too many",
               "1 … 1048576 ranks");
  read_class(table, "intra_latency", "intra_bandwidth", cluster.topology.intra);
  read_class(table, "inter_latency", "inter_bandwidth", cluster.topology.inter);
  read_shared(table, cluster);
}

void read_link(TableReader& table, Topology& topology) {
  const auto from = table.integer("from", 0, topology.world_size - 1);
  const auto to = table.integer("to", 0, topology.world_size - 1);
  if (!from || !to) {
    if (!table.has("from") || !table.has("to")) table.fail("", "a link needs from and to");
    return;
  }
  if (*from == *to) return table.fail("to", "a link joins two different ranks");
  if (!table.has("latency") && !table.has("bandwidth"))
    return table.fail("", "a link needs latency, bandwidth or both: without them it is as its class");
  LinkOverride link{static_cast<int>(*from), static_cast<int>(*to), {}};
  link.spec = topology.node_of(link.from) == topology.node_of(link.to) ? topology.intra : topology.inter;
  read_class(table, "latency", "bandwidth", link.spec);
  const auto before = [](const LinkOverride& a, const LinkOverride& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  };
  const auto at = std::lower_bound(topology.overrides.begin(), topology.overrides.end(), link, before);
  if (at != topology.overrides.end() && at->from == link.from && at->to == link.to)
    return table.fail("from", "the link " + std::to_string(link.from) + " → " + std::to_string(link.to) +
                                  " is given twice");
  topology.overrides.insert(at, link);
}

void read_links(TableReader& root, Scenario& scenario) {
  Topology& topology = scenario.cluster.topology;
  topology.world_size = scenario.world_size();
  topology.gpus_per_node = scenario.cluster.gpus_per_node;
  for (const toml::table* entry : root.tables("link")) {
    TableReader table(root.context(), entry, "link");
    read_link(table, topology);
  }
}

/// Weights and biases of a fully connected network.
std::int64_t parameter_count(const std::vector<int>& layers) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < layers.size(); ++i)
    count += (std::int64_t{layers[i - 1]} + 1) * std::int64_t{layers[i]};
  return count;
}

void read_layers(TableReader& table, NetworkSpec& network) {
  constexpr std::string_view kLegal = "2 … 16 integers, 1 … 4096 each";
  if (!table.has("layers")) {
    if (network.enabled) table.fail("layers", "the network needs layers", std::string(kLegal));
    return;
  }
  const toml::array* list = table.node("layers")->as_array();
  if (list == nullptr || list->size() < 2 || list->size() > 16)
    return table.fail("layers", "layers must be a list of widths", std::string(kLegal));
  for (const toml::node& element : *list) {
    const auto* width = element.as_integer();
    if (width == nullptr || width->get() < 1 || width->get() > 4096)
      return table.fail("layers", "a layer's width is out of range", std::string(kLegal));
    network.layers.push_back(static_cast<int>(width->get()));
  }
}

void read_network(TableReader& training, Scenario& scenario) {
  const toml::table* node = training.table("network");
  if (node == nullptr) return;
  TableReader table(training.context(), node, "training.network");
  NetworkSpec& network = scenario.training.network;
  network.enabled = table.boolean("enabled").value_or(true);
  read_layers(table, network);
  if (const auto value = table.integer("batch", 1, 65'536)) network.batch = static_cast<int>(*value);
  if (const auto value = table.number("learning_rate", 0, 1000)) network.learning_rate = *value;
  if (const auto value = table.boolean("all_reduce")) network.all_reduce = *value;
  if (network.enabled && network.layers.size() >= 2)
    scenario.tensor.shape = Shape{{parameter_count(network.layers)}};
}

/// A fraction as parts per million, rounded to the nearest.
std::int64_t to_ppm(double fraction) {
  return static_cast<std::int64_t>(fraction * 1e6 + 0.5);
}

void read_training(TableReader& root, Scenario& scenario) {
  TableReader table(root.context(), root.table("training"), "training");
  TrainingSpec& training = scenario.training;
  const auto time = [&](std::string_view key, std::int64_t& target) {
    if (const auto value = table.duration(key)) target = *value;
  };
  if (const auto value = table.integer("steps", 1, kMaxSteps)) training.steps = *value;
  time("forward", training.forward_ns);
  time("loss", training.loss_ns);
  time("backward", training.backward_ns);
  time("optimizer", training.optimizer_ns);
  if (const auto value = table.number("jitter", 0, 0.9)) training.jitter_ppm = to_ppm(*value);
  if (const auto value = table.integer("buckets", 1, 1024)) training.buckets = static_cast<int>(*value);
  if (const auto value = table.boolean("overlap")) training.overlap = *value;
  if (const auto value = table.word("on_nan", kOnNanWords)) training.on_nan = *value;
  if (const auto value = table.integer("checkpoint_steps", 0, kMaxSteps)) training.checkpoint_steps = *value;
  time("checkpoint", training.checkpoint_ns);
  time("restart", training.restart_ns);
  read_network(table, scenario);
}

/// After the tensor is known: what only makes sense together with it.
void check_buckets(TableReader& root, const Scenario& scenario) {
  if (scenario.training.buckets <= scenario.tensor.shape.count()) return;
  TableReader table(root.context(), root.table("training"), "training");
  table.fail("buckets", "there are more buckets than elements",
             "1 … " + std::to_string(std::min<std::int64_t>(1024, scenario.tensor.shape.count())));
}

/// [[0, 1, 2, 3], [1, 0, 3, 2]]: each a permutation of the ranks.
void read_rings(TableReader& table, int world, CollectiveSpec& spec) {
  if (!table.has("rings")) return;
  const std::string legal =
      "lists in which every rank from 0 to " + std::to_string(world - 1) + " stands once";
  const toml::array* list = table.node("rings")->as_array();
  if (list == nullptr || list->empty() || list->size() > static_cast<std::size_t>(spec.channels))
    return table.fail("rings",
                      "rings must be a list of one ring a channel, at most channels = " +
                          std::to_string(spec.channels) + " of them",
                      legal);
  if (spec.algorithm != Algorithm::Ring)
    return table.fail("rings", "only a ring has rings", "algorithm = \"ring\"");
  for (const toml::node& element : *list) {
    const toml::array* ranks = element.as_array();
    std::vector<int> ring;
    std::vector<bool> seen(static_cast<std::size_t>(world), false);
    for (std::size_t i = 0; ranks != nullptr && i < ranks->size(); ++i) {
      const auto* rank = ranks->get(i)->as_integer();
      if (rank == nullptr || rank->get() < 0 || rank->get() >= world ||
          seen[static_cast<std::size_t>(rank->get())])
        return table.fail("rings", "a ring names what is no rank, or a rank twice", legal);
      seen[static_cast<std::size_t>(rank->get())] = true;
      ring.push_back(static_cast<int>(rank->get()));
    }
    if (ring.size() != seen.size()) return table.fail("rings", "a ring leaves ranks out", legal);
    spec.rings.push_back(std::move(ring));
  }
}

void read_collective(TableReader& root, Scenario& scenario) {
  TableReader table(root.context(), root.table("collective"), "collective");
  CollectiveSpec& spec = scenario.collective;
  if (const auto value = table.word("collective", kCollectiveWords)) spec.collective = *value;
  if (const auto value = table.word("algorithm", kAlgorithmWords)) spec.algorithm = *value;
  if (const auto value = table.word("order", kOrderWords)) spec.order = *value;
  if (const auto value = table.word("chunking", kChunkingWords)) spec.chunking = *value;
  if (const auto value = table.word("op", kOpWords)) spec.op = *value;
  if (const auto value = table.integer("channels", 1, 64)) spec.channels = static_cast<int>(*value);
  if (const auto value = table.integer("root", 0, scenario.world_size() - 1))
    spec.root = static_cast<int>(*value);
  if (const auto value = table.duration("reduce")) spec.reduce_ns = *value;
  read_rings(table, scenario.world_size(), spec);
  if (const auto value = table.boolean("inter_tree")) spec.inter_tree = *value;
  if (spec.inter_tree && spec.algorithm != Algorithm::Hierarchical)
    table.fail("inter_tree", "only the hierarchical algorithm has a part between the nodes",
               "algorithm = \"hierarchical\"");
}

/// Every count that a rank may call with: the buckets of the tensor, and of the shapes that faults bring.
std::set<std::int64_t> counts_called(const Scenario& scenario) {
  std::set<std::int64_t> counts;
  const auto add = [&](std::int64_t count) {
    const std::int64_t buckets = scenario.training.buckets;
    if (count >= buckets) counts.insert(count / buckets);
    if (count % buckets != 0) counts.insert(count / buckets + 1);
  };
  if (scenario.training.network.enabled) {
    for (const Bucket& bucket : bucket_plan(scenario.training, scenario.tensor.shape.count()))
      counts.insert(bucket.count);
  } else {
    add(scenario.tensor.shape.count());
  }
  for (const Fault& fault : scenario.faults)
    if (fault.shape) add(fault.shape->count());
  return counts;
}

void check_schedule(TableReader& root, const Scenario& scenario) {
  if (root.context().error) return;
  ScheduleRequest request = scenario.schedule_request();
  for (const std::int64_t count : counts_called(scenario)) {
    request.count = count;
    const auto problem = schedule_problem(request);
    if (!problem) continue;
    TableReader table(root.context(), root.table("collective"), "collective");
    return table.fail(table.has("algorithm") ? "algorithm" : "collective", *problem);
  }
}

Transport default_transport(const Scenario& scenario) {
  const bool one_node = scenario.cluster.nodes == 1;
  if (scenario.stack.library == Library::Gloo) return Transport::Tcp;
  if (scenario.stack.library == Library::Mpi) return one_node ? Transport::Shm : Transport::Tcp;
  if (one_node) return Transport::NvLink;
  const auto preset = find_preset(scenario.cluster.preset);
  if (!preset || preset->nic == NicKind::InfiniBand) return Transport::Ib;
  return preset->nic == NicKind::Tcp ? Transport::Tcp : Transport::Roce;
}

void read_watchdog(TableReader& table, StackSpec& stack) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  stack.watchdog_ns = stack.library == Library::Nccl   ? 600 * kSecond
                      : stack.library == Library::Gloo ? 1800 * kSecond
                                                       : 0;
  const toml::node* node = table.node("watchdog");
  if (node == nullptr) return;
  if (const auto* word = node->as_string(); word != nullptr && word->get() == "off") {
    stack.watchdog_ns = 0;
    return;
  }
  const auto value = table.duration("watchdog");
  if (!value) return;
  if (*value == 0)
    table.fail("watchdog", "a watchdog of no time would end every job", "above 0ns, or \"off\"");
  stack.watchdog_ns = *value;
}

void read_stack(TableReader& root, Scenario& scenario) {
  TableReader table(root.context(), root.table("stack"), "stack");
  StackSpec& stack = scenario.stack;
  if (const auto value = table.word("library", kLibraryWords)) stack.library = *value;
  stack.transport = default_transport(scenario);
  if (const auto value = table.word("transport", kTransportWords)) stack.transport = *value;
  stack.launcher = stack.library == Library::Mpi ? Launcher::Mpirun : Launcher::Torchrun;
  if (const auto value = table.word("launcher", kLauncherWords)) stack.launcher = *value;
  read_watchdog(table, stack);
  if (const auto value = table.duration("heartbeat")) {
    if (*value == 0) table.fail("heartbeat", "a heartbeat needs time", "above 0ns");
    stack.heartbeat_ns = *value;
  }
  if (const auto value = table.word("debug", kDebugWords)) stack.debug_detail = *value;
}

void read_failures(TableReader& root, Scenario& scenario) {
  TableReader table(root.context(), root.table("failures"), "failures");
  if (const auto value = table.number("per_1000_node_days", 0, 1e6))
    scenario.failures.per_million_node_days = static_cast<std::int64_t>(*value * 1000 + 0.5);
  if (const auto value = table.word("after", kAfterWords)) scenario.failures.after = *value;
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view toml_text, std::string_view file_name,
                                const FileLoader& load) {
  const auto parsed = parse_toml(toml_text, file_name);
  if (!parsed) return parsed.error();
  ReadContext context{toml_text, file_name, std::nullopt};
  if (parsed->empty()) {
    Error error;
    error.what = "the file says nothing: a scenario needs at least [tensor] with a shape";
    error.file = std::string(file_name);
    error.line = 1;
    error.column = 1;
    return error;
  }
  Scenario scenario;
  TableReader root(context, &*parsed, "");
  read_title(root, scenario);
  if (const auto seed = root.integer("seed", 0, std::numeric_limits<std::int64_t>::max()))
    scenario.seed = static_cast<std::uint64_t>(*seed);
  read_cluster(root, scenario);
  if (context.error) return *context.error;  // everything below needs the world size
  read_links(root, scenario);
  read_training(root, scenario);
  if (context.error) return *context.error;
  read_tensor(context, root.table("tensor"), load, scenario);
  if (context.error) return *context.error;
  check_buckets(root, scenario);
  read_collective(root, scenario);
  read_stack(root, scenario);
  read_failures(root, scenario);
  if (!context.error) read_faults(root, scenario);
  check_schedule(root, scenario);
  if (context.error) return *context.error;
  return scenario;
}

}  // namespace ringside::sim
