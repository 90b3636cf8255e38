// Words and numbers of the training-step scene.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/step_draw.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::step {
namespace {

/// The bucket that matters now: the first that is not over and that somebody has called.
const BucketView* live_bucket(const StepView& view) {
  for (const BucketView& bucket : view.buckets)
    if (bucket.state == BucketState::Waiting || bucket.state == BucketState::Moving) return &bucket;
  return nullptr;
}

std::string bucket_name(const StepView& view, const BucketView& bucket) {
  return view.buckets.size() == 1 ? std::string() : "b" + std::to_string(bucket.bucket);
}

std::string waiting_text(const StepView& view, const BucketView& bucket) {
  const std::string name = bucket_name(view, bucket);
  const int missing = static_cast<int>(bucket.ready.size()) - bucket.ready_count;
  if (bucket.waits_for >= 0)
    return name.empty() ? tr("step.now.waits_one", {parts::rank_name(bucket.waits_for)})
                        : tr("step.now.bucket_waits_one", {name, parts::rank_name(bucket.waits_for)});
  if (missing == 0)
    return name.empty() ? tr("step.now.waits_turn") : tr("step.now.bucket_waits_turn", {name});
  return name.empty() ? tr("step.now.waits_many", {std::to_string(missing)})
                      : tr("step.now.bucket_waits_many", {name, std::to_string(missing)});
}

/// The phases of the lanes at t, by how many lanes are in each.
std::string work_text(const StepView& view, bool brief) {
  std::vector<int> forward, backward, update, loss;
  for (const StepLane& lane : view.lanes)
    for (const WorkPiece& piece : lane.work) {
      if (view.t < piece.from || view.t >= piece.to) continue;
      switch (piece.phase) {
        case sim::Phase::Forward:
          forward.push_back(lane.rank);
          break;
        case sim::Phase::Loss:
          loss.push_back(lane.rank);
          break;
        case sim::Phase::Backward:
          backward.push_back(lane.rank);
          break;
        case sim::Phase::Optimizer:
          update.push_back(lane.rank);
          break;
        default:
          break;
      }
    }
  const auto said = [&](std::string_view all, std::string_view some, const std::vector<int>& ranks) {
    return ranks.size() == view.lanes.size() ? tr(all) : tr(some, {ranks_text(ranks)});
  };
  if (!update.empty()) return said("step.now.update_all", "step.now.update", update);
  if (!backward.empty())
    return said(brief ? "step.now.backward_all_brief" : "step.now.backward_all", "step.now.backward",
                backward);
  if (!loss.empty()) return said("step.now.loss_all", "step.now.loss", loss);
  if (!forward.empty()) return said("step.now.forward_all", "step.now.forward", forward);
  return {};
}

}  // namespace

std::string now_text(const StepView& view, const sim::Trace& trace, bool brief) {
  if (view.empty) return tr("step.now.empty");
  if (view.grouped) return tr("step.now.grouped", {sim::with_commas(view.world)});
  std::vector<int> gone;
  for (const StepLane& lane : view.lanes)
    if (lane.failed && lane.ended >= 0 && lane.ended <= view.t) gone.push_back(lane.rank);
  std::string text;
  if (!gone.empty()) text = tr("step.now.gone", {ranks_text(gone)});
  const std::string work = work_text(view, brief);
  if (!work.empty() && gone.empty()) text = work;
  const BucketView* live = live_bucket(view);
  if (live != nullptr) {
    const std::string name = bucket_name(view, *live);
    const std::string said = live->state == BucketState::Moving
                                 ? (name.empty() ? tr("step.now.moves") : tr("step.now.bucket_moves", {name}))
                                 : waiting_text(view, *live);
    if (brief) return gone.empty() ? said : text;
    text += (text.empty() ? "" : " ") + said;
  }
  if (!text.empty()) return text;
  if (view.t >= trace.end_time() || view.t >= view.to) {
    if (brief) return tr("step.now.over_brief", {std::to_string(view.step)});
    return view.buckets.empty() ? tr("step.now.over_alone", {std::to_string(view.step)})
                                : tr("step.now.over", {std::to_string(view.step)});
  }
  return tr("step.now.between", {std::to_string(view.step)});
}

std::string time_text(std::int64_t ns) {
  struct Unit {
    std::int64_t ns;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "μs"}};
  const std::int64_t magnitude = ns < 0 ? -ns : ns;
  for (const Unit& unit : kUnits) {
    if (magnitude < unit.ns) continue;
    const double value = static_cast<double>(ns) / static_cast<double>(unit.ns);
    const std::string text = fmt::format("{:.1f}", value);
    return (text.ends_with(".0") ? text.substr(0, text.size() - 2) : text) + " " + unit.name;
  }
  return fmt::format("{} ns", ns);
}

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  const double magnitude = std::abs(value);
  if (value == 0) return "0";
  if (magnitude >= 1e6 || magnitude < 1e-3) return fmt::format("{:.2e}", value);
  return magnitude >= 1000 ? fmt::format("{:.1f}", value) : fmt::format("{:.4f}", value);
}

std::string ranks_text(const std::vector<int>& ranks, std::size_t most) {
  if (ranks.size() > most) return tr("step.ranks", {std::to_string(ranks.size())});
  std::string out;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) out += i + 1 == ranks.size() ? tr("step.and") : std::string(", ");
    out += parts::rank_name(ranks[i]);
  }
  return out;
}

std::string short_digest(std::uint64_t digest) {
  return fmt::format("{:016x}", digest).substr(0, 6);
}

std::string layers_text(const BucketView& bucket) {
  if (bucket.first_layer < 0) return {};
  std::string out = layer_name(bucket.last_layer);
  if (bucket.last_layer != bucket.first_layer)
    out = layer_name(bucket.first_layer) + (bucket.last_layer - bucket.first_layer > 1 ? " … " : ", ") + out;
  return out;
}

std::int64_t chosen_element(const Paint& p) {
  const sim::Scenario* s = p.numbers.scenario();
  if (s == nullptr || !p.numbers.has_network()) return -1;
  const std::int64_t count = s->tensor.shape.count();
  return p.state.element >= 0 && p.state.element < count ? p.state.element : count - 1;
}

void edit(Paint& p, std::string what, std::function<void(sim::Scenario&)> change) {
  p.view.emit(action::EditScenario{std::move(what), std::move(change), {}});
}

std::string why_not_edit(const Paint& p) {
  if (!p.view.ctx.can.can_edit()) return tr(p.view.ctx.can.edit_why_not);
  if (p.view.ctx.scenario == nullptr) return tr("step.no_scenario");
  return {};
}

}  // namespace ringside::app::step
