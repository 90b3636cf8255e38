// The stage of an incident: verdict, lanes, evidence, what the tools say.
#include <algorithm>
#include <cmath>
#include <map>

#include "app/draw/parts.hpp"
#include "app/scenes/incident_view.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::incident {
namespace {

using parts::Mark;
using parts::Truth;

constexpr float kPad = 20, kLeastRow = 20.5f, kMostRow = 27, kMostRowTall = 40, kCardHead = 34, kCardFoot = 8,
                kGap = 12;
constexpr float kEvidenceRow = 24, kToolCard = 66;

Truth truth_of(sim::Confidence confidence) {
  switch (confidence) {
    case sim::Confidence::Certain:
      return Truth::Measured;
    case sim::Confidence::Likely:
      return Truth::Inferred;
    case sim::Confidence::Unknown:
      break;
  }
  return Truth::Hidden;
}

Glyph glyph_of(Truth truth) {
  return truth == Truth::Measured   ? Glyph::Measured
         : truth == Truth::Inferred ? Glyph::Inferred
                                    : Glyph::Hidden;
}

/// Verdict: label and badges, the sentence, what the others did. Returns the y below.
float draw_verdict(View& view, ViewState& state, const Items& items, Rect s) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const sim::Diagnosis& d = items.incident->diagnosis;
  float x = s.x + kPad;
  const float y = s.y + 24, right = s.right() - kPad;
  x += c.text({x, y}, tr("incident.verdict"), {.size = 15, .color = t.t2}) + 14;
  const std::string& sure = d.confidence == sim::Confidence::Certain  ? tr("incident.certain")
                            : d.confidence == sim::Confidence::Likely ? tr("incident.likely")
                                                                      : tr("incident.not_known");
  x +=
      parts::chip(c, {x, y}, sure,
                  {.icon = glyph_of(truth_of(d.confidence)), .color = t.t1, .stroke = t.edge, .text = t.t1}) +
      10;
  parts::chip(c, {x, y}, tr_word("incident_kind", sim::to_word(d.kind)), {.stroke = t.line, .text = t.t2});
  const std::string& other = tr("incident.open_other");
  const float w = c.width(other, 14) + 48;
  if (view.ui.button("incident.other", {right - w, y - 17, w, 34}, other,
                     {.icon = Glyph::Folder, .size = 14, .explain = tr("incident.open_other_explain")}))
    state.opening = true;
  const float room = right - s.x - kPad;
  float size = size_that_fits(c.fonts(), items.verdict, room, {28, 25, 22}, Face::Bold);
  float ty = y + 38;
  const auto lines = wrap(c.fonts(), items.verdict, room, size, Face::Bold, 2);
  for (const std::string& line : lines) {
    c.text({s.x + kPad, ty}, line, {.size = size, .face = Face::Bold});
    ty += size * 1.25f;
  }
  ty += 28 - size * 1.25f + 2;
  c.text({s.x + kPad, ty}, fit(c.fonts(), items.others, room, 17), {.size = 17, .color = t.t2});
  return ty + 22;
}

/// Where the parts of a lane are in its card.
struct LaneBox {
  float name, bar, bar_end, mark, right;
};

LaneBox lane_box(const Canvas& c, const Items& items, const Rect& card) {
  LaneBox out{};
  const float seq_width = items.longest_seq.empty() ? 0 : c.width(items.longest_seq, 14, Face::Bold) + 14;
  out.name = card.x + 14;
  out.bar = card.x + 58;
  out.right = card.right() - 14;
  out.mark = out.right - std::max(seq_width + 22, items.longest_seq.empty() ? 10.0f : 78.0f);
  out.bar_end = out.mark - 14;
  return out;
}

