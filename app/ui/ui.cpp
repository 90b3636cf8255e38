#include "app/ui/ui.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "app/draw/parts.hpp"
#include "app/imgui_compat.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr double kExplainAfter = 0.35;  // seconds of rest before an explanation appears
constexpr float kLeastTarget = 36;

Rect grown(Rect box, float least) {
  const float dx = std::max(0.0f, (least - box.w) / 2), dy = std::max(0.0f, (least - box.h) / 2);
  return box.inset(-dx, -dy);
}

}  // namespace

// --- one frame
// ---------------------------------------------------------------------------------------------------------

void Ui::begin(Canvas& canvas, double now) {
  canvas_ = &canvas;
  now_ = now;
  const ImGuiIO& io = ImGui::GetIO();
  const Vec2 mouse{io.MousePos.x / canvas.ui_scale(), io.MousePos.y / canvas.ui_scale()};
  mouse_moved_ = mouse != mouse_;
  mouse_ = mouse;
  mouse_down_ = io.MouseDown[0];
  mouse_pressed_ = io.MouseClicked[0];
  mouse_released_ = io.MouseReleased[0];
  mouse_double_ = io.MouseDoubleClicked[0];
  mouse_menu_ = io.MouseClicked[1];
  left_button_ = true;
  passive_ = 0;
  taken_keys_ = 0;
  moving_ = false;
  next_wake_ = 1e9;
  layer_ = 0;
  popup_.reset();
  explanation_.clear();
  focused_takes_arrows_ = focused_takes_arrows_next_;
  focused_takes_arrows_next_ = false;
  if (any_popup_open()) {
    const bool outside = (mouse_pressed_ || mouse_menu_) && !last_popup_box_.contains(mouse_);
    if (outside || (!typing() && key(Key::Escape))) {
      take(Key::Escape);
      close_popup();
      if (outside) mouse_pressed_ = mouse_menu_ = false;
    }
  }
  find_hot();
  if (mouse_pressed_) {
    focus_visible_ = false;
    if (hot_.empty()) focused_.clear();
  }
  move_focus();
}

void Ui::find_hot() {
  hot_.clear();
  const int least = any_popup_open() ? 1 : 0;
  for (const Area& area : last_areas_)
    if (area.layer >= least && area.box.contains(mouse_)) hot_ = area.id;
}

void Ui::move_focus() {
  const bool in_popup = any_popup_open();
  const bool tab = !typing() && !ctrl() && key(Key::Tab);
  int direction = tab ? (shift() ? -1 : 1) : 0;
  if (in_popup && !typing() && !focused_takes_arrows_) {
    if (key(Key::Down)) direction = 1;
    if (key(Key::Up)) direction = -1;
    if (direction != 0) {
      take(Key::Down);
      take(Key::Up);
    }
  }
  if (direction == 0) return;
  take(Key::Tab);
  std::vector<const Area*> stops;
  for (const Area& area : last_areas_)
    if (area.focusable && area.layer >= (in_popup ? 1 : 0)) stops.push_back(&area);
  if (stops.empty()) return;
  const auto here =
      std::find_if(stops.begin(), stops.end(), [&](const Area* a) { return a->id == focused_; });
  const auto count = static_cast<std::ptrdiff_t>(stops.size());
  const std::ptrdiff_t at = here == stops.end() ? (direction > 0 ? -1 : count) : here - stops.begin();
  focused_ = stops[static_cast<std::size_t>((at + direction + count) % count)]->id;
  focus_visible_ = true;
}

void Ui::end() {
  if (popup_) {
    draw_popup(*popup_);
  } else if (any_popup_open()) {
    close_popup();  // its owner is gone
  }
  draw_explanation();
  if (!mouse_down_) active_.clear();
  last_areas_ = std::move(areas_);
  areas_.clear();
}

// --- areas
// -------------------------------------------------------------------------------------------------------------

