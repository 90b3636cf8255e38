// NVML through a stand-in library: values and units, an Xid once, link errors as they grow, silence where
// nothing can be seen.
#include "backend/live/nvml.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "backend/live/line_maker.hpp"
#include "backend/trace_reader.hpp"

namespace ringside::backend {
namespace {

constexpr const char* kFake = RINGSIDE_BIN_DIR "/libfake-nvml.so";

std::vector<DeviceReading> readings(DeviceMonitor& monitor, std::size_t wanted) {
  std::vector<DeviceReading> out;
  for (int i = 0; i < 500 && out.size() < wanted; ++i) {
    for (DeviceReading& reading : monitor.take()) out.push_back(std::move(reading));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return out;
}

TEST(Nvml, ReadsAGpuInTheUnitsOfTheTrace) {
  const auto monitor = DeviceMonitor::open("0000:2b:00.0", 5, kFake);
  ASSERT_NE(monitor, nullptr);
  const auto got = readings(*monitor, 3);
  ASSERT_GE(got.size(), 3u);
  EXPECT_FLOAT_EQ(got[0].device.power_w, 412.5f);
  EXPECT_FLOAT_EQ(got[0].device.utilisation, 98) << "per cent, as in the trace";
  EXPECT_FLOAT_EQ(got[0].device.temperature_c, 63);
  EXPECT_TRUE(std::isnan(got[0].device.sm_clock_mhz)) << "what the GPU does not tell is not a number";
  EXPECT_EQ(got[0].device.ecc_errors, 2u);
  EXPECT_EQ(got[0].device.xid, 0u);
  EXPECT_EQ(got[1].device.xid, 79u);
  EXPECT_EQ(got[2].device.xid, 0u) << "an Xid is said once";
  EXPECT_EQ(got[0].link_errors, "") << "what was there before is no news";
  EXPECT_EQ(got[1].link_errors, "NVLink 3: 2 replay errors");
  EXPECT_EQ(got[2].link_errors, "");
  EXPECT_GT(got[0].unix_ns, 0);
}

/// As the supervisor says it and a reader of recordings reads it.
TEST(Nvml, AReadingSurvivesTheTrace) {
  SharedRank* shared = make_shared_rank();
  ASSERT_NE(shared, nullptr);
  shared->rank.store(3);
  LineMaker lines(*shared, 1000);
  DeviceReading reading{5000, {412.5f, 98, std::nanf(""), 63, 2, 79}, "NVLink 3: 2 replay errors"};
  lines.add_device(reading);
  sim::TraceHeader header;
  header.world_size = 4;
  std::string text;
  sim::append_header_json(text, header);
  TraceReader reader("memory");
  ASSERT_TRUE(reader.feed(text + "\n" + lines.take())) << reader.problem()->message();
  const sim::Trace& trace = reader.trace();
  ASSERT_EQ(trace.size(), 2u);
  const sim::Event& device = trace.events()[0];
  EXPECT_EQ(device.t, 4000);
  EXPECT_EQ(device.rank(), 3);
  EXPECT_FLOAT_EQ(device.device.power_w, 412.5f);
  EXPECT_TRUE(std::isnan(device.device.sm_clock_mhz));
  EXPECT_EQ(device.device.xid, 79u);
  EXPECT_EQ(trace.string(trace.events()[1].text.channel), "nvml");
}

TEST(Nvml, NoLibraryOrAnotherGpuIsSilence) {
  EXPECT_EQ(DeviceMonitor::open("0000:2b:00.0", 5, "libnothing-of-this-name.so.1"), nullptr);
  EXPECT_EQ(DeviceMonitor::open("0000:99:00.0", 5, kFake), nullptr);
}

}  // namespace
}  // namespace ringside::backend
