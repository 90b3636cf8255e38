// Calls that do not agree: what comes of it, by library. The data plane has no case for any of these
// outcomes.
#include "job_helpers.hpp"
#include "sim/job/nccl_fifo.hpp"

namespace ringside::sim::test {
namespace {

std::vector<std::shared_ptr<const Tensor>> ones(int ranks, std::int64_t count) {
  auto tensor = std::make_shared<Tensor>(DType::Float32, Shape{{count}});
  for (std::int64_t i = 0; i < count; ++i) tensor->set(i, make_scalar(DType::Float32, 1.0));
  return std::vector<std::shared_ptr<const Tensor>>(static_cast<std::size_t>(ranks), tensor);
}

/// Eight ranks of ones, `odd` with another count than the rest: the last two numbers of the odd rank.
std::vector<double> tail(int odd, std::int64_t count, std::int64_t odd_count) {
  JobText job;
  job.gpus_per_node = 8;
  job.chunking = "nccl";
  Scenario scenario = scenario_of(job);
  scenario.tensor.shape = Shape{{count}};
  scenario.tensor.values = ValueSource::List;
  scenario.tensor.list = ones(8, count);
  Fault other;
  other.kind = FaultKind::Shape;
  other.rank = odd;
  other.shape = Shape{{odd_count}};
  scenario.faults.push_back(other);
  const Simulation result = simulate(scenario);
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  const auto& results = result.collectives.back().result;
  for (int r = 0; r < 8; ++r) {
    if (r == odd) continue;
    const Tensor& tensor = *results[static_cast<std::size_t>(r)];
    EXPECT_EQ(to_double(tensor.at(0)), 8.0);
    EXPECT_EQ(to_double(tensor.at(tensor.count() - 1)), 8.0);
  }
  const Tensor& mine = *results[static_cast<std::size_t>(odd)];
  EXPECT_EQ(to_double(mine.at(count - 1)), 8.0);
  return {to_double(mine.at(odd_count - 2)), to_double(mine.at(odd_count - 1))};
}

TEST(JobMismatch, ThePublishedWrongTail) {
  EXPECT_EQ(tail(0, 409'598, 409'600), (std::vector<double>{6, 6}));
}

TEST(JobMismatch, OtherRanksHaveOtherTails) {
  // The slot that the last chunk comes in held, two chunks before, the sum of so many ranks.
  EXPECT_EQ(tail(3, 409'598, 409'600), (std::vector<double>{8, 8}));  // a finished chunk: nothing to be seen
  EXPECT_EQ(tail(7, 409'598, 409'600), (std::vector<double>{6, 6}));
}

TEST(JobMismatch, TransfersThatDoNotAgreeHang) {
  JobText job;
  job.gpus_per_node = 2;
  job.chunking = "nccl";
  job.shape = "[1000]";
  job.watchdog = "600s";
  job.faults = fault("kind = \"shape\";rank = 1;shape = [1100000]");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Timeout);
  EXPECT_EQ(end_of(result.trace, 1), "signal 6");
  EXPECT_EQ(events_of(result.trace, EventType::WatchdogExpired, 1).size(), 1u);
}

struct Row {
  const char* name;
  const char* library;
  const char* debug;
  const char* fault;
  Outcome outcome;
  const char* first_error;  // in some rank's log; empty: nobody says anything
};

class MismatchTable : public ::testing::TestWithParam<Row> {};

TEST_P(MismatchTable, HasTheOutcomeOfTheLibrary) {
  const Row& row = GetParam();
  JobText job;
  job.steps = 4;
  job.library = row.library;
  job.debug = row.debug;
  job.transport = std::string(row.library) == "nccl" ? "nvlink" : "tcp";
  job.launcher = std::string(row.library) == "mpi" ? "mpirun" : "torchrun";
  job.watchdog = std::string(row.library) == "mpi" ? "off" : "60s";
  job.faults = fault(std::string("rank = 2;step = 2;") + row.fault);
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, row.outcome) << to_word(result.outcome);
  bool said = false;
  for (int r = 0; r < 4; ++r) said = said || says(result.trace, Source::rank(r), row.first_error);
  const bool any_error = !events_of(result.trace, EventType::Error).empty();
  if (*row.first_error != '\0') {
    EXPECT_TRUE(said) << row.first_error;
  } else {
    EXPECT_FALSE(any_error);
  }
}

