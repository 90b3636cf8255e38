// Branches on screen: the chip and its list in the top bar, the tracks under the timeline, two of them side
// by side.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/shell/format.hpp"
#include "app/shell/shell.hpp"
#include "app/shell/timeline_track.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr const char* kList = "branch.list";
constexpr float kRow = 52, kMostListed = 8, kTrackRow = 18, kCompareBand = 76;

std::string outcome_text(const Branch& branch) {
  if (!branch.simulation) return tr("branch.not_run");
  return tr("branch.outcome_end", {tr_word("outcome", sim::to_word(branch.simulation->outcome)),
                                   sim::format_duration(branch.simulation->time_ns)});
}

Color outcome_color(const Theme& t, const Branch& branch) {
  if (!branch.simulation) return t.t3;
  switch (branch.simulation->outcome) {
    case sim::Outcome::Completed:
      return t.t2;
    case sim::Outcome::Nan:
      return t.nan_text;
    case sim::Outcome::Hang:
    case sim::Outcome::Timeout:
      return t.stall_text;
    default:
      return t.fail_text;
  }
}

}  // namespace

std::string branch_name(const Branch& branch) {
  if (branch.commands.empty()) return tr(branch.parent < 0 ? "branch.original" : "branch.changed");
  // The fault that made it stands first; commands are in the order of time.
  const sim::Command* latest = &branch.commands.back();
  for (const sim::Command& command : branch.commands)
    if (command.t == branch.forked_at) latest = &command;
  std::string out = fault_name(latest->fault);
  if (branch.commands.size() > 1)
    out += " " + tr("branch.more", {std::to_string(branch.commands.size() - 1)});
  return out;
}

float Shell::transport_height(const Session& session) {
  const auto others = static_cast<int>(session.branches().size()) - 1;
  return kTransportHeight + (others > 0 ? kTrackRow * static_cast<float>(std::min(others, 3)) + 6 : 0);
}

// --- the list
// -------------------------------------------------------------------------------------------------------------

float Shell::draw_branch_chip(View& view, const Session& session, float right, float y) {
  if (session.branches().size() < 2) return 0;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Branch& branch = session.branches()[static_cast<std::size_t>(session.branch())];
  const std::string name = fit(c.fonts(), branch_name(branch), 170, 13, Face::Bold);
  const float w = 42 + c.width(name, 13, Face::Bold);
  const Rect box{right - w, y - 14, w, 28};
  const Hit h =
      view.ui.hit("branch.chip", box,
                  {.least = 36, .explain = tr("branch.list", {std::to_string(session.branches().size())})});
  c.rect(box, {.fill = h.hovered ? t.raised : Color{}, .stroke = t.edge, .radius = 14});
  c.glyph(Glyph::Fork, {box.x + 18, y}, 14, t.t1, 1.5f);
  c.text({box.x + 30, y}, name, {.size = 13, .face = Face::Bold});
  if (h.clicked) view.ui.open_popup(kList);
  draw_branch_list(view, session, box);
  return w;
}

void Shell::draw_branch_list(View& view, const Session& session, Rect anchor) {
  if (!view.ui.popup_open(kList)) return;
  const auto& branches = session.branches();
  const float rows = std::min(kMostListed, static_cast<float>(branches.size()));
  view.ui.popup(kList, anchor, {480, 52 + kRow * rows + 62}, [this, view, &session, rows](Rect box) mutable {
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    const auto& all = session.branches();
    c.text({box.x + 20, box.y + 28}, tr("branch.title"), {.size = 17, .face = Face::Bold});
    const int most = static_cast<int>(all.size()) - static_cast<int>(rows);
    const float wheel = view.ui.wheel(box);
    if (wheel != 0) branch_scroll_ -= wheel > 0 ? 1 : -1;
    branch_scroll_ = std::clamp(branch_scroll_, 0, most);
    if (most > 0)
      c.text({box.right() - 20, box.y + 28}, tr("branch.more", {std::to_string(most)}),
             {.size = 13, .color = t.t3, .align = Align::Right});
    float y = box.y + 52;
    for (int i = branch_scroll_; i < branch_scroll_ + static_cast<int>(rows); ++i) {
      draw_branch_row(view, session, i, {box.x + 8, y, box.w - 16, kRow});
      y += kRow;
    }
    if (view.ui.button("branch.remove", {box.x + 20, box.bottom() - 52, 190, 38}, tr("branch.remove"),
                       {.enabled = !session.faults().empty(), .explain = tr("branch.remove_explain")})) {
      view.emit(action::RemoveFault{});
      view.ui.close_popup();
    }
  });
}

