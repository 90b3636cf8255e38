#include <gtest/gtest.h>

#include <toml++/toml.h>
#include <cstdlib>
#include <filesystem>

#include "backend/import/fr_writer.hpp"
#include "fr_job.hpp"

namespace ringside::backend {
namespace {

using sim::Confidence;
using sim::Diagnosis;
using sim::DiagnosisKind;
using sim::ToolVerdict;
using test::FrCall;
using test::FrJob;
using Ranks = std::vector<int>;

FrCall waiting(std::string group = "0") {
  FrCall call;
  call.group = std::move(group);
  call.state = "scheduled";
  return call;
}
FrCall shaped(std::vector<std::int64_t> shape, std::string state = "completed") {
  FrCall call;
  call.shape = std::move(shape);
  call.state = std::move(state);
  return call;
}

std::string report(const Diagnosis& d) {
  std::string out;
  append_diagnosis_json(out, d);
  return out;
}

void expect(const Diagnosis& d, DiagnosisKind kind, const Ranks& culprits, Confidence confidence) {
  EXPECT_EQ(to_word(d.kind), to_word(kind)) << report(d);
  EXPECT_EQ(d.culprits, culprits) << report(d);
  EXPECT_EQ(to_word(d.confidence), to_word(confidence)) << report(d);
}

TEST(FlightRecorderNames, RankIsTheTrailingNumber) {
  EXPECT_EQ(rank_from_dump_name("nccl_trace_rank_7"), 7);
  EXPECT_EQ(rank_from_dump_name("nccl_trace_rank_12.json"), 12);
  EXPECT_EQ(rank_from_dump_name("nccl_trace_rank_12.json.gz"), 12);
  EXPECT_EQ(rank_from_dump_name("dir9/comm_lib_trace_rank_511.zst"), 511);
  EXPECT_EQ(rank_from_dump_name("nccl_trace_rank_container-node02_5"), 5);
  EXPECT_EQ(rank_from_dump_name("_dump_0"), 0);
  EXPECT_EQ(rank_from_dump_name("notes"), -1);
  EXPECT_EQ(rank_from_dump_name("trace_99999999999999"), -1);
  EXPECT_EQ(rank_from_dump_name(""), -1);
}

TEST(FlightRecorder, ReadsPickleAndJsonAlike) {
  for (const bool json : {false, true}) {
    FrJob job(3);
    job.json = json;
    job.group("7", "TENSOR", {2, 0});
    job.call({0, 1, 2}, "all_reduce").call({0, 2}, "_all_gather_base", waiting("7")).send(1, 2);
    const FlightRecorder fr = job.read();
    ASSERT_TRUE(job.problems.empty()) << job.problems[0];
    ASSERT_EQ(fr.dumps.size(), 3u);
    ASSERT_EQ(fr.groups.size(), 2u);
    EXPECT_EQ(fr.groups[1].ranks, (Ranks{2, 0}));
    EXPECT_EQ(fr.groups[1].desc, "TENSOR");
    const FrDump& dump = fr.dumps[2];
    EXPECT_EQ(dump.rank, 2);
    EXPECT_EQ(dump.version, "2.10");
    EXPECT_EQ(dump.library, json ? "2.28.3" : "2.27.3");
    ASSERT_EQ(dump.entries.size(), 2u);
    EXPECT_EQ(fr.text(dump.entries[0].op), "all_reduce");
    EXPECT_EQ(fr.text(dump.entries[0].input_sizes), "[[1024]]");
    EXPECT_EQ(fr.text(dump.entries[0].input_dtypes), "Float");
    EXPECT_EQ(to_word(dump.entries[1].state), "scheduled");
    EXPECT_EQ(dump.entries[1].timeout_ms, 600'000);
    EXPECT_EQ(fr.text(dump.entries[0].site), json ? "" : "train_step (loop.py:131)");
    EXPECT_EQ(dump.status.at(1).enqueued, 1);
    EXPECT_EQ(dump.status.at(1).completed, 0);
    EXPECT_EQ(fr.dumps[1].entries[1].peer, 2);
    EXPECT_TRUE(fr.dumps[1].entries[1].p2p);
  }
}

TEST(FlightRecorder, OldVersionsAndMissingKeys) {
  FrJob job(4);
  job.version = "2.2";  // seq_id, no dtypes
  job.call({0, 1, 2, 3}, "all_reduce").call({0, 1, 3}, "all_reduce", waiting());
  expect(job.diagnose(), DiagnosisKind::HangRankMissing, {2}, Confidence::Certain);

  // The oldest: no groups, no counters, entries only.
  FrReader reader;
  for (int rank = 0; rank < 3; ++rank) {
    std::string entries;
    for (int seq = 1; seq <= (rank == 1 ? 2 : 3); ++seq)
      entries += std::string(seq > 1 ? "," : "") + R"({"pg_id":0,"seq_id":)" + std::to_string(seq) +
                 R"(,"profiling_name":"nccl:all_reduce","input_sizes":[[8]],"output_sizes":[[8]],"state":")" +
                 (seq == 3 ? "scheduled" : "completed") + "\"}";
    ASSERT_TRUE(reader.add("rank_" + std::to_string(rank) + ".json",
                           R"({"version":"2.0","entries":[)" + entries + "]}",
                           InputKind::FlightRecorderJson));
  }
  const FlightRecorder fr = reader.finish();
  expect(diagnose(fr), DiagnosisKind::HangRankMissing, {1}, Confidence::Certain);
}

TEST(FlightRecorder, WhatOurRanksWriteReadsBack) {
  FrJob job(4);
  job.group("7", "TP", {1, 3}).group("8", "DP", {0, 2});
  job.call({0, 1, 2, 3}, "all_reduce")
      .call({1}, "_all_gather_base", waiting("7"))
      .call({0, 2}, "all_to_all", waiting("8"));
  job.send(3, 2);
  const FlightRecorder first = job.read();
  FrReader reader;
  for (const auto& dump : first.dumps) {
    const std::string name = "nccl_trace_rank_" + std::to_string(dump.rank) + ".json";
    const std::string json = flight_recorder_json(first, dump);
    EXPECT_EQ(classify(json, true), InputKind::FlightRecorderJson);
    const auto added = reader.add(name, json, InputKind::FlightRecorderJson);
    ASSERT_TRUE(added) << added.error().message();
  }
  const FlightRecorder second = reader.finish();
  ASSERT_EQ(second.dumps.size(), first.dumps.size());
  for (std::size_t i = 0; i < first.dumps.size(); ++i) {
    EXPECT_EQ(flight_recorder_json(second, second.dumps[i]), flight_recorder_json(first, first.dumps[i]));
    ASSERT_EQ(second.dumps[i].entries.size(), first.dumps[i].entries.size());
    EXPECT_EQ(second.dumps[i].status.size(), first.dumps[i].status.size());
  }
  EXPECT_EQ(second.text(second.dumps[0].entries[0].site), "train_step (loop.py:131)");
  Diagnosis a = diagnose(first);
  Diagnosis b = diagnose(second);
  EXPECT_EQ(a.culprits, b.culprits);
  EXPECT_EQ(a.waits_for, b.waits_for);
}

TEST(FlightRecorder, WhatIsNoDumpIsNamed) {
  FrReader reader;
  EXPECT_NE(reader.add("dump_0", "\x80\x02]q\x01.", InputKind::FlightRecorderPickle)
                .error()
                .what.find("no Flight Recorder"),
            std::string::npos);
  EXPECT_NE(
      reader.add("dump", "{}", InputKind::FlightRecorderJson).error().what.find("does not end with a rank"),
      std::string::npos);
  EXPECT_TRUE(reader.add("dump_1", R"({"entries":[]})", InputKind::FlightRecorderJson));
  EXPECT_NE(reader.add("dump_1.gz", R"({"entries":[]})", InputKind::FlightRecorderJson)
                .error()
                .what.find("second dump of rank 1"),
            std::string::npos);
  EXPECT_FALSE(reader.add("dump_2", "{\"entries\":[", InputKind::FlightRecorderJson));
  EXPECT_EQ(reader.finish().dumps.size(), 1u);
}

TEST(FrDiagnosis, RankThatDidNotJoin) {
  for (const bool json : {false, true}) {
    FrJob job(8);
    job.json = json;
    job.call({0, 1, 2, 3, 4, 5, 6, 7}, "all_reduce").call({0, 1, 2, 3, 4, 6, 7}, "all_reduce", waiting());
    const Diagnosis d = job.diagnose();
    expect(d, DiagnosisKind::HangRankMissing, {5}, Confidence::Certain);
    EXPECT_EQ(d.victims, (Ranks{0, 1, 2, 3, 4, 6, 7}));
    EXPECT_EQ(d.waits_for.size(), 7u);
    EXPECT_EQ(d.waits_for[0], (std::pair{0, 5}));
    EXPECT_EQ(d.world_size, 8);
    ASSERT_EQ(d.tools_would_say.size(), 1u);
    EXPECT_EQ(d.tools_would_say[0].verdict, ToolVerdict::Right);
    EXPECT_NE(d.tools_would_say[0].text.find("sequence number: 2, missing ranks: {5}"), std::string::npos);
  }
}

TEST(FrDiagnosis, FrozenRankWithOnlyActiveDumps) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce").call({0, 2, 3}, "all_reduce", waiting());
  for (int r = 0; r < 4; ++r) job.only_active(r);
  expect(job.diagnose(), DiagnosisKind::HangRankMissing, {1}, Confidence::Certain);
}

TEST(FrDiagnosis, FollowsWhoWaitsForWhomThroughGroups) {
  // Rank 3 is frozen. 2 waits for it in their pair, 0 and 1 wait for 2 and 3 in the pipeline: torchfrtrace
  // stops at the first.
  FrJob job(4);
  job.group("10", "TP", {0, 1}).group("11", "TP", {2, 3}).group("12", "DP", {0, 2}).group("13", "DP", {1, 3});
  job.call({2}, "all_reduce", waiting("11"))
      .call({0}, "reduce_scatter", waiting("12"))
      .call({1}, "all_reduce", waiting("10"));
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::HangRankMissing, {3},
         Confidence::Likely);  // groups of two: the counters name it, no majority
  EXPECT_EQ(d.victims, (Ranks{0, 1, 2}));
  ASSERT_EQ(d.tools_would_say.size(), 1u);
  EXPECT_EQ(d.tools_would_say[0].verdict, ToolVerdict::Misleading);
}