struct Axis {
  float x = 0, w = 1;
  std::int64_t from = 0, to = 1;
  float at(std::int64_t t) const {
    const double share =
        static_cast<double>(t - from) / static_cast<double>(std::max<std::int64_t>(1, to - from));
    return x + w * static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
};

/// Work, then waiting, up to the end; what lies after the playhead is pale.
void draw_bar(Canvas& c, const Items& items, const IncidentRow& row, const Axis& axis, float y, float pitch) {
  const Theme& t = c.theme();
  const float h = pitch - 6, top = y - h / 2, now = axis.at(items.t);
  const auto work = [&](float a, float b, float alpha) {
    if (b - a > 1) c.rect({a, top, b - a, h}, {.fill = fade(t.edge, alpha), .radius = 3});
  };
  const auto split_work = [&](float a, float b, float alpha) {
    work(a, std::min(b, now), alpha);
    work(std::max(a, now), b, alpha * .28f);
  };
  const bool waits = row.waits_from != -1;
  if (!waits && row.truth == Truth::Hidden) {  // nothing is known but that the others waited for it
    const float from = items.picture->waited > 0 ? axis.at(items.picture->cause_ns) : axis.x;
    split_work(axis.x, from, .45f);
    const Rect box{from + 2, top, axis.x + axis.w - from - 2, h};
    if (box.w > 8 && now > from) c.rect(box, {.stroke = t.stall, .radius = 3, .width = 1.5f, .dash = {4, 3}});
    const std::string& word = tr("incident.silent");
    if (now > from && c.width(word, 13) + 30 < box.w) {
      c.glyph(Glyph::Hidden, {box.x + 14, y}, 10, t.stall, 1.5f);
      c.text({box.x + 26, y}, word, {.size = 13, .color = t.stall_text});
    }
    return;
  }
  const float end = row.ends_at >= 0 ? axis.at(row.ends_at) : axis.x + axis.w;
  const float turn = waits ? axis.at(row.waits_from) : end;
  split_work(axis.x, turn - 1, 1);
  if (waits && end - turn > 3) {
    const float seen = std::min(end, now);
    if (seen - turn > 3) {
      parts::wait_box(c, {turn + 1, top, seen - turn - 1, h}, row.culprit ? t.stall : t.t2, 5);
    }
    if (end - std::max(turn, now) > 3 && now < end)
      c.rect({std::max(turn, now) + 1, top, end - std::max(turn, now) - 1, h},
             {.stroke = fade(t.t2, .28f), .radius = 3});
  }
  if (waits && !row.call.empty() && now >= end - 1) {  // which call, over its hatch
    const std::string call = sim::escape_for_display(row.call.substr(0, 40));
    const float w = c.width(call, 13) + 14, middle = (turn + end) / 2;
    if (w < end - turn - 20) {
      c.rect({middle - w / 2, top + 1, w, h - 2}, {.fill = t.panel, .radius = 4});
      c.text({middle, y}, call, {.size = 13, .color = t.t1, .align = Align::Center, .on_shape = true});
    }
  }
  if (!waits && row.culprit && !row.ended && end < axis.x + axis.w - 12 && now > end) {
    const Rect box{end + 2, top, axis.x + axis.w - end - 2, h};
    c.rect(box, {.stroke = t.stall, .radius = 3, .width = 1.5f, .dash = {4, 3}});
    const std::string& word = tr("incident_end.silent");
    if (c.width(word, 13) + 30 < box.w) {
      c.glyph(Glyph::Hidden, {box.x + 14, y}, 10, t.stall, 1.5f);
      c.text({box.x + 26, y}, word, {.size = 13, .color = t.stall_text});
    }
  }
}

/// Without times: how the rank ended, or the last line it printed.
void draw_last_word(Canvas& c, const Items& items, const IncidentRow& row, const LaneBox& box, float y,
                    float pitch) {
  const Theme& t = c.theme();
  const float h = pitch - 6;
  const Rect bar{box.bar, y - h / 2, box.bar_end - box.bar, h};
  std::string word = row.ended ? end_word(row.end) : row.line == 0 ? tr("incident.silent") : std::string();
  for (const sim::Evidence& e : items.incident->diagnosis.evidence)
    if (!row.ended && row.line > 0 && e.line == row.line && row.file < items.incident->files.size() &&
        e.file == items.incident->files[row.file])
      word = sim::escape_for_display(e.text.substr(0, 200));
  if (row.ended || row.line > 0)
    c.rect(bar, {.fill = fade(t.edge, row.culprit ? .5f : .25f), .radius = 3});
  else
    c.rect(bar, {.stroke = t.stall, .radius = 3, .width = 1.5f, .dash = {4, 3}});
  const bool quiet = !row.ended && row.line == 0;
  const Face face = row.ended || quiet ? Face::Regular : Face::Mono;
  c.text({bar.x + 10, y}, fit(c.fonts(), word, bar.w - 16, 13, face),
         {.size = 13, .color = quiet ? t.stall_text : t.t1, .face = face, .on_shape = true});
}

/// How a rank ended, as a glyph: a state mark without its box, which is too small here.
void draw_end(Canvas& c, Vec2 at, Mark mark) {
  const Theme& t = c.theme();
  switch (mark) {
    case Mark::TimedOut:
      return c.glyph(Glyph::Clock, at, 13, t.stall, 1.75f);
    case Mark::Dead:
      return c.glyph(Glyph::Cross, at, 12, t.fail, 2.25f);
    case Mark::Poisoned:
      return c.glyph(Glyph::Poison, at, 14, t.nan, 1.75f);
    case Mark::Aborted:
    case Mark::Terminated:
      return c.glyph(Glyph::Stop, at, 11, t.t1, 1.75f);
    default:
      return c.glyph(Glyph::Right, at, 11, t.t2, 1.75f);
  }
}

void draw_row(View& view, ViewState& state, const Items& items, const IncidentRow& row, Rect card, float y,
              float pitch) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const LaneBox box = lane_box(c, items, card);
  const Rect line{card.x + 4, y - pitch / 2, card.w - 8, pitch};
  const Hit hit = view.ui.hit("incident.rank." + std::to_string(row.rank), line, {.focusable = false});
  const bool selected = view.ctx.selection.rank == row.rank;
  if (row.culprit)
    c.rect(line, {.fill = fade(t.fail, .18f), .radius = 4});
  else if (hit.hovered || selected)
    c.rect(line, {.fill = t.raised, .radius = 4});
  const bool strong = row.culprit || selected;
  c.text({box.name, y}, parts::rank_name(row.rank),
         {.size = 14, .color = strong ? t.t1 : t.t2, .face = strong ? Face::Bold : Face::Regular});
  const bool over = row.ends_at < 0 || items.t >= row.ends_at;
  if (items.picture->timed) {
    const Axis axis{box.bar, box.bar_end - box.bar, items.picture->from, items.picture->to};
    draw_bar(c, items, row, axis, y, pitch);
  } else {
    draw_last_word(c, items, row, box, y, pitch);
  }
  if (row.ended && over) draw_end(c, {box.mark, y}, row.end);
  if (row.last_seq >= 0) {
    std::string seq = sim::with_commas(row.last_seq);
    const Color color = row.behind ? t.fail_text : t.t2;
    const float room = box.right - box.mark - 12 - (row.seq_truth == Truth::Inferred ? 14 : 0);
    if (row.seq_truth == Truth::Inferred) c.glyph(Glyph::Inferred, {box.right - 5, y}, 8, color, 1.5f);
    const float edge = box.right - (row.seq_truth == Truth::Inferred ? 14 : 0);
    c.text(
        {edge, y}, fit(c.fonts(), seq, room, 14),
        {.size = 14, .color = color, .face = row.behind ? Face::Bold : Face::Regular, .align = Align::Right});
  }
  if (row.culprit) parts::brackets(c, line.inset(-2, 0), t.fail, 7, 2.5f);
  if (hit.clicked) {
    Selection selection;
    selection.rank = row.rank;
    view.emit(action::Select{selection});
    if (row.line > 0 && row.file < items.incident->files.size())
      open_excerpt(view, state, items, row.file, items.incident->files[row.file], row.line);
    if (items.own_timeline && row.ends_at >= 0) view.emit(action::SeekTo{row.ends_at});
  }
}