void Shell::draw_branch_row(View& view, const Session& session, int index, Rect row) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Branch& branch = session.branches()[static_cast<std::size_t>(index)];
  const bool here = index == session.branch(), beside = index == session.compared();
  const std::string id = "branch.row." + std::to_string(index);
  const Rect area{row.x, row.y, row.w - (here ? 0.0f : 118.0f), row.h};
  const Hit h = view.ui.hit(id, area, {.focusable = !here});
  if (here || h.hovered) c.rect(area.inset(0, 2), {.fill = t.raised, .radius = 8});
  if (here) c.glyph(Glyph::Check, {row.x + 18, row.y + 18}, 11, t.t1, 2);
  const float x = row.x + 34, room = area.right() - x - 8;
  float name = c.text({x, row.y + 17}, fit(c.fonts(), branch_name(branch), room, 15, Face::Bold),
                      {.size = 15, .face = Face::Bold});
  if (branch.parent >= 0 && room - name > 110)
    c.text({x + name + 10, row.y + 17},
           fit(c.fonts(), tr("branch.at", {sim::format_duration(branch.forked_at)}), room - name - 10, 13),
           {.size = 13, .color = t.t3});
  c.text({x, row.y + 37}, fit(c.fonts(), outcome_text(branch), room, 13),
         {.size = 13, .color = outcome_color(t, branch)});
  if (h.clicked && !here) view.emit(action::SwitchBranch{index});
  if (here) {
    c.text({row.right() - 14, row.center().y}, tr("branch.here"),
           {.size = 13, .color = t.t2, .align = Align::Right});
    return;
  }
  if (view.ui.button("branch.compare." + std::to_string(index), {row.right() - 108, row.y + 8, 104, 36},
                     tr(beside ? "branch.end_short" : "branch.compare"),
                     {.size = 14, .explain = beside ? tr("branch.end") : tr("branch.compare_explain")})) {
    view.emit(action::Compare{beside ? -1 : index});
    view.ui.close_popup();
  }
}

// --- tracks under the timeline
// -------------------------------------------------------------------------------------------------------------

void Shell::draw_branch_tracks(View& view, const Session& session, const TimelineTrack& track, float y) {
  const auto& branches = session.branches();
  if (branches.size() < 2) return;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  // The parent first, then the newest: those that are likely to be wanted.
  std::vector<int> shown;
  for (int i = static_cast<int>(branches.size()) - 1; i >= 0; --i)
    if (i != session.branch()) shown.push_back(i);
  const int parent = branches[static_cast<std::size_t>(session.branch())].parent;
  std::stable_partition(shown.begin(), shown.end(),
                        [&](int i) { return i == parent || i == session.compared(); });
  const std::size_t rows = std::min<std::size_t>(3, shown.size());
  for (std::size_t k = 0; k < rows; ++k, y += kTrackRow) {
    const int i = shown[k];
    const Branch& branch = branches[static_cast<std::size_t>(i)];
    const Rect row{view.box.x + 12, y, track.x + track.w - view.box.x - 12, kTrackRow};
    const std::string name = branch_name(branch);
    const Hit h = view.ui.hit("branch.track." + std::to_string(i), row,
                              {.focusable = false, .explain = name + ": " + outcome_text(branch)});
    const float from = track.at(divergence(branches, i, session.branch())), middle = row.center().y;
    const std::int64_t end = branch.simulation ? branch.simulation->trace.end_time() : track.to;
    const float to = std::max(from + 6, track.at(end));
    const Color fill = h.hovered || i == session.compared() ? t.t2 : t.edge;
    c.line({track.x, middle}, {from, middle}, t.line, 1.5f);
    c.line({from, middle - kTrackRow + 4}, {from, middle}, t.edge, 1.5f);
    c.rect({from, middle - 3, to - from, 6}, {.fill = fill, .radius = 3});
    if (end > track.to) c.glyph(Glyph::Right, {to + 8, middle}, 9, t.t2, 1.75f);
    const std::string label = fit(c.fonts(), name, track.x - view.box.x - 44, 13);
    c.text({track.x - 14, middle}, label,
           {.size = 13, .color = h.hovered ? t.t1 : t.t2, .align = Align::Right});
    const float room = view.box.right() - 20 - (track.x + track.w) - 30;
    const bool last = k + 1 == rows && shown.size() > rows;
    const std::string note =
        last ? tr("branch.more", {std::to_string(shown.size() - rows)}) : outcome_text(branch);
    c.text({view.box.right() - 20, middle}, fit(c.fonts(), note, room, 13),
           {.size = 13, .color = last ? t.t3 : outcome_color(t, branch), .align = Align::Right});
    if (h.clicked) view.emit(action::SwitchBranch{i});
  }
}