Hit Ui::hit(std::string_view id, Rect box, const HitStyle& style) {
  const Rect area = canvas_->to_window(grown(box, style.least));
  if (passive_ > 0) {
    if (!style.explain.empty()) explain(box, style.explain);
    return {};
  }
  areas_.push_back({std::string(id), area, layer_, style.focusable, style.takes_arrows});
  Hit out;
  out.hovered = hot_ == id && (active_.empty() || active_ == id);
  out.mouse = canvas_->from_window(mouse_);
  out.menu = out.hovered && mouse_menu_;
  if (out.hovered && mouse_pressed_ && left_button_) {
    active_ = std::string(id);
    out.pressed = true;
    if (style.focusable) focused_ = std::string(id);
    out.double_clicked = mouse_double_;
  }
  const bool was_active = active_ == id;
  out.held = was_active && mouse_down_;
  out.released = was_active && mouse_released_;
  out.clicked = out.released && hot_ == id;
  out.focused = style.focusable && focused_ == id;
  if (out.focused) {
    focused_takes_arrows_next_ = style.takes_arrows;
    if (!typing() && key(Key::Enter)) {
      take(Key::Enter);
      out.clicked = true;
    }
    if (!typing() && key(Key::Menu)) {
      take(Key::Menu);
      out.menu = true;
    }
    if (focus_visible_) draw_focus(box, 8);
  }
  if (!style.explain.empty()) {
    explain(box, style.explain);
    if (out.focused && focus_visible_) {
      explanation_ = std::string(style.explain);
      explanation_box_ = area;
    }
  }
  return out;
}

void Ui::explain(Rect box, std::string_view sentence) {
  const Rect area = canvas_->to_window(box);
  if (!area.contains(mouse_) || mouse_down_ || layer_ < (any_popup_open() ? 1 : 0)) return;
  explanation_ = std::string(sentence);
  explanation_box_ = area;
}

void Ui::draw_focus(Rect box, float radius) {
  canvas_->rect(box.inset(-4), {.stroke = canvas_->theme().accent, .radius = radius + 4, .width = 2});
}

// --- keyboard
// ----------------------------------------------------------------------------------------------------------

bool Ui::key(Key key) {
  if (passive_ > 0) return false;
  if ((taken_keys_ >> static_cast<int>(key)) & 1u) return false;
  return compat::key_pressed(key);
}

void Ui::take(Key key) {
  taken_keys_ |= std::uint64_t{1} << static_cast<int>(key);
}

void Ui::focus(std::string_view id) {
  focused_ = std::string(id);
}

bool Ui::ctrl() const {
  return ImGui::GetIO().KeyCtrl;
}

bool Ui::shift() const {
  return ImGui::GetIO().KeyShift;
}

std::string Ui::clipboard() const {
  const char* text = ImGui::GetClipboardText();
  return text == nullptr ? std::string() : std::string(text);
}

float Ui::wheel(Rect box) const {
  if (passive_ > 0) return 0;
  if (layer_ < (any_popup_open() ? 1 : 0)) return 0;
  return canvas_->to_window(box).contains(mouse_) ? ImGui::GetIO().MouseWheel : 0.0f;
}

void Ui::wake_in(double seconds) {
  next_wake_ = std::min(next_wake_, std::max(0.0, seconds));
}

std::optional<Rect> Ui::probe(std::string_view id) const {
  for (const Area& area : last_areas_)
    if (area.id == id) return area.box;
  return std::nullopt;
}

std::vector<std::string> Ui::probe_ids() const {
  std::vector<std::string> ids;
  for (const Area& area : last_areas_) ids.push_back(area.id);
  return ids;
}

// --- widgets
// -----------------------------------------------------------------------------------------------------------