/// The longest wait, written once over the waiting of a card, on a row that is not the culprit's.
void draw_wait_label(Canvas& c, const Items& items, const Rect& card,
                     std::span<const IncidentRow* const> rows, float pitch) {
  const IncidentPicture& p = *items.picture;
  if (!p.timed || p.waited == 0 || p.wait_ns < 1'000'000'000 || items.t < p.to) return;
  std::size_t best = rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i]->waits_from != -1 && (best == rows.size() || i <= rows.size() / 2)) best = i;
  if (best == rows.size()) return;
  const Theme& t = c.theme();
  const LaneBox box = lane_box(c, items, card);
  const Axis axis{box.bar, box.bar_end - box.bar, p.from, p.to};
  const std::string text = wait_text(p.wait_ns);
  const float w = c.width(text, 14, Face::Bold) + 18, x = (axis.at(p.cause_ns) + axis.x + axis.w) / 2;
  const float y = card.y + kCardHead - 2 + pitch * (static_cast<float>(best) + .5f);
  c.rect({x - w / 2, y - pitch / 2 + 1, w, pitch - 2}, {.fill = t.panel, .radius = 5});
  c.text({x, y}, text, {.size = 14, .face = Face::Bold, .align = Align::Center, .on_shape = true});
}

void draw_card_head(Canvas& c, const Items& items, const Rect& card, const std::string& title) {
  const Theme& t = c.theme();
  const LaneBox box = lane_box(c, items, card);
  const float y = card.y + 18;
  const std::string& seq = tr("incident.last_seq");
  const bool any_seq = std::any_of(items.picture->rows.begin(), items.picture->rows.end(),
                                   [](const IncidentRow& row) { return row.last_seq >= 0; });
  float right = box.right;
  if (any_seq) {
    c.text({right, y}, seq, {.size = 13, .color = t.t3, .align = Align::Right});
    right -= c.width(seq, 13) + 12;
  }
  const float tw = c.text({box.name, y}, fit(c.fonts(), title, card.w * .34f, 15, Face::Bold),
                          {.size = 15, .face = Face::Bold});
  if (!items.picture->timed) return;
  const std::string a = clock_of(*items.incident, *items.picture, items.picture->from);
  const std::string b = clock_of(*items.incident, *items.picture, items.picture->to);
  float end = std::min(right, box.bar_end + 8);
  const float bw = c.width(b, 13);
  if (end - bw - 16 < box.name + tw) return;
  c.text({end, y}, b, {.size = 13, .color = t.t3, .align = Align::Right});
  const float ax = std::max(box.bar, box.name + tw + 14);
  if (ax + c.width(a, 13) + 12 < end - bw) c.text({ax, y}, a, {.size = 13, .color = t.t3});
}

