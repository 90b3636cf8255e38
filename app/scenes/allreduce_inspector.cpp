#include "app/scenes/allreduce_inspector.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr float kPad = 16, kRow = 24;

struct Column {
  View& view;
  Canvas& c;
  const Theme& t;
  const RingView& ring;
  const TransferTable& table;
  InspectorState& state;
  float x, w, y, bottom;
  bool korean() const { return language() == Lang::Ko; }
};

void heading(Column& k, std::string_view text, std::string_view right = {}) {
  k.c.text({k.x, k.y + 8}, text, {.size = 14, .color = k.t.t3, .face = Face::Bold});
  if (!right.empty() && k.c.width(text, 14, Face::Bold) + k.c.width(right, 13) + 16 < k.w)
    k.c.text({k.x + k.w, k.y + 8}, right, {.size = 13, .color = k.t.t2, .align = Align::Right});
  k.y += 34;
}

void draw_now(Column& k) {
  heading(k, tr("allreduce.now.title"));
  std::string all;
  for (const Sentence& s : k.ring.now) all += (all.empty() ? "" : " ") + sentence_text(s);
  const bool first = k.ring.one_number;
  k.y = parts::paragraph(k.c, {k.x, k.y}, k.w, all,
                         {.size = first ? 17.0f : 16.0f,
                          .line_height = 1.45f,
                          .color = k.t.t1,
                          .face = first ? Face::Bold : Face::Regular,
                          .max_lines = 4});
  k.y += 2;
}

// --- the goal
// ----------------------------------------------------------------------------------------------------------

const std::string& goal_word(sim::ReduceOp op) {
  return tr_word("allreduce.goal_op", sim::to_word(op));
}

void goal_one_number(Column& k, Rect box) {
  const Theme& t = k.t;
  const std::string sum = number_text(k.ring.goal_sum.values[0]),
                    result = number_text(k.ring.goal_result.values[0]);
  if (!k.ring.divides) {
    const CellContent content =
        fit_numbers(k.ring.goal_result, {box.x + 14, box.y + 38, box.w - 28, 48}, 30, 13, k.c.fonts());
    draw_content(k.c, content, k.ring.goal_result, box, 1, t.t1, Face::Bold);
    return;
  }
  const std::string divide = "  ÷ " + std::to_string(k.ring.world) + "  =  ";
  float size = 30;
  while (size > 13 && k.c.width(sum + result, size, Face::Bold) + k.c.width(divide, size) > box.w - 32)
    size -= 1;
  k.c.runs({box.x + 16, box.y + 62},
           {{sum, t.t1, Face::Bold}, {divide, t.t2, Face::Regular}, {result, t.t1, Face::Bold}}, size);
}

void goal_row(Column& k, const Numbers& numbers, float x, float w, float y, float h, bool framed,
              std::size_t columns) {
  const auto n = static_cast<float>(columns);
  const float gap = 6, each = (w - gap * (n - 1)) / n;
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const Rect cell{x + static_cast<float>(i) * (each + gap), y, each, h};
    if (framed) k.c.rect(cell, {.fill = k.t.strong(), .stroke = k.t.t1, .radius = 6, .width = 1.5f});
    const Numbers one = numbers_of(std::vector<sim::Scalar>{numbers.values[i]});
    draw_content(k.c, fit_numbers(one, cell.inset(4, 2), 20, 13, k.c.fonts()), one, cell, 1, k.t.t1,
                 Face::Bold);
  }
}

Numbers part_of(const Numbers& all, std::size_t first, std::size_t count) {
  std::vector<sim::Scalar> out;
  for (std::size_t i = first; i < std::min(first + count, all.values.size()); ++i)
    out.push_back(all.values[i]);
  return numbers_of(std::move(out));
}

