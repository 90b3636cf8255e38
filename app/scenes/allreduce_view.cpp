#include "app/scenes/allreduce_view.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "sim/tensor/reduce.hpp"

namespace ringside::app {
namespace {

using sim::CellState;
using sim::kNone;

constexpr std::int64_t kReadUpTo = 64;  // elements of a chunk read on demand

/// One moment and what it is made of.
struct Moment {
  const sim::Trace& trace;
  const sim::Frame& frame;
  const TransferTable& table;
  const ViewOptions& options;
  std::multimap<std::pair<std::int32_t, std::uint32_t>, const sim::Flight*>
      at{};  // (rank, chunk) -> from or to there
};

std::uint64_t bit(int rank) {
  return std::uint64_t{1} << rank;
}

std::uint64_t everyone(int world) {
  return world >= 64 ? ~std::uint64_t{0} : bit(world) - 1;
}

/// All elements of a small chunk, some of a large one, as far as they can be read.
Numbers read_elements(const Moment& m, int rank, const sim::Chunk& chunk, int after) {
  Numbers out;
  out.count = chunk.count;
  if (!m.options.element) return out;
  const std::int64_t most = m.trace.header.world_size <= 8    ? kReadUpTo
                            : m.trace.header.world_size <= 16 ? 16
                                                              : 4;
  const std::int64_t n = std::min(chunk.count, most);
  std::vector<sim::Scalar> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = m.options.element(rank, chunk.offset + i * chunk.count / n, after);
    if (!value) return out;
    values.push_back(*value);
  }
  Numbers read = numbers_of(std::move(values));
  if (n == chunk.count) return read;
  read.count = chunk.count;
  read.sampled = std::move(read.values);
  read.values.clear();
  return read;
}

/// What a rank put in: its input, or what the op made of it before it took part.
Numbers input_of(const Moment& m, int rank, const sim::Chunk& chunk) {
  const std::uint32_t event =
      m.frame.ranks[static_cast<std::size_t>(rank)].tensor_of(m.frame.collective.coll);
  if (event != kNone) {
    const std::uint32_t sample = m.trace.events()[event].tensor.sample;
    if (sample != kNone) {
      Numbers found = slice_of(m.trace.sample(sample), chunk.offset, chunk.count);
      if (found.complete()) return found;
    }
  }
  return read_elements(m, rank, chunk, -1);
}

Numbers all_numbers_at(const Moment& m, int rank, const sim::Chunk& chunk, std::uint32_t sample, int after) {
  if (sample == kNone) return input_of(m, rank, chunk);
  Numbers found = numbers_of(m.trace.sample(sample));
  if (found.complete() || found.count != chunk.count) return found;
  Numbers read = read_elements(m, rank, chunk, after);
  if (read.complete()) return read;
  found.sampled = std::move(read.sampled);
  return found;
}

/// The numbers of a chunk, or of the one that holds the followed number: that one alone, where it can be
/// read.
Numbers numbers_at(const Moment& m, int rank, const sim::Chunk& chunk, std::uint32_t sample, int after) {
  Numbers all = all_numbers_at(m, rank, chunk, sample, after);
  const std::int64_t place = m.options.followed - chunk.offset;
  if (m.options.followed < 0 || place < 0 || place >= chunk.count) return all;
  if (all.complete())
    return numbers_of(std::vector<sim::Scalar>{all.values[static_cast<std::size_t>(place)]});
  if (!m.options.element) return all;
  const auto value = m.options.element(rank, m.options.followed, after);
  return value ? numbers_of(std::vector<sim::Scalar>{*value}) : all;
}

Numbers reduce_all(sim::ReduceOp op, const Numbers& arrived, const Numbers& own) {
  Numbers out;
  out.count = own.count;
  if (!arrived.complete() || !own.complete() || arrived.count != own.count) return out;
  std::vector<sim::Scalar> values;
  for (std::size_t i = 0; i < own.values.size(); ++i)
    values.push_back(sim::reduce(op, arrived.values[i], own.values[i]));
  return numbers_of(std::move(values));
}

CellState at_rest(int contributions, int world) {
  if (contributions >= world) return CellState::Complete;
  return contributions == 1 ? CellState::Own : CellState::Partial;
}

/// What counts as begun: a flight that starts at this very moment has not left yet, so that the end of a ring
/// step shows what that step did.
bool has_left(const sim::Flight& flight, std::int64_t t) {
  return flight.start < t;
}

void set_facts(RingView& view, const Moment& m) {
  const sim::CollectiveFrame& stage = m.frame.collective;
  view.info = m.trace.collective(stage.coll);
  view.world = view.info.world_size;
  view.ring = view.info.algorithm == sim::Algorithm::Ring;
  view.steps = view.info.steps;
  view.reduce_steps = view.info.reduce_steps;
  if (!view.ring && !m.table.all().empty()) view.root = m.table.all().front().dst;
  view.divides = view.info.op == sim::ReduceOp::SumThenDivide ||
                 (view.info.op == sim::ReduceOp::Avg && !sim::is_floating(view.info.dtype));
  if (view.world == 1) {
    view.kind = ViewKind::Single;
  } else if (view.info.chunks.chunks.empty()) {
    view.kind = ViewKind::Hidden;
  } else if (stage.cells_per_rank == 0) {
    view.kind = ViewKind::TooMany;
  } else {
    const bool untold = m.trace.header.source == "live" &&
                        m.table.untold(view.info.transfers, view.world);
    view.kind = untold ? ViewKind::Untold : ViewKind::Chunks;
  }
  const auto& chunks = view.info.chunks.chunks;
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    if (chunks[c].count > 0) {
      view.chunks.push_back(c);
    } else {
      ++view.hidden_empty;
    }
  }
  if (view.kind == ViewKind::Single && view.chunks.empty() && view.info.count > 0) {
    view.info.chunks.chunks = {{.offset = 0, .count = view.info.count}};
    view.chunks = {0};
  }
  view.one_number = view.info.count == 1;
}

