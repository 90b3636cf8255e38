// The training step of the classroom, on the real simulator: what a view shows of it is what the job had. The
// loss falls, all ranks hold one model with the AllReduce and many without, N ranks are one process, buckets
// are DDP's.
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "job_helpers.hpp"
#include "sim/collective/sum_order.hpp"
#include "sim/job/gradient_proof.hpp"
#include "sim/job/training.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::sim::test {
namespace {

Scenario shipped(const std::string& name) {
  const std::string path = std::string(RINGSIDE_SOURCE_DIR) + "/assets/scenarios/" + name;
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto scenario = parse_scenario(text, path);
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().message());
  return *scenario;
}

TrainingHistory whole_history(const Scenario& scenario) {
  TrainingHistory history(scenario);
  while (history.advance()) {
  }
  return history;
}

double mean_of_own(const TrainingHistory& history, std::int64_t step) {
  double sum = 0;
  const int world = history.scenario().world_size();
  for (int r = 0; r < world; ++r) sum += history.own_loss(r, step);
  return sum / world;
}
double mean_on_all(const TrainingHistory& history, std::int64_t step) {
  double sum = 0;
  const int world = history.scenario().world_size();
  for (int r = 0; r < world; ++r) sum += history.loss_on_all(r, step);
  return sum / world;
}

// --- with and without the AllReduce, 4 ranks, 50 steps

TEST(TrainingStep, OneModelAtEveryStepAndTheLossFalls) {
  const Scenario scenario = shipped("training-step.toml");
  ASSERT_EQ(scenario.world_size(), 4);
  ASSERT_EQ(scenario.training.steps, 50);
  const Simulation job = simulate(scenario);
  ASSERT_EQ(job.outcome, Outcome::Completed);
  std::map<std::int64_t, std::set<std::uint64_t>> digests;
  std::map<std::int64_t, int> said;
  for (const Event& e : events_of(job.trace, EventType::Weights)) {
    digests[e.weights.step].insert(e.weights.digest);
    ++said[e.weights.step];
  }
  ASSERT_EQ(digests.size(), 50u);
  for (const auto& [step, values] : digests) {
    EXPECT_EQ(values.size(), 1u) << "step " << step;
    EXPECT_EQ(said[step], 4) << "step " << step;
  }
  const TrainingHistory history = whole_history(scenario);
  EXPECT_EQ(first_difference(job.trace, history), std::nullopt);
  EXPECT_LT(history.loss_on_all(0, 50), 0.2 * history.loss_on_all(0, 0));
  // It falls with the noise of small batches: the mean of ten steps lies below that of the ten before.
  double before = std::numeric_limits<double>::infinity();
  for (std::int64_t from = 1; from <= 41; from += 10) {
    double mean = 0;
    for (std::int64_t step = from; step < from + 10; ++step) mean += history.loss_on_all(0, step) / 10;
    EXPECT_LT(mean, before) << "steps from " << from;
    before = mean;
  }
  for (std::int64_t step = 0; step <= 50; ++step) EXPECT_EQ(history.models(step), 1);
}

TEST(TrainingStep, AloneTheyDriftAndAreWorseOnEveryonesData) {
  const Scenario together = shipped("training-step.toml"), alone = shipped("training-alone.toml");
  Scenario switched = together;
  switched.training.network.all_reduce = false;
  EXPECT_EQ(initial_parameters(together.training.network, together.seed),
            initial_parameters(alone.training.network, alone.seed));
  const Simulation job = simulate(alone);
  ASSERT_EQ(job.outcome, Outcome::Completed) << "nothing is broken: nobody asked for equal weights";
  EXPECT_TRUE(events_of(job.trace, EventType::CollectiveEnqueued).empty());
  std::map<std::int64_t, std::set<std::uint64_t>> digests;
  for (const Event& e : events_of(job.trace, EventType::Weights))
    digests[e.weights.step].insert(e.weights.digest);
  ASSERT_EQ(digests.size(), 50u);
  for (const auto& [step, values] : digests) EXPECT_EQ(values.size(), 4u) << "step " << step;

  const TrainingHistory own = whole_history(alone), shared = whole_history(together);
  EXPECT_EQ(first_difference(job.trace, own), std::nullopt);
  EXPECT_EQ(own.models(50), 4);
  EXPECT_EQ(own.models(0), 1) << "all begin with the same weights";
  EXPECT_GT(mean_on_all(own, 50), 2 * shared.loss_on_all(0, 50));
  for (int r = 0; r < 4; ++r) EXPECT_GT(own.loss_on_all(r, 50), shared.loss_on_all(r, 50)) << "R" << r;
  EXPECT_LT(mean_of_own(own, 50), mean_on_all(own, 50)) << "each is good in its own corner";
  EXPECT_LT(mean_of_own(own, 20), mean_of_own(shared, 20)) << "its own loss falls faster";
}

