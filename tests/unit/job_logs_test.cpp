// The logs of a simulated job, one file per source, are read by the same diagnosis as real ones.
#include <map>

#include "backend/import/diagnose.hpp"
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

}  // namespace
}  // namespace ringside::sim::test
