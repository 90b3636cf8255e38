#include <gtest/gtest.h>

#include <sstream>

#include "backend/import/input.hpp"
#include "backend/import/inspector.hpp"
#include "backend/import/ras.hpp"

namespace ringside::backend {
namespace {

using Ranks = std::vector<int>;

Facts facts_of_text(const std::string& text) {
  RasTextReader reader;
  const auto file = text_from_memory("ras.txt", text);
  for (Line line; file->next(line);) reader.line(line.text, line.number);
  Facts facts;
  append_facts(reader.finish(), "ras.txt", facts);
  return facts;
}

std::vector<Fact> of_kind(const Facts& facts, FactKind kind) {
  std::vector<Fact> out;
  for (const auto& fact : facts.facts)
    if (fact.kind == kind) out.push_back(fact);
  return out;
}

const std::string kHead =
    "NCCL version 2.27.3 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 12080\n\nJob "
    "summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  "
    "(total)\n"
    "      4          8            1         32       32\n\nCommunicators... (0.00s)\n=============\n\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n"
    "    0         1         4         8        32        32   RUNNING  INCOMPLETE,MISMATCH\n"
    "    1         4         1       2-8         8        32   RUNNING  OK\n\nErrors\n======\n\n";

TEST(RasText, OutliersMissingAndDead) {
  const Facts facts = facts_of_text(
      kHead +
      "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
      "  Process 3487984 on node 192.0.2.13 managing GPU 5\n\n"
      "#0-0 (fa93daea854b060b) INCOMPLETE\n  Missing communicator data from 1 rank\n"
      "  Rank 21 -- GPU 5 managed by process 3487984 on node 192.0.2.13\n\nWarnings\n========\n\n"
      "#0-0 (fa93daea854b060b) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
      "  29 ranks have launched up to operation 641\n  2 ranks have launched up to operation 640\n"
      "  Rank 12 -- GPU 4 (NVML 6) managed by process 323032 on node 192.0.2.124\n"
      "  Rank 13 -- GPU 5 managed by process 323033 on node 192.0.2.124\n\n");
  EXPECT_EQ(facts.world_size, 32);
  const auto dead = of_kind(facts, FactKind::RasDead);
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].named, (Ranks{21}));  // through the process, from the other block
  EXPECT_EQ(dead[0].who.host, "192.0.2.13");
  EXPECT_EQ(dead[0].who.pid, 3487984);
  const auto missing = of_kind(facts, FactKind::RasMissing);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].named, (Ranks{21}));
  EXPECT_GT(missing[0].line, 0);
  const auto outlier = of_kind(facts, FactKind::RasOutlier);
  ASSERT_EQ(outlier.size(), 1u);
  EXPECT_EQ(outlier[0].named, (Ranks{12, 13}));
  EXPECT_EQ(outlier[0].value, 640);
  EXPECT_EQ(outlier[0].limit, 641);
  EXPECT_EQ(outlier[0].op, "ALLREDUCE");
  EXPECT_EQ(outlier[0].pg, "fa93daea854b060b");
  const auto who = of_kind(facts, FactKind::NcclInit);
  ASSERT_EQ(who.size(), 3u);
  EXPECT_EQ(who[1].who.rank, 12);
  EXPECT_EQ(who[1].who.device, 4);
}

TEST(RasText, OneRankInOneLineAndOlderWords) {
  const Facts facts = facts_of_text(
      kHead +
      "Warnings\n========\n\n#0-0 (fa93daea854b060b) MISMATCH\n  Communicator ranks have different "
      "collective operation counts\n"
      "  31 ranks have launched up to operation 640\n"
      "  Rank 7 has launched up to operation 641 -- GPU 7 managed by process 44 on node 192.0.2.1\n");
  const auto outlier = of_kind(facts, FactKind::RasOutlier);
  ASSERT_EQ(outlier.size(), 1u);
  EXPECT_EQ(outlier[0].named, (Ranks{7}));
  EXPECT_EQ(outlier[0].value, 641);  // ahead, which is for reasoning to weigh
  EXPECT_EQ(outlier[0].limit, 640);
}

TEST(RasText, ErrorsStatesAndSmallCommunicators) {
  const Facts facts =
      facts_of_text(kHead +
                    "#0-0 (aa) ERROR\n  Asynchronous error on 1 rank\n  Rank 3 reported System error -- GPU "
                    "3 managed by process 9 on node h\n\n"
                    "#1-2 (bb) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                    "  Rank 3 -- GPU 1 managed by process 77 on node k\n\nWarnings\n========\n\nTIMEOUT\n"
                    "  Encountered 2 communication timeouts while gathering communicator data\n");
  const auto errors = of_kind(facts, FactKind::RasError);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].named, (Ranks{3}));
  EXPECT_EQ(errors[0].name, "System error");
  const auto missing = of_kind(facts, FactKind::RasMissing);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_TRUE(missing[0].named.empty());  // rank 3 of a group of 8 is not global rank 3
  EXPECT_EQ(missing[0].who.pid, 77);
  EXPECT_EQ(missing[0].who.host, "k");
}