void draw_goal(Column& k) {
  const RingView& ring = k.ring;
  const Numbers& sum = ring.goal_sum;
  const bool many = sum.count > 4;
  const bool divided = ring.divides && !many;
  const float h = !sum.complete() ? 76.0f : ring.one_number ? 96.0f : divided || many ? 126.0f : 92.0f;
  const Rect box{k.x, k.y, k.w, h};
  parts::card(k.c, box);
  k.c.glyph(Glyph::Flag, {box.x + 20, box.y + 21}, 13, k.t.t2);
  const std::string title = tr("allreduce.goal.title", {goal_word(ring.info.op)});
  k.c.text({box.x + 34, box.y + 21}, fit(k.c.fonts(), title, box.w - 46, 14, Face::Bold),
           {.size = 14, .color = k.t.t2, .face = Face::Bold});
  if (!sum.complete()) {
    k.c.text({box.x + 16, box.y + 52}, fit(k.c.fonts(), tr("allreduce.goal.unknown"), box.w - 32, 14),
             {.size = 14, .color = k.t.t3});
  } else if (ring.one_number) {
    goal_one_number(k, box);
  } else {
    const std::string left = tr("allreduce.goal.sum_row");
    const float label = divided ? 46.0f : 0, x = box.x + 14 + label, w = box.w - 28 - label;
    if (many) {
      const Numbers& shown = ring.divides ? ring.goal_result : sum;
      goal_row(k, part_of(shown, 0, 4), x, w, box.y + 42, 34, true, 4);
      goal_row(k, part_of(shown, 4, 4), x, w, box.y + 82, 34, true, 4);
      if (ring.info.count > 8) {
        const std::string more = tr("allreduce.goal.more", {std::to_string(ring.info.count - 8)});
        if (k.c.width(title, 14, Face::Bold) + k.c.width(more, 13) + 60 < box.w)
          k.c.text({box.right() - 14, box.y + 21}, more,
                   {.size = 13, .color = k.t.t3, .align = Align::Right});
      }
    } else {
      if (divided) k.c.text({box.x + 14, box.y + 61}, left, {.size = 14, .color = k.t.t2});
      goal_row(k, sum, x, w, box.y + 42, 38, true, sum.values.size());
      if (divided) {
        k.c.text({box.x + 14, box.y + 103}, "÷ " + std::to_string(ring.world), {.size = 14, .color = k.t.t2});
        goal_row(k, ring.goal_result, x, w, box.y + 88, 30, false, sum.values.size());
      }
    }
  }
  k.view.ui.explain(box, tr("allreduce.explain.goal", {goal_word(ring.info.op)}));
  k.y += h + 14;
}

// --- the log
// -----------------------------------------------------------------------------------------------------------

struct LogLine {
  std::uint32_t step = 0;  // > 0: a heading
  const TransferRecord* record = nullptr;
};

std::vector<LogLine> log_lines(const Column& k) {
  std::vector<LogLine> out;
  for (std::uint32_t step = k.ring.ring_step; step > 0; --step) {
    const auto [first, last] = k.table.of_step(step);
    std::vector<const TransferRecord*> rows;
    for (std::size_t i = first; i < last; ++i) {
      const TransferRecord& r = k.table.all()[i];
      if (k.ring.shown(r.chunk) < k.ring.chunks.size() && r.start >= 0 && r.start < k.ring.t)
        rows.push_back(&r);
    }
    if (rows.empty()) continue;
    const auto flies = [&](const TransferRecord* r) { return r->arrive < 0 || r->arrive > k.ring.t; };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const auto* a, const auto* b) { return flies(a) < flies(b); });
    out.push_back({.step = step});
    for (const TransferRecord* r : rows) out.push_back({.record = r});
  }
  return out;
}

std::string first_number(const sim::Trace& trace, std::uint32_t sample, bool operand) {
  if (sample == sim::kNone) return {};
  const sim::Sample& s = trace.sample(sample);
  if (s.values.empty()) return {};
  return operand ? operand_text(s.values[0]) : number_text(s.values[0]);
}

std::string own_number(const Column& k, const TransferRecord& r) {
  if (r.own != sim::kNone) return first_number(k.view.ctx.trace, r.own, true);
  const sim::Chunk& chunk = k.ring.info.chunks.chunks[r.chunk];
  const std::uint32_t event = k.view.ctx.frame.ranks[static_cast<std::size_t>(r.dst)].tensor_event;
  if (event == sim::kNone) return {};
  const std::uint32_t sample = k.view.ctx.trace.events()[event].tensor.sample;
  if (sample == sim::kNone) return {};
  const Numbers own = slice_of(k.view.ctx.trace.sample(sample), chunk.offset, 1);
  return own.complete() ? operand_text(own.values[0]) : std::string();
}

