#include "app/scenes/same_shape_scene.hpp"

#include <algorithm>
#include <array>

#include "app/draw/parts.hpp"
#include "app/scenes/beat_bar.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr double kPartSeconds = 5, kPaperSeconds = 7;
constexpr float kRowHeight = 27;

constexpr std::string_view kParts_[] = {"same.part.same",  "same.part.count", "same.part.position",
                                        "same.part.dtype", "same.part.order", "same.part.paper"};

}  // namespace

int SameShapeScene::part_of(Mismatch m) {
  switch (m) {
    case Mismatch::None:
      return 0;
    case Mismatch::OtherCount:
    case Mismatch::Tail:
    case Mismatch::Construction:
      return 1;
    case Mismatch::SameCount:
      return 2;
    case Mismatch::SameWidth:
    case Mismatch::OtherWidth:
    case Mismatch::Op:
      return 3;
    case Mismatch::Order:
    case Mismatch::Skip:
      return 4;
  }
  return 0;
}

void SameShapeScene::go_to_part(int part) {
  part_ = std::clamp(part, 0, kParts - 1);
  part_since_ = now_;
  overlaid_ = false;
  if (part_ == kPaperPart) {
    paper_since_ = now_;
    return;
  }
  for (const Mismatch m : kMismatches)
    if (part_of(m) == part_) {
      row_ = m;
      break;
    }
}

void SameShapeScene::choose(Mismatch row) {
  row_ = row;
  part_ = part_of(row);
  playing_ = false;
  overlaid_ = false;
  if (!VerdictTable::applies(row_, stack_)) stack_ = Stack::Nccl;
}

void SameShapeScene::set_shapes(Shapes shapes) {
  table_.set_shapes(shapes);
  if (shapes.all == shapes.odd) {
    part_ = 0;
  } else {
    choose(shapes.all.count() == shapes.odd.count() ? Mismatch::SameCount : Mismatch::OtherCount);
  }
}

void SameShapeScene::prepare(const SceneContext& ctx) {
  now_ = ctx.now;
  still_ = ctx.now == 0 || ctx.reduced_motion;
  if (playing_ && now_ - part_since_ > (part_ == kPaperPart ? kPaperSeconds + 1 : kPartSeconds)) {
    if (part_ + 1 < kParts) {
      go_to_part(part_ + 1);
    } else {
      playing_ = false;
    }
  }
  paper_share_ = still_ ? 1.0 : std::clamp((now_ - paper_since_) / kPaperSeconds, 0.0, 1.0);
}

bool SameShapeScene::key(Key key, View& view) {
  const auto row = std::find(kMismatches.begin(), kMismatches.end(), row_) - kMismatches.begin();
  const auto move_row = [&](std::ptrdiff_t by) {
    choose(kMismatches[static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(row + by, 0, static_cast<std::ptrdiff_t>(kMismatches.size()) - 1))]);
    return true;
  };
  const auto move_stack = [&](int by) {
    stack_ = kStacks[static_cast<std::size_t>(std::clamp(static_cast<int>(stack_) + by, 0, 3))];
    if (!VerdictTable::applies(row_, stack_)) stack_ = Stack::Gloo;
    return true;
  };
  const bool beats = view.ctx.presenter || part_ == kPaperPart;
  switch (key) {
    case Key::Left:
      return beats ? (go_to_part(part_ - 1), true) : move_stack(-1);
    case Key::Right:
      return beats ? (go_to_part(part_ + 1), true) : move_stack(1);
    case Key::Up:
      return move_row(-1);
    case Key::Down:
      return move_row(1);
    case Key::PageUp:
      go_to_part(part_ - 1);
      return true;
    case Key::PageDown:
      go_to_part(part_ + 1);
      return true;
    case Key::Home:
      go_to_part(0);
      return true;
    case Key::End:
      go_to_part(kParts - 1);
      return true;
    case Key::Space:
      playing_ = !playing_;
      if (playing_) go_to_part(part_ == kPaperPart ? 0 : part_);
      return true;
    case Key::Enter:
      if (part_ != kPaperPart) run(view);
      return true;
    default:
      return false;
  }
}

// --- words

