// Jobs in which nothing breaks: times and numbers are the executor's, bytes are the same in every run.
#include "job_helpers.hpp"
#include "sim/base/random.hpp"
#include "sim/collective/executor.hpp"
#include "sim/job/network.hpp"

namespace ringside::sim::test {
namespace {

std::string ring_line(const Trace& trace, const Event& e) {
  std::string line = std::to_string(e.t) + " r" + std::to_string(e.src_id) + " " +
                     std::string(to_word(e.type)) + " " + std::to_string(e.ring.step) + " c" +
                     std::to_string(e.ring.chunk) + " r" + std::to_string(e.ring.peer);
  if (e.ring.sample != kNone)
    for (const Scalar& value : trace.sample(e.ring.sample).values) {
      line += ' ';
      append_scalar(line, value);
    }
  return line;
}

TEST(JobHealthy, FourRanksToTheNanosecond) {
  JobText job;
  job.shape = "[4]";
  job.values = "[[2, 2, 2, 2], [4, 4, 4, 4], [6, 6, 6, 6], [8, 8, 8, 8]]";
  job.op = "sum_then_divide";
  job.reduce = "100ns";
  const Simulation result = run(job);
  std::string lines;
  for (const Event& e : result.trace.events())
    if (e.type == EventType::RingStepBegin || e.type == EventType::RingStepEnd)
      lines += ring_line(result.trace, e) + "\n";
  // 4 bytes at 240 GB/s: 1 ns on the wire, 3,400 ns of latency, 100 ns to add; a copy takes no time.
  EXPECT_EQ(lines, R"(0 r0 ring_step_begin 1 c3 r1 2
0 r1 ring_step_begin 1 c0 r2 4
0 r2 ring_step_begin 1 c1 r3 6
0 r3 ring_step_begin 1 c2 r0 8
3501 r1 ring_step_end 1 c3 r0 6
3501 r2 ring_step_end 1 c0 r1 10
3501 r3 ring_step_end 1 c1 r2 14
3501 r0 ring_step_end 1 c2 r3 10
3501 r0 ring_step_begin 2 c2 r1 10
3501 r1 ring_step_begin 2 c3 r2 6
3501 r2 ring_step_begin 2 c0 r3 10
3501 r3 ring_step_begin 2 c1 r0 14
7002 r1 ring_step_end 2 c2 r0 14
7002 r2 ring_step_end 2 c3 r1 12
7002 r3 ring_step_end 2 c0 r2 18
7002 r0 ring_step_end 2 c1 r3 16
7002 r0 ring_step_begin 3 c1 r1 16
7002 r1 ring_step_begin 3 c2 r2 14
7002 r2 ring_step_begin 3 c3 r3 12
7002 r3 ring_step_begin 3 c0 r0 18
10503 r1 ring_step_end 3 c1 r0 20
10503 r2 ring_step_end 3 c2 r1 20
10503 r3 ring_step_end 3 c3 r2 20
10503 r0 ring_step_end 3 c0 r3 20
10503 r0 ring_step_begin 4 c0 r1 20
10503 r1 ring_step_begin 4 c1 r2 20
10503 r2 ring_step_begin 4 c2 r3 20
10503 r3 ring_step_begin 4 c3 r0 20
13904 r1 ring_step_end 4 c0 r0 20
13904 r2 ring_step_end 4 c1 r1 20
13904 r3 ring_step_end 4 c2 r2 20
13904 r0 ring_step_end 4 c3 r3 20
13904 r0 ring_step_begin 5 c3 r1 20
13904 r1 ring_step_begin 5 c0 r2 20
13904 r2 ring_step_begin 5 c1 r3 20
13904 r3 ring_step_begin 5 c2 r0 20
17305 r1 ring_step_end 5 c3 r0 20
17305 r2 ring_step_end 5 c0 r1 20
17305 r3 ring_step_end 5 c1 r2 20
17305 r0 ring_step_end 5 c2 r3 20
17305 r0 ring_step_begin 6 c2 r1 20
17305 r1 ring_step_begin 6 c3 r2 20
17305 r2 ring_step_begin 6 c0 r3 20
17305 r3 ring_step_begin 6 c1 r0 20
20706 r1 ring_step_end 6 c2 r0 20
20706 r2 ring_step_end 6 c3 r1 20
20706 r3 ring_step_end 6 c0 r2 20
20706 r0 ring_step_end 6 c1 r3 20
)");
  EXPECT_EQ(result.outcome, Outcome::Completed);
  EXPECT_EQ(result.time_ns, 3 * 3501 + 3 * 3401 + 100);  // and ÷ 4
  for (const auto& tensor : result.collectives.back().result)
    EXPECT_EQ(numbers_of(*tensor), (std::vector<double>{5, 5, 5, 5}));
}

TEST(JobHealthy, FirstAndLastEventsOfARank) {
  JobText job;
  job.steps = 2;
  const Simulation result = run(job);
  std::string words;
  for (const Event& e : result.trace.events())
    if (e.rank() == 2 && e.type != EventType::RingStepBegin && e.type != EventType::RingStepWait &&
        e.type != EventType::RingStepEnd)
      words += std::string(to_word(e.type)) + " ";
  EXPECT_EQ(
      words,
      "hello comm_init tensor phase_begin phase_end phase_begin phase_end phase_begin collective_enqueued "
      "collective_started collective_finished phase_end phase_begin phase_end weights "
      "phase_begin phase_end phase_begin phase_end phase_begin tensor collective_enqueued "
      "collective_started collective_finished phase_end phase_begin phase_end weights comm_finalize exit ");
}

struct Shape4 {
  int world;
  const char* algorithm;
  const char* order;
  const char* chunking;
  int channels;
  const char* shape;
};

class AgainstExecutor : public ::testing::TestWithParam<Shape4> {};

TEST_P(AgainstExecutor, TimesAndNumbersAreTheSame) {
  const Shape4& p = GetParam();
  JobText job;
  job.gpus_per_node = p.world;
  job.steps = 2;
  job.jitter = "0.3";  // ranks come at very different times
  job.shape = p.shape;
  job.values = "{ random = \"normal\" }";
  job.op = "sum";
  job.reduce = "250ns";
  job.chunking = p.chunking;
  job.more_collective = std::string("algorithm = \"") + p.algorithm + "\"\norder = \"" + p.order +
                        "\"\nchannels = " + std::to_string(p.channels);
  const Scenario scenario = scenario_of(job);
  const Simulation result = run(job);
  const Schedule schedule = make_schedule(scenario.schedule_request());
  const auto inputs = make_inputs(scenario);
  const Numbers numbers = execute_numbers(schedule, ReduceOp::Sum, inputs);
  for (std::uint32_t coll = 0; coll < 2; ++coll) {
    std::vector<std::int64_t> arrival(static_cast<std::size_t>(p.world)), finish(arrival.size());
    std::map<std::tuple<int, int, std::uint32_t, std::uint32_t>, std::int64_t> begin, end;
    for (const Event& e : result.trace.events()) {
      const bool ring = e.type == EventType::RingStepBegin || e.type == EventType::RingStepEnd;
      if (ring && e.ring.coll == coll) {
        const bool begins = e.type == EventType::RingStepBegin;
        const int src = begins ? e.src_id : e.ring.peer, dst = begins ? e.ring.peer : e.src_id;
        (begins ? begin : end)[{src, dst, e.ring.step, e.ring.chunk}] = e.t;
      }
      if (e.type == EventType::CollectiveEnqueued && e.collective.coll == coll)
        arrival[static_cast<std::size_t>(e.src_id)] = e.t;
      if (e.type == EventType::CollectiveFinished && e.collective.coll == coll)
        finish[static_cast<std::size_t>(e.src_id)] = e.t;
    }
    const ExecutionTimes times =
        execute_times(schedule, DType::Float32, scenario.cluster.topology, arrival, 250);
    EXPECT_EQ(finish, times.finish);
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
      const Transfer& x = schedule.transfers[i];
      const std::tuple key{x.src, x.dst, x.step, x.chunk};
      EXPECT_EQ(begin.at(key), times.transfers[i].start);
      EXPECT_EQ(end.at(key), times.transfers[i].done);
    }
  }
  for (std::size_t r = 0; r < numbers.result.size(); ++r)
    EXPECT_EQ(result.collectives.back().result[r]->data, numbers.result[r]->data);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AgainstExecutor,
                         ::testing::Values(Shape4{1, "ring", "nccl", "even", 1, "[5]"},
                                           Shape4{2, "ring", "nccl", "even", 1, "[7]"},
                                           Shape4{3, "ring", "textbook", "even", 1, "[10]"},
                                           Shape4{4, "ring", "nccl", "even", 3, "[37]"},
                                           Shape4{7, "ring", "nccl", "even", 1, "[3]"},
                                           Shape4{8, "ring", "textbook", "nccl", 2, "[1000]"},
                                           Shape4{2, "ring", "nccl", "nccl", 1, "[1100000]"},
                                           Shape4{4, "naive", "nccl", "even", 1, "[9]"},
                                           Shape4{7, "naive", "nccl", "even", 2, "[9]"}));

/// Where sends do not stand in line, a later transfer may overtake an earlier one between the same two ranks:
/// the numbers are those of the schedule all the same, whoever comes late.
TEST(JobHealthy, NumbersDoNotDependOnWhoComesLate) {
  for (const char* algorithm :
       {"rabenseifner", "recursive_doubling", "binomial_tree", "tree", "hierarchical", "nvls", "naive"})
    for (const int world : {4, 7, 8})
      for (const int channels : {1, 2}) {
        JobText job;
        job.gpus_per_node = world;
        job.steps = 3;
        job.jitter = "0.3";
        job.shape = "[40]";
        job.values = "{ random = \"normal\" }";
        job.more_collective =
            std::string("algorithm = \"") + algorithm + "\"\nchannels = " + std::to_string(channels);
        const Scenario scenario = scenario_of(job);
        const Simulation result = simulate(scenario);
        const Numbers numbers =
            execute_numbers(make_schedule(scenario.schedule_request()), ReduceOp::Sum, make_inputs(scenario));
        for (std::size_t r = 0; r < numbers.result.size(); ++r)
          EXPECT_EQ(result.collectives.back().result[r]->data, numbers.result[r]->data)
              << algorithm << ", " << world << " ranks, " << channels << " channels, R" << r;
      }
}

TEST(JobHealthy, WithoutNumbersTheTimesAreTheSame) {
  JobText with, without;
  with.steps = without.steps = 5;
  with.gpus_per_node = without.gpus_per_node = 8;
  with.nodes = without.nodes = 2;
  without.values = "\"none\"";
  const Simulation a = run(with), b = run(without);
  const auto finished = [](const Simulation& s) {
    std::vector<std::int64_t> t;
    for (const Event& e : events_of(s.trace, EventType::CollectiveFinished)) t.push_back(e.t);
    return t;
  };
  EXPECT_EQ(finished(a), finished(b));
  EXPECT_EQ(a.time_ns, b.time_ns);
  EXPECT_TRUE(events_of(b.trace, EventType::RingStepBegin).empty());
  EXPECT_EQ(a.collectives.back().bytes_sent_per_rank, b.collectives.back().bytes_sent_per_rank);
}

TEST(JobHealthy, BucketsAndOverlap) {
  JobText job;
  job.steps = 3;
  job.buckets = 3;
  job.shape = "[10]";
  const Simulation serial = run(job);
  EXPECT_EQ(serial.collectives.size(), 9u);
  job.more_training = "overlap = true";
  const Simulation overlapped = run(job);
  EXPECT_EQ(overlapped.collectives.size(), 9u);
  EXPECT_LT(overlapped.time_ns, serial.time_ns);
  EXPECT_EQ(numbers_of(*serial.collectives.back().result[0]),
            numbers_of(*overlapped.collectives.back().result[0]));
  // Index values: rank · 10 + i; the last bucket is elements 7, 8, 9 of four ranks.
  EXPECT_EQ(numbers_of(*serial.collectives.back().result[0]), (std::vector<double>{88, 92, 96}));
}

TEST(JobHealthy, SameBytesAndAGoldenDigest) {
  JobText job;
  job.steps = 2;
  job.values = "{ random = \"normal\" }";
  job.op = "avg";
  job.dtype = "float16";
  const std::string once = bytes_of(run(job).trace), twice = bytes_of(run(job).trace);
  EXPECT_EQ(once, twice);
  std::uint64_t digest = 0;
  for (const char c : once) digest = mix64(digest ^ static_cast<unsigned char>(c)) + 1;
  EXPECT_EQ(digest, 3797865767471509299ULL) << "the same on GCC, Clang, Debug, Release";
}

TEST(JobHealthy, StepsThatTakeNoTimeNeedNoStack) {
  JobText job;
  job.gpus_per_node = 1;
  job.shape = "[1]";
  job.values = "\"none\"";
  job.more_training = "";
  Scenario scenario = scenario_of(job);
  scenario.training.steps = 50'000;
  const Simulation result = simulate(scenario);
  EXPECT_EQ(result.outcome, Outcome::Completed);
  EXPECT_EQ(result.collectives.size(), 50'000u);
}

JobText network_job(bool all_reduce) {
  JobText job;
  job.steps = 50;
  job.op = "avg";
  job.more_training = std::string("[training.network]\nenabled = true\nlayers = [2, 8, 8, 1]\nbatch = 8\n") +
                      "learning_rate = 0.02\nall_reduce = " + (all_reduce ? "true" : "false");
  return job;
}

std::vector<double> losses_of(const Trace& trace, int rank) {
  std::vector<double> losses;
  for (const Event& e : events_of(trace, EventType::PhaseEnd, rank))
    if (e.phase.has & kHasLoss) losses.push_back(e.phase.loss);
  return losses;
}

TEST(JobNetwork, WeightsStayEqualAndTheLossFalls) {
  JobText job = network_job(true);
  job.more_training = "loss = \"1ms\"\n" + job.more_training;
  const Simulation result = run(job);
  EXPECT_EQ(result.outcome, Outcome::Completed);
  std::map<std::int64_t, std::set<std::uint64_t>> digests;
  for (const Event& e : events_of(result.trace, EventType::Weights))
    digests[e.weights.step].insert(e.weights.digest);
  EXPECT_EQ(digests.size(), 50u);
  for (const auto& [step, values] : digests) EXPECT_EQ(values.size(), 1u) << "step " << step;
  const auto losses = losses_of(result.trace, 0);
  ASSERT_EQ(losses.size(), 50u);
  double first = 0, last = 0;
  for (std::size_t i = 0; i < 10; ++i) first += losses[i], last += losses[40 + i];
  EXPECT_LT(last, 0.7 * first);
}

TEST(JobNetwork, AloneTheyDrift) {
  Simulator together(std::make_shared<const Scenario>(scenario_of(network_job(true))));
  Simulator alone(std::make_shared<const Scenario>(scenario_of(network_job(false))));
  while (together.step()) {
  }
  while (alone.step()) {
  }
  double shared = 0, own = 0;
  std::set<std::uint64_t> digests;
  for (int r = 0; r < 4; ++r) {
    shared += together.network.loss_on_all(r);
    own += alone.network.loss_on_all(r);
    digests.insert(alone.network.digest(r));
  }
  EXPECT_EQ(digests.size(), 4u);
  EXPECT_LT(shared, own);
}

TEST(JobNetwork, ManyRanksAreOneProcessWithAllTheData) {
  NetworkSpec spec;
  spec.layers = {2, 8, 8, 1};
  spec.batch = 4;
  const auto parameters = initial_parameters(spec, 3);
  std::vector<Batch> batches;
  std::vector<double> mean(parameters.size());
  for (int r = 0; r < 4; ++r) {
    batches.push_back(make_batch(spec, 3, r, 1));
    const Gradient own = gradient_of(spec, parameters, batches.back());
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(own.values[i]) / 4;
  }
  const Gradient all = gradient_of(spec, parameters, join(batches));
  for (std::size_t i = 0; i < mean.size(); ++i)
    EXPECT_NEAR(static_cast<double>(all.values[i]), mean[i], 1e-5 * (1 + std::abs(mean[i])));
}

TEST(JobNetwork, GradientIsTheSlopeOfTheLoss) {
  NetworkSpec spec;
  spec.layers = {2, 4, 1};
  spec.batch = 6;
  auto parameters = initial_parameters(spec, 11);
  const Batch batch = make_batch(spec, 11, 2, 5);
  const Gradient gradient = gradient_of(spec, parameters, batch);
  EXPECT_DOUBLE_EQ(gradient.loss, loss_of(spec, parameters, batch));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float h = 1e-3F, kept = parameters[i];
    parameters[i] = kept + h;
    const double above = loss_of(spec, parameters, batch);
    parameters[i] = kept - h;
    const double below = loss_of(spec, parameters, batch);
    parameters[i] = kept;
    EXPECT_NEAR((above - below) / 2e-3, static_cast<double>(gradient.values[i]), 2e-2) << i;
  }
}

}  // namespace
}  // namespace ringside::sim::test
