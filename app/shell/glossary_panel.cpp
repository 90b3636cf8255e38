#include "app/shell/glossary_panel.hpp"

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr const char* kPopup = "glossary";
constexpr const char* kSearch = "glossary.search";
constexpr float kRow = 34, kListWidth = 268;

bool korean() {
  return language() == Lang::Ko;
}

/// "Lesson 5: the ring …", or "AllReduce: four-gpus.toml, ring:2".
std::string way_to(const GlossaryWord& word, const LessonDesk& lessons) {
  if (!word.lesson.empty()) {
    const LessonFile* file = lessons.library().find(word.lesson);
    if (file == nullptr) return {};
    return tr("glossary.in_lesson",
              {std::to_string(lessons.library().number_of(word.lesson)), file->lesson.title.in(korean())});
  }
  const SceneEntry* scene = find_scene(word.place.scene);
  return scene != nullptr ? tr("glossary.in_scene", {tr(scene->title_key)}) : std::string();
}

void go(Session& session, const GlossaryWord& word) {
  if (!word.lesson.empty()) {
    session.lessons.start(session, word.lesson, word.step);
    return;
  }
  const sim::Status gone = go_to(session, session.lessons.assets(), word.place);
  if (!gone) session.notices.push_back({NoticeKind::Error, sim::escape_for_display(gone.error().message())});
}

}  // namespace

void GlossaryPanel::open(const Glossary& glossary, std::string_view word) {
  wanted_ = true;
  query_.clear();
  if (!word.empty()) chosen_ = std::string(word);
  if (chosen_.empty() && !glossary.words.empty()) chosen_ = glossary.words.front().word.en;
  const auto& words = glossary.words;
  const auto at =
      std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.word.en == chosen_; });
  scroll_ = static_cast<float>(std::max<std::ptrdiff_t>(0, at - words.begin() - 4));
}

void GlossaryPanel::draw(View& view, const Glossary& glossary, const LessonDesk& lessons) {
  if (wanted_) {
    wanted_ = false;
    view.ui.open_popup(kPopup);
    view.ui.start_typing(kSearch, "");
  }
  if (!view.ui.popup_open(kPopup)) return;
  const Vec2 size{std::min(840.0f, view.box.w - 120), std::min(560.0f, view.box.h - 120)};
  const Rect anchor{view.box.center().x - size.x / 2, view.box.center().y - size.y / 2 - 6, 1, 0};
  view.ui.popup(kPopup, anchor, size,
                [this, view, &glossary, &lessons](Rect box) { content(view, box, glossary, lessons); });
}

void GlossaryPanel::content(View view, Rect box, const Glossary& glossary, const LessonDesk& lessons) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  if (const auto typed = view.ui.typed(kSearch)) query_ = *typed;
  const auto found = glossary.search(query_);
  const bool known =
      std::any_of(found.begin(), found.end(), [&](const auto* w) { return w->word.en == chosen_; });
  if (!known && !found.empty()) {
    chosen_ = found.front()->word.en;
    scroll_ = 0;
  }
  if (view.ui.key(Key::Down)) move(found, 1);
  if (view.ui.key(Key::Up)) move(found, -1);
  view.ui.take(Key::Up);
  view.ui.take(Key::Down);

  c.text({box.x + 24, box.y + 34}, tr("glossary.title"), {.size = 22, .face = Face::Bold});
  if (view.ui.icon_button("glossary.close", {box.right() - 30, box.y + 34}, Glyph::Cross, 14, {}))
    view.ui.close_popup();
  const Rect search{box.x + 20, box.y + 62, kListWidth, 36};
  if (view.ui.text_field(kSearch, search, query_, 16, tr("glossary.search"))) view.ui.focus("glossary.list");
  if (query_.empty())
    c.text({search.x + 14, search.center().y}, tr("glossary.search"),
           {.size = 15, .color = t.t3, .on_shape = true});
  draw_list(view, {box.x + 20, search.bottom() + 10, kListWidth, box.bottom() - 16 - search.bottom() - 10},
            found);
  const float x = box.x + 20 + kListWidth + 28;
  c.line({x - 16, box.y + 62}, {x - 16, box.bottom() - 20}, t.line);
  const auto chosen =
      std::find_if(found.begin(), found.end(), [&](const auto* w) { return w->word.en == chosen_; });
  if (chosen != found.end())
    draw_word(view, {x, box.y + 62, box.right() - 28 - x, box.h - 82}, **chosen, lessons);
}

