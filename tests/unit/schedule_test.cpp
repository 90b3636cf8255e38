// Schedules: NCCL's ring program step by step, the textbook's, naive; the order of transfers, primitives,
// bytes, words.
#include "sim/collective/schedule.hpp"

#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

namespace ringside::sim {
namespace {

Schedule ring(int world_size, RingOrder order = RingOrder::Nccl, std::int64_t count = 12) {
  return make_schedule({.order = order, .count = count, .world_size = world_size});
}

TEST(Words, RoundTrip) {
  for (int i = 0; i < 6; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(collective_from(to_word(collective)), collective);
  }
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(algorithm_from(to_word(algorithm)), algorithm);
  }
  for (int i = 0; i < 7; ++i) {
    const auto primitive = static_cast<Primitive>(i);
    EXPECT_EQ(primitive_from(to_word(primitive)), primitive);
  }
  EXPECT_EQ(to_word(Primitive::RecvReduceCopySend), "recvReduceCopySend");
  EXPECT_EQ(ring_order_from("textbook"), RingOrder::Textbook);
  EXPECT_FALSE(ring_order_from(""));
  EXPECT_FALSE(algorithm_from("Ring"));
  EXPECT_FALSE(collective_from("allreduce"));
}

// The table of nccl-model: position r sends chunk r-1 first and owns chunk r after the reduce-scatter.
TEST(Ring, NcclOrderOfFour) {
  const Schedule s = ring(4);
  EXPECT_EQ(s.steps, 6u);
  EXPECT_EQ(s.reduce_steps, 3u);
  ASSERT_EQ(s.transfers.size(), 24u);
  const std::uint32_t want[6][4] = {{3, 0, 1, 2}, {2, 3, 0, 1}, {1, 2, 3, 0},
                                    {0, 1, 2, 3}, {3, 0, 1, 2}, {2, 3, 0, 1}};
  for (std::size_t t = 0; t < 24; ++t) {
    const Transfer& x = s.transfers[t];
    EXPECT_EQ(x.step, t / 4 + 1);
    EXPECT_EQ(x.src, static_cast<int>(t % 4));
    EXPECT_EQ(x.dst, static_cast<int>((t + 1) % 4));
    EXPECT_EQ(x.chunk, want[t / 4][t % 4]);
    EXPECT_EQ(x.to_chunk, x.chunk);
    EXPECT_EQ(x.action, t < 12 ? Action::Reduce : Action::Copy);
  }
}

TEST(Ring, TextbookOrderOfFour) {
  const Schedule s = ring(4, RingOrder::Textbook);
  const std::uint32_t want[6][4] = {{0, 1, 2, 3}, {3, 0, 1, 2}, {2, 3, 0, 1},
                                    {1, 2, 3, 0}, {0, 1, 2, 3}, {3, 0, 1, 2}};
  for (std::size_t t = 0; t < 24; ++t) EXPECT_EQ(s.transfers[t].chunk, want[t / 4][t % 4]);
}

TEST(Ring, OwnersAfterReduceScatter) {
  for (const RingOrder order : {RingOrder::Nccl, RingOrder::Textbook}) {
    for (const int n : {2, 3, 4, 7}) {
      const Schedule s = ring(n, order);
      for (const Transfer& x : s.transfers) {
        if (x.step != s.reduce_steps) continue;
        EXPECT_EQ(owner_after_reduce_scatter(order, n, s.chunks.chunks[x.chunk].slot), x.dst);
        EXPECT_EQ(static_cast<int>(x.chunk), order == RingOrder::Nccl ? x.dst : (x.dst + 1) % n);
      }
    }
  }
}

// What a rank does: send; n-2 × recvReduceSend; recvReduceCopySend; n-2 × recvCopySend; recv. Both ends of
// the list of transfers say so: as the receiver of ring step s and as the sender of step s+1.
TEST(Ring, PrimitivesOfEveryRank) {
  for (const int n : {2, 3, 5, 8}) {
    std::vector<Primitive> want{Primitive::Send};
    want.insert(want.end(), static_cast<std::size_t>(n - 2), Primitive::RecvReduceSend);
    want.push_back(Primitive::RecvReduceCopySend);
    want.insert(want.end(), static_cast<std::size_t>(n - 2), Primitive::RecvCopySend);
    want.push_back(Primitive::Recv);
    ASSERT_EQ(want.size(), static_cast<std::size_t>(2 * n - 1));
    for (const Transfer& x : ring(n).transfers) {
      EXPECT_EQ(x.sender_primitive, want[x.step - 1]);
      EXPECT_EQ(x.receiver_primitive, want[x.step]);
    }
  }
}

TEST(Ring, EveryChunkMoves2NMinus2TimesAndBytesAreTheOptimum) {
  for (const int n : {2, 3, 4, 5, 8, 16}) {
    for (const std::int64_t count : {1, 3, 16, 17, 720}) {
      const Schedule s = ring(n, RingOrder::Nccl, count);
      EXPECT_EQ(s.steps, 2u * static_cast<unsigned>(n - 1));
      for (std::uint32_t c = 0; c < s.chunks.chunks.size(); ++c) {
        EXPECT_EQ(s.transfers_into(c).size(), 2u * static_cast<unsigned>(n - 1));
      }
      if (count % n != 0) continue;
      for (int r = 0; r < n; ++r) EXPECT_EQ(bytes_sent(s, DType::Float32, r), 2 * (n - 1) * count / n * 4);
    }
  }
}

TEST(Ring, ChannelsAndLoopsEachRunTheProgram) {
  const Schedule s =
      make_schedule({.chunking = Chunking::Nccl, .count = 3 << 20, .world_size = 2, .channels = 2});
  // 6 MiB per channel: one loop of 2 × 2 MiB and one of 2 × 1 MiB.
  EXPECT_EQ(s.chunks.chunks.size(), 8u);
  EXPECT_EQ(s.transfers.size(), 16u);
  EXPECT_EQ(s.steps, 2u);
  auto key = std::tuple(0u, 0, 0, -1);
  for (const Transfer& x : s.transfers) {
    const Chunk& chunk = s.chunks.chunks[x.chunk];
    const auto next =
        std::tuple(x.step, static_cast<int>(chunk.channel), static_cast<int>(chunk.loop), x.src);
    EXPECT_LT(key, next) << "ordered by (step, channel, loop, src)";
    key = next;
  }
}

TEST(Naive, GathersInRankOrderAndSendsBack) {
  const Schedule s = make_schedule({.algorithm = Algorithm::Naive, .count = 5, .world_size = 4, .root = 2});
  ASSERT_EQ(s.transfers.size(), 6u);
  EXPECT_EQ(s.steps, 6u);
  EXPECT_EQ(s.reduce_steps, 3u);
  const int others[] = {0, 1, 3};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(s.transfers[i].src, others[i]);
    EXPECT_EQ(s.transfers[i].dst, 2);
    EXPECT_EQ(s.transfers[i + 3].dst, others[i]);
  }
  EXPECT_EQ(bytes_sent(s, DType::Float64, 2), 3 * 5 * 8);
  EXPECT_EQ(bytes_sent(s, DType::Float64, 0), 5 * 8);
}

TEST(Problems, AreNamed) {
  EXPECT_FALSE(schedule_problem({}));
  EXPECT_EQ(make_schedule({}).transfers.size(), 0u);
  EXPECT_TRUE(schedule_problem({.count = 0}));
  EXPECT_TRUE(schedule_problem({.world_size = 0}));
  EXPECT_TRUE(schedule_problem({.world_size = 4, .channels = 65}));
  EXPECT_EQ(schedule_problem({.world_size = 4, .root = 4}), "root 4 of 4 ranks");
  // 2 ranks and one channel: 65,536 loops of 4 MiB, one more than a chunk can name.
  const std::int64_t most = std::int64_t{65536} * 2 * 2097152 / 4;
  EXPECT_FALSE(schedule_problem({.chunking = Chunking::Nccl, .count = most, .world_size = 2}));
  EXPECT_TRUE(schedule_problem({.chunking = Chunking::Nccl, .count = most + 1, .world_size = 2}));
}

}  // namespace
}  // namespace ringside::sim