/// One card with whole lanes.
void draw_card(View& view, ViewState& state, const Items& items, const Rect& card, const std::string& title,
               std::span<const IncidentRow* const> rows, float pitch) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.rect(card, {.fill = t.panel, .stroke = t.line, .radius = 10});
  draw_card_head(c, items, card, title);
  float y = card.y + kCardHead + pitch / 2 - 2;
  for (const IncidentRow* row : rows) {
    draw_row(view, state, items, *row, card, y, pitch);
    y += pitch;
  }
  draw_wait_label(c, items, card, rows, pitch);
}

void draw_square(View& view, const Items& items, const IncidentRow& row, const Rect& box) {
  const bool over = row.ends_at < 0 || items.t >= row.ends_at;
  const bool waits = row.waits_from != -1 && items.t > row.waits_from;
  parts::state_mark(view.canvas, box, row.ended && over ? row.end : waits ? Mark::Waiting : Mark::Idle);
  if (row.culprit) parts::brackets(view.canvas, box.inset(-3), view.canvas.theme().fail, 5, 2);
  std::string sentence = parts::rank_name(row.rank);
  if (!row.host.empty()) sentence += " · " + sim::escape_for_display(row.host.substr(0, 80));
  if (row.ended) sentence += " · " + end_word(row.end);
  view.ui.explain(box, sentence);
}