void set_ranks(RingView& view, const Moment& m) {
  const std::int32_t per_node = std::max(1, m.trace.header.gpus_per_node);
  const std::uint32_t coll = m.frame.collective.coll;
  std::size_t finished = 0, results = 0;
  for (int r = 0; r < view.world && r < static_cast<int>(m.frame.ranks.size()); ++r) {
    const sim::RankFrame& rank = m.frame.ranks[static_cast<std::size_t>(r)];
    RankView out;
    out.status = rank.status;
    out.finished = rank.last_finished == coll;
    out.entered = rank.in_collective == coll || out.finished;
    out.dividing = rank.in_phase && rank.phase == sim::Phase::Divide;
    out.poisoned = rank.poisoned;
    out.node = r / per_node;
    out.local_rank = r % per_node;
    finished += out.finished ? 1 : 0;
    results += rank.result_event != kNone ? 1 : 0;
    view.ranks.push_back(std::move(out));
  }
  view.done = finished == view.ranks.size();
  view.divided = view.done && results == view.ranks.size();
}

/// The transfer that is being reduced into (rank, chunk) now, if any.
const sim::Flight* adding_into(const Moment& m, int rank, std::uint32_t chunk) {
  const auto [first, last] = m.at.equal_range({rank, chunk});
  for (auto at = first; at != last; ++at) {
    const sim::Flight& f = *at->second;
    if (f.dst == rank && f.reduces && f.arrive >= 0 && f.arrive <= m.frame.t) return &f;
  }
  return nullptr;
}

const TransferRecord* record_of(const Moment& m, std::uint32_t step, std::uint32_t chunk, int src, int dst) {
  const auto [first, last] = m.table.of_step(step);
  for (std::size_t i = first; i < last; ++i) {
    const TransferRecord& r = m.table.all()[i];
    if (r.chunk == chunk && r.src == src && r.dst == dst) return &r;
  }
  return nullptr;
}

int index_of(const Moment& m, const TransferRecord& record) {
  return static_cast<int>(&record - m.table.all().data());
}

CellState rest_before(const Moment& m, int rank, std::uint32_t chunk, int contributions, int world) {
  if (contributions < world && m.table.gave_away(rank, chunk, m.frame.t)) return CellState::PassedOn;
  return at_rest(contributions, world);
}