TEST(TrainingStep, AJobWithoutAllReduceCallsNoneWithOverlapEither) {
  Scenario alone = shipped("training-alone.toml");
  ASSERT_TRUE(alone.training.overlap);
  const Simulation job = simulate(alone);
  EXPECT_EQ(job.trace.collective_count(), 0u);
}

TEST(TrainingStep, TheHistoryIsTheJobsForEveryAlgorithmAndDtype) {
  for (const char* algorithm : {"ring", "naive", "recursive_doubling", "rabenseifner", "binomial_tree"})
    for (const char* dtype : {"float32", "float16", "bfloat16", "float64"})
      for (const char* op : {"avg", "sum_then_divide"}) {
        JobText text;
        text.steps = 3;
        text.dtype = dtype;
        text.op = op;
        text.buckets = 2;
        text.more_training = "overlap = true\n[training.network]\nlayers = [3, 5, 2]\nlearning_rate = 0.01\n";
        text.more_collective = std::string("algorithm = \"") + algorithm + "\"\n";
        const Scenario scenario = scenario_of(text);
        const Simulation job = simulate(scenario);
        EXPECT_EQ(first_difference(job.trace, whole_history(scenario)), std::nullopt)
            << algorithm << " " << dtype << " " << op;
      }
}

TEST(TrainingStep, AFaultThatChangesNumbersIsNotInTheHistory) {
  Scenario scenario = shipped("training-step.toml");
  Fault fault;
  fault.kind = FaultKind::BitFlip;
  fault.rank = 1;
  fault.step = 5;
  fault.element = 3;
  fault.bit = 30;
  scenario.faults.push_back(fault);
  const Simulation job = simulate(scenario);
  EXPECT_EQ(first_difference(job.trace, whole_history(scenario)), 5);
}

// --- the proof

/// The same gradient as plain loops give it, without anything that the proof is made of: the ring of this
/// order and chunking in float32.
TEST(GradientProof, TheSameOrderIsExactlyTheSame) {
  const Scenario scenario = shipped("training-step.toml");
  const TrainingHistory history = whole_history(scenario);
  const Simulation job = simulate(scenario);
  ASSERT_EQ(first_difference(job.trace, history), std::nullopt) << "history = job, to the bit";
  for (const std::int64_t step : {1, 2, 12, 50}) {
    const GradientProof proof = prove_gradient(history, step);
    EXPECT_EQ(proof.same_order_different, 0u);
    std::vector<std::vector<float>> parts;
    for (int r = 0; r < 4; ++r)
      parts.push_back(gradient_of(scenario.training.network, history.weights(r, step - 1),
                                  make_batch(scenario.training.network, scenario.seed, r, step))
                          .values);
    for (std::size_t b = 0; b < history.buckets().size(); ++b) {
      const Bucket& bucket = history.buckets()[b];
      const ChunkTable chunks = even_chunks(bucket.count, 4);
      for (std::size_t c = 0; c < 4; ++c)
        for (std::int64_t k = 0; k < chunks.chunks[c].count; ++k) {
          const auto i = static_cast<std::size_t>(bucket.offset + chunks.chunks[c].offset + k);
          float sum = 0.25F * parts[(c + 1) % 4][i];  // NCCL's order: chunk c starts at rank c + 1
          for (std::size_t add = 2; add <= 4; ++add) sum += 0.25F * parts[(c + add) % 4][i];
          EXPECT_EQ(static_cast<double>(sum), proof.ranks[i]) << "step " << step << ", element " << i;
        }
    }
  }
}

