// Offsets between the clocks of hosts: what is known is true, what is not known is not claimed, and no verdict
// depends on more than is known.
#include <gtest/gtest.h>

#include <random>

#include "backend/live/host_clocks.hpp"

namespace ringside::backend {
namespace {

/// Two hosts with two ranks each; true time is that of alpha.
struct Cluster {
  HostClocks clocks;
  std::int64_t offset = 0;        // of beta's clock
  double drift_ppm = 0;
  Cluster(std::int64_t beta, double ppm = 0) : offset(beta), drift_ppm(ppm) {
    for (int rank = 0; rank < 4; ++rank) clocks.lives_on(rank, rank < 2 ? "alpha" : "beta");
  }
  std::int64_t stamp(int rank, std::int64_t t) const {
    return rank < 2 ? t : t + offset + static_cast<std::int64_t>(static_cast<double>(t) * drift_ppm / 1e6);
  }
  /// A collective from `from` that takes `takes`, each rank a little after the other.
  void collective(std::int64_t seq, std::int64_t from, std::int64_t takes, std::int64_t skew) {
    for (int rank = 0; rank < 4; ++rank) clocks.started(rank, "pg", seq, 4, stamp(rank, from + rank * skew));
    for (int rank = 0; rank < 4; ++rank)
      clocks.finished(rank, "pg", seq, 4, stamp(rank, from + 3 * skew + takes + rank * skew / 2));
  }
};

constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000'000'000;

TEST(HostClocks, TheTruthIsWithinTheError) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto offset = static_cast<std::int64_t>(random() % (10 * kSecond)) - 5 * kSecond;
    const double drift = static_cast<double>(random() % 101) - 50;
    Cluster cluster(offset, drift);
    std::int64_t t = 0;
    for (int seq = 1; seq <= 100; ++seq) {
      cluster.collective(seq, t, static_cast<std::int64_t>(random() % (5 * kMs)) + 10'000,
                         static_cast<std::int64_t>(random() % kMs));
      t += static_cast<std::int64_t>(random() % kSecond) + 10 * kMs;
    }
    const auto offsets = cluster.clocks.offsets();
    ASSERT_EQ(offsets.size(), 1u);
    const std::int64_t truth = cluster.stamp(2, t) - t;
    EXPECT_LE(std::abs(offsets[0].offset_ns - truth), offsets[0].error_ns + kSecond / 1'000'000 * 100)
        << "offset " << offset << ", drift " << drift;
    EXPECT_LT(offsets[0].error_ns, 20 * kMs) << "and the error says something";
    EXPECT_EQ(offsets[0].resets, 0) << "drift is no set clock";
    EXPECT_EQ(offsets[0].host, "beta");
    EXPECT_EQ(offsets[0].reference, "alpha");
  }
}

TEST(HostClocks, ChunksTellMoreThanCollectives) {
  Cluster cluster(250 * kMs);
  cluster.collective(1, 0, 20 * kMs, kMs);
  const std::int64_t wide = cluster.clocks.offsets().at(0).error_ns;
  cluster.clocks.precedes(1, cluster.stamp(1, 30 * kMs), 2, cluster.stamp(2, 30 * kMs + 50'000));
  cluster.clocks.precedes(3, cluster.stamp(3, 31 * kMs), 0, cluster.stamp(0, 31 * kMs + 50'000));
  const HostOffset offset = cluster.clocks.offsets().at(0);
  EXPECT_LT(offset.error_ns, wide);
  EXPECT_LE(offset.error_ns, 60'000);
  EXPECT_NEAR(static_cast<double>(offset.offset_ns), 250.0 * kMs, static_cast<double>(offset.error_ns));
}

TEST(HostClocks, OneDirectionAloneSaysNothing) {
  Cluster cluster(kMs);
  cluster.clocks.precedes(0, 0, 2, kMs + 100);
  EXPECT_TRUE(cluster.clocks.offsets().empty());
}

TEST(HostClocks, AClockThatIsSetBeginsAnew) {
  Cluster cluster(0);
  for (int seq = 1; seq <= 10; ++seq) cluster.collective(seq, seq * kSecond, kMs, 1000);
  EXPECT_TRUE(cluster.clocks.offsets().at(0).may_agree());
  cluster.offset = 3 * kSecond;
  for (int seq = 11; seq <= 20; ++seq) cluster.collective(seq, seq * kSecond, kMs, 1000);
  const HostOffset offset = cluster.clocks.offsets().at(0);
  EXPECT_GE(offset.resets, 1);
  EXPECT_NEAR(static_cast<double>(offset.offset_ns), 3.0 * kSecond, static_cast<double>(offset.error_ns));
  EXPECT_NE(offset_text(offset).find("ahead of alpha"), std::string::npos);
}

}  // namespace
}  // namespace ringside::backend
