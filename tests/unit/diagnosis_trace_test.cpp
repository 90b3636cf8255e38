// Faults of the simulator, judged by what the trace shows: kind, culprits and confidence. Innocent ranks must
// never be accused.
#include "backend/trace_reader.hpp"
#include "job_helpers.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::sim::test {
namespace {

struct Row {
  const char* name;
  JobText job;
  std::vector<DiagnosisKind> kinds;  // any of these is right
  std::vector<int> culprits;         // empty: the trace cannot name a rank
};

JobText job(std::string faults, int steps = 6) {
  JobText text;
  text.steps = steps;
  text.faults = std::move(faults);
  text.watchdog = "20s";
  return text;
}

JobText with(JobText text, const std::function<void(JobText&)>& change) {
  change(text);
  return text;
}

std::vector<Row> rows() {
  using K = DiagnosisKind;
  const auto gloo = [](JobText& t) { t.library = "gloo", t.transport = "tcp"; };
  const auto mpi = [](JobText& t) { t.library = "mpi", t.transport = "shm", t.launcher = "mpirun"; };
  const auto detail = [](JobText& t) { t.debug = "detail"; };
  return {
      {"healthy", job(""), {K::None}, {}},
      {"healthy, one step", job("", 1), {K::None}, {}},
      {"nan", job(fault("kind=\"nan\";rank=1;step=3")), {K::Nan}, {1}},
      {"nan, raise",
       with(job(fault("kind=\"nan\";rank=2;step=3")), [](JobText& t) { t.on_nan = "raise"; }),
       {K::Nan},
       {2}},
      {"crash", job(fault("kind=\"crash\";rank=2;step=3")), {K::RankCrash}, {2}},
      {"crash over mpi", with(job(fault("kind=\"crash\";rank=0;step=3")), mpi), {K::RankCrash}, {0}},
      {"hang", job(fault("kind=\"hang\";rank=1;step=3")), {K::HangRankMissing}, {1}},
      {"hang over gloo", with(job(fault("kind=\"hang\";rank=3;step=2")), gloo), {K::HangRankMissing}, {3}},
      {"hang, no watchdog",
       with(job(fault("kind=\"hang\";rank=1;step=3")), [](JobText& t) { t.watchdog = "off"; }),
       {K::HangRankMissing},
       {1}},
      {"slow in every step", job(fault("kind=\"slow\";rank=2;step=2;factor=0.4")), {K::Straggler}, {2}},
      {"shape", job(fault("kind=\"shape\";rank=2;step=3;shape=[12]")), {K::ShapeMismatch}, {2}},
      {"shape, one step", job(fault("kind=\"shape\";rank=2;step=1;shape=[12]"), 1), {K::ShapeMismatch}, {2}},
      {"shape over gloo",
       with(job(fault("kind=\"shape\";rank=1;step=3;shape=[12]")), gloo),
       {K::ShapeMismatch},
       {1}},
      {"shape over mpi",
       with(job(fault("kind=\"shape\";rank=1;step=3;shape=[12]")), mpi),
       {K::ShapeMismatch},
       {1}},
      {"shape, detail",
       with(job(fault("kind=\"shape\";rank=0;step=3;shape=[12]")), detail),
       {K::ShapeMismatch},
       {0}},
      {"dtype", job(fault("kind=\"dtype\";rank=2;step=3;dtype=\"float16\"")), {K::DtypeMismatch}, {2}},
      {"dtype, one step",
       job(fault("kind=\"dtype\";rank=2;step=1;dtype=\"int32\""), 1),
       {K::DtypeMismatch},
       {2}},
      {"op", job(fault("kind=\"op\";rank=3;step=3;op=\"max\"")), {K::OpMismatch}, {3}},
      {"op, one step", job(fault("kind=\"op\";rank=3;step=1;op=\"max\""), 1), {K::OpMismatch}, {3}},
      {"skip_step", job(fault("kind=\"skip_step\";rank=3;step=3")), {K::SequenceMismatch}, {3}},
      {"extra_step", job(fault("kind=\"extra_step\";rank=1;step=3")), {K::SequenceMismatch}, {1}},
      {"early_exit", job(fault("kind=\"early_exit\";rank=1;step=3")), {K::RankExitEarly, K::UnevenData}, {1}},
      {"oom", job(fault("kind=\"oom\";rank=1;step=3")), {K::HostOom}, {1}},
      {"gpu_reset", job(fault("kind=\"gpu_reset\";rank=1;step=3")), {K::GpuHw}, {1}},
      {"pcie_power", job(fault("kind=\"pcie_power\";rank=1;step=3")), {K::PcieError, K::GpuHw}, {1}},
  };
}

TEST(DiagnosisOfTraces, NamesTheRankAndNoOther) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const Simulation result = run(row.job);
    const Diagnosis d = diagnose(result.trace);
    EXPECT_TRUE(std::find(row.kinds.begin(), row.kinds.end(), d.kind) != row.kinds.end())
        << to_word(d.kind) << ": " << d.first_cause.what;
    EXPECT_EQ(d.culprits, row.culprits) << to_word(d.kind) << ": " << d.first_cause.what;
    for (const int victim : d.victims)
      EXPECT_TRUE(std::find(d.culprits.begin(), d.culprits.end(), victim) == d.culprits.end());
    if (d.kind != DiagnosisKind::None) {
      EXPECT_FALSE(d.evidence.empty());
      EXPECT_FALSE(d.next_steps.empty());
    }
  }
}

