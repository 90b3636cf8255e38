#include "app/scenes/tensor_scene.hpp"

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/scenes/beat_bar.hpp"
#include "app/scenes/tensor_bits.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr float kPresenterScale = 1.75f;
constexpr double kBeatSeconds = 3.0;   // a rung while it plays by itself
constexpr double kMoveSeconds = 0.75;  // from one shape to the next
constexpr double kFlatSeconds = 1.8;   // from the box into the row, number after number

float ease(float t) {  // cubic in and out
  t = std::clamp(t, 0.0f, 1.0f);
  return t < .5f ? 4 * t * t * t : 1 - std::pow(-2 * t + 2, 3.0f) / 2;
}

Rect mix_rects(Rect a, Rect b, float t) {
  return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.w + (b.w - a.w) * t, a.h + (b.h - a.h) * t};
}

Index inside_out(const Index& index) {
  Index key(index.rbegin(), index.rend());
  while (!key.empty() && key.back() == 0) key.pop_back();
  return key;
}

/// The nearest place that a shape has: where a new number comes out of, or a lost one goes into.
Index nearest_in(const sim::Shape& shape, const Index& key) {
  Index out = key;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t n = shape.extents.size();
    out[i] = std::min(out[i], i < n ? shape.extents[n - 1 - i] - 1 : 0);
  }
  while (!out.empty() && out.back() == 0) out.pop_back();
  return out;
}

}  // namespace

int TensorScene::here() const {
  return std::min(model_.dims(), static_cast<int>(rungs().size()) - 1);
}

void TensorScene::go_to_rung(int rung) {
  rung = std::clamp(rung, 0, static_cast<int>(rungs().size()) - 1);
  model_.go_to_rung(rung);
  beat_since_ = now_;
  if (page_ == Page::Model) page_ = Page::Box;
}

TensorScene::Boxes TensorScene::boxes_for(Rect s, bool presenter) const {
  Boxes out;
  const float m = presenter ? 20 : 32, w = s.w - 2 * m;
  const bool tall = s.h > 800;
  float y = s.y + (tall ? 14.0f : 0.0f);
  const bool brief = presenter && page_ != Page::Model;
  const float head = brief ? 12 : 84, code = brief ? 38 : 66;
  out.header = {s.x + m, y, w, head};
  y += head;
  float bottom = s.bottom();
  if (!presenter) {
    out.ladder = {s.x, bottom - kBeatBarHeight, s.w, kBeatBarHeight};
    bottom -= kBeatBarHeight + (tall ? 24.0f : 14.0f);
  } else {
    bottom -= brief ? 10 : 20;
  }
  out.code = {s.x + m, bottom - code, w, code};
  bottom -= code + (tall ? 20.0f : 8.0f);
  out.shape = {s.x + m, bottom - 82, w, 82};
  bottom -= 82;
  out.figure = {s.x + m, y, w, bottom - y};
  return out;
}

// --- from the model to what is drawn

void TensorScene::prepare(const SceneContext& ctx) {
  now_ = ctx.now;
  still_ = ctx.now == 0 || ctx.reduced_motion;
  if (ctx.array.serial != seen_array_) {  // somebody opened a .npy file
    seen_array_ = ctx.array.serial;
    if (ctx.array.tensor) model_.take(ctx.array.tensor, ctx.array.name);
    page_ = Page::Box;
  }
  if (playing_ && now_ - beat_since_ > kBeatSeconds) {
    if (model_.rung() == static_cast<int>(rungs().size()) - 1) {
      playing_ = false;
    } else {
      go_to_rung(model_.rung() < 0 ? 0 : model_.rung() + 1);
    }
  }
  take_new_layout(ctx);
  const double length = laid_out_view_ == TensorView::Flat ? kFlatSeconds : kMoveSeconds;
  motion_ = still_ ? 1.0f : static_cast<float>(std::clamp((now_ - moved_at_) / length, 0.0, 1.0));
}