std::string op_word(sim::ReduceOp op) {
  switch (op) {
    case sim::ReduceOp::Prod:
      return "×";
    case sim::ReduceOp::Min:
      return "min";
    case sim::ReduceOp::Max:
      return "max";
    default:
      return "+";
  }
}

void log_row(Column& k, const TransferRecord& r) {
  Canvas& c = k.c;
  const Theme& t = k.t;
  const float y = k.y;
  const bool grey = k.ring.world > kRankColors;
  const parts::TagStyle tag{.width = 30, .height = 19, .size = 13, .neutral = grey};
  const float w1 = parts::rank_tag(c, {k.x, y}, r.src, tag);
  c.glyph(Glyph::Arrow, {k.x + w1 + 12, y}, 12, t.t3);
  const float w2 = parts::rank_tag(c, {k.x + w1 + 24, y}, r.dst, tag);
  const float chunk_x = k.x + w1 + w2 + 38;
  const std::string chunk = chunk_name(r.chunk);
  c.text({chunk_x, y}, chunk, {.size = 14, .color = t.t2});
  const float from = chunk_x + std::max(26.0f, c.width(chunk, 14) + 10), right = k.x + k.w;
  const std::int64_t now = k.ring.t;
  const bool landed = r.arrive >= 0 && r.arrive <= now;
  const bool hot = landed && (r.done < 0 || now <= r.done || r.step == k.ring.ring_step);
  const Color color = hot ? t.t1 : t.t2;
  const std::string travels = first_number(k.view.ctx.trace, r.sample, false);
  const bool more = k.ring.info.chunks.chunks[r.chunk].count > 1;
  const std::string dots = more ? " ..." : "";
  if (landed && r.reduces) {
    const std::string result = first_number(k.view.ctx.trace, r.after, false) + dots;
    const std::string left = travels + " " + op_word(k.ring.info.op) + " " + own_number(k, r) + " =";
    float size = 16;
    while (size > 13 && c.width(result, size, Face::Bold) + c.width(left, size - 1) + 8 > right - from)
      size -= .5f;
    const float w = c.width(result, size, Face::Bold);
    if (w + c.width(left, std::max(13.0f, size - 1)) + 8 <= right - from) {
      const float column = std::max(w, 44.0f);
      const bool wide = column + 8 + c.width(left, size - 1) <= right - from;
      c.text({right - (wide ? column : w) - 8, y}, left,
             {.size = std::max(13.0f, size - 1), .color = color, .align = Align::Right});
    }
    c.text({right, y}, fit(c.fonts(), result, right - from, size, Face::Bold),
           {.size = size, .color = color, .face = Face::Bold, .align = Align::Right});
  } else {
    std::string text = travels + dots;
    float size = 16;
    while (size > 13 && c.width(text, size, Face::Bold) > (right - from) * .6f) size -= .5f;
    text = fit(c.fonts(), text, (right - from) * .6f, size, Face::Bold);
    const float w =
        c.text({right, y}, text,
               {.size = size, .color = landed ? color : t.t2, .face = Face::Bold, .align = Align::Right});
    const float bw = right - from - std::max(w, 44.0f) - 12;
    if (!landed && r.arrive > r.start && bw > 20) {
      const auto p =
          static_cast<float>(static_cast<double>(now - r.start) / static_cast<double>(r.arrive - r.start));
      c.rect({from + 4, y - 3, bw, 6}, {.fill = t.raised, .radius = 3});
      c.rect({from + 4, y - 3, std::max(3.0f, bw * p), 6}, {.fill = t.t2, .radius = 3});
    } else if (!landed && bw > 20) {
      c.text({from + 4, y}, fit(c.fonts(), tr("allreduce.on_its_way"), bw, 13), {.size = 13, .color = t.t3});
    }
  }
  const std::string times =
      r.done >= 0
          ? tr("allreduce.explain.log", {parts::rank_name(r.src), parts::rank_name(r.dst), chunk,
                                         time_text(r.start), time_text(r.done), std::to_string(r.bytes)})
          : tr("allreduce.explain.log_open",
               {parts::rank_name(r.src), parts::rank_name(r.dst), chunk, time_text(r.start)});
  k.view.ui.explain({k.x, y - kRow / 2, k.w, kRow}, times);
}

