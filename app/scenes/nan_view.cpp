#include "app/scenes/nan_view.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace ringside::app {
namespace {

bool sample_has_nan(const sim::Trace& trace, std::uint32_t sample) {
  return sample != sim::kNone && trace.sample(sample).nan_count > 0;
}

/// A rank's own numbers of a chunk hold a NaN before anything has moved. A sample of a big tensor does not
/// say where its NaNs are: in the step of the first one the rank that reported it is believed; later
/// gradients come from weights that are NaN, and are taken as NaN all over.
bool brings_nan(const sim::Trace& trace, const sim::Frame& frame, const PoisonHistory& history,
                const sim::Chunk& chunk, std::int64_t step, int rank) {
  const std::uint32_t event = frame.ranks[static_cast<std::size_t>(rank)].tensor_of(frame.collective.coll);
  const std::uint32_t id = event == sim::kNone ? sim::kNone : trace.events()[event].tensor.sample;
  if (id != sim::kNone) {
    const sim::Sample& sample = trace.sample(id);
    if (sample.nan_count == 0) return false;
    const Numbers own = slice_of(sample, chunk.offset, chunk.count);
    if (own.complete()) return own.nan_count > 0;
    if (sample.nan_count == sample.count || step > history.first_step) return true;
  }
  return step == history.first_step && rank == history.first_rank && history.first_element >= chunk.offset &&
         history.first_element < chunk.offset + chunk.count;
}

/// The chunk that holds the first NaN: of the first finding, else the first poisoned cell, else chunk 0.
std::uint32_t chunk_of_first_nan(const RingView& ring, const PoisonHistory& history) {
  if (history.first_element >= 0)
    for (const std::uint32_t c : ring.chunks) {
      const sim::Chunk& chunk = ring.info.chunks.chunks[c];
      if (history.first_element >= chunk.offset && history.first_element < chunk.offset + chunk.count)
        return c;
    }
  for (int r = 0; r < ring.world; ++r)
    for (std::size_t i = 0; i < ring.chunks.size(); ++i)
      if (ring.cell(r, i).poisoned) return ring.chunks[i];
  return ring.chunks.empty() ? 0 : ring.chunks[0];
}

/// Walks the transfers of the chunk in the order of their ring steps: whoever receives a NaN holds one from
/// then on (sum, avg, prod: NaN + anything = NaN). The transfers' own numbers decide, not the rule: with min
/// and max the number that comes out is clean.
void find_path(PoisonView& out, const sim::Trace& trace, const sim::Frame& frame, const RingView& ring,
               const TransferTable& table, const PoisonHistory& history) {
  const sim::Chunk& chunk = ring.info.chunks.chunks[out.chunk];
  std::set<int> in;
  const auto reach = [&](int rank, std::uint32_t step, bool reached) {
    if (in.insert(rank).second) out.path.push_back({.rank = rank, .step = step, .reached = reached});
  };
  for (int r = 0; r < ring.world; ++r)
    if (brings_nan(trace, frame, history, chunk, ring.info.step, r)) reach(r, 0, true);
  int owner = -1;
  std::uint32_t last = 0;
  for (const TransferRecord& record : table.all()) {
    if (record.chunk != out.chunk) continue;
    if (record.reduces) owner = record.dst;
    const std::uint32_t after = record.after != sim::kNone ? record.after : record.sample;
    if (!sample_has_nan(trace, after)) continue;
    last = std::max(last, record.step);  // the last to be told, in its finished result
    reach(record.dst, record.step, record.done >= 0 && record.done <= ring.t);
  }
  for (PoisonStop& stop : out.path) {
    stop.owner = stop.rank == owner;
    stop.now = stop.reached && stop.step > 0 && stop.step == ring.ring_step;
  }
  for (PoisonStop& stop : out.path)
    if (!stop.reached) {
      stop.next = true;  // the first one that is not reached
      break;
    }
  if (static_cast<int>(in.size()) == ring.world) out.everywhere = last;
}

void count_cells(PoisonView& out, const sim::Trace& trace, const RingView& ring, const TransferTable& table) {
  out.cells = ring.world * static_cast<int>(ring.chunks.size());
  for (const CellView& cell : ring.cells)
    if (cell.state == sim::CellState::Complete && cell.poisoned) ++out.cells_poisoned;
  std::set<std::pair<int, std::uint32_t>> bad;
  for (const TransferRecord& record : table.all()) {
    const std::uint32_t after = record.after != sim::kNone ? record.after : record.sample;
    if (sample_has_nan(trace, after))
      bad.insert({record.dst, record.chunk});
    else if (after != sim::kNone)
      bad.erase({record.dst, record.chunk});
  }
  out.cells_at_end = static_cast<int>(bad.size());
}

}  // namespace

