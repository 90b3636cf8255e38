// Random jobs with one or two random faults: whatever happens, no rank is accused that no fault struck, and
// the same job has the same verdict.
#include "diagnosis_labels.hpp"
#include "sim/base/random.hpp"
#include "sim/scenario/fault_rules.hpp"

namespace ringside::sim::test {
namespace {

/// Draws from one stream, in order.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : key_{seed, 0, 0, Purpose::Fault} {}
  int below(int n) { return static_cast<int>(draw_below(key_, next_++, static_cast<std::uint32_t>(n))); }
  template <class T, std::size_t N>
  T one_of(const T (&list)[N]) {
    return list[below(static_cast<int>(N))];
  }

 private:
  DrawKey key_;
  std::uint64_t next_ = 0;
};

JobText random_job(Dice& dice) {
  JobText text;
  text.nodes = 1 + dice.below(3);
  text.gpus_per_node = 1 + dice.below(4);
  if (text.nodes * text.gpus_per_node == 1) text.gpus_per_node = 3;
  text.steps = 2 + dice.below(6);
  text.buckets = 1 + dice.below(2);
  text.shape = dice.one_of({"[8]", "[16]", "[100]", "[20000]"});
  text.values = dice.one_of({"\"index\"", "{ random = \"normal\" }", "\"none\""});
  text.op = dice.one_of({"avg", "sum", "max", "sum_then_divide"});
  text.chunking = dice.one_of({"even", "nccl"});
  text.library = dice.one_of({"nccl", "nccl", "gloo", "mpi"});
  text.transport =
      text.library == "nccl" ? dice.one_of({"nvlink", "ib", "tcp", "shm"}) : dice.one_of({"tcp", "shm"});
  if (text.library == "gloo") text.transport = "tcp";
  text.launcher = text.library == "mpi" ? dice.one_of({"mpirun", "mpirun --enable-recovery"})
                                        : dice.one_of({"torchrun", "srun", "srun --kill-on-bad-exit"});
  text.watchdog = dice.one_of({"10s", "60s"});
  text.debug = text.library == "mpi" ? "off" : dice.one_of({"off", "off", "detail"});
  text.on_nan = dice.one_of({"continue", "raise", "skip-here", "skip-all"});
  if (dice.below(4) == 0 && text.values != "\"none\"") {
    text.op = "avg";  // with a sum the little network diverges all by itself
    text.more_training = "loss = \"1ms\"\n[training.network]\nenabled = true\nlayers = [2, 4, 1]";
  }
  return text;
}

Fault random_fault(Dice& dice, const Scenario& job) {
  Fault fault;
  fault.kind = static_cast<FaultKind>(dice.below(kFaultKindCount));
  const int world = job.world_size();
  const bool link = fault.kind == FaultKind::LinkDown || fault.kind == FaultKind::LinkSlow ||
                    fault.kind == FaultKind::LinkFlap;
  const int rank = dice.below(world);
  if (link) {
    fault.from = rank;
    fault.to = (rank + 1) % world;
  } else {
    fault.rank = rank;
  }
  fault.step = 1 + dice.below(static_cast<int>(job.training.steps));
  fault.at = dice.one_of({Phase::Forward, Phase::Backward, Phase::AllReduce, Phase::Optimizer});
  if (dice.below(3) == 0) fault.at_ns = std::int64_t{dice.below(1'000)} * 1'000'003;
  fault.duration_ns = dice.one_of({std::int64_t{200'000'000}, std::int64_t{5'000'000'000}});
  fault.factor_ppm = fault.kind == FaultKind::Slow && dice.below(2) == 0 ? 0 : 100'000 + dice.below(500'000);
  if (fault.kind == FaultKind::Slow && fault.factor_ppm != 0) fault.duration_ns = 0;
  fault.element = dice.below(static_cast<int>(std::min<std::int64_t>(8, job.tensor.shape.count())));
  fault.bit = dice.below(31);
  fault.shape = Shape{{job.tensor.shape.count() + 1 + dice.below(40)}};
  fault.dtype = dice.one_of({DType::Float16, DType::Float64, DType::Int32});
  fault.op = job.collective.op == ReduceOp::Max ? ReduceOp::Sum : ReduceOp::Max;
  return fault;
}

/// Whether something in the job may accuse a rank rightly.
std::set<int> guilty_of(const Scenario& job) {
  std::set<int> guilty;
  for (const Fault& fault : job.faults)
    for (const int r : struck(fault, job)) guilty.insert(r);
  return guilty;
}

class RandomFaults : public testing::TestWithParam<int> {};

TEST_P(RandomFaults, NeverAccuseAnInnocentRank) {
  constexpr int kJobs = 60;
  for (int i = 0; i < kJobs; ++i) {
    const int number = GetParam() * kJobs + i;
    Dice dice(static_cast<std::uint64_t>(number) + 1);
    const JobText text = random_job(dice);
    Scenario job = scenario_of(text);
    job.seed = static_cast<std::uint64_t>(number);
    // Two that did it are a majority of three: no vote finds them.
    const int faults = job.world_size() >= 5 ? 1 + dice.below(2) : 1;
    for (int n = 0; n < faults; ++n) job.faults.push_back(random_fault(dice, job));
    std::string name = "job " + std::to_string(number) + "\n" + to_toml(job);
    SCOPED_TRACE(name);
    const Simulation result = simulate(job);
    const Diagnosis d = diagnose(result.trace);
    expect_nobody_innocent_accused(d, guilty_of(job), job.cluster.gpus_per_node);
    for (int part = 1; part <= 3; ++part) {  // nor on the way there
      const std::int64_t t = result.trace.end_time() / 4 * part + dice.below(1'000'000'000);
      SCOPED_TRACE("at " + std::to_string(t));
      expect_nobody_innocent_accused(diagnose_at(result.trace, t), guilty_of(job), job.cluster.gpus_per_node);
    }
    if (HasFailure()) return;  // one is enough to look at
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFaults, testing::Range(0, 20));

TEST(RandomFaults, AHealthyJobIsHealthyWhateverItsShape) {
  for (int i = 0; i < 60; ++i) {
    Dice dice(static_cast<std::uint64_t>(i) + 10'000);
    const JobText text = random_job(dice);
    Scenario job = scenario_of(text);
    job.seed = static_cast<std::uint64_t>(i);
    const Diagnosis d = diagnose(simulate(job).trace);
    EXPECT_EQ(to_word(d.kind), "none") << describe(d) << "\n" << to_toml(job);
  }
}

}  // namespace
}  // namespace ringside::sim::test
