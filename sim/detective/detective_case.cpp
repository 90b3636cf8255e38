// Cases: what a seed chooses, and that every case stops and can be solved.
#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "sim/detective/detective.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000'000'000;
constexpr int kNodes = 64, kGpus = 8, kSteps = 12;

/// What may happen, and what the player should call it.
struct CaseKind {
  FaultKind fault;
  DiagnosisKind answer;
};
constexpr CaseKind kCases[] = {
    {FaultKind::Nan, DiagnosisKind::Nan},
    {FaultKind::Crash, DiagnosisKind::RankCrash},
    {FaultKind::Hang, DiagnosisKind::HangRankMissing},
    {FaultKind::Oom, DiagnosisKind::HostOom},
    {FaultKind::GpuReset, DiagnosisKind::GpuHw},
    {FaultKind::PciePower, DiagnosisKind::PcieError},
    {FaultKind::Shape, DiagnosisKind::ShapeMismatch},
    {FaultKind::SkipStep, DiagnosisKind::SequenceMismatch},
    {FaultKind::EarlyExit, DiagnosisKind::RankExitEarly},
};

/// 64 nodes with real numbers: a tree moves so few chunks that a case is made in a moment.
Scenario quiet_job(std::uint64_t seed) {
  Scenario job;
  job.seed = seed;
  job.cluster.nodes = kNodes;
  job.cluster.gpus_per_node = kGpus;
  job.cluster.topology.world_size = kNodes * kGpus;
  job.cluster.topology.gpus_per_node = kGpus;
  job.tensor.shape = Shape{{8}};
  job.training.steps = kSteps;
  job.training.forward_ns = 300 * kMs;
  job.training.backward_ns = 600 * kMs;
  job.training.optimizer_ns = 50 * kMs;
  job.training.jitter_ppm = 20'000;
  job.training.on_nan = OnNan::Raise;
  job.training.checkpoint_steps = 5;
  job.training.checkpoint_ns = kSecond;
  job.collective.algorithm = Algorithm::BinomialTree;
  job.stack.transport = Transport::Ib;
  job.stack.launcher = Launcher::Srun;
  return job;
}

Fault drawn_fault(std::uint64_t seed, std::uint64_t attempt) {
  const DrawKey key{seed, attempt, 0, Purpose::Detective};
  Fault fault;
  fault.kind = kCases[draw_below(key, 0, std::size(kCases))].fault;
  fault.rank = static_cast<std::int32_t>(draw_below(key, 1, kNodes * kGpus));
  fault.step = 2 + draw_below(key, 2, kSteps - 3);
  fault.element = draw_below(key, 3, 8);
  fault.shape = Shape{{24}};
  if (fault.kind != FaultKind::Shape) fault.shape.reset();
  return fault;
}

std::int64_t strike_time(const Trace& trace) {
  for (const Event& e : trace.events())
    if (e.type == EventType::Command) return e.t;
  return 0;
}

/// When rank by rank the last step was finished, for the last time on any.
std::int64_t last_progress(const Trace& trace) {
  std::int64_t t = 0;
  for (const Event& e : trace.events())
    if (e.type == EventType::CollectiveFinished) t = std::max(t, e.t);
  return t;
}

bool solvable(const DetectiveCase& game) {
  if (game.run->outcome == Outcome::Completed || game.run->outcome == Outcome::WrongResult) return false;
  const Fault& fault = game.job.faults.front();
  const Diagnosis d = diagnose(game.run->trace);
  const auto answer = std::find_if(std::begin(kCases), std::end(kCases), [&](const CaseKind& one) {
                        return one.fault == fault.kind;
                      })->answer;
  return d.kind == answer && d.culprits == std::vector<int>{fault.rank};
}

}  // namespace

const std::vector<DiagnosisKind>& detective_kinds() {
  static const std::vector<DiagnosisKind> kKinds = [] {
    std::vector<DiagnosisKind> kinds;
    for (const CaseKind& one : kCases) kinds.push_back(one.answer);
    return kinds;
  }();
  return kKinds;
}

DetectiveCase make_detective_case(std::uint64_t seed) {
  constexpr std::uint64_t kMostAttempts = 100;
  for (std::uint64_t attempt = 0; attempt < kMostAttempts; ++attempt) {
    DetectiveCase game;
    game.seed = seed;
    game.job = quiet_job(seed);
    game.job.faults.push_back(drawn_fault(seed, attempt));
    game.run = std::make_shared<const Simulation>(simulate(game.job));
    game.struck_ns = strike_time(game.run->trace);
    game.called_ns = std::max(game.struck_ns, last_progress(game.run->trace)) + kAlarmNs;
    if (solvable(game)) return game;
  }
  RINGSIDE_CHECK(false);  // a kind that is never solvable does not belong into the table
  return {};
}

}  // namespace ringside::sim
