#include "sim/job/groups.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/random.hpp"
#include "sim/collective/executor.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kIbGiveUpNs = 4'096 * (std::int64_t{1} << 20) * 7;  // NCCL_IB_TIMEOUT 20, 7 retries
/// A job that fails more often than it gets from checkpoint to checkpoint never ends: it is stopped and says
/// so.
constexpr int kMaxRestarts = 10'000;

/// How a fault shows at this distance.
enum class Effect : std::uint8_t { Nothing, Dies, Stops, Slows, LinkDown, LinkSlows };

Effect effect_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::Crash:
    case FaultKind::GpuReset:
    case FaultKind::Oom:
      return Effect::Dies;
    case FaultKind::Hang:
    case FaultKind::PciePower:
    case FaultKind::SkipStep:
    case FaultKind::ExtraStep:
    case FaultKind::EarlyExit:
    case FaultKind::WrongOrder:
      return Effect::Stops;
    case FaultKind::Slow:
      return Effect::Slows;
    case FaultKind::LinkDown:
    case FaultKind::LinkFlap:
    case FaultKind::IbFlap:
      return Effect::LinkDown;
    case FaultKind::LinkSlow:
      return Effect::LinkSlows;
    default:
      return Effect::Nothing;
  }
}

struct Failure {
  std::int64_t t = 0;
  std::int32_t node = 0;
  Effect effect = Effect::Dies;
  std::int64_t lasts = 0;  // a link that comes back; 0 = for good
  bool random = false;
};

class GroupJob {
 public:
  GroupJob(const Scenario& scenario, const std::vector<Command>& commands) : s_(scenario) {
    out_.trace.header.source = "simulator";
    out_.trace.header.world_size = s_.world_size();
    out_.trace.header.gpus_per_node = s_.cluster.gpus_per_node;
    out_.trace.header.title = s_.title;
    out_.trace.header.seed = s_.seed;
    out_.trace.header.detail = Detail::Groups;
    out_.trace.header.scenario_toml = to_toml(s_);
    comm_ = out_.trace.intern("world");
    for (const Fault& fault : s_.faults) faults_.push_back({fault, false});
    for (const Command& command : commands) {
      faults_.push_back({command.fault, false});
      faults_.back().fault.at_ns = command.t;
    }
    speed_ppm_.assign(static_cast<std::size_t>(s_.cluster.nodes), 1'000'000);
    extra_ns_.assign(speed_ppm_.size(), 0);
    topology_ = s_.cluster.topology;
    measure_collective();
  }

  std::optional<Simulation> run(const SimulationWatch& watch = {}) {
    while (step_ < s_.training.steps && !over_) {
      if (watch && !watch({step_, s_.training.steps, now_, static_cast<std::int64_t>(out_.trace.size())}))
        return std::nullopt;
      one_step();
    }
    out_.time_ns = now_;
    return std::move(out_);
  }

 private:
  struct Waiting {
    Fault fault;
    bool struck;
  };

  void emit(Source source, EventType type, std::int64_t t, Event e = {}) {
    e.t = t;
    e.type = type;
    e.set_source(source);
    out_.trace.emit(e);
  }
  void phase(EventType type, Phase which, std::int64_t t) {
    Event e;
    e.phase = {step_, which, 0, 0, 0.0, 0.0};
    emit({Source::Kind::Sim, 0}, type, t, e);
  }
  void whole_phase(Phase which, std::int64_t from, std::int64_t to) {
    if (from == to) return;
    phase(EventType::PhaseBegin, which, from);
    phase(EventType::PhaseEnd, which, to);
  }
  void node_state(std::int32_t node, std::string_view state, std::int64_t t) {
    Event e;
    e.text = {out_.trace.intern(state), kNone, 0, 0};
    emit(Source::node(node), EventType::NodeState, t, e);
  }
  void launcher_says(std::string_view text, std::int64_t t) {
    Event e;
    e.text = {out_.trace.intern(text), out_.trace.intern("stderr"), 0, 0};
    emit({Source::Kind::Launcher, 0}, EventType::LogLine, t, e);
  }

  std::int32_t node_of(const Fault& fault) const {
    if (fault.node >= 0) return fault.node;
    return std::max(0, std::max(fault.rank, fault.from)) / s_.cluster.gpus_per_node;
  }

  void measure_collective() {
    const std::vector<std::int64_t> arrival(static_cast<std::size_t>(s_.world_size()), 0);
    const auto finish =
        finish_times(s_.schedule_request(), topology_, arrival, s_.collective.reduce_ns).finish;
    collective_ns_ = *std::max_element(finish.begin(), finish.end());
  }

