#include "sim/lesson/facts.hpp"

#include <algorithm>

namespace ringside::sim {

const std::vector<std::string_view>& lesson_scenes() {
  static const std::vector<std::string_view> kScenes{"home", "tensor",  "same-shape", "step", "allreduce",
                                                     "nan",  "cluster", "duel",       "live", "incident"};
  return kScenes;
}

const std::vector<FactInfo>& lesson_facts() {
  static const std::vector<FactInfo> kFacts{
      {"scene", true, false, false, "the id of the scene that is shown"},
      {"at_end", false, false, false, "1 when the playhead stands at the end"},
      {"ring_step", false, false, false, "the ring step of the latest transfer; 0 before the first"},
      {"training_step", false, false, false, "the training step that has begun"},
      {"transfers_done", false, false, false, "finished transfers of the collective on stage"},
      {"complete_chunks", false, false, false, "chunks, over all ranks, that hold every contribution"},
      {"value", false, true, true,
       "the number in a place of a rank's buffer, partial sums in transit included"},
      {"world_size", false, false, false, "number of ranks"},
      {"count", false, false, false, "elements of each rank's tensor"},
      {"op", true, false, false, "reduction op of the scenario"},
      {"dtype", true, false, false, "dtype of the scenario"},
      {"algorithm", true, false, false, "algorithm of the scenario"},
      {"order", true, false, false, "ring order of the scenario: nccl or textbook"},
      {"poisoned_ranks", false, false, false, "ranks with a known NaN"},
      {"waiting_ranks", false, false, false, "ranks that wait or are stalled"},
      {"dead_ranks", false, false, false, "ranks that are dead"},
      {"timed_out_ranks", false, false, false, "ranks whose watchdog has expired"},
      {"loss", false, true, false, "the latest loss of a rank"},
      {"weights_equal", false, false, false, "1 when all ranks hold the same weights"},
      {"selected_rank", false, false, false, "the selected rank"},
      {"selected_chunk", false, false, false, "the selected chunk"},
      {"selected_element", false, false, false, "the selected place in the tensor"},
      {"tensor_shape", true, false, false, "tensor scene: the shape as Python prints it, \"(2, 2)\""},
      {"tensor_dims", false, false, false, "tensor scene: number of dimensions"},
      {"tensor_count", false, false, false, "tensor scene: number of elements"},
      {"tensor_dtype", true, false, false, "tensor scene: dtype"},
      {"tensor_flat", false, false, false, "tensor scene: 1 while it is laid out flat"},
      {"shapes_match", false, false, false, "same-shape scene: 1 when the shapes are equal"},
      {"papers", false, false, false, "same-shape scene: sheets of paper that were added"},
      {"all_reduce_on", false, false, false, "step scene: 1 when gradients are averaged"},
  };
  return kFacts;
}

namespace {

using Value = std::optional<FactValue>;

Value number(double x) {
  return FactValue(x);
}
Value word(std::string_view w) {
  return FactValue(std::string(w));
}

double count_status(const Frame& frame, std::initializer_list<RankStatus> wanted) {
  const StatusCounts counts = frame.counts();
  double sum = 0;
  for (const RankStatus status : wanted) sum += counts.by_status[static_cast<std::size_t>(status)];
  return sum;
}

const RankFrame* rank_frame(const Frame& frame, std::int64_t rank) {
  const bool known = rank >= 0 && static_cast<std::size_t>(rank) < frame.ranks.size();
  return known ? &frame.ranks[static_cast<std::size_t>(rank)] : nullptr;
}

Value value_in_place(const Condition& condition, const LessonWorld& world) {
  const CollectiveFrame& stage = world.frame->collective;
  const RankFrame* rank = rank_frame(*world.frame, condition.rank);
  if (rank == nullptr) return {};
  std::uint32_t sample = kNone;
  std::int64_t at = condition.element;
  if (rank->result_event != kNone) {
    sample = world.trace->events()[rank->result_event].tensor.sample;
  } else if (stage.coll != kNone && stage.cells_per_rank > 0) {
    const CollectiveInfo& info = world.trace->collective(stage.coll);
    if (condition.element >= info.chunks.count) return {};
    const std::uint32_t chunk = info.chunks.chunk_of(condition.element);
    const Cell& cell = stage.cell(static_cast<int>(condition.rank), chunk);
    sample = cell.working;
    if (sample != kNone) at -= info.chunks.chunks[chunk].offset;
  }
  if (sample == kNone && rank->tensor_event != kNone)
    sample = world.trace->events()[rank->tensor_event].tensor.sample;
  if (sample == kNone) return {};
  const Sample& numbers = world.trace->sample(sample);
  if (!numbers.complete() || at < 0 || at >= numbers.count) return {};
  return number(to_double(numbers.values[static_cast<std::size_t>(at)]));
}

Value of_frame(const Condition& condition, const LessonWorld& world) {
  const std::string& fact = condition.fact;
  const Frame& frame = *world.frame;
  if (fact == "at_end") return number(frame.t >= world.end_time && world.end_time > 0 ? 1 : 0);
  if (fact == "ring_step") return number(frame.collective.ring_step);
  if (fact == "training_step") return number(frame.step);
  if (fact == "transfers_done") return number(frame.collective.transfers_done);
  if (fact == "complete_chunks") {
    const auto& cells = frame.collective.cells;
    return number(static_cast<double>(std::count_if(
        cells.begin(), cells.end(), [](const Cell& cell) { return cell.state == CellState::Complete; })));
  }
  if (fact == "poisoned_ranks") return number(frame.counts().poisoned);
  if (fact == "waiting_ranks") return number(count_status(frame, {RankStatus::Waiting, RankStatus::Stalled}));
  if (fact == "dead_ranks") return number(count_status(frame, {RankStatus::Dead}));
  if (fact == "timed_out_ranks")  // also those that have ended because of it
    return number(static_cast<double>(std::count_if(frame.ranks.begin(), frame.ranks.end(),
                                                    [](const RankFrame& r) { return r.watchdog_expired; })));
  if (fact == "value" && world.trace != nullptr) return value_in_place(condition, world);
  if (fact == "loss") {
    const RankFrame* rank = rank_frame(frame, condition.rank);
    return rank != nullptr && (rank->has & kHasLoss) ? number(rank->loss) : Value{};
  }
  if (fact == "weights_equal") {
    if (frame.ranks.empty() || frame.ranks.front().weights_step < 0) return {};
    const bool equal = std::all_of(frame.ranks.begin(), frame.ranks.end(), [&](const RankFrame& rank) {
      return rank.weights_digest == frame.ranks.front().weights_digest;
    });
    return number(equal ? 1 : 0);
  }
  return {};
}

Value of_scenario(const std::string& fact, const Scenario& scenario) {
  if (fact == "world_size") return number(scenario.world_size());
  if (fact == "count") return number(static_cast<double>(scenario.tensor.shape.count()));
  if (fact == "op") return word(to_word(scenario.collective.op));
  if (fact == "dtype") return word(to_word(scenario.tensor.dtype));
  if (fact == "algorithm") return word(to_word(scenario.collective.algorithm));
  if (fact == "order") return word(to_word(scenario.collective.order));
  return {};
}

}  // namespace

std::optional<FactValue> fact_now(const Condition& condition, const LessonWorld& world) {
  if (const auto found = world.of_scene.find(condition.fact); found != world.of_scene.end())
    return found->second;
  if (condition.fact == "scene") return word(world.scene);
  if (condition.fact == "selected_rank") return number(static_cast<double>(world.selected_rank));
  if (condition.fact == "selected_chunk") return number(static_cast<double>(world.selected_chunk));
  if (condition.fact == "selected_element") return number(static_cast<double>(world.selected_element));
  if (world.scenario != nullptr)
    if (const Value value = of_scenario(condition.fact, *world.scenario)) return value;
  return world.frame != nullptr ? of_frame(condition, world) : Value{};
}

bool holds(const Condition& condition, const LessonWorld& world) {
  const std::optional<FactValue> now = fact_now(condition, world);
  if (!now || now->index() != condition.value.index()) return false;
  switch (condition.comparison) {
    case Comparison::Is:
      return *now == condition.value;
    case Comparison::IsNot:
      return *now != condition.value;
    case Comparison::AtLeast:
      return std::get<double>(*now) >= std::get<double>(condition.value);
    case Comparison::AtMost:
      return std::get<double>(*now) <= std::get<double>(condition.value);
  }
  return false;
}

bool all_hold(const std::vector<Condition>& conditions, const LessonWorld& world) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& condition) { return holds(condition, world); });
}

}  // namespace ringside::sim