bool Ui::button(std::string_view id, Rect box, std::string_view label, const ButtonStyle& style) {
  const Theme& t = canvas_->theme();
  const Hit h = hit(id, box, {.focusable = style.enabled, .explain = style.explain});
  const bool lit = style.enabled && (h.hovered || h.held);
  Color text = t.t1;
  if (!style.enabled) {
    canvas_->rect(box, {.stroke = t.line, .radius = 8});
    text = t.t3;
  } else if (style.primary) {
    canvas_->rect(box, {.fill = lit ? mix(t.accent, t.stage, .12f) : t.accent, .radius = 8});
    text = t.ink;
  } else {
    canvas_->rect(box, {.fill = lit ? t.raised : t.card, .stroke = t.edge, .radius = 8});
  }
  const float icon = style.icon == Glyph::None ? 0 : style.size * .87f, icon_room = icon > 0 ? icon + 9 : 0;
  const std::string shown = fit(canvas_->fonts(), label, box.w - 16 - icon_room, style.size, Face::Bold);
  float x = box.x + box.w / 2 - (canvas_->width(shown, style.size, Face::Bold) + icon_room) / 2;
  const float y = box.y + box.h / 2;
  if (icon > 0) {
    canvas_->glyph(style.icon, {x + icon / 2, y}, icon, text);
    x += icon_room;
  }
  canvas_->text({x, y}, shown, {.size = style.size, .color = text, .face = Face::Bold});
  return style.enabled && h.clicked;
}

bool Ui::icon_button(std::string_view id, Vec2 center, Glyph glyph, float size, std::string_view explain,
                     bool enabled) {
  const Theme& t = canvas_->theme();
  const Rect box{center.x - size / 2 - 4, center.y - size / 2 - 4, size + 8, size + 8};
  const Hit h = hit(id, box, {.focusable = enabled, .least = kLeastTarget, .explain = explain});
  if (enabled && h.hovered) canvas_->rect(grown(box, kLeastTarget), {.fill = t.raised, .radius = 8});
  canvas_->glyph(glyph, center, size, !enabled ? fade(t.t3, .6f) : h.hovered ? t.t1 : t.t2);
  return enabled && h.clicked;
}

std::optional<int> Ui::toggle(std::string_view id, Vec2 at, std::span<const std::string> labels, int current,
                              Align align, float* width, float height) {
  const Theme& t = canvas_->theme();
  constexpr float kSize = 14, kPad = 12;
  float total = 0;
  for (const std::string& label : labels) total += canvas_->width(label, kSize, Face::Bold) + 2 * kPad;
  if (width != nullptr) *width = total;
  float x = align == Align::Right ? at.x - total : align == Align::Center ? at.x - total / 2 : at.x;
  canvas_->rect({x, at.y - height / 2, total, height}, {.fill = t.card, .stroke = t.edge, .radius = 8});
  std::optional<int> chosen;
  for (int i = 0; i < static_cast<int>(labels.size()); ++i) {
    const std::string& label = labels[static_cast<std::size_t>(i)];
    const float w = canvas_->width(label, kSize, Face::Bold) + 2 * kPad;
    const Rect box{x, at.y - height / 2, w, height};
    const Hit h = hit(std::string(id) + "." + std::to_string(i), box);
    if (i == current) {
      canvas_->rect(box, {.fill = t.accent, .radius = 8});
    } else if (h.hovered) {
      canvas_->rect(box.inset(1), {.fill = t.raised, .radius = 7});
    }
    canvas_->text(box.center(), label,
                  {.size = kSize,
                   .color = i == current ? t.ink : t.t1,
                   .face = i == current ? Face::Bold : Face::Regular,
                   .align = Align::Center});
    if (h.clicked && i != current) chosen = i;
    x += w;
  }
  return chosen;
}

