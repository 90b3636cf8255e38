// NCCL's cost formula against values worked by hand from its tables.
#include <gtest/gtest.h>

#include "sim/model/nccl_tuner.hpp"

namespace ringside::sim {
namespace {

const TunerRow& row_of(const std::vector<TunerRow>& rows, NcclAlgorithm algorithm, NcclProtocol protocol) {
  for (const TunerRow& row : rows)
    if (row.algorithm == algorithm && row.protocol == protocol) return row;
  ADD_FAILURE() << to_word(algorithm) << "/" << to_word(protocol) << " is not there";
  static const TunerRow none;
  return none;
}

std::vector<TunerRow> rows_for(const char* preset, int nodes, int gpus, std::int64_t bytes,
                               Collective collective = Collective::AllReduce) {
  return tuner_rows(tuner_job(find_preset(preset).value(), nodes, gpus), collective, bytes);
}

TEST(Tuner, OneNodeLatencies) {
  const auto rows = rows_for("dgx-h100", 1, 8, 8);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Ring, NcclProtocol::LL).latency_us, 6.6 + 14 * 0.6, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Ring, NcclProtocol::LL128).latency_us, 14 + 14 * 1.9, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Tree, NcclProtocol::LL).latency_us, 6.8 + 14 * 0.6, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Nvls, NcclProtocol::Simple).latency_us, 25, 1e-9);
  EXPECT_EQ(rows.size(), 7U);
}

TEST(Tuner, OneNodeBandwidths) {
  const std::int64_t bytes = std::int64_t{8} << 30;
  const auto h100 = rows_for("dgx-h100", 1, 8, bytes);
  // 12 channels of 30 GB/s; algbw = busbw · 8 / 14.
  EXPECT_NEAR(row_of(h100, NcclAlgorithm::Ring, NcclProtocol::Simple).algbw_GBps, 360 * 8 / 14.0, 1e-9);
  EXPECT_NEAR(row_of(h100, NcclAlgorithm::Ring, NcclProtocol::LL).algbw_GBps, 141 * 8 / 14.0, 1e-9);
  EXPECT_NEAR(row_of(h100, NcclAlgorithm::Ring, NcclProtocol::LL128).algbw_GBps, 360 * .92 * 8 / 14, 1e-9);
  // NVLS 8 x 40: 320 · 0.85 · 7/8 · 2 = 476 GB/s.
  EXPECT_NEAR(row_of(h100, NcclAlgorithm::Nvls, NcclProtocol::Simple).algbw_GBps, 476 * 8 / 14.0, 1e-9);
  const TunerRow* choice = tuner_choice(h100);
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(choice->algorithm, NcclAlgorithm::Nvls);
  // The published sensitivity: Blackwell NVLS at 70 per channel gives 20.8 ms at 8 GiB.
  const auto b200 = rows_for("b200", 1, 8, bytes);
  EXPECT_NEAR(row_of(b200, NcclAlgorithm::Nvls, NcclProtocol::Simple).tuner_us, 20'800, 100);
}

TEST(Tuner, TwoNodes) {
  const auto rows = rows_for("dgx-h100", 2, 8, 8);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Ring, NcclProtocol::LL).latency_us, 6.6 + 28 * 1.0 + 2 * 2.7, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Tree, NcclProtocol::LL).latency_us, 6.8 + 2 * (7 * .6 + 5), 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::NvlsTree, NcclProtocol::Simple).latency_us, 25 + 2 * 20.9, 1e-9);
  const auto large = rows_for("dgx-h100", 2, 8, std::int64_t{1} << 30);
  // The cap of 57.7 GB/s a channel on two nodes.
  EXPECT_NEAR(row_of(large, NcclAlgorithm::NvlsTree, NcclProtocol::Simple).algbw_GBps, 8 * 57.7 * 16 / 30,
              1e-9);
  // Ring/Simple is on its plateau: 1.4 times the latency. Overhead 1 µs x 3 is below NVLink's 3.4.
  EXPECT_NEAR(row_of(large, NcclAlgorithm::Ring, NcclProtocol::Simple).latency_us,
              1.4 * 28 * 3.4 + 1.4 * (8.4 + 2 * 14), 1e-9);
}