CellView cell_in_transit(const RingView& view, const Moment& m, int rank, std::uint32_t index) {
  const sim::Cell& cell = m.frame.collective.cell(rank, index);
  const sim::Chunk& chunk = view.info.chunks.chunks[index];
  CellView out;
  out.state = cell.state;
  out.contributions = cell.contributions;
  out.after_transfer = m.table.last_into(rank, index, m.frame.t);
  out.poisoned = cell.poisoned != 0;
  const auto [first, last] = m.at.equal_range({rank, index});
  for (auto at = first; at != last; ++at)  // begun at this very moment: not yet
    if (!has_left(*at->second, m.frame.t))
      out.state = rest_before(m, rank, index, std::popcount(cell.contributions), view.world);
  std::uint32_t sample = cell.working;
  if (const sim::Flight* f = adding_into(m, rank, index)) {
    out.state = CellState::Adding;
    out.contributions |= f->contributions;
    const TransferRecord* record = record_of(m, f->step, index, f->src, rank);
    if (record != nullptr && record->after != kNone) {
      sample = record->after;
      out.after_transfer = index_of(m, *record);
    } else if (f->sample != kNone) {
      out.numbers = reduce_all(view.info.op, numbers_of(m.trace.sample(f->sample)),
                               numbers_at(m, rank, chunk, f->own, out.after_transfer));
      sample = kNone;
    }
  }
  out.contribution_count = std::popcount(out.contributions);
  if (out.numbers.count == 0) out.numbers = numbers_at(m, rank, chunk, sample, out.after_transfer);
  return out;
}

CellView cell_in_tensor(const RingView& view, const Moment& m, int rank, std::uint32_t index) {
  const sim::Cell& cell = m.frame.collective.cell(rank, index);
  const sim::Chunk& chunk = view.info.chunks.chunks[index];
  CellView out;
  const bool complete = cell.tensor != kNone;
  out.state = complete ? CellState::Complete : CellState::Own;
  out.contributions = complete ? everyone(view.world) : bit(rank);
  out.contribution_count = complete ? view.world : 1;
  out.after_transfer = complete ? m.table.last_into(rank, index, m.frame.t) : -1;
  out.numbers = numbers_at(m, rank, chunk, cell.tensor, out.after_transfer);
  return out;
}

void set_cells(RingView& view, const Moment& m) {
  for (int r = 0; r < view.world; ++r) {
    const std::uint32_t result = m.frame.ranks[static_cast<std::size_t>(r)].result_event;
    for (const std::uint32_t index : view.chunks) {
      CellView cell;
      if (view.kind == ViewKind::Single) {
        cell.state = CellState::Complete;
        cell.contributions = 1;
        cell.contribution_count = 1;
        cell.numbers = input_of(m, r, view.info.chunks.chunks[0]);
      } else {
        cell = m.options.tensor ? cell_in_tensor(view, m, r, index) : cell_in_transit(view, m, r, index);
      }
      if (result != kNone) {
        const std::uint32_t sample = m.trace.events()[result].tensor.sample;
        const sim::Chunk& chunk = view.info.chunks.chunks[index];
        if (sample != kNone) {
          Numbers found = slice_of(m.trace.sample(sample), chunk.offset, chunk.count);
          if (found.complete()) cell.numbers = std::move(found);
        }
        cell.finished = view.divides;
      }
      cell.poisoned = cell.poisoned || cell.numbers.nan_count > 0;
      view.cells.push_back(std::move(cell));
    }
  }
  const double all =
      static_cast<double>(view.world) * static_cast<double>(std::max<std::size_t>(1, view.chunks.size()));
  for (int r = 0; r < view.world; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < view.chunks.size(); ++c) sum += view.cell(r, c).contribution_count;
    view.ranks[static_cast<std::size_t>(r)].share = sum / all;
  }
}

void set_flights(RingView& view, const Moment& m) {
  const std::int64_t t = m.frame.t;
  for (const sim::Flight& f : m.frame.collective.flights) {
    const sim::Chunk& chunk = view.info.chunks.chunks[f.chunk];
    if (chunk.count == 0 || !has_left(f, t) || (f.arrive >= 0 && f.arrive <= t)) continue;
    FlightView out{.src = f.src, .dst = f.dst, .chunk = f.chunk, .step = f.step, .channel = f.channel};
    out.progress =
        f.arrive > f.start
            ? static_cast<float>(static_cast<double>(t - f.start) / static_cast<double>(f.arrive - f.start))
            : -1.0f;
    out.reduces = f.reduces;
    out.contributions = f.contributions;
    out.numbers = numbers_at(m, f.src, chunk, f.sample, m.table.last_into(f.src, f.chunk, f.start));
    view.flights.push_back(std::move(out));
    view.ranks[static_cast<std::size_t>(f.src)].activities.push_back({Doing::Sends, f.chunk});
    view.ranks[static_cast<std::size_t>(f.dst)].activities.push_back({Doing::Receives, f.chunk});
  }
}

