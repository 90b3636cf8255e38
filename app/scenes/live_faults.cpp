// Real faults: a controller asks a rank to do something to itself. Plain words; killing is asked twice.
#include <array>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/live_scene.hpp"
#include "app/session/live_desk.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::live {
namespace {

using sim::FaultKind;

constexpr std::array kKinds{FaultKind::Nan,      FaultKind::Slow,     FaultKind::Shape,      FaultKind::SkipStep,
                            FaultKind::WrongOrder, FaultKind::EarlyExit, FaultKind::Hang, FaultKind::Crash};

void order(View& view, FaultKind kind, int rank) {
  view.emit(action::Custom{"live.order", [kind, rank](Session& s) {
                             sim::Fault fault;
                             fault.kind = kind;
                             fault.rank = rank;
                             fault.step = 0;  // now: at the beginning of its next step
                             const sim::Status done = s.live().order(fault);
                             const std::string& word = tr_word("fault", sim::to_word(kind));
                             s.notices.push_back(
                                 done ? Notice{NoticeKind::Info, tr("live.ordered", {parts::rank_name(rank), word})}
                                      : Notice{NoticeKind::Error,
                                               tr("live.order_failed",
                                                  {sim::escape_for_display(done.error().message())})});
                           }});
}

/// "Kill R2 (pid 40265)?"
void draw_sure(View& view, Rect box, FaultChoice& choice, std::int64_t pid) {
  Canvas& c = view.canvas;
  const float y = parts::paragraph(c, {box.x + 16, box.y + 28}, box.w - 32,
                                   tr("live.fault.sure", {parts::rank_name(choice.rank), std::to_string(pid)}),
                                   {.size = 16, .line_height = 1.4f, .max_lines = 5});
  const float w = (box.w - 32 - 10) / 2;
  if (view.ui.button("live.fault.kill", {box.x + 16, y + 8, w, 38}, tr("live.fault.kill"), {.primary = true})) {
    order(view, FaultKind::Crash, choice.rank);
    choice.sure = false;
    view.ui.close_popup();
  }
  if (view.ui.button("live.fault.cancel", {box.x + 16 + w + 10, y + 8, w, 38}, tr("live.fault.cancel")))
    choice.sure = false;
}

void draw_kinds(View& view, Rect box, FaultChoice& choice, int world, bool one_bucket) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.text({box.x + 16, box.y + 26},
         fit(c.fonts(), tr("live.fault.title", {parts::rank_name(choice.rank)}), box.w - 116, 15, Face::Bold),
         {.size = 15, .face = Face::Bold});
  if (view.ui.icon_button("live.fault.previous", {box.right() - 70, box.y + 26}, Glyph::Left, 16,
                          tr("live.fault.previous"), choice.rank > 0))
    --choice.rank;
  if (view.ui.icon_button("live.fault.next", {box.right() - 30, box.y + 26}, Glyph::Right, 16, tr("live.fault.next"),
                          choice.rank + 1 < world))
    ++choice.rank;
  float y = box.y + 52;
  for (const FaultKind kind : kKinds) {
    const bool enabled = kind != FaultKind::WrongOrder || !one_bucket;
    const std::string word(sim::to_word(kind));
    const Rect row{box.x + 8, y, box.w - 16, 36};
    const Hit hit = view.ui.hit("live.fault." + word, row,
                                {.focusable = enabled, .explain = enabled ? std::string_view() : tr("live.fault.one_bucket")});
    if (enabled && hit.hovered) c.rect(row, {.fill = t.raised, .radius = 6});
    const bool kills = kind == FaultKind::Crash;
    c.text({row.x + 10, row.center().y}, fit(c.fonts(), tr_word("live.fault_does", word), row.w - 20, 15),
           {.size = 15, .color = !enabled ? t.t3 : kills ? t.fail_text : t.t1});
    y += 36;
    if (!enabled || !hit.clicked) continue;
    if (kills) {
      choice.sure = true;
    } else {
      order(view, kind, choice.rank);
      view.ui.close_popup();
    }
  }
}

}  // namespace

void draw_faults(Paint& p, Rect button, FaultChoice& fault, const std::optional<sim::Scenario>& scenario) {
  const bool may = p.desk->status().may_command && p.desk->status().link == backend::LinkState::Connected;
  const bool alive = p.live.present > 0;
  const std::string_view why = !alive ? std::string_view(tr("live.fault.over"))
                               : !may ? std::string_view(tr("live.fault.needs_token"))
                                      : std::string_view();
  if (p.view.ui.button("live.fault", button, tr("live.fault.button"),
                       {.icon = Glyph::Bolt, .size = 15, .enabled = why.empty(), .explain = why})) {
    const int chosen = p.view.ctx.selection.rank;
    if (chosen >= 0) fault.rank = chosen;
    fault.sure = false;
    p.view.ui.open_popup("live.fault.popup");
  }
  const int world = static_cast<int>(p.live.lanes.size());
  if (world == 0) return;
  fault.rank = std::clamp(fault.rank, 0, world - 1);
  const bool one_bucket = scenario && scenario->training.buckets < 2;
  const std::int64_t pid = p.live.lanes[static_cast<std::size_t>(fault.rank)].pid;
  p.view.ui.popup("live.fault.popup", button, {380, 52 + 36.0f * kKinds.size() + 10},
                  [view = p.view, &fault, world, one_bucket, pid](Rect box) mutable {
                    if (fault.sure)
                      draw_sure(view, box, fault, pid);
                    else
                      draw_kinds(view, box, fault, world, one_bucket);
                  });
}

}  // namespace ringside::app::live
