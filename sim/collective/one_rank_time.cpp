// One rank stands for all.
//
// In recursive doubling, in Rabenseifner's algorithm and in the hierarchical rings a relabelling of the ranks
// turns the schedule into itself and carries any rank into any other. So if all ranks start together and all
// links of a kind are equal, the k-th message that a rank receives has the times of the k-th message that it
// sends, and one rank's list of messages is enough: log2(N) of them, 2(N-1), or about 2·N instead of N times
// as many.
#include "sim/collective/one_rank_time.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "sim/base/check.hpp"

namespace ringside::sim {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFu;

/// A message that the rank sends. Its twin, the one that the rank receives, has the same times.
struct Message {
  std::uint32_t step = 0;
  std::uint32_t data = kNone;  // the received message that wrote what this one sends
  std::uint32_t previous =
      kNone;               // the received message that wrote what this one's twin overwrites or is added to
  std::int64_t count = 0;  // elements
  std::uint32_t channel = 0, loop = 0;
  bool inside = true;  // within a node
  bool reduces = false;
};

struct Program {
  std::vector<Message> messages;  // of one (channel, loop): in the order of the schedule within a step
};

// --- the programs
// ------------------------------------------------------------------------------------------------------

Program recursive_doubling(int world_size, int local) {
  Program out;
  std::uint32_t last = kNone;
  for (int mask = 1; mask < world_size; mask *= 2) {
    const auto index = static_cast<std::uint32_t>(out.messages.size());
    out.messages.push_back({index + 1, last, last, 0, 0, 0, mask < local, true});
    last = index;
  }
  return out;
}

/// Chunks by their distance (chunk xor rank). A chunk at distance d is at distance d ^ mask for the partner.
Program rabenseifner(int world_size, int local) {
  Program out;
  std::vector<std::uint32_t> written(static_cast<std::size_t>(world_size), kNone);
  std::uint32_t step = 0;
  const auto exchange = [&](int mask, bool halving) {
    ++step;
    const std::vector<std::uint32_t> before = written;
    const int nearest = halving ? mask : 0;
    for (int distance = nearest; distance < nearest + mask; ++distance) {
      const auto lands_at = static_cast<std::size_t>(distance ^ mask);
      const auto index = static_cast<std::uint32_t>(out.messages.size());
      out.messages.push_back({step, before[static_cast<std::size_t>(distance)], before[lands_at], 0, 0, 0,
                              mask < local, halving});
      written[lands_at] = index;
    }
  };
  for (int mask = world_size / 2; mask >= 1; mask /= 2) exchange(mask, true);
  for (int mask = 1; mask < world_size; mask *= 2) exchange(mask, false);
  return out;
}

/// Chunks by (parts behind the own part, pieces behind the own piece): what the rank p of node v calls (p -
/// a, v - k).
class HierarchicalProgram {
 public:
  HierarchicalProgram(int local, int nodes)
      : local_(local), nodes_(nodes), written_(static_cast<std::size_t>(local * nodes), kNone) {}

  Program build() {
    for (int s = 1; s < local_; ++s) {
      ++step_;
      for (int k = 1; k <= nodes_; ++k) inside(s, k, true);
    }
    for (int s = 1; s <= 2 * (nodes_ - 1); ++s) {
      ++step_;
      between(s < nodes_ ? s : s - nodes_, s < nodes_);
    }
    for (int k = 1; k < local_; ++k) {
      ++step_;
      for (int m = 0; m < nodes_; ++m) inside(k - 1, m, false);
    }
    return std::move(out_);
  }

 private:
  std::uint32_t& written(int parts_behind, int pieces_behind) {
    return written_[static_cast<std::size_t>(parts_behind % local_ * nodes_ + pieces_behind % nodes_)];
  }
  // The sender's part p - a is the receiver's (p + 1) - (a + 1); within a node the pieces keep their place.
  void inside(int a, int k, bool reducing) { add(a, k, a + 1, k, true, reducing); }
  void between(int k, bool reducing) { add(0, k, 0, k + 1, false, reducing); }
  void add(int a, int k, int lands_a, int lands_k, bool is_inside, bool reducing) {
    const auto index = static_cast<std::uint32_t>(out_.messages.size());
    std::uint32_t& place = written(lands_a, lands_k);
    out_.messages.push_back({step_, written(a, k), place, 0, 0, 0, is_inside, reducing});
    place = index;
  }

  int local_, nodes_;
  std::uint32_t step_ = 0;
  std::vector<std::uint32_t> written_;
  Program out_;
};

// --- the evaluation
// ----------------------------------------------------------------------------------------------------

class Evaluation {
 public:
  Evaluation(std::vector<Message> messages, DType dtype, const Topology& topology, std::int64_t arrival,
             std::int64_t reduce_ns)
      : messages_(std::move(messages)),
        topology_(topology),
        element_(size_of(dtype)),
        arrival_(arrival),
        reduce_ns_(reduce_ns),
        first_reader_(messages_.size(), kNone),
        next_reader_(messages_.size(), kNone),
        next_(messages_.size(), kNone),
        arrive_(messages_.size(), kUnknown),
        done_(messages_.size(), kUnknown) {
    for (std::uint32_t m = 0; m < messages_.size(); ++m) {
      if (messages_[m].data != kNone) next_reader_[m] = std::exchange(first_reader_[messages_[m].data], m);
      if (messages_[m].previous != kNone) next_[messages_[m].previous] = m;
    }
  }