bool link_is_used(const RingView& view, int src, int dst) {
  return std::any_of(view.flights.begin(), view.flights.end(),
                     [&](const FlightView& f) { return f.src == src && f.dst == dst; });
}

SumView make_sum(const RingView& view, const Moment& m, const TransferRecord& r, bool hot) {
  const sim::Chunk& chunk = view.info.chunks.chunks[r.chunk];
  SumView sum{.src = r.src, .dst = r.dst, .chunk = r.chunk, .step = r.step, .hot = hot};
  const std::size_t shown = view.shown(r.chunk);
  const int before = r.own == kNone ? -1 : m.table.last_into(r.dst, r.chunk, r.arrive - 1);
  sum.arrived = numbers_at(m, r.src, chunk, r.sample, m.table.last_into(r.src, r.chunk, r.start));
  sum.own = numbers_at(m, r.dst, chunk, r.own, before);
  sum.result = r.after == kNone ? reduce_all(view.info.op, sum.arrived, sum.own)
                                : numbers_at(m, r.dst, chunk, r.after, index_of(m, r));
  // What the cell holds now is arrived + own; own alone is this rank, and what it had reduced before.
  std::uint64_t own = bit(r.dst);
  if (r.own != kNone)
    for (const TransferRecord& before_it : m.table.all())
      if (before_it.dst == r.dst && before_it.chunk == r.chunk && before_it.reduces &&
          before_it.step < r.step)
        own |= bit(before_it.src);
  sum.own_from = own;
  sum.arrived_from = view.cell(r.dst, shown).contributions & ~own;
  return sum;
}

void set_sums(RingView& view, const Moment& m) {
  const std::int64_t t = m.frame.t;
  std::map<std::pair<int, int>, const TransferRecord*> arrived, last;  // the latest on each link
  for (const TransferRecord& r : m.table.all()) {
    if (view.info.chunks.chunks[r.chunk].count == 0 || r.start < 0 || r.start >= t) continue;
    last[{r.src, r.dst}] = &r;
    if (r.reduces && r.arrive >= 0 && r.arrive <= t) arrived[{r.src, r.dst}] = &r;
  }
  for (const auto& [link, r] : last) {
    if (r->sample == kNone) continue;
    const sim::Sample& sample = m.trace.sample(r->sample);
    if (sample.nan_count + sample.inf_count > 0) view.poisoned_links.push_back(link);
  }
  for (const auto& [link, r] : arrived) {
    const bool hot = r->done < 0 || t < r->done;
    // The last sums stay on their links until those are used again or others move on.
    if (!hot && (view.done || r->step != view.ring_step || link_is_used(view, r->src, r->dst))) continue;
    const CellView& cell = view.cell(r->dst, view.shown(r->chunk));
    const bool still_here = cell.after_transfer == index_of(m, *r) && cell.state != CellState::PassedOn &&
                            cell.state != CellState::Arriving;
    if (!hot && !still_here && !m.options.tensor) continue;
    view.sums.push_back(make_sum(view, m, *r, hot));
    auto& activities = view.ranks[static_cast<std::size_t>(r->dst)].activities;
    activities.insert(activities.begin(), {Doing::Adds, r->chunk});
  }
  std::stable_sort(view.sums.begin(), view.sums.end(),
                   [](const SumView& a, const SumView& b) { return a.hot > b.hot; });
}

