#include "sim/collective/schedule.hpp"

#include <algorithm>
#include <array>
#include <map>
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

/// Sorts by (step, channel, loop, src), one sender's transfers of a step as they were made, and fills the
/// index of transfers by the receiver's chunk.
void order_transfers(Schedule& schedule) {
  const auto& chunks = schedule.chunks.chunks;
  std::stable_sort(
      schedule.transfers.begin(), schedule.transfers.end(), [&](const Transfer& a, const Transfer& b) {
        const Chunk &x = chunks[a.chunk], &y = chunks[b.chunk];
        return std::tie(a.step, x.channel, x.loop, a.src) < std::tie(b.step, y.channel, y.loop, b.src);
      });
  schedule.steps = schedule.transfers.empty() ? 0 : schedule.transfers.back().step;
  schedule.reduce_steps = 0;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.action == Action::Reduce)
      schedule.reduce_steps = std::max(schedule.reduce_steps, transfer.step);
  }

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
  return nccl_chunks(request.count, request.dtype, slots, request.channels, kRingChunkBytes);
}

namespace {

using Problem = std::optional<std::string>;

std::string number(std::int64_t value) {
  return std::to_string(value);
}

/// Which collectives an algorithm has.
bool has_collective(Algorithm algorithm, Collective collective) {
  if (collective == Collective::AllReduce || algorithm == Algorithm::Ring) return true;
  const bool rooted = collective == Collective::Broadcast || collective == Collective::Reduce;
  return rooted && (algorithm == Algorithm::Naive || algorithm == Algorithm::BinomialTree);
}

Problem numbers_problem(const ScheduleRequest& request) {
  if (request.world_size < 1) return "a world of " + number(request.world_size) + " ranks";
  if (request.count < 1) return "a count of " + number(request.count);
  if (request.channels < 1 || request.channels > 64)
    return number(request.channels) + " channels (legal: 1 to 64)";
  if (request.root < 0 || request.root >= request.world_size) {
    return "root " + number(request.root) + " of " + number(request.world_size) + " ranks";
  }
  if (request.gpus_per_node < 0) return number(request.gpus_per_node) + " GPUs per node";
  return std::nullopt;
}

/// A chunk names its loop in 16 bits.
Problem loops_problem(const ScheduleRequest& request) {
  if (request.chunking == Chunking::Even) return std::nullopt;
  constexpr std::int64_t kMostLoops = 65536;
  const bool tree = request.algorithm == Algorithm::NcclTree;
  std::int64_t slots = 1;
  if (request.algorithm == Algorithm::Ring || request.algorithm == Algorithm::Hierarchical)
    slots = request.world_size;
  if (request.algorithm == Algorithm::Rabenseifner) slots = floor_power_of_two(request.world_size);
  if (request.algorithm == Algorithm::Nvls) slots = local_size(request);
  const std::int64_t per_loop =
      slots * request.channels * ((tree ? kTreeStepBytes : kRingChunkBytes) / size_of(request.dtype));
  if (request.count / kMostLoops < per_loop || request.count == kMostLoops * per_loop) return std::nullopt;
  return number(request.count) + " elements, which chunking nccl cuts into more than 65,536 loops (use even)";
}

Problem rings_problem(const ScheduleRequest& request) {
  for (const std::vector<int>& ring : request.rings) {
    std::vector<bool> seen(static_cast<std::size_t>(request.world_size), false);
    bool good = ring.size() == seen.size();
    for (const int rank : ring) {
      good = good && rank >= 0 && rank < request.world_size && !seen[static_cast<std::size_t>(rank)];
      if (good) seen[static_cast<std::size_t>(rank)] = true;
    }
    if (!good) return "a ring that does not hold every rank once";
  }
  return std::nullopt;
}

Problem fit_problem(const ScheduleRequest& request) {
  if (!has_collective(request.algorithm, request.collective)) {
    return std::string(to_word(request.algorithm)) + " has no " + std::string(to_word(request.collective));
  }
  const bool whole_nodes =
      request.algorithm == Algorithm::Hierarchical || request.algorithm == Algorithm::Nvls;
  if (whole_nodes && request.world_size % local_size(request) != 0) {
    return std::string(to_word(request.algorithm)) + " needs equal nodes: " + number(request.world_size) +
           " ranks are no multiple of " + number(local_size(request));
  }
  if (request.collective != Collective::AllToAll) return std::nullopt;
  if (request.chunking != Chunking::Even) return "all_to_all has no chunking nccl (use even)";
  const std::int64_t blocks = std::int64_t{request.world_size} * request.channels;
  if (request.count % blocks != 0) {
    return "all_to_all needs equal blocks: " + number(request.count) + " elements are no multiple of " +
           number(blocks);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> schedule_problem(const ScheduleRequest& request) {
  if (auto problem = numbers_problem(request)) return problem;
  if (auto problem = fit_problem(request)) return problem;
  if (auto problem = rings_problem(request)) return problem;
  return loops_problem(request);
}

Schedule make_schedule(const ScheduleRequest& request) {
  const auto problem = schedule_problem(request);
  RINGSIDE_CHECK_EQ(problem.value_or(""), "");
  Schedule schedule;
  schedule.collective = request.collective;
  schedule.algorithm = request.algorithm;
  schedule.order = request.order;
  schedule.world_size = request.world_size;
  schedule.root = request.root;
  switch (request.algorithm) {
    case Algorithm::Ring:
      request.collective == Collective::AllToAll ? build_all_to_all(request, schedule)
                                                 : build_ring(request, schedule);
      break;
    case Algorithm::Naive:
      build_naive(request, schedule);
      break;
    case Algorithm::RecursiveDoubling:
      build_recursive_doubling(request, schedule);
      break;
    case Algorithm::Rabenseifner:
      build_rabenseifner(request, schedule);
      break;
    case Algorithm::BinomialTree:
      build_binomial_tree(request, schedule);
      break;
    case Algorithm::NcclTree:
      build_nccl_tree(request, schedule);
      break;
    case Algorithm::Hierarchical:
      build_hierarchical(request, schedule);
      break;
    case Algorithm::Nvls:
      build_nvls(request, schedule);
      break;
  }
  order_transfers(schedule);
  return schedule;
}

bool reduces(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::ReduceScatter ||
         collective == Collective::Reduce;
}

bool Schedule::holds_result(int rank, std::uint32_t chunk) const {
  if (collective == Collective::Reduce) return rank == root;
  if (collective == Collective::ReduceScatter) return static_cast<int>(chunks.chunks[chunk].slot) == rank;
  return true;
}

std::span<const std::uint32_t> Schedule::transfers_into(std::uint32_t chunk) const {
  return std::span(chunk_transfers).subspan(chunk_first[chunk], chunk_first[chunk + 1] - chunk_first[chunk]);
}

std::int64_t transfer_count(const ScheduleRequest& request) {
  const std::int64_t n = request.world_size;
  if (n == 1) return 0;
  const auto chunks = [&](int slots) {
    return static_cast<std::int64_t>(cut_chunks(request, slots).chunks.size());
  };
  const std::int64_t power = floor_power_of_two(request.world_size), folds = 2 * (n - power);
  const std::int64_t local = local_size(request), nodes = node_count(request);
  const std::int64_t passes = request.collective == Collective::AllReduce ? 2 : 1;
  switch (request.algorithm) {
    case Algorithm::Ring:
      // Every chunk passes every link but one a pass; an all_to_all moves each block once, n of them stay.
      if (request.collective == Collective::AllToAll) return request.channels * n * (n - 1);
      return chunks(request.world_size) * passes * (n - 1);
    case Algorithm::RecursiveDoubling: {
      std::int64_t steps = 0;
      for (std::int64_t mask = 1; mask < power; mask *= 2) ++steps;
      return chunks(1) * (steps * power + folds);
    }
    case Algorithm::Rabenseifner: {
      const std::int64_t all =
          chunks(static_cast<int>(power));  // a multiple of power: each member sends power - 1 a pass
      return all / power * (2 * power * (power - 1)) + all * folds;
    }
    case Algorithm::NcclTree:
      return static_cast<std::int64_t>(tree_chunks(request).chunks.size()) * 2 * (n - 1);
    case Algorithm::Hierarchical: {
      // Per chunk: in its pass through each node it takes local - 1 links twice, and between the nodes nodes
      // - 1 twice.
      return chunks(request.world_size) * 2 * (nodes * (local - 1) + nodes - 1);
    }
    case Algorithm::Nvls:
      return chunks(static_cast<int>(local)) * 2 * (nodes * (local - 1) + nodes - 1);
    case Algorithm::Naive:
    case Algorithm::BinomialTree:
      break;
  }
  return chunks(1) * passes * (n - 1);
}

std::vector<LinkLoad> link_loads(const Schedule& schedule, DType dtype) {
  std::map<std::pair<int, int>, LinkLoad> loads;
  for (const Transfer& transfer : schedule.transfers) {
    LinkLoad& load = loads[{transfer.src, transfer.dst}];
    load.bytes += schedule.chunks.chunks[transfer.chunk].count * size_of(dtype);
    ++load.transfers;
  }
  std::vector<LinkLoad> out;
  for (const auto& [link, load] : loads) out.push_back({link.first, link.second, load.bytes, load.transfers});
  return out;
}

std::int64_t bytes_sent(const Schedule& schedule, DType dtype, int rank) {
  std::int64_t elements = 0;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.src == rank) elements += schedule.chunks.chunks[transfer.chunk].count;
  }
  return elements * size_of(dtype);
}

}  // namespace ringside::sim
