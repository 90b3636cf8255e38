// Trace order, frames forwards and backwards, late events, gaps, and the playhead, on hand-made traces.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/base/random.hpp"
#include "sim/trace/frame.hpp"
#include "sim/trace/playhead.hpp"

namespace ringside::sim {
namespace {

Sample one(double value) {
  Tensor tensor(DType::Float32, Shape{{1}});
  tensor.set(0, make_scalar(DType::Float32, value));
  return sample_of(tensor);
}

/// Two ranks, two numbers each, a ring of two: r0 sends chunk 1, r1 sends chunk 0 …: values 10 a rank and
/// chunk.
struct TwoRanks {
  Trace trace;
  std::uint32_t coll = 0;

  TwoRanks() {
    trace.header.world_size = 2;
    trace.header.gpus_per_node = 2;
    CollectiveInfo info;
    info.comm = trace.intern("world");
    info.seq = 1;
    info.count = 2;
    info.world_size = 2;
    info.chunks = even_chunks(2, 2);
    info.steps = 2;
    info.reduce_steps = 1;
    info.transfers = 4;
    coll = trace.add_collective(info);
    for (int r = 0; r < 2; ++r) enqueue(r, 0);
    for (int r = 0; r < 2; ++r) begin(r, 1, r == 0 ? 1u : 0u, 10, 20);
    for (int r = 0; r < 2; ++r) end(r, 1, r == 0 ? 0u : 1u, 15, 30);
    for (int r = 0; r < 2; ++r) begin(r, 2, r == 0 ? 0u : 1u, 15, 30);
    for (int r = 0; r < 2; ++r) end(r, 2, r == 0 ? 1u : 0u, 25, 30);
  }

  Event event(int rank, EventType type, std::int64_t t) {
    Event e;
    e.t = t;
    e.set_source(Source::rank(rank));
    e.type = type;
    return e;
  }
  void enqueue(int rank, std::int64_t t) {
    Event e = event(rank, EventType::CollectiveEnqueued, t);
    e.collective = CollectivePayload{};
    e.collective.coll = coll;
    e.collective.shape = kNone;
    trace.emit(e);
  }
  void begin(int rank, std::uint32_t step, std::uint32_t chunk, std::int64_t t, double value) {
    Event e = event(rank, EventType::RingStepBegin, t);
    e.ring = RingStepPayload{coll, 0, 0, step, chunk, 1 - rank, trace.add_sample(one(value))};
    trace.emit(e);
  }
  void end(int rank, std::uint32_t step, std::uint32_t chunk, std::int64_t t, double value) {
    Event e = event(rank, EventType::RingStepEnd, t);
    e.ring = RingStepPayload{coll, 0, 0, step, chunk, 1 - rank, trace.add_sample(one(value))};
    trace.emit(e);
  }
};

TEST(Frame, FollowsOneRing) {
  TwoRanks job;
  FrameSource source(job.trace);
  const Frame& flying = source.frame_at(12);
  ASSERT_EQ(flying.collective.flights.size(), 2u);
  EXPECT_EQ(flying.collective.flights[0].done, 15) << "a finished trace knows when a flight ends";
  EXPECT_EQ(flying.collective.cell(0, 1).state, CellState::PassedOn);
  EXPECT_EQ(flying.collective.cell(0, 0).state, CellState::Arriving);
  const Frame& reduced = source.frame_at(15);
  EXPECT_EQ(reduced.collective.cell(0, 0).state, CellState::Complete);
  EXPECT_EQ(reduced.collective.cell(0, 0).contributions, 3u);
  EXPECT_EQ(reduced.collective.transfers_done, 2u);
  const Frame& done = source.frame_at(1000);
  for (int r = 0; r < 2; ++r)
    for (std::uint32_t c = 0; c < 2; ++c) {
      EXPECT_EQ(done.collective.cell(r, c).state, CellState::Complete);
      EXPECT_EQ(to_double(job.trace.sample(done.collective.cell(r, c).working).values[0]), 30.0);
    }
  EXPECT_TRUE(done.collective.flights.empty());
  EXPECT_EQ(source.frame_at(5).collective.cell(1, 1).state, CellState::Own) << "and back again";
}

/// A long job of one number a phase: enough events for several keyframes.
Trace long_trace(int ranks, int steps) {
  Trace trace;
  trace.header.world_size = ranks;
  trace.header.gpus_per_node = 8;
  for (int step = 1; step <= steps; ++step)
    for (int half = 0; half < 2; ++half)
      for (int r = 0; r < ranks; ++r) {
        Event e;
        e.t = step * 100 + half * 50 + r % 7;
        e.set_source(Source::rank(r));
        e.type = half == 0 ? EventType::PhaseBegin : EventType::PhaseEnd;
        e.phase =
            PhasePayload{step, Phase::Forward, half == 1 ? kHasLoss : std::uint8_t{0}, 0, 1.0 / step, 0};
        trace.emit(e);
      }
  return trace;
}

bool same(const Frame& a, const Frame& b) {
  if (a.applied != b.applied || a.step != b.step || a.missing_events != b.missing_events) return false;
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    const RankFrame &x = a.ranks[r], &y = b.ranks[r];
    if (x.status != y.status || x.phase != y.phase || x.step != y.step || x.loss != y.loss)
      return false;
  }
  return true;
}

TEST(Frame, SeekEqualsReplay) {
  const Trace trace = long_trace(16, 2000);
  FrameSource seeking(trace);
  const DrawKey key{.seed = 7, .purpose = Purpose::Noise};
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::int64_t t = draw_below(key, i, 200'200);
    FrameSource fresh(trace);
    Frame replayed = fresh.frame_at(0);
    for (std::int64_t at = 0; at <= t; at += 9'999) fresh.frame_at(std::min(at, t));
    EXPECT_TRUE(same(seeking.frame_at(t), fresh.frame_at(t))) << "t = " << t;
  }
}

TEST(Frame, LateEventsGiveTheSameFrames) {
  const Trace whole = long_trace(8, 1500);
  Trace live;
  live.header = whole.header;
  FrameSource source(live);
  std::vector<Event> held;  // every 97th event arrives 3,000 events late
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i % 97 == 5) {
      held.push_back(whole.events()[i]);
    } else {
      live.append(whole.events()[i]);
    }
    if (i % 3000 == 2999) {
      source.trace_grew();
      source.frame_at(live.end_time());
      for (const Event& e : held) live.append(e);
      held.clear();
    }
  }
  for (const Event& e : held) live.append(e);
  source.trace_grew();
  FrameSource expected(whole);
  for (const std::int64_t t : {0LL, 4'321LL, 77'777LL, 100'000LL, 150'200LL})
    EXPECT_TRUE(same(source.frame_at(t), expected.frame_at(t))) << "t = " << t;
}