void set_progress(RingView& view, const Moment& m) {
  const std::int64_t t = m.frame.t;
  for (const TransferRecord& r : m.table.all()) {
    const bool empty = view.info.chunks.chunks[r.chunk].count == 0;
    if (!empty && r.start >= 0 && r.start < t) view.ring_step = std::max(view.ring_step, r.step);
    if (view.started < 0 || (r.start >= 0 && r.start < view.started)) view.started = r.start;
    if (r.done >= 0) view.ended = std::max(view.ended, r.done);
    if (empty) continue;
    ++view.transfers_total;
    if (r.done >= 0 && r.done <= t) ++view.transfers_done;
  }
  const auto& chunks = view.info.chunks;
  if (view.ring && chunks.slots > 0) {
    const auto per_chunk = static_cast<std::uint32_t>(2 * (view.world - 1));
    view.transfers_total = static_cast<std::uint32_t>(view.chunks.size()) * per_chunk;
  }
  if (view.ring_step == 0) return;
  view.reducing = view.ring_step <= view.reduce_steps;
  std::int64_t from = -1, to = -1;
  const auto [first, last] = m.table.of_step(view.ring_step);
  for (std::size_t i = first; i < last; ++i) {
    const TransferRecord& r = m.table.all()[i];
    if (view.info.chunks.chunks[r.chunk].count == 0) continue;
    if (from < 0 || r.start < from) from = r.start;
    to = r.done < 0 ? -1 : std::max(to, r.done);
    if (to < 0) break;
  }
  view.step_progress =
      to > from
          ? std::clamp(static_cast<float>(static_cast<double>(t - from) / static_cast<double>(to - from)),
                       0.0f, 1.0f)
          : (to >= 0 && t >= to ? 1.0f : 0.5f);
}

/// The first finished numbers of a chunk that is too large to be in the trace.
Numbers first_of(const Moment& m, std::uint32_t index, const RingView& view, std::size_t most) {
  const sim::Chunk& chunk = view.info.chunks.chunks[index];
  std::vector<sim::Scalar> values;
  for (auto r = m.table.all().rbegin(); r != m.table.all().rend(); ++r) {
    if (r->chunk != index || r->after == kNone) continue;
    for (std::int64_t i = 0; i < std::min(chunk.count, static_cast<std::int64_t>(most)); ++i)
      if (const auto v = m.options.element(r->dst, chunk.offset + i, index_of(m, *r))) values.push_back(*v);
    break;
  }
  return numbers_of(std::move(values));
}

/// The goal: the finished sum, and what the op makes of it, as the trace's future or the inputs say.
void set_goal(RingView& view, const Moment& m) {
  constexpr std::size_t kShow = 8;
  std::vector<sim::Scalar> sums, results;
  for (const std::uint32_t index : view.chunks) {
    if (sums.size() == kShow) break;
    Numbers found;
    for (auto r = m.table.all().rbegin(); r != m.table.all().rend() && !found.complete(); ++r)
      if (r->chunk == index && r->after != kNone && (!r->reduces || r->step == view.reduce_steps))
        found = all_numbers_at(m, r->dst, view.info.chunks.chunks[index], r->after, index_of(m, *r));
    if (view.kind == ViewKind::Single) found = view.cell(0, 0).numbers;
    if (!found.complete()) {  // too many: the first ones are read
      if (found.sampled.empty() || index != view.chunks[0]) break;
      found = first_of(m, index, view, kShow);
      if (!found.complete()) return;
    }
    for (const sim::Scalar& v : found.values) {
      if (sums.size() == kShow) break;
      sums.push_back(v);
      results.push_back(sim::finish(view.info.op, view.world, v));
    }
  }
  view.goal_sum = numbers_of(std::move(sums));
  view.goal_result = numbers_of(std::move(results));
}

}  // namespace

std::size_t RingView::shown(std::uint32_t chunk) const {
  const auto found = std::lower_bound(chunks.begin(), chunks.end(), chunk);
  return found != chunks.end() && *found == chunk ? static_cast<std::size_t>(found - chunks.begin())
                                                  : chunks.size();
}

RingView make_view(const sim::Trace& trace, const sim::Frame& frame, const TransferTable& table,
                   const ViewOptions& options) {
  RingView view;
  view.t = frame.t;
  view.world = trace.header.world_size;
  if (frame.collective.coll == kNone) {
    view.now = now_sentences(view);
    return view;
  }
  Moment m{trace, frame, table, options};
  for (const sim::Flight& f : frame.collective.flights) {
    m.at.emplace(std::pair(f.src, f.chunk), &f);
    m.at.emplace(std::pair(f.dst, f.chunk), &f);
  }
  set_facts(view, m);
  set_ranks(view, m);
  set_progress(view, m);
  if (view.kind == ViewKind::Chunks || view.kind == ViewKind::Single) set_cells(view, m);
  if (view.kind == ViewKind::Chunks) {
    set_flights(view, m);
    set_sums(view, m);
  }
  set_goal(view, m);
  view.now = now_sentences(view);
  return view;
}

}  // namespace ringside::app