std::string SameShapeScene::title(const SceneContext&) const {
  return tr("same.title");
}

std::string SameShapeScene::facts(const SceneContext&) const {
  return tr("same.facts");
}

std::string SameShapeScene::caption(const SceneContext&) const {
  if (part_ == kPaperPart)
    return paper_ == Paper::All    ? tr("same.paper.all_end")
           : paper_ == Paper::Half ? tr("same.paper.half_end")
                                   : tr("same.paper.absent_end");
  constexpr std::string_view kKeys[] = {"same.caption.same", "same.caption.count", "same.caption.position",
                                        "same.caption.dtype", "same.caption.order"};
  return tr(kKeys[part_]);
}

std::string SameShapeScene::caption_detail(const SceneContext&) const {
  return std::to_string(part_ + 1) + " / " + std::to_string(kParts);
}

std::optional<float> SameShapeScene::progress() const {
  return static_cast<float>(part_ + 1) / kParts;
}

std::string SameShapeScene::place() const {
  if (part_ == kPaperPart)
    return std::string("part:6+") + (paper_ == Paper::All    ? "all"
                                     : paper_ == Paper::Half ? "half"
                                                             : "absent");
  if (part_ == 0) return "part:1";
  return std::string(to_word(row_)) + "+" + std::string(to_word(stack_));
}

bool SameShapeScene::go_to(std::string_view place) {
  int part = part_;
  Mismatch row = row_;
  Stack stack = stack_;
  Paper paper = paper_;
  while (!place.empty()) {
    const std::string_view word = place.substr(0, place.find('+'));
    place.remove_prefix(std::min(place.size(), word.size() + 1));
    if (word.size() == 6 && word.starts_with("part:") && word[5] >= '1' && word[5] <= '0' + kParts) {
      part = word[5] - '1';
      for (auto m = kMismatches.rbegin(); m != kMismatches.rend(); ++m)
        if (part_of(*m) == part) row = *m;
      continue;
    }
    bool known = false;
    for (const Mismatch m : kMismatches)
      if (to_word(m) == word) row = m, part = part_of(m), known = true;
    for (const Stack s : kStacks)
      if (to_word(s) == word) stack = s, known = true;
    constexpr std::string_view kPapers[] = {"all", "half", "absent"};
    for (int i = 0; i < 3; ++i)
      if (kPapers[i] == word) paper = static_cast<Paper>(i), part = kPaperPart, known = true;
    if (!known) return false;
  }
  if (!VerdictTable::applies(row, stack)) return false;
  part_ = part;
  row_ = row;
  stack_ = stack;
  paper_ = paper;
  paper_since_ = part_since_ = now_;
  playing_ = overlaid_ = false;
  return true;
}

std::map<std::string, sim::FactValue> SameShapeScene::lesson_facts(const SceneContext&) const {
  return {{"shapes_match", shapes().all == shapes().odd || part_ == 0 ? 1.0 : 0.0},
          {"papers", part_ == kPaperPart ? static_cast<double>(paper_at(paper_, paper_share_).added) : 0.0}};
}

std::vector<Rect> SameShapeScene::places(std::string_view name) const {
  const auto found = places_.find(name);
  return found != places_.end() ? std::vector<Rect>{found->second} : std::vector<Rect>{};
}

/// In the words of the table: what the simulator's verdict means for a person.
std::string SameShapeScene::verdict_text(Mismatch m, const Verdict& v, Stack s) const {
  const std::string who = parts::rank_name(std::max(0, v.who));
  switch (v.ending) {
    case Ending::Fine:
      return tr("same.ends.fine");
    case Ending::Silent:
      return s == Stack::NcclDetail ? tr("same.ends.not_checked") : tr_word("same.silent", to_word(m));
    case Ending::TimesOut:
      return tr("same.ends.timeout", {sim::format_duration(v.t_ns / 60'000'000'000 * 60'000'000'000)});
    case Ending::Waits:
      return tr("same.ends.hang");
    case Ending::Says:
      break;
  }
  switch (v.saying) {
    case Saying::Fingerprint:
      return tr("same.says.fingerprint");
    case Saying::Size:
      return tr("same.says.size", {who});
    case Saying::Construction:
      return tr("same.says.construction", {who});
    case Saying::Closed:
      return tr("same.says.closed", {who});
    case Saying::None:
    case Saying::Other:
      break;
  }
  return tr("same.says.other", {who});
}

