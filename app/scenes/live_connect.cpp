// Nothing is watched: an address to type, ranks to start here, and what happens while that goes on.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/live_scene.hpp"
#include "app/session/live_desk.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::live {
namespace {

void complain(Session& session, const sim::Error& error) {
  session.notices.push_back({NoticeKind::Error, sim::escape_for_display(error.message())});
}

void watch(View& view, const std::string& url) {
  view.emit(action::Custom{"live.watch", [url](Session& s) {
                             if (const sim::Status done = s.live().watch(url); !done) complain(s, done.error());
                           }});
}

/// How the connection stands, while there is no trace of it; "" = there is none.
std::string link_text(const LiveDesk& desk) {
  if (!desk.watching()) return {};
  const backend::LiveStatus& status = desk.status();
  if (status.other_job) return tr("live.connect.other_job", {desk.host()});
  switch (status.link) {
    case backend::LinkState::Refused:
      return tr("live.connect.refused", {desk.host(), sim::escape_for_display(status.text)});
    case backend::LinkState::Lost:
      return tr("live.connect.lost", {desk.host(), sim::escape_for_display(status.text)});
    default:
      return tr("live.connect.connecting", {desk.host()});
  }
}

void draw_address(View& view, Rect box, std::string& url) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const LiveDesk* desk = view.ctx.live;
  c.rect(box, {.fill = t.card, .radius = 12});
  float y = parts::paragraph(c, {box.x + 24, box.y + 36}, box.w - 48, tr("live.connect.title"),
                             {.size = 22, .line_height = 1.3f, .face = Face::Bold, .max_lines = 2});
  y = parts::paragraph(c, {box.x + 24, y + 4}, box.w - 48, tr("live.connect.text"),
                       {.size = 15, .line_height = 1.45f, .color = t.t2, .max_lines = 4});
  const float button = std::max(96.0f, c.width(tr("live.connect.watch"), 15, Face::Bold) + 40);
  const Rect field{box.x + 24, y + 6, box.w - 48 - button - 10, 40};
  const bool typed = view.ui.text_field("live.url", field, url, 15, tr("live.connect.field"));
  if (url.empty() && !view.ui.typed("live.url"))
    c.text({field.x + 12, field.center().y}, fit(c.fonts(), tr("live.connect.field"), field.w - 24, 14),
           {.size = 14, .color = t.t3, .on_shape = true});
  const bool pressed = view.ui.button("live.watch", {field.right() + 10, field.y, button, 40}, tr("live.connect.watch"),
                                      {.primary = true, .enabled = !url.empty() || view.ui.typed("live.url").has_value()});
  if ((typed || pressed) && !url.empty()) watch(view, url);
  const std::string link = desk != nullptr ? link_text(*desk) : std::string();
  const bool bad = desk != nullptr && desk->status().link == backend::LinkState::Refused;
  if (!link.empty())
    parts::paragraph(c, {box.x + 24, field.bottom() + 26}, box.w - 48, link,
                     {.size = 15, .line_height = 1.4f, .color = bad ? t.fail_text : t.t1, .max_lines = 4});
}