  std::int64_t run() {
    std::int64_t free = std::numeric_limits<std::int64_t>::min(), finish = arrival_;
    for (std::uint32_t m = 0; m < messages_.size(); ++m) {
      if (messages_[m].data == kNone) queue_.emplace(arrival_, m);
    }
    while (!queue_.empty()) {
      const auto [ready, m] = queue_.top();
      queue_.pop();
      const Message& message = messages_[m];
      const LinkSpec& link = message.inside ? topology_.intra : topology_.inter;
      free = std::max(ready, free) + wire_ns(message.count * element_, link.bytes_per_s);
      arrive_[m] = free + link.latency_ns;
      if (message.previous == kNone || done_[message.previous] != kUnknown) receive(m);
    }
    for (const std::int64_t done : done_) {
      RINGSIDE_CHECK(done != kUnknown);
      finish = std::max(finish, done);
    }
    return std::max(finish, free);
  }

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  void receive(std::uint32_t m) {
    for (; m != kNone && arrive_[m] != kUnknown; m = next_[m]) {
      const Message& message = messages_[m];
      std::int64_t begin = arrive_[m];
      if (message.previous != kNone) begin = std::max(begin, done_[message.previous]);
      done_[m] = begin + (message.reduces ? reduce_ns_ : 0);
      for (std::uint32_t r = first_reader_[m]; r != kNone; r = next_reader_[r]) queue_.emplace(done_[m], r);
    }
  }

  std::vector<Message> messages_;
  const Topology& topology_;
  std::int64_t element_, arrival_, reduce_ns_;
  std::vector<std::uint32_t> first_reader_, next_reader_, next_;
  std::vector<std::int64_t> arrive_, done_;
  using Entry = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

bool is_power_of_two(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}

/// The algorithm's program for one (channel, loop), and the number of its slots; no messages if there is no
/// such program.
std::pair<Program, int> program_of(const ScheduleRequest& request, const Topology& topology) {
  const int n = request.world_size, local = std::min(topology.gpus_per_node, n);
  const bool powers = is_power_of_two(n) && (is_power_of_two(local) || local == n);
  switch (request.algorithm) {
    case Algorithm::RecursiveDoubling:
      return {powers ? recursive_doubling(n, local) : Program{}, 1};
    case Algorithm::Rabenseifner:
      return {powers ? rabenseifner(n, local) : Program{}, n};
    case Algorithm::Hierarchical: {
      const int group = local_size(request);
      // A group is one node, or there is one node only and all links are alike.
      const bool fits = !request.inter_tree && (group == local || local == n);
      Program program = fits ? HierarchicalProgram(group, n / group).build() : Program{};
      if (local == n) {
        for (Message& message : program.messages) message.inside = true;
      }
      return {std::move(program), n};
    }
    default:
      return {};
  }
}

}  // namespace

std::optional<OneRankTimes> one_rank_times(const ScheduleRequest& request, const Topology& topology,
                                           std::int64_t arrival, std::int64_t reduce_ns) {
  const int local = std::min(topology.gpus_per_node, request.world_size);
  if (!topology.overrides.empty() || topology.shared.on() || request.world_size % local != 0)
    return std::nullopt;
  const auto [program, slots] = program_of(request, topology);
  if (program.messages.empty()) return std::nullopt;
  const ChunkTable table = cut_chunks(request, slots);
  OneRankTimes out;
  std::vector<Message> messages;
  for (std::size_t first = 0; first < table.chunks.size(); first += static_cast<std::size_t>(slots)) {
    const auto begin = table.chunks.begin() + static_cast<std::ptrdiff_t>(first);
    const auto [low, high] = std::minmax_element(
        begin, begin + slots, [](const Chunk& a, const Chunk& b) { return a.count < b.count; });
    for (const LinkSpec& link : {topology.intra, topology.inter}) {
      out.equal_chunks =
          out.equal_chunks && wire_ns(low->count * size_of(request.dtype), link.bytes_per_s) ==
                                  wire_ns(high->count * size_of(request.dtype), link.bytes_per_s);
    }
    const auto base = static_cast<std::uint32_t>(messages.size());
    for (Message message : program.messages) {
      if (message.data != kNone) message.data += base;
      if (message.previous != kNone) message.previous += base;
      message.count = high->count;
      message.channel = begin->channel;
      message.loop = begin->loop;
      messages.push_back(message);
    }
  }
  // The schedule's order: by step, then channel, then loop. Indices follow the messages to their new places.
  std::vector<std::uint32_t> order(messages.size()), place(messages.size());
  for (std::uint32_t m = 0; m < order.size(); ++m) order[m] = m;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return messages[a].step < messages[b].step; });
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<Message> sorted;
  sorted.reserve(messages.size());
  for (const std::uint32_t m : order) {
    sorted.push_back(messages[m]);
    if (sorted.back().data != kNone) sorted.back().data = place[sorted.back().data];
    if (sorted.back().previous != kNone) sorted.back().previous = place[sorted.back().previous];
  }
  out.finish = Evaluation(std::move(sorted), request.dtype, topology, arrival, reduce_ns).run();
  return out;
}

}  // namespace ringside::sim