// --- two side by side
// -------------------------------------------------------------------------------------------------------------

void Shell::draw_compare_band(View& view, const Session& session, Rect left, Rect right) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect band{view.box.x, view.box.y, view.box.w, kCompareBand};
  c.rect(band, {.fill = t.panel});
  c.line({band.x, band.bottom()}, {band.right(), band.bottom()}, t.line);
  const auto& branches = session.branches();
  const Branch &a = branches[static_cast<std::size_t>(session.branch())],
               &b = branches[static_cast<std::size_t>(session.compared())];
  const auto head = [&](Rect box, const Branch& branch) {
    const float y = box.y - 20;
    const std::string name = fit(c.fonts(), branch_name(branch), box.w * .55f, 15, Face::Bold);
    const float w = c.text({box.x + 20, y}, name, {.size = 15, .face = Face::Bold});
    c.text({box.x + 32 + w, y}, fit(c.fonts(), outcome_text(branch), box.w - w - 60, 14),
           {.size = 14, .color = outcome_color(t, branch)});
  };
  head(left, a);
  head(right, b);
  const float y = band.y + 24;
  const auto& difference = session.difference();
  float x = band.x + 20;
  if (!difference) {
    c.text({x, y}, tr("branch.same"), {.size = 15});
  } else {
    x += c.text({x, y}, tr("branch.first_difference"), {.size = 14, .color = t.t3, .face = Face::Bold}) + 14;
    x += c.text({x, y}, difference_text(*difference), {.size = 17, .face = Face::Bold}) + 12;
    x += c.text({x, y}, tr("branch.when", {sim::format_duration(difference->t)}),
                {.size = 15, .color = t.t2}) +
         18;
    if (view.ui.button("compare.go", {x, y - 17, 120, 34}, tr("branch.go"), {.size = 14}))
      view.emit(action::SeekTo{difference->t});
  }
  const std::string& end = tr("branch.end");
  const float w = c.width(end, 14, Face::Bold) + 40;
  if (view.ui.button("compare.end", {band.right() - 16 - w, y - 17, w, 34}, end, {.size = 14}))
    view.emit(action::Compare{-1});
}

std::string difference_text(const sim::Difference& difference) {
  std::string who;
  switch (difference.source.kind) {
    case sim::Source::Kind::Rank:
      who = parts::rank_name(difference.source.id);
      break;
    case sim::Source::Kind::Node:
      who = sim::Scenario::node_name(difference.source.id);
      break;
    default:
      who = tr("branch.job");
      break;
  }
  if (difference.step <= 0) return who;
  return tr("branch.where",
            {who, std::to_string(difference.step), tr_word("phase", sim::to_word(difference.phase))});
}

std::pair<Rect, Rect> Shell::compare_boxes(Rect stage) {
  const float w = std::floor(stage.w / 2);
  const Rect left{stage.x, stage.y + kCompareBand, w, stage.h - kCompareBand};
  return {left, {stage.x + w, left.y, stage.w - w, left.h}};
}

}  // namespace ringside::app
