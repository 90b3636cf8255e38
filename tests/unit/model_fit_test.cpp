// The time model against measurements: the shipped constants are what the tool makes, the held-out error
// keeps its promise, tables are read in every format, and sick tables are told from healthy ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "backend/model/fit.hpp"
#include "sim/base/text.hpp"
#include "sim/model/health.hpp"

namespace ringside::backend {
namespace {

const std::string kRoot = RINGSIDE_SOURCE_DIR;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<CatalogTable>& catalog() {
  static const auto tables = read_catalog(kRoot + "/tests/data/nccl-tests");
  if (!tables) ADD_FAILURE() << tables.error().message();
  return *tables;
}

const FitReport& report() {
  static const FitReport made = fit_and_hold_out(catalog());
  return made;
}

sim::TimeModel shipped() {
  const auto model = sim::parse_time_model(file_text(kRoot + "/assets/presets.toml"), "presets.toml");
  if (!model) ADD_FAILURE() << model.error().message();
  return *model;
}

sim::TableComparison compare(const CatalogTable& table) {
  std::vector<sim::MeasuredPoint> points;
  for (const MeasuredRow& row : table.table.rows) points.push_back({row.bytes, row.time_us});
  auto compared = sim::compare_with_model(shipped(), table.preset, table.table.nodes,
                                          table.table.gpus_per_node, table.table.collective, points);
  if (!compared) ADD_FAILURE() << compared.error().message();
  return *compared;
}

TEST(TimeModel, TheShippedConstantsAreWhatTheToolMakes) {
  EXPECT_EQ(sim::time_model_toml(report().model), file_text(kRoot + "/assets/presets.toml"));
}

TEST(TimeModel, TheDocumentsSayWhatTheToolSays) {
  std::string table = hold_out_table(report());
  table.erase(0, table.find("\n\n") + 2);
  EXPECT_NE(file_text(kRoot + "/docs/time-model.md").find(table), std::string::npos) << table;
  std::string row = "| Ringside |";
  for (std::size_t band = 0; band < sim::kSizeBands; ++band) {
    sim::append_double(row += ' ', *report().model.error[band]);
    row += " % |";
  }
  EXPECT_NE(file_text(kRoot + "/README.md").find(row), std::string::npos) << row;
}

TEST(TimeModel, HeldOutErrorKeepsItsPromise) {
  const sim::BandErrors& model = report().model.error;
  const sim::BandErrors& tuner = report().model.tuner_error;
  const double aims[sim::kSizeBands] = {25, 20, 10, 3};
  for (std::size_t band = 0; band < sim::kSizeBands; ++band) {
    ASSERT_TRUE(model[band] && tuner[band]);
    EXPECT_LE(*model[band], aims[band]) << sim::size_band_name(band);
    EXPECT_LT(*model[band], *tuner[band]) << sim::size_band_name(band);
  }
}

TEST(TimeModel, OneOddRowDoesNotMoveTheConstants) {
  std::vector<CatalogTable> spoilt = catalog();
  for (CatalogTable& table : spoilt)
    if (table.file.rfind("16-", 0) == 0) table.table.rows[3].time_us *= 20;
  std::vector<const CatalogTable*> used;
  for (const CatalogTable& table : spoilt)
    if (table.use == TableUse::Fit) used.push_back(&table);
  const sim::ModelConstants constants = fit_constants(used);
  const sim::ModelConstants& clean = report().model.constants;
  EXPECT_NEAR(constants.nics[0].hop_us / clean.nics[0].hop_us, 1, 0.15);
  EXPECT_NEAR(constants.links[2].switch_efficiency / clean.links[2].switch_efficiency, 1, 0.02);
}

TEST(TimeModel, TheFileReadsBack) {
  const sim::TimeModel model = shipped();
  EXPECT_EQ(sim::time_model_toml(model), file_text(kRoot + "/assets/presets.toml"));
  for (const char* bad : {"", "format = 2", "format = 1\n[ramp]\nlink_us = -1"})
    EXPECT_FALSE(sim::parse_time_model(bad, "x.toml")) << bad;
  std::string broken = file_text(kRoot + "/assets/presets.toml");
  broken += "\n[preset.dgx-h1000]\ntables = []\nerror = {}\n";
  const auto result = sim::parse_time_model(broken, "presets.toml");
  ASSERT_FALSE(result);
  EXPECT_GT(result.error().line, 40) << result.error().message();
}

TEST(TimeModel, PresetsWithoutDataShowNoError) {
  const sim::TimeModel model = shipped();
  for (const sim::Preset& preset : sim::builtin_presets()) {
    for (const int nodes : {1, 2, 5}) {
      const auto prediction = sim::predict(model, preset, {nodes, 0, 1 << 20, sim::Collective::AllReduce});
      ASSERT_TRUE(prediction) << preset.name;
      EXPECT_EQ(prediction->fitted, model.find(preset.name) != nullptr);
      EXPECT_EQ(prediction->error_percent.has_value(), prediction->fitted) << preset.name;
    }
  }
  EXPECT_FALSE(sim::predict(model, sim::find_preset("mi300x").value(), {1, 8, 1 << 20, {}})->fitted);
  // No table measured a broadcast.
  EXPECT_FALSE(
      sim::predict(model, sim::find_preset("dgx-h100").value(), {1, 8, 1 << 20, sim::Collective::Broadcast})
          ->error_percent);
}

TEST(TimeModel, ExpectedErrorIsTheMoreCautious) {
  const sim::TimeModel model = shipped();
  for (const sim::FittedPreset& preset : model.presets) {
    for (std::size_t band = 0; band < sim::kSizeBands; ++band) {
      const auto expected = model.expected_error(preset.name, band);
      ASSERT_TRUE(expected);
      EXPECT_GE(*expected, *model.error[band]);
      EXPECT_GE(*expected, preset.error[band].value_or(0));
    }
  }
  EXPECT_FALSE(model.expected_error("mi300x", 0));
}

TEST(TimeModel, TimeGrowsWithSizeAndNodes) {
  const sim::TimeModel model = shipped();
  for (const sim::Preset& preset : sim::builtin_presets()) {
    for (const auto collective :
         {sim::Collective::AllReduce, sim::Collective::AllGather, sim::Collective::AllToAll}) {
      double last = 0;
      for (std::int64_t bytes = 8; bytes <= std::int64_t{16} << 30; bytes *= 2) {
        const auto two = sim::predict(model, preset, {2, 0, bytes, collective});
        const auto many = sim::predict(model, preset, {64, 0, bytes, collective});
        ASSERT_TRUE(two && many);
        EXPECT_GT(two->time_us, 0.95 * last) << preset.name << " " << bytes;
        EXPECT_GT(many->time_us, 0.95 * two->time_us) << preset.name << " " << bytes;
        last = two->time_us;
      }
    }
  }
}

TEST(TimeModel, RefusesWhatCannotBe) {
  const sim::TimeModel model = shipped();
  const sim::Preset preset = sim::find_preset("dgx-h100").value();
  EXPECT_FALSE(sim::predict(model, preset, {1, 1, 1024, {}}));
  EXPECT_FALSE(sim::predict(model, preset, {0, 8, 1024, {}}));
  EXPECT_FALSE(sim::predict(model, preset, {1, 8, 0, {}}));
  EXPECT_FALSE(sim::predict(model, preset, {1 << 21, 8, 1024, {}}));
  EXPECT_TRUE(sim::predict(model, preset, {16384, 8, 1024, {}}));
}

TEST(Health, NoHealthyTableIsCalledSick) {
  for (const CatalogTable& table : catalog()) {
    if (table.use == TableUse::Sick) continue;
    const sim::TableComparison compared = compare(table);
    if (table.use == TableUse::Fit) {
      EXPECT_TRUE(compared.healthy) << table.file << ": " << compared.summary;
    }
  }
}

TEST(Health, HealthyTablesStayHealthyUnderConstantsThatNeverSawThem) {
  EXPECT_EQ(report().held_out.size(), 11U);
  for (const HeldOutTable& held : report().held_out) {
    const CatalogTable& table = *held.table;
    sim::TimeModel model = shipped();
    model.constants = held.constants;
    std::vector<sim::MeasuredPoint> points;
    for (const MeasuredRow& row : table.table.rows) points.push_back({row.bytes, row.time_us});
    const auto compared = sim::compare_with_model(model, table.preset, table.table.nodes,
                                                  table.table.gpus_per_node, table.table.collective, points);
    ASSERT_TRUE(compared);
    EXPECT_TRUE(compared->healthy) << table.file << ": " << compared->summary;
  }
}

TEST(Health, SickTablesAreFoundAndNamed) {
  int sick = 0;
  for (const CatalogTable& table : catalog()) {
    if (table.use != TableUse::Sick) continue;
    ++sick;
    const sim::TableComparison compared = compare(table);
    EXPECT_FALSE(compared.healthy) << table.file;
    ASSERT_FALSE(compared.causes.empty()) << table.file;
    const std::string first(sim::to_word(compared.causes[0].cause));
    EXPECT_NE(std::find(table.causes.begin(), table.causes.end(), first), table.causes.end())
        << table.file << ": " << compared.summary;
    for (const sim::HealthFinding& finding : compared.causes) EXPECT_FALSE(finding.why.empty());
  }
  EXPECT_EQ(sick, 6);
}

/// A pair of failure-pairs.csv: one value of busbw at 1 GiB.
struct Pair {
  const char* source;
  const char* preset;
  int nics, nodes, gpus;
  double bad, good;
  sim::HealthCause cause;
};

TEST(Health, PublishedPairs) {
  using sim::HealthCause;
  const std::vector<Pair> pairs = {
      {"nccl#949: ACS in VMs", "a100-hdr", 2, 2, 8, 27, 48, HealthCause::Acs},
      {"nccl-tests#112: ACS", "a100-hdr", 1, 2, 8, 9.84, 0, HealthCause::Acs},
      {"nccl-tests#29: no GPUDirect", "dgx-v100", 1, 4, 8, 6, 12.2, HealthCause::NoGpuDirect},
      {"nccl-tests#178: path leaves NVLink", "dgx-a100", 8, 1, 3, 20, 208, HealthCause::SlowLink},
      {"nccl#1464: VMs", "dgx-h100", 8, 2, 8, 154.925, 0, HealthCause::Acs},
      {"nccl#450: TCP", "ethernet-100g", 1, 4, 8, 5, 12.2, HealthCause::TcpFallback},
  };
  for (const Pair& pair : pairs) {
    sim::Preset preset = sim::find_preset(pair.preset).value();
    preset.links.nics = pair.nics;
    const auto judge = [&](double busbw) {
      const std::int64_t bytes = std::int64_t{1} << 30;
      const double factor = sim::bus_factor(sim::Collective::AllReduce, std::int64_t{pair.nodes} * pair.gpus);
      const double us = static_cast<double>(bytes) / 1000 / (busbw / factor);
      return sim::compare_with_model(shipped(), preset, pair.nodes, pair.gpus, sim::Collective::AllReduce,
                                     {{bytes, us}})
          .value();
    };
    const sim::TableComparison bad = judge(pair.bad);
    EXPECT_FALSE(bad.healthy) << pair.source;
    EXPECT_TRUE(std::any_of(bad.causes.begin(), bad.causes.end(),
                            [&](const sim::HealthFinding& finding) { return finding.cause == pair.cause; }))
        << pair.source << ": " << bad.summary;
    if (pair.good > 0) {
      EXPECT_TRUE(judge(pair.good).healthy) << pair.source << ": " << judge(pair.good).summary;
    }
  }
}

TEST(Health, ShapesMadeFromTheModelItself) {
  const sim::TimeModel model = shipped();
  const sim::Preset preset = sim::find_preset("dgx-h100").value();
  const auto judge = [&](auto spoil) {
    std::vector<sim::MeasuredPoint> points;
    for (std::int64_t bytes = 8; bytes <= std::int64_t{8} << 30; bytes *= 2) {
      const auto prediction = sim::predict(model, preset, {2, 8, bytes, sim::Collective::AllReduce});
      points.push_back({bytes, spoil(bytes, prediction->time_us)});
    }
    return sim::compare_with_model(model, preset, 2, 8, sim::Collective::AllReduce, points).value();
  };
  const auto first = [](const sim::TableComparison& compared) {
    return compared.causes.empty() ? "healthy" : std::string(sim::to_word(compared.causes[0].cause));
  };
  EXPECT_EQ(first(judge([](std::int64_t, double us) { return us; })), "healthy");
  // Old software: everything small is twice as slow. A dip at one size. Both healthy.
  EXPECT_EQ(first(judge([](std::int64_t b, double us) { return b < (1 << 20) ? 2 * us : us; })), "healthy");
  EXPECT_EQ(first(judge([](std::int64_t b, double us) { return b == (1 << 30) ? 3 * us : us; })), "healthy");
  // One 25 GB/s link below everything.
  EXPECT_EQ(
      first(judge([](std::int64_t b, double us) { return us + static_cast<double>(b) * 1.875 / 25e3; })),
      "one slow link");
  EXPECT_EQ(
      first(judge([](std::int64_t b, double us) { return 3 * us + static_cast<double>(b) * 1.875 / 4e3; })),
      "TCP fallback");
  EXPECT_EQ(
      first(judge([](std::int64_t b, double us) { return b >= (8 << 10) && b <= (8 << 20) ? 8 * us : us; })),
      "mid-size collapse");
  EXPECT_EQ(first(judge([](std::int64_t b, double us) { return b > (64 << 20) ? 10 * us : us; })),
            "large-size collapse");
}

TEST(NcclTestsTable, Csv) {
  const auto table = read_nccl_tests(
      "# source=x | gpus_per_node=4 | nodes=32 (two racks) | verdict=healthy as published; dips | "
      "nranks=128\n"
      "size_bytes,time_us,algbw,busbw\n8,21.57,0.00,0.00\n1024,27.39,0.04,0.07\n",
      "t.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->nodes, 32);
  EXPECT_EQ(table->gpus_per_node, 4);
  EXPECT_EQ(table->verdict, "healthy as published; dips");
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[1].bytes, 1024);
  EXPECT_DOUBLE_EQ(table->rows[1].time_us, 27.39);
}

TEST(NcclTestsTable, PlainWithRoot) {
  const auto table = read_nccl_tests(
      "# Collective test starting: all_gather_perf\r\n"
      "#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3\r\n"
      "#  Rank  1 Group  0 Pid   1888 on   worker-1 device  1 [0x91] NVIDIA H100 80GB HBM3\r\n"
      "#  Rank  2 Group  0 Pid   1885 on   worker-0 device  0 [0x8d] NVIDIA H100 80GB HBM3\r\n"
      "#  Rank  3 Group  0 Pid   1886 on   worker-0 device  1 [0x91] NVIDIA H100 80GB HBM3\r\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " (GB/s)\r\n"
      "worker-0:12:99 [0] NCCL INFO comm 0x5c rank 0 nranks 16 cudaDev 0 busId 18000 - Init COMPLETE\r\n"
      "        8192          2048     float     sum      -1    35.15    0.23    0.23       0    30.33    "
      "0.27    0.27       0\r\n"
      "       16384          4096     float     sum      -1    31.67    0.52    0.52     N/A    30.75    "
      "0.53    0.53     N/A\r\n"
      "       16384          4096     float     sum      -1    31.69    0.52    0.52     N/A    30.75    "
      "0.53    0.53     N/A\r\n"
      "       16384          4096     float     sum      -1    68.14    0.52    0.52     N/A    30.75    "
      "0.53    0.53     N/A\r\n"
      "# Out of bounds values : 0 OK\r\n# Avg bus bandwidth    : 0.5\r\n",
      "log");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->collective, sim::Collective::AllGather);
  EXPECT_EQ(table->nodes, 2);
  EXPECT_EQ(table->gpus_per_node, 2);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_DOUBLE_EQ(table->rows[0].time_us, 35.15);
  EXPECT_DOUBLE_EQ(table->rows[1].time_us, 31.69);  // the median of three runs
}

TEST(NcclTestsTable, OlderVersions) {
  const auto without_root = read_nccl_tests(
      "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw "
      " error\n"
      "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
      "(GB/s)\n"
      "[1,0]<stdout>:     1048576        262144     float     sum    89.27   11.75   20.56  2e-07    88.10   "
      "11.90   20.83  2e-07\n",
      "log");
  ASSERT_TRUE(without_root);
  EXPECT_DOUBLE_EQ(without_root->rows[0].time_us, 89.27);
  const auto without_op =
      read_nccl_tests("  65536  16384  float  16.57  1.98  1.98  0e+00  13.83  2.37  2.37  0e+00\n", "log");
  ASSERT_TRUE(without_op);
  EXPECT_DOUBLE_EQ(without_op->rows[0].time_us, 16.57);
  // The 2.4 era: milliseconds, and no unit printed.
  const auto milliseconds = read_nccl_tests(
      "# bytes  N  type  op  time  algbw  busbw  res  time  algbw  busbw  res\n"
      "1048576 262144 float sum 2.059 0.51 0.51 N/A 3.314 0.32 0.32 N/A\n"
      "8388608 2097152 float sum 7.145 1.17 1.17 N/A 8.716 0.96 0.96 N/A\n",
      "log");
  ASSERT_TRUE(milliseconds);
  EXPECT_DOUBLE_EQ(milliseconds->rows[0].time_us, 2059);
}

TEST(NcclTestsTable, Json) {
  const auto table = read_nccl_tests(
      R"({"version": "2.19", "results": [{"size": 1024, "count": 256, "type": "float", "out_of_place": {"time": 16.9,
          "alg_bw": 0.06}, "in_place": {"time": 17.0}}, {"size": 2048, "out_of_place": {"time": 17.1}}]})",
      "out.json");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_DOUBLE_EQ(table->rows[0].time_us, 16.9);
}

TEST(NcclTestsTable, HostileText) {
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string(100'000, '['), "{" + std::string(1000, '{'),
        std::string("{\"results\": 3}"), std::string("8,nan\n9,-1\n-8,3\n99999999999999999999,1\n")}) {
    EXPECT_FALSE(read_nccl_tests(text, "x"));
  }
  std::string many;
  for (int i = 0; i < 100'100; ++i) many += "8,1\n";
  EXPECT_FALSE(read_nccl_tests(many, "x"));
}

}  // namespace
}  // namespace ringside::backend