void draw_log(Column& k) {
  const std::string done = tr(
      "allreduce.log.done", {std::to_string(k.ring.transfers_done), std::to_string(k.ring.transfers_total)});
  heading(k, tr("allreduce.log.title"), done);
  const std::vector<LogLine> lines = log_lines(k);
  const Rect box{k.x, k.y - kRow / 2, k.w, k.bottom - k.y};
  const int fits = std::max(1, static_cast<int>((k.bottom - k.y) / kRow));
  const float most = std::max(0.0f, static_cast<float>(static_cast<int>(lines.size()) - fits));
  k.state.scroll = std::clamp(k.state.scroll - k.view.ui.wheel(box) * 3, 0.0f, most);
  const auto first = static_cast<std::size_t>(k.state.scroll);
  if (lines.empty()) {
    k.c.text({k.x, k.y}, fit(k.c.fonts(), tr("allreduce.log.empty"), k.w, 14), {.size = 14, .color = k.t.t3});
    k.y += kRow;
  }
  for (std::size_t i = first; i < lines.size() && static_cast<int>(i - first) < fits; ++i) {
    if (lines[i].record != nullptr) {
      log_row(k, *lines[i].record);
    } else if (i + 1 < lines.size() && static_cast<int>(i - first) + 1 < fits) {
      const std::string title = tr("allreduce.log.step", {std::to_string(lines[i].step)});
      const float w = k.c.text({k.x, k.y}, title, {.size = 13, .color = k.t.t2});
      k.c.line({k.x + w + 10, k.y}, {k.x + k.w, k.y}, k.t.line);
    }
    k.y += kRow;
  }
  if (most > 0) {  // where in the log one is
    const float track = box.h - 8, share = static_cast<float>(fits) / static_cast<float>(lines.size());
    const float at = k.state.scroll / static_cast<float>(lines.size());
    k.c.rect({k.x + k.w + 5, box.y + 4 + track * at, 3, track * share}, {.fill = k.t.edge, .radius = 1.5f});
  }
}

// --- the way of one number
// -------------------------------------------------------------------------------------------

void way_line(Column& k, std::size_t index, bool done, std::size_t rows, float row_height,
              bool reached_next) {
  const float x = k.x + 10, y = k.y;
  if (index + 1 < rows) {
    if (reached_next) {
      k.c.line({x, y}, {x, y + row_height}, k.t.t1, 3);
    } else {
      k.c.dashed_line({x, y + 7}, {x, y + row_height - 7}, k.t.edge, 2, {3, 4});
    }
  }
  if (done) {
    k.c.circle({x, y}, 7, k.t.t1);
  } else {
    k.c.circle({x, y}, 6.5f, k.t.panel, k.t.edge, 2);
  }
}

