// The real ringside-cli on all shipped scenarios and on bad input: exit status, what it says, what it writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend/sha256.hpp"
#include "tests/cli/run_program.hpp"

namespace ringside::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kScenarios = fs::path(RINGSIDE_SOURCE_DIR) / "assets/scenarios";

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("ringside cli " + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Said cli(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), std::string(RINGSIDE_BIN_DIR) + "/ringside-cli");
    return run_program(arguments, folder_.string());
  }
  std::string put(const char* name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string get(const char* name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(Cli, RunsTrainingWithAndWithoutAllReduce) {
  const Said together = cli({"run", (kScenarios / "training-step.toml").string(), "--json"});
  const Said alone = cli({"run", (kScenarios / "training-alone.toml").string(), "--json"});
  ASSERT_EQ(together.code, 0);
  ASSERT_EQ(alone.code, 0);
  const json on = json::parse(together.out)["training"], off = json::parse(alone.out)["training"];
  EXPECT_EQ(on["steps"], 50);
  EXPECT_EQ(on["models"], 1);
  EXPECT_EQ(on["steps_with_equal_weights"], 50);
  EXPECT_LT(on["loss_on_all"]["last"].get<double>(), 0.2 * on["loss_on_all"]["first"].get<double>());
  EXPECT_EQ(off["models"], 4);
  EXPECT_EQ(off["steps_with_equal_weights"], 0);
  EXPECT_GT(off["loss_on_all"]["last"].get<double>(), 2 * on["loss_on_all"]["last"].get<double>());
  EXPECT_TRUE(on["proof"]["within_bound"].get<bool>());
  EXPECT_GT(on["proof"]["largest_difference"].get<double>(), 0);
  EXPECT_EQ(on["proof"]["same_order_different"], 0);
  EXPECT_TRUE(off["proof"].is_null());
  const Said text = cli({"run", (kScenarios / "training-step.toml").string()});
  EXPECT_NE(text.out.find("1 model on 4 ranks; equal weights after 50 of 50 steps"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("in the same order exactly 0"), std::string::npos) << text.out;
}

TEST_F(Cli, RunsTheFirstLesson) {
  const Said said = cli({"run", (kScenarios / "four-gpus.toml").string(), "--json"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.err, "");
  const json run = json::parse(said.out);
  EXPECT_EQ(run["title"], "Four GPUs, one number each");
  EXPECT_EQ(run["seed"], 1);
  EXPECT_EQ(run["world_size"], 4);
  EXPECT_EQ(run["outcome"], "completed");
  EXPECT_EQ(run["diagnosis"]["kind"], "none");
  EXPECT_EQ(run["trace_hash"].get<std::string>().size(), 64u);
  ASSERT_EQ(run["collectives"].size(), 1u);
  const json& collective = run["collectives"][0];
  EXPECT_EQ(collective["seq"], 1);
  EXPECT_EQ(collective["collective"], "all_reduce");
  EXPECT_EQ(collective["op"], "sum_then_divide");
  EXPECT_EQ(collective["algorithm"], "ring");
  EXPECT_EQ(collective["order"], "nccl");
  EXPECT_EQ(collective["dtype"], "float32");
  EXPECT_EQ(collective["count"], 1);
  EXPECT_EQ(collective["outcome"], "completed");
  EXPECT_EQ(collective["ring_steps"], 6);
  EXPECT_EQ(collective["transfers"], 24);
  EXPECT_EQ(collective["result"], json::parse("[[5],[5],[5],[5]]"));
  EXPECT_GT(collective["time_ns"].get<std::int64_t>(), 0);
  EXPECT_DOUBLE_EQ(collective["algbw_GBps"].get<double>(), 4.0 / collective["time_ns"].get<double>());
  EXPECT_DOUBLE_EQ(collective["busbw_GBps"].get<double>(), 1.5 * collective["algbw_GBps"].get<double>());
}

TEST_F(Cli, ChecksLessons) {
  for (const auto& entry : fs::directory_iterator(fs::path(kScenarios).parent_path() / "lessons"))
    EXPECT_EQ(cli({"check", entry.path().string()}).code, 0) << entry.path();
  const fs::path file = fs::path(testing::TempDir()) / "lesson-check.toml";
  const auto check = [&](std::string_view step) {
    std::ofstream(file) << "id = \"x\"\ntitle = { en = \"X\" }\n[[step]]\ntext = { en = \"t\" }\n" << step;
    return cli({"check", file.string()});
  };
  const Said typo = check("scene = \"allredcue\"\n");
  EXPECT_EQ(typo.code, 2);
  EXPECT_NE(typo.err.find(":5:"), std::string::npos) << typo.err;
  EXPECT_NE(typo.err.find("allreduce"), std::string::npos) << typo.err;
  const Said missing = check("scenario = \"no-such.toml\"\n");
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("no-such.toml"), std::string::npos) << missing.err;
  fs::remove(file);
}

TEST_F(Cli, EveryShippedScenarioRunsAndChecks) {
  for (const auto& entry : fs::directory_iterator(kScenarios)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string path = entry.path().string();
    const Said run = cli({"run", path, "--json"});
    EXPECT_EQ(run.code, 0) << path << run.err;
    const json result = json::parse(run.out, nullptr, false);
    ASSERT_FALSE(result.is_discarded()) << path;
    // Every rank for itself is the one shipped job without a collective.
    EXPECT_EQ(result["collectives"].empty(), entry.path().stem() == "training-alone") << path;
    const Said human = cli({"run", path});
    EXPECT_EQ(human.code, 0);
    EXPECT_NE(human.out.find(result["trace_hash"].get<std::string>()), std::string::npos) << path;
    EXPECT_EQ(cli({"check", path}).code, 0) << path;
  }
}

TEST_F(Cli, TraceIsTheHashedBytesAndTheSameEveryTime) {
  const std::string scenario = (kScenarios / "nan-and-infinity.toml").string();
  const json run =
      json::parse(cli({"run", scenario, "--json", "--trace", "a.jsonl", "--perfetto", "p.json"}).out);
  ASSERT_EQ(cli({"run", scenario, "--trace", "b.jsonl"}).code, 0);
  const std::string bytes = get("a.jsonl");
  EXPECT_EQ(bytes, get("b.jsonl"));
  EXPECT_EQ(backend::sha256_hex(bytes.substr(bytes.find('\n') + 1)), run["trace_hash"]);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), '\n'), run["events"].get<std::int64_t>() + 1);
  EXPECT_FALSE(json::parse(get("p.json"))["traceEvents"].empty());
  EXPECT_EQ(files(), 3u);
}