TEST(FrDiagnosis, StuckGpuIsTheOneWhosePeersHaveFinished) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce").call({0, 1, 3}, "all_reduce").call({2}, "all_reduce", waiting());
  job.call({0, 1, 3}, "_all_gather_base", waiting());
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::HangRankMissing, {2}, Confidence::Certain);
  EXPECT_NE(d.first_cause.what.find("GPU or stream"), std::string::npos);
  EXPECT_EQ(d.alternatives.front().kind, DiagnosisKind::GpuHw);
}

TEST(FrDiagnosis, StateAloneNamesNobody) {
  FrJob job(2);
  job.call({0, 1}, "all_reduce").call({0}, "all_reduce", waiting()).call({1}, "all_reduce");
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::Unknown, {}, Confidence::Unknown);
  EXPECT_EQ(d.tools_would_say.at(0).verdict, ToolVerdict::Silent);
}

TEST(FrDiagnosis, MissingDumpIsADeadProcess) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce").call({0, 1, 3}, "all_reduce", waiting()).lose_dump(2);
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::RankCrash, {2}, Confidence::Likely);
  EXPECT_EQ(d.world_size, 4);
  EXPECT_EQ(d.alternatives.front().kind, DiagnosisKind::HangRankMissing);
}

TEST(FrDiagnosis, MostDumpsMissingDecidesNothing) {
  FrJob job(64);
  Ranks all;
  for (int r = 0; r < 64; ++r) all.push_back(r);
  job.call(all, "all_reduce", waiting());
  for (int r = 4; r < 64; ++r) job.lose_dump(r);
  expect(job.diagnose(), DiagnosisKind::Unknown, {}, Confidence::Unknown);
}