// --- drawing

void SameShapeScene::draw(View& view) {
  Ui& ui = view.ui;
  if (playing_) ui.wake_in(.1);
  if (part_ == kPaperPart && paper_share_ < 1) ui.keep_moving();
  if (!still_ && now_ - overlaid_since_ < .8) ui.keep_moving();
  if (!still_ && part_ == 0) ui.wake_in(.25);
  places_.clear();
  Rect s = view.box;
  if (!view.ctx.presenter) {
    draw_parts(view, {s.x, s.bottom() - kBeatBarHeight, s.w, kBeatBarHeight});
    s.h -= kBeatBarHeight;
  }
  const float gap = 14;
  if (view.ctx.presenter) {  // large, and the cards only
    const float k = part_ == kPaperPart ? 1.4f : 1.75f;
    const Rect large = Rect{0, 0, s.w / k, s.h / k}.inset(16, 12);
    view.canvas.push_figure({s.x, s.y}, k);
    if (part_ == kPaperPart) {
      draw_paper(view, large);
    } else {
      const float half = (large.w - gap) / 2;
      draw_equal_card(view, {large.x, large.y, half, large.h});
      draw_odd_card(view, {large.x + half + gap, large.y, half, large.h});
    }
    return view.canvas.pop_figure();
  }
  const float m = s.w > 1100 ? 32 : 24;
  const Rect in = s.inset(m, s.h > 700 ? 24 : 14);
  if (part_ == kPaperPart) return draw_paper(view, in);
  const float table = std::min(
      62 + kRowHeight * static_cast<float>(kMismatches.size()) * (in.h > 700 ? 1.35f : 1.0f), in.h - 200);
  const float half = (in.w - gap) / 2, top = in.h - table - gap;
  draw_equal_card(view, {in.x, in.y, half, top});
  draw_odd_card(view, {in.x + half + gap, in.y, half, top});
  draw_table(view, {in.x, in.y + top + gap, in.w, table});
}

void SameShapeScene::draw_parts(View& view, Rect box) {
  std::vector<Beat> beats;
  for (const std::string_view key : kParts_) beats.push_back({.label = tr(key)});
  const BeatAnswer answer = beat_bar(view, box,
                                     {.id = "same.part",
                                      .title = tr("same.part_of", {std::to_string(part_ + 1)}),
                                      .detail = tr("same.of", {std::to_string(kParts)}),
                                      .beats = beats,
                                      .current = part_,
                                      .playing = playing_});
  places_["transport"] = box;
  if (answer.go_to) {
    playing_ = false;
    go_to_part(*answer.go_to);
  }
  if (answer.toggle_play) key(Key::Space, view);
}

void SameShapeScene::draw_verdict(Canvas& c, Vec2 at, float width, Mismatch m, Stack s, float size,
                                  bool lit) {
  const Theme& t = c.theme();
  if (!VerdictTable::applies(m, s)) {
    c.text({at.x + 8, at.y}, "-", {.size = size, .color = t.t3, .align = Align::Center});
    return;
  }
  const Verdict& v = table_.at(m, s);
  const Rect mark{at.x, at.y - 8, 16, 16};
  switch (v.ending) {
    case Ending::Fine:
      c.glyph(Glyph::Check, mark.center(), 12, t.t1, 2);
      break;
    case Ending::Silent:
      c.glyph(Glyph::Hidden, mark.center(), 15, t.stall, 2);
      break;
    case Ending::Says:
      c.rect(mark, {.fill = t.accent, .radius = 3});
      c.text(mark.center(), "!",
             {.size = 13, .color = t.ink, .face = Face::Bold, .align = Align::Center, .on_shape = true});
      break;
    case Ending::TimesOut:
      c.glyph(Glyph::Clock, mark.center(), 15, t.stall, 2);
      break;
    case Ending::Waits:
      parts::wait_box(c, mark, t.t2, 5);
      break;
  }
  c.text({at.x + 23, at.y}, fit(c.fonts(), verdict_text(m, v, s), width - 27, size),
         {.size = size, .color = lit ? t.t1 : t.t2});
}

