// Cutting a buffer into chunks: evenly, and as NCCL does.
#include "sim/collective/chunk.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ringside::sim {
namespace {

std::vector<std::int64_t> counts(const ChunkTable& table) {
  std::vector<std::int64_t> out;
  for (const Chunk& chunk : table.chunks) out.push_back(chunk.count);
  return out;
}

/// What every table must be: contiguous, complete, in order, each (channel, loop) with all its slots.
void check_table(const ChunkTable& table, std::int64_t count) {
  RC_ASSERT(table.count == count);
  RC_ASSERT(table.chunks.size() % table.slots == 0u);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < table.chunks.size(); ++i) {
    const Chunk& chunk = table.chunks[i];
    RC_ASSERT(chunk.offset == offset);
    RC_ASSERT(chunk.count >= 0);
    RC_ASSERT(chunk.slot == i % table.slots);
    offset += chunk.count;
    if (chunk.count > 0) {
      RC_ASSERT(table.chunk_of(chunk.offset) == i);
      RC_ASSERT(table.chunk_of(chunk.offset + chunk.count - 1) == i);
    }
    if (i == 0) continue;
    const Chunk& last = table.chunks[i - 1];
    RC_ASSERT(std::tie(last.channel, last.loop, last.slot) < std::tie(chunk.channel, chunk.loop, chunk.slot));
  }
  RC_ASSERT(offset == count);
  RC_ASSERT(table.channels == table.chunks.back().channel + 1);
}

TEST(EvenChunks, TheFirstOnesTakeTheRemainder) {
  EXPECT_EQ(counts(even_chunks(10, 4)), (std::vector<std::int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(counts(even_chunks(2, 4)), (std::vector<std::int64_t>{1, 1, 0, 0}));
  EXPECT_EQ(counts(even_chunks(1, 1)), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(counts(even_chunks(7, 2, 2)), (std::vector<std::int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(counts(even_chunks(1, 2, 2)), (std::vector<std::int64_t>{1, 0, 0, 0}));
}

TEST(NcclChunks, LoopsAndATailRoundedTo16Bytes) {
  // 4 ranks, chunk 64 bytes = 16 float32: a loop moves 64; 100 = one loop and 36, cut ceil(36/4) = 9, up
  // to 12.
  const ChunkTable table = nccl_chunks(100, DType::Float32, 4, 1, 64);
  EXPECT_EQ(counts(table), (std::vector<std::int64_t>{16, 16, 16, 16, 12, 12, 12, 0}));
  EXPECT_EQ(table.chunks[4].loop, 1);
  // The published wrong tail: both ranks' counts make chunks of 51,200; the last one has 51,200 or 51,198.
  EXPECT_EQ(counts(nccl_chunks(409600, DType::Float32, 8)), std::vector<std::int64_t>(8, 51200));
  auto tail = std::vector<std::int64_t>(8, 51200);
  tail.back() = 51198;
  EXPECT_EQ(counts(nccl_chunks(409598, DType::Float32, 8)), tail);
  // 2 MiB chunks by default: 2 ranks and 9 MiB of float16 make two full loops and one of 512 KiB chunks.
  const ChunkTable big = nccl_chunks(9 * 524288, DType::Float16, 2);
  ASSERT_EQ(big.chunks.size(), 6u);
  EXPECT_EQ(big.chunks[0].count, 1048576);
  EXPECT_EQ(big.chunks[4].count, 262144);
}

TEST(NcclChunks, ChannelsTakeCells) {
  // 10 float32 = 3 cells of 4; two channels: 2 cells and the rest. A third channel would get nothing.
  const ChunkTable table = nccl_chunks(10, DType::Float32, 2, 2);
  EXPECT_EQ(counts(table), (std::vector<std::int64_t>{4, 4, 2, 0}));
  EXPECT_EQ(nccl_chunks(10, DType::Float32, 2, 16).channels, 3);
  EXPECT_EQ(nccl_chunks(1, DType::Float64, 3, 16).channels, 1);
}

RC_GTEST_PROP(Chunks, EvenTablesCoverTheBuffer, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(1, 5000);
  check_table(even_chunks(count, *rc::gen::inRange(1, 40), *rc::gen::inRange(1, 9)), count);
}

RC_GTEST_PROP(Chunks, NcclTablesCoverTheBuffer, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(1, 5000);
  const DType dtype = kAllDTypes[*rc::gen::inRange<std::size_t>(0, kAllDTypes.size())];
  const int world = *rc::gen::inRange(1, 20);
  const ChunkTable table =
      nccl_chunks(count, dtype, world, *rc::gen::inRange(1, 9), *rc::gen::inRange(16, 500));
  check_table(table, count);
  for (const Chunk& chunk : table.chunks)
    RC_ASSERT(chunk.offset * size_of(dtype) % 16 == 0 || chunk.count == 0);
}

TEST(Words, Chunking) {
  EXPECT_EQ(chunking_from("nccl"), Chunking::Nccl);
  EXPECT_EQ(chunking_from(to_word(Chunking::Even)), Chunking::Even);
  EXPECT_FALSE(chunking_from("odd"));
}

}  // namespace
}  // namespace ringside::sim