void GlossaryPanel::move(const std::vector<const GlossaryWord*>& found, int by) {
  const auto at =
      std::find_if(found.begin(), found.end(), [&](const auto* w) { return w->word.en == chosen_; });
  if (at == found.end()) return;
  const auto to =
      std::clamp<std::ptrdiff_t>(at - found.begin() + by, 0, static_cast<std::ptrdiff_t>(found.size()) - 1);
  chosen_ = found[static_cast<std::size_t>(to)]->word.en;
  constexpr float kShown = 12;
  scroll_ = std::clamp(scroll_, static_cast<float>(to) - kShown + 1, static_cast<float>(to));
}

void GlossaryPanel::draw_list(View& view, Rect box, const std::vector<const GlossaryWord*>& found) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const int rows = static_cast<int>(box.h / kRow);
  const float most = std::max(0.0f, static_cast<float>(found.size()) - static_cast<float>(rows));
  scroll_ = std::clamp(scroll_ - view.ui.wheel(box) * 2, 0.0f, most);
  view.ui.hit("glossary.list", box, {.takes_arrows = true});
  if (found.empty()) {
    float y = box.y + 20;
    for (const std::string& line : wrap(c.fonts(), tr("glossary.none", {query_}), box.w - 20, 15)) {
      c.text({box.x + 10, y}, line, {.size = 15, .color = t.t2});
      y += 22;
    }
    return;
  }
  const auto first = static_cast<std::size_t>(std::lround(scroll_));
  for (std::size_t i = first; i < found.size() && i < first + static_cast<std::size_t>(rows); ++i) {
    const GlossaryWord& word = *found[i];
    const Rect row{box.x, box.y + static_cast<float>(i - first) * kRow, box.w - 12, kRow};
    const Hit hit = view.ui.hit("glossary.word." + std::to_string(i), row, {.focusable = false});
    const bool on = word.word.en == chosen_;
    if (on || hit.hovered) c.rect(row.inset(0, 1), {.fill = on ? t.raised : t.card, .radius = 6});
    c.text({row.x + 10, row.center().y},
           fit(c.fonts(), word.word.in(korean()), row.w - 20, 15, on ? Face::Bold : Face::Regular),
           {.size = 15, .color = on ? t.t1 : t.t2, .face = on ? Face::Bold : Face::Regular});
    if (hit.clicked) chosen_ = word.word.en;
  }
  if (most > 0) {
    const float bar = box.h * static_cast<float>(rows) / static_cast<float>(found.size());
    c.rect({box.right() - 6, box.y + (box.h - bar) * scroll_ / most, 4, bar}, {.fill = t.edge, .radius = 2});
  }
}

void GlossaryPanel::draw_word(View& view, Rect box, const GlossaryWord& word, const LessonDesk& lessons) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const std::string& name = word.word.in(korean());
  const std::string& other = word.word.in(!korean());
  c.text({box.x, box.y + 18}, fit(c.fonts(), name, box.w, 26, Face::Bold), {.size = 26, .face = Face::Bold});
  float y = box.y + 50;
  if (other != name) {
    c.text({box.x, y}, other, {.size = 15, .color = t.t3});
    y += 30;
  }
  y = parts::paragraph(c, {box.x, y + 8}, box.w, word.text.in(korean()),
                       {.size = 18, .line_height = 1.55f, .color = t.t1});
  const std::string way = way_to(word, lessons);
  const bool there = !way.empty();
  const Rect button{box.x, std::max(y + 14, box.bottom() - 88), std::min(box.w, 300.0f), 46};
  c.text({box.x, button.bottom() + 22}, fit(c.fonts(), there ? way : tr("glossary.no_place"), box.w, 14),
         {.size = 14, .color = t.t2});
  if (view.ui.button("glossary.show", button, tr("glossary.show"),
                     {.primary = true, .icon = Glyph::Play, .size = 16, .enabled = there})) {
    view.emit(action::Custom{"glossary.show:" + word.word.en, [word](Session& s) { go(s, word); }});
    view.ui.close_popup();
  }
}

}  // namespace ringside::app