TEST_F(Cli, RoundingDependsOnTheOrder) {
  const auto result = [&](const char* name) {
    return json::parse(
        cli({"run", (kScenarios / name).string(), "--json"}).out)["collectives"][0]["result"][0];
  };
  const json nccl = result("rounding-order.toml"), textbook = result("rounding-order-textbook.toml");
  EXPECT_NE(nccl, textbook);
  EXPECT_NE(nccl[0], nccl[1]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(nccl[i].get<double>(), textbook[i].get<double>(), 1e-5);
}

TEST_F(Cli, Float16OverflowsAndAvgDoesNot) {
  const std::string text = [] {
    std::ifstream in(kScenarios / "float16-overflow.toml");
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }();
  const json sum = json::parse(cli({"run", put("sum.toml", text), "--json"}).out);
  EXPECT_EQ(sum["collectives"][0]["result"][0], json::parse("[\"Infinity\",2.5,0.234375,\"-Infinity\"]"));
  std::string averaged = text;
  averaged.replace(averaged.rfind("sum_then_divide"), 15, "avg");
  const json avg = json::parse(cli({"run", put("avg.toml", averaged), "--json"}).out);
  EXPECT_EQ(avg["collectives"][0]["result"][0][0], 20000);
}

TEST_F(Cli, BigResultsAreSummed) {
  const json run = json::parse(
      cli({"run", put("big.toml", "[tensor]\nshape = [20000]\n[collective]\nop = \"sum\"\n"), "--json"}).out);
  const json& result = run["collectives"][0]["result"];
  ASSERT_EQ(result.size(), 4u);
  EXPECT_EQ(result[0]["min"], 120000);  // 0 + 20000 + 40000 + 60000
  EXPECT_EQ(result[0]["max"], 120000 + 4 * 19999);
  EXPECT_EQ(result[0]["digest"].get<std::string>().size(), 16u);
  EXPECT_EQ(result[0], result[3]);
}

TEST_F(Cli, PathsWithSpacesAndOtherWorkingFolders) {
  put("my job.toml", "[tensor]\nshape = [4]\n");
  EXPECT_EQ(cli({"run", "my job.toml", "--trace", "my trace.jsonl"}).code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "my trace.jsonl"));
  EXPECT_EQ(cli({"check", "./my job.toml"}).code, 0);
}