bool Ui::slider(std::string_view id, Rect box, double& value, double least, double most,
                const SliderStyle& style) {
  const Theme& t = canvas_->theme();
  const Hit h = hit(id, box, {.least = kLeastTarget, .takes_arrows = true, .explain = style.explain});
  const auto to_unit = [&](double v) {
    return style.logarithmic ? std::log(v / least) / std::log(most / least) : (v - least) / (most - least);
  };
  const auto from_unit = [&](double u) {
    return style.logarithmic ? least * std::pow(most / least, u) : least + u * (most - least);
  };
  const float knob = 8;
  double unit = std::clamp(to_unit(value), 0.0, 1.0);
  const double before = unit;
  if (h.held) unit = std::clamp((h.mouse.x - box.x - knob) / (box.w - 2 * knob), 0.0f, 1.0f);
  if (h.focused && !typing() && layer_ >= (any_popup_open() ? 1 : 0)) {
    const int direction = (key(Key::Right) ? 1 : 0) - (key(Key::Left) ? 1 : 0);
    if (direction != 0) {
      unit = std::clamp(unit + direction / 20.0, 0.0, 1.0);
      take(Key::Left);
      take(Key::Right);
    }
  }
  const float y = box.y + box.h / 2, x = box.x + knob + static_cast<float>(unit) * (box.w - 2 * knob);
  canvas_->rect({box.x, y - 2, box.w, 4}, {.fill = t.line, .radius = 2});
  canvas_->rect({box.x, y - 2, x - box.x, 4}, {.fill = t.t1, .radius = 2});
  canvas_->circle({x, y}, h.hovered || h.held ? knob + 1 : knob, t.t1);
  if (unit == before) return false;
  value = from_unit(unit);
  return true;
}

bool Ui::commit_editor(std::string_view id, Rect box, std::string& value) {
  // The one place where ImGui's own widget is on screen: typing, caret, selection, clipboard.
  const Theme& t = canvas_->theme();
  const Rect w = canvas_->to_window(box);
  const float k = canvas_->ui_scale();
  const auto color = [](Color c) { return ImVec4(c.r / 255.0f, c.g / 255.0f, c.b / 255.0f, c.a / 255.0f); };
  std::array<char, 4096> buffer{};  // a line of a log, a path
  std::strncpy(buffer.data(), edit_text_.c_str(), buffer.size() - 1);
  ImGui::SetNextWindowPos(ImVec2(w.x * k, w.y * k));
  ImGui::SetNextWindowSize(ImVec2(w.w * k, w.h * k));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8 * k, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0f);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      ImVec2(0, std::max(0.0f, (w.h * k - ImGui::GetFontSize()) / 2)));
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4(0, 0, 0, 0));
  ImGui::PushStyleColor(ImGuiCol_Text, color(t.t1));
  ImGui::PushStyleColor(ImGuiCol_TextSelectedBg, color(fade(t.t2, .35f)));
  bool commit = false, over = false;
  if (ImGui::Begin("###field", nullptr,
                   ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove |
                       ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav)) {
    ImGui::SetNextItemWidth(w.w * k - 16 * k);
    if (edit_frames_ < 2) ImGui::SetKeyboardFocusHere();
    commit = ImGui::InputText("###text", buffer.data(), buffer.size(),
                              ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
    if (edit_frames_ > 2 && !ImGui::IsItemActive()) over = true;
  }
  ImGui::End();
  ImGui::PopStyleColor(3);
  ImGui::PopStyleVar(4);
  ++edit_frames_;
  keep_moving();  // the caret, and the frames until the field has the keyboard
  const bool cancelled = compat::key_pressed(Key::Escape, false);
  edit_text_ = buffer.data();
  if (!commit && !over && !cancelled) return false;
  for (const Key k2 : {Key::Enter, Key::Escape, Key::Tab}) take(k2);
  editing_.clear();
  focused_ = std::string(id);
  if (cancelled || edit_text_ == value) return false;
  value = edit_text_;
  return true;
}

bool Ui::text_field(std::string_view id, Rect box, std::string& value, float size, std::string_view explain) {
  const Theme& t = canvas_->theme();
  const Hit h = hit(id, box, {.least = 24, .explain = explain});
  const bool editing = editing_ == id;
  canvas_->rect(box, {.fill = editing     ? t.stage
                              : h.hovered ? t.raised
                                          : t.card,
                      .stroke = editing ? t.t1 : t.edge,
                      .radius = 6,
                      .width = editing ? 2.0f : 1.0f});
  if (editing) return commit_editor(id, box, value);
  canvas_->text({box.x + 8, box.y + box.h / 2}, fit(canvas_->fonts(), value, box.w - 16, size),
                {.size = size, .color = t.t1});
  if (h.clicked) {
    editing_ = std::string(id);
    edit_text_ = value;
    edit_frames_ = 0;
    keep_moving();
  }
  return false;
}

