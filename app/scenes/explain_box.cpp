#include "app/scenes/explain_box.hpp"

#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

const std::string& role_text(backend::Role role) {
  switch (role) {
    case backend::Role::Root:
      return tr("explain_role.root");
    case backend::Role::Names:
      return tr("explain_role.names");
    case backend::Role::Victim:
      return tr("explain_role.victim");
    case backend::Role::Consequence:
      return tr("explain_role.consequence");
    case backend::Role::Context:
      break;
  }
  return tr("explain_role.context");
}

}  // namespace

void ExplainBox::explain(std::string line) {
  line_ = std::move(line);
  explanation_ = backend::explain_line(line_);
  answered_ = !line_.empty();
}

bool ExplainBox::field(View& view, std::string_view id, Rect box) {
  Canvas& c = view.canvas;
  const std::string name(id);
  const std::string label = tr("explain.button");
  const float bw = c.width(label, 15) + 32;
  const Rect field{box.x, box.y, box.w - bw - 8, box.h};
  const bool editing = view.ui.typing() && view.ui.focused() == name;
  bool given = view.ui.text_field(name, field, typed_, 14, tr("explain.field_explain"));
  if (typed_.empty() && !editing && !view.ui.typing())
    c.text({field.x + 10, field.y + field.h / 2}, fit(c.fonts(), tr("explain.field"), field.w - 20, 14),
           {.size = 14, .color = c.theme().t3});
  if (view.ui.button(name + ".go", {field.right() + 8, box.y, bw, box.h}, label,
                     {.size = 15, .enabled = !typed_.empty() || view.ui.typing()}))
    given = !typed_.empty();
  if (given) explain(typed_);
  return given && answered_;
}

float ExplainBox::answer(View& view, Rect box) const {
  if (!answered_) return box.y;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const bool korean = language() == Lang::Ko;
  const backend::Explanation& e = explanation_;
  float y = box.y + 10;
  y = parts::paragraph(c, {box.x, y}, box.w, sim::escape_for_display(line_.substr(0, 1000)),
                       {.size = 13, .line_height = 1.4f, .color = t.t3, .face = Face::Mono, .max_lines = 2}) +
      8;
  if (!e.known) {
    return parts::paragraph(c, {box.x, y}, box.w, tr("explain.unknown"), {.size = 16, .color = t.t1});
  }
  float x = box.x;
  x += parts::chip(c, {x, y + 4}, std::string(backend::to_word(e.layer)),
                   {.stroke = t.edge, .face = Face::Bold}) +
       8;
  const bool may_be_cause = e.role == backend::Role::Root;
  const bool victim = e.role == backend::Role::Victim || e.role == backend::Role::Consequence;
  x += parts::chip(c, {x, y + 4}, role_text(e.role),
                   {.icon = may_be_cause ? Glyph::Cross
                            : victim     ? Glyph::Victim
                                         : Glyph::None,
                    .color = may_be_cause ? t.fail : t.t2,
                    .stroke = t.edge}) +
       10;
  if (!e.who.empty() && box.right() - x > 60)
    c.text({x, y + 4}, fit(c.fonts(), sim::escape_for_display(e.who), box.right() - x, 14),
           {.size = 14, .color = t.t2});
  y += 34;
  y = parts::paragraph(c, {box.x, y}, box.w, sim::escape_for_display(korean ? e.meaning_ko : e.meaning_en),
                       {.size = 17, .line_height = 1.4f, .max_lines = 4}) +
      4;
  const auto part = [&](std::string_view title, const std::string& text) {
    if (text.empty() || y > box.bottom() - 30) return;
    c.text({box.x, y}, title, {.size = 13, .color = t.t3});
    y = parts::paragraph(c, {box.x, y + 21}, box.w, sim::escape_for_display(text),
                         {.size = 15, .line_height = 1.4f, .color = t.t2, .max_lines = 3}) +
        4;
  };
  part(tr("explain.author"), korean ? e.author_ko : e.author_en);
  part(tr("explain.next"), korean ? e.next_ko : e.next_en);
  return y;
}

void ExplainBox::popup(View& view, std::string_view id, Rect anchor) const {
  const std::string name(id);
  view.ui.popup(name, anchor, {560, 330}, [this, view](Rect box) mutable {
    view.canvas.text({box.x + 20, box.y + 28}, tr("explain.title"), {.size = 17, .face = Face::Bold});
    if (view.ui.icon_button("explain.close", {box.right() - 28, box.y + 28}, Glyph::Cross, 12,
                            tr("explain.close")))
      view.ui.close_popup();
    answer(view, {box.x + 20, box.y + 44, box.w - 40, box.h - 60});
  });
}

}  // namespace ringside::app
