// Fitting numbers and additions into boxes, from measured text.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_layout.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr std::size_t kHeatUpTo = 256;

float width_of(const TextMeasurer& m, std::string_view text, float size) {
  return m.width(text, size, Face::Bold);
}

/// One long number on two lines, broken near its middle (after a comma or point if there is one).
std::array<std::string, 2> broken(const std::string& text) {
  std::size_t cut = (text.size() + 1) / 2;
  for (std::size_t d = 0; d <= text.size() / 4; ++d)
    for (const std::size_t at : {cut - d, cut + d})
      if (at > 1 && at < text.size() && (text[at - 1] == ',' || text[at] == 'e'))
        return {text.substr(0, at), text.substr(at)};
  return {text.substr(0, cut), text.substr(cut)};
}

/// Beginning and end of a number with "…" between: the last digits are what rounding changes.
std::string shortened(const TextMeasurer& m, const std::string& text, float width, float size) {
  if (width_of(m, text, size) <= width) return text;
  for (std::size_t keep = text.size(); keep-- > 2;) {
    const std::size_t head = (keep + 1) / 2;
    const std::string candidate = text.substr(0, head) + "..." + text.substr(text.size() - (keep - head));
    if (width_of(m, candidate, size) <= width) return candidate;
  }
  return fit(m, text, width, size, Face::Bold);
}

CellContent one_number(const std::string& text, Rect box, float largest, float smallest,
                       const TextMeasurer& m) {
  const Vec2 c = box.center();
  const float room = box.w;
  const float unit = width_of(m, text, 1);
  const float size = std::min({largest, box.h, unit > 0 ? room / unit : largest});
  const float two_lines_at = std::min({largest, 18.0f, box.h / 2.3f});
  if (size >= std::min(largest, std::max(smallest, 18.0f))) return {.texts = {{c, text, size}}};
  if (two_lines_at >= smallest && text.size() > 5) {
    const auto lines = broken(text);
    const float w = std::max(width_of(m, lines[0], 1), width_of(m, lines[1], 1));
    const float s = std::min(two_lines_at, room / w);
    if (s >= smallest && (size < smallest || s > size * 1.3f)) {
      const float d = s * .56f;
      return {.texts = {{{c.x, c.y - d}, lines[0], s}, {{c.x, c.y + d}, lines[1], s}}};
    }
  }
  if (size >= smallest) return {.texts = {{c, text, size}}};
  if (box.h < smallest * .9f) return {};
  const std::string cut = shortened(m, text, room, smallest);
  if (width_of(m, cut, smallest) > room) return {};  // no number fits: the cell's look must do
  return {.texts = {{c, cut, smallest, true}}};
}

/// All numbers in a grid of `columns`; empty if they do not fit at the smallest size.
CellContent grid_of(const std::vector<std::string>& texts, int columns, Rect box, float largest,
                    float smallest, const TextMeasurer& m) {
  const int rows = (static_cast<int>(texts.size()) + columns - 1) / columns;
  const float w = box.w / static_cast<float>(columns), h = box.h / static_cast<float>(rows);
  float unit = 0;
  for (const std::string& t : texts) unit = std::max(unit, width_of(m, t, 1));
  const float size = std::min({largest, h / 1.15f, (w - 4) / std::max(unit, .01f)});
  if (size < smallest) return {};
  CellContent out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto col = static_cast<float>(static_cast<int>(i) % columns),
               row = static_cast<float>(static_cast<int>(i) / columns);
    out.texts.push_back({{box.x + (col + .5f) * w, box.y + (row + .5f) * h}, texts[i], size});
  }
  return out;
}

std::string compact_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return "× " + digits;
}

/// Only what is known of many numbers: how many, and from where to where.
CellContent range_of(const Numbers& n, Rect box, float largest, float smallest, const TextMeasurer& m) {
  CellContent out;
  std::vector<std::string> lines;
  if (n.ranged) lines = {number_text(n.min) + " ...", number_text(n.max)};
  lines.push_back(compact_count(n.count));
  const float h = box.h / static_cast<float>(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const float size = std::min({largest * .6f, h / 1.15f, box.w / std::max(width_of(m, lines[i], 1), .01f)});
    const bool cut = size < smallest;
    if (h < smallest) continue;
    out.texts.push_back({{box.center().x, box.y + (static_cast<float>(i) + .5f) * h},
                         cut ? shortened(m, lines[i], box.w, smallest) : lines[i],
                         std::max(size, smallest),
                         cut});
  }
  return out;
}

/// Sizes of a sum written in a row at a number size; w = total.
float row_width(const SumBox& s, float size, const TextMeasurer& m, float (&widths)[3]) {
  float total = 0;
  for (int i = 0; i < 3; ++i) {
    const float caption = s.captions ? m.width(tr(kSumCaptions[i]), 13) : 0;
    widths[i] = std::max({s.segment_width + 4, width_of(m, s.texts[i], size), caption});
    total += widths[i];
  }
  return total + size * 1.05f + std::max(size * 1.05f, m.width(s.op, size * .9f) + 8) + 2 * s.pad;
}

float row_height(const SumBox& s, float size) {
  return size * 1.2f + (s.bars ? s.segment_height + 9 : 0) + (s.captions ? 21.0f : 0) + 15;
}

float column_height(const SumBox& s, float size) {
  return 3 * (size * 1.12f + (s.bars ? s.segment_height + 3 : 0)) + 20;
}