TEST(DiagnosisOfTraces, NeverReadsCommands) {
  const Simulation result = run(job(fault("kind=\"crash\";rank=2;step=3")));
  std::string lines;
  append_header_json(lines, result.trace.header);
  std::size_t commands = 0;
  for (const Event& e : result.trace.events()) {
    if (e.type == EventType::Command) {
      ++commands;
      continue;
    }
    lines += '\n';
    append_event_json(lines, result.trace, e);
  }
  ASSERT_GT(commands, 0u);
  backend::TraceReader reader("without commands");
  ASSERT_TRUE(reader.feed(lines + "\n")) << reader.problem()->message();
  const Diagnosis with = diagnose(result.trace), without = diagnose(reader.trace());
  EXPECT_EQ(with.kind, without.kind);
  EXPECT_EQ(with.culprits, without.culprits);
  EXPECT_EQ(with.victims, without.victims);
  EXPECT_EQ(with.first_cause.what, without.first_cause.what);
}

TEST(DiagnosisOfTraces, TwoRanksThatDifferAreUndecided) {
  JobText two = job(fault("kind=\"shape\";rank=1;step=2;shape=[12]"));
  two.gpus_per_node = 2;
  const Diagnosis d = diagnose(run(two).trace);
  EXPECT_EQ(d.kind, DiagnosisKind::ShapeMismatch);
  EXPECT_EQ(d.confidence, Confidence::Unknown);
  EXPECT_TRUE(d.culprits.empty());
  EXPECT_EQ(d.alternatives.size(), 2u);
}

/// Live ranks tell of the ports of their hosts. A job that stops with both ends of a cable down has no guilty
/// rank, and a port that went down beside a job that went on is no failure.
TEST(DiagnosisOfTraces, PortsThatRanksTellOf) {
  const auto with_ports_down = [](const JobText& text) {
    Simulation result = run(text);
    for (const int rank : {0, 2}) {
      Event e;
      e.t = result.trace.end_time() / 2;
      e.set_source(Source::rank(rank));
      e.type = EventType::NicState;
      e.text = {result.trace.intern("eth1"), kNone, 0, 0};
      result.trace.emit(e);
    }
    return diagnose(result.trace);
  };
  const JobText cut = with(job(fault("kind=\"link_down\";from=1;to=2;step=3")),
                           [](JobText& t) { t.library = "gloo", t.transport = "tcp"; });
  const Diagnosis stopped = with_ports_down(cut);
  EXPECT_EQ(stopped.kind, DiagnosisKind::LinkDown) << to_word(stopped.kind) << ": " << stopped.first_cause.what;
  EXPECT_NE(stopped.first_cause.what.find("eth1"), std::string::npos) << stopped.first_cause.what;
  EXPECT_TRUE(stopped.culprits.empty());
  EXPECT_EQ(with_ports_down(job("")).kind, DiagnosisKind::None);
}

/// At no moment before the fault has struck is anything diagnosed: somebody always waits for somebody in a
/// healthy step. And at no moment an innocent rank is accused.
TEST(DiagnosisOfTraces, AtATimeKnowsOnlyWhatHadHappened) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const Simulation result = run(row.job);
    std::int64_t struck = INT64_MAX;
    for (const Event& e : result.trace.events())
      if (e.type == EventType::Command) struck = std::min(struck, e.t);
    std::int64_t last = -1;
    for (const std::uint32_t i : result.trace.order()) {
      const std::int64_t t = result.trace.events()[i].t;
      if (t == last || t == result.trace.end_time()) continue;
      last = t;
      const Diagnosis d = diagnose_at(result.trace, t);
      if (t < struck) {
        ASSERT_EQ(d.kind, DiagnosisKind::None) << t << " ns: " << d.first_cause.what;
      }
      for (const int culprit : d.culprits)
        ASSERT_TRUE(row.culprits.empty() ||
                    std::binary_search(row.culprits.begin(), row.culprits.end(), culprit))
            << t << " ns: " << d.first_cause.what;
      for (const Evidence& e : d.evidence) ASSERT_LE(e.t_ns.value_or(0), t) << "evidence from the future";
    }
    const Diagnosis end = diagnose_at(result.trace, result.trace.end_time()), whole = diagnose(result.trace);
    EXPECT_EQ(end.kind, whole.kind);
    EXPECT_EQ(end.culprits, whole.culprits);
  }
}

TEST(DiagnosisOfTraces, AHangIsOneOnlyAfterALongWait) {
  JobText text = job(fault("kind=\"hang\";rank=1;step=3"));
  text.watchdog = "600s";
  const Simulation result = run(text);
  std::int64_t waits_from = 0;
  for (const Event& e : events_of(result.trace, EventType::CollectiveEnqueued))
    waits_from = std::max(waits_from, e.t);
  EXPECT_EQ(diagnose_at(result.trace, waits_from + 15'000'000'000).kind, DiagnosisKind::None);
  const Diagnosis d = diagnose_at(result.trace, waits_from + 25'000'000'000);
  EXPECT_EQ(d.kind, DiagnosisKind::HangRankMissing);
  EXPECT_EQ(d.culprits, std::vector<int>{1});
}

}  // namespace
}  // namespace ringside::sim::test
