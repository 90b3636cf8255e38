// What breaks in a job, how it spreads, who notices and when, and how it ends.
#include "job_helpers.hpp"
#include "sim/trace/difference.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::sim::test {
namespace {

TEST(JobNan, SpreadsWithTheRing) {
  JobText job;
  job.shape = "[4]";
  job.faults = fault("kind=\"nan\";rank=1;element=3");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Nan);
  // Chunk 3 starts at rank 0 and reaches rank 1 in ring step 1: from there one more rank in every ring step.
  std::map<std::uint32_t, std::set<int>> poisoned;
  for (const Event& e : events_of(result.trace, EventType::RingStepEnd))
    if (result.trace.sample(e.ring.sample).nan_count > 0) poisoned[e.ring.step].insert(e.src_id);
  EXPECT_EQ(poisoned, (std::map<std::uint32_t, std::set<int>>{
                          {1, {1}}, {2, {2}}, {3, {3}}, {4, {0}}, {5, {1}}, {6, {2}}}));
  const auto found = events_of(result.trace, EventType::NanFound);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank(), 1);
  EXPECT_EQ(found[0].nan.index, 3);
}

TEST(JobNan, FromTheNextStepOnEveryLossIsNan) {
  JobText job;
  job.steps = 4;
  job.more_training = "loss = \"1ms\"";
  job.faults = fault("kind=\"nan\";rank=1;step=2");
  const Simulation result = run(job);
  std::map<int, std::set<int>> bad;
  for (const Event& e : events_of(result.trace, EventType::PhaseEnd))
    if ((e.phase.has & kHasLoss) && e.phase.loss != e.phase.loss) bad[e.phase.step].insert(e.rank());
  EXPECT_EQ(bad, (std::map<int, std::set<int>>{{3, {0, 1, 2, 3}}, {4, {0, 1, 2, 3}}}));
}

TEST(JobNan, HidesInMax) {
  JobText job;
  job.op = "max";
  job.faults = fault("kind=\"nan\";rank=3;element=5");  // rank 3 has the largest numbers
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_EQ(to_double(result.collectives[0].result[0]->at(5)), 2 * 8 + 5);
  job.faults = fault("kind=\"nan\";rank=1;element=5");
  EXPECT_EQ(run(job).outcome, Outcome::Completed);
}

TEST(JobNan, RaiseIsTheChainToTheWatchdog) {
  JobText job;
  job.nodes = 2;
  job.gpus_per_node = 2;
  job.steps = 4;
  job.on_nan = "raise";
  job.launcher = "srun";
  job.faults = fault("kind=\"nan\";rank=1;step=2");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Error);
  EXPECT_EQ(end_of(result.trace, 1), "code 1");
  EXPECT_TRUE(says(result.trace, Source::rank(1), "found NaN in local grad norm"));
  EXPECT_EQ(events_of(result.trace, EventType::CollectiveEnqueued, 1).size(), 1u);
  for (const int r : {0, 2, 3}) EXPECT_EQ(end_of(result.trace, r), "signal 6");
}

TEST(JobNan, SkipHereShiftsTheCallsSkipAllDoesNot) {
  JobText job;
  job.steps = 4;
  job.on_nan = "skip-here";
  job.faults = fault("kind=\"nan\";rank=1;step=2");
  EXPECT_EQ(run(job).outcome, Outcome::Timeout);
  job.on_nan = "skip-all";
  const Simulation all = run(job);
  EXPECT_EQ(all.outcome, Outcome::Nan);  // of that collective; the job goes on
  EXPECT_EQ(all.collectives.back().outcome, Outcome::Completed);
  EXPECT_TRUE(says(all.trace, Source::rank(0), "OVERFLOW! Rank 0 Skipping step"));
}

