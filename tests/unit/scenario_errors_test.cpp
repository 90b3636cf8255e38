// The scenario parser on bad input: where the message points, what it says, what it offers instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/base/toml.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::sim {
namespace {

/// Plain data, so that a long table compiles fast.
struct Bad {
  const char* name;
  const char* before;  // what stands before the text
  const char* text;
  int line, column;
  const char* parts;  // all must stand in the message; '|' between them
};

void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.name;
}

constexpr const char* kNothing = "";
constexpr const char* kTensor = "[tensor]\nshape = [2]\n";
constexpr const char* kFault = "[tensor]\nshape = [8]\n[training]\nsteps = 9\n[[fault]]\n";

// clang-format off
constexpr Bad kBadKeys[] = {
    {"empty", kNothing, "", 1, 1, "says nothing"},
    {"comment_only", kNothing, "# nothing\n", 1, 1, "says nothing"},
    {"not_toml", kNothing, "a = = 1", 1, 5, "not valid TOML"},
    {"bad_utf8", kNothing, "title = \"\xff\xfe\"\n", 1, 9, "not valid TOML"},
    {"letter_in_key", kNothing, "\xCB\x94 = 1\n", 1, 1, "not ASCII"},
    {"top_key", kNothing, "sed = 1\n", 1, 1, "unknown key \"sed\"|seed|did you mean \"seed\"?"},
    {"unknown_table", kNothing, "[colective]\nop = \"avg\"\n", 1, 2, "unknown key \"colective\"|did you mean \"collective\"?"},
    {"all_to_all_buckets", "[tensor]\nshape = [12]\n[training]\nbuckets = 4\n", "[collective]\ncollective = \"all_to_all\"\n", 6, 14, "equal blocks"},
    {"all_to_all_fault", "[tensor]\nshape = [12]\n[[fault]]\nkind = \"shape\"\nrank = 1\nshape = [10]\n", "[collective]\ncollective = \"all_to_all\"\n", 8, 14, "equal blocks"},
    {"group", kNothing, "[[group]]\nranks = [0]\n", 1, 3, "reserved for a later version"},
    {"unknown_key", kTensor, "dtyp = \"float32\"\n", 3, 1, "unknown key \"dtyp\" in [tensor]|shape, dtype, values|dtype\"?"},
    {"wrong_type", kNothing, "[cluster]\nnodes = \"four\"\n", 2, 9, "nodes must be an integer, not a string|\"four\"|1 … 1048576"},
    {"float_for_int", kNothing, "[cluster]\nnodes = 2.5\n", 2, 9, "2.5|1 … 1048576"},
    {"table_for_value", kNothing, "[cluster]\nnodes = { a = 1 }\n", 2, 9, "not a table"},
    {"value_for_table", kNothing, "cluster = 4\n", 1, 11, "cluster must be a table, not an integer|: 4"},
    {"world_zero", kNothing, "[cluster]\ngpus_per_node = 0\n", 2, 17, "out of range: 0|1 … 1048576"},
    {"world_negative", kNothing, "[cluster]\nnodes = -3\n", 2, 9, "-3"},
    {"world_product", kNothing, "[cluster]\nnodes = 1048576\ngpus_per_node = 2\n", 2, 9, "2097152 ranks|1 … 1048576"},
    {"unknown_preset", kNothing, "[cluster]\npreset = \"dgx-h10\"\n", 2, 10, "unknown preset \"dgx-h10\"|dgx-h100"},
    {"negative_latency", kNothing, "[cluster]\nintra_latency = \"-5us\"\n", 2, 17, "cannot be negative|-5us"},
    {"latency_unit", kNothing, "[cluster]\nintra_latency = \"5 parsec\"\n", 2, 17, "unknown unit of time|ns, us, ms, s, min or h"},
    {"latency_number", kNothing, "[cluster]\nintra_latency = 5\n", 2, 17, "in quotes|30ms"},
    {"latency_decimal", kNothing, "[cluster]\nintra_latency = \"3.4us\"\n", 2, 17, "write \"3400ns\""},
    {"bandwidth_zero", kNothing, "[cluster]\nintra_bandwidth = \"0GB/s\"\n", 2, 19, "above 0"},
    {"bandwidth_unit", kNothing, "[cluster]\nintra_bandwidth = \"5 apples\"\n", 2, 19, "unknown unit of rate"},
    {"shared_without_nics", kNothing, "[cluster.shared]\nrails = true\n", 1, 1, "nics_per_node"},
    {"shared_too_many_nics", kNothing, "[cluster.shared]\nnics_per_node = 5\n", 2, 17, "1 … 4"},
    {"shared_no_spine", kNothing, "[cluster.shared]\nnics_per_node = 1\nspine_bandwidth = \"1GB/s\"\n", 3, 19, "no spine"},
    {"shared_leaf_alone", kNothing, "[cluster.shared]\nnics_per_node = 1\nnodes_per_leaf = 1\n", 3, 18, "spine_bandwidth"},
    {"rings_left_out", kTensor, "[collective]\nrings = [[0, 1, 2]]\n", 4, 9, "leaves ranks out|0 to 3"},
    {"rings_twice", kTensor, "[collective]\nrings = [[0, 1, 2, 2]]\n", 4, 9, "a rank twice"},
    {"rings_too_many", kTensor, "[collective]\nrings = [[0, 1, 2, 3], [0, 1, 2, 3]]\n", 4, 9, "channels = 1"},
    {"rings_of_a_tree", kTensor, "[collective]\nalgorithm = \"tree\"\nrings = [[0, 1, 2, 3]]\n", 5, 9, "only a ring"},
    {"inter_tree_of_a_ring", kTensor, "[collective]\ninter_tree = true\n", 4, 14, "hierarchical"},
    {"no_shape", kNothing, "[tensor]\ndtype = \"int32\"\n", 1, 1, "needs a shape"},
    {"no_tensor", kNothing, "seed = 1\n", 1, 1, "needs a shape"},
    {"shape_zero", kNothing, "[tensor]\nshape = [4, 0]\n", 2, 9, "[4, 0]"},
    {"shape_overflow", kNothing, "[tensor]\nshape = [4294967296, 4294967296]\nvalues = \"none\"\n", 2, 9, "shape"},
    {"shape_number", kNothing, "[tensor]\nshape = 4\n", 2, 9, "list of extents, not an integer"},
    {"shape_float", kNothing, "[tensor]\nshape = [4.0]\n", 2, 9, "must be an integer, not a decimal number"},
    {"shape_places", kNothing, "[tensor]\nshape = [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n", 2, 9, "16"},
    {"too_many_bytes", kNothing, "[tensor]\nshape = [\"1G\"]\n", 2, 9, "4 ranks|4 GiB"},
    {"dtype", kNothing, "[tensor]\nshape = [1]\ndtype = \"flaot32\"\n", 3, 9, "unknown dtype \"flaot32\"|float64, float32|did you mean \"float32\"?"},
    {"dtype_case", kNothing, "[tensor]\nshape = [1]\ndtype = \"Float16\"\n", 3, 9, "did you mean \"float16\"?"},
    {"values_word", kTensor, "values = \"indx\"\n", 3, 10, "unknown values \"indx\"|did you mean \"index\"?"},
    {"values_number", kTensor, "values = 3\n", 3, 10, "must not be an integer"},
    {"few_ranks", kTensor, "values = [[1, 2], [3, 4]]\n", 3, 10, "2 lists for 4 ranks"},
    {"no_lists", kTensor, "values = [1, 2, 3, 4]\n", 3, 11, "values of rank 0: must be a list|[[2], [4]]"},
    {"ragged", kTensor, "values = [[1, 2], [3, 4], [5], [7, 8]]\n", 3, 27, "rank 2|1 value|(2,) has 2"},
    {"ragged_nested", kNothing, "[tensor]\nshape = [2, 2]\nvalues = [[[1,2],[3,4]], [[1,2],[3]], [[1,2],[3,4]], [[1,2],[3,4]]]\n", 3, 33, "rank 1|place 1"},
    {"ragged_mixed", kNothing, "[tensor]\nshape = [2, 2]\nvalues = [[[1,2],3], [1,2,3,4], [1,2,3,4], [1,2,3,4]]\n", 3, 18, "ragged"},
    {"too_deep", kTensor, "values = [[[1], [2]], [1, 2], [1, 2], [1, 2]]\n", 3, 12, "a number is needed, not a list"},
    {"not_a_number", kTensor, "values = [[1, \"x\"], [1, 2], [1, 2], [1, 2]]\n", 3, 15, "a number is needed, not a string"},
    {"decimal_int", kNothing, "[tensor]\nshape = [1]\ndtype = \"int32\"\nvalues = [[1], [2.5], [3], [4]]\n", 4, 17, "whole numbers"},
    {"int32_range", kNothing, "[tensor]\nshape = [1]\ndtype = \"int32\"\nvalues = [[1], [2147483648], [3], [4]]\n", 4, 17, "does not fit int32"},
    {"half_range", kNothing, "[tensor]\nshape = [1]\ndtype = \"float16\"\nvalues = [[1], [70000], [3], [4]]\n", 4, 17, "does not fit float16|inf"},
    {"both_sources", kTensor, "values = { file = \"{rank}.npy\", random = \"normal\" }\n", 3, 10, "either file or random"},
    {"empty_source", kTensor, "values = { }\n", 3, 10, "either file or random"},
    {"random_word", kTensor, "values = { random = \"uniform\" }\n", 3, 21, "normal"},
    {"file_one", kTensor, "values = { file = \"a.npy\" }\n", 3, 19, "{rank}"},
    {"steps", kTensor, "[training]\nsteps = 0\n", 4, 9, "1 … 1000000"},
    {"jitter", kTensor, "[training]\njitter = 1.5\n", 4, 10, "0 … 0.9"},
    {"jitter_nan", kTensor, "[training]\njitter = nan\n", 4, 10, "0 … 0.9"},
    {"buckets", kTensor, "[training]\nbuckets = 3\n", 4, 11, "more buckets than elements"},
    {"on_nan", kTensor, "[training]\non_nan = \"skip_all\"\n", 4, 10, "did you mean \"skip-all\"?"},
    {"overlap", kTensor, "[training]\noverlap = 1\n", 4, 11, "true or false"},
    {"network_layers", kNothing, "[training.network]\nbatch = 2\n", 1, 1, "needs layers"},
    {"network_width", kNothing, "[training.network]\nlayers = [2, 0]\n", 2, 10, "1 … 4096"},
    {"network_shape", kTensor, "[training.network]\nlayers = [2, 1]\n", 2, 9, "network's gradient"},
    {"network_dtype", kNothing, "[tensor]\ndtype = \"int32\"\n[training.network]\nlayers = [2, 1]\n", 2, 9, "floating"},
    {"op", kTensor, "[collective]\nop = \"mean\"\n", 4, 6, "sum, avg, sum_then_divide, prod, min, max"},
    {"order", kTensor, "[collective]\norder = \"book\"\n", 4, 9, "nccl, textbook"},
    {"root", kTensor, "[collective]\nroot = 4\n", 4, 8, "0 … 3"},
    {"channels", kTensor, "[collective]\nchannels = 65\n", 4, 12, "1 … 64"},
    {"watchdog_zero", kTensor, "[stack]\nwatchdog = \"0s\"\n", 4, 12, "\"off\""},
    {"watchdog_word", kTensor, "[stack]\nwatchdog = \"never\"\n", 4, 12, "not a duration"},
    {"launcher", kTensor, "[stack]\nlauncher = \"mpiexec\"\n", 4, 12, "torchrun, mpirun"},
    {"failures", kTensor, "[failures]\nper_1000_node_days = -1\n", 4, 22, "0 … 1e+06"},
    {"link_rank", kTensor, "[[link]]\nfrom = 0\nto = 4\nlatency = \"1us\"\n", 5, 6, "0 … 3"},
    {"link_self", kTensor, "[[link]]\nfrom = 1\nto = 1\nlatency = \"1us\"\n", 5, 6, "different ranks"},
    {"link_twice", kTensor, "[[link]]\nfrom = 0\nto = 1\nlatency = \"1us\"\n[[link]]\nfrom = 0\nto = 1\nlatency = \"2us\"\n", 8, 8, "given twice"},
    {"link_missing", kTensor, "[[link]]\nfrom = 0\nlatency = \"1us\"\n", 3, 1, "from and to"},
    {"link_bare", kTensor, "[[link]]\nfrom = 0\nto = 1\n", 3, 1, "latency, bandwidth or both"},
    {"link_table", kTensor, "[link]\nfrom = 0\n", 3, 1, "list of tables"},
    {"world_numbers", kNothing, "[cluster]\nnodes = 1025\ngpus_per_node = 1\n[tensor]\nshape = [2]\n", 4, 1, "1025 ranks|1024 ranks with numbers|none"},
    {"title_type", kNothing, "title = 3\n[tensor]\nshape = [2]\n", 1, 9, "title must be a string"},
    {"title_control", kNothing, "title = \"a\\nb\"\n[tensor]\nshape = [2]\n", 1, 9, "control character"},
    {"seed", kNothing, "seed = -1\n[tensor]\nshape = [2]\n", 1, 8, "0 … 9223372036854775807"},
    {"header_brackets", kNothing, "[[[\n", 1, 3, "needs a name"},
    {"header_korean", kNothing, "[\xed\x95\x9c]\n", 1, 2, "needs a name"},
};