constexpr const char* kMismatch = "Detected mismatch between collectives";
INSTANTIATE_TEST_SUITE_P(
    Rows, MismatchTable,
    ::testing::Values(
        Row{"count", "nccl", "off", "kind=\"shape\";shape=[16]", Outcome::Timeout,
            "Watchdog caught collective operation timeout"},
        Row{"count, inside one line", "nccl", "off", "kind=\"shape\";shape=[7]", Outcome::WrongResult, ""},
        Row{"count", "nccl", "detail", "kind=\"shape\";shape=[16]", Outcome::Error, kMismatch},
        Row{"count", "gloo", "off", "kind=\"shape\";shape=[16]", Outcome::Error,
            "op.preamble.length <= op.nbytes. 16 vs 8"},
        Row{"count", "gloo", "detail", "kind=\"shape\";shape=[16]", Outcome::Error, kMismatch},
        Row{"count", "mpi", "off", "kind=\"shape\";shape=[16]", Outcome::Error, "MPI_ERR_TRUNCATE"},
        Row{"same count", "nccl", "off", "kind=\"shape\";shape=[2,4]", Outcome::WrongResult, ""},
        Row{"same count", "nccl", "detail", "kind=\"shape\";shape=[2,4]", Outcome::Error, kMismatch},
        Row{"same count", "gloo", "off", "kind=\"shape\";shape=[2,4]", Outcome::WrongResult, ""},
        Row{"same count", "mpi", "off", "kind=\"shape\";shape=[2,4]", Outcome::WrongResult, ""},
        Row{"dtype", "nccl", "off", "kind=\"dtype\";dtype=\"int32\"", Outcome::WrongResult, ""},
        Row{"dtype", "nccl", "detail", "kind=\"dtype\";dtype=\"int32\"", Outcome::Error, kMismatch},
        Row{"dtype", "gloo", "off", "kind=\"dtype\";dtype=\"int32\"", Outcome::WrongResult, ""},
        Row{"dtype", "mpi", "off", "kind=\"dtype\";dtype=\"int32\"", Outcome::WrongResult, ""},
        Row{"wide dtype", "nccl", "off", "kind=\"dtype\";dtype=\"float64\"", Outcome::Timeout,
            "Watchdog caught collective operation timeout"},
        Row{"wide dtype", "gloo", "off", "kind=\"dtype\";dtype=\"float64\"", Outcome::Error,
            "op.preamble.length"},
        Row{"wide dtype", "mpi", "off", "kind=\"dtype\";dtype=\"float64\"", Outcome::Error,
            "MPI_ERR_TRUNCATE"},
        Row{"op", "nccl", "off", "kind=\"op\";op=\"max\"", Outcome::WrongResult, ""},
        Row{"op", "nccl", "detail", "kind=\"op\";op=\"max\"", Outcome::WrongResult, ""},
        Row{"op", "gloo", "off", "kind=\"op\";op=\"max\"", Outcome::WrongResult, ""},
        Row{"op", "mpi", "off", "kind=\"op\";op=\"max\"", Outcome::WrongResult, ""},
        Row{"order", "nccl", "off", "kind=\"wrong_order\"", Outcome::Timeout,
            "Watchdog caught collective operation timeout"},
        Row{"order", "nccl", "detail", "kind=\"wrong_order\"", Outcome::Error, kMismatch},
        Row{"order", "gloo", "detail", "kind=\"wrong_order\"", Outcome::Error, kMismatch},
        Row{"order", "mpi", "off", "kind=\"wrong_order\"", Outcome::Hang, ""},
        Row{"skip", "nccl", "off", "kind=\"skip_step\"", Outcome::Timeout,
            "Watchdog caught collective operation timeout"},
        Row{"skip", "nccl", "detail", "kind=\"skip_step\"", Outcome::Timeout,
            "Watchdog caught collective operation timeout"},
        Row{"skip", "gloo", "off", "kind=\"skip_step\"", Outcome::Error, "Connection closed by peer"},
        Row{"skip", "mpi", "off", "kind=\"skip_step\"", Outcome::Hang, ""}));