void PoisonHistory::update(const sim::Trace& trace, std::uint64_t revision) {
  if (revision != revision_ || trace.size() < seen_) {
    *this = {};
    revision_ = revision;
  }
  for (; seen_ < trace.size(); ++seen_) take(trace, trace.events()[seen_]);
}

void PoisonHistory::take(const sim::Trace& trace, const sim::Event& e) {
  using sim::EventType;
  const auto earlier = [](std::int64_t& at, std::int64_t t) {
    if (at >= 0 && at <= t) return false;
    at = t;
    return true;
  };
  if (e.type == EventType::NanFound && e.rank() >= 0 && earlier(first_t, e.t)) {
    first_rank = e.rank();
    first_element = e.nan.index;
    first_step = e.nan.step;
  }
  if (e.type == EventType::TensorValues && e.rank() >= 0 && first_t < 0 &&
      sample_has_nan(trace, e.tensor.sample)) {
    // Nobody reported it: a NaN that came in with the numbers.
    first_t = e.t;
    first_rank = e.rank();
    const sim::Sample& sample = trace.sample(e.tensor.sample);
    for (std::size_t i = 0; sample.complete() && i < sample.values.size() && first_element < 0; ++i)
      if (sim::is_nan(sample.values[i])) first_element = static_cast<std::int64_t>(i);
  }
  // A job whose phases take no time has no phase events: then the next step's findings and the weights say
  // it.
  if (e.type == EventType::NanFound && first_t >= 0 && e.nan.step > first_step) earlier(losses_t, e.t);
  const bool loss = e.type == EventType::PhaseEnd && (e.phase.has & sim::kHasLoss) != 0;
  if (loss && std::isnan(e.phase.loss)) earlier(losses_t, e.t);
  const bool updated = e.type == EventType::Weights ||
                       (e.type == EventType::PhaseEnd && e.phase.phase == sim::Phase::Optimizer);
  if (updated && first_t >= 0 && e.t >= first_t) {
    earlier(update_t, e.t);
    if (losses_t >= 0 && e.t >= losses_t) earlier(weights_t, e.t);
  }
}

int losses_that_are_nan(const sim::Frame& frame) {
  return static_cast<int>(std::count_if(frame.ranks.begin(), frame.ranks.end(), [](const sim::RankFrame& r) {
    return (r.has & sim::kHasLoss) != 0 && std::isnan(r.loss);
  }));
}