constexpr Bad kBadFaults[] = {
    {"kind", kFault, "kind = \"crush\"\nrank = 1\n", 6, 8, "unknown kind \"crush\"|did you mean \"crash\"?|bit_flip"},
    {"no_kind", kFault, "rank = 1\n", 5, 1, "needs a kind"},
    {"no_rank", kFault, "kind = \"crash\"\n", 5, 1, "crash needs a rank|0 … 3"},
    {"rank", kFault, "kind = \"crash\"\nrank = 4\n", 7, 8, "there is no rank 4|0 … 3"},
    {"step", kFault, "kind = \"crash\"\nrank = 1\nstep = 10\n", 8, 8, "there is no training step 10|1 … 9"},
    {"node", kFault, "kind = \"oom\"\nnode = 1\n", 7, 8, "there is no node 1|: 0"},
    {"both", kFault, "kind = \"oom\"\nnode = 0\nrank = 1\n", 7, 8, "not both"},
    {"node_for_rank", kFault, "kind = \"crash\"\nnode = 0\n", 7, 1, "means nothing for the fault crash|kind, rank, step, at, time"},
    {"foreign", kFault, "kind = \"crash\"\nrank = 1\nelement = 3\n", 8, 1, "element means nothing for the fault crash"},
    {"unknown_key", kFault, "kind = \"crash\"\nrnk = 1\n", 7, 1, "unknown key \"rnk\" in [[fault]]|did you mean \"rank\"?"},
    {"element", kFault, "kind = \"nan\"\nrank = 1\nelement = 8\n", 8, 11, "there is no element 8|0 … 7"},
    {"bit", kFault, "kind = \"bit_flip\"\nrank = 1\nbit = 32\n", 8, 7, "0 … 31"},
    {"link", kFault, "kind = \"link_down\"\nfrom = 0\nto = 2\n", 8, 6, "the ring has no link 0 → 2|from 0 to 1"},
    {"link_rank", kFault, "kind = \"link_down\"\nfrom = 0\nto = 7\n", 8, 6, "there is no rank 7"},
    {"link_half", kFault, "kind = \"link_down\"\nfrom = 0\n", 5, 1, "needs the link's from and to"},
    {"factor_missing", kFault, "kind = \"link_slow\"\nfrom = 0\nto = 1\n", 5, 1, "needs the key factor"},
    {"factor", kFault, "kind = \"link_slow\"\nfrom = 0\nto = 1\nfactor = 1\n", 9, 10, "out of range"},
    {"slow_nothing", kFault, "kind = \"slow\"\nrank = 0\n", 6, 8, "either duration"},
    {"slow_both", kFault, "kind = \"slow\"\nrank = 0\nfactor = 0.5\nduration = \"1ms\"\n", 6, 8, "either duration"},
    {"duration_zero", kFault, "kind = \"slow\"\nrank = 0\nduration = \"0ms\"\n", 8, 12, "above 0ns"},
    {"time_and_step", kFault, "kind = \"crash\"\nrank = 0\nstep = 2\ntime = \"1s\"\n", 9, 8, "not both"},
    {"same_shape", kFault, "kind = \"shape\"\nrank = 0\nshape = [8]\n", 8, 9, "every rank has"},
    {"shape_buckets", "[tensor]\nshape = [8]\n[training]\nbuckets = 4\n[[fault]]\n", "kind = \"shape\"\nrank = 0\nshape = [3]\n", 8, 9, "fewer elements than there are buckets|at least 4"},
    {"same_op", kFault, "kind = \"op\"\nrank = 0\nop = \"avg\"\n", 8, 6, "every rank has"},
    {"phase", kFault, "kind = \"nan\"\nrank = 0\nat = \"sideways\"\n", 8, 6, "forward, loss, backward"},
    {"twice", kFault, "kind = \"crash\"\nrank = 0\n[[fault]]\nkind = \"crash\"\nrank = 0\n", 8, 1, "given twice|line 5"},
    {"two_ends", kFault, "kind = \"crash\"\nrank = 0\n[[fault]]\nkind = \"hang\"\nrank = 0\n", 8, 1, "hang contradicts crash"},
    {"after_end", kFault, "kind = \"crash\"\nrank = 0\nat = \"forward\"\n[[fault]]\nkind = \"nan\"\nrank = 0\n", 9, 1, "nothing more"},
    {"no_numbers", kNothing, "[tensor]\nshape = [8]\nvalues = \"none\"\n[[fault]]\nkind = \"nan\"\nrank = 0\n", 5, 8, "needs numbers"},
    {"nan_int", kNothing, "[tensor]\nshape = [8]\ndtype = \"int32\"\n[[fault]]\nkind = \"nan\"\nrank = 0\n", 5, 8, "floating dtype"},
};
// clang-format on

