// The logs of a simulated job, one file per source, are read by the same diagnosis as real ones.
#include <algorithm>
#include <iterator>
#include <map>

#include "backend/import/diagnose.hpp"
#include "diagnosis_labels.hpp"
#include "job_helpers.hpp"

namespace ringside::sim::test {
namespace {

std::string file_of(const Event& e) {
  if (e.src_kind == Source::Kind::Rank) return "rank" + std::to_string(e.src_id) + ".log";
  if (e.src_kind == Source::Kind::Node) return "n" + std::to_string(e.src_id) + "-dmesg.txt";
  return "launcher.log";
}

backend::Incident read_back(const Trace& trace) {
  std::map<std::string, std::string> texts;
  for (const Event& e : events_of(trace, EventType::LogLine))
    texts[file_of(e)] += trace.string(e.text.text) + "\n";
  std::vector<backend::NamedText> files;
  for (const auto& [name, text] : texts) files.push_back({name, text});
  return backend::diagnose_texts(files);
}

struct LogCase {
  const char* name;
  const char* fault;
  DiagnosisKind kind;
  std::vector<int> culprits;
  int nodes = 1, gpus_per_node = 4;
  const char* transport = "nvlink";
  const char* launcher = "torchrun";
  const char* library = "nccl";
  const char* debug = "off";
  const char* on_nan = "continue";
  DiagnosisKind also = DiagnosisKind::Unknown;  // what a careful reader of the lines could say as well
};

class ReadBack : public ::testing::TestWithParam<LogCase> {};

TEST_P(ReadBack, NamesTheRightOne) {
  const LogCase& p = GetParam();
  JobText job;
  job.steps = 6;
  job.nodes = p.nodes;
  job.gpus_per_node = p.gpus_per_node;
  job.transport = p.transport;
  job.launcher = p.launcher;
  job.library = p.library;
  job.debug = p.debug;
  job.on_nan = p.on_nan;
  job.faults = fault(std::string("step=3;") + p.fault);
  const backend::Incident incident = read_back(run(job).trace);
  const DiagnosisKind kind = incident.diagnosis.kind;
  const bool right = kind == p.kind || (kind == p.also && kind != DiagnosisKind::Unknown);
  EXPECT_TRUE(right) << to_word(kind) << ": " << incident.diagnosis.first_cause.what;
  EXPECT_EQ(incident.diagnosis.culprits, p.culprits);
}

using K = DiagnosisKind;
INSTANTIATE_TEST_SUITE_P(
    Faults, ReadBack,
    ::testing::Values(
        LogCase{"crash", "kind=\"crash\";rank=2", K::RankCrash, {2}},
        LogCase{"crash_tcp", "kind=\"crash\";rank=2", K::RankCrash, {2}, 4, 1, "tcp"},
        LogCase{"crash_ib", "kind=\"crash\";rank=2", K::RankCrash, {2}, 4, 1, "ib"},
        LogCase{"crash_srun", "kind=\"crash\";rank=2", K::RankCrash, {2}, 2, 2, "ib", "srun"},
        LogCase{"crash_mpi", "kind=\"crash\";rank=2", K::RankCrash, {2}, 1, 4, "shm", "mpirun", "mpi"},
        LogCase{"crash_gloo", "kind=\"crash\";rank=2", K::RankCrash, {2}, 1, 4, "tcp", "torchrun", "gloo"},
        LogCase{"hang", "kind=\"hang\";rank=1", K::HangRankMissing, {1}},
        LogCase{
            "nan", "kind=\"nan\";rank=1", K::Nan, {1}, 1, 4, "nvlink", "torchrun", "nccl", "off", "raise"},
        LogCase{"shape",
                "kind=\"shape\";rank=2;shape=[16]",
                K::ShapeMismatch,
                {2},
                1,
                4,
                "nvlink",
                "torchrun",
                "nccl",
                "detail"},
        LogCase{"dtype",
                "kind=\"dtype\";rank=2;dtype=\"float64\"",
                K::DtypeMismatch,
                {2},
                1,
                4,
                "nvlink",
                "torchrun",
                "nccl",
                "detail"},
        LogCase{"order",
                "kind=\"wrong_order\";rank=3",
                K::CollectiveOrder,
                {3},
                1,
                4,
                "nvlink",
                "torchrun",
                "nccl",
                "detail"},
        LogCase{"shape_mpi",
                "kind=\"shape\";rank=2;shape=[16]",
                K::ShapeMismatch,
                {},
                1,
                4,
                "shm",
                "mpirun",
                "mpi"},
        LogCase{"skip",
                "kind=\"skip_step\";rank=3",
                K::SequenceMismatch,
                {3},
                1,
                4,
                "nvlink",
                "torchrun",
                "nccl",
                "off",
                "continue",
                K::RankExitEarly},
        LogCase{"early", "kind=\"early_exit\";rank=3", K::RankExitEarly, {3}, 4, 1, "tcp"},
        LogCase{"gpu", "kind=\"gpu_reset\";rank=2", K::GpuHw, {2}, 2, 2, "ib"},
        LogCase{"oom", "kind=\"oom\";rank=1", K::HostOom, {1}, 2, 2, "ib", "srun"},
        LogCase{"port", "kind=\"ib_flap\";node=1;duration=\"60s\"", K::IbError, {}, 2, 2, "ib"},
        LogCase{"nvlink", "kind=\"link_down\";from=1;to=2", K::NvlinkHw, {1}}),
    [](const auto& one) { return std::string(one.param.name); });

/// What the log of a fault can tell.
enum class Tells : std::uint8_t {
  Rank,     // the ranks that it struck, and a kind that it may lead to
  Node,     // their node and such a kind
  Kind,     // such a kind, but not who: the reporter is the receiver
  Waiting,  // that ranks wait, not for whom or why: nobody may be named
  Nothing,  // it holds no line about it: numbers are wrong, or the job is slow, and nobody says so
};

struct EveryFault {
  FaultKind kind;
  const char* fields;
  Tells nccl, nccl_detail, gloo, gloo_detail, mpi;
};
using T = Tells;
// Sizes of both buckets are equal, so that a wrong order, a left-out call or another operation only gives
// wrong numbers.
const EveryFault kEveryFault[] = {
    {FaultKind::Nan, "rank=2", T::Nothing, T::Nothing, T::Nothing, T::Nothing, T::Nothing},
    {FaultKind::InfOverflow, "rank=2", T::Nothing, T::Nothing, T::Nothing, T::Nothing, T::Nothing},
    {FaultKind::Crash, "rank=2", T::Rank, T::Rank, T::Rank, T::Rank, T::Rank},
    {FaultKind::Hang, "rank=2", T::Rank, T::Rank, T::Rank, T::Rank, T::Rank},
    {FaultKind::Slow, "rank=2;factor=0.2", T::Nothing, T::Nothing, T::Nothing, T::Nothing, T::Nothing},
    {FaultKind::Shape, "rank=2;shape=[16]", T::Nothing, T::Rank, T::Kind, T::Rank, T::Kind},
    {FaultKind::DType, "rank=2;dtype=\"float64\"", T::Nothing, T::Rank, T::Waiting, T::Rank, T::Waiting},
    {FaultKind::Op, "rank=2;op=\"max\"", T::Nothing, T::Nothing, T::Nothing, T::Nothing, T::Nothing},
    {FaultKind::SkipStep, "rank=2", T::Rank, T::Rank, T::Rank, T::Rank, T::Rank},
    {FaultKind::SkipCollective, "rank=2", T::Nothing, T::Nothing, T::Nothing, T::Nothing, T::Nothing},
    {FaultKind::ExtraStep, "rank=2", T::Waiting, T::Waiting, T::Waiting, T::Waiting, T::Waiting},
    {FaultKind::EarlyExit, "rank=2", T::Rank, T::Rank, T::Rank, T::Rank, T::Rank},
    {FaultKind::WrongOrder, "rank=2", T::Nothing, T::Nothing, T::Nothing, T::Nothing, T::Nothing},
    {FaultKind::BitFlip, "rank=2;bit=30", T::Nothing, T::Nothing, T::Nothing, T::Nothing, T::Nothing},
    {FaultKind::LinkDown, "from=1;to=2", T::Waiting, T::Waiting, T::Waiting, T::Waiting, T::Waiting},
    {FaultKind::LinkSlow, "from=1;to=2;factor=0.01", T::Nothing, T::Nothing, T::Nothing, T::Nothing,
     T::Nothing},
    {FaultKind::LinkFlap, "from=1;to=2;duration=\"2s\"", T::Nothing, T::Nothing, T::Nothing, T::Nothing,
     T::Nothing},
    {FaultKind::GpuReset, "rank=2", T::Rank, T::Rank, T::Rank, T::Rank, T::Node},
    {FaultKind::PciePower, "rank=2", T::Node, T::Node, T::Node, T::Node, T::Node},
    {FaultKind::IbFlap, "node=1;duration=\"60s\"", T::Node, T::Node, T::Waiting, T::Waiting, T::Waiting},
    {FaultKind::Oom, "rank=2", T::Rank, T::Rank, T::Rank, T::Rank, T::Rank},
};

void expect_told(const Diagnosis& d, const Scenario& job, Tells tells) {
  const Fault& fault = job.faults.front();
  const std::set<int> guilty = struck(fault, job);
  expect_nobody_innocent_accused(d, guilty, job.cluster.gpus_per_node);
  const auto& kinds = may_lead_to(fault.kind);
  const bool fits = std::find(kinds.begin(), kinds.end(), d.kind) != kinds.end();
  const std::string node = Scenario::node_name(*guilty.begin() / job.cluster.gpus_per_node);
  switch (tells) {
    case Tells::Rank:
      EXPECT_EQ(d.culprits, std::vector<int>(guilty.begin(), guilty.end())) << describe(d);
      EXPECT_TRUE(fits) << describe(d);
      break;
    case Tells::Node:
      EXPECT_EQ(d.culprit_nodes, std::vector<std::string>{node}) << describe(d);
      EXPECT_TRUE(fits) << describe(d);
      break;
    case Tells::Kind:
      EXPECT_TRUE(fits && d.confidence == Confidence::Unknown) << describe(d);
      break;
    case Tells::Waiting:
      EXPECT_TRUE(d.kind != DiagnosisKind::None && d.confidence == Confidence::Unknown) << describe(d);
      break;
    case Tells::Nothing:
      EXPECT_EQ(d.kind, DiagnosisKind::None) << describe(d);
      break;
  }
}

TEST(JobLogs, EveryFaultWithEveryLibrary) {
  ASSERT_EQ(std::size(kEveryFault), static_cast<std::size_t>(kFaultKindCount));
  const auto check = [](const EveryFault& one, const char* library, const char* debug, Tells tells) {
    SCOPED_TRACE(std::string(to_word(one.kind)) + " " + library + " debug=" + debug);
    const bool mpi = std::string_view(library) == "mpi";
    JobText job;
    job.steps = 6;
    job.nodes = 2;
    job.gpus_per_node = 2;
    job.buckets = 2;
    job.library = library;
    job.debug = debug;
    job.transport = std::string_view(library) == "nccl" ? "ib" : "tcp";
    job.launcher = mpi ? "mpirun" : "torchrun";
    job.watchdog = "10s";
    job.faults = fault("kind=\"" + std::string(to_word(one.kind)) + "\";step=3;" + one.fields);
    expect_told(read_back(run(job).trace).diagnosis, scenario_of(job), tells);
  };
  for (const EveryFault& one : kEveryFault) {
    check(one, "nccl", "off", one.nccl);
    check(one, "nccl", "detail", one.nccl_detail);
    check(one, "gloo", "off", one.gloo);
    check(one, "gloo", "detail", one.gloo_detail);
    check(one, "mpi", "off", one.mpi);
  }
}

}  // namespace
}  // namespace ringside::sim::test
