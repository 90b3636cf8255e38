#include "sim/collective/schedule.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/collective/builders.hpp"

namespace ringside::sim {
namespace {

constexpr std::array<std::string_view, 6> kCollectiveWords{"all_reduce", "reduce_scatter", "all_gather",
                                                           "broadcast",  "reduce",         "all_to_all"};
constexpr std::array<std::string_view, kAlgorithmCount> kAlgorithmWords{
    "ring", "naive", "recursive_doubling", "rabenseifner", "binomial_tree", "tree", "hierarchical", "nvls"};
constexpr std::array<std::string_view, 7> kPrimitiveWords{
    "send", "recv", "recvReduceSend", "recvReduceCopySend", "recvCopySend", "recvReduce", "recvReduceCopy"};

template <class E, std::size_t N>
std::optional<E> find_word(const std::array<std::string_view, N>& words, std::string_view word) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) return std::nullopt;
  return static_cast<E>(at - words.begin());
}

/// Sorts by (step, channel, loop, src, chunk) and fills the index of transfers by the receiver's chunk.
void order_transfers(Schedule& schedule) {
  const auto& chunks = schedule.chunks.chunks;
  std::stable_sort(schedule.transfers.begin(), schedule.transfers.end(),
                   [&](const Transfer& a, const Transfer& b) {
                     const Chunk &x = chunks[a.chunk], &y = chunks[b.chunk];
                     return std::tie(a.step, x.channel, x.loop, a.src, a.chunk, a.dst) <
                            std::tie(b.step, y.channel, y.loop, b.src, b.chunk, b.dst);
                   });
  schedule.steps = schedule.transfers.empty() ? 0 : schedule.transfers.back().step;

  auto& first = schedule.chunk_first;
  first.assign(chunks.size() + 1, 0);
  for (const Transfer& transfer : schedule.transfers) ++first[transfer.to_chunk + 1];
  for (std::size_t c = 0; c < chunks.size(); ++c) first[c + 1] += first[c];
  schedule.chunk_transfers.resize(schedule.transfers.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t t = 0; t < schedule.transfers.size(); ++t) {
    schedule.chunk_transfers[next[schedule.transfers[t].to_chunk]++] = t;
  }
}

}  // namespace

std::string_view to_word(Collective collective) {
  return kCollectiveWords.at(static_cast<std::size_t>(collective));
}
std::optional<Collective> collective_from(std::string_view word) {
  return find_word<Collective>(kCollectiveWords, word);
}
std::string_view to_word(Algorithm algorithm) {
  return kAlgorithmWords.at(static_cast<std::size_t>(algorithm));
}
std::optional<Algorithm> algorithm_from(std::string_view word) {
  return find_word<Algorithm>(kAlgorithmWords, word);
}
std::string_view to_word(RingOrder order) {
  return order == RingOrder::Nccl ? "nccl" : "textbook";
}
std::optional<RingOrder> ring_order_from(std::string_view word) {
  if (word == "nccl") return RingOrder::Nccl;
  if (word == "textbook") return RingOrder::Textbook;
  return std::nullopt;
}
std::string_view to_word(Primitive primitive) {
  return kPrimitiveWords.at(static_cast<std::size_t>(primitive));
}
std::optional<Primitive> primitive_from(std::string_view word) {
  return find_word<Primitive>(kPrimitiveWords, word);
}

ChunkTable cut_chunks(const ScheduleRequest& request, int slots) {
  if (request.chunking == Chunking::Even) return even_chunks(request.count, slots, request.channels);
  return nccl_chunks(request.count, request.dtype, slots, request.channels);
}

std::optional<std::string> schedule_problem(const ScheduleRequest& request) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  if (request.world_size < 1) return "a world of " + number(request.world_size) + " ranks";
  if (request.count < 1) return "a count of " + number(request.count);
  if (request.channels < 1 || request.channels > 64)
    return number(request.channels) + " channels (legal: 1 to 64)";
  if (request.root < 0 || request.root >= request.world_size) {
    return "root " + number(request.root) + " of " + number(request.world_size) + " ranks";
  }
  if (request.chunking == Chunking::Nccl) {
    // A chunk names its loop in 16 bits. nccl_chunks cuts 2 MiB a chunk, world_size chunks a loop.
    constexpr std::int64_t kMostLoops = 65536, kChunkBytes = 2 * 1024 * 1024;
    const std::int64_t slots = request.algorithm == Algorithm::Naive ? 1 : request.world_size;
    if (request.count / request.channels / (kMostLoops * slots) > kChunkBytes / size_of(request.dtype) ||
        request.count > kMostLoops * slots * request.channels * (kChunkBytes / size_of(request.dtype))) {
      return "too many loops of " + number(slots) + " chunks of 2 MiB (use chunking even)";
    }
  }
  const bool known = request.algorithm == Algorithm::Ring || request.algorithm == Algorithm::Naive;
  if (!known || request.collective != Collective::AllReduce) {
    return std::string(to_word(request.algorithm)) + " has no " + std::string(to_word(request.collective));
  }
  return std::nullopt;
}

Schedule make_schedule(const ScheduleRequest& request) {
  const auto problem = schedule_problem(request);
  RINGSIDE_CHECK_EQ(problem.value_or(""), "");
  Schedule schedule;
  schedule.collective = request.collective;
  schedule.algorithm = request.algorithm;
  schedule.order = request.order;
  schedule.world_size = request.world_size;
  switch (request.algorithm) {
    case Algorithm::Naive:
      build_naive(request, schedule);
      break;
    default:
      build_ring(request, schedule);
      break;
  }
  order_transfers(schedule);
  return schedule;
}

std::span<const std::uint32_t> Schedule::transfers_into(std::uint32_t chunk) const {
  return std::span(chunk_transfers).subspan(chunk_first[chunk], chunk_first[chunk + 1] - chunk_first[chunk]);
}

std::int64_t bytes_sent(const Schedule& schedule, DType dtype, int rank) {
  std::int64_t elements = 0;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.src == rank) elements += schedule.chunks.chunks[transfer.chunk].count;
  }
  return elements * size_of(dtype);
}

}  // namespace ringside::sim