void draw_way(Column& k) {
  heading(k, tr("allreduce.way.title"), tr("allreduce.dial.ring_step"));
  std::vector<const TransferRecord*> path;
  for (const TransferRecord& r : k.table.all())
    if (k.ring.shown(r.chunk) < k.ring.chunks.size()) path.push_back(&r);
  if (path.empty()) return;
  const std::size_t rows = path.size() + 1 + (k.ring.divides ? 1 : 0);
  const float row = std::clamp((k.bottom - k.y) / static_cast<float>(rows), 20.0f, 27.0f);
  const auto landed = [&](std::size_t i) {
    return path[i]->arrive >= 0 && path[i]->arrive <= k.ring.t && path[i]->start < k.ring.t;
  };
  const float numbers = k.x + k.w - 34;
  for (std::size_t i = 0; i < rows; ++i) {
    if (k.y > k.bottom) break;
    const bool end = k.ring.divides && i + 1 == rows;
    const bool done = i == 0 || (end ? k.ring.divided : landed(i - 1));
    const bool next_done =
        i + 1 < rows && (k.ring.divides && i + 2 == rows ? k.ring.divided : i < path.size() && landed(i));
    way_line(k, i, done, rows, row, next_done);
    const Color color = done ? k.t.t1 : k.t.t2;
    const Face face = done ? Face::Bold : Face::Regular;
    if (end) {
      k.c.text({k.x + 28, k.y}, tr("allreduce.way.everyone"), {.size = 15, .color = color});
      const std::string text = k.ring.goal_sum.complete()
                                   ? number_text(k.ring.goal_sum.values[0]) + " ÷ " +
                                         std::to_string(k.ring.world) + " = " +
                                         (done ? number_text(k.ring.goal_result.values[0]) : "?")
                                   : "÷ " + std::to_string(k.ring.world);
      k.c.text({k.x + k.w, k.y}, text, {.size = 16, .color = color, .face = face, .align = Align::Right});
    } else {
      const int rank = i == 0 ? path[0]->src : path[i - 1]->dst;
      parts::rank_tag(k.c, {k.x + 26, k.y}, rank,
                      {.width = 34, .height = 21, .size = 14, .neutral = k.ring.world > kRankColors});
      if (i == 0) {
        k.c.text({k.x + 72, k.y},
                 tr("allreduce.way.starts", {first_number(k.view.ctx.trace, path[0]->sample, false)}),
                 {.size = 15, .color = k.t.t2});
      } else {
        const TransferRecord& r = *path[i - 1];
        std::string text = tr("allreduce.way.gets");
        if (r.reduces) {
          const std::string own = own_number(k, r);
          const std::string before = i == 1 || landed(i - 2) || done
                                         ? first_number(k.view.ctx.trace, r.sample, false)
                                         : std::string("?");
          text = before + " " + op_word(k.ring.info.op) + " " + own + " = " +
                 (done ? first_number(k.view.ctx.trace, r.after, false) : "?");
        }
        float size = r.reduces ? 16 : 15;
        while (size > 13 && k.c.width(text, size, face) > numbers - k.x - 72) size -= .5f;
        k.c.text({numbers, k.y}, fit(k.c.fonts(), text, numbers - k.x - 72, size, face),
                 {.size = size,
                  .color = r.reduces ? color : k.t.t2,
                  .face = r.reduces ? face : Face::Regular,
                  .align = Align::Right});
        k.c.text({k.x + k.w, k.y}, std::to_string(r.step),
                 {.size = 15, .color = color, .face = face, .align = Align::Right});
      }
    }
    k.y += row;
  }
}

// --- the numbers of one chunk
// ------------------------------------------------------------------------------------------

bool shows_numbers(const Column& k) {
  const Selection& s = k.view.ctx.selection;
  if (s.rank < 0 || s.rank >= k.ring.world || s.chunk < 0 || k.ring.cells.empty()) return false;
  const std::size_t shown = k.ring.shown(static_cast<std::uint32_t>(s.chunk));
  return shown < k.ring.chunks.size() && k.ring.cell(s.rank, shown).numbers.count > 1;
}

void draw_numbers(Column& k, const ElementReader& element) {
  const Selection& s = k.view.ctx.selection;
  const std::size_t shown = k.ring.shown(static_cast<std::uint32_t>(s.chunk));
  const CellView& cell = k.ring.cell(s.rank, shown);
  const sim::Chunk& chunk = k.ring.info.chunks.chunks[k.ring.chunks[shown]];
  const std::string last = std::to_string(chunk.offset + chunk.count - 1);
  heading(k, tr("allreduce.numbers.title", {parts::rank_name(s.rank), chunk_name(k.ring.chunks[shown])}),
          tr("allreduce.numbers.range", {std::to_string(chunk.offset), last}));
  if (k.view.ui.icon_button("allreduce.numbers.close", {k.x + k.w - 8, k.y - 2}, Glyph::Cross, 12,
                            tr("allreduce.numbers.close"))) {
    Selection none = s;
    none.chunk = -1;
    k.view.emit(action::Select{none});
  }
  k.y += 14;
  const Rect box{k.x, k.y - kRow / 2, k.w, k.bottom - k.y};
  const int fits = std::max(1, static_cast<int>((k.bottom - k.y) / kRow));
  const auto most = static_cast<float>(std::max<std::int64_t>(0, chunk.count - fits));
  const float per_notch = chunk.count > 2000 ? static_cast<float>(chunk.count) / 100 : 3;
  k.state.scroll = std::clamp(k.state.scroll - k.view.ui.wheel(box) * per_notch, 0.0f, most);
  const auto first = static_cast<std::int64_t>(k.state.scroll);
  const double scale = heat_scale(k.ring);
  for (std::int64_t i = first; i < std::min(chunk.count, first + fits); ++i) {
    std::optional<sim::Scalar> value;
    if (cell.numbers.complete())
      value = cell.numbers.values[static_cast<std::size_t>(i)];
    else if (element)
      value = element(s.rank, chunk.offset + i, cell.after_transfer);
    k.c.text({k.x, k.y}, "[" + std::to_string(chunk.offset + i) + "]", {.size = 14, .color = k.t.t3});
    const std::string text = value ? number_text(*value) : tr("allreduce.not_known");
    if (value)
      k.c.rect({k.x + k.w * .42f, k.y - 7, 14, 14},
               {.fill = heat_color(k.t, sim::to_double(*value), scale), .radius = 2});
    k.c.text({k.x + k.w - 4, k.y}, fit(k.c.fonts(), text, k.w * .5f, 16, Face::Bold),
             {.size = 16, .color = value ? k.t.t1 : k.t.t3, .face = Face::Bold, .align = Align::Right});
    k.y += kRow;
  }
}