TEST(RasText, HostileTextIsSkipped) {
  const Facts facts = facts_of_text(
      "#\n#0-\n#0-0\n#0-0 (\n#99999999999999999999-0 (x) Y\n" + kHead +
      "#0-0 (x) MISMATCH\n  Rank\n  Rank x\n  Rank 99999999999999999999 -- GPU\n  5 ranks\n  9 ranks have\n"
      "  Communicator ranks have different\n  Rank 1 has launched up to operation -- \n  Rank 4 --\nDEAD\n  "
      "Process\n");
  EXPECT_TRUE(of_kind(facts, FactKind::RasOutlier).empty());
}

std::string ras_json() {
  std::ostringstream out;
  out << R"({"nccl_version":"2.28.7","cuda_runtime_version":12090,"communicators_count":2,"communicators":[)";
  const auto rank = [&](int number, int pid, int count, int error) {
    out << R"({"rank":)" << number << R"(,"host":"192.0.2.)" << pid / 10 << R"(","pid":)" << pid
        << R"(,"cuda_dev":)" << pid % 10 << R"(,"nvml_dev":0,"status":{"init_state":0,"async_error":)"
        << error
        << R"(,"finalize_called":false,"destroy_flag":false,"abort_flag":false},"collective_counts":{"Broadcast":2,"AllReduce":)"
        << count << "}}";
  };
  out << R"({"hash":"0xabc","size":4,"ranks_count":3,"missing_ranks_count":1,"ranks":[)";
  rank(0, 10, 50, 0);
  out << ",";
  rank(1, 11, 49, 0);
  out << ",";
  rank(2, 20, 50, 6);
  out << R"(],"missing_ranks":[{"rank":3,"host":"192.0.2.2","pid":21,"cuda_dev":1,"nvml_dev":1,"status":{"unresponsive":true,"considered_dead":true}}]},)";
  out << R"({"hash":"0xdef","size":2,"ranks":[)";
  rank(0, 20, 7, 0);
  out << ",";
  rank(1, 11, 6, 0);
  out << R"(],"missing_ranks":[]}],"ras":{"collection_time_sec":0.1,"timeouts_count":1}})";
  return out.str();
}

TEST(RasJson, TheSameFacts) {
  EXPECT_EQ(classify(ras_json(), true), InputKind::RasJson);
  const auto report = parse_ras_json(ras_json(), "ras.json");
  ASSERT_TRUE(report) << report.error().message();
  Facts facts;
  append_facts(*report, "ras.json", facts);
  EXPECT_EQ(facts.world_size, 4);
  EXPECT_EQ(of_kind(facts, FactKind::NcclInit).size(), 4u);
  const auto dead = of_kind(facts, FactKind::RasDead);
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].named, (Ranks{3}));
  const auto outlier = of_kind(facts, FactKind::RasOutlier);
  ASSERT_EQ(outlier.size(), 2u);
  EXPECT_EQ(outlier[0].named, (Ranks{1}));
  EXPECT_EQ(outlier[0].value, 49);
  // In the communicator of two, local rank 0 is global rank 2 and local rank 1 is global rank 1.
  EXPECT_EQ(outlier[1].pg, "def");
  EXPECT_TRUE(outlier[1].named == Ranks{1} || outlier[1].named == Ranks{2});
  ASSERT_EQ(of_kind(facts, FactKind::RasError).size(), 1u);
  EXPECT_EQ(of_kind(facts, FactKind::RasError)[0].name, "Remote process error");
  EXPECT_FALSE(parse_ras_json("{}", "x"));
  EXPECT_FALSE(parse_ras_json("{\"communicators\":", "x"));
}