TEST(FrDiagnosis, ShapeMismatchByMajorityWithRankZeroOdd) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce");
  job.call({0}, "all_reduce", shaped({1025}, "scheduled"))
      .call({1, 2, 3}, "all_reduce", shaped({1024}, "scheduled"));
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::ShapeMismatch, {0}, Confidence::Certain);
  EXPECT_EQ(d.victims, (Ranks{1, 2, 3}));
  EXPECT_EQ(d.first_cause.seq, 2);
  ASSERT_EQ(d.tools_would_say.size(), 1u);
  EXPECT_EQ(d.tools_would_say[0].verdict, ToolVerdict::Misleading);
  EXPECT_NE(d.tools_would_say[0].text.find("Culprit rank 1, 2, 3"), std::string::npos)
      << d.tools_would_say[0].text;
}

TEST(FrDiagnosis, ShapeMismatchOfAnotherRankIsRightInBoth) {
  FrJob job(4);
  job.call({0, 1, 3}, "all_reduce", shaped({1024}, "scheduled"))
      .call({2}, "all_reduce", shaped({512}, "scheduled"));
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::ShapeMismatch, {2}, Confidence::Certain);
  EXPECT_EQ(d.tools_would_say.at(0).verdict, ToolVerdict::Right);
}

TEST(FrDiagnosis, DtypeMismatch) {
  FrJob job(4);
  FrCall half = waiting();
  half.dtype = "Half";
  job.call({0, 1, 2}, "all_reduce", waiting()).call({3}, "all_reduce", half);
  expect(job.diagnose(), DiagnosisKind::DtypeMismatch, {3}, Confidence::Certain);
}

