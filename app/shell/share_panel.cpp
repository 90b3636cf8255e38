#include "app/shell/share_panel.hpp"

#include <array>
#include <filesystem>
#include <utility>

#include "app/draw/parts.hpp"
#include "app/session/files.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr const char* kPopup = "share.panel";
constexpr float kWidth = 440, kPad = 20;

struct Size {
  int width, height;
};
constexpr std::array kSizes = {Size{1280, 720}, Size{1920, 1080}, Size{2560, 1440}};
constexpr std::array kRates = {24, 30, 60};

std::string_view ending_of(SharePanel::Page page) {
  switch (page) {
    case SharePanel::Page::Picture:
      return ".png";
    case SharePanel::Page::Video:
      return ".mp4";
    default:
      return ".toml";
  }
}

}  // namespace

void SharePanel::open(const Session& session, Page page) {
  page_ = page;
  folder_ = documents_folder(session.path());
  propose_name(session);
  wanted_ = true;
}

/// A name that is free: "four-gpus.mp4", "four-gpus-2.mp4" …
void SharePanel::propose_name(const Session& session) {
  const std::string stem = safe_file_stem(session.name());
  std::error_code error;
  for (int n = 1; n < 1'000; ++n) {
    name_ = stem + (n > 1 ? "-" + std::to_string(n) : "");
    if (!std::filesystem::exists(path(), error)) return;
  }
}

std::string SharePanel::path() const {
  return folder_ + "/" + safe_file_stem(name_) + std::string(ending_of(page_));
}

void SharePanel::frame(View& view, const Session& session, Rect anchor) {
  if (std::exchange(wanted_, false)) view.ui.open_popup(kPopup);
  if (!view.ui.popup_open(kPopup)) return;
  constexpr std::array kHeights = {288.0f, 224.0f, 300.0f, 424.0f};
  view.ui.popup(kPopup, anchor, {kWidth, kHeights[static_cast<std::size_t>(page_)]},
                [this, view, &session](Rect box) mutable {
                  if (page_ == Page::List)
                    draw_list(view, session, box);
                  else
                    draw_file(view, session, box);
                });
}

void SharePanel::draw_list(View& view, const Session& session, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  float y = box.y + 10;
  const bool simulated = session.scenario() != nullptr;
  const auto row = [&](std::string_view id, std::string_view title, std::string_view text, bool enabled) {
    const Rect line{box.x + 8, y, box.w - 16, 52};
    const Hit h = view.ui.hit(id, line, {.focusable = enabled});
    if (enabled && (h.hovered || h.focused)) c.rect(line.inset(0, 1), {.fill = t.raised, .radius = 8});
    c.text({line.x + 12, y + 17}, tr(title),
           {.size = 15, .color = enabled ? t.t1 : t.t3, .face = Face::Bold});
    c.text({line.x + 12, y + 37}, fit(c.fonts(), tr(enabled ? text : "share.not_simulated"), line.w - 24, 13),
           {.size = 13, .color = enabled ? t.t2 : t.t3});
    y += 54;
    return enabled && h.clicked;
  };
  const auto turn = [&](Page page) {
    page_ = page;
    propose_name(session);
    view.ui.keep_moving();
  };
  if (row("share.copy", "share.copy", "share.copy_text", simulated)) {
    view.emit(action::CopyMoment{});
    view.ui.close_popup();
  }
  if (row("share.paste", "share.paste", "share.paste_text", true)) {
    view.emit(action::PasteMoment{});
    view.ui.close_popup();
  }
  if (row("share.save", "share.save", "share.save_text", simulated)) turn(Page::Save);
  if (row("share.picture", "share.picture", "share.picture_text", simulated)) turn(Page::Picture);
  if (row("share.video", "share.video", "share.video_text", simulated)) turn(Page::Video);
}

