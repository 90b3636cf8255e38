// The log of transfers, and the way of one number.
#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_column.hpp"
#include "app/text/layout.hpp"

namespace ringside::app::inspector {
namespace {

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
  const sim::Frame& frame = k.view.ctx.frame;
  const std::uint32_t event =
      frame.ranks[static_cast<std::size_t>(r.dst)].tensor_of(frame.collective.coll);
  if (event == sim::kNone) return {};
  const std::uint32_t sample = k.view.ctx.trace.events()[event].tensor.sample;
  if (sample == sim::kNone) return {};
  const Numbers own = slice_of(k.view.ctx.trace.sample(sample), chunk.offset, 1);
  return own.complete() ? operand_text(own.values[0]) : std::string();
}

/// "3 + 4 =": what came and what was there, of the first number; nothing where the trace lacks one of them.
std::string sum_text(const Column& k, const TransferRecord& r, const std::string& travels) {
  const std::string own = own_number(k, r);
  if (travels.empty() || own.empty()) return {};
  return travels + " " + op_sign(k.ring.info.op) + " " + own + " =";
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
    const std::string left = sum_text(k, r, travels);
    float size = 16;
    while (size > 13 && c.width(result, size, Face::Bold) + c.width(left, size - 1) + 8 > right - from)
      size -= .5f;
    const float w = c.width(result, size, Face::Bold);
    if (!left.empty() && w + c.width(left, std::max(13.0f, size - 1)) + 8 <= right - from) {
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
  std::string sentence =
      r.done >= 0
          ? tr("allreduce.explain.log", {parts::rank_name(r.src), parts::rank_name(r.dst), chunk,
                                         time_text(r.start), time_text(r.done), std::to_string(r.bytes)})
          : tr("allreduce.explain.log_open",
               {parts::rank_name(r.src), parts::rank_name(r.dst), chunk, time_text(r.start)});
  if (const std::string sum = sum_text(k, r, travels);
      landed && r.reduces && r.after != sim::kNone && !sum.empty())
    sentence += " " + sum + " " + first_number(k.view.ctx.trace, r.after, false) + dots;
  k.view.ui.explain({k.x, y - kRow / 2, k.w, kRow}, sentence);
}

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

}  // namespace

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
          text = before + " " + op_sign(k.ring.info.op) + " " + own + " = " +
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

}  // namespace ringside::app::inspector