/// Room of the operator at the left of a column, with its gap.
float sign_width(const SumBox& s, float size, const TextMeasurer& m) {
  return m.width(s.op, s.op.size() > 2 ? std::max(13.0f, size * .7f) : size) + 5;
}

}  // namespace

CellContent fit_numbers(const Numbers& numbers, Rect box, float largest, float smallest,
                        const TextMeasurer& measure) {
  if (numbers.count == 0) return {};
  if (!numbers.complete() && numbers.sampled.empty())
    return range_of(numbers, box, largest, smallest, measure);
  if (numbers.complete() && numbers.count == 1)
    return one_number(number_text(numbers.values[0]), box, largest, smallest, measure);
  if (numbers.complete() && numbers.count <= 16) {
    std::vector<std::string> texts;
    for (const sim::Scalar& v : numbers.values) texts.push_back(number_text(v));
    CellContent best;
    for (int columns = 1; columns <= 4; ++columns) {
      CellContent candidate = grid_of(texts, columns, box, largest, smallest, measure);
      if (numbers.count <= 3 && !best.texts.empty()) break;  // a short column reads best
      const bool better = !candidate.texts.empty() &&
                          (best.texts.empty() || candidate.texts[0].size > best.texts[0].size * 1.08f);
      if (better) best = std::move(candidate);
    }
    if (!best.texts.empty()) return best;
  }
  const std::size_t shown = numbers.complete() ? numbers.values.size() : numbers.sampled.size();
  if (shown > kHeatUpTo) return range_of(numbers, box, largest, smallest, measure);
  CellContent out{.heat = true};
  const float aspect = box.w / std::max(box.h, 1.0f);
  out.heat_columns = std::clamp(static_cast<int>(std::lround(std::sqrt(static_cast<float>(shown) * aspect))),
                                1, static_cast<int>(shown));
  const int ideal = out.heat_columns, all = static_cast<int>(shown);  // full rows, if that is near enough
  int best = 0;
  for (int columns = 1; columns <= all; ++columns)
    if (all % columns == 0 && (best == 0 || std::abs(columns - ideal) < std::abs(best - ideal)))
      best = columns;
  if (best * 2 >= ideal && best <= ideal * 2) out.heat_columns = best;
  out.heat_rows = (static_cast<int>(shown) + out.heat_columns - 1) / out.heat_columns;
  return out;
}

SumBox fit_sum(const RingView& view, const SumView& sum, Vec2 center, Vec2 room, float largest,
               float smallest, const TextMeasurer& m) {
  SumBox out;
  const auto text = [&](const Numbers& n, bool operand) -> std::string {
    const std::optional<sim::Scalar> first = n.first();
    if (first) return operand ? operand_text(*first) : number_text(*first);
    return n.ranged ? number_text(n.max) : "?";
  };
  out.texts[0] = text(sum.arrived, false);
  out.texts[1] = text(sum.own, true);
  out.texts[2] = text(sum.result, false);
  out.op = op_sign(view.info.op);
  out.segment_width =
      std::clamp(view.world <= 8 ? static_cast<float>(view.world) * 10.5f : 40.0f, 24.0f, largest * 1.8f);
  out.segment_height = largest > 30 ? 18.0f : largest > 22 ? 9.0f : 5.0f;
  out.pad = largest > 30 ? 14.0f : 9.0f;
  const bool captions = largest >= 22 && smallest <= 13.01f;
  for (float size = largest; size >= std::max(smallest, largest * .62f); size -= 1) {
    for (const int drop :
         {0, 1, 2}) {  // captions go first, then the bars; the numbers stay as large as they can
      out.captions = drop == 0 && captions;
      out.bars = drop < 2;
      if (drop == 0 && !captions) continue;
      const float w = row_width(out, size, m, out.widths), h = row_height(out, size);
      if (w > room.x || h > room.y) continue;
      out.size = size;
      out.box = {center.x - w / 2, center.y - h / 2, w, h};
      return out;
    }
  }
  out.column = true;
  out.captions = false;
  for (const bool bars : {true, false}) {
    out.bars = bars;
    for (float size = std::min(largest, 24.0f); size >= smallest; size -= 1) {
      float w = bars ? out.segment_width : 0;
      for (const std::string& t : out.texts) w = std::max(w, width_of(m, t, size));
      out.widths[0] = out.widths[1] = out.widths[2] = w;
      const Vec2 need{w + sign_width(out, size, m) + 17, column_height(out, size)};
      if (need.x > room.x || need.y > room.y) continue;
      out.size = size;
      out.box = {center.x - need.x / 2, center.y - need.y / 2, need.x, need.y};
      return out;
    }
  }
  out.size = smallest;  // too long for the room: beginning and end, the whole in the hover
  out.bars = false;
  const float w = room.x - sign_width(out, smallest, m) - 17;
  if (w < smallest * 2 || column_height(out, smallest) > room.y + .5f) {
    out.box = Rect();
    return out;
  }
  for (std::string& t : out.texts) t = shortened(m, t, w, smallest);
  out.cut = true;
  out.widths[0] = out.widths[1] = out.widths[2] = w;
  out.box = {center.x - room.x / 2, center.y - column_height(out, smallest) / 2, room.x,
             column_height(out, smallest)};
  return out;
}

}  // namespace ringside::app