void draw_start(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const LiveDesk* desk = view.ctx.live;
  c.rect(box, {.fill = t.card, .radius = 12});
  c.text({box.x + 24, box.y + 34}, fit(c.fonts(), tr("live.connect.start_title"), box.w - 48, 19, Face::Bold),
         {.size = 19, .face = Face::Bold});
  float y = parts::paragraph(c, {box.x + 24, box.y + 66}, box.w - 48, tr("live.connect.start_text"),
                             {.size = 15, .line_height = 1.45f, .color = t.t2, .max_lines = 4});
  const bool runs = desk != nullptr && desk->here();
  const Rect button{box.x + 24, y + 4, std::min(box.w - 48, 340.0f), 42};
  if (runs) {
    if (view.ui.button("live.stop", button, tr("live.connect.stop"), {.icon = Glyph::Stop}))
      view.emit(action::Custom{"live.stop", [](Session& s) { s.live().stop_here(); }});
  } else if (view.ui.button("live.start", button, tr("live.connect.start"),
                            {.icon = Glyph::Play, .enabled = desk != nullptr})) {
    view.emit(action::Custom{"live.start", [](Session& s) {
                               if (const sim::Status done = s.live().start_here({}); !done) complain(s, done.error());
                             }});
  }
  y = button.bottom() + 22;
  if (desk == nullptr) return;
  if (runs && !desk->watching())
    c.text({box.x + 24, y}, fit(c.fonts(), tr("live.connect.starting"), box.w - 48, 14), {.size = 14, .color = t.t2});
  const auto& said = desk->here_said();
  const auto rows = static_cast<std::size_t>(std::max(0.0f, (box.bottom() - 14 - y) / 20));
  for (std::size_t i = said.size() > rows ? said.size() - rows : 0; !runs && i < said.size(); ++i) {
    c.text({box.x + 24, y}, fit(c.fonts(), said[i], box.w - 48, 13, Face::Mono),
           {.size = 13, .color = desk->here_failed() ? t.fail_text : t.t2, .face = Face::Mono});
    y += 20;
  }
}

}  // namespace

void draw_terminal(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect box = view.box;
  c.text({box.x + 16, box.y + 28}, fit(c.fonts(), tr("live.connect.terminal_title"), box.w - 32, 17, Face::Bold),
         {.size = 17, .face = Face::Bold});
  float y = box.y + 52;
  const std::string commands[] = {"ringside-cli live -n 4 --pace 400ms", "ringside-cli live --record run.rsr"};
  for (int i = 0; i < 2; ++i) {
    const Rect row{box.x + 16, y, box.w - 32, 34};
    const Hit hit = view.ui.hit("live.command." + std::to_string(i), row);
    c.rect(row, {.fill = hit.hovered ? t.raised : t.stage, .stroke = t.edge, .radius = 8});
    c.text({row.x + 12, row.center().y}, fit(c.fonts(), commands[i], row.w - 48, 13, Face::Mono),
           {.size = 13, .face = Face::Mono});
    c.glyph(Glyph::Copy, {row.right() - 18, row.center().y}, 14, t.t2, 1.5f);
    if (hit.clicked) view.emit(action::CopyText{commands[i]});
    y += 42;
  }
  parts::paragraph(c, {box.x + 16, y + 14}, box.w - 32, tr("live.connect.terminal_text"),
                   {.size = 15, .line_height = 1.4f, .color = t.t2, .max_lines = 6});
}

void draw_connect(View& view, std::string& url) {
  const Rect s = view.box;
  const float margin = s.w > 1100 ? 64.0f : 28.0f, gap = 16;
  const float w = std::min(s.w - 2 * margin, 820.0f), x = s.x + (s.w - w) / 2;
  const LiveDesk* desk = view.ctx.live;
  const bool links = desk != nullptr && desk->watching();
  const bool says = desk != nullptr && (desk->here() || !desk->here_said().empty());
  const bool other = view.ctx.live != nullptr && view.ctx.live->trace() != nullptr;
  // As high as their texts need, and room for what is said while something goes on.
  const float upper = links || other ? 270.0f : 208.0f;
  const float lower = std::min(says ? 330.0f : 184.0f, s.h - upper - gap - 16);
  const float y = s.y + std::max(8.0f, (s.h - upper - gap - lower) * .4f);
  draw_address(view, {x, y, w, upper}, url);
  if (other) {
    const std::string& label = tr("live.connect.to_job");
    const float bw = view.canvas.width(label, 15, Face::Bold) + 56;
    if (view.ui.button("live.to_job", {x + w - 24 - bw, y + upper - 58, bw, 40}, label, {.icon = Glyph::Live}))
      view.emit(action::Custom{"live.to_job", [](Session& session) {
                                 const auto& documents = session.documents();
                                 for (std::size_t i = 0; i < documents.size(); ++i)
                                   if (documents[i]->foreign.get() == session.live().trace())
                                     session.apply(action::SwitchTab{static_cast<int>(i)});
                                 session.scene_id = "live";
                               }});
  }
  draw_start(view, {x, y + upper + gap, w, lower});
}

}  // namespace ringside::app::live