/// All other ranks as squares, node by node: their number and how they ended.
void draw_squares(View& view, const Items& items, const Rect& card,
                  const std::vector<const IncidentRow*>& rows) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.rect(card, {.fill = t.panel, .stroke = t.line, .radius = 10});
  const auto count = static_cast<std::int64_t>(rows.size());
  c.text({card.x + 14, card.y + 18}, tr("incident.other_ranks", {sim::with_commas(count)}),
         {.size = 15, .face = Face::Bold});
  std::map<Mark, int> by_mark;
  for (const IncidentRow* row : rows)
    if (row->ended) ++by_mark[row->end];
  float x = card.x + 14;
  const float legend_y = card.y + 42;
  for (const auto& [mark, n] : by_mark) {
    const std::string text = sim::with_commas(n) + " " + end_word(mark);
    if (x + 26 + c.width(text, 13) > card.right() - 14) break;
    parts::state_mark(c, {x, legend_y - 7, 14, 14}, mark);
    x += 20;
    x += c.text({x, legend_y}, text, {.size = 13, .color = t.t2}) + 16;
  }
  const Rect grid{card.x + 14, card.y + 60, card.w - 28, card.h - 70};
  // One line a host with its name, where they fit; else squares alone.
  std::vector<std::pair<std::string, std::vector<const IncidentRow*>>> hosts;
  std::size_t widest = 1;
  for (const IncidentRow* row : rows) {
    if (hosts.empty() || hosts.back().first != row->host) hosts.push_back({row->host, {}});
    hosts.back().second.push_back(row);
    widest = std::max(widest, hosts.back().second.size());
  }
  float label = 0;
  for (const auto& [host, members] : hosts) label = std::max(label, std::min(110.0f, c.width(host, 13)));
  const float line_pitch = std::min(26.0f, (grid.w - label - 12) / static_cast<float>(widest));
  const bool by_host = label > 0 && line_pitch >= 12 &&
                       static_cast<float>(hosts.size()) * std::max(18.0f, line_pitch) <= grid.h + 4;
  if (by_host) {
    float y = grid.y;
    for (const auto& [host, members] : hosts) {
      c.text({grid.x, y + line_pitch / 2 - 2},
             fit(c.fonts(), sim::escape_for_display(host.substr(0, 80)), label + 4, 13),
             {.size = 13, .color = t.t2});
      for (std::size_t i = 0; i < members.size(); ++i)
        draw_square(
            view, items, *members[i],
            {grid.x + label + 12 + static_cast<float>(i) * line_pitch, y, line_pitch - 4, line_pitch - 4});
      y += std::max(18.0f, line_pitch);
    }
    return;
  }
  float pitch = 26;
  const auto holds = [&](float p) {
    return std::floor((grid.w + 3) / p) * std::floor((grid.h + 3) / p) >= static_cast<float>(count);
  };
  while (pitch > 5 && !holds(pitch)) pitch -= .5f;
  const int columns = std::max(1, static_cast<int>((grid.w + 3) / pitch));
  const float k = pitch - (pitch > 9 ? 4.0f : 1.5f);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto column = static_cast<float>(static_cast<int>(i) % columns);
    const auto line = static_cast<float>(static_cast<int>(i) / columns);
    const Rect box{grid.x + column * pitch, grid.y + line * pitch, k, k};
    if (box.bottom() > grid.bottom() + 2) break;
    draw_square(view, items, *rows[i], box);
  }
}

