// What of ring steps is told when there are too many of them (backend/live/detail_sampler.hpp).
#include "backend/live/detail_sampler.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "backend/live/line_maker.hpp"
#include "backend/trace_reader.hpp"

namespace ringside::backend {
namespace {

using T = sim::EventType;
constexpr std::int64_t kMs = 1'000'000, kPerSecond = 16'000;

Record record(T type, std::int64_t t, std::int32_t step, std::int64_t seq = 0) {
  Record out{};  // also what of the payload nothing sets
  out.event.type = type;
  out.event.t = t;
  if (type == T::RingStepBegin || type == T::RingStepWait)
    out.event.ring = sim::RingStepPayload{sim::kNone, 0, 0, 1, 0, 1, sim::kNone};
  out.step = step;
  out.seq = seq == 0 ? step : seq;
  return out;
}

/// A rank that makes one training step after another, each with one call of so many ring steps.
struct Rank {
  DetailSampler sampler;
  std::map<int, int> told;  // training step -> ring steps
  std::int64_t t = 0;
  int step = 0;

  explicit Rank(int world) { sampler.set_budget(kPerSecond, world); }
  void take(const Record& r) {
    if (sampler.look(r) && r.event.type == T::RingStepBegin) ++told[r.step];
    for (const Record& held : sampler.due(r.event.t)) ++told[held.step];
  }
  void train(int steps, int ring_steps, std::int64_t step_ns) {
    for (int i = 0; i < steps; ++i) {
      take(record(T::CollectiveStarted, t, ++step));
      for (int k = 0; k < ring_steps; ++k) take(record(T::RingStepBegin, t + k, step));
      take(record(T::CollectiveFinished, t + step_ns / 2, step));
      t += step_ns;
    }
  }
};

TEST(DetailSampler, WhatAPersonCanFollowIsToldInFull) {
  Rank rank(4);
  rank.train(2000, 24, 50 * kMs);  // 480 ring steps a second
  EXPECT_EQ(rank.told.size(), 2000u);
  EXPECT_EQ(rank.sampler.stride(), 1);
}

TEST(DetailSampler, TooManyAreToldOfEveryNthStepWhole) {
  Rank rank(16);
  rank.train(6000, 90, 3 * kMs);  // 30,000 a second, where 1,000 may be told
  EXPECT_EQ(rank.sampler.stride(), 32);
  int total = 0, late = 0;
  for (const auto& [step, count] : rank.told) {
    EXPECT_EQ(count, 90) << "step " << step << " is told whole or not at all";
    total += count;
    if (step > 3000) ++late;
    if (step > 3000) {
      EXPECT_EQ(step % 32, 0) << step;
    }
  }
  EXPECT_TRUE(rank.told.contains(1)) << "it begins in full";
  EXPECT_EQ(late, 3000 / 32 + 1);
  EXPECT_LT(total, 1.5 * (DetailSampler::kStoreSeconds + 18) * 1000);
}

TEST(DetailSampler, NoLimitTellsAll) {
  Rank rank(16);
  rank.sampler.set_budget(0, 16);
  rank.train(2000, 90, 3 * kMs);
  EXPECT_EQ(rank.told.size(), 2000u);
}

TEST(DetailSampler, ItGoesBackToAllOfThem) {
  Rank rank(16);
  rank.train(3000, 90, 3 * kMs);
  ASSERT_GT(rank.sampler.stride(), 1);
  rank.train(200, 90, 500 * kMs);
  EXPECT_EQ(rank.sampler.stride(), 1);
  EXPECT_TRUE(rank.told.contains(rank.step));
}

TEST(DetailSampler, RanksThatMeasureDifferentlyTellTheSameSteps) {
  std::map<int, int> ranks_that_told;
  for (int r = 0; r < 4; ++r) {
    Rank rank(16);
    for (int i = 0; i < 3000; ++i) rank.train(1, 90, 3 * kMs + (r * 7919 + i * 104729) % 400'000);
    for (const auto& [step, count] : rank.told) ++ranks_that_told[step];
  }
  int all = 0, some = 0;
  for (const auto& [step, ranks] : ranks_that_told) ++(ranks == 4 ? all : some);
  EXPECT_GT(all, 100);
  EXPECT_LE(some, 64) << "at most one change came at another multiple of 64";
}

TEST(DetailSampler, ACallThatHangsIsToldWhole) {
  Rank rank(16);
  rank.train(3001, 90, 3 * kMs);
  ASSERT_NE((rank.step + 1) % rank.sampler.stride(), 0);
  const int hung = rank.step + 1;
  rank.take(record(T::CollectiveStarted, rank.t, hung));
  for (int k = 0; k < 20; ++k) rank.take(record(T::RingStepBegin, rank.t + k, hung));
  EXPECT_FALSE(rank.told.contains(hung));
  EXPECT_TRUE(rank.sampler.due(rank.t + DetailSampler::kHoldNs - 1).empty());
  const auto due = rank.sampler.due(rank.t + DetailSampler::kHoldNs + 100);
  ASSERT_EQ(due.size(), 20u);
  for (std::size_t i = 0; i < due.size(); ++i)
    EXPECT_EQ(due[i].event.t, rank.t + static_cast<std::int64_t>(i)) << "in their order";
  EXPECT_TRUE(rank.sampler.look(record(T::RingStepWait, rank.t + 300 * kMs, hung))) << "and what it still says";
}

TEST(DetailSampler, TroubleBringsOutWhatWasHeldBack) {
  for (const T trouble : {T::Error, T::NanFound, T::WatchdogExpired, T::CommAbort}) {
    Rank rank(16);
    rank.train(3001, 90, 3 * kMs);
    const int step = rank.step + 1;
    rank.take(record(T::CollectiveStarted, rank.t, step));
    for (int k = 0; k < 7; ++k) rank.take(record(T::RingStepBegin, rank.t + k, step));
    EXPECT_FALSE(rank.told.contains(step));
    rank.take(record(trouble, rank.t + 10, step));
    EXPECT_EQ(rank.told[step], 7) << to_word(trouble);
  }
}

TEST(DetailSampler, CommunicatorsDoNotEndEachOthersCalls) {
  Rank rank(16);
  rank.train(3001, 90, 3 * kMs);
  const int step = rank.step + 1;
  rank.take(record(T::CollectiveStarted, rank.t, step));
  rank.take(record(T::RingStepBegin, rank.t, step));
  Record other = record(T::CollectiveFinished, rank.t + 1, step, 1'000'000);
  other.comm[0] = 'x';
  rank.take(other);
  EXPECT_EQ(rank.sampler.all().size(), 1u);
}

/// What is left out has no number: the trace has no gap, says that it was sampled, and ends in full.
TEST(DetailSampler, LinesHaveNoGap) {
  SharedRank* shared = make_shared_rank();
  ASSERT_NE(shared, nullptr);
  shared->rank.store(0);
  shared->world_size.store(16);
  LineMaker lines(*shared, 0);
  sim::TraceHeader header;
  header.world_size = 16;
  std::string text;
  sim::append_header_json(text, header);
  text += "\n";
  lines.add(record(T::CommInit, 0, 0));
  std::int64_t t = 0;
  for (int step = 1; step <= 2001; ++step, t += 3 * kMs) {
    lines.add(record(T::CollectiveStarted, t, step));
    for (int k = 0; k < 90; ++k) lines.add(record(T::RingStepBegin, t + k, step));
    if (step <= 2000) lines.add(record(T::CollectiveFinished, t + kMs, step));
    text += lines.take();
  }
  lines.add_exit(true, 9, "");
  text += lines.take();
  TraceReader reader("memory");
  ASSERT_TRUE(reader.feed(text)) << reader.problem()->message();
  std::uint32_t next = 0;
  int begun_last = 0, said = 0;
  std::size_t ring_steps = 0;
  for (const sim::Event& e : reader.trace().events()) {
    EXPECT_EQ(e.n, next++);
    if (e.type == T::RingStepBegin) ++ring_steps;
    if (e.type == T::RingStepBegin && reader.trace().collective(e.ring.coll).step == 2001) ++begun_last;
    if (e.type == T::LogLine) ++said;
  }
  EXPECT_EQ(begun_last, 90) << "the rank died in this call";
  EXPECT_GE(said, 1);
  EXPECT_LT(ring_steps, 2001u * 90 / 4);
}

}  // namespace
}  // namespace ringside::backend