void TensorScene::take_new_layout(const SceneContext& ctx) {
  // The boxes are relative to the stage's corner; draw() moves them there.
  // For a projector everything is larger, and less: the figure, the shape, one line of Python.
  scale_ = ctx.presenter && page_ != Page::Model ? kPresenterScale : 1;
  const Rect stage{0, 0, ctx.stage.x / scale_, ctx.stage.y / scale_};
  const Vec2 size{stage.w, stage.h};
  const bool same = laid_out_version_ == model_.version() && laid_out_view_ == view() &&
                    laid_out_for_ == size && laid_out_selected_ == model_.selected();
  if (same) return;
  boxes_ = boxes_for(stage, ctx.presenter);
  const TensorLayout* held = drag_ ? &drag_->held : nullptr;
  // Few numbers are large, so that the first one is a hero too.
  const float most = (model_.dims() == 0   ? 132.0f
                      : model_.dims() == 1 ? 108.0f
                                           : 80.0f) *
                     (boxes_.figure.h > 420 ? 1.3f : 1.0f);
  TensorLayout next = lay_out(model_, view(), boxes_.figure, most, held);
  const bool moves = laid_out_view_ && laid_out_for_ == size &&
                     (laid_out_version_ != model_.version() || laid_out_view_ != view() ||
                      laid_out_selected_ != model_.selected());
  std::map<Index, Moving> moving;
  const double before = moved_at_;
  // Where everything is right now: the beginning of the next motion.
  std::map<Index, std::pair<Rect, float>> now;
  for (const TensorCell& cell : layout_.cells) now[inside_out(cell.index)] = {rect_of(cell), alpha_of(cell)};
  bool anything = false;
  for (const TensorCell& cell : next.cells) {
    const Index key = inside_out(cell.index);
    Moving m{cell.box, cell.box, 1, 1, cell.flat};
    if (moves) {
      if (const auto was = now.find(key); was != now.end()) {
        m.from = was->second.first;
        m.alpha_from = was->second.second;
      } else {
        const auto parent = now.find(nearest_in(laid_out_shape_, key));
        if (parent != now.end()) m.from = parent->second.first;
        m.alpha_from = parent != now.end() ? .3f : 0.0f;  // it slides out of its neighbour
      }
      anything = anything || m.from != m.to || m.alpha_from != 1;
    }
    moving.emplace(key, m);
  }
  if (moves) {
    for (const auto& [key, was] : now) {
      if (moving.contains(key)) continue;
      const auto into = moving.find(nearest_in(model_.shape(), key));
      moving.emplace(key,
                     Moving{was.first, into != moving.end() ? into->second.to : was.first, was.second, 0, 0});
      anything = true;
    }
  }
  moving_ = std::move(moving);
  layout_ = std::move(next);
  moved_at_ = !anything ? before : drag_ ? now_ - kMoveSeconds * .6 : now_;
  laid_out_version_ = model_.version();
  laid_out_view_ = view();
  laid_out_for_ = size;
  laid_out_selected_ = model_.selected();
  laid_out_shape_ = model_.shape();
  low_ = high_ = layout_.cells.empty() ? 0 : sim::to_double(model_.stored(layout_.cells.front().index));
  for (const TensorCell& cell : layout_.cells) {
    const double value = sim::to_double(model_.stored(cell.index));
    if (!std::isfinite(value)) continue;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
}

Rect TensorScene::rect_of(const TensorCell& cell) const {
  const auto found = moving_.find(inside_out(cell.index));
  if (found == moving_.end() || motion_ >= 1) return cell.box;
  const Moving& m = found->second;
  if (laid_out_view_ != TensorView::Flat) return mix_rects(m.from, m.to, ease(motion_));
  // One after the other, in memory order, each on an arc.
  const double n = static_cast<double>(std::max<std::size_t>(1, layout_.cells.size()));
  const auto at = static_cast<double>(&cell - layout_.cells.data());
  const auto own = static_cast<float>((motion_ - .6 * at / n) / .4);
  Rect out = mix_rects(m.from, m.to, ease(own));
  if (m.from != m.to) out.y -= 26 * std::sin(3.14159265f * std::clamp(own, 0.0f, 1.0f));
  return out;
}

float TensorScene::alpha_of(const TensorCell& cell) const {
  const auto found = moving_.find(inside_out(cell.index));
  if (found == moving_.end() || motion_ >= 1) return 1;
  const Moving& m = found->second;
  return m.alpha_from + (m.alpha_to - m.alpha_from) * ease(motion_);
}

// --- keys, facts, words

bool TensorScene::key(Key key, View& view) {
  const std::int64_t count = model_.count();
  const std::int64_t row = model_.shape().extents.empty() ? 1 : model_.shape().extents.back();
  const auto move = [&](std::int64_t by) {
    const std::int64_t to = model_.offset(model_.selected()) + by;
    if (to >= 0 && to < count) model_.select(model_.shape().index_of(to));
    return true;
  };
  const bool beats = view.ctx.presenter || page_ == Page::Model || model_.dims() == 0;
  switch (key) {
    case Key::Left:
      return beats ? (go_to_rung(here() - 1), true) : move(-1);
    case Key::Right:
      return beats ? (go_to_rung(here() + 1), true) : move(1);
    case Key::Up:
      return move(-row);
    case Key::Down:
      return move(row);
    case Key::PageUp:
      go_to_rung(here() - 1);
      return true;
    case Key::PageDown:
      go_to_rung(here() + 1);
      return true;
    case Key::Home:
      go_to_rung(0);
      return true;
    case Key::End:
      go_to_rung(static_cast<int>(rungs().size()) - 1);
      return true;
    case Key::Space:
      playing_ = !playing_;
      beat_since_ = now_;
      if (playing_ && model_.rung() == static_cast<int>(rungs().size()) - 1) go_to_rung(0);
      return true;
    case Key::Enter:
      view.ui.focus("tensor.value");
      return true;
    default:
      return false;
  }
}

std::string TensorScene::title(const SceneContext&) const {
  return tr("tensor.title");
}

std::string TensorScene::facts(const SceneContext&) const {
  std::string out = tr("tensor.dims", {std::to_string(model_.dims())}) + " · " + model_.shape().text() +
                    " · " + std::string(sim::to_word(model_.state().dtype));
  if (!model_.state().array_name.empty()) out += " · " + sim::escape_for_display(model_.state().array_name);
  return out;
}

std::string TensorScene::caption(const SceneContext&) const {
  constexpr std::string_view kKeys[] = {"tensor.caption.scalar", "tensor.caption.vector",
                                        "tensor.caption.matrix", "tensor.caption.stack",
                                        "tensor.caption.four",   "tensor.caption.more"};
  return page_ == Page::Flat ? tr("tensor.caption.flat") : tr(kKeys[here()]);
}

std::string TensorScene::caption_detail(const SceneContext&) const {
  return model_.shape().text();
}

std::optional<float> TensorScene::progress() const {
  return static_cast<float>(here() + 1) / static_cast<float>(rungs().size());
}

std::string TensorScene::place() const {
  std::string out = "rung:" + std::to_string(here() + 1);
  if (pictures_) out += "+pictures";
  if (page_ == Page::Flat) out += "+flat";
  if (page_ == Page::Model) out += linear_ == 1 ? "+linear" : "+model";
  return out;
}

bool TensorScene::go_to(std::string_view place) {
  TensorModel model = model_;
  Page page = Page::Box;
  bool pictures = false;
  int linear = linear_;
  while (!place.empty()) {
    const std::string_view word = place.substr(0, place.find('+'));
    place.remove_prefix(std::min(place.size(), word.size() + 1));
    if (word == "flat") {
      page = Page::Flat;
    } else if (word == "pictures") {
      pictures = true;
      if (model.dims() < 2) model.take(small_pictures(), "");
    } else if (word == "model" || word == "linear") {
      page = Page::Model;
      linear = word == "linear" ? 1 : 0;
    } else if (word.starts_with("shape:")) {
      auto extents = parse_shape_text(word.substr(6));
      if (!extents || !model.set_shape(std::move(*extents))) return false;
    } else if (word.size() == 6 && word.starts_with("rung:") && word[5] >= '1' && word[5] <= '6') {
      model.go_to_rung(word[5] - '1');
    } else {
      return false;
    }
  }
  model_ = std::move(model);
  page_ = page;
  pictures_ = pictures;
  linear_ = linear;
  playing_ = false;
  return true;
}

std::map<std::string, sim::FactValue> TensorScene::lesson_facts(const SceneContext&) const {
  return {{"tensor_shape", model_.shape().text()},
          {"tensor_dims", static_cast<double>(model_.dims())},
          {"tensor_count", static_cast<double>(model_.count())},
          {"tensor_dtype", std::string(sim::to_word(model_.state().dtype))},
          {"tensor_flat", page_ == Page::Flat ? 1.0 : 0.0},
          {"selected_element", static_cast<double>(model_.offset(model_.selected()))}};
}

std::vector<Rect> TensorScene::places(std::string_view name) const {
  std::vector<Rect> out;
  const auto add = [&](std::string_view key) {
    if (const auto found = places_.find(key); found != places_.end()) out.push_back(found->second);
  };
  add(name);
  if (name == "edit") add("dtype");  // what can be edited: shape and dtype
  return out;
}

// --- drawing

void TensorScene::refuse(View& view, const sim::Status& status) const {
  if (status) return;
  view.emit(action::ShowNotice{
      {NoticeKind::Warning,
       tr("tensor.refused", {status.error().legal.empty() ? status.error().what : status.error().legal})}});
}

void TensorScene::draw(View& view) {
  if (playing_) view.ui.wake_in(std::max(0.01, kBeatSeconds - (now_ - beat_since_)));
  if (motion_ < 1) view.ui.keep_moving();
  const Vec2 corner{view.box.x, view.box.y};
  const auto at = [&](Rect r) {
    return Rect{corner.x + r.x * scale_, corner.y + r.y * scale_, r.w * scale_, r.h * scale_};
  };
  places_.clear();
  if (page_ != Page::Model) {
    places_["shape"] = at(boxes_.shape);
    places_["goal"] = at(boxes_.figure);
    if (page_ == Page::Flat) places_["strides"] = at(boxes_.figure);
  }
  places_["transport"] = at(boxes_.ladder);
  view.canvas.push_figure(corner, scale_);
  if (scale_ == 1) draw_header(view, boxes_.header);
  if (page_ == Page::Model) {
    const float top = boxes_.figure.y;
    draw_model(view, {boxes_.figure.x, top, boxes_.figure.w, boxes_.code.bottom() - top});
  } else {
    draw_figure(view);
    draw_shape(view.canvas, boxes_.shape);
    draw_code(view, boxes_.code);
  }
  if (boxes_.ladder.h > 0) draw_ladder(view, boxes_.ladder);
  view.canvas.pop_figure();
}

void TensorScene::draw_header(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const std::string& title = page_ == Page::Box    ? tr("tensor.head.box")
                             : page_ == Page::Flat ? tr("tensor.head.flat")
                                                   : tr("tensor.head.model");
  const std::string& text = page_ == Page::Box    ? tr("tensor.head.box_text")
                            : page_ == Page::Flat ? tr("tensor.head.flat_text")
                                                  : tr("tensor.head.model_text");
  const std::vector<std::string> pages{tr("tensor.page.box"), tr("tensor.page.flat"),
                                       tr("tensor.page.model")};
  float w = 0;
  if (!view.ctx.presenter)
    if (const auto chosen = view.ui.toggle("tensor.page", {box.right(), box.y + 36}, pages,
                                           static_cast<int>(page_), Align::Right, &w))
      page_ = static_cast<Page>(*chosen);
  const float room = box.w - w - 24;
  c.text({box.x, box.y + 36}, title,
         {.size = size_that_fits(c.fonts(), title, room, {28, 24, 20}, Face::Bold), .face = Face::Bold});
  c.text({box.x, box.y + 67},
         fit(c.fonts(), text, box.w - (model_.dims() >= 2 && page_ == Page::Box ? 190.0f : 0.0f), 16),
         {.size = 16, .color = t.t2});
  if (page_ == Page::Box && model_.dims() >= 2) {
    const std::vector<std::string> sides{tr("tensor.side.numbers"), tr("tensor.side.pictures")};
    if (const auto chosen = view.ui.toggle("tensor.side", {box.right(), box.y + 78}, sides, pictures_ ? 1 : 0,
                                           Align::Right, nullptr, 30))
      pictures_ = *chosen == 1;
  }
}

void TensorScene::draw_shape(Canvas& c, Rect box) const {
  const Theme& t = c.theme();
  const int dims = model_.dims();
  const std::string name = dims <= 5 ? tr(rungs()[static_cast<std::size_t>(dims)].key)
                                     : tr("tensor.rung.more", {std::to_string(dims)});
  c.text({box.x, box.y + 14}, name, {.size = 17, .face = Face::Bold});
  const std::string shape = model_.shape().text();
  const float size = size_that_fits(c.fonts(), shape, box.w * .56f, {42, 34, 28, 22, 16}, Face::Bold);
  const float w = c.text({box.x, box.y + 50}, fit(c.fonts(), shape, box.w * .56f, size, Face::Bold),
                         {.size = size, .face = Face::Bold});
  c.text({box.x + w + 18, box.y + 52}, "x.shape", {.size = 15, .color = t.t3, .face = Face::Mono});
  const std::int64_t count = model_.count(), bytes = count * sim::size_of(model_.state().dtype);
  c.text({box.right(), box.y + 14},
         count == 1 ? tr("tensor.one_number") : tr("tensor.numbers", {sim::with_commas(count)}),
         {.size = 17, .face = Face::Bold, .align = Align::Right});
  c.text({box.right(), box.y + 40},
         tr("tensor.bytes", {std::string(sim::to_word(model_.state().dtype)), sim::format_bytes(bytes)}),
         {.size = 15, .color = t.t2, .align = Align::Right});
  const std::string left_out =
      layout_.shown < count ? tr("tensor.shown", {sim::with_commas(layout_.shown), sim::with_commas(count)})
                            : tr("tensor.strides", {sim::Shape{model_.shape().strides()}.text()});
  c.text({box.right(), box.y + 63}, left_out, {.size = 15, .color = t.t2, .align = Align::Right});
}

void TensorScene::draw_code(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const PyTorchText text = pytorch_text(model_);
  c.rect(box, {.fill = t.panel, .stroke = t.line, .radius = 8});
  const float room = box.w - 32 - 44;
  std::string first = text.make.substr(0, text.make.find('\n'));
  if (first.size() < text.make.size()) first += " …";
  c.text({box.x + 16, box.y + (box.h < 60 ? box.h / 2 : 21)}, fit(c.fonts(), first, room, 16, Face::Mono),
         {.size = 16, .face = Face::Mono});
  if (box.h < 60) return;
  float x = box.x + 16;
  const auto pair = [&](const std::string& ask, const std::string& answer) {
    const float w = c.width(ask, 15, Face::Mono) + 34 + c.width(answer, 15, Face::Mono);
    if (x + w > box.x + 16 + room) return;
    x += c.text({x, box.y + 46}, ask, {.size = 15, .color = t.t2, .face = Face::Mono});
    c.glyph(Glyph::Right, {x + 16, box.y + 46}, 10, t.t3, 1.75f);
    x += 34;
    x += c.text({x, box.y + 46}, answer, {.size = 15, .face = Face::Mono}) + 30;
  };
  pair("x.shape", text.size);
  pair(text.ask, text.answer);
  pair("x.stride()", text.stride);
  if (view.ui.icon_button("tensor.copy", {box.right() - 26, box.y + box.h / 2}, Glyph::Copy, 18,
                          tr("tensor.copy")))
    view.emit(action::CopyText{text.all()});
}

void TensorScene::draw_ladder(View& view, Rect box) {
  std::vector<Beat> beats;
  for (std::size_t i = 0; i < rungs().size(); ++i) {
    Beat beat;
    beat.label = tr(rungs()[i].key);
    beat.picture = [i](Canvas& c, Rect room, bool lit) {
      TensorModel model;
      model.go_to_rung(static_cast<int>(i));
      // The same layout, small and without its lines: what stands in the ladder is what the figure will show.
      constexpr float kPitch = 12;
      const TensorLayout mini = lay_out(model, TensorView::Box, {0, 0, 2000, 2000}, kPitch);
      const Theme& t = c.theme();
      const float k = std::min({1.0f, room.w / mini.bounds.w, room.h / mini.bounds.h});
      const Vec2 middle = mini.bounds.center();
      for (const TensorCell& cell : mini.cells) {
        const Rect r{room.center().x + (cell.box.x - middle.x) * k,
                     room.center().y + (cell.box.y - middle.y) * k, cell.box.w * k, cell.box.h * k};
        if (lit) {
          c.rect(r, {.fill = mix(t.panel, t.t1, .48f), .stroke = t.panel, .radius = 2});
        } else {
          c.rect(r, {.fill = t.panel, .stroke = t.edge, .radius = 2});
        }
      }
    };
    beats.push_back(std::move(beat));
  }
  const int rung = model_.rung();
  const BeatAnswer answer =
      beat_bar(view, box,
               {.id = "tensor.rung",
                .title = tr("tensor.rung_of", {std::to_string(here() + 1)}),
                .detail = rung >= 0 ? tr("tensor.of", {std::to_string(rungs().size())}) : tr("tensor.own"),
                .beats = beats,
                .current = here(),
                .playing = playing_});
  if (answer.go_to) {
    playing_ = false;
    go_to_rung(*answer.go_to);
  }
  if (answer.toggle_play) key(Key::Space, view);
}

std::unique_ptr<Scene> make_tensor_scene() {
  return std::make_unique<TensorScene>();
}

}  // namespace ringside::app
