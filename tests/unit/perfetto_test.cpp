// The timeline for Perfetto: valid JSON, slices that nest, an arrow for every transfer.
#include "backend/perfetto.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/job/simulate.hpp"

namespace ringside::backend {
namespace {

using nlohmann::json;

json timeline(std::string_view toml) {
  const auto scenario = sim::parse_scenario(toml, "test.toml");
  EXPECT_TRUE(scenario) << scenario.error().message();
  const sim::Simulation simulation = sim::simulate(*scenario);
  std::string text;
  const auto done = write_perfetto(simulation.trace, [&](std::string_view piece) {
    text += piece;
    return sim::ok();
  });
  EXPECT_TRUE(done);
  return json::parse(text);
}

std::int64_t ns(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

/// Any two slices of a track lie one inside the other or apart.
void expect_nested(const json& document) {
  std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] == "X") tracks[e["tid"]].push_back({ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])});
  }
  EXPECT_FALSE(tracks.empty());
  for (const auto& [tid, slices] : tracks) {
    for (const auto& a : slices) {
      EXPECT_GE(a.second, a.first);
      for (const auto& b : slices) {
        const bool crosses = a.first < b.first && b.first < a.second && a.second < b.second;
        EXPECT_FALSE(crosses) << "rank " << tid << ": " << a.first << ".." << a.second << " and " << b.first
                              << ".." << b.second;
      }
    }
  }
}

const char* const kRing =
    "title = \"Four <\\\"GPUs\\\">\"\n[tensor]\nshape = [8]\n[training]\nforward = "
    "\"10us\"\nbackward = \"20us\"\n[collective]\nop = \"sum\"\nreduce = \"300ns\"\n";

TEST(Perfetto, OneTrackARankAndOneArrowATransfer) {
  const json document = timeline(kRing);
  EXPECT_EQ(document["otherData"]["title"], "Four <\"GPUs\">");
  std::map<std::string, int> phases;
  std::map<int, std::pair<json, json>> arrows;
  std::set<std::string> names;
  for (const json& e : document["traceEvents"]) {
    ++phases[e["ph"]];
    if (e["ph"] == "s") arrows[e["id"]].first = e;
    if (e["ph"] == "f") arrows[e["id"]].second = e;
    if (e["ph"] == "M" && e["name"] == "thread_name") names.insert(e["args"]["name"]);
  }
  EXPECT_EQ(names, (std::set<std::string>{"rank 0", "rank 1", "rank 2", "rank 3"}));
  EXPECT_EQ(arrows.size(), 24u);  // 4 ranks × 6 ring steps
  for (const auto& [id, arrow] : arrows) {
    EXPECT_EQ(arrow.second["tid"].get<int>(), (arrow.first["tid"].get<int>() + 1) % 4);
    EXPECT_GE(ns(arrow.second["ts"]), ns(arrow.first["ts"]));
    EXPECT_EQ(arrow.second["bp"], "e");
  }
  expect_nested(document);
}

TEST(Perfetto, ShowsPhasesCollectivesWaitsAndReceives) {
  const json document = timeline(kRing);
  std::map<std::string, int> categories;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] == "X") ++categories[e["cat"]];
  }
  EXPECT_EQ(categories["collective"], 4);
  EXPECT_EQ(categories["receive"], 24);
  EXPECT_GE(categories["phase"], 4 * 3);
}

TEST(Perfetto, NestsWithChannelsOverlapAndJitter) {
  expect_nested(
      timeline("[tensor]\nshape = [64]\n[training]\nsteps = 2\nforward = \"10us\"\nbackward = "
               "\"20us\"\njitter = 0.3\nbuckets = 2\noverlap = true\n[collective]\nop = \"sum\"\nchannels = "
               "2\nreduce = \"300ns\"\n"));
}

TEST(Perfetto, AnEmptyTraceIsValidToo) {
  std::string text;
  ASSERT_TRUE(write_perfetto(sim::Trace{}, [&](std::string_view piece) {
    text += piece;
    return sim::ok();
  }));
  EXPECT_TRUE(json::parse(text)["traceEvents"].empty());
}

}  // namespace
}  // namespace ringside::backend