TEST_F(Cli, BadInputExits2SaysWhereAndWritesNothing) {
  struct Bad {
    const char* name;
    std::string text;
    std::vector<std::string> parts;
  };
  const Bad bad[] = {
      {"empty file.toml", "", {"empty file.toml:1:1:", "says nothing"}},
      {"binary.toml",
       std::string("\x7f"
                   "ELF\0\1\2\xff\xfe",
                   9),
       {"binary.toml:1:8:", "not valid TOML"}},
      {"key.toml",
       "[tensor]\nshape = [1]\n[collectve]\n",
       {"key.toml:3:2:", "unknown key \"collectve\"", "did you mean \"collective\"?"}},
      {"type.toml", "[cluster]\nnodes = \"four\"\n", {"type.toml:2:9:", "\"four\"", "1 … 1048576"}},
      {"world.toml", "[cluster]\ngpus_per_node = 0\n", {"world.toml:2:17:", "out of range: 0"}},
      {"latency.toml", "[cluster]\nintra_latency = \"-1us\"\n", {"latency.toml:2:17:", "-1us", "negative"}},
      {"shape.toml", "[tensor]\nshape = [0]\n", {"shape.toml:2:9:", "[0]"}},
      {"overflow.toml",
       "[tensor]\nshape = [4611686018427387904, 4]\nvalues = \"none\"\n",
       {"overflow.toml:2:9:"}},
      {"ragged.toml",
       "[tensor]\nshape = [2]\nvalues = [[1, 2], [3], [4, 5], [6, 7]]\n",
       {"ragged.toml:3:19:", "rank 1"}},
      {"npy.toml",
       "[tensor]\nvalues = { file = \"r{rank}.npy\" }\n",
       {"r0.npy", "npy.toml line 2, column 19"}},
      {"outside.toml", "[tensor]\nvalues = { file = \"/etc/{rank}\" }\n", {"/etc/0"}},
  };
  for (const Bad& input : bad) put(input.name, input.text);
  put("r0.npy", "\x93NUMPY\x01");
  const std::size_t before = files();
  for (const Bad& input : bad) {
    for (const bool as_json : {false, true}) {
      std::vector<std::string> arguments{"run", input.name, "--trace", "t.jsonl", "--perfetto", "p.json"};
      if (as_json) arguments.push_back("--json");
      const Said said = cli(arguments);
      EXPECT_EQ(said.code, 2) << input.name;
      for (const auto& part : input.parts) EXPECT_NE(said.err.find(part), std::string::npos) << said.err;
      if (as_json) {
        EXPECT_TRUE(json::parse(said.out).contains("error")) << input.name;
      } else {
        EXPECT_EQ(said.out, "") << input.name;
      }
    }
    EXPECT_EQ(cli({"check", input.name}).code, 2) << input.name;
    EXPECT_EQ(files(), before) << input.name;
  }
}

TEST_F(Cli, UsageErrorsExit2) {
  put("good.toml", "[tensor]\nshape = [1]\n");
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"walk"},
                                                    {"run"},
                                                    {"run", "good.toml", "extra"},
                                                    {"run", "good.toml", "--colour"},
                                                    {"run", "good.toml", "--trace"},
                                                    {"run", "none.toml"},
                                                    {"run", "."},
                                                    {"run", "good.toml", "--trace", "good.toml"},
                                                    {"run", "good.toml", "--trace", "x", "--perfetto", "./x"},
                                                    {"reliability", "--gpus", "0"},
                                                    {"reliability", "--gpus", "x"},
                                                    {"reliability", "--checkpoint", "60"}}) {
    const Said said = cli(arguments);
    EXPECT_EQ(said.code, 2) << (arguments.empty() ? "" : arguments.back());
    EXPECT_FALSE(said.err.empty());
    EXPECT_EQ(said.out, "");
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(get("good.toml"), "[tensor]\nshape = [1]\n");
}