TEST(JobNan, InTheMiddleOfACollectiveOnlyWhatIsSentLaterIsPoisoned) {
  JobText job;
  job.shape = "[4]";
  job.faults = fault("kind=\"nan\";rank=1;element=0;at=\"all_reduce\"");
  const Simulation result = run(job);
  // Rank 1 sent chunk 0 before it was struck and gets the finished one back.
  EXPECT_EQ(result.outcome, Outcome::Completed);
  job.faults = fault("kind=\"nan\";rank=1;element=3;at=\"all_reduce\"");
  EXPECT_EQ(run(job).outcome, Outcome::Nan);
}

TEST(JobFault, ABitFlipIsSilent) {
  JobText job;
  job.steps = 3;
  job.faults = fault("kind=\"bit_flip\";rank=1;step=2;element=5;bit=30");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_TRUE(events_of(result.trace, EventType::Error).empty());
}

TEST(JobFault, SlowMakesTheOthersWaitInTheSameStep) {
  JobText job;
  job.steps = 4;
  job.faults = fault("kind=\"slow\";rank=3;step=2;duration=\"500ms\"");
  const Simulation slow = run(job);
  job.faults = "";
  const Simulation healthy = run(job);
  EXPECT_EQ(slow.outcome, Outcome::Completed);
  EXPECT_NEAR(static_cast<double>(slow.time_ns - healthy.time_ns), 1.5e9, 2e7);
}

// --- who notices, and when

struct Death {
  const char* transport;
  const char* launcher;
  int nodes, gpus_per_node;
  std::vector<std::string> ends;  // of the ranks
};

class AfterADeath : public ::testing::TestWithParam<Death> {};

TEST_P(AfterADeath, TheOthersEndAs) {
  const Death& p = GetParam();
  JobText job;
  job.steps = 4;
  job.nodes = p.nodes;
  job.gpus_per_node = p.gpus_per_node;
  job.transport = p.transport;
  job.launcher = p.launcher;
  job.faults = fault("kind=\"crash\";rank=1;step=2");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Error);
  for (std::size_t r = 0; r < p.ends.size(); ++r)
    EXPECT_EQ(end_of(result.trace, static_cast<int>(r)), p.ends[r]) << "rank " << r;
}

INSTANTIATE_TEST_SUITE_P(
    Stacks, AfterADeath,
    ::testing::Values(
        Death{"nvlink", "torchrun", 1, 4, {"signal 15", "signal 9", "signal 15", "signal 15"}},
        Death{"nvlink", "srun", 1, 4, {"signal 6", "signal 9", "signal 6", "signal 6"}},
        Death{"ib", "srun --kill-on-bad-exit", 2, 2, {"signal 15", "signal 9", "signal 15", "signal 15"}},
        Death{"ib", "mpirun", 2, 2, {"signal 15", "signal 9", "signal 15", "signal 15"}},
        Death{"ib", "mpirun --enable-recovery", 2, 2, {"signal 6", "signal 9", "signal 6", "signal 6"}},
        Death{"tcp", "srun", 4, 1, {"signal 6", "signal 9", "signal 6", "signal 6"}}));

TEST(JobNotice, TcpSeesItAtOnceInfinibandAfterItsRetriesNvlinkNever) {
  JobText job;
  job.steps = 4;
  job.launcher = "srun";
  job.nodes = 4;
  job.gpus_per_node = 1;
  job.transport = "tcp";
  job.faults = fault("kind=\"crash\";rank=1;step=2");
  const Simulation tcp = run(job);
  EXPECT_LT(end_time_of(tcp.trace, 0), 1 * kSecond);
  EXPECT_TRUE(says(tcp.trace, Source::rank(0), "Connection closed by remote peer n1"));
  job.transport = "ib";
  const Simulation ib = run(job);
  const std::int64_t gave_up = end_time_of(ib.trace, 0) - end_time_of(ib.trace, 1);
  EXPECT_GE(gave_up, 30 * kSecond);  // rank 0 sends to the dead one
  EXPECT_LT(gave_up, 31 * kSecond);
  EXPECT_TRUE(says(ib.trace, Source::rank(0), "IBV_WC_RETRY_EXC_ERR(12)"));
  EXPECT_GT(end_time_of(ib.trace, 2), 60 * kSecond);  // rank 2 only receives from it
  job.nodes = 1;
  job.gpus_per_node = 4;
  job.transport = "nvlink";
  const Simulation nvlink = run(job);
  EXPECT_GT(end_time_of(nvlink.trace, 0), 600 * kSecond);
}

