// Seeds of the fuzz entries, made by code.
#include <zlib.h>
#include <zstd.h>

#include "backend/trace_file.hpp"
#include "fr_job.hpp"
#include "fuzz_entry.hpp"
#include "sim/job/simulate.hpp"
#include "sim/scenario/reference.hpp"

namespace ringside::fuzz {
namespace {

using test::FrCall;
using test::FrJob;

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

FrJob hang(bool json) {
  FrJob job(4);
  job.json = json;
  FrCall waiting;
  waiting.state = "scheduled";
  job.group("7", "TP", {0, 1}).call({0, 1, 2, 3}, "all_reduce").call({0, 1, 3}, "all_reduce", waiting);
  waiting.group = "7";
  return job.call({0}, "_all_gather_base", waiting).send(0, 1).recv(1, 0);
}

FrJob mismatch(bool json) {
  FrJob job(3);
  job.json = json;
  FrCall call;
  call.state = "scheduled";
  call.shape = {8, 2};
  job.call({0, 1}, "all_reduce", call);
  call.shape = {9};
  return job.call({2}, "all_reduce", call).call({0, 1, 2}, "broadcast", call);
}

std::string joined(const FrJob& job, int ranks) {
  std::string out;
  for (int rank = 0; rank < ranks; ++rank) out += (rank > 0 ? "\n----\n" : "") + job.dump(rank);
  return out;
}

const char* const kRasText =
    "NCCL version 2.27.3 compiled with CUDA 12.9\n\nJob summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n      4          8            1         32       "
    "32\n\n"
    "Communicators... (0.00s)\n=============\n\n    0         1         4         8        32        32   "
    "RUNNING  MISMATCH\n"
    "    1         4         1       2-8         8        32   RUNNING  OK\n\nErrors\n======\n\nDEAD\n"
    "  1 job process is considered dead (unreachable via the RAS network)\n  Process 34 on node 192.0.2.13 "
    "managing GPU 5\n\n"
    "#0-0 (fa93daea854b060b) INCOMPLETE\n  Missing communicator data from 1 rank\n"
    "  Rank 21 -- GPU 5 managed by process 34 on node 192.0.2.13\n\n#0-0 (fa93daea854b060b) MISMATCH\n"
    "  Communicator ranks have different AllReduce operation counts\n  29 ranks have launched up to "
    "operation 641\n"
    "  2 ranks have launched up to operation 640\n  Rank 12 -- GPU 4 (NVML 6) managed by process 3 on node "
    "192.0.2.124\n"
    "  Rank 7 has launched up to operation 9 -- GPU 7 managed by process 44 on node 192.0.2.1\n"
    "  Communicator ranks have different status\n  31 ranks have status RUNNING\n  Asynchronous error on 1 "
    "rank\n"
    "  Rank 3 reported System error -- GPU 3 managed by process 9 on node h\n";
const char* const kRasJson =
    R"({"nccl_version":"2.28.7","communicators_count":1,"communicators":[{"hash":"0xabc","size":3,"ranks":[{"rank":0,"host":"a","pid":1,"cuda_dev":0,"status":{"init_state":0,"async_error":6,"abort_flag":false},"collective_counts":{"AllReduce":5}},{"rank":1,"host":"a","pid":2,"cuda_dev":1,"status":{"init_state":0,"async_error":0},"collective_counts":{"AllReduce":4}}],"missing_ranks":[{"rank":2,"host":"b","pid":3,"cuda_dev":0,"status":{"considered_dead":true}}]}],"ras":{"timeouts_count":1}})";
const char* const kRasEvents =
    "[2026-04-22 21:34:20] PEER_DEAD: Process 34 on node 192.0.2.13 managing GPU 1\n"
    R"({"timestamp":"2026-04-22 21:34:21","event":"PEER_UNRESPONSIVE","peer":{"host":"h","pid":5,"cuda_devs":[3]}})"
    "\n";
const char* const kInspector =
    R"({"header":{"id":"0x7f","rank":0,"n_ranks":2},"metadata":{"inspector_output_format_version":"v4.0","hostname":"a","pid":1},"coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_exec_time_us":900.5,"event_trace_ts":{"coll_start_ts":17.5}}})"
    "\n"
    R"({"header":{"id":"0x7f","rank":1,"n_ranks":2},"metadata":{"hostname":"b","pid":2},"coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_exec_time_us":300,"event_trace_ts":{"coll_start_ts":18}}})"
    "\n";
const char* const kLog =
    "[rank3]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective "
    "operation timeout: "
    "WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600013 "
    "milliseconds before "
    "timing out.\n"
    "node01:2944707:2944800 [4] NCCL INFO comm 0x55 rank 4 nranks 8 cudaDev 4 busId e1000 - Init COMPLETE\n"
    "\x1b[31m11: RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from "
    "[0]\x1b[0m\r\n"
    "[1,12]<stdout>: node02:77:99 [0] transport/net_ib.cc:1234 NCCL WARN NET/IB : Got completion from peer "
    "192.0.2.1<48> with "
    "status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_3\n"
    "  3%|2  | 21/684 [01:52<58:31,  5.31s/it][rank2]: ValueError: bad\n"
    "Failures:\n[1]:\n  time      : 2025-03-11_18:33:20\n  host      : node01\n  rank      : 1 (local_rank: "
    "1)\n  exitcode  : -9 (pid: "
    "340055)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 340055\n"
    "Root Cause (first observed failure):\n[0]:\n  rank      : 0 (local_rank: 0)\n"
    "kernel: NVRM: Xid (PCI:0000:2b:00): 79, pid=1818990, name=python3, GPU has fallen off the bus.\n"
    "slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have been OOM "
    "Killed.\n";

const char* const kJsonLog =
    R"({"ts":"2025-06-12T10:20:00.000Z","rank":3,"host":"j1","level":"ERROR","msg":"a \"b\" \u001b[31m\tc","exc_info":"Traceback (most recent call last):\n  File \"t.py\", line 1\nzipfile.BadZipFile: x"})"
    "\n"
    R"({"log":"[rank1]: ValueError: bad\n","stream":"stderr","time":"2025-03-02T10:00:00.1Z","more":{"a":[1,{"b":"}"}]},"n":-1.5e3})"
    "\nName:             worker-2\n      Reason:       OOMKilled\n";