TEST(RasEvents, TextAndJson) {
  Facts facts;
  const auto file = facts.add_file("events");
  const std::string text =
      "[2026-04-22 21:34:20] PEER_DEAD: Process 3487984 on node 192.0.2.13 managing GPU 1";
  EXPECT_EQ(classify(text + "\n", true), InputKind::RasEvents);
  EXPECT_TRUE(append_ras_event(text, 1, file, facts));
  EXPECT_TRUE(append_ras_event(
      R"({"timestamp":"2026-04-22 21:34:21","group":"LIFECYCLE","event":"PEER_UNRESPONSIVE","peer":{"host":"192.0.2.14","pid":5,"cuda_devs":[3],"nvml_devs":[3]},"details":""})",
      2, file, facts));
  EXPECT_TRUE(
      append_ras_event("[2026-04-22 21:34:22] PEER_NEW: Process 1 on node a managing GPU 1", 3, file, facts));
  EXPECT_FALSE(append_ras_event("OK", 4, file, facts));
  EXPECT_FALSE(append_ras_event("{\"event\":", 5, file, facts));
  ASSERT_EQ(facts.facts.size(), 2u);
  EXPECT_EQ(facts.facts[0].kind, FactKind::RasDead);
  EXPECT_EQ(facts.facts[0].who.pid, 3487984);
  EXPECT_EQ(facts.facts[0].who.device, 1);
  EXPECT_GT(facts.facts[0].t_ns, 0);
  EXPECT_EQ(facts.facts[1].kind, FactKind::RasMissing);
  EXPECT_EQ(facts.facts[1].who.host, "192.0.2.14");
  EXPECT_EQ(facts.facts[1].who.device, 3);
}

std::string inspector_line(int rank, int ranks, int sn, double us, double start = 0) {
  std::ostringstream out;
  out.precision(17);
  out << R"({"header":{"id":"0x7f8c496ae9f661","comm_name":"dp","rank":)" << rank << R"(,"n_ranks":)" << ranks
      << R"(,"nnodes":2},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1748030377748202,"hostname":"gpu-)"
      << rank / 2 << R"(","pid":)" << 1000 + rank << R"(},"coll_perf":{"coll":"AllReduce","coll_sn":)" << sn
      << R"(,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":)" << us
      << R"(,"coll_timing_source":"kernel_gpu")";
  if (start > 0) out << R"(,"event_trace_ts":{"coll_start_ts":)" << start << "}";
  out << "}}";
  return out.str();
}

TEST(Inspector, TheRankThatTheOthersWaitFor) {
  InspectorReader reader;
  Facts facts;
  for (int rank = 0; rank < 4; ++rank) {
    reader.begin_file(facts.add_file("gpu-pid" + std::to_string(rank) + ".log"));
    for (int sn = 1; sn <= 100; ++sn) {
      const bool late = rank == 2 && sn % 4 != 0;
      ASSERT_TRUE(
          reader.line(inspector_line(rank, 4, sn, late ? 300 : 900 + rank, 1e6 * sn + (late ? 600 : rank))));
    }
  }
  EXPECT_FALSE(reader.line("not json"));
  EXPECT_FALSE(reader.line("{}"));
  const auto comms = reader.finish();
  ASSERT_EQ(comms.size(), 1u);
  EXPECT_EQ(comms[0].ranks[2].last_in, 75);
  EXPECT_EQ(comms[0].ranks[2].latest_start, 75);
  const sim::Diagnosis d = diagnose(comms, facts);
  EXPECT_EQ(to_word(d.kind), "straggler");
  EXPECT_EQ(d.culprits, (Ranks{2}));
  EXPECT_EQ(d.culprit_nodes, (std::vector<std::string>{"gpu-1"}));
  EXPECT_EQ(d.victims, (Ranks{0, 1, 3}));
  EXPECT_EQ(d.evidence.at(0).file, "gpu-pid2.log");
  append_facts(comms, facts);
  ASSERT_EQ(facts.facts.size(), 1u);
  EXPECT_EQ(facts.facts[0].kind, FactKind::InspectorLate);
  EXPECT_EQ(facts.facts[0].value, 75);
  EXPECT_EQ(facts.facts[0].limit, 100);
}

TEST(Inspector, ChangingRanksAreNoStragglerAndOneThatStopsIsBehind) {
  InspectorReader reader;
  for (int rank = 0; rank < 4; ++rank)
    for (int sn = 1; sn <= 100; ++sn) reader.line(inspector_line(rank, 4, sn, sn % 4 == rank ? 300 : 900));
  EXPECT_EQ(to_word(diagnose(reader.finish(), Facts{}).kind), "none");
  for (int rank = 0; rank < 4; ++rank)
    for (int sn = 1; sn <= (rank == 1 ? 40 : 41); ++sn) reader.line(inspector_line(rank, 4, sn, 900));
  const sim::Diagnosis d = diagnose(reader.finish(), Facts{});
  EXPECT_EQ(to_word(d.kind), "hang_rank_missing");
  EXPECT_EQ(d.culprits, (Ranks{1}));
  EXPECT_EQ(to_word(d.confidence), "likely");
}

}  // namespace
}  // namespace ringside::backend
