// Whole runs on real input: NumPy's files average to NumPy's own ring-ordered result, and the shipped
// scenarios keep their trace, byte for byte, on every compiler and build type.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "backend/files.hpp"
#include "backend/trace_file.hpp"
#include "sim/job/simulate.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::backend {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = RINGSIDE_SOURCE_DIR;

sim::Tensor read_tensor(const fs::path& path) {
  const auto bytes = read_file(path.string(), 1 << 20);
  EXPECT_TRUE(bytes) << bytes.error().message();
  auto tensor = sim::read_npy(std::as_bytes(std::span(bytes->data(), bytes->size())), path.string());
  EXPECT_TRUE(tensor) << tensor.error().message();
  return std::move(*tensor);
}

/// The files of tests/data/npy: (3, 5, 7) random numbers of four ranks, and what NumPy makes of them in the
/// ring's order.
class NumPy : public testing::TestWithParam<const char*> {};

TEST_P(NumPy, RingAverageBitForBit) {
  const std::string dtype = GetParam();
  const std::string toml =
      "[tensor]\nvalues = { file = \"" + dtype + "_rank{rank}.npy\" }\n[collective]\nop = \"";
  const std::string folder = (kSource / "tests/data/npy/job.toml").string();
  for (const auto& [op, expected] :
       {std::pair("sum", "_sum.npy"), std::pair("sum_then_divide", "_avg.npy")}) {
    const auto scenario = sim::parse_scenario(toml + op + "\"\n", "job.toml", scenario_loader(folder, false));
    ASSERT_TRUE(scenario) << scenario.error().message();
    EXPECT_EQ(scenario->tensor.shape, (sim::Shape{{3, 5, 7}}));
    const sim::Simulation run = sim::simulate(*scenario);
    const sim::Tensor numpy = read_tensor(kSource / "tests/data/npy" / (dtype + expected));
    ASSERT_EQ(run.collectives.size(), 1u);
    ASSERT_EQ(run.collectives[0].result.size(), 4u);
    for (const auto& result : run.collectives[0].result)
      EXPECT_EQ(result->data, numpy.data) << dtype << " " << op;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, NumPy, testing::Values("float32", "float16"));

std::map<std::string, std::string> recorded_hashes(const fs::path& file) {
  std::map<std::string, std::string> hashes;
  std::ifstream in(file);
  for (std::string name, hash; in >> name >> hash;) hashes[name] = hash;
  return hashes;
}

/// A change of these hashes is a change of every recording ever made: never by accident. When it is meant,
/// `RINGSIDE_UPDATE=1 simulate_files_test` writes them anew.
TEST(Golden, TracesOfTheShippedScenarios) {
  const fs::path file = kSource / "tests/golden/trace_hashes.txt";
  std::map<std::string, std::string> now;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "assets/scenarios")) {
    if (entry.path().extension() != ".toml") continue;
    const auto scenario = load_scenario(entry.path().string());
    ASSERT_TRUE(scenario) << scenario.error().message();
    // Writing out millions of events takes many seconds; a smaller job of the same kind stands for them.
    constexpr std::size_t kMostEvents = 1'000'000;
    const sim::Simulation job = sim::simulate(*scenario);
    if (job.trace.size() > kMostEvents) continue;
    now[fs::relative(entry.path(), kSource / "assets/scenarios").replace_extension().generic_string()] =
        trace_hash(job.trace);
  }
  EXPECT_TRUE(now.contains("nan-and-infinity"));
  if (std::getenv("RINGSIDE_UPDATE") != nullptr) {
    std::ofstream out(file);
    for (const auto& [name, hash] : now) out << name << ' ' << hash << '\n';
  }
  EXPECT_EQ(recorded_hashes(file), now);
}

}  // namespace
}  // namespace ringside::backend