void Ui::start_typing(std::string_view id, std::string_view text) {
  editing_ = std::string(id);
  edit_text_ = std::string(text);
  edit_frames_ = 0;
  keep_moving();
}

std::optional<std::string> Ui::typed(std::string_view id) const {
  if (editing_ != id) return std::nullopt;
  return edit_text_;
}

bool Ui::number_field(std::string_view id, Rect box, double& value, double least, double most, double step,
                      std::string_view unit, std::string_view explain) {
  const Theme& t = canvas_->theme();
  const double before = value;
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  const bool steppers = step > 0 && box.w >= 96;
  const float room = steppers ? 60 : 0;
  const std::string field = std::string(id);
  const Rect inner{box.x, box.y, box.w - room, box.h};
  const bool editing = editing_ == field;
  if (text_field(field, inner, text, 16, explain)) {
    double typed = 0;
    const char* first = text.data();
    while (*first == ' ' || *first == '+') ++first;
    const auto read = std::from_chars(first, text.data() + text.size(), typed);
    if (read.ec == std::errc{} && read.ptr == text.data() + text.size())
      value = std::isnan(typed) ? typed : std::clamp(typed, least, most);
  }
  if (!unit.empty() && !editing)
    canvas_->text({inner.right() - 8, box.y + box.h / 2}, unit,
                  {.size = 14, .color = t.t3, .align = Align::Right});
  int direction = 0;
  if (steppers) {
    const float y = box.y + box.h / 2;
    if (icon_button(field + ".less", {inner.right() + 16, y}, Glyph::Minus, 12, {}, value > least))
      direction = -1;
    if (icon_button(field + ".more", {inner.right() + 46, y}, Glyph::Plus, 12, {}, value < most))
      direction = 1;
  }
  if (focused_ == field && !typing()) {
    if (key(Key::Up)) direction = 1;
    if (key(Key::Down)) direction = -1;
    if (direction != 0) {
      take(Key::Up);
      take(Key::Down);
    }
  }
  if (direction != 0) value = std::clamp(std::isnan(value) ? 0.0 : value + direction * step, least, most);
  return value != before && !(std::isnan(value) && std::isnan(before));
}

bool Ui::checkbox(std::string_view id, Vec2 at, std::string_view label, bool& value,
                  std::string_view explain) {
  const Theme& t = canvas_->theme();
  const float w = 30 + canvas_->width(label, 14);
  const Hit h = hit(id, {at.x, at.y - 14, w, 28}, {.least = 28, .explain = explain});
  const Rect box{at.x, at.y - 9, 18, 18};
  canvas_->rect(box, {.fill = value       ? t.accent
                              : h.hovered ? t.raised
                                          : t.card,
                      .stroke = value ? t.accent : t.edge,
                      .radius = 4,
                      .width = 1.5f});
  if (value) canvas_->glyph(Glyph::Check, box.center(), 11, t.ink, 2);
  canvas_->text({at.x + 28, at.y}, label, {.size = 14, .color = t.t1});
  if (h.clicked) value = !value;
  return h.clicked;
}

std::optional<int> Ui::select(std::string_view id, Rect box, std::span<const MenuItem> items, int current,
                              std::string_view explain) {
  const Theme& t = canvas_->theme();
  const Hit h = hit(id, box, {.explain = explain});
  canvas_->rect(box, {.fill = h.hovered ? t.raised : t.card, .stroke = t.edge, .radius = 6});
  const std::string_view label = current >= 0 && current < static_cast<int>(items.size())
                                     ? std::string_view(items[static_cast<std::size_t>(current)].label)
                                     : std::string_view();
  canvas_->text({box.x + 10, box.y + box.h / 2}, fit(canvas_->fonts(), label, box.w - 40, 15), {.size = 15});
  canvas_->glyph(Glyph::Down, {box.right() - 16, box.y + box.h / 2}, 11, t.t2, 1.75f);
  const std::string menu_id = std::string(id) + ".menu";
  if (h.clicked) open_popup(menu_id);
  return menu(menu_id, box, items, current);
}