TEST(GradientProof, ManyRanksAreOneProcessWithinRounding) {
  const TrainingHistory history = whole_history(shipped("training-step.toml"));
  for (std::int64_t step = 1; step <= 50; ++step) {
    const GradientProof proof = prove_gradient(history, step);
    EXPECT_TRUE(proof.within_bound) << "step " << step;
    EXPECT_GT(proof.largest_difference, 0) << "another order: the last bits differ somewhere";
    EXPECT_LT(proof.largest_difference, 1e-5);
    EXPECT_LT(proof.largest_bound, 1e-3) << "a bound that says something";
    EXPECT_GT(proof.equal, 0u);
  }
}

TEST(GradientProof, HoldsForEveryWorldAlgorithmAndDtype) {
  for (const int world : {1, 2, 3, 4, 7, 8})
    for (const char* algorithm : {"ring", "naive", "recursive_doubling"})
      for (const char* dtype : {"float64", "float32", "float16", "bfloat16"})
        for (const char* op : {"avg", "sum_then_divide"}) {
          JobText text;
          text.gpus_per_node = world;
          text.steps = 2;
          text.dtype = dtype;
          text.op = op;
          text.more_training = "[training.network]\nlayers = [4, 8, 8, 1]\nbatch = 3\nlearning_rate = 0.01\n";
          text.more_collective = std::string("algorithm = \"") + algorithm + "\"\n";
          const TrainingHistory history = whole_history(scenario_of(text));
          const GradientProof proof = prove_gradient(history, 2);
          EXPECT_TRUE(proof.within_bound) << world << " " << algorithm << " " << dtype << " " << op;
          EXPECT_EQ(proof.same_order_different, 0u) << world << " " << algorithm << " " << dtype << " " << op;
        }
}

/// One sample a rank, two ranks: the one process adds the same two numbers, halves are exact. Nothing
/// differs.
TEST(GradientProof, ZeroWhereTheOnePassAddsInTheSameOrder) {
  JobText text;
  text.gpus_per_node = 2;
  text.steps = 3;
  text.op = "avg";
  text.more_training = "[training.network]\nlayers = [4, 8, 8, 1]\nbatch = 1\nlearning_rate = 0.01\n";
  const TrainingHistory history = whole_history(scenario_of(text));
  for (std::int64_t step = 1; step <= 3; ++step) {
    const GradientProof proof = prove_gradient(history, step);
    EXPECT_EQ(proof.largest_difference, 0);
    EXPECT_EQ(proof.equal, proof.ranks.size());
  }
}

/// The bound is no formality: a gradient that is wrong by a ten-thousandth is outside.
TEST(GradientProof, TheBoundWouldSeeAWrongGradient) {
  const TrainingHistory history = whole_history(shipped("training-step.toml"));
  const GradientProof proof = prove_gradient(history, 3);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < proof.ranks.size(); ++i)
    if (std::abs(proof.ranks[i] * 1.0001 - proof.one_process[i]) > proof.bound[i]) ++seen;
  EXPECT_GT(seen, proof.ranks.size() / 4);
}

TEST(GradientProof, SaysWhereThereIsNothingToProve) {
  Scenario s = shipped("training-step.toml");
  EXPECT_EQ(proof_problem(s), std::nullopt);
  s.collective.op = ReduceOp::Max;
  EXPECT_EQ(proof_problem(s), "op");
  s.collective.op = ReduceOp::Avg;
  s.tensor.dtype = DType::Int32;
  EXPECT_EQ(proof_problem(s), "dtype");
  EXPECT_EQ(proof_problem(shipped("training-alone.toml")), "alone");
}

TEST(SumOrderTest, IsTheRingsAndTheTrees) {
  ScheduleRequest request;
  request.count = 8;
  request.world_size = 4;
  const Schedule ring = make_schedule(request);
  EXPECT_EQ(sum_order(ring, 0).text(), "R1 + R2 + R3 + R0");
  EXPECT_EQ(sum_order(ring, 3).chain(), (std::vector<int>{0, 1, 2, 3}));
  request.order = RingOrder::Textbook;
  EXPECT_EQ(sum_order(make_schedule(request), 0).text(), "R0 + R1 + R2 + R3");
  request.algorithm = Algorithm::RecursiveDoubling;
  const SumOrder tree = sum_order(make_schedule(request), 0);
  EXPECT_EQ(tree.text(), "(R3 + R2) + (R1 + R0)");
  EXPECT_TRUE(tree.chain().empty());
}

// --- buckets