/// Lanes of all ranks, node by node; where they do not fit, the node of the culprit and the rest as squares.
float draw_lanes(View& view, ViewState& state, const Items& items, Rect area) {
  struct Card {
    std::string title;
    std::span<const IncidentRow* const> rows;
  };
  const auto title_of = [&](const Group& group) {
    return group.host.empty() ? tr("incident.no_host") : sim::escape_for_display(group.host.substr(0, 60));
  };
  const int most_columns = area.w > 1050 ? 3 : 2;
  const auto per_card =
      static_cast<std::size_t>(std::max(2.0f, (area.h - kCardHead - kCardFoot) / kLeastRow));
  std::vector<Card> cards;
  for (const Group& group : items.groups) {
    // A host with too many rows, or ranks without a host, go into several cards of equal size.
    const std::size_t n = group.rows.size();
    std::size_t parts_n = (n + per_card - 1) / per_card;
    if (items.groups.size() == 1 && n > 5) parts_n = std::max<std::size_t>(parts_n, 2);
    const std::size_t each = (n + parts_n - 1) / std::max<std::size_t>(1, parts_n);
    for (std::size_t from = 0; from < n; from += each)
      cards.push_back({title_of(group), std::span(group.rows).subspan(from, std::min(each, n - from))});
  }
  if (cards.empty()) return area.y;
  std::size_t tallest = 1;
  for (const Card& card : cards) tallest = std::max(tallest, card.rows.size());
  const int columns = std::min<int>(most_columns, static_cast<int>(cards.size()));
  const int lines = (static_cast<int>(cards.size()) + columns - 1) / columns;
  const float room = (area.h + kGap) / static_cast<float>(lines) - kGap - kCardHead - kCardFoot;
  const float most = area.h > 330 ? kMostRowTall : kMostRow;
  const float pitch = std::min(most, room / static_cast<float>(tallest));
  if (pitch >= kLeastRow - .1f) {
    const float h = kCardHead + kCardFoot + pitch * static_cast<float>(tallest);
    const float w = (area.w - kGap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
    for (std::size_t i = 0; i < cards.size(); ++i) {
      const Rect box{area.x + static_cast<float>(i % static_cast<std::size_t>(columns)) * (w + kGap),
                     area.y + static_cast<float>(i / static_cast<std::size_t>(columns)) * (h + kGap), w, h};
      draw_card(view, state, items, box, cards[i].title, cards[i].rows, pitch);
    }
    return area.y + static_cast<float>(lines) * (h + kGap) - kGap;
  }
  // Close-up: the node of the first culprit, the culprit in view; else the first ranks that have an end.
  const Group* close = &items.groups.front();
  for (const Group& group : items.groups)
    if (group.guilty) {
      close = &group;
      break;
    }
  std::vector<const IncidentRow*> shown(close->rows);
  std::stable_sort(shown.begin(), shown.end(),
                   [](const IncidentRow* a, const IncidentRow* b) { return a->culprit > b->culprit; });
  if (shown.size() > per_card) shown.resize(per_card);
  std::stable_sort(shown.begin(), shown.end(),
                   [](const IncidentRow* a, const IncidentRow* b) { return a->rank < b->rank; });
  std::vector<const IncidentRow*> rest;
  for (const Group& group : items.groups)
    for (const IncidentRow* row : group.rows)
      if (std::find(shown.begin(), shown.end(), row) == shown.end()) rest.push_back(row);
  const float w = (area.w - kGap) / 2;
  const float close_pitch =
      std::min(kMostRow,
               (area.h - kCardHead - kCardFoot) / static_cast<float>(std::max<std::size_t>(1, shown.size())));
  const float h =
      kCardHead + kCardFoot + close_pitch * static_cast<float>(std::max<std::size_t>(5, shown.size()));
  const float height = std::min(area.h, std::max(h, rest.size() > 200 ? area.h : h));
  draw_card(view, state, items, {area.x, area.y, w, height}, title_of(*close), shown, close_pitch);
  draw_squares(view, items, {area.x + w + kGap, area.y, w, height}, rest);
  return area.y + height;
}

void draw_evidence(View& view, ViewState& state, const Items& items, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const auto& evidence = items.incident->diagnosis.evidence;
  c.rect(box, {.fill = t.panel, .stroke = t.line, .radius = 10});
  const float head = c.text({box.x + 14, box.y + 20}, tr("incident.evidence"), {.size = 15, .color = t.t1});
  if (box.w - head - 60 > c.width(tr("incident.evidence_hint"), 13))
    c.text({box.right() - 14, box.y + 20}, tr("incident.evidence_hint"),
           {.size = 13, .color = t.t3, .align = Align::Right});
  float y = box.y + 48;
  if (items.evidence.empty()) {
    c.text({box.x + 14, y}, tr("incident.evidence_none"), {.size = 15, .color = t.t2});
    return;
  }
  float column = 120;
  bool any_rank = false;
  for (const EvidenceRow& row : items.evidence) {
    column = std::max(column, std::min(box.w * .28f, c.width(row.place, 14, Face::MonoBold)));
    any_rank = any_rank || row.rank >= 0;
  }
  const float text_x = box.x + 38 + column + 14 + (any_rank ? 42 : 0);
  for (const EvidenceRow& row : items.evidence) {
    if (y + 8 > box.bottom()) break;
    const sim::Evidence& e = evidence[row.index];
    const Rect line{box.x + 6, y - kEvidenceRow / 2, box.w - 12, kEvidenceRow};
    const bool opens = e.line > 0;
    const Hit hit = view.ui.hit("incident.evidence." + std::to_string(row.index), line, {.focusable = opens});
    if (opens && hit.hovered) c.rect(line, {.fill = t.raised, .radius = 5});
    c.glyph(opens ? Glyph::Measured : Glyph::Inferred, {box.x + 22, y}, 10, t.t1, 1.5f);
    c.text({box.x + 38, y}, fit(c.fonts(), row.place, column, 14, Face::MonoBold),
           {.size = 14, .face = Face::MonoBold});
    if (row.rank >= 0)
      c.text({text_x - 42, y}, fit(c.fonts(), parts::rank_name(row.rank), 38, 13),
             {.size = 13, .color = t.t3});
    float right = box.right() - 14;
    if (row.more > 0) {
      const std::string more = tr("incident.more_like_it", {std::to_string(row.more)});
      c.text({right, y}, more, {.size = 13, .color = t.t3, .align = Align::Right});
      right -= c.width(more, 13) + 12;
    }
    c.text({text_x, y}, fit(c.fonts(), row.text, right - text_x, 14, Face::Mono),
           {.size = 14, .color = t.t2, .face = Face::Mono});
    if (opens && hit.clicked) {
      state.evidence = static_cast<int>(row.index);
      open_excerpt(view, state, items, UINT32_MAX, e.file, e.line);
    }
    y += kEvidenceRow;
  }
}

void draw_tools(View& view, const Items& items, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.text({box.x, box.y + 8}, tr("incident.tools"), {.size = 15, .color = t.t2});
  const float y = box.y + 24;
  if (items.tools.empty()) {
    c.text({box.x, y + 16}, tr("incident.tools_none"), {.size = 15, .color = t.t3});
    return;
  }
  const std::size_t n = std::min<std::size_t>(items.tools.size(), 3);
  const float w = (box.w - kGap * static_cast<float>(n - 1)) / static_cast<float>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const ToolCard& tool = items.tools[i];
    const Rect card{box.x + static_cast<float>(i) * (w + kGap), y, w, box.bottom() - y};
    const bool right = tool.verdict == sim::ToolVerdict::Right,
               wrong = tool.verdict == sim::ToolVerdict::Misleading;
    c.rect(card, {.fill = t.card,
                  .stroke = right   ? t.t1
                            : wrong ? t.stall
                                    : t.line,
                  .radius = 9,
                  .width = 1.5f});
    const std::string& word = tr_word("incident_tool_verdict", sim::to_word(tool.verdict));
    const Color color = right ? t.t1 : wrong ? t.stall_text : t.t3;
    const float ww = c.width(word, 14);
    c.text({card.right() - 14, card.y + 19}, word, {.size = 14, .color = color, .align = Align::Right});
    c.glyph(right   ? Glyph::Check
            : wrong ? Glyph::Cross
                    : Glyph::Minus,
            {card.right() - 26 - ww, card.y + 19}, 10, color, 2);
    std::string name = tool.tool;
    if (tool.times > 1) name = tr("incident.times", {name, std::to_string(tool.times)});
    c.text({card.x + 14, card.y + 19}, fit(c.fonts(), name, card.w - ww - 60, 15, Face::Bold),
           {.size = 15, .face = Face::Bold});
    const int lines = card.h > 84 ? 3 : card.h > 60 ? 2 : 1;
    parts::paragraph(c, {card.x + 14, card.y + 41}, card.w - 28, tool.text,
                     {.size = 13, .line_height = 1.35f, .color = t.t2, .max_lines = lines});
    view.ui.explain(card, tool.text);
  }
}

}  // namespace