/// The lesson's example: [1024, 1024] on three GPUs, [512, 512] on GPU2.
JobText a_quarter_on_gpu2() {
  JobText job;
  job.shape = "[1024, 1024]";
  job.watchdog = "20s";
  job.faults = fault("kind=\"shape\";rank=2;shape=[512, 512]");
  return job;
}

TEST(JobMismatch, AQuarterOnGpu2HangsWhereNcclTakesAnotherProtocolForIt) {
  JobText job = a_quarter_on_gpu2();
  const Scenario nvlink = scenario_of(job);
  EXPECT_EQ(nccl_protocol(nvlink, 4 << 20), NcclProtocol::LL128);
  EXPECT_EQ(nccl_protocol(nvlink, 1 << 20), NcclProtocol::LL);
  EXPECT_EQ(run(job).outcome, Outcome::Timeout);
  job.values = "\"none\"";
  EXPECT_EQ(run(job).outcome, Outcome::Timeout);
  job.library = "gloo";
  EXPECT_EQ(run(job).outcome, Outcome::Error);
}

TEST(JobMismatch, AQuarterOnGpu2IsSilentlyWrongWhereBothAreSimple) {
  for (const char* values : {"\"index\"", "\"none\""}) {
    Scenario over_pcie = scenario_of([&] {
      JobText job = a_quarter_on_gpu2();
      job.values = values;
      return job;
    }());
    over_pcie.cluster.preset = "pcie-a100";
    EXPECT_EQ(nccl_protocol(over_pcie, 4 << 20), NcclProtocol::Simple);
    EXPECT_EQ(nccl_protocol(over_pcie, 1 << 20), NcclProtocol::Simple);
    EXPECT_EQ(simulate(over_pcie).outcome, Outcome::WrongResult);
    over_pcie.collective.chunking = Chunking::Nccl;
    EXPECT_EQ(simulate(over_pcie).outcome, Outcome::WrongResult);
  }
}

/// nccl#1417: 409,600 against 32,768,000 elements hang, however the buffer is drawn.
TEST(JobMismatch, ThePublishedHang) {
  for (const char* chunking : {"even", "nccl"}) {
    JobText job;
    job.gpus_per_node = 8;
    job.values = "\"none\"";
    job.chunking = chunking;
    job.shape = "[409600]";
    job.watchdog = "20s";
    job.faults = fault("kind=\"shape\";rank=0;shape=[32768000]");
    EXPECT_EQ(run(job).outcome, Outcome::Timeout) << chunking;
  }
}

