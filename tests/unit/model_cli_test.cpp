// predict and compare as the command line prints them.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/cli/predict.hpp"

namespace ringside::app {
namespace {

const std::string kRoot = RINGSIDE_SOURCE_DIR;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

sim::TimeModel model() {
  return sim::parse_time_model(file_text(kRoot + "/assets/presets.toml"), "presets.toml").value();
}

PredictOptions options(const char* preset, int nodes, const char* sizes, bool json) {
  PredictOptions made;
  made.preset = preset;
  made.nodes = nodes;
  made.sizes = parse_size_range(sizes).value();
  made.json = json;
  return made;
}

TEST(PredictCommand, Json) {
  const auto text = run_predict(options("dgx-h100", 2, "8M..8G", true), model());
  ASSERT_TRUE(text);
  const auto object = nlohmann::json::parse(*text);
  EXPECT_EQ(object["ranks"], 16);
  EXPECT_EQ(object["fitted"], true);
  ASSERT_EQ(object["rows"].size(), 11U);
  const auto& last = object["rows"].back();
  EXPECT_EQ(last["size_bytes"], std::int64_t{8} << 30);
  EXPECT_EQ(last["algorithm"], "NVLSTree");
  EXPECT_EQ(last["protocol"], "Simple");
  EXPECT_GT(last["expected_error_percent"].get<double>(), 0);
  const double algbw = last["algbw_GBps"], busbw = last["busbw_GBps"], us = last["time_us"];
  EXPECT_NEAR(busbw / algbw, 1.875, 1e-3);
  EXPECT_NEAR(8589934592.0 / us / 1000, algbw, algbw * 1e-3);
  EXPECT_NEAR(last["time_ns"].get<double>(), us * 1000, us);
}

TEST(PredictCommand, NotFittedShowsNoError) {
  const auto json = nlohmann::json::parse(*run_predict(options("mi300x", 1, "1G", true), model()));
  EXPECT_EQ(json["fitted"], false);
  EXPECT_TRUE(json["rows"][0]["expected_error_percent"].is_null());
  const std::string text = *run_predict(options("mi300x", 1, "1G", false), model());
  EXPECT_NE(text.find("not fitted"), std::string::npos);
  EXPECT_EQ(text.find(" %"), std::string::npos) << text;
  EXPECT_NE(run_predict(options("dgx-h100", 1, "1G", false), model())->find(" %"), std::string::npos);
}

TEST(PredictCommand, BadInput) {
  EXPECT_FALSE(run_predict(options("dgx-h", 1, "1G", false), model()));
  EXPECT_FALSE(run_predict(options("dgx-h100", 0, "1G", false), model()));
  for (const char* range : {"", "8G..8M", "x", "1M..", "0", "..1M"})
    EXPECT_FALSE(parse_size_range(range)) << range;
  EXPECT_EQ(parse_size_range("1K")->to, 1024);
}

TEST(CompareCommand, JsonAndText) {
  CompareOptions compare;
  compare.preset = "dgx-h100";
  compare.json = true;
  const std::string table =
      file_text(kRoot + "/tests/data/nccl-tests/05-h100-16gpu-2node-dgx-congested-mid.csv");
  const auto object = nlohmann::json::parse(*run_compare(compare, table, model()));
  EXPECT_EQ(object["nodes"], 2);
  EXPECT_EQ(object["gpus_per_node"], 8);
  EXPECT_EQ(object["rows"].size(), 32U);
  EXPECT_EQ(object["rows"][0]["size_bytes"], 8);
  EXPECT_DOUBLE_EQ(object["rows"][0]["measured_us"].get<double>(), 172.7);
  EXPECT_GT(object["rows"][0]["predicted_us"].get<double>(), 0);
  EXPECT_EQ(object["bands"].size(), 4U);
  EXPECT_EQ(object["verdict"]["healthy"], false);
  EXPECT_EQ(object["verdict"]["causes"][0], "mid-size collapse");
  compare.json = false;
  EXPECT_NE(run_compare(compare, table, model())->find("verdict: not healthy: mid-size collapse"),
            std::string::npos);
  compare.nodes = 1;
  EXPECT_NE(run_compare(compare, table, model())->find("1 x 8 GPUs"), std::string::npos);
  EXPECT_FALSE(run_compare(compare, "nothing", model()));
}

}  // namespace
}  // namespace ringside::app
