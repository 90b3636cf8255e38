// The executor: numbers against plain oracles, every way of getting them against every other, virtual time
// against a table worked out by hand.
#include "sim/collective/executor.hpp"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "collective_oracle.hpp"

namespace ringside::sim {
namespace {

using oracle::Inputs;
using oracle::random_inputs;

const int kWorlds[] = {1, 2, 3, 4, 5, 7, 8, 16};
const std::int64_t kCounts[] = {1, 2, 3, 5, 16, 17, 100, 1000};

/// A ring from its definition alone: slot c starts at position c+1 (NCCL) or c (textbook) and is added to in
/// ring order.
Scalar ring_oracle(const ScheduleRequest& request, ReduceOp op, const Inputs& inputs, std::int64_t element) {
  const int n = request.world_size;
  const std::int64_t q = request.count / n, r = request.count % n;
  std::int64_t slot = 0, end = 0;
  while (element >= (end += q + (slot < r ? 1 : 0))) ++slot;
  const int start = static_cast<int>(slot) + (request.order == RingOrder::Nccl ? 1 : 0);
  Scalar sum = prepare(op, n, inputs[static_cast<std::size_t>(start % n)]->at(element));
  for (int hop = 1; hop < n; ++hop) {
    sum = reduce(op, sum, prepare(op, n, inputs[static_cast<std::size_t>((start + hop) % n)]->at(element)));
  }
  return finish(op, n, sum);
}

TEST(RingNumbers, AreTheRingsOrderBitForBit) {
  for (const int world : kWorlds) {
    for (const std::int64_t count : kCounts) {
      for (const DType dtype : kAllDTypes) {
        const Inputs inputs = random_inputs(dtype, world, count, 11);
        for (const ReduceOp op : kAllOps) {
          for (const RingOrder order : {RingOrder::Nccl, RingOrder::Textbook}) {
            const ScheduleRequest request{
                .order = order, .dtype = dtype, .count = count, .world_size = world};
            const Numbers numbers = execute_numbers(make_schedule(request), op, inputs);
            for (std::int64_t i = 0; i < count; ++i) {
              ASSERT_EQ(numbers.result[0]->at(i), ring_oracle(request, op, inputs, i))
                  << to_word(dtype) << " " << to_word(op) << " world " << world << " count " << count
                  << " at " << i;
            }
            for (const auto& result : numbers.result)
              ASSERT_EQ(result, numbers.result[0]) << "one shared tensor";
          }
        }
      }
    }
  }
}

TEST(NaiveNumbers, AreSumsInRankOrder) {
  for (const int world : kWorlds) {
    for (const int root : {0, world - 1}) {
      for (const DType dtype : kAllDTypes) {
        const Inputs inputs = random_inputs(dtype, world, 17, 5);
        for (const ReduceOp op : kAllOps) {
          const Numbers numbers = execute_numbers(make_schedule({.algorithm = Algorithm::Naive,
                                                                 .dtype = dtype,
                                                                 .count = 17,
                                                                 .world_size = world,
                                                                 .root = root}),
                                                  op, inputs);
          for (std::int64_t i = 0; i < 17; ++i) {
            Scalar sum = prepare(op, world, inputs[static_cast<std::size_t>(root)]->at(i));
            for (int r = 0; r < world; ++r) {
              if (r != root)
                sum = reduce(op, sum, prepare(op, world, inputs[static_cast<std::size_t>(r)]->at(i)));
            }
            ASSERT_EQ(numbers.result.back()->at(i), finish(op, world, sum));
          }
        }
      }
    }
  }
}

TEST(Numbers, TheLesson) {
  // 2, 4, 6, 8 become 20 and then 5; NCCL's avg gets there by halves.
  Inputs inputs;
  for (const double value : {2.0, 4.0, 6.0, 8.0}) {
    auto tensor = std::make_shared<Tensor>(DType::Float32, Shape{{1}});
    tensor->set(0, make_scalar(DType::Float32, value));
    inputs.push_back(tensor);
  }
  const Schedule schedule = make_schedule({.world_size = 4});
  std::vector<double> sums;
  const Numbers numbers = execute_numbers(schedule, ReduceOp::SumThenDivide, inputs,
                                          [&](std::size_t t, auto, auto, std::span<const std::byte> after) {
                                            if (schedule.transfers[t].chunk != 0) return;
                                            float value = 0;
                                            std::memcpy(&value, after.data(), sizeof value);
                                            sums.push_back(static_cast<double>(value));
                                          });
  EXPECT_EQ(sums, (std::vector<double>{10, 18, 20, 20, 20, 20}));
  for (const auto& result : numbers.result) EXPECT_EQ(to_double(result->at(0)), 5);
  EXPECT_EQ(to_double(execute_numbers(schedule, ReduceOp::Avg, inputs).result[3]->at(0)), 5);
  EXPECT_EQ(to_double(inputs[0]->at(0)), 2) << "inputs stay as they are";
}

/// Every way to the numbers of one request: by values, by transfers, with digests, one element at a time, the
/// interpreter.
void check_all_ways(const ScheduleRequest& request, ReduceOp op, const Inputs& inputs) {
  const Schedule schedule = make_schedule(request);
  const Numbers by_values = execute_numbers(schedule, op, inputs);
  const Numbers digested = execute_numbers_with_digests(schedule, op, inputs);
  ASSERT_EQ(digested.digests.size(), schedule.transfers.size());
  std::size_t observed = 0;
  const DType dtype = request.dtype;
  const Numbers by_transfers = execute_numbers(
      schedule, op, inputs,
      [&](std::size_t t, std::span<const std::byte> arrived, std::span<const std::byte> before,
          std::span<const std::byte> after) {
        EXPECT_EQ(t, observed++) << "in schedule order";
        const Transfer& transfer = schedule.transfers[t];
        const Chunk& from = schedule.chunks.chunks[transfer.chunk];
        const Chunk& to = schedule.chunks.chunks[transfer.to_chunk];
        EXPECT_EQ(arrived.size(), static_cast<std::size_t>(from.count * size_of(dtype)));
        EXPECT_EQ(before.size(), after.size());
        EXPECT_EQ(digested.digests[t], digest_of(dtype, arrived));
        if (to.count == 0) return;
        const std::int64_t last = to.offset + to.count - 1;
        Tensor shown(dtype, Shape{{to.count}});
        std::copy(after.begin(), after.end(), shown.data.begin());
        EXPECT_EQ(element_after(schedule, op, inputs, transfer.dst, last, t + 1), shown.at(to.count - 1));
        std::copy(before.begin(), before.end(), shown.data.begin());
        EXPECT_EQ(element_after(schedule, op, inputs, transfer.dst, last, t), shown.at(to.count - 1));
      });
  EXPECT_EQ(observed, schedule.transfers.size());
  const auto want = oracle::finished(schedule, op, inputs);
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    ASSERT_EQ(by_values.result[r]->data, by_transfers.result[r]->data);
    ASSERT_EQ(by_values.result[r]->data, digested.result[r]->data);
    for (std::int64_t i = 0; i < request.count; ++i) {
      ASSERT_EQ(by_values.result[r]->at(i), want[r][static_cast<std::size_t>(i)])
          << "rank " << r << " element " << i;
    }
  }
}

TEST(Numbers, AllWaysAgree) {
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Naive}) {
    for (const int world : {1, 2, 3, 4, 7}) {
      for (const std::int64_t count : {1, 3, 17}) {
        for (const DType dtype : kAllDTypes) {
          const Inputs inputs = random_inputs(dtype, world, count, 3);
          for (const ReduceOp op : kAllOps) {
            check_all_ways({.algorithm = algorithm, .dtype = dtype, .count = count, .world_size = world}, op,
                           inputs);
          }
        }
      }
    }
  }
}

