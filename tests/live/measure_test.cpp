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
  for (const char* way : {"stepped", "fused", "library"})
    EXPECT_TRUE(measured["median_abs_error_percent"][way]["< 64 KiB"].is_number()) << way;
  EXPECT_TRUE(measured["unsteady_percent"].is_number());
  const auto text = backend::read_file(file, 1 << 20);
  ASSERT_TRUE(text);
  const auto machine = sim::parse_measured_machine(*text, file);
  ASSERT_TRUE(machine) << machine.error().message();
  EXPECT_EQ(machine->ranks, 2);
  for (const auto& errors : machine->errors) {
    EXPECT_TRUE(errors[0]);
    EXPECT_FALSE(errors[1]) << "nothing of that size was checked";
  }
  for (const auto& part : machine->parts) {
    ASSERT_GE(part.knots().size(), 6u);
    EXPECT_GT(part.us(16 << 10), 0);
  }
  const auto predicted = json_of("predict --json --size 1K..64K --preset " + file, &exit_code);
  EXPECT_EQ(exit_code, 0);
  ASSERT_EQ(predicted["rows"].size(), 7u);
  EXPECT_NEAR(predicted["rows"][0]["time_us"].get<double>(),
              sim::predict_us(*machine, sim::MpiWay::Library, 2, 1024), 0.01);
  EXPECT_TRUE(predicted["rows"][0]["expected_error_percent"].is_number());
  EXPECT_TRUE(predicted["rows"][6]["expected_error_percent"].is_null()) << "64 KiB was not checked";
  EXPECT_TRUE(predicted["rows"][0]["ways"]["stepped"]["expected_error_percent"].is_number());
  std::filesystem::remove_all(folder);
}

/// What four ranks would print on a machine where everything costs 1 µs and a byte a nanosecond, three
/// rounds, the second twice as slow.
std::vector<std::string> rounds_of(const std::string& key, double bytes, double us) {
  char line[160];
  std::snprintf(line, sizeof line, "%s %.0f %.9g %.9g %.9g", key.c_str(), bytes, us, us * 2, us);
  return {line};
}

std::vector<std::string> good_lines() {
  std::vector<std::string> lines{"version MPI 1"};
  for (std::size_t part = 0; part < sim::kMpiParts; ++part)
    for (const double bytes : {8.0, 1e6})
      lines.push_back(
          rounds_of(std::string(sim::to_word(static_cast<sim::MpiPart>(part))), bytes, 1 + bytes / 1000)[0]);
  return lines;
}

TEST(Measure, ComparesWithinARound) {
  auto lines = good_lines();
  // A ring of four: three steps that reduce a quarter, three that do not.
  const double exact = 6 * (1 + 250'000 / 1000.0);
  lines.push_back(rounds_of("stepped", 1e6, exact / 1.25)[0]);
  lines.push_back("library 16 10 30 10");
  const auto read = backend::read_measurement(lines, 4);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->machine.library, "MPI 1");
  ASSERT_EQ(read->rows.size(), 2u);
  EXPECT_NEAR(read->rows[0].error_percent, 25, 1e-6) << "the slow round was slow for both";
  EXPECT_NEAR(read->rows[0].predicted_us, exact, 1e-6);
  EXPECT_NEAR(read->rows[0].measured_us, exact / 1.25, 1e-6);
  EXPECT_NEAR(*read->machine.errors[0][1], 25, 1e-6);
  EXPECT_FALSE(read->machine.errors[0][0]);
  EXPECT_TRUE(read->machine.errors[2][0]);
  EXPECT_FALSE(read->machine.errors[1][0]) << "fused was not measured";
}

TEST(Measure, RefusesWhatRanksDidNotMeasure) {
  std::vector<std::string> good = good_lines();
  good.push_back("stepped 1024 30 31 32");
  good.push_back("library 1024 10 11 12");
  ASSERT_TRUE(backend::read_measurement(good, 4));
  for (std::size_t left_out = 1; left_out <= 2 * sim::kMpiParts; ++left_out) {
    auto lines = good;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(left_out));
    EXPECT_FALSE(backend::read_measurement(lines, 4)) << good[left_out];
  }
  for (const char* line : {"stepped 1024 fast", "stepped 1024", "stepped 1024 30 31", "stepped 1024 0 1 2",
                           "stepped -4 1 2 3", "copy 8 1 2 3", "stepped 1024 nan 1 2"}) {
    auto broken = good;
    broken.push_back(line);
    EXPECT_FALSE(backend::read_measurement(broken, 4)) << line;
  }
  EXPECT_FALSE(backend::read_measurement(good_lines(), 4)) << "nothing was checked";
}

}  // namespace
}  // namespace ringside
