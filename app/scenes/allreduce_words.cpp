// The sentences of the AllReduce scene: what happens now, which phase it is.
#include <algorithm>

#include "app/scenes/allreduce_view.hpp"

namespace ringside::app {
namespace {

std::string rank_word(int rank) {
  return "R" + std::to_string(rank);
}

bool one_each(const SumView& sum) {
  return sum.arrived.values.size() == 1 && sum.own.values.size() == 1 && sum.result.values.size() == 1;
}

const char* key_of_one_sum(sim::ReduceOp op) {
  switch (op) {
    case sim::ReduceOp::Prod:
      return "allreduce.now.one_prod";
    case sim::ReduceOp::Min:
      return "allreduce.now.one_min";
    case sim::ReduceOp::Max:
      return "allreduce.now.one_max";
    default:
      return "allreduce.now.one_sum";
  }
}

/// "50 + 20 = 70" for the sentence of one addition.
Sentence one_sum(const RingView& view, const SumView& sum) {
  return {key_of_one_sum(view.info.op),
          {rank_word(sum.dst), number_text(sum.arrived.values[0]), operand_text(sum.own.values[0]),
           number_text(sum.result.values[0])}};
}

std::vector<Sentence> about_sums(const RingView& view) {
  std::vector<const SumView*> shown;
  for (const SumView& sum : view.sums)
    if (sum.hot) shown.push_back(&sum);
  if (shown.empty())
    for (const SumView& sum : view.sums) shown.push_back(&sum);
  if (shown.empty()) return {};
  if (shown.size() == 1) {
    const SumView& sum = *shown[0];
    if (one_each(sum)) return {one_sum(view, sum)};
    return {{"allreduce.now.adds_one", {rank_word(sum.dst), "c" + std::to_string(sum.chunk)}}};
  }
  if (shown.size() == 2) {
    const int a = std::min(shown[0]->dst, shown[1]->dst), b = std::max(shown[0]->dst, shown[1]->dst);
    return {{"allreduce.now.adds_two", {rank_word(a), rank_word(b)}}};
  }
  return {{"allreduce.now.adds_many", {std::to_string(shown.size())}}};
}

std::vector<Sentence> about_flights(const RingView& view) {
  if (view.flights.empty()) return {};
  const FlightView& first = view.flights[0];
  if (view.flights.size() > 1)
    return {{view.reducing ? "allreduce.now.flying" : "allreduce.now.flying_sums",
             {std::to_string(view.flights.size())}}};
  if (first.numbers.values.size() == 1) {
    const char* key = first.reduces ? "allreduce.now.passes" : "allreduce.now.passes_sum";
    return {{key, {rank_word(first.src), number_text(first.numbers.values[0]), rank_word(first.dst)}}};
  }
  return {{"allreduce.now.passes_chunk",
           {rank_word(first.src), "c" + std::to_string(first.chunk), rank_word(first.dst)}}};
}

std::vector<Sentence> about_the_end(const RingView& view) {
  if (view.divided && view.divides && view.one_number && view.goal_sum.count == 1)
    return {{"allreduce.now.divided_one",
             {number_text(view.goal_sum.values[0]), std::to_string(view.world),
              number_text(view.goal_result.values[0])}}};
  if (view.divided && view.divides) return {{"allreduce.now.divided", {std::to_string(view.world)}}};
  const bool divides_now =
      std::any_of(view.ranks.begin(), view.ranks.end(), [](const RankView& r) { return r.dividing; });
  if (view.divides && divides_now) return {{"allreduce.now.divides", {std::to_string(view.world)}}};
  return {{"allreduce.now.done", {}}};
}

std::vector<Sentence> about_entering(const RingView& view) {
  std::vector<int> in, out;
  for (int r = 0; r < static_cast<int>(view.ranks.size()); ++r)
    (view.ranks[static_cast<std::size_t>(r)].entered ? in : out).push_back(r);
  if (out.empty()) return {{"allreduce.now.ready", {}}};
  if (in.empty()) return {{"allreduce.now.nobody", {}}};
  const std::string seq = std::to_string(view.info.seq);
  if (in.size() == 1 && out.size() == 1)
    return {{"allreduce.now.one_waits", {rank_word(in[0]), rank_word(out[0]), seq}}};
  if (out.size() == 1)
    return {{"allreduce.now.many_wait", {std::to_string(in.size()), rank_word(out[0]), seq}}};
  return {{"allreduce.now.many_wait_many", {std::to_string(in.size()), std::to_string(out.size()), seq}}};
}

}  // namespace

std::vector<Sentence> now_sentences(const RingView& view) {
  switch (view.kind) {
    case ViewKind::Empty:
      return {{"allreduce.now.empty", {}}};
    case ViewKind::Single:
      return {{"allreduce.now.single", {}}};
    case ViewKind::Hidden:
      return {{"allreduce.now.hidden", {}}};
    case ViewKind::Untold:
      return {{"allreduce.now.untold", {}}};
    case ViewKind::TooMany:
      return {{"allreduce.now.too_many", {std::to_string(view.world)}}};
    case ViewKind::Chunks:
      break;
  }
  std::vector<Sentence> out = about_sums(view);
  if (view.one_number && out.size() == 1 && view.sums.size() == 1 && view.sums[0].result.values.size() == 1 &&
      view.ring && view.flights.empty())
    out.push_back({"allreduce.now.then_passes",
                   {rank_word(view.sums[0].dst), number_text(view.sums[0].result.values[0]),
                    rank_word((view.sums[0].dst + 1) % view.world)}});
  for (Sentence& s : about_flights(view)) out.push_back(std::move(s));
  if (!out.empty()) return out;
  if (view.done) return about_the_end(view);
  if (view.ring_step == 0) return about_entering(view);
  const bool all_here = view.transfers_done >= view.transfers_total;
  return {
      {all_here ? "allreduce.now.all_here" : "allreduce.now.step_done", {std::to_string(view.ring_step)}}};
}

Sentence phase_name(const RingView& view) {
  if (view.done && view.divided && view.divides)
    return {"allreduce.phase.divided", {std::to_string(view.world)}};
  if (view.done) return {"allreduce.phase.done", {}};
  if (view.ring_step == 0) return {"allreduce.phase.start", {}};
  if (!view.ring) return {view.reducing ? "allreduce.phase.reduce" : "allreduce.phase.broadcast", {}};
  if (view.one_number) return {view.reducing ? "allreduce.phase.add_pass" : "allreduce.phase.pass", {}};
  return {view.reducing ? "allreduce.phase.reduce_scatter" : "allreduce.phase.all_gather", {}};
}

}  // namespace ringside::app