TEST_F(Cli, OutputThatCannotBeWrittenExits1AndLeavesNothing) {
  put("good.toml", "[tensor]\nshape = [1]\n");
  const Said said = cli({"run", "good.toml", "--trace", "t.jsonl", "--perfetto", "none/p.json"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("none/p.json"), std::string::npos);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(cli({"run", "good.toml", "--trace", "/dev/full"}).code, 1);
}

TEST_F(Cli, EveryCommandHasHelpWithAnExample) {
  const Said all = cli({"--help"});
  EXPECT_EQ(all.code, 0);
  for (const char* command :
       {"run", "check", "diagnose", "explain", "predict", "compare", "reliability", "scenes", "version"}) {
    EXPECT_NE(all.out.find(command), std::string::npos);
    const Said said = cli({command, "--help"});
    EXPECT_EQ(said.code, 0) << command;
    EXPECT_NE(said.out.find("Example:"), std::string::npos) << command;
  }
}

TEST_F(Cli, ScenesVersionAndReliability) {
  const json scenes = json::parse(cli({"scenes", "--json"}).out);
  std::vector<std::string> ids;
  for (const json& scene : scenes["scenes"]) ids.push_back(scene["id"]);
  EXPECT_EQ(ids, (std::vector<std::string>{"home", "tensor", "same-shape", "step", "allreduce", "nan",
                                           "cluster", "detective", "duel", "live", "incident"}));
  EXPECT_EQ(json::parse(cli({"version", "--json"}).out)["ringside"], RINGSIDE_TEST_VERSION);
  EXPECT_NE(cli({"version"}).out.find(RINGSIDE_TEST_VERSION), std::string::npos);
  EXPECT_EQ(
      json::parse(cli({"reliability", "--gpus", "16384", "--checkpoint", "60min", "--json"}).out)["gpus"],
      16384);
}

TEST_F(Cli, DiagnosesItsOwnTrace) {
  const std::string scenario = (kScenarios / "nan-and-infinity.toml").string();
  const json run = json::parse(cli({"run", scenario, "--json", "--trace", "t.jsonl"}).out);
  const Said said = cli({"diagnose", "t.jsonl", "--json"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(json::parse(said.out), run["diagnosis"]);
  // A recording that was cut off is judged as far as it goes, and says so.
  const std::string bytes = get("t.jsonl");
  put("cut.jsonl", bytes.substr(0, bytes.size() - 30));
  const Said cut = cli({"diagnose", "cut.jsonl", "--json"});
  EXPECT_EQ(cut.code, 0);
  EXPECT_NE(cut.err.find("ends in the middle of a line"), std::string::npos) << cut.err;
  EXPECT_EQ(cli({"diagnose", "none"}).code, 2);
}

TEST_F(Cli, ExplainsALine) {
  const std::string line =
      "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=133, OpType=ALLREDUCE)";
  const Said said = cli({"explain", line, "--json"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(json::parse(said.out)["known"], true);
  EXPECT_FALSE(cli({"explain", line, "--lang", "ko"}).out.empty());
  EXPECT_EQ(cli({"explain", "hello"}).code, 0);
  EXPECT_EQ(cli({"explain", line, "--lang", "fr"}).code, 2);
  EXPECT_EQ(cli({"explain"}).code, 2);
}

TEST_F(Cli, PredictsAndRefuses) {
  const Said said = cli({"predict", "--preset", "dgx-h100", "--size", "64M..128M", "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(json::parse(said.out)["rows"].size(), 2u);
  EXPECT_EQ(cli({"predict", "--preset", "dgx-h10", "--size", "64M"}).code, 2);
  EXPECT_EQ(cli({"predict", "--preset", "dgx-h100", "--size", "64 parsecs"}).code, 2);
  EXPECT_EQ(cli({"compare", "--preset", "dgx-h100", "none.txt"}).code, 2);
}

TEST_F(Cli, HostileTitlesAreMadeHarmless) {
  put("t.toml", "title = \"a\\u202Eb\\u009Bc\"\n[tensor]\nshape = [1]\n");
  const Said said = cli({"run", "t.toml"});
  EXPECT_EQ(said.out.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_NE(said.out.find("\\u202e"), std::string::npos);
}

}  // namespace
}  // namespace ringside::test