TEST(Numbers, AllWaysAgreeAcrossBlocksChannelsAndLoops) {
  // 5,000 elements a chunk: more than a block. nccl chunking with two channels.
  for (const DType dtype : {DType::Float32, DType::Float16}) {
    check_all_ways({.dtype = dtype, .count = 15001, .world_size = 3}, ReduceOp::Avg,
                   random_inputs(dtype, 3, 15001, 9));
    check_all_ways({.chunking = Chunking::Nccl, .dtype = dtype, .count = 999, .world_size = 4, .channels = 2},
                   ReduceOp::Sum, random_inputs(dtype, 4, 999, 8));
  }
}

// Rank r brings 2^r (or a digit of its own in base 4 for many ranks): the sum shows whose contribution came
// in how often.
TEST(Numbers, EveryContributionExactlyOnce) {
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Naive}) {
    for (int world = 1; world <= 31; ++world) {
      Inputs inputs;
      for (int r = 0; r < world; ++r) {
        auto tensor = std::make_shared<Tensor>(DType::Int64, Shape{{37}});
        for (std::int64_t i = 0; i < 37; ++i) tensor->set(i, {DType::Int64, std::uint64_t{1} << (2 * r)});
        inputs.push_back(tensor);
      }
      const Numbers numbers = execute_numbers(
          make_schedule({.algorithm = algorithm, .dtype = DType::Int64, .count = 37, .world_size = world}),
          ReduceOp::Sum, inputs);
      const std::uint64_t want = 0x5555555555555555ULL & ((std::uint64_t{1} << (2 * world)) - 1);
      for (const auto& result : numbers.result) {
        for (std::int64_t i = 0; i < 37; ++i) ASSERT_EQ(result->at(i).bits, want);
      }
    }
  }
}