void open_excerpt(View& view, ViewState& state, const Items& items, std::uint32_t file_index,
                  const std::string& name, std::int64_t line) {
  const backend::Incident& incident = *items.incident;
  std::string path;
  for (std::size_t i = 0; i < incident.paths.size(); ++i)
    if (i == file_index || (file_index == UINT32_MAX && incident.files[i] == name)) {
      path = incident.paths[i];
      if (!path.empty()) break;
    }
  state.excerpt.reset();
  state.excerpt_problem.clear();
  state.excerpt_line = line;
  state.excerpt_name = sim::escape_for_display(name) + (line > 0 ? ":" + std::to_string(line) : "");
  if (path.empty() || line <= 0) {
    state.excerpt_problem = tr("incident.excerpt_memory");
  } else {
    auto excerpt = backend::read_excerpt(path, line);
    if (excerpt)
      state.excerpt = std::move(*excerpt);
    else
      state.excerpt_problem =
          tr("incident.excerpt_gone", {sim::escape_for_display(excerpt.error().message())});
  }
  view.ui.open_popup("incident.excerpt");
  // To the moment of this line, if the picture has it.
  if (!items.own_timeline) return;
  for (const backend::Lane& lane : incident.lanes)
    for (const backend::LanePoint& point : lane.points)
      if (point.line == line && point.t_ns >= 0 && point.file < incident.files.size() &&
          incident.files[point.file] == name) {
        view.emit(action::SeekTo{point.t_ns - items.picture->zero_ns});
        return;
      }
}