TEST(Tuner, AmdOverheadAndFourNodes) {
  const auto rows = rows_for("dgx-a100", 4, 8, 1 << 20);
  // 62 steps, 6 of them between nodes; AMD's overhead of 2 µs exceeds NVLink's 0.6 (LL) and 1.9 (LL128).
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Ring, NcclProtocol::LL).latency_us, 6.6 + 56 * 2 + 6 * 2.7, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Tree, NcclProtocol::LL).latency_us, 6.8 + 2 * (7 * .6 + 2 * 5),
              1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Ring, NcclProtocol::Simple).algbw_GBps, 192 * 32 / 62.0, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::Ring, NcclProtocol::LL).algbw_GBps, 19 * 32 / 62.0, 1e-9);
}

TEST(Tuner, TreeIsCorrectedBySize) {
  const auto at = [](std::int64_t bytes) {
    return row_of(rows_for("dgx-a100", 1, 8, bytes), NcclAlgorithm::Tree, NcclProtocol::LL).algbw_GBps;
  };
  const double full = at(std::int64_t{1} << 30);
  EXPECT_NEAR(full, 240 * .92 / 3.8 * .5, 1e-9);
  EXPECT_NEAR(at(64 << 12) / full, 0.4, 1e-9);  // index 12
  EXPECT_NEAR(at(64 << 4) / full, 0.9, 1e-9);
  EXPECT_NEAR(at(8) / full, 1, 1e-9);
}

TEST(Tuner, ChannelsShrinkWithTheMessage) {
  const auto ring = [](std::int64_t bytes) {
    return row_of(rows_for("dgx-a100", 1, 8, bytes), NcclAlgorithm::Ring, NcclProtocol::Simple).channels;
  };
  EXPECT_EQ(ring(std::int64_t{1} << 30), 24);  // a real log of one A100 node shows 24 channels
  EXPECT_EQ(ring(512 * 64 * 3), 3);
  EXPECT_EQ(ring(8), 1);
}

TEST(Tuner, AvailabilityFollowsTheHardware) {
  for (const TunerRow& row : rows_for("pcie-t4", 1, 2, 1024)) EXPECT_NE(row.protocol, NcclProtocol::LL128);
  for (const TunerRow& row : rows_for("dgx-a100", 1, 8, 1024)) EXPECT_NE(row.algorithm, NcclAlgorithm::Nvls);
  EXPECT_TRUE(rows_for("dgx-a100", 1, 1, 1024).empty());
  for (const TunerRow& row : rows_for("dgx-h100", 2, 8, 1024, Collective::ReduceScatter))
    EXPECT_EQ(row.algorithm, NcclAlgorithm::Ring);
  TunerJob sharp = tuner_job(find_preset("dgx-h100").value(), 4, 8);
  sharp.collnet = true;
  const auto rows = tuner_rows(sharp, Collective::AllReduce, 1 << 20);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::CollNetDirect, NcclProtocol::Simple).latency_us,
              2 * (3.7 + 7 * .4) + 31, 1e-9);
  EXPECT_NEAR(row_of(rows, NcclAlgorithm::CollNetChain, NcclProtocol::Simple).latency_us, 2 * 7 * 2.8 + 30,
              1e-9);
}

TEST(Tuner, GraphsOfThePresets) {
  const auto job = [](const char* preset, int nodes, int gpus) {
    return tuner_job(find_preset(preset).value(), nodes, gpus);
  };
  EXPECT_EQ(job("h100-efa", 2, 8).ring.channels, 8);
  EXPECT_EQ(job("h100-efa", 2, 8).ring.inter_GBps, 48);
  EXPECT_EQ(job("a100-roce", 2, 8).ring.channels, 16);
  EXPECT_EQ(job("a100-roce", 2, 8).ring.inter_GBps, 12);
  EXPECT_EQ(job("a100-roce", 2, 8).tree.intra_GBps, 15);  // raised: 16 channels share 240 GB/s of NVLink
  EXPECT_EQ(job("dgx-v100", 2, 8).ring.inter_GBps, 12);
  EXPECT_EQ(job("gb200-nvl72", 18, 4).nodes, 1);  // one NVLink switch
  EXPECT_EQ(job("gb200-nvl72", 32, 4).nodes, 2);
  EXPECT_EQ(job("gb200-nvl72", 32, 4).gpus_per_node, 64);
  EXPECT_EQ(job("dgx-a100", 2, 1).ring.channels, 1);  // one GPU reaches one NIC
}

TEST(Tuner, BusFactorsAreNcclTests) {
  EXPECT_NEAR(bus_factor(Collective::AllReduce, 8), 1.75, 1e-12);
  EXPECT_NEAR(bus_factor(Collective::AllGather, 8), 0.875, 1e-12);
  EXPECT_NEAR(bus_factor(Collective::Broadcast, 8), 1, 1e-12);
}

}  // namespace
}  // namespace ringside::sim
