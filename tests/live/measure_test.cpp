// `ringside-cli measure` on this machine: real ranks, a preset file that is read back, predictions beside
// what was measured. Nothing about how fast or how near: the machine may be busy.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/files.hpp"
#include "backend/live/measure.hpp"

namespace ringside {
namespace {

nlohmann::json json_of(const std::string& arguments, int* exit_code) {
  const std::string command = "ASAN_OPTIONS=detect_leaks=0 timeout -k 5 170 " +
                              std::string(RINGSIDE_BIN_DIR) + "/ringside-cli " + arguments;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  *exit_code = WEXITSTATUS(::pclose(pipe));
  return nlohmann::json::parse(text, nullptr, false);
}

TEST(Measure, MakesAPresetAndChecksItAgainstLiveAllReduces) {
  std::string pattern = (std::filesystem::temp_directory_path() / "ringside-measure-XXXXXX").string();
  const std::string folder = ::mkdtemp(pattern.data()), file = folder + "/here.toml";
  int exit_code = -1;
  const auto measured = json_of("measure -n 2 --size 1K..16K --json --output " + file, &exit_code);
  ASSERT_EQ(exit_code, 0);
  EXPECT_EQ(measured["rows"].size(), 9u) << "three sizes, three ways";
  for (const auto& row : measured["rows"]) {
    EXPECT_GT(row["measured_us"].get<double>(), 0);
    EXPECT_GT(row["predicted_us"].get<double>(), 0);
    EXPECT_TRUE(row["error_percent"].is_number());
  }
  const auto text = backend::read_file(file, 1 << 20);
  ASSERT_TRUE(text);
  const auto machine = sim::parse_measured_machine(*text, file);
  ASSERT_TRUE(machine) << machine.error().message();
  EXPECT_EQ(machine->ranks, 2);
  for (const auto& error : machine->error_percent) EXPECT_TRUE(error);
  const auto predicted = json_of("predict --json --size 1K..4K --preset " + file, &exit_code);
  EXPECT_EQ(exit_code, 0);
  ASSERT_EQ(predicted["rows"].size(), 3u);
  EXPECT_NEAR(predicted["rows"][0]["time_us"].get<double>(),
              sim::predict_us(*machine, sim::MpiWay::Library, 2, 1024), 0.01);
  EXPECT_TRUE(predicted["rows"][0]["expected_error_percent"].is_number());
  std::filesystem::remove_all(folder);
}

TEST(Measure, RefusesWhatRanksDidNotMeasure) {
  const std::vector<std::string> good{"library MPI 1",
                                      "alpha_us 1.5",
                                      "bytes_per_us 4000",
                                      "reduce_per_us 2000",
                                      "library_reduce_per_us 8000",
                                      "stepped 1024 30",
                                      "library_call 1024 10"};
  const auto read = backend::read_measurement(good, 4);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->rows.size(), 2u);
  EXPECT_DOUBLE_EQ(read->rows[0].predicted_us, sim::predict_us(read->machine, sim::MpiWay::Stepped, 4, 1024));
  EXPECT_TRUE(read->machine.error_percent[0]);
  EXPECT_FALSE(read->machine.error_percent[1]) << "fused was not measured";
  for (std::size_t left_out = 1; left_out < 5; ++left_out) {
    auto lines = good;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(left_out));
    EXPECT_FALSE(backend::read_measurement(lines, 4)) << good[left_out];
  }
  auto broken = good;
  broken[5] = "stepped 1024 fast";
  EXPECT_FALSE(backend::read_measurement(broken, 4));
}

}  // namespace
}  // namespace ringside
