// Jobs of more than 4,096 ranks: nodes act, failures restart them.
#include "job_helpers.hpp"
#include "sim/job/groups.hpp"

namespace ringside::sim::test {
namespace {

JobText big_job() {
  JobText job;
  job.nodes = 1'024;
  job.gpus_per_node = 8;
  job.steps = 200;
  job.values = "\"none\"";
  job.shape = "[1000000]";
  job.transport = "ib";
  job.more_training = "checkpoint_steps = 50\ncheckpoint = \"1s\"\nrestart = \"90s\"";
  return job;
}

std::string failures(const char* rate, const char* after) {
  return std::string("[failures]\nper_1000_node_days = ") + rate + "\nafter = \"" + after + "\"\n";
}

std::vector<std::string> node_states(const Trace& trace) {
  std::vector<std::string> states;
  for (const Event& e : events_of(trace, EventType::NodeState))
    if (trace.string(e.text.text) != "slowest")
      states.push_back(trace.string(e.text.text) + " n" + std::to_string(e.src_id));
  return states;
}

TEST(JobGroups, AHealthyJobWaitsForTheSlowestNode) {
  const Simulation result = run(big_job());
  EXPECT_EQ(result.outcome, Outcome::Completed);
  EXPECT_EQ(result.trace.header.detail, Detail::Groups);
  EXPECT_EQ(result.collectives.size(), 200u);
  EXPECT_LT(result.trace.size(), 3'000u);
  // 90 ms of work ± 2 %: with 1,024 nodes the slowest is nearly always at the upper end.
  EXPECT_GT(result.time_ns, 200 * 91'000'000LL);
  EXPECT_EQ(bytes_of(run(big_job()).trace), bytes_of(result.trace));
}

TEST(JobGroups, RandomFailuresGoBackToTheCheckpoint) {
  JobText job = big_job();
  job.faults = failures("20000", "restart");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Completed);
  const auto states = node_states(result.trace);
  ASSERT_GE(states.size(), 2u);
  EXPECT_EQ(states.size() % 2, 0u);
  EXPECT_EQ(states[0].substr(0, 6), "down n");
  EXPECT_EQ("up " + states[0].substr(5), states[1]);
  EXPECT_GT(result.collectives.size(), 200u);  // steps since the checkpoint are done again
  job.faults = failures("20000", "stop");
  const Simulation stopped = run(job);
  EXPECT_EQ(stopped.outcome, Outcome::Error);
  EXPECT_EQ(node_states(stopped.trace).size(), 1u);
}

TEST(JobGroups, AJobThatCannotGetOnEnds) {
  JobText job = big_job();
  job.faults = failures("1000000", "restart");
  EXPECT_EQ(run(job).outcome, Outcome::Error);
}

TEST(JobGroups, FaultsOfARankAreFaultsOfItsNode) {
  JobText job = big_job();
  job.faults = fault("kind=\"crash\";rank=77;step=100");
  const Simulation crash = run(job);
  EXPECT_EQ(crash.outcome, Outcome::Error);
  EXPECT_EQ(node_states(crash.trace), std::vector<std::string>{"down n9"});
  EXPECT_EQ(crash.collectives.size(), 99u);
  job.faults = fault("kind=\"hang\";rank=77;step=100");
  EXPECT_EQ(run(job).outcome, Outcome::Timeout);
  job.watchdog = "off";
  EXPECT_EQ(run(job).outcome, Outcome::Hang);
  job.faults = fault("kind=\"slow\";rank=77;step=1;duration=\"1s\"");
  EXPECT_GT(run(job).time_ns, 200 * kSecond);
}

TEST(JobFailures, SmallJobsRestartFromTheCheckpointRankByRank) {
  JobText job;
  job.nodes = 8;
  job.gpus_per_node = 2;
  job.steps = 200;
  job.transport = "tcp";
  job.more_training = "checkpoint_steps = 10\ncheckpoint = \"1s\"\nrestart = \"90s\"";
  const Simulation healthy = run(job);
  job.faults = failures("1000000", "restart");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Completed);
  const auto states = node_states(result.trace);
  ASSERT_GE(states.size(), 2u);
  EXPECT_EQ("up " + states[0].substr(5), states[1]);
  EXPECT_GT(result.time_ns, healthy.time_ns + 90 * kSecond);
  // The weights after the last step are those of a job in which nothing failed.
  EXPECT_EQ(events_of(result.trace, EventType::Weights).back().weights.digest,
            events_of(healthy.trace, EventType::Weights).back().weights.digest);
  job.faults = failures("1000000", "stop");
  EXPECT_EQ(run(job).outcome, Outcome::Error);
}

}  // namespace
}  // namespace ringside::sim::test