class BadScenario : public testing::TestWithParam<Bad> {};

void expect_problem(const std::string& text, int line, int column, std::string_view parts) {
  const auto scenario = parse_scenario(text, "bad.toml");
  ASSERT_FALSE(scenario);
  const Error& error = scenario.error();
  const std::string message = error.message();
  EXPECT_EQ(error.file, "bad.toml");
  EXPECT_EQ(error.line, line) << message;
  EXPECT_EQ(error.column, column) << message;
  while (!parts.empty()) {
    const std::string part(parts.substr(0, parts.find('|')));
    parts.remove_prefix(std::min(parts.size(), part.size() + 1));
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  }
  for (const char c : message) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) << message;
}

TEST_P(BadScenario, PointsAtThePlace) {
  const Bad& bad = GetParam();
  expect_problem(std::string(bad.before) + bad.text, bad.line, bad.column, bad.parts);
}

TEST(BadTexts, TextsThatNoTableHolds) {
  expect_problem(std::string("\x7f"
                             "ELF\x02\x01\0\0\0",
                             9),
                 1, 1, "not valid TOML");
  expect_problem("a" + std::string(40'000, '.') + "\n", 1, 18, "more than 16 parts");
  expect_problem("a = " + std::string(100'000, '['), 1, 261, "not valid TOML");
  expect_problem("a = [1, }", 1, 9, "where ']' should close");
  expect_problem("a = [[ }", 1, 8, "where ']' should close");
  expect_problem("b = 1\na = {b = 1]\n", 2, 11, "where '}' should close");
}

const auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Keys, BadScenario, testing::ValuesIn(kBadKeys), kName);
INSTANTIATE_TEST_SUITE_P(Faults, BadScenario, testing::ValuesIn(kBadFaults), kName);

std::string npy(const Tensor& tensor) {
  return write_npy(tensor);
}

TEST(BadFiles, NameTheFileAndTheScenario) {
  const std::string text = "[tensor]\nvalues = { file = \"g{rank}.npy\" }\n";
  const auto failing = [&](const FileLoader& load) {
    const auto scenario = parse_scenario(text, "bad.toml", load);
    EXPECT_FALSE(scenario);
    return scenario ? std::string() : scenario.error().message();
  };
  const Tensor good(DType::Float32, Shape{{2, 3}});
  const auto mixed = [&](Tensor other) -> FileLoader {
    return [good, other](std::string_view path) -> Result<std::string> {
      return npy(path == "g2.npy" ? other : good);
    };
  };
  std::string message = failing(mixed(Tensor(DType::Float32, Shape{{3, 2}})));
  EXPECT_NE(message.find("g2.npy: the shape is (3, 2), but rank 0's file has (2, 3)"), std::string::npos)
      << message;
  EXPECT_NE(message.find("bad.toml line 2, column 19"), std::string::npos) << message;
  message = failing(mixed(Tensor(DType::Float64, Shape{{2, 3}})));
  EXPECT_NE(message.find("the dtype is float64, but rank 0's file has float32"), std::string::npos)
      << message;
  message = failing([&](std::string_view) -> Result<std::string> { return npy(good).substr(0, 140); });
  EXPECT_NE(message.find("g0.npy"), std::string::npos) << message;
  message = failing({});
  EXPECT_NE(message.find("files cannot be opened here"), std::string::npos) << message;
}

TEST(Toml, GuardLeavesGoodFilesAlone) {
  const char* good[] = {
      "a = '''\n[[[ not a header\n'''\n",
      "a = \"\"\"\n[. \\\"\"\" x\"\"\"\n",
      "a = [\n[[1]],\n[2]\n]\n",
      "# [[[\n",
      "[a.\"b.c\".'d'] # x\n",
      "a = \"\\\"[[[\"\n[b]\n",
      "[[ a ]]\n",
      "x.\"=\".y = 1.5\n",
      "v = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]\n"};
  for (const char* text : good) EXPECT_TRUE(parse_toml(text, "good.toml")) << text;
}

TEST(Toml, GuardStopsWhatBreaksTheParser) {
  const std::string many(50'000, 'x');
  for (const std::string& text :
       {std::string("[["), std::string("[ [a]]\n"), std::string("[,\n"), std::string("[\n"),
        std::string("x = 1\n  [[#\n"), "[a" + std::string(30'000, '.') + "a]\n",
        std::string("x = '''\n'''\n[=]\n")}) {
    EXPECT_FALSE(parse_toml(text, "bad.toml")) << text.substr(0, 40);
  }
  std::string dotted = "a = { b";
  for (int i = 0; i < 50'000; ++i) dotted += ".\"=\"";
  EXPECT_FALSE(parse_toml(dotted + " = 1 }\n", "bad.toml"));
}

}  // namespace
}  // namespace ringside::sim