TEST(FrDiagnosis, TwoRanksThatDifferAreUndecidable) {
  FrJob job(2);
  job.call({0}, "all_reduce", shaped({1024}, "scheduled"))
      .call({1}, "all_reduce", shaped({512}, "scheduled"));
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::ShapeMismatch, {}, Confidence::Unknown);
  ASSERT_EQ(d.alternatives.size(), 2u);
  EXPECT_EQ(d.alternatives[0].culprits, (Ranks{0}));
  EXPECT_EQ(d.alternatives[1].culprits, (Ranks{1}));
}

TEST(FrDiagnosis, UnevenCallsAreNoMismatch) {
  FrJob job(3);
  for (const char* op : {"all_to_all", "alltoall_base", "all_gather", "reduce_scatter"})
    for (int r = 0; r < 3; ++r) {
      FrCall call = shaped({100 + r}, "scheduled");
      if (op == std::string("all_gather")) call.output = {303};
      if (op == std::string("reduce_scatter")) call.output = std::exchange(call.shape, {303});
      job.call({r}, op, call);
    }
  EXPECT_TRUE(find_mismatches(job.read()).empty());
}

TEST(FrDiagnosis, OrderInsideOneGroup) {
  FrJob job(4);
  job.call({0, 1, 3}, "all_reduce", waiting()).call({0, 1, 3}, "broadcast", waiting());
  job.call({2}, "broadcast", waiting()).call({2}, "all_reduce", waiting());
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::CollectiveOrder, {2}, Confidence::Certain);
  EXPECT_NE(d.first_cause.what.find("two calls in the other order"), std::string::npos) << d.first_cause.what;
}

/// Gradient buckets of 81 and 24 elements in turn: a rank that begins with the second one has the right sizes
/// in the wrong places. A size that the loop never has is a wrong size.
TEST(FrDiagnosis, OrderInALoopIsToldFromAWrongSize) {
  const auto job_with = [](std::int64_t odd_size, int steps) {
    FrJob job(3);
    const auto bucket = [](std::int64_t size, const char* state) {
      FrCall call;
      call.shape = {size};
      call.state = state;
      return call;
    };
    for (int step = 0; step < steps; ++step)
      job.call({0, 1, 2}, "all_reduce", bucket(81, "completed"))
          .call({0, 1, 2}, "all_reduce", bucket(24, "completed"));
    return job.call({0, 1}, "all_reduce", bucket(81, "started"))
        .call({2}, "all_reduce", bucket(odd_size, "started"));
  };
  const Diagnosis order = job_with(24, 4).diagnose();
  expect(order, DiagnosisKind::CollectiveOrder, {2}, Confidence::Certain);
  ASSERT_FALSE(order.alternatives.empty());
  EXPECT_EQ(order.alternatives.front().kind, DiagnosisKind::SequenceMismatch);
  expect(job_with(25, 4).diagnose(), DiagnosisKind::ShapeMismatch, {2}, Confidence::Certain);
  // Without a history that repeats nobody can say so.
  expect(job_with(24, 0).diagnose(), DiagnosisKind::ShapeMismatch, {2}, Confidence::Certain);
}

