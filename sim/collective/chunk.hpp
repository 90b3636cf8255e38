// How a flat buffer is cut into chunks for the ring: evenly, or as NCCL cuts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/tensor/dtype.hpp"

namespace ringside::sim {

enum class Chunking : std::uint8_t { Even, Nccl };
std::string_view to_word(Chunking chunking);
std::optional<Chunking> chunking_from(std::string_view word);

/// One chunk: a contiguous range of elements that travels as one piece. May be empty (0 elements), and is
/// sent all the same.
struct Chunk {
  std::int64_t offset = 0;
  std::int64_t count = 0;
  std::uint16_t channel = 0;
  std::uint16_t loop = 0;  // nccl chunking: a channel moves world × chunk elements a loop
  std::uint32_t slot = 0;  // 0 … world-1: its place in the ring program
  bool operator==(const Chunk&) const = default;
};

/// All chunks of a buffer, channel-major, then loop, then slot; every (channel, loop) has exactly `slots`
/// chunks.
struct ChunkTable {
  std::int64_t count = 0;
  std::uint32_t slots = 0;
  std::uint16_t channels = 1;
  std::vector<Chunk> chunks;
  /// Index of the chunk that holds an element. 0 <= element < count.
  std::uint32_t chunk_of(std::int64_t element) const;
};

/// Even: q = ⌊count/n⌋, r = count mod n; chunk c holds q + (c < r) elements, in order. With several channels
/// each channel gets an even part and cuts it so.
ChunkTable even_chunks(std::int64_t count, int world_size, int channels = 1);

/// NCCL's Simple protocol (NCCL 2.30.7, src/device/all_reduce.h): channels take equal parts of the buffer (in
/// 16-byte cells); a loop moves n × chunk elements with chunk = `chunk_bytes` (default 2 MiB: 4 steps of 512
/// KiB); the last loop shrinks to ceil(remaining / n) rounded up to 16 bytes. Last chunks may be short or
/// empty.
ChunkTable nccl_chunks(std::int64_t count, DType dtype, int world_size, int channels = 1,
                       std::int64_t chunk_bytes = 2 * 1024 * 1024);

}  // namespace ringside::sim