// --- below
// -------------------------------------------------------------------------------------------------------------

std::string transit_note(const Column& k) {
  if (k.state.tensor) return tr("allreduce.note.tensor");
  for (const SumView& sum : k.ring.sums)
    if (sum.result.values.size() == 1 && sum.own.values.size() == 1)
      return tr("allreduce.note.sum",
                {parts::rank_name(sum.dst), number_text(sum.own.values[0]), chunk_name(sum.chunk)});
  return tr("allreduce.note.transit");
}

void draw_note(Column& k) {
  const std::vector<std::string> lines = wrap(k.c.fonts(), transit_note(k), k.w, 14, Face::Regular, 3);
  const float h = static_cast<float>(lines.size()) * 19 + 20;
  if (k.y + h > k.bottom) return;
  k.y += 4;
  k.c.line({k.x, k.y}, {k.x + k.w, k.y}, k.t.line);
  float y = k.y + 18;
  for (const std::string& line : lines) {
    k.c.text({k.x, y}, line, {.size = 14, .color = k.t.t2});
    y += 19;
  }
  k.y += h;
}

}  // namespace

void draw_inspector(View& view, const RingView& ring, const TransferTable& table,
                    const ElementReader& element, InspectorState& state) {
  Canvas& c = view.canvas;
  const Rect box = view.box;
  constexpr float kFold = 52;
  Column k{view,         c,
           c.theme(),    ring,
           table,        state,
           box.x + kPad, box.w - 2 * kPad,
           box.y + kPad, box.bottom() - kFold - 6};
  draw_now(k);
  const Rect fold{box.x + kPad, box.bottom() - kFold, box.w - 2 * kPad, 40};
  const bool editable = view.ctx.can.can_edit() && view.ctx.scenario != nullptr;
  const std::string why = editable                  ? tr("allreduce.edit.explain")
                          : view.ctx.can.can_edit() ? tr("allreduce.edit.no_scenario")
                                                    : tr(view.ctx.can.edit_why_not);
  if (view.ui.button(
          "allreduce.edit", fold, tr(state.editing ? "allreduce.edit.close" : "allreduce.edit.open"),
          {.icon = state.editing ? Glyph::Down : Glyph::Gear, .enabled = editable, .explain = why}))
    state.editing = !state.editing;
  if (state.editing && editable) {
    draw_edit_panel(view, ring, {k.x, k.y, k.w, k.bottom - k.y});
    return;
  }
  const bool shown = ring.kind == ViewKind::Chunks || ring.kind == ViewKind::Single;
  if (shown) draw_goal(k);
  if (shows_numbers(k)) {
    draw_numbers(k, element);
    return;
  }
  if (ring.kind != ViewKind::Chunks) return;
  const float note = 62;
  if (k.bottom - k.y > 200) k.bottom -= note;
  if (ring.one_number && ring.ring && ring.world <= 8) {
    draw_way(k);
  } else {
    draw_log(k);
  }
  k.bottom += note;
  draw_note(k);
}

}  // namespace ringside::app