// --- time
// --------------------------------------------------------------------------------------------------------------

Topology four_in_two_pairs(LinkSpec inside, LinkSpec between) {
  Topology topology{.world_size = 4, .gpus_per_node = 2, .intra = inside, .inter = between, .overrides = {}};
  return topology;
}

struct Moment {
  std::int64_t start, arrive, done;
};

// Four ranks, one float32 a chunk, 3.4 µs for it inside a pair and 5.7 µs between pairs, 0.3 µs a reduction.
// Worked out by an independent script; in schedule order. The slow link is never idle: 6 × 5.7 = 34.2 µs.
TEST(Times, GoldenRingOfFour) {
  const Moment want[24] = {
      {0, 3400, 3700},       {0, 5700, 6000},       {0, 3400, 3700},       {0, 5700, 6000},
      {6000, 9400, 9700},    {5700, 11400, 11700},  {6000, 9400, 9700},    {5700, 11400, 11700},
      {11700, 15100, 15400}, {11400, 17100, 17400}, {11700, 15100, 15400}, {11400, 17100, 17400},
      {17400, 20800, 20800}, {17100, 22800, 22800}, {17400, 20800, 20800}, {17100, 22800, 22800},
      {22800, 26200, 26200}, {22800, 28500, 28500}, {22800, 26200, 26200}, {22800, 28500, 28500},
      {28500, 31900, 31900}, {28500, 34200, 34200}, {28500, 31900, 31900}, {28500, 34200, 34200}};
  // 4 bytes in exactly 3,400 ns and 5,700 ns.
  const Topology topology = four_in_two_pairs({0, 1'176'471}, {0, 701'755});
  const Schedule schedule = make_schedule({.count = 4, .world_size = 4});
  const std::vector<std::int64_t> arrival(4, 0);
  const ExecutionTimes times = execute_times(schedule, DType::Float32, topology, arrival, 300);
  for (std::size_t t = 0; t < 24; ++t) {
    EXPECT_EQ(times.transfers[t].start, want[t].start) << t;
    EXPECT_EQ(times.transfers[t].arrive, want[t].arrive) << t;
    EXPECT_EQ(times.transfers[t].done, want[t].done) << t;
  }
  EXPECT_EQ(times.finish, (std::vector<std::int64_t>{34200, 34200, 34200, 34200}));
}

// The same as latencies: chunks follow each other on the link, and a chunk's way of six hops is what takes
// the time.
TEST(Times, LatenciesOverlap) {
  const Topology topology = four_in_two_pairs({3400, 1'000'000'000'000}, {5700, 1'000'000'000'000});
  const std::vector<std::int64_t> arrival(4, 0);
  const ExecutionTimes times =
      execute_times(make_schedule({.count = 4, .world_size = 4}), DType::Float32, topology, arrival, 300);
  // 3 × (3.4 + 5.7) µs, 3 reductions, 6 × 1 ns of wire.
  EXPECT_EQ(times.finish, (std::vector<std::int64_t>{28206, 28206, 28206, 28206}));
}

TEST(Times, ALateRankHoldsAllUp) {
  const Topology topology{
      .world_size = 4, .gpus_per_node = 4, .intra = {1000, 1'000'000'000}, .inter = {}, .overrides = {}};
  const Schedule schedule = make_schedule({.count = 400, .world_size = 4});
  const std::vector<std::int64_t> arrival{0, 0, 50'000, 0};
  const ExecutionTimes times = execute_times(schedule, DType::Float32, topology, arrival, 0);
  // Rank 3 waits for rank 2 in ring step 1; rank 2's own input was there long before it came.
  const TransferTimes& into_late = times.transfers[1];  // 1 -> 2
  EXPECT_EQ(into_late.arrive, 400 + 1000);
  EXPECT_EQ(into_late.done, 50'000);
  EXPECT_EQ(into_late.wait_from, 50'000);
  const TransferTimes& from_late = times.transfers[2];  // 2 -> 3
  EXPECT_EQ(from_late.start, 50'000);
  EXPECT_EQ(from_late.wait_from, 0);
  for (const std::int64_t finish : times.finish) EXPECT_GE(finish, 50'000);
}

TEST(Times, GatherQueuesAtTheRoot) {
  const Topology topology{
      .world_size = 4, .gpus_per_node = 4, .intra = {10, 1'000'000'000}, .inter = {}, .overrides = {}};
  const Schedule schedule = make_schedule({.algorithm = Algorithm::Naive, .count = 250, .world_size = 4});
  std::vector<std::int64_t> arrival(4, 0);
  const ExecutionTimes times = execute_times(schedule, DType::Float32, topology, arrival, 5);
  EXPECT_EQ(times.transfers[0].start, 0);
  EXPECT_EQ(times.transfers[1].start, 1000) << "the root's port takes one at a time";
  EXPECT_EQ(times.transfers[2].start, 2000);
  EXPECT_EQ(times.transfers[2].done, 3015);
  EXPECT_EQ(times.transfers[3].start, 3015);
  EXPECT_EQ(times.transfers[5].done, 3015 + 3000 + 10);
  // The sum is in the order of the ranks: what came early waits for rank 1.
  arrival[1] = 10'000;
  const ExecutionTimes late = execute_times(schedule, DType::Float32, topology, arrival, 5);
  EXPECT_EQ(late.transfers[1].arrive, 1010);
  EXPECT_EQ(late.transfers[0].done, 11'015);
  EXPECT_EQ(late.transfers[1].done, 11'020);
  EXPECT_EQ(late.transfers[2].done, 11'025);
}

TEST(Times, WireIsExactIn128Bits) {
  EXPECT_EQ(wire_ns(0, 1), 0);
  EXPECT_EQ(wire_ns(1, 1'000'000'000), 1);
  EXPECT_EQ(wire_ns(1, 240'000'000'000), 1);
  EXPECT_EQ(wire_ns(100'000'000, 240'000'000'000), 416'667);
  EXPECT_EQ(wire_ns(std::int64_t{1} << 60, 1'000'000'000'000), 1'152'921'504'606'847);
}

/// A random request and topology with links, arrivals and reductions that collide now and then.
struct TimeCase {
  ScheduleRequest request;
  Topology topology;
  std::vector<std::int64_t> arrival;
  std::int64_t reduce_ns = 0;
};

TimeCase random_time_case() {
  TimeCase out;
  const int world = *rc::gen::inRange(1, 13);
  out.request = {.order = *rc::gen::element(RingOrder::Nccl, RingOrder::Textbook),
                 .chunking = *rc::gen::element(Chunking::Even, Chunking::Nccl),
                 .dtype = *rc::gen::elementOf(kAllDTypes),
                 .count = *rc::gen::element<std::int64_t>(1, 5, 17, 100, 4096, 3'000'000),
                 .world_size = world,
                 .channels = *rc::gen::inRange(1, 5)};
  const auto link = [] {
    return LinkSpec{*rc::gen::element<std::int64_t>(0, 1, 100, 3400),
                    *rc::gen::element<std::int64_t>(1'000'000, 1'000'000'000, 240'000'000'000)};
  };
  out.topology = {.world_size = world,
                  .gpus_per_node = *rc::gen::inRange(1, 9),
                  .intra = link(),
                  .inter = link(),
                  .overrides = {}};
  if (world > 2 && *rc::gen::arbitrary<bool>()) out.topology.overrides.push_back({1, 2, link()});
  for (int r = 0; r < world; ++r)
    out.arrival.push_back(*rc::gen::element<std::int64_t>(0, 0, 7, 5000, 1'000'000));
  out.reduce_ns = *rc::gen::element<std::int64_t>(0, 1, 300, 100'000);
  return out;
}

RC_GTEST_PROP(Times, RingWithoutAScheduleGivesTheSame, ()) {
  const TimeCase c = random_time_case();
  const ExecutionTimes times =
      execute_times(make_schedule(c.request), c.request.dtype, c.topology, c.arrival, c.reduce_ns);
  RC_ASSERT(ring_finish_times(c.request, c.topology, c.arrival, c.reduce_ns) == times.finish);
}

// A long reduction must not let the next chunk overtake: position p's all-gather sends leave in program
// order.
TEST(Times, SendsOfARingLeaveInProgramOrder) {
  const Topology topology{
      .world_size = 6, .gpus_per_node = 6, .intra = {100, 1'000'000'000}, .inter = {}, .overrides = {}};
  const ScheduleRequest request{.count = 6, .world_size = 6};
  const Schedule s = make_schedule(request);
  const std::vector<std::int64_t> arrival{5000, 0, 7, 0, 0, 0};
  const ExecutionTimes times = execute_times(s, DType::Float32, topology, arrival, 100'000);
  std::vector<std::int64_t> last(6, -1);
  for (std::size_t t = 0; t < s.transfers.size(); ++t) {
    std::int64_t& before = last[static_cast<std::size_t>(s.transfers[t].src)];
    EXPECT_GE(times.transfers[t].start, before + 4 * (before >= 0));
    before = times.transfers[t].start;
  }
}

RC_GTEST_PROP(Times, NoEffectBeforeItsCause, ()) {
  TimeCase c = random_time_case();
  if (*rc::gen::arbitrary<bool>()) c.request.algorithm = Algorithm::Naive;
  const Schedule s = make_schedule(c.request);
  const ExecutionTimes times = execute_times(s, c.request.dtype, c.topology, c.arrival, c.reduce_ns);
  std::vector<std::int64_t> ready(static_cast<std::size_t>(c.request.world_size) * s.chunks.chunks.size());
  for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = c.arrival[i / s.chunks.chunks.size()];
  std::vector<std::int64_t> now = ready;
  for (std::size_t t = 0; t < s.transfers.size(); ++t) {
    const Transfer& x = s.transfers[t];
    if (t > 0 && s.transfers[t - 1].step != x.step) ready = now;
    const auto cell = [&](std::int32_t rank) {
      return static_cast<std::size_t>(rank) * s.chunks.chunks.size() + x.chunk;
    };
    const LinkSpec link = c.topology.link(x.src, x.dst);
    const std::int64_t wire =
        wire_ns(s.chunks.chunks[x.chunk].count * size_of(c.request.dtype), link.bytes_per_s);
    const TransferTimes& at = times.transfers[t];
    RC_ASSERT(at.start >= ready[cell(x.src)]);
    RC_ASSERT(at.arrive == at.start + wire + link.latency_ns);
    RC_ASSERT(at.done >=
              std::max(at.arrive, now[cell(x.dst)]) + (x.action == Action::Reduce ? c.reduce_ns : 0));
    RC_ASSERT(times.finish[static_cast<std::size_t>(x.dst)] >= at.done);
    RC_ASSERT(times.finish[static_cast<std::size_t>(x.src)] >= at.start + wire);
    now[cell(x.dst)] = at.done;
  }
}

}  // namespace
}  // namespace ringside::sim