float SharePanel::draw_sizes(View& view, Rect box, float y) {
  Canvas& c = view.canvas;
  c.text({box.x + kPad, y}, tr("share.size"), {.size = 14, .color = c.theme().t2});
  std::vector<std::string> labels;
  for (const Size& size : kSizes)
    labels.push_back(std::to_string(size.width) + "×" + std::to_string(size.height));
  if (const auto chosen = view.ui.toggle("share.sizes", {box.right() - kPad, y}, labels, size_, Align::Right))
    size_ = *chosen;
  y += 44;
  view.ui.checkbox("share.presenter", {box.x + kPad, y}, tr("share.presenter"), presenter_,
                   tr("share.presenter_explain"));
  return y + 40;
}

float SharePanel::draw_range(View& view, const Session& session, Rect box, float y) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const auto label = [&](std::string_view key) {
    c.text({box.x + kPad, y}, tr(key), {.size = 14, .color = t.t2});
  };
  const std::string ranges[] = {tr("share.whole"), tr("share.to_here"), tr("share.from_here")};
  label("share.range");
  if (const auto chosen =
          view.ui.toggle("share.range", {box.right() - kPad, y}, ranges, range_, Align::Right))
    range_ = *chosen;
  y += 44;
  label("share.fps");
  std::vector<std::string> rates;
  for (const int rate : kRates) rates.push_back(std::to_string(rate));
  if (const auto chosen = view.ui.toggle("share.fps", {box.right() - kPad, y}, rates, fps_, Align::Right))
    fps_ = *chosen;
  y += 44;
  label("share.seconds");
  view.ui.number_field("share.seconds", {box.right() - kPad - 170, y - 18, 170, 36}, seconds_, 1, 600, 1,
                       "s");
  static_cast<void>(session);
  return y + 40;
}

void SharePanel::draw_file(View& view, const Session& session, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  constexpr std::array<std::string_view, 4> kTitles = {"share.copy", "share.save", "share.picture",
                                                       "share.video"};
  c.text({box.x + kPad, box.y + 30}, tr(kTitles[static_cast<std::size_t>(page_)]),
         {.size = 17, .face = Face::Bold});
  float y = box.y + 72;
  c.text({box.x + kPad, y}, tr("share.name"), {.size = 14, .color = t.t2});
  view.ui.text_field("share.name", {box.right() - kPad - 260, y - 18, 260, 36}, name_);
  y += 34;
  const std::string shown = sim::escape_for_display(path());
  c.text({box.x + kPad, y}, fit(c.fonts(), tr("share.goes_to", {shown}), box.w - 2 * kPad, 13),
         {.size = 13, .color = t.t3});
  view.ui.explain({box.x + kPad, y - 10, box.w - 2 * kPad, 20}, shown);
  y += 38;
  if (page_ != Page::Save) y = draw_sizes(view, box, y);
  if (page_ == Page::Video) y = draw_range(view, session, box, y);
  std::error_code error;
  const bool exists = std::filesystem::exists(path(), error);
  const float by = box.bottom() - 56;
  if (view.ui.button("share.go", {box.x + kPad, by, 190, 40}, tr(exists ? "share.replace" : "share.go"),
                     {.primary = true}))
    go(view, session);
  if (view.ui.button("share.back", {box.x + kPad + 202, by, 120, 40}, tr("break.back"))) {
    page_ = Page::List;
    view.ui.keep_moving();
  }
}

void SharePanel::go(View& view, const Session& session) {
  view.ui.close_popup();
  if (page_ == Page::Save) {
    view.emit(action::SaveScenario{path()});
    return;
  }
  action::Export wanted;
  wanted.path = path();
  wanted.video = page_ == Page::Video;
  wanted.width = kSizes[static_cast<std::size_t>(size_)].width;
  wanted.height = kSizes[static_cast<std::size_t>(size_)].height;
  wanted.fps = kRates[static_cast<std::size_t>(fps_)];
  wanted.seconds = seconds_;
  wanted.from = range_ == 2 ? session.playhead().t : 0;
  wanted.to = range_ == 1 ? session.playhead().t : session.end_time();
  wanted.presenter = presenter_;
  view.emit(wanted);
}

}  // namespace ringside::app