TEST(FrDiagnosis, CircleOverTwoGroups) {
  // 0, 1 and 3 call group 5 first, 2 calls group 6 first; both groups hold everybody.
  FrJob job(4);
  job.group("5", "DP", {0, 1, 2, 3}).group("6", "EMB", {0, 1, 2, 3});
  job.call({0, 1, 3}, "all_reduce", waiting("5")).call({2}, "all_reduce", waiting("6"));
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::CollectiveOrder, {2}, Confidence::Likely);
  EXPECT_EQ(d.victims, (Ranks{0, 1, 3}));
  EXPECT_EQ(d.tools_would_say.at(0).verdict, ToolVerdict::Right);  // by luck: it calls rank 2 missing

  FrJob two(2);
  two.group("5", "DP", {0, 1}).group("6", "EMB", {0, 1});
  two.call({0}, "all_reduce", waiting("5")).call({1}, "all_reduce", waiting("6"));
  expect(two.diagnose(), DiagnosisKind::CollectiveOrder, {}, Confidence::Unknown);
}

TEST(FrDiagnosis, CircleOfSendsAndWhoOnlyLeadsIntoIt) {
  FrJob job(4);
  job.send(0, 1).send(1, 2).send(2, 0).send(3, 0);
  const FlightRecorder fr = job.read();
  const WaitGraph graph = wait_graph(fr);
  ASSERT_EQ(graph.cycles.size(), 1u);
  EXPECT_EQ(graph.cycles[0], (Ranks{0, 1, 2}));
  EXPECT_TRUE(graph.roots.empty());
  expect(diagnose(fr), DiagnosisKind::CollectiveOrder, {}, Confidence::Unknown);
}

TEST(FrDiagnosis, PointToPointChainEndsAtTheIdleRank) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce").send(0, 1).recv(1, 2).recv(2, 3);
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::HangRankMissing, {3}, Confidence::Certain);
  EXPECT_EQ(d.waits_for, (std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(FrDiagnosis, BothHalvesOfATransferThereMeansNetwork) {
  FrJob job(2);
  job.send(0, 1).recv(1, 0);
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::Unknown, {}, Confidence::Unknown);
  EXPECT_TRUE(d.waits_for.empty());
}

TEST(FrDiagnosis, SkippedCallShowsInTheShapes) {
  // Rank 1 leaves out the second of four buckets. Sizes differ from there on; it ends one call short.
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce", shaped({100}));
  job.call({0, 2, 3}, "all_reduce", shaped({200}, "scheduled"))
      .call({0, 2, 3}, "all_reduce", shaped({300}, "scheduled"));
  job.call({1}, "all_reduce", shaped({300}, "scheduled"));
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::SequenceMismatch, {1}, Confidence::Certain);
  EXPECT_NE(d.first_cause.what.find("skipped one call"), std::string::npos) << d.first_cause.what;
}

TEST(FrDiagnosis, ExtraCallShowsInTheShapes) {
  FrJob job(4);
  job.call({1}, "all_reduce", shaped({1}, "scheduled")).call({1}, "all_reduce", shaped({200}, "scheduled"));
  job.call({0, 2, 3}, "all_reduce", shaped({200}, "scheduled"))
      .call({0, 2, 3}, "all_reduce", shaped({300}, "scheduled"));
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::SequenceMismatch, {1}, Confidence::Certain);
  EXPECT_NE(d.first_cause.what.find("made one call more"), std::string::npos) << d.first_cause.what;
}

TEST(FrDiagnosis, ExtraCallAtTheEndIsNotTheFaultOfAllOthers) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce").call({2}, "all_reduce", waiting());
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::SequenceMismatch, {2}, Confidence::Likely);
  EXPECT_EQ(d.tools_would_say.at(0).verdict, ToolVerdict::Misleading);
  EXPECT_EQ(d.alternatives.at(0).culprits, (Ranks{0, 1, 3}));
}