TEST(JobWatchdog, LooksEvery100MsAfterItsTimeout) {
  JobText job;
  job.steps = 4;
  job.watchdog = "20s";
  job.faults = fault("kind=\"hang\";rank=2;step=3");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Timeout);
  for (const int r : {0, 1, 3}) {
    const auto expired = events_of(result.trace, EventType::WatchdogExpired, r);
    ASSERT_EQ(expired.size(), 1u);
    EXPECT_GE(expired[0].watchdog.waited_ns, 20 * kSecond);
    EXPECT_LT(expired[0].watchdog.waited_ns, 20 * kSecond + 100'000'000);
    EXPECT_TRUE(says(result.trace, Source::rank(r),
                     "WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
                     "Timeout(ms)=20000) ran for 200"));
  }
  EXPECT_TRUE(events_of(result.trace, EventType::LogLine, 2).empty());  // the silent one says nothing
  EXPECT_EQ(end_of(result.trace, 2), "signal 9");                       // SIGTERM does not reach it
  EXPECT_GE(end_time_of(result.trace, 2), end_time_of(result.trace, 0) + 29 * kSecond);
}

TEST(JobWatchdog, WithoutOneAHangIsReportedAndEnds) {
  JobText job;
  job.steps = 4;
  job.library = "mpi";
  job.launcher = "mpirun";
  job.watchdog = "off";
  job.faults = fault("kind=\"hang\";rank=2;step=3");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Hang);
  EXPECT_EQ(result.collectives.back().outcome, Outcome::Hang);
  std::vector<std::int64_t> beats;  // of rank 0: the ladder
  const std::int64_t since = events_of(result.trace, EventType::CollectiveEnqueued, 0).back().t;
  for (const Event& e : events_of(result.trace, EventType::Heartbeat, 0))
    beats.push_back((e.t - since + kSecond / 2) / kSecond);
  EXPECT_EQ(beats, (std::vector<std::int64_t>{1, 5, 20, 60}));
  EXPECT_TRUE(events_of(result.trace, EventType::Heartbeat, 2).empty());
}

TEST(JobWatchdog, FramesTellTheSilentFromTheWaiting) {
  JobText job;
  job.steps = 4;
  job.faults = fault("kind=\"hang\";rank=2;step=3");
  const Simulation result = run(job);
  FrameSource frames(result.trace);
  const Frame& early = frames.frame_at(10 * kSecond);
  EXPECT_EQ(early.ranks[2].status, RankStatus::Silent);
  EXPECT_EQ(early.ranks[0].status, RankStatus::Waiting);
  const Frame& late = frames.frame_at(90 * kSecond);
  EXPECT_EQ(late.ranks[2].status, RankStatus::Dead);
  EXPECT_EQ(late.ranks[0].status, RankStatus::Stalled);
}

TEST(JobWatchdog, TheHeartbeatMonitorEndsARankWhoseGpuIsGone) {
  JobText job;
  job.steps = 4;
  job.nodes = 2;
  job.gpus_per_node = 2;
  job.launcher = "srun";
  job.faults = fault("kind=\"pcie_power\";rank=2;step=2");
  const Simulation result = run(job);
  EXPECT_EQ(end_of(result.trace, 2), "signal 6");
  EXPECT_NEAR(static_cast<double>(end_time_of(result.trace, 2)), 480.1e9, 0.2e9);
  EXPECT_TRUE(says(result.trace, Source::rank(2), "watchdog got stuck for 480 seconds"));
  EXPECT_TRUE(says(result.trace, Source::node(1), "79, pid="));
  EXPECT_TRUE(says(result.trace, Source::node(1), "Power fault"));
}

