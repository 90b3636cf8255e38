#include "sim/collective/chunk.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/check.hpp"

namespace ringside::sim {
namespace {

/// Cuts `count` elements from `offset` on into `parts` contiguous even parts, as chunks of one channel and
/// loop.
void append_even(ChunkTable& table, std::int64_t offset, std::int64_t count, std::uint16_t channel) {
  const std::int64_t parts = table.slots;
  for (std::int64_t c = 0; c < parts; ++c) {
    const std::int64_t size = count / parts + (c < count % parts ? 1 : 0);
    table.chunks.push_back({offset, size, channel, 0, static_cast<std::uint32_t>(c)});
    offset += size;
  }
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

std::string_view to_word(Chunking chunking) {
  return chunking == Chunking::Even ? "even" : "nccl";
}

std::optional<Chunking> chunking_from(std::string_view word) {
  for (const Chunking chunking : {Chunking::Even, Chunking::Nccl}) {
    if (to_word(chunking) == word) return chunking;
  }
  return std::nullopt;
}

std::uint32_t ChunkTable::chunk_of(std::int64_t element) const {
  RINGSIDE_CHECK_LE(0, element);
  RINGSIDE_CHECK_LT(element, count);
  // Offsets never fall from one chunk to the next, and an empty chunk has the offset of the next one that is
  // not: the last chunk that begins at or before the element holds it.
  const auto after = std::upper_bound(chunks.begin(), chunks.end(), element,
                                      [](std::int64_t e, const Chunk& chunk) { return e < chunk.offset; });
  return static_cast<std::uint32_t>(after - chunks.begin() - 1);
}

ChunkTable even_chunks(std::int64_t count, int world_size, int channels) {
  RINGSIDE_CHECK(count >= 0 && world_size >= 1 && channels >= 1);
  ChunkTable table{count, static_cast<std::uint32_t>(world_size), static_cast<std::uint16_t>(channels), {}};
  table.chunks.reserve(static_cast<std::size_t>(world_size) * static_cast<std::size_t>(channels));
  std::int64_t offset = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const std::int64_t size = count / channels + (channel < count % channels ? 1 : 0);
    append_even(table, offset, size, static_cast<std::uint16_t>(channel));
    offset += size;
  }
  return table;
}

ChunkTable nccl_chunks(std::int64_t count, DType dtype, int world_size, int channels,
                       std::int64_t chunk_bytes) {
  RINGSIDE_CHECK(count >= 0 && world_size >= 1 && channels >= 1 && chunk_bytes >= 16);
  constexpr std::int64_t kCellBytes = 16;
  const std::int64_t cell = kCellBytes / size_of(dtype);
  const std::int64_t full_chunk = chunk_bytes / kCellBytes * cell;
  // All channels take the same number of cells; the last ones may get fewer, and one that would get none is
  // not used.
  const std::int64_t per_channel =
      std::max<std::int64_t>(1, ceil_div(ceil_div(count, cell), channels)) * cell;
  ChunkTable table{count, static_cast<std::uint32_t>(world_size), 0, {}};
  for (std::int64_t begin = 0; begin < count || begin == 0; begin += per_channel, ++table.channels) {
    const std::int64_t channel_count = std::min(per_channel, count - begin);
    std::int64_t done = 0, loop = 0;
    do {
      RINGSIDE_CHECK_LE(loop, std::numeric_limits<std::uint16_t>::max());
      const std::int64_t left = channel_count - done;
      const std::int64_t chunk =
          left >= full_chunk * world_size ? full_chunk : ceil_div(ceil_div(left, world_size), cell) * cell;
      for (std::int64_t slot = 0; slot < world_size; ++slot) {
        const std::int64_t from = std::min(slot * chunk, left), to = std::min(from + chunk, left);
        table.chunks.push_back({begin + done + from, to - from, table.channels,
                                static_cast<std::uint16_t>(loop), static_cast<std::uint32_t>(slot)});
      }
      done += std::min(left, full_chunk * world_size);
      ++loop;
    } while (done < channel_count);
  }
  return table;
}

}  // namespace ringside::sim