TEST(FrDiagnosis, CallsInsideABatchHaveNoStateOfTheirOwn) {
  // Torch never completes the members of a coalesced batch; the batch itself is done, so rank 0 does not wait
  // in it.
  FrJob job(2);
  for (int r = 0; r < 2; ++r) {
    FrCall member;
    member.p2p = true;
    member.state = "scheduled";
    job.call({r}, r == 0 ? "send 0->1" : "recv 1<-0", member);
    FrCall batch;
    batch.p2p = true;
    batch.p2p_seq = 1;
    job.call({r}, "coalesced", batch);
  }
  // The helper counts p2p calls up; in a batch they share a number.
  backend::FlightRecorder fr = job.read();
  EXPECT_EQ(fr.dumps[0].entries.size(), 2u);
  EXPECT_EQ(fr.dumps[0].entries[0].state, FrState::Scheduled);  // another number: not this batch

  const auto dump = [](const char* batch_state) {
    return std::string(
               R"({"entries":[{"record_id":1,"pg_id":0,"process_group":["0","d"],"collective_seq_id":4,"p2p_seq_id":9,)"
               R"("profiling_name":"nccl:send 0->1","state":"scheduled","is_p2p":true},)"
               R"({"record_id":2,"pg_id":0,"process_group":["0","d"],"collective_seq_id":4,"p2p_seq_id":9,)"
               R"("profiling_name":"nccl:coalesced","is_p2p":true,"state":")") +
           batch_state + "\"}]}";
  };
  FrReader reader;
  ASSERT_TRUE(reader.add("r_0", dump("completed"), InputKind::FlightRecorderJson));
  ASSERT_TRUE(reader.add("r_1", dump("scheduled"), InputKind::FlightRecorderJson));
  fr = reader.finish();
  EXPECT_EQ(fr.dumps[0].entries[0].state, FrState::Completed);
  EXPECT_EQ(fr.dumps[1].entries[0].state, FrState::Scheduled);
}

TEST(FrDiagnosis, AllJoinedAndEqualIsUnknownUnlessOneHasNotStarted) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce", waiting());
  expect(job.diagnose(), DiagnosisKind::Unknown, {}, Confidence::Unknown);
  FrJob timed(4);
  FrCall started = waiting();
  started.state = "started";
  timed.call({0, 1, 3}, "all_reduce", started).call({2}, "all_reduce", waiting());
  expect(timed.diagnose(), DiagnosisKind::HangRankMissing, {2}, Confidence::Likely);
}

TEST(FrDiagnosis, FiveHundredRanks) {
  constexpr int kRanks = 512;
  FrJob job(kRanks);
  Ranks all, without_300;
  for (int r = 0; r < kRanks; ++r) {
    all.push_back(r);
    if (r != 300) without_300.push_back(r);
  }
  for (int i = 0; i < 10; ++i) job.call(all, "all_reduce");
  for (int i = 0; i < 3; ++i) job.call(without_300, "all_reduce", waiting());
  const Diagnosis d = job.diagnose();
  expect(d, DiagnosisKind::HangRankMissing, {300}, Confidence::Certain);
  EXPECT_EQ(d.victims.size(), 511u);
}

TEST(FrDiagnosis, CleanJobIsNoFailure) {
  FrJob job(4);
  job.call({0, 1, 2, 3}, "all_reduce").call({0, 1, 2, 3}, "all_reduce");
  expect(job.diagnose(), DiagnosisKind::None, {}, Confidence::Likely);
}