// --- overlays
// ----------------------------------------------------------------------------------------------------------

void Ui::open_popup(std::string_view id) {
  if (passive_ > 0) return;
  open_popup_ = std::string(id);
  last_popup_box_ = {-1e9f, -1e9f, 2e9f, 2e9f};  // until it is placed, no press is outside
  keep_moving();
}

void Ui::close_popup() {
  open_popup_.clear();
  editing_.clear();
}

void Ui::popup(std::string_view id, Rect anchor, Vec2 size, std::function<void(Rect)> content) {
  if (open_popup_ != id || passive_ > 0) return;
  popup_ = Popup{std::string(id), canvas_->to_window(anchor), size, std::move(content)};
}

std::optional<int> Ui::menu(std::string_view id, Rect anchor, std::span<const MenuItem> items, int current) {
  constexpr float kRow = 36, kPad = 6, kSize = 15;
  float w = anchor.w;
  for (const MenuItem& item : items) {
    const float detail = item.detail.empty() ? 0 : canvas_->width(item.detail, 13) + 24;
    w = std::max(w, canvas_->width(item.label, kSize, Face::Bold) + detail + 52);
  }
  const float row = std::min(kRow, (canvas_->size().y - 24 - 2 * kPad) / static_cast<float>(items.size()));
  std::vector<MenuItem> kept(items.begin(), items.end());
  const std::string name(id);
  popup(id, anchor, {w, row * static_cast<float>(items.size()) + 2 * kPad},
        [this, kept = std::move(kept), name, current, row](Rect box) {
          const Theme& t = canvas_->theme();
          for (int i = 0; i < static_cast<int>(kept.size()); ++i) {
            const MenuItem& item = kept[static_cast<std::size_t>(i)];
            const Rect line{box.x + kPad, box.y + kPad + row * static_cast<float>(i), box.w - 2 * kPad, row};
            const std::string row_id = name + "." + std::to_string(i);
            const Hit h = hit(row_id, line, {.focusable = item.enabled});
            if (item.enabled && (h.hovered || (h.focused && focus_visible_)))
              canvas_->rect(line, {.fill = t.raised, .radius = 6});
            const Color color = item.enabled ? t.t1 : t.t3;
            const float y = line.y + row / 2;
            if (i == current) canvas_->glyph(Glyph::Check, {line.x + 14, y}, 11, color, 2);
            canvas_->text({line.x + 30, y}, item.label,
                          {.size = kSize, .color = color, .face = i == current ? Face::Bold : Face::Regular});
            if (!item.detail.empty())
              canvas_->text({line.right() - 10, y}, item.detail,
                            {.size = 13, .color = t.t3, .align = Align::Right});
            if (item.enabled && h.clicked) {
              chosen_menu_ = name;
              chosen_index_ = i;
              close_popup();
              keep_moving();
            }
          }
        });
  if (chosen_menu_ != id || passive_ > 0) return std::nullopt;
  chosen_menu_.clear();
  return chosen_index_;
}

Rect Ui::place_popup(const Popup& popup) const {
  const Vec2 window = canvas_->size();
  const float gap = 6, margin = 8;
  float y = popup.anchor.bottom() + gap;
  if (y + popup.size.y > window.y - margin) y = popup.anchor.y - gap - popup.size.y;
  y = std::clamp(y, margin, std::max(margin, window.y - margin - popup.size.y));
  const float x = std::clamp(popup.anchor.x, margin, std::max(margin, window.x - margin - popup.size.x));
  return {x, y, popup.size.x, popup.size.y};
}

void Ui::draw_popup(const Popup& popup) {
  const Theme& t = canvas_->theme();
  layer_ = 1;
  canvas_->push_layer();
  const Rect box = place_popup(popup);
  last_popup_box_ = box;
  for (int i = 3; i >= 1; --i) {  // a soft edge instead of a blur
    const auto d = static_cast<float>(i) * 3;
    canvas_->rect(box.inset(-d), {.fill = fade(rgb(0x000000), t.dark ? .12f : .04f), .radius = 10 + d});
  }
  canvas_->rect(box, {.fill = t.panel, .stroke = t.edge, .radius = 10});
  hit(popup.id + ".ground", box, {.focusable = false});
  const std::string open = open_popup_;
  popup.content(box);
  canvas_->pop_layer();
  layer_ = 0;
}