void draw_excerpt(View& view, const ViewState& state) {
  const float w = std::min(920.0f, view.canvas.size().x - 140), h = 400;
  view.ui.popup(
      "incident.excerpt", {view.box.x + 20, view.box.y + 40, 10, 10}, {w, h},
      [&state, view](Rect box) mutable {
        Canvas& c = view.canvas;
        const Theme& t = c.theme();
        c.text({box.x + 20, box.y + 26}, fit(c.fonts(), state.excerpt_name, box.w - 90, 15, Face::MonoBold),
               {.size = 15, .face = Face::MonoBold});
        if (view.ui.icon_button("incident.excerpt.close", {box.right() - 28, box.y + 26}, Glyph::Cross, 12,
                                tr("explain.close")))
          view.ui.close_popup();
        if (!state.excerpt) {
          parts::paragraph(c, {box.x + 20, box.y + 62}, box.w - 40, state.excerpt_problem,
                           {.size = 15, .color = t.t2, .max_lines = 4});
          return;
        }
        float y = box.y + 58;
        for (std::size_t i = 0; i < state.excerpt->lines.size() && y < box.bottom() - 10; ++i) {
          const std::int64_t number = state.excerpt->first + static_cast<std::int64_t>(i);
          const bool hot = number == state.excerpt_line;
          if (hot) c.rect({box.x + 8, y - 9.5f, box.w - 16, 19}, {.fill = t.raised, .radius = 4});
          c.text({box.x + 62, y}, std::to_string(number),
                 {.size = 13, .color = t.t3, .face = Face::Mono, .align = Align::Right});
          c.text({box.x + 74, y},
                 fit(c.fonts(), sim::escape_for_display(state.excerpt->lines[i]), box.w - 94, 13, Face::Mono),
                 {.size = 13, .color = hot ? t.t1 : t.t2, .face = Face::Mono});
          y += 19.5f;
        }
      });
}

void draw_stage(View& view, ViewState& state, const Items& items) {
  const Rect s = view.box;
  const float top = draw_verdict(view, state, items, s);
  const float x = s.x + kPad, w = s.w - 2 * kPad, bottom = s.bottom() - 14;
  const bool tall = s.h > 700;
  const float tools_h = items.tools.empty() ? 44 : tall ? 112 : 94;
  const auto rows = static_cast<float>(std::max<std::size_t>(1, items.evidence.size()));
  if (view.ctx.presenter)  // the verdict and the lines that say so
    return draw_evidence(view, state, items, {x, top, w, std::min(40 + kEvidenceRow * rows, bottom - top)});
  // The lanes take what they need, the evidence gets the rest.
  const float least_evidence = 40 + kEvidenceRow * std::min(rows, tall ? 6.0f : 3.0f);
  const float lanes_end =
      draw_lanes(view, state, items, {x, top, w, bottom - tools_h - least_evidence - 24 - top});
  const float evidence_h = std::min(40 + kEvidenceRow * rows, bottom - tools_h - 12 - (lanes_end + 12));
  const Rect evidence{x, lanes_end + 12, w, evidence_h};
  draw_evidence(view, state, items, evidence);
  draw_tools(view, items, {x, evidence.bottom() + 14, w, tools_h});
}

}  // namespace ringside::app::incident