  /// The slowest node and how long it computes.
  std::pair<std::int64_t, std::int32_t> slowest_node() const {
    const std::int64_t base = s_.training.forward_ns + s_.training.loss_ns + s_.training.backward_ns;
    std::pair<std::int64_t, std::int32_t> slowest{0, 0};
    for (std::int32_t node = 0; node < s_.cluster.nodes; ++node) {
      const auto at = static_cast<std::size_t>(node);
      const DrawKey key{s_.seed, static_cast<std::uint64_t>(node), attempt_, Purpose::Jitter};
      const std::int64_t ppm = draw_jitter_ppm(key, 0, s_.training.jitter_ppm);
      const __int128 ns = static_cast<__int128>(base) * ppm / speed_ppm_[at];
      slowest = std::max(slowest, {static_cast<std::int64_t>(ns) + extra_ns_[at], node});
    }
    return slowest;
  }

  /// The first node that fails at random within this attempt of a step.
  std::optional<Failure> random_failure(std::int64_t duration) const {
    const std::int64_t rate = s_.failures.per_million_node_days;
    if (rate == 0) return std::nullopt;
    constexpr __int128 kNsPerMillionDays = static_cast<__int128>(86'400) * 1'000'000'000 * 1'000'000;
    const __int128 scaled = (static_cast<__int128>(duration) * rate << 40) / kNsPerMillionDays;
    const auto threshold = static_cast<std::uint64_t>(std::min<__int128>(scaled, (__int128{1} << 40) - 1))
                           << 24;
    std::optional<Failure> first;
    for (std::int32_t node = 0; node < s_.cluster.nodes; ++node) {
      const DrawKey key{s_.seed, static_cast<std::uint64_t>(node), attempt_, Purpose::Fault};
      if (draw_u64(key, 0) >= threshold) continue;
      const __int128 part = static_cast<__int128>(draw_u64(key, 1) >> 32) * duration >> 32;
      const std::int64_t t = now_ + static_cast<std::int64_t>(part);
      if (!first || t < first->t) first = Failure{t, node, Effect::Dies, 0, true};
    }
    return first;
  }

  /// Given faults that strike within this step; slow ones change what comes, the first that stops all is
  /// returned.
  std::optional<Failure> given_failure(std::int64_t duration) {
    std::optional<Failure> first;
    for (Waiting& waiting : faults_) {
      const Fault& fault = waiting.fault;
      const bool in_step = fault.at_ns ? *fault.at_ns < now_ + duration : fault.step == step_;
      if (waiting.struck || !in_step) continue;
      const Effect effect = effect_of(fault.kind);
      const std::int64_t t = std::max(now_, fault.at_ns.value_or(now_ + duration / 2));
      if (effect == Effect::Slows || effect == Effect::LinkSlows || effect == Effect::Nothing) {
        announce(waiting, now_);
        apply_slow(fault, effect);
      } else if (!first || t < first->t) {
        first = Failure{t, node_of(fault), effect, fault.duration_ns, false};
        next_struck_ = &waiting;
      }
    }
    return first;
  }

  void announce(Waiting& waiting, std::int64_t t) {
    waiting.struck = true;
    Event e;
    e.command = {out_.trace.add_command(waiting.fault)};
    emit({Source::Kind::Sim, 0}, EventType::Command, t, e);
  }

  void apply_slow(const Fault& fault, Effect effect) {
    const auto node = static_cast<std::size_t>(node_of(fault));
    if (effect == Effect::Slows) {
      if (fault.factor_ppm > 0) speed_ppm_[node] = fault.factor_ppm;
      extra_ns_[node] += fault.duration_ns;
    }
    if (effect != Effect::LinkSlows) return;
    LinkOverride slow{fault.from, fault.to, topology_.link(fault.from, fault.to)};
    const auto rate = static_cast<__int128>(slow.spec.bytes_per_s) * fault.factor_ppm / 1'000'000;
    slow.spec.bytes_per_s = std::max<std::int64_t>(1, static_cast<std::int64_t>(rate));
    std::erase_if(topology_.overrides,
                  [&](const LinkOverride& o) { return o.from == slow.from && o.to == slow.to; });
    topology_.overrides.push_back(slow);
    std::stable_sort(topology_.overrides.begin(), topology_.overrides.end(),
                     [](const LinkOverride& a, const LinkOverride& b) {
                       return std::pair(a.from, a.to) < std::pair(b.from, b.to);
                     });
    measure_collective();
  }

  /// How long until the others know: by launcher, transport, or watchdog. Nothing = never.
  std::optional<std::int64_t> notice_after(const Failure& failure) const {
    const std::int64_t watchdog = s_.stack.watchdog_ns;
    std::optional<std::int64_t> after;
    if (watchdog > 0) after = watchdog + 100 * kMs;
    if (failure.effect == Effect::Stops) return after;
    const Launcher launcher = s_.stack.launcher;
    std::int64_t sooner = kIbGiveUpNs;
    if (failure.effect == Effect::Dies &&
        (launcher == Launcher::Mpirun || launcher == Launcher::SrunKillOnBadExit))
      sooner = 10 * kMs;
    else if (failure.effect == Effect::Dies && s_.stack.transport == Transport::Tcp)
      sooner = 101 * kMs;
    return after ? std::min(*after, sooner) : sooner;
  }

  void one_step() {
    ++step_;
    ++attempt_;
    const auto [compute, node] = slowest_node();
    const bool saves = s_.training.checkpoint_steps > 0 && step_ % s_.training.checkpoint_steps == 0;
    const std::int64_t checkpoint = saves ? s_.training.checkpoint_ns : 0;
    const std::int64_t duration = compute + collective_ns_ + s_.training.optimizer_ns + checkpoint;
    std::optional<Failure> failure = given_failure(duration);
    const std::optional<Failure> random = random_failure(duration);
    const bool given = failure && !(random && random->t < failure->t);
    if (random && !given) failure = random;
    if (failure) {
      if (given) announce(*next_struck_, failure->t);
      return fail(*failure);
    }
    const std::int64_t called = now_ + compute, reduced = called + collective_ns_;
    const std::int64_t updated = reduced + s_.training.optimizer_ns;
    whole_phase(Phase::Backward, now_, called);
    if (s_.training.jitter_ppm > 0) node_state(node, "slowest", called);
    collective(called, reduced);
    whole_phase(Phase::Optimizer, reduced, updated);
    whole_phase(Phase::Checkpoint, updated, updated + checkpoint);
    now_ += duration;
    if (saves) saved_ = step_;
  }

  void collective(std::int64_t called, std::int64_t over) {
    CollectiveInfo info;
    info.comm = comm_;
    info.seq = ++seq_;
    info.step = step_;
    info.collective = s_.collective.collective;
    info.op = s_.collective.op;
    info.dtype = s_.tensor.dtype;
    info.algorithm = s_.collective.algorithm;
    info.order = s_.collective.order;
    info.chunking = s_.collective.chunking;
    info.count = s_.tensor.shape.count();
    info.shape = out_.trace.add_shape(s_.tensor.shape);
    info.channels = static_cast<std::uint16_t>(s_.collective.channels);
    info.world_size = s_.world_size();
    CollectiveOutcome outcome;
    outcome.coll = out_.trace.add_collective(info);
    outcome.enqueued_ns = called;
    outcome.finished_ns = over;
    out_.collectives.push_back(outcome);
    whole_phase(Phase::AllReduce, called, over);
  }

  void fail(const Failure& failure) {
    node_state(failure.node, "down", failure.t);
    if (failure.effect == Effect::LinkDown && failure.lasts > 0 && failure.lasts < kIbGiveUpNs) {
      now_ = failure.t + failure.lasts;  // it comes back before anybody gives up: the step begins again
      node_state(failure.node, "up", now_);
      --step_;
      return;
    }
    const auto notice = notice_after(failure);
    if (!notice) {
      now_ = failure.t;
      out_.outcome = Outcome::Hang;
      over_ = true;
      return;
    }
    now_ = failure.t + *notice;
    if (failure.effect == Effect::Dies)
      launcher_says("srun: error: Node failure on " + Scenario::node_name(failure.node), now_);
    const bool restarts =
        failure.random && s_.failures.after == AfterFailure::Restart && ++restarts_ <= kMaxRestarts;
    if (restarts) return restart(failure.node);
    out_.outcome = failure.effect == Effect::Stops ? Outcome::Timeout : Outcome::Error;
    if (restarts_ > kMaxRestarts)
      launcher_says(
          "the job was restarted " + std::to_string(kMaxRestarts) + " times without coming to its end", now_);
    over_ = true;
  }

  void restart(std::int32_t node) {
    const std::int64_t from = now_;
    now_ += s_.training.restart_ns;
    whole_phase(Phase::Restart, from, now_);
    node_state(node, "up", now_);
    step_ = saved_;
  }

  const Scenario& s_;
  Simulation out_;
  Topology topology_;
  std::uint32_t comm_ = 0;
  std::vector<Waiting> faults_;
  Waiting* next_struck_ = nullptr;
  std::vector<std::int64_t> speed_ppm_, extra_ns_;
  std::int64_t collective_ns_ = 0;
  std::int64_t now_ = 0, seq_ = 0;
  std::int32_t step_ = 0, saved_ = 0;
  std::uint64_t attempt_ = 0;  // steps begun, repetitions included: draws never repeat
  int restarts_ = 0;
  bool over_ = false;
};

}  // namespace

Simulation simulate_groups(const Scenario& scenario, const std::vector<Command>& commands) {
  return *GroupJob(scenario, commands).run();
}

std::optional<Simulation> simulate_groups_watched(const Scenario& scenario,
                                                  const std::vector<Command>& commands,
                                                  const SimulationWatch& watch) {
  return GroupJob(scenario, commands).run(watch);
}

}  // namespace ringside::sim