// --- hardware

TEST(JobHardware, EachLeavesItsSignature) {
  JobText job;
  job.steps = 4;
  job.nodes = 2;
  job.gpus_per_node = 2;
  job.transport = "ib";
  job.launcher = "srun";
  const auto with = [&](const std::string& body) {
    job.faults = fault(body);
    return run(job);
  };
  const Simulation reset = with("kind=\"gpu_reset\";rank=2;step=2");
  EXPECT_TRUE(says(reset.trace, Source::node(1), "Xid (PCI:"));
  EXPECT_TRUE(says(reset.trace, Source::rank(2), "CUDA error"));
  EXPECT_EQ(end_of(reset.trace, 2), "signal 6");
  const Simulation oom = with("kind=\"oom\";node=1;step=2");
  EXPECT_TRUE(says(oom.trace, Source::node(1), "Out of memory: Killed process"));
  EXPECT_TRUE(says(oom.trace, {Source::Kind::Launcher, 0}, "Out Of Memory"));
  EXPECT_EQ(end_of(oom.trace, 2), "signal 9");
  const Simulation flap = with("kind=\"ib_flap\";node=1;step=2;duration=\"4s\"");
  EXPECT_EQ(flap.outcome, Outcome::Completed);
  EXPECT_GT(flap.time_ns, 4 * kSecond);
  EXPECT_EQ(events_of(flap.trace, EventType::NicState).size(), 2u);
  EXPECT_TRUE(says(flap.trace, Source::rank(3), "Got async event : port error"));
  const Simulation gone = with("kind=\"ib_flap\";node=1;step=2;duration=\"60s\"");
  EXPECT_EQ(gone.outcome, Outcome::Error);
  EXPECT_TRUE(says(gone.trace, Source::rank(1), "IBV_WC_RETRY_EXC_ERR(12)"));
}

TEST(JobHardware, Links) {
  JobText job;
  job.steps = 4;
  job.nodes = 2;
  job.gpus_per_node = 2;
  job.transport = "ib";
  job.faults = fault("kind=\"link_flap\";from=1;to=2;step=2;duration=\"5s\"");
  EXPECT_EQ(run(job).outcome, Outcome::Completed);
  job.faults = fault("kind=\"link_down\";from=1;to=2;step=2");
  const Simulation down = run(job);
  EXPECT_EQ(down.outcome, Outcome::Error);
  EXPECT_TRUE(says(down.trace, Source::rank(1), "IBV_WC_RETRY_EXC_ERR(12)"));
  job.faults = fault("kind=\"link_down\";from=0;to=1;step=2");
  job.transport = "nvlink";
  EXPECT_TRUE(says(run(job).trace, Source::node(0), "74, pid="));
  job.shape = "[1000000]";
  job.values = "\"none\"";
  job.faults = "";
  const std::int64_t healthy = run(job).time_ns;
  job.faults = fault("kind=\"link_slow\";from=0;to=1;step=1;factor=0.001");
  const Simulation slow = run(job);
  EXPECT_EQ(slow.outcome, Outcome::Completed);
  EXPECT_GT(slow.time_ns, healthy + 4 * 6 * 1'000'000);
}

TEST(JobNotice, APeerThatIsThroughWithTheCallMayLeave) {
  JobText job;
  job.nodes = 4;
  job.gpus_per_node = 1;
  job.transport = "tcp";
  job.steps = 2;
  job.shape = "[1000000]";
  job.faults = fault("kind=\"link_slow\";from=1;to=2;step=1;factor=0.001");
  const Simulation result = run(job);  // rank 1's last send takes 40 ms more, the others leave
  EXPECT_EQ(result.outcome, Outcome::Completed);
  EXPECT_GT(end_time_of(result.trace, 1) - end_time_of(result.trace, 0), 10'000'000);
  job.values = "\"none\"";
  EXPECT_EQ(run(job).outcome, Outcome::Completed);
}