TEST(FrFacts, TheVerdictAsFactsForReasoningWithLogs) {
  FrJob missing(4);
  missing.call({0, 1, 2, 3}, "all_reduce").call({0, 1, 3}, "_all_gather_base", waiting());
  Facts facts;
  append_facts(missing.read(), facts);
  ASSERT_EQ(facts.facts.size(), 1u);
  const Fact& fact = facts.facts[0];
  EXPECT_EQ(fact.kind, FactKind::FrMissing);
  EXPECT_EQ(fact.layer, Layer::FlightRecorder);
  EXPECT_EQ(fact.named, (Ranks{2}));
  EXPECT_EQ(fact.pg, "0");
  EXPECT_EQ(fact.pg_name, "default_pg");
  EXPECT_EQ(fact.seq, 2);
  EXPECT_EQ(fact.op, "_ALLGATHER_BASE");
  EXPECT_EQ(fact.name, "idle");
  EXPECT_EQ(facts.world_size, 4);
  EXPECT_LT(fact.file, facts.files.size());

  FrJob shape(4);
  shape.call({0, 1, 2}, "all_reduce", shaped({8}, "scheduled"))
      .call({3}, "all_reduce", shaped({9}, "scheduled"));
  append_facts(shape.read(), facts);
  ASSERT_EQ(facts.facts.size(), 2u);
  EXPECT_EQ(facts.facts[1].kind, FactKind::FrMismatch);
  EXPECT_EQ(facts.facts[1].name, "shape");
  EXPECT_EQ(facts.facts[1].named, (Ranks{3}));
  EXPECT_EQ(facts.facts[1].mine.shape, "[[8]]");
  EXPECT_EQ(facts.facts[1].theirs.shape, "[[9]]");

  FrJob state(2);
  state.call({0}, "all_reduce", waiting()).call({1}, "all_reduce");
  append_facts(state.read(), facts);
  ASSERT_EQ(facts.facts.size(), 3u);
  EXPECT_EQ(facts.facts[2].kind, FactKind::FrState);
  EXPECT_TRUE(facts.facts[2].named.empty());
}

TEST(FrDiagnosis, EmptyAndHostileDumpsGiveAVerdict) {
  expect(diagnose(FlightRecorder{}), DiagnosisKind::Unknown, {}, Confidence::Unknown);
  FrReader reader;
  ASSERT_TRUE(reader.add(
      "d_0",
      R"({"entries":[{"process_group":["a","b"],"collective_seq_id":9223372036854775807,"state":"x",)"
      R"("input_sizes":[[9223372036854775807,9223372036854775807]],"profiling_name":"nccl:send 0->99999999999"},)"
      R"(7,null,{"pg_id":-9,"is_p2p":true,"profiling_name":":"}],"pg_config":{"a":{"ranks":"[5, 5, -1, x]"}},)"
      R"("pg_status":{"x":{},"-1":7}})",
      InputKind::FlightRecorderJson));
  report(diagnose(reader.finish()));
}

// Real dumps of other people's jobs are not part of this repository; point the variable at a folder with one
// folder a job, each with its dumps and a truth.toml that names the culprits.
TEST(FrDiagnosis, RealDumpsNameTheInjectedRanks) {
  const char* folder = std::getenv("RINGSIDE_FR_DUMPS");
  if (folder == nullptr)
    GTEST_SKIP()
        << "RINGSIDE_FR_DUMPS is not set. This test runs on a machine that has the dump sets of NVIDIA's "
           "resiliency extension (gpu_error_1st, lock_gil_1st), with a truth.toml in each folder";
  int jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!std::filesystem::exists(entry.path() / "truth.toml")) continue;
    ++jobs;
    SCOPED_TRACE(entry.path().string());
    const toml::table truth = toml::parse_file((entry.path() / "truth.toml").string());
    Ranks culprits;
    for (const auto& rank : *truth["culprits"].as_array())
      culprits.push_back(static_cast<int>(*rank.value<std::int64_t>()));
    const std::vector<std::string> paths{entry.path().string()};
    const auto recorders = read_flight_recorders(find_inputs(paths));
    ASSERT_EQ(recorders.size(), 1u);
    EXPECT_TRUE(recorders[0].problems.empty());
    EXPECT_EQ(recorders[0].dumps.size(),
              static_cast<std::size_t>(*truth["world_size"].value<std::int64_t>()));
    const Diagnosis d = diagnose(recorders[0]);
    expect(d, *sim::diagnosis_kind_from(*truth["kind"].value<std::string>()), culprits, Confidence::Certain);
    EXPECT_EQ(d.victims.size(), recorders[0].dumps.size() - culprits.size());
    std::printf("%s\n", report(d).c_str());
  }
  EXPECT_GT(jobs, 0);
}

}  // namespace
}  // namespace ringside::backend
