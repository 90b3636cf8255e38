// The published figures, the renewal formula and the Monte Carlo against one another.
#include <gtest/gtest.h>

#include "sim/model/reliability.hpp"

namespace ringside::sim {
namespace {

TEST(Reliability, PublishedMttfWithinThreePercent) {
  EXPECT_NEAR(reliability({.gpus = 16384}).mttf_hours, 1.8, 1.8 * 0.03);
  EXPECT_NEAR(reliability({.gpus = 131072}).mttf_hours, 0.23, 0.23 * 0.03);
  EXPECT_NEAR(
      reliability({.gpus = 16384, .failures_per_1000_node_days = published_rates()[2].per_1000_node_days})
          .mttf_hours,
      3.09, 3.09 * 0.03);
}

TEST(Reliability, PublishedEttrByThePapersFormula) {
  EXPECT_NEAR(reliability({.gpus = 16000, .checkpoint_minutes = 60}).ettr_linear, 0.684, 0.0005);
  EXPECT_NEAR(reliability({.gpus = 16000, .checkpoint_minutes = 5}).ettr_linear, 0.932, 0.0005);
  EXPECT_NEAR(reliability({.gpus = 100'000,
                           .failures_per_1000_node_days = 2.34,
                           .checkpoint_minutes = 2,
                           .restart_minutes = 2})
                  .ettr_linear,
              0.939, 0.0005);
}

TEST(Reliability, SixtyFourNodes) {
  const Reliability rsc1 = reliability({.gpus = 512});
  EXPECT_NEAR(rsc1.mttf_hours, 57.7, 0.05);
  EXPECT_NEAR(rsc1.failure_odds, 0.340, 0.0005);
  EXPECT_NEAR(reliability({.gpus = 512, .failures_per_1000_node_days = 2.34}).failure_odds, 0.139, 0.0005);
}

TEST(Reliability, TheOneThousandPointDoesNotFit) {
  const double model = reliability({.gpus = 1024}).mttf_hours;
  EXPECT_NEAR(model, 28.8, 0.1);
  EXPECT_GT(model / published_points()[1].hours, 3.0);
}

class ReliabilityAgreement : public testing::TestWithParam<ReliabilitySpec> {};

TEST_P(ReliabilityAgreement, MonteCarloHoldsTheExactValue) {
  const Reliability r = reliability(GetParam());
  EXPECT_LE(r.ettr_simulated.low, r.ettr_exact);
  EXPECT_GE(r.ettr_simulated.high, r.ettr_exact);
  EXPECT_GT(r.ettr_simulated.failures_per_run, 1.0);
  EXPECT_LT(r.ettr_simulated.high - r.ettr_simulated.low, 0.02);
}
INSTANTIATE_TEST_SUITE_P(
    Specs, ReliabilityAgreement,
    testing::Values(ReliabilitySpec{.gpus = 16000}, ReliabilitySpec{.gpus = 16000, .checkpoint_minutes = 5},
                    ReliabilitySpec{.gpus = 131072, .checkpoint_minutes = 5, .write_minutes = 0.5},
                    ReliabilitySpec{
                        .gpus = 100'000, .failures_per_1000_node_days = 2.34, .checkpoint_minutes = 2},
                    ReliabilitySpec{.gpus = 16384, .write_minutes = 2, .restart_minutes = 20}));

TEST(Reliability, LinearIsTheFirstOrderOfExact) {
  const Reliability rare = reliability({.gpus = 512, .checkpoint_minutes = 10});
  EXPECT_NEAR(rare.ettr_linear, rare.ettr_exact, 1e-4);
  const Reliability often = reliability({.gpus = 131072, .checkpoint_minutes = 60});
  EXPECT_LT(often.ettr_linear, 0) << "the linear formula has left its range";
  EXPECT_GT(often.ettr_exact, 0);
}

TEST(Reliability, LlamaCountsAddUp) {
  int total = 0, gpu = 0;
  for (const auto& row : llama3_interruptions()) {
    total += row.count;
    if (row.category == "GPU") gpu += row.count;
  }
  EXPECT_EQ(total, 419);
  EXPECT_EQ(gpu, 268);
}

TEST(Reliability, RefusesNonsense) {
  EXPECT_NE(reliability_problem({.gpus = 0}), "");
  EXPECT_NE(reliability_problem({.checkpoint_minutes = 0}), "");
  EXPECT_NE(reliability_problem({.failures_per_1000_node_days = -1}), "");
  EXPECT_EQ(reliability_problem({}), "");
}

}  // namespace
}  // namespace ringside::sim