PoisonView make_poison_view(const sim::Trace& trace, const sim::Frame& frame, const RingView& ring,
                            const TransferTable& table, const PoisonHistory& history, std::int64_t followed) {
  PoisonView out;
  out.in_trace = history.first_t >= 0;
  out.any = out.in_trace && history.first_t <= frame.t;
  out.first_rank = history.first_rank;
  out.first_element = history.first_element;
  out.first_step = history.first_step;
  out.first_t = history.first_t;
  out.stages = {.element = history.first_t,
                .update = history.update_t,
                .losses = history.losses_t,
                .weights = history.weights_t,
                .losses_nan = losses_that_are_nan(frame)};
  out.ranks.assign(static_cast<std::size_t>(std::max(0, ring.world)), PoisonState::Clean);
  out.hides = ring.info.op == sim::ReduceOp::Min || ring.info.op == sim::ReduceOp::Max;
  if (ring.kind != ViewKind::Chunks) {
    for (int r = 0; r < ring.world && static_cast<std::size_t>(r) < frame.ranks.size(); ++r)
      if (frame.ranks[static_cast<std::size_t>(r)].poisoned) {
        out.ranks[static_cast<std::size_t>(r)] = PoisonState::Poisoned;
        ++out.ranks_poisoned;
      }
    return out;
  }
  const bool legal = followed >= 0 && ring.shown(static_cast<std::uint32_t>(followed)) < ring.chunks.size();
  out.chunk = legal ? static_cast<std::uint32_t>(followed) : chunk_of_first_nan(ring, history);
  find_path(out, trace, frame, ring, table, history);
  count_cells(out, trace, ring, table);
  bool source_alone = false;
  for (const PoisonStop& stop : out.path) {
    PoisonState& state = out.ranks[static_cast<std::size_t>(stop.rank)];
    // With min and max a rank gets rid of its NaN: its working value is a number again.
    const bool clean_again = out.hides && !ring.cell(stop.rank, ring.shown(out.chunk)).poisoned;
    if (stop.reached && clean_again) {
      source_alone = source_alone || stop.step == 0;
    } else if (stop.reached) {
      state = stop.step == 0 ? PoisonState::Source : PoisonState::Poisoned;
      ++out.ranks_poisoned;
      source_alone = source_alone || stop.step == 0;
    } else if (stop.next) {
      state = PoisonState::Next;
    }
  }
  out.hidden = out.hides && source_alone && ring.done && out.cells_at_end == 0;
  return out;
}

std::vector<Sentence> poison_sentences(const PoisonView& view, const RingView& ring) {
  const auto rank = [](int r) { return "R" + std::to_string(r); };
  if (!view.in_trace) return {{"nan.now.none", {}}};
  if (!view.any) return {{"nan.now.not_yet", {}}};
  if (ring.kind != ViewKind::Chunks)
    return {{"nan.now.no_chunks", {std::to_string(view.ranks_poisoned), std::to_string(ring.world)}}};
  if (view.path.empty()) return {{"nan.now.not_in_chunk", {"c" + std::to_string(view.chunk)}}};
  const PoisonStop* next = nullptr;
  const PoisonStop* now = nullptr;
  for (const PoisonStop& stop : view.path) {
    if (stop.next) next = &stop;
    if (stop.now) now = &stop;
  }
  if (view.hides && view.ranks_poisoned <= 1 && ring.ring_step > 0)
    return {{view.hidden ? "nan.now.hidden" : "nan.now.hides",
             {std::string(sim::to_word(ring.info.op)), rank(view.path[0].rank)}}};
  std::vector<Sentence> out;
  if (static_cast<int>(view.path.size()) == ring.world && view.path.back().step == 0)
    return {{"nan.now.all_bring", {"c" + std::to_string(view.chunk)}}};
  if (now != nullptr) {
    const SumView* sum = nullptr;
    for (const SumView& s : ring.sums)
      if (s.dst == now->rank && s.chunk == view.chunk && s.arrived.values.size() == 1 &&
          s.own.values.size() == 1)
        sum = &s;
    if (sum != nullptr)
      out.push_back({"nan.now.adds",
                     {rank(now->rank), number_text(sum->arrived.values[0]), operand_text(sum->own.values[0]),
                      number_text(sum->result.values[0])}});
    else
      out.push_back({"nan.now.has_it", {rank(now->rank), "c" + std::to_string(view.chunk)}});
  } else if (view.ranks_poisoned == ring.world) {
    return {{"nan.now.everywhere", {std::to_string(ring.world), "c" + std::to_string(view.chunk)}}};
  } else {
    out.push_back({"nan.now.only", {std::to_string(view.ranks_poisoned), std::to_string(ring.world)}});
  }
  if (next != nullptr) out.push_back({"nan.now.next", {rank(next->rank)}});
  return out;
}

}  // namespace ringside::app