TEST(Buckets, GoFromTheLastLayerToTheFirstAndNeverSplitOne) {
  TrainingSpec training;
  training.network.enabled = true;
  training.network.layers = {4, 8, 8, 1};  // 40, 72, 9 parameters
  const auto plan = [&](int buckets) {
    training.buckets = buckets;
    std::vector<std::pair<std::int64_t, std::int64_t>> parts;
    for (const Bucket& b : bucket_plan(training, 121)) parts.emplace_back(b.offset, b.count);
    return parts;
  };
  using Parts = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(plan(1), (Parts{{0, 121}}));
  EXPECT_EQ(plan(2), (Parts{{40, 81}, {0, 40}}));
  EXPECT_EQ(plan(3), (Parts{{112, 9}, {40, 72}, {0, 40}}));
  EXPECT_EQ(plan(6), (Parts{{120, 1}, {112, 8}, {104, 8}, {40, 64}, {32, 8}, {0, 32}}));
  for (const int buckets : {1, 2, 3, 4, 5, 6, 7, 50, 121}) {
    training.buckets = buckets;
    std::int64_t end = 121, ready = 0;
    for (const Bucket& b : bucket_plan(training, 121)) {
      EXPECT_EQ(b.offset + b.count, end);
      EXPECT_LE(ready, b.ready_ppm);
      end = b.offset;
      ready = b.ready_ppm;
    }
    EXPECT_EQ(end, 0);
    EXPECT_EQ(ready, 1'000'000);
  }
}

TEST(Buckets, OverlapHidesAllButTheLastOne) {
  Scenario scenario = shipped("training-step.toml");
  scenario.faults.clear();
  scenario.training.steps = 1;
  const std::int64_t overlapped = simulate(scenario).time_ns;
  scenario.training.overlap = false;
  const std::int64_t serial = simulate(scenario).time_ns;
  // Three collectives of 6 hops of 1.4 ms and some bytes; forward 30, loss 1, backward 60, optimizer 8.
  EXPECT_NEAR(static_cast<double>(serial), 99e6 + 3 * 8.4e6, 1e4);
  EXPECT_NEAR(static_cast<double>(overlapped), 99e6 + 8.4e6, 1e4);
}

/// With overlap the first bucket is called before the phase all_reduce: with the job's op all the same.
TEST(Buckets, TheFirstBucketHasTheJobsOpWithOverlapToo) {
  JobText text;
  text.steps = 2;
  text.buckets = 2;
  text.op = "sum";
  text.more_training = "overlap = true";
  const Simulation job = run(text);
  for (const Event& e : events_of(job.trace, EventType::CollectiveEnqueued))
    EXPECT_EQ(e.collective.op, ReduceOp::Sum);
}

/// With overlap a rank calls the next bucket while the last one still waits for others: the frame stays with
/// the one that moves, and every rank's own numbers are those of that bucket.
TEST(Buckets, TheStageIsTheBucketThatMoves) {
  const Scenario scenario = shipped("training-step.toml");
  const Simulation job = simulate(scenario);
  const TrainingHistory history = whole_history(scenario);
  FrameSource frames(job.trace);
  int seen = 0;
  for (const Event& e : job.trace.events()) {
    if (e.type != EventType::RingStepBegin || e.ring.step > 1) continue;
    const Frame& frame = frames.frame_at(e.t);
    const CollectiveInfo& info = job.trace.collective(e.ring.coll);
    EXPECT_EQ(frame.collective.coll, e.ring.coll) << "at " << e.t;
    const Bucket& bucket = history.buckets()[static_cast<std::size_t>(info.seq - 1) % 3];
    EXPECT_EQ(info.count, bucket.count);
    const std::uint32_t brought = frame.ranks[static_cast<std::size_t>(e.src_id)].tensor_of(e.ring.coll);
    ASSERT_NE(brought, kNone);
    const Sample& sample = job.trace.sample(job.trace.events()[brought].tensor.sample);
    EXPECT_EQ(sample.count, bucket.count);
    const Scalar own = history.gradient(e.src_id, info.step)->at(bucket.offset);
    EXPECT_EQ(sample.values[0], make_scalar(DType::Float32, to_double(own) / 4)) << "times 1/4, exactly";
    ++seen;
  }
  EXPECT_GT(seen, 500);
}

}  // namespace
}  // namespace ringside::sim::test