TEST(Frame, GapsInNAreCounted) {
  Trace trace = long_trace(2, 10);
  Trace lossy;
  lossy.header = trace.header;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (i % 9 != 4) lossy.append(trace.events()[i]);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) expected += i % 9 == 4 ? 1 : 0;
  FrameSource source(lossy);
  EXPECT_EQ(source.frame_at(lossy.end_time()).missing_events, expected);
}

/// Events that were held back come with a later `n` and an earlier time: nothing is missing. One that comes late
/// fills its gap, wherever in it.
TEST(Trace, WhatIsMissingIsCountedByNumberNotByTime) {
  Trace trace;
  trace.header.world_size = 1;
  const auto append = [&trace](std::uint32_t n, std::int64_t t) {
    Event e;
    e.type = EventType::Heartbeat;
    e.t = t;
    e.n = n;
    e.set_source(Source::rank(0));
    trace.append(e);
  };
  append(0, 100);
  append(1, 500);
  append(2, 200);
  append(3, 210);
  append(4, 600);
  FrameSource source(trace);
  for (const std::int64_t t : {100, 205, 500, 600}) EXPECT_EQ(source.frame_at(t).missing_events, 0) << t;
  append(10, 700);  // 5 … 9 are missing
  source.trace_grew();
  EXPECT_EQ(trace.lost_before(5), 5u);
  EXPECT_EQ(source.frame_at(650).missing_events, 0);
  EXPECT_EQ(source.frame_at(700).missing_events, 5);
  append(7, 650);
  EXPECT_EQ(trace.lost_before(6), 2u);  // 5, 6
  EXPECT_EQ(trace.lost_before(5), 2u);  // 8, 9
  append(7, 651);                       // twice: fills nothing
  append(5, 640);
  append(6, 645);
  append(9, 690);
  append(8, 680);
  source.trace_grew();
  EXPECT_EQ(source.frame_at(700).missing_events, 0);
}

TEST(Trace, OrderIsByTimeThenSourceThenN) {
  Trace trace;
  const DrawKey key{.seed = 3, .purpose = Purpose::Noise};
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    Event e;
    e.t = draw_below(key, i, 1000);
    e.set_source(Source::rank(static_cast<int>(i % 5)));
    trace.emit(e);
  }
  const auto& order = trace.order();
  ASSERT_EQ(order.size(), 20'000u);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Event &a = trace.events()[order[i - 1]], &b = trace.events()[order[i]];
    EXPECT_LE(std::tuple(a.t, a.src_id, a.n), std::tuple(b.t, b.src_id, b.n));
  }
}

TEST(Playhead, StepsByRingStepAndBack) {
  TwoRanks job;
  EXPECT_EQ(next_time(job.trace, StepUnit::RingStep, 0), 15);
  EXPECT_EQ(next_time(job.trace, StepUnit::RingStep, 15), 25);
  EXPECT_EQ(next_time(job.trace, StepUnit::RingStep, 25), 25);
  EXPECT_EQ(previous_time(job.trace, StepUnit::RingStep, 25), 15);
  EXPECT_EQ(previous_time(job.trace, StepUnit::RingStep, 15), 0);
  EXPECT_EQ(next_time(job.trace, StepUnit::Event, 0), 10);
  EXPECT_EQ(previous_time(job.trace, StepUnit::Event, 15), 10);
  EXPECT_EQ(ring_step_end(job.trace, job.coll, 2), 25);
  EXPECT_EQ(ring_step_end(job.trace, job.coll, 3), -1);
}

TEST(Playhead, PlaysPausesAtTheEndAndLoops) {
  Playhead head{.mode = PlayMode::Playing, .speed = 2.0};
  EXPECT_TRUE(head.advance(10, 100));
  EXPECT_EQ(head.t, 20);
  EXPECT_TRUE(head.advance(1000, 100));
  EXPECT_EQ(head.t, 100);
  EXPECT_EQ(head.mode, PlayMode::Paused);
  head.mode = PlayMode::Playing;
  head.loop = true;
  head.advance(1, 100);
  EXPECT_EQ(head.t, 0);
  EXPECT_EQ(head.mode, PlayMode::Playing);
}

TEST(Writer, RingStepLine) {
  TwoRanks job;
  std::string line;
  append_event_json(line, job.trace, job.trace.events()[2]);
  EXPECT_EQ(
      line.substr(0, line.find(",\"digest\"")),
      R"({"t":10,"src":"r0","n":1,"type":"ring_step_begin","comm":"world","seq":1,"channel":0,"loop":0,"step":1,)"
      R"("chunk":1,"peer":1,"bytes":0,"primitive":"send","values":{"dtype":"float32","count":1,"all":[20])");
}

}  // namespace
}  // namespace ringside::sim
