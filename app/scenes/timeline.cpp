// The timeline that most scenes share.
#include <algorithm>
#include <map>

#include "app/i18n/i18n.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {
namespace {

bool add_ring_steps(const SceneContext& ctx, std::uint32_t coll, Timeline& out) {
  const sim::CollectiveInfo& info = ctx.trace.collective(coll);
  if (info.steps == 0) return false;
  const auto ends = sim::ring_step_times(ctx.trace);
  std::int64_t begin = out.from, phase_begin = out.from;
  for (std::uint32_t step = 1; step <= info.steps; ++step) {
    const auto found = ends.find({coll, step});
    if (found == ends.end()) return false;
    const std::int64_t end = found->second;
    const bool phase_ends = step == info.reduce_steps || step == info.steps;
    if (!phase_ends) out.ticks.push_back(end);
    out.labels.push_back({(begin + end) / 2, std::to_string(step)});
    if (phase_ends) {
      const bool reduces = step <= info.reduce_steps;
      out.bands.push_back({phase_begin, end, reduces ? tr("phase.reduce_scatter") : tr("phase.all_gather")});
      phase_begin = end;
    }
    begin = end;
  }
  if (begin < out.to) out.bands.push_back({begin, out.to, {}});
  return true;
}

void add_phases(const SceneContext& ctx, Timeline& out) {
  std::map<sim::Phase, std::int64_t> open;
  for (const std::uint32_t index : ctx.trace.order()) {
    const sim::Event& event = ctx.trace.events()[index];
    if (event.rank() != 0) continue;
    if (event.type == sim::EventType::PhaseBegin) open[event.phase.phase] = event.t;
    if (event.type != sim::EventType::PhaseEnd) continue;
    const auto begin = open.find(event.phase.phase);
    if (begin == open.end()) continue;
    out.bands.push_back({begin->second, event.t, tr_word("phase", sim::to_word(event.phase.phase))});
    open.erase(begin);
  }
  if (out.bands.empty()) out.bands.push_back({out.from, out.to, {}});
}

void add_marks(const SceneContext& ctx, Timeline& out) {
  constexpr std::size_t kMost = 200;
  for (const std::uint32_t index : ctx.trace.order()) {
    const sim::Event& event = ctx.trace.events()[index];
    if (out.marks.size() >= kMost) break;
    switch (event.type) {
      case sim::EventType::WatchdogExpired:
        out.marks.push_back({event.t, Glyph::Clock, ctx.theme.stall});
        break;
      case sim::EventType::NanFound:
        out.marks.push_back({event.t, Glyph::Poison, ctx.theme.nan});
        break;
      case sim::EventType::Command:
        out.marks.push_back({event.t, Glyph::Bolt, ctx.theme.t1});
        break;
      case sim::EventType::Exit:
        if (event.text.code != 0) out.marks.push_back({event.t, Glyph::Cross, ctx.theme.fail});
        break;
      default:
        break;
    }
  }
}

}  // namespace

Timeline default_timeline(const SceneContext& ctx) {
  Timeline out{.from = 0, .to = std::max<std::int64_t>(1, ctx.end_time)};
  // One collective with visible ring steps is the whole story; otherwise the phases of training are.
  if (ctx.trace.collective_count() != 1 || !add_ring_steps(ctx, 0, out)) {
    out.bands.clear();
    out.ticks.clear();
    out.labels.clear();
    add_phases(ctx, out);
  }
  add_marks(ctx, out);
  return out;
}

}  // namespace ringside::app