TEST(JobHardware, WithoutNumbersLinksHoldCollectivesUpAsWell) {
  JobText job;
  job.steps = 4;
  job.nodes = 2;
  job.gpus_per_node = 2;
  job.transport = "ib";
  job.values = "\"none\"";
  job.faults = fault("kind=\"link_flap\";from=1;to=2;step=2;duration=\"5s\"");
  const Simulation flap = run(job);
  EXPECT_EQ(flap.outcome, Outcome::Completed);
  EXPECT_GT(flap.time_ns, 5 * kSecond);
  job.faults = fault("kind=\"link_down\";from=1;to=2;step=2");
  EXPECT_EQ(run(job).outcome, Outcome::Error);
}

// --- branches

class Branches : public ::testing::TestWithParam<const char*> {};

TEST_P(Branches, AForkGivesTheBytesOfAFaultFromTheStart) {
  JobText job;
  job.steps = 4;
  job.watchdog = "30s";
  const auto shared = std::make_shared<const Scenario>(scenario_of(job));
  const auto kind = fault_kind_from(GetParam());
  ASSERT_TRUE(kind.has_value());
  Command command;
  command.fault.kind = *kind;
  command.fault.rank = 2;
  command.fault.from = 1;
  command.fault.to = 2;
  command.fault.duration_ns = 200'000'000;
  command.fault.factor_ppm = 500'000;
  command.fault.shape = Shape{{16}};
  command.fault.dtype = DType::Float64;
  command.fault.op = ReduceOp::Max;
  command.fault.bit = 30;
  const std::string healthy = bytes_of(simulate(*shared).trace);
  for (const std::int64_t t :
       {std::int64_t{0}, std::int64_t{45'000'001}, std::int64_t{95'000'000}, std::int64_t{130'000'000}}) {
    command.t = t;
    Scenario with = *shared;
    with.faults.push_back(command.fault);
    with.faults.back().at_ns = t;
    const std::string from_the_start = bytes_of(simulate(with).trace);
    EXPECT_EQ(bytes_of(simulate(*shared, {command}).trace), from_the_start);
    Simulator trunk(shared);
    while (trunk.next_time() < t) trunk.step();
    Simulator branch = trunk;
    branch.inject(command);
    while (branch.step()) {
    }
    EXPECT_EQ(bytes_of(branch.trace), from_the_start) << GetParam() << " at " << t;
    while (trunk.step()) {
    }
    EXPECT_EQ(bytes_of(trunk.trace), healthy);  // a branch never changes the trunk
    if (*kind == FaultKind::LinkSlow) continue;  // so few bytes take no longer
    EXPECT_TRUE(first_difference(simulate(*shared).trace, branch.trace))
        << GetParam() << " at " << t << " changes nothing but the list of commands";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Branches,
                         ::testing::Values("nan", "inf_overflow", "crash", "hang", "slow", "shape", "dtype",
                                           "op", "skip_step", "skip_collective", "extra_step", "early_exit",
                                           "wrong_order", "bit_flip", "link_down", "link_slow", "link_flap",
                                           "gpu_reset", "pcie_power", "oom"));

// --- size

TEST(JobSize, AThousandStepsOf512RanksWithACrash) {
  JobText job;
  job.nodes = 64;
  job.gpus_per_node = 8;
  job.steps = 1000;
  job.shape = "[25000000]";
  job.values = "\"none\"";
  job.transport = "ib";
  job.faults = fault("kind=\"crash\";rank=77;step=700");
  const Simulation result = simulate(scenario_of(job));
  EXPECT_EQ(result.outcome, Outcome::Error);
  EXPECT_EQ(result.collectives.size(), 700u);
  EXPECT_EQ(result.trace.header.detail, Detail::Ranks);
  EXPECT_EQ(events_of(result.trace, EventType::Exit).size(), 512u);
}

}  // namespace
}  // namespace ringside::sim::test