namespace {

float common_area(const Rect& a, const Rect& b) {
  const float w = std::min(a.right(), b.right()) - std::max(a.x, b.x);
  const float h = std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0.0f;
}

/// Near what is explained and off its neighbours: of the places around it, the one that covers least of what
/// reacts.
Rect place_explanation(Vec2 window, Rect of, Vec2 mouse, Vec2 size, std::span<const Rect> neighbours) {
  constexpr float kGap = 5, kMargin = 8;
  const float right = std::max(kMargin, window.x - kMargin - size.x),
              bottom = std::max(kMargin, window.y - kMargin - size.y);
  const float middle = (of.w < 200 ? of.center().x : mouse.x) - size.x / 2;
  std::vector<Vec2> places;
  for (const float y : {of.bottom() + kGap, of.y - kGap - size.y})
    for (const float x : {middle, of.x, of.right() - size.x}) places.push_back({x, y});
  for (const float x : {of.right() + kGap, of.x - kGap - size.x})
    places.push_back({x, of.center().y - size.y / 2});
  Rect best{};
  float least = 1e30f, order = 0;
  for (const Vec2& place : places) {
    const Rect box{std::clamp(place.x, kMargin, right), std::clamp(place.y, kMargin, bottom), size.x, size.y};
    float cost = order++ + 8 * common_area(box, of);
    for (const Rect& neighbour : neighbours) cost += common_area(box, neighbour);
    if (cost >= least) continue;
    least = cost;
    best = box;
  }
  return best;
}

/// Stands for a place whose explanation a click has silenced.
std::string silence_of(const Rect& place) {
  return "silent:" + std::to_string(place.x) + "," + std::to_string(place.y);
}

}  // namespace

void Ui::draw_explanation() {
  // A click has answered it: silent until the mouse rests on something else. What a held button is over is
  // not explained at all.
  if ((mouse_pressed_ || mouse_menu_) && !shown_explanation_.empty())
    shown_explanation_ = silence_of(explanation_box_);
  if (explanation_.empty()) {
    if (!mouse_down_) shown_explanation_.clear();
    return;
  }
  if (shown_explanation_ == silence_of(explanation_box_)) return;
  if (explanation_ != shown_explanation_) {
    shown_explanation_ = explanation_;
    explanation_since_ = now_;
  }
  const double rest = now_ - explanation_since_;
  if (rest < kExplainAfter) {
    wake_in(kExplainAfter - rest);
    return;
  }
  const Theme& t = canvas_->theme();
  constexpr float kWidth = 280, kSize = 14, kLine = 20;
  const auto lines = wrap(canvas_->fonts(), explanation_, kWidth, kSize);
  float w = 0;
  for (const std::string& line : lines) w = std::max(w, canvas_->width(line, kSize));
  const Vec2 size{w + 24, kLine * static_cast<float>(lines.size()) + 16};
  std::vector<Rect> neighbours;
  const float own = explanation_box_.w * explanation_box_.h;
  for (const Area& area : areas_)  // what lies around it (a ground, a card) is no neighbour
    if (area.layer == (any_popup_open() ? 1 : 0) && common_area(area.box, explanation_box_) < .9f * own)
      neighbours.push_back(area.box);
  const Rect box = place_explanation(canvas_->size(), explanation_box_, mouse_, size, neighbours);
  canvas_->push_layer();
  canvas_->push_layer();
  canvas_->rect(box, {.fill = t.accent, .radius = 8});
  float y = box.y + 8 + kLine / 2;
  for (const std::string& line : lines) {
    canvas_->text({box.x + 12, y}, line, {.size = kSize, .color = t.ink});
    y += kLine;
  }
  canvas_->pop_layer();
  canvas_->pop_layer();
}

}  // namespace ringside::app