TEST(JobMismatch, AReceiverIsDoneWhenItsLinesCame) {
  EXPECT_TRUE(receive_gets_done(NcclProtocol::LL, 16, 16));
  EXPECT_TRUE(receive_gets_done(NcclProtocol::LL, 12, 16));       // the last line is there, half of it is old
  EXPECT_FALSE(receive_gets_done(NcclProtocol::LL, 8, 16));       // the second line's flag never comes
  EXPECT_TRUE(receive_gets_done(NcclProtocol::LL, 64, 16));       // more lines than it looks at
  EXPECT_FALSE(receive_gets_done(NcclProtocol::LL, 40'000, 16));  // but of two steps, not of one
  EXPECT_TRUE(receive_gets_done(NcclProtocol::LL128, 121, 240));
  EXPECT_FALSE(receive_gets_done(NcclProtocol::LL128, 120, 240));
  EXPECT_TRUE(receive_gets_done(NcclProtocol::Simple, 0, 2 << 20));  // reads what the slot held
  EXPECT_FALSE(receive_gets_done(NcclProtocol::Simple, 2 << 20, (2 << 20) + 4));
}

TEST(JobMismatch, GlooBlamesTheReceiverOfTheLongerMessage) {
  JobText job;
  job.library = "gloo";
  job.transport = "tcp";
  job.faults = fault("kind=\"shape\";rank=2;shape=[16]");
  const Simulation more = run(job);
  EXPECT_TRUE(says(more.trace, Source::rank(3), "op.preamble.length"));  // the innocent neighbour
  EXPECT_FALSE(says(more.trace, Source::rank(2), "op.preamble.length"));
  job.faults = fault("kind=\"shape\";rank=2;shape=[4]");
  EXPECT_TRUE(says(run(job).trace, Source::rank(2), "op.preamble.length"));
}

TEST(JobMismatch, DdpComparesShapesAtConstruction) {
  JobText job;
  job.steps = 3;
  job.more_training = "[training.network]\nenabled = true\nlayers = [2, 4, 1]";
  job.faults = fault("kind=\"shape\";rank=1;shape=[99]");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Error);
  EXPECT_TRUE(
      says(result.trace, Source::rank(1), "appears not to match sizes of the same param in process 0"));
  EXPECT_TRUE(events_of(result.trace, EventType::CollectiveFinished).empty());
}

TEST(JobMismatch, ASkippedStepPairsTwoStepsAndHangsAtTheVeryEnd) {
  JobText job;
  job.steps = 100;
  job.faults = fault("kind=\"skip_step\";rank=3;step=50");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Timeout);
  EXPECT_EQ(result.collectives.size(), 100u);
  int complete = 0;
  for (const CollectiveOutcome& one : result.collectives) complete += one.outcome == Outcome::Timeout ? 0 : 1;
  EXPECT_EQ(complete, 99);
  int mixed = 0;  // calls in which rank 3 is one training step ahead
  std::map<std::uint32_t, std::set<int>> steps;
  std::map<int, int> now;
  for (const Event& e : result.trace.events()) {
    if (e.type == EventType::PhaseBegin) now[e.rank()] = e.phase.step;
    if (e.type == EventType::CollectiveEnqueued) steps[e.collective.coll].insert(now[e.rank()]);
  }
  for (const auto& [coll, set] : steps) mixed += set.size() == 2 ? 1 : 0;
  EXPECT_EQ(mixed, 50);
  for (int r = 0; r < 3; ++r)
    EXPECT_EQ(events_of(result.trace, EventType::CollectiveEnqueued, r).size(), 100u);
  EXPECT_EQ(events_of(result.trace, EventType::CollectiveEnqueued, 3).size(), 99u);
  EXPECT_EQ(end_of(result.trace, 3), "code 0");
}

TEST(JobMismatch, SkippingOnlyTheAllReduceIsNotReported) {
  JobText job;
  job.steps = 10;
  job.faults = fault("kind=\"skip_collective\";rank=3;step=5");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_TRUE(events_of(result.trace, EventType::Error).empty());
  std::map<std::int64_t, std::set<std::uint64_t>> digests;
  for (const Event& e : events_of(result.trace, EventType::Weights))
    digests[e.weights.step].insert(e.weights.digest);
  for (const auto& [step, set] : digests) EXPECT_EQ(set.size(), step < 5 ? 1u : 2u) << step;
}

TEST(JobMismatch, AnExtraStepLeavesOneCallAlone) {
  JobText job;
  job.steps = 5;
  job.faults = fault("kind=\"extra_step\";rank=1;step=2");
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Timeout);
  EXPECT_EQ(events_of(result.trace, EventType::CollectiveEnqueued, 1).size(), 6u);
  EXPECT_EQ(events_of(result.trace, EventType::CollectiveFinished, 1).size(), 5u);
  for (const int r : {0, 2, 3}) EXPECT_EQ(end_of(result.trace, r), "code 0");
}

TEST(JobMismatch, BucketsInTheWrongOrderAreAddedToEachOther) {
  JobText job;
  job.steps = 2;
  job.buckets = 2;
  job.faults = fault("kind=\"wrong_order\";rank=1;step=1");
  EXPECT_EQ(run(job).outcome, Outcome::WrongResult);  // both buckets have 4 elements: nobody notices
}

TEST(JobMismatch, WithoutNumbersTheSameOutcomes) {
  JobText job;
  job.gpus_per_node = 8;
  job.values = "\"none\"";
  job.chunking = "nccl";
  job.shape = "[409598]";
  job.faults = fault("kind=\"shape\";rank=0;shape=[409600]");
  EXPECT_EQ(run(job).outcome, Outcome::WrongResult);
  job.faults = fault("kind=\"shape\";rank=0;shape=[32768000]");
  EXPECT_EQ(run(job).outcome, Outcome::Timeout);
  job.library = "gloo";
  EXPECT_EQ(run(job).outcome, Outcome::Error);
}

}  // namespace
}  // namespace ringside::sim::test