std::string trace_of(std::string_view toml) {
  const auto scenario = sim::parse_scenario(toml, "seed.toml");
  require(static_cast<bool>(scenario), "a seed's scenario does not parse");
  std::string bytes;
  const auto written = backend::write_trace(sim::simulate(*scenario).trace, [&](std::string_view piece) {
    bytes += piece;
    return sim::ok();
  });
  require(static_cast<bool>(written), "a seed's trace cannot be written");
  return bytes;
}

}  // namespace

std::vector<std::string> seeds(std::string_view entry) {
  std::vector<std::string> out{""};
  if (entry == "pickle") {
    for (int rank = 0; rank < 4; ++rank) out.push_back(hang(false).dump(rank));
    out.push_back("(dp0\nVa\np1\n(lp2\nI1\naF2.5\naNaI01\naL9L\nas.");
    out.push_back(
        "\x80\x04}\x94(\x8c\x01"
        "a\x94K\x01\x8a\x02\x00\x01\x85\x86\x87\x8f(\x90\x91G\x40\x04\x00\x00\x00\x00\x00\x00u.");
  } else if (entry == "json") {
    out.push_back(hang(true).dump(0));
    out.push_back(kRasJson);
  } else if (entry == "flight_recorder") {
    for (const bool as_json : {false, true}) {
      out.push_back(joined(hang(as_json), 4));
      out.push_back(joined(mismatch(as_json), 3));
    }
  } else if (entry == "ras") {
    out.insert(out.end(), {kRasText, kRasJson, kRasEvents});
  } else if (entry == "inspector") {
    out.push_back(kInspector);
  } else if (entry == "input_layer") {
    out.insert(out.end(), {kLog, gzip(kLog), gzip("a\n") + gzip("b\n"), zstd(kLog),
                           std::string(300, 'x') + "\nnext\r\n\xFF\n"});
  } else if (entry == "log_lines" || entry == "diagnose_texts") {
    out.insert(out.end(), {kLog, kRasText, kJsonLog});
  } else if (entry == "scenario") {
    out.push_back(sim::reference_toml());
    out.push_back(
        "[cluster]\ngpus_per_node = 2\n[tensor]\nshape = [2, 2]\ndtype = \"float16\"\nvalues = [[[1, nan], "
        "[inf, "
        "-0.0]], [1, 2.5, 3, 65504]]\n[[link]]\nfrom = 0\nto = 1\nlatency = \"3us\"\n");
    out.push_back(
        "title = '''\n[[[''' # x\n[training.network]\nlayers = [2, 8, 1]\n[stack]\nlibrary = \"mpi\"\n");
  } else if (entry == "fault") {
    out.insert(out.end(),
               {"crash:rank=2,step=5", "slow:rank=0,step=1,factor=0.25", "shape:rank=3,shape=[4,7]",
                "link_flap:from=0,to=1,time=3us,duration=2s", "bit_flip:rank=1,element=3,bit=30"});
  } else if (entry == "trace") {
    out.push_back(trace_of("[tensor]\nshape = [3]\n[collective]\nreduce = \"100ns\"\n"));
    out.push_back(trace_of(
        "[cluster]\nnodes = 2\ngpus_per_node = 1\n[tensor]\nshape = [70]\nvalues = { random = "
        "\"normal\" }\n[training]\nsteps = 2\nforward = \"1ms\"\n[[fault]]\nkind = \"crash\"\nrank = "
        "1\nstep = 2\n"));
  }
  return out;
}

}  // namespace ringside::fuzz
