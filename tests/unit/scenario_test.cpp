// The scenario parser on good input: what is read, what is defaulted, and that writing reads back the same.
#include "sim/scenario/scenario.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "sim/base/quantity.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/fault_rules.hpp"
#include "sim/scenario/reference.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::sim {
namespace {

namespace fs = std::filesystem;
const fs::path kScenarios = fs::path(RINGSIDE_SOURCE_DIR) / "assets/scenarios";

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

Scenario parsed(std::string_view text, const FileLoader& load = {}) {
  auto scenario = parse_scenario(text, "test.toml", load);
  EXPECT_TRUE(scenario) << scenario.error().message();
  return scenario ? *scenario : Scenario{};
}

TEST(Scenario, DefaultsAreTheDocumentedOnes) {
  const Scenario s = parsed("[tensor]\nshape = [3]\n");
  EXPECT_EQ(s.seed, 1u);
  EXPECT_EQ(s.world_size(), 4);
  EXPECT_EQ(s.cluster.nodes_per_rack, 8);
  EXPECT_EQ(s.cluster.topology.intra, (LinkSpec{3'400, 240'000'000'000}));
  EXPECT_EQ(s.tensor.values, ValueSource::Index);
  EXPECT_EQ(s.collective.op, ReduceOp::Avg);
  EXPECT_EQ(s.stack.watchdog_ns, 600'000'000'000);
  EXPECT_EQ(s.stack.transport, Transport::NvLink);
  EXPECT_EQ(s.training.restart_ns, 90'000'000'000);
}

TEST(Scenario, DefaultsFollowTheLibrary) {
  const Scenario gloo = parsed("tensor = { shape = [3] }\nstack = { library = \"gloo\" }\n");
  EXPECT_EQ(gloo.stack.watchdog_ns, 1'800'000'000'000);
  EXPECT_EQ(gloo.stack.transport, Transport::Tcp);
  const Scenario mpi = parsed("tensor = { shape = [3] }\nstack = { library = \"mpi\" }\n");
  EXPECT_EQ(mpi.stack.watchdog_ns, 0);
  EXPECT_EQ(mpi.stack.launcher, Launcher::Mpirun);
  EXPECT_EQ(mpi.stack.transport, Transport::Shm);
}

TEST(Scenario, PresetGivesNodesAndLinksAndKeysOverrideIt) {
  const Scenario plain = parsed("[cluster]\npreset = \"dgx-h100\"\nnodes = 2\n[tensor]\nshape = [4]\n");
  EXPECT_EQ(plain.world_size(), 16);
  EXPECT_EQ(plain.cluster.topology.intra.bytes_per_s, 370'800'000'000);
  EXPECT_EQ(plain.cluster.topology.inter.bytes_per_s, 400'000'000'000);  // eight NICs of 50 GB/s
  EXPECT_EQ(plain.stack.transport, Transport::Ib);
  const Scenario own = parsed(
      "[cluster]\npreset = \"dgx-h100\"\ngpus_per_node = 2\nintra_bandwidth = \"1.5GB/s\"\n[tensor]\nshape = "
      "[4]\n");
  EXPECT_EQ(own.world_size(), 2);
  EXPECT_EQ(own.cluster.topology.intra.bytes_per_s, 1'500'000'000);
}

TEST(Scenario, LinksOverrideOneDirection) {
  const Scenario s = parsed(
      "[tensor]\nshape = [1]\n[[link]]\nfrom = 2\nto = 3\nlatency = \"9us\"\n[[link]]\nfrom = 0\nto = "
      "1\nbandwidth = \"8Gb/s\"\n");
  ASSERT_EQ(s.cluster.topology.overrides.size(), 2u);
  EXPECT_EQ(s.cluster.topology.overrides[0], (LinkOverride{0, 1, {3'400, 1'000'000'000}}));
  EXPECT_EQ(s.cluster.topology.overrides[1], (LinkOverride{2, 3, {9'000, 240'000'000'000}}));
}

TEST(Scenario, ListsMayBeFlatOrNestedAndHoldWhatIsNotFinite) {
  const Scenario s = parsed(
      "[cluster]\ngpus_per_node = 2\n[tensor]\nshape = [2, 3]\nvalues = [[1, 2, 3, 4.5, nan, -inf], [[1, 2, "
      "3], [4, 5, inf]]]\n");
  ASSERT_EQ(s.tensor.list.size(), 2u);
  EXPECT_EQ(to_double(s.tensor.list[0]->at(3)), 4.5);
  EXPECT_TRUE(is_nan(s.tensor.list[0]->at(4)));
  EXPECT_EQ(to_double(s.tensor.list[0]->at(5)), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(to_double(s.tensor.list[1]->at(3)), 4.0);
  EXPECT_TRUE(is_inf(s.tensor.list[1]->at(5)));
}

TEST(Scenario, IntegersKeepAllTheirBits) {
  const Scenario s = parsed(
      "[cluster]\ngpus_per_node = 1\n[tensor]\nshape = [2]\ndtype = \"int64\"\nvalues = "
      "[[9223372036854775807, -9223372036854775808]]\n");
  EXPECT_EQ(to_int64(s.tensor.list[0]->at(0)), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(to_int64(s.tensor.list[0]->at(1)), std::numeric_limits<std::int64_t>::min());
}

TEST(Scenario, ANetworkDecidesTheShape) {
  const Scenario s = parsed("[training.network]\nlayers = [2, 8, 8, 1]\n");
  EXPECT_EQ(s.tensor.shape.count(), 3 * 8 + 9 * 8 + 9);
  EXPECT_TRUE(s.training.network.enabled);
}

TEST(Scenario, FilesDecideShapeAndDtype) {
  const FileLoader load = [](std::string_view path) -> Result<std::string> {
    Tensor tensor(DType::Float16, Shape{{2, 2}});
    tensor.set(0, make_scalar(DType::Float16, path == "grads/rank1.npy" ? 7 : 1));
    return write_npy(tensor);
  };
  const Scenario s = parsed("[tensor]\nvalues = { file = \"grads/rank{rank}.npy\" }\n", load);
  EXPECT_EQ(s.tensor.shape, (Shape{{2, 2}}));
  EXPECT_EQ(s.tensor.dtype, DType::Float16);
  ASSERT_EQ(s.tensor.list.size(), 4u);
  EXPECT_EQ(to_double(s.tensor.list[1]->at(0)), 7.0);
}

TEST(Scenario, InputsAreIndexOrNormal) {
  const auto index = make_inputs(parsed("[tensor]\nshape = [3]\ndtype = \"int32\"\n"));
  ASSERT_EQ(index.size(), 4u);
  EXPECT_EQ(to_int64(index[2]->at(1)), 7);
  const Scenario random = parsed("seed = 5\n[tensor]\nshape = [1000]\nvalues = { random = \"normal\" }\n");
  const auto normal = make_inputs(random);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const double x = to_double(normal[1]->at(i));
    sum += x;
    squares += x * x;
  }
  EXPECT_LT(std::fabs(sum / 1000), 0.15);
  EXPECT_NEAR(squares / 1000, 1.0, 0.15);
  EXPECT_NE(to_double(normal[0]->at(0)), to_double(normal[1]->at(0)));
  EXPECT_TRUE(make_inputs(parsed("[tensor]\nshape = [3]\nvalues = \"none\"\n")).empty());
}

TEST(Scenario, FaultsAreRead) {
  const Scenario s = parsed(
      "[tensor]\nshape = [8]\n[training]\nsteps = 9\n[[fault]]\nkind = \"nan\"\nrank = 1\nstep = 2\nat = "
      "\"forward\"\nelement = 7\n[[fault]]\nkind = \"link_flap\"\nfrom = 3\nto = 0\ntime = \"5ms\"\nduration "
      "= "
      "\"1s\"\n");
  ASSERT_EQ(s.faults.size(), 2u);
  EXPECT_EQ(s.faults[0].kind, FaultKind::Nan);
  EXPECT_EQ(s.faults[0].at, Phase::Forward);
  EXPECT_EQ(s.faults[0].element, 7);
  EXPECT_EQ(s.faults[0].line, 5);
  EXPECT_EQ(s.faults[1].at_ns, std::optional<std::int64_t>(5'000'000));
  EXPECT_EQ(s.faults[1].duration_ns, 1'000'000'000);
}

TEST(Fault, WordsRulesAndDiagnosesAreComplete) {
  ASSERT_EQ(fault_rules().size(), static_cast<std::size_t>(kFaultKindCount));
  int live = 0;
  for (int i = 0; i < kFaultKindCount; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    EXPECT_EQ(rule_of(kind).kind, kind);
    EXPECT_EQ(fault_kind_from(to_word(kind)), kind);
    EXPECT_FALSE(may_lead_to(kind).empty());
    live += supported_live(kind) ? 1 : 0;
  }
  EXPECT_EQ(live, 8);  // nan, crash, hang, slow, shape, skip_step, early_exit, wrong_order
}

TEST(Fault, CommandLineTextReadsBack) {
  for (const char* text : {"crash:rank=2,step=5,at=backward", "slow:rank=0,step=1,factor=0.25",
                           "shape:rank=3,step=2,shape=[4,7]", "link_flap:from=0,to=1,time=3us,duration=2s",
                           "bit_flip:rank=1,step=1,at=forward,element=3,bit=30", "op:rank=1,step=1,op=max",
                           "gpu_reset:node=1,step=4,at=all_reduce"}) {
    const auto fault = parse_fault(text);
    ASSERT_TRUE(fault) << fault.error().message();
    EXPECT_EQ(fault_text(*fault), text);
  }
  EXPECT_TRUE(parse_fault("crash:rank=2"));
}

TEST(Fault, CommandLineTextIsChecked) {
  for (const char* text :
       {"", "crsh:rank=1", "crash:rank=x", "crash:rank", "crash:rank=1,rank=2", "crash:color=1",
        "crash:rank=1,element=2", "nan:rank=-1", "crash:rank=1\nstep=2", "crash:rank=1\"",
        "link_slow:from=0,to=1,step=2", "slow:rank=1,factor=1.5", "shape:rank=0,shape=[0]"}) {
    const auto fault = parse_fault(text);
    EXPECT_FALSE(fault) << text;
    if (!fault) {
      EXPECT_EQ(fault.error().line, 0) << text;
    }
  }
}

TEST(Quantity, ReadsAndWritesBack) {
  EXPECT_EQ(*parse_duration("30ms"), 30'000'000);
  EXPECT_EQ(*parse_duration("0s"), 0);
  EXPECT_EQ(*parse_duration("2h"), 7'200'000'000'000);
  EXPECT_EQ(*parse_size("8M"), 8 << 20);
  EXPECT_EQ(*parse_size("3"), 3);
  EXPECT_EQ(*parse_rate("240GB/s"), 240'000'000'000);
  EXPECT_EQ(*parse_rate("370.8GB/s"), 370'800'000'000);
  EXPECT_EQ(*parse_rate("400Gb/s"), 50'000'000'000);
  EXPECT_EQ(*parse_rate("1GiB/s"), 1 << 30);
  for (const std::int64_t ns :
       {0LL, 1LL, 999LL, 1'000LL, 90'000'000'000LL, 3'600'000'000'001LL, 9'223'372'036'854'775'807LL})
    EXPECT_EQ(*parse_duration(duration_text(ns)), ns);
  for (const std::int64_t rate :
       {1LL, 999'999'999LL, 1'000'000'000LL, 370'800'000'000LL, 9'223'372'036'854'775'807LL})
    EXPECT_EQ(*parse_rate(rate_text(rate)), rate);
}

TEST(Quantity, RefusesWithAReason) {
  for (const char* text : {"", "ms", "30", "30 parsecs", "-1s", "3.4us", "999999999999h", "1e3s", "30ms!"})
    EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_EQ(parse_duration("3.4us").error().hint, "write \"3400ns\"");
  for (const char* text : {"", "K", "1.5M", "-1", "8MB", "99999999999G"})
    EXPECT_FALSE(parse_size(text)) << text;
  for (const char* text : {"", "0GB/s", "-1GB/s", "240", "240 G", "0.3B/s", "9999999999TB/s"})
    EXPECT_FALSE(parse_rate(text)) << text;
}

class Shipped : public testing::TestWithParam<std::string> {};

FileLoader beside_scenarios() {
  return [](std::string_view path) -> Result<std::string> { return read_text(kScenarios / path); };
}

TEST_P(Shipped, ParsesAndWritesBackTheSame) {
  const Scenario first = parsed(read_text(kScenarios / GetParam()), beside_scenarios());
  const std::string text = to_toml(first);
  const Scenario second = parsed(text, beside_scenarios());
  EXPECT_EQ(to_toml(second), text);
  EXPECT_EQ(first.title, second.title);
  EXPECT_EQ(first.cluster.topology, second.cluster.topology);
  EXPECT_EQ(first.tensor.shape, second.tensor.shape);
  EXPECT_EQ(first.faults.size(), second.faults.size());
  const auto a = make_inputs(first), b = make_inputs(second);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t r = 0; r < a.size(); ++r) EXPECT_EQ(a[r]->data, b[r]->data) << "rank " << r;
}

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kScenarios)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Assets, Shipped, testing::ValuesIn(shipped_names()), [](const auto& param) {
  std::string name = param.param.substr(0, param.param.size() - 5);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
});

TEST(ToToml, KeepsEveryBitOfEveryDtype) {
  for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
    Scenario s = parsed("[cluster]\ngpus_per_node = 1\n[tensor]\nshape = [9]\ndtype = \"" +
                        std::string(to_word(dtype)) + "\"\n");
    auto tensor = std::make_shared<Tensor>(dtype, s.tensor.shape);
    const double values[] = {0.1,       -0.0,
                             1.0 / 3,   65'504,
                             6e-8,      std::numeric_limits<double>::infinity(),
                             -2.5,      std::numeric_limits<double>::quiet_NaN(),
                             16'777'217};
    for (std::int64_t i = 0; i < 9; ++i) tensor->set(i, make_scalar(dtype, values[i]));
    s.tensor.values = ValueSource::List;
    s.tensor.list = {tensor};
    EXPECT_EQ(parsed(to_toml(s)).tensor.list.at(0)->data, tensor->data) << to_word(dtype);
  }
}

TEST(Scenario, SaysWhichLinksAreSharedAndHowRingsRun) {
  const Scenario s = parsed(R"(
[cluster]
nodes = 2
gpus_per_node = 2
inter_bandwidth = "25GB/s"
[cluster.shared]
nics_per_node = 1
nodes_per_leaf = 1
spine_bandwidth = "10GB/s"
[tensor]
shape = [64]
[collective]
channels = 2
rings = [[0, 1, 2, 3], [1, 0, 3, 2]]
)");
  const SharedLinks& shared = s.cluster.topology.shared;
  EXPECT_EQ(shared.nics_per_node, 1);
  EXPECT_EQ(shared.nic_bytes_per_s, 25'000'000'000) << "that of a link between nodes";
  EXPECT_EQ(shared.nodes_per_leaf, 1);
  EXPECT_FALSE(shared.rails);
  EXPECT_EQ(shared.spine_bytes_per_s, 10'000'000'000);
  EXPECT_EQ(s.schedule_request().ring(1), (std::vector<int>{1, 0, 3, 2}));
  const Scenario again = parsed(to_toml(s));
  EXPECT_EQ(again.cluster.topology, s.cluster.topology);
  EXPECT_EQ(again.collective.rings, s.collective.rings);

  const Scenario tree = parsed(
      "[cluster]\nnodes = 4\ngpus_per_node = 2\n[tensor]\nshape = [64]\n[collective]\n"
      "algorithm = \"hierarchical\"\ninter_tree = true\n");
  EXPECT_TRUE(tree.schedule_request().inter_tree);
  EXPECT_TRUE(parsed(to_toml(tree)).collective.inter_tree);
}

/// `RINGSIDE_UPDATE=1 scenario_test` writes the file anew from the key table.
TEST(Reference, FileIsTheKeyTable) {
  const fs::path file = kScenarios / "reference.toml";
  if (std::getenv("RINGSIDE_UPDATE") != nullptr) std::ofstream(file, std::ios::binary) << reference_toml();
  EXPECT_EQ(read_text(file), reference_toml()) << "set RINGSIDE_UPDATE=1 once to write " << file;
}

TEST(Reference, EveryKeyIsInTheFile) {
  const auto root = parse_toml(reference_toml(), "reference.toml");
  ASSERT_TRUE(root) << root.error().message();
  std::size_t in_comments = 0;
  for (const KeyInfo& info : scenario_keys()) {
    bool found = false;
    const toml::table* at = &*root;
    if (info.table == "tensor.values") {
      ++in_comments;
      found = reference_toml().find("{ " + std::string(info.key) + " = ") != std::string::npos;
    } else if (info.table == "fault" || info.table == "link") {
      for (const auto& entry : *at->get(info.table)->as_array())
        found |= entry.as_table()->contains(info.key);
    } else {
      if (!info.table.empty()) at = at->at_path(info.table).as_table();
      found = at != nullptr && at->contains(info.key);
    }
    EXPECT_TRUE(found) << info.table << "." << info.key;
    EXPECT_FALSE(info.meaning.empty() || info.range.empty() || info.fallback.empty() || info.type.empty());
    EXPECT_EQ(info.meaning.back(), '.') << info.key;
  }
  EXPECT_EQ(in_comments, 2u);
}

}  // namespace
}  // namespace ringside::sim