void SameShapeScene::draw_table(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  places_["log"] = box;
  c.rect(box, {.fill = t.panel, .stroke = t.line, .radius = 10});
  const float first = box.w * .225f, w = (box.w - first - 12) / 4;
  const auto column = [&](std::size_t i) { return box.x + first + w * static_cast<float>(i); };
  c.text({box.x + 16, box.y + 18}, tr("same.table.differs", {parts::rank_name(shapes().odd_rank())}),
         {.size = 14, .color = t.t3});
  for (std::size_t i = 0; i < kStacks.size(); ++i)
    c.text({column(i), box.y + 18},
           fit(c.fonts(), tr_word("same.stack", to_word(kStacks[i])), w - 8, 14, Face::Bold),
           {.size = 14, .color = kStacks[i] == stack_ ? t.t1 : t.t2, .face = Face::Bold});
  const float pitch = (box.h - 32 - 28) / static_cast<float>(kMismatches.size());
  for (std::size_t r = 0; r < kMismatches.size(); ++r) {
    const Mismatch m = kMismatches[r];
    const Rect row{box.x + 6, box.y + 32 + pitch * static_cast<float>(r), box.w - 12, pitch};
    const bool here = m == row_ && part_ != 0;
    const std::string id = "same.row." + std::string(to_word(m));
    const Hit h = view.ui.hit(id, row);
    if (here || h.hovered) c.rect(row.inset(0, 1), {.fill = here ? t.raised : t.card, .radius = 6});
    if (here) c.rect({row.x, row.y + 4, 3, row.h - 8}, {.fill = t.accent, .radius = 1.5f});
    if (h.clicked) choose(m);
    const float y = row.y + pitch / 2;
    c.text({box.x + 16, y},
           fit(c.fonts(), tr_word("same.row", to_word(m)), first - 22, 14, here ? Face::Bold : Face::Regular),
           {.size = 14, .color = t.t1, .face = here ? Face::Bold : Face::Regular});
    for (std::size_t i = 0; i < kStacks.size(); ++i) {
      const bool cell = here && kStacks[i] == stack_;
      const Rect area{column(i) - 5, row.y + 2, w - 2, pitch - 4};
      if (VerdictTable::applies(m, kStacks[i])) {
        const Hit ch = view.ui.hit(id + "." + std::string(to_word(kStacks[i])), area, {.focusable = false});
        if (cell || ch.hovered) c.rect(area, {.stroke = cell ? t.t1 : t.edge, .radius = 5, .width = 1.5f});
        if (ch.clicked) {
          choose(m);
          stack_ = kStacks[i];
        }
      }
      draw_verdict(c, {column(i), y}, w - 4, m, kStacks[i], 13, here);
    }
  }
  // The key.
  const float y = box.bottom() - 15;
  float x = box.x + 16;
  const auto key = [&](auto draw_mark, const std::string& word) {
    draw_mark(Rect{x, y - 7, 14, 14});
    x += 20;
    x += c.text({x, y}, word, {.size = 13, .color = t.t2}) + 18;
  };
  key(
      [&](Rect r) {
        c.rect(r, {.fill = t.accent, .radius = 3});
        c.text(r.center(), "!",
               {.size = 13, .color = t.ink, .face = Face::Bold, .align = Align::Center, .on_shape = true});
      },
      tr("same.key.says"));
  key([&](Rect r) { parts::wait_box(c, r, t.t2, 5); }, tr("same.key.waits"));
  key([&](Rect r) { c.glyph(Glyph::Clock, r.center(), 14, t.stall, 2); }, tr("same.key.timeout"));
  key([&](Rect r) { c.glyph(Glyph::Hidden, r.center(), 14, t.stall, 2); }, tr("same.key.silent"));
  const std::string note = fit(c.fonts(), tr("same.table.note"), box.right() - 16 - x, 13);
  c.text({box.right() - 16, y}, note, {.size = 13, .color = t.t3, .align = Align::Right});
}

std::unique_ptr<Scene> make_same_shape_scene() {
  return std::make_unique<SameShapeScene>();
}

}  // namespace ringside::app
