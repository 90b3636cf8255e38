// The way of one number: from its place in a gradient tensor to the flat vector, its bucket, its chunk, the
// order in which the ranks' numbers are added, and on to the ring.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_figure.hpp"
#include "app/scenes/step_draw.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"
#include "sim/collective/sum_order.hpp"
#include "sim/job/network.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::app::step {
namespace {

constexpr int kMostCells =
    16;  // of a matrix in each direction; of larger ones a window around the chosen number

/// The chosen number and where it is everywhere.
struct Way {
  std::int64_t element = 0, count = 0;
  int rank = 0;
  std::size_t bucket = 0;
  std::int64_t in_bucket = 0;
  std::uint32_t chunk = 0;
  sim::Bucket range{};
  const sim::Schedule* schedule = nullptr;
  const StepNumbers::StepGradients* g = nullptr;
};

Way way_of(Paint& p) {
  Way w;
  const sim::TrainingHistory& h = *p.numbers.history();
  w.g = &p.numbers.gradients(p.step.step);
  w.count = w.g->own.front()->count();
  w.element = chosen_element(p);
  const int world = h.scenario().world_size();
  w.rank =
      p.view.ctx.selection.rank >= 0 && p.view.ctx.selection.rank < world ? p.view.ctx.selection.rank : 0;
  for (std::size_t b = 0; b < h.buckets().size(); ++b) {
    const sim::Bucket& range = h.buckets()[b];
    if (w.element < range.offset || w.element >= range.offset + range.count) continue;
    w.bucket = b;
    w.range = range;
    w.in_bucket = w.element - range.offset;
    w.schedule = &h.schedule(b);
    w.chunk = w.schedule->chunks.chunk_of(w.in_bucket);
  }
  return w;
}

double value_at(const Way& w, std::int64_t element) {
  return sim::to_double(w.g->own[static_cast<std::size_t>(w.rank)]->at(element));
}

double largest(const Way& w) {
  double most = 0;
  for (std::int64_t i = 0; i < w.count; ++i)
    if (const double v = std::abs(value_at(w, i)); std::isfinite(v)) most = std::max(most, v);
  return most;
}

void heading(Paint& p, float x, float y, std::string_view number, const std::string& text, float room) {
  p.c.circle({x + 11, y}, 11, p.t.raised);
  p.c.text({x + 11, y}, number, {.size = 13, .face = Face::Bold, .align = Align::Center, .on_shape = true});
  p.c.text({x + 32, y}, fit(p.c.fonts(), text, room - 32, 15), {.size = 15, .color = p.t.t2});
}

/// A light from one box down to another.
void beam(Paint& p, Rect from, Rect to) {
  parts::beam(p.c, {from.x, from.bottom()}, {from.right(), from.bottom()}, {to.right(), to.y}, {to.x, to.y},
              p.t.t1);
}

// --- 1: the tensors

struct Grid {
  std::string name;
  std::int64_t offset = 0;
  int rows = 1, columns = 1;
};

std::vector<Grid> grids_of(const sim::NetworkSpec& network) {
  std::vector<Grid> grids;
  const auto spans = sim::layer_spans(network);
  for (std::size_t l = 0; l < spans.size(); ++l) {
    const std::string name = layer_name(static_cast<int>(l));
    grids.push_back(
        {name + ".weight", static_cast<std::int64_t>(spans[l].weights), spans[l].out, spans[l].in});
    grids.push_back({name + ".bias", static_cast<std::int64_t>(spans[l].biases), spans[l].out, 1});
  }
  return grids;
}

std::string shape_text(const Grid& grid) {
  return grid.columns == 1 && grid.name.ends_with("bias")
             ? "(" + std::to_string(grid.rows) + ",)"
             : "(" + std::to_string(grid.rows) + ", " + std::to_string(grid.columns) + ")";
}

/// The first row or column of the window that is drawn.
int window_from(int chosen, int count) {
  if (count <= kMostCells) return 0;
  return std::clamp(chosen - kMostCells / 2, 0, count - kMostCells);
}

/// Draws one tensor; returns the box of the chosen number if it is in it.
std::optional<Rect> draw_grid(Paint& p, const Way& w, const Grid& grid, Vec2 at, float cell, double most) {
  const std::int64_t inside = w.element - grid.offset;
  const bool mine = inside >= 0 && inside < std::int64_t{grid.rows} * grid.columns;
  const int row = mine ? static_cast<int>(inside / grid.columns) : 0;
  const int column = mine ? static_cast<int>(inside % grid.columns) : 0;
  const int r0 = window_from(row, grid.rows), c0 = window_from(column, grid.columns);
  const int rows = std::min(grid.rows, kMostCells), columns = std::min(grid.columns, kMostCells);
  std::optional<Rect> chosen;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      const std::int64_t element = grid.offset + std::int64_t{r0 + r} * grid.columns + c0 + c;
      const Rect box{at.x + static_cast<float>(c) * cell, at.y + static_cast<float>(r) * cell, cell - 2,
                     cell - 2};
      p.c.rect(box, {.fill = heat_color(p.t, value_at(w, element), most), .radius = cell > 10 ? 3.0f : 1.0f});
      if (element == w.element) chosen = box;
    }
  const Rect all{at.x, at.y, cell * static_cast<float>(columns), cell * static_cast<float>(rows)};
  const Hit hit = p.view.ui.hit("step.tensor." + grid.name, all, {.explain = tr("step.explain.tensor")});
  if (hit.pressed || hit.held) {
    const int c = std::clamp(static_cast<int>((hit.mouse.x - at.x) / cell), 0, columns - 1);
    const int r = std::clamp(static_cast<int>((hit.mouse.y - at.y) / cell), 0, rows - 1);
    p.state.element = grid.offset + std::int64_t{r0 + r} * grid.columns + c0 + c;
  }
  if (chosen)
    p.c.rect({chosen->x - 2, chosen->y - 2, chosen->w + 4, chosen->h + 4},
             {.stroke = p.t.accent, .radius = 4, .width = 2.5f});
  return chosen;
}

/// All tensors side by side, as many as there is room for. Returns the box of the chosen number.
std::optional<Rect> draw_tensors(Paint& p, const Way& w, Rect box) {
  p.c.rect({box.x - 10, box.y - 8, box.w + 14, box.h + 14}, {.fill = p.t.card, .radius = 8});
  const std::vector<Grid> grids = grids_of(p.numbers.scenario()->training.network);
  const double most = largest(w);
  int columns = 0, rows = 1;
  for (const Grid& grid : grids) {
    columns += std::min(grid.columns, kMostCells);
    rows = std::max(rows, std::min(grid.rows, kMostCells));
  }
  constexpr float kGap = 22, kCaption = 36, kLeastWidth = 74;
  const float by_width =
      (box.w - kGap * static_cast<float>(grids.size() - 1)) / static_cast<float>(std::max(1, columns + 16));
  const float cell =
      std::clamp(std::min(by_width, (box.h - kCaption) / static_cast<float>(rows)), 5.0f, 22.0f);
  std::optional<Rect> chosen;
  float x = box.x;
  // The grid that holds the chosen number must be among those that fit: skip from the front if it is not.
  std::vector<float> widths;
  float total = 0;
  std::size_t target = 0;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    widths.push_back(
        std::max(kLeastWidth, cell * static_cast<float>(std::min(grids[i].columns, kMostCells))));
    if (w.element >= grids[i].offset) target = i;
  }
  std::size_t first = 0;
  for (std::size_t i = 0; i <= target; ++i) total += widths[i] + kGap;
  while (first < target && total > box.w) total -= widths[first++] + kGap;
  for (std::size_t i = first; i < grids.size(); ++i) {
    if (x + widths[i] > box.right() + 1) break;
    const float caption = widths[i] + kGap - 6;
    p.c.text({x, box.y + 6}, fit(p.c.fonts(), grids[i].name, caption, 13, Face::Mono),
             {.size = 13, .color = p.t.t2, .face = Face::Mono});
    p.c.text({x, box.y + 23}, fit(p.c.fonts(), shape_text(grids[i]), caption, 13, Face::Mono),
             {.size = 13, .color = p.t.t3, .face = Face::Mono});
    if (const auto found = draw_grid(p, w, grids[i], {x, box.y + kCaption}, cell, most)) chosen = found;
    x += widths[i] + kGap;
  }
  return chosen;
}

// --- 2: the flat vector; 3: the bucket

/// A strip of numbers [from, from + count): single ones where there is room. Returns the box of `element`.
Rect draw_strip(Paint& p, const Way& w, std::string_view id, Rect box, std::int64_t from, std::int64_t count,
                double most) {
  const float each = box.w / static_cast<float>(count);
  p.c.rect({box.x - 3, box.y - 3, box.w + 5, box.h + 6}, {.fill = p.t.card, .radius = 4});
  const auto x_of = [&](std::int64_t i) { return box.x + each * static_cast<float>(i); };
  if (each >= 3) {
    const float gap = each >= 6 ? 1.5f : .75f;
    for (std::int64_t i = 0; i < count; ++i)
      p.c.rect({x_of(i), box.y, std::max(1.0f, each - gap), box.h},
               {.fill = heat_color(p.t, value_at(w, from + i), most), .radius = each >= 8 ? 2.0f : 0.0f});
  } else {
    const auto cells = static_cast<std::int64_t>(box.w / 3);
    for (std::int64_t k = 0; k < cells; ++k) {
      const std::int64_t i = k * count / cells;
      p.c.rect({box.x + 3 * static_cast<float>(k), box.y, 2.25f, box.h},
               {.fill = heat_color(p.t, value_at(w, from + i), most)});
    }
  }
  const Hit hit = p.view.ui.hit(id, box, {.explain = tr("step.explain.strip")});
  if (hit.pressed || hit.held) {
    const auto i = static_cast<std::int64_t>((hit.mouse.x - box.x) / each);
    p.state.element = from + std::clamp<std::int64_t>(i, 0, count - 1);
  }
  const float width = std::max(each, 4.0f);
  const Rect chosen{std::min(x_of(w.element - from), box.right() - width), box.y, width, box.h};
  p.c.rect({chosen.x - 2, chosen.y - 2, chosen.w + 3, chosen.h + 4},
           {.stroke = p.t.accent, .radius = 3, .width = 2.5f});
  return chosen;
}

/// A bracket below a range, with its name where there is room.
void bracket(Paint& p, float a, float b, float y, const std::string& name, bool mine, std::string_view id,
             const std::function<void()>& click) {
  const Color color = mine ? p.t.t1 : p.t.t3;
  p.c.stroke({{a + 1, y}, {a + 1, y + 5}, {b - 2, y + 5}, {b - 2, y}}, mine ? p.t.t1 : p.t.edge,
             mine ? 2.0f : 1.25f);
  if (p.c.width(name, 14, mine ? Face::Bold : Face::Regular) + 4 <= b - a)
    p.c.text({(a + b) / 2, y + 16}, name,
             {.size = 14, .color = color, .face = mine ? Face::Bold : Face::Regular, .align = Align::Center});
  if (p.view.ui.hit(id, {a, y - 2, std::max(1.0f, b - a), 26}).clicked) click();
}

void draw_bucket_brackets(Paint& p, const Way& w, Rect strip) {
  const sim::TrainingHistory& h = *p.numbers.history();
  const float each = strip.w / static_cast<float>(w.count);
  for (std::size_t b = 0; b < h.buckets().size(); ++b) {
    const sim::Bucket& range = h.buckets()[b];
    const float a = strip.x + each * static_cast<float>(range.offset);
    const std::int64_t last = range.offset + range.count - 1;
    bracket(p, a, a + each * static_cast<float>(range.count), strip.bottom() + 4, "b" + std::to_string(b),
            b == w.bucket, "step.flat.b" + std::to_string(b), [&p, last] { p.state.element = last; });
  }
}

void draw_chunk_brackets(Paint& p, const Way& w, Rect strip) {
  const float each = strip.w / static_cast<float>(w.range.count);
  const auto& chunks = w.schedule->chunks.chunks;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (chunks[c].count == 0) continue;
    const float a = strip.x + each * static_cast<float>(chunks[c].offset);
    const std::int64_t first = w.range.offset + chunks[c].offset;
    bracket(p, a, a + each * static_cast<float>(chunks[c].count), strip.bottom() + 4, "c" + std::to_string(c),
            c == w.chunk, "step.bucket.c" + std::to_string(c), [&p, first] { p.state.element = first; });
  }
}

// --- 4: the sum

/// What of the op happens before and after the additions.
std::string sum_note(const sim::Scenario& s) {
  const std::string n = std::to_string(s.world_size());
  if (s.collective.op == sim::ReduceOp::Avg) return tr("step.number.avg", {n});
  if (s.collective.op == sim::ReduceOp::SumThenDivide) return tr("step.number.divide", {n});
  return {};
}

void draw_terms(Paint& p, const Way& w, Rect box) {
  const sim::Scenario& s = *p.numbers.scenario();
  const sim::SumOrder order = sim::sum_order(*w.schedule, w.chunk);
  const std::vector<int> chain = order.chain();
  const std::string result = value_text(sim::to_double(w.g->update->at(w.element)));
  const float y = box.y + 18;
  float x = box.x;
  const float end = box.right() - p.c.width(result, 26, Face::Bold) - 34;
  const std::size_t fits = static_cast<std::size_t>(std::max(0.0f, (end - box.x) / 132));
  if (chain.empty() || chain.size() > fits) {
    const std::string text =
        chain.size() > 12
            ? tr("step.number.chain", {parts::rank_name(chain.front()), parts::rank_name(chain.back()),
                                       std::to_string(chain.size())})
            : order.text();
    x += p.c.text({x, y}, fit(p.c.fonts(), text, end - box.x - 8, 17), {.size = 17, .color = p.t.t2});
  } else {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (i > 0) x += 6 + p.c.text({x + 3, y}, "+", {.size = 20, .color = p.t.t2}) + 6;
      x += parts::rank_tag(p.c, {x, y}, chain[i], {.width = 34, .height = 22, .neutral = true}) + 6;
      const sim::Scalar own = w.g->own[static_cast<std::size_t>(chain[i])]->at(w.element);
      x += p.c.text({x, y}, value_text(sim::to_double(sim::prepare(s.collective.op, s.world_size(), own))),
                    {.size = 17}) +
           4;
    }
  }
  p.c.text({x + 10, y}, "=", {.size = 20, .color = p.t.t2});
  p.c.text({x + 32, y}, result, {.size = 26, .face = Face::Bold});
  const std::string note = sum_note(s);
  if (!note.empty())
    p.c.text({box.x, box.y + 46}, fit(p.c.fonts(), note, box.w, 14), {.size = 14, .color = p.t.t3});
}

/// The collective of the bucket in this step.
std::uint32_t coll_of(const Paint& p, const Way& w) {
  return w.bucket < p.step.buckets.size() ? p.step.buckets[w.bucket].coll : sim::kNone;
}

/// When the chosen number begins to move: the first transfer of its chunk.
std::int64_t first_move(const Paint& p, std::uint32_t coll, std::uint32_t chunk) {
  const sim::Trace& trace = p.view.ctx.trace;
  const auto& order = trace.order();
  const auto earlier = [&](std::uint32_t i, std::int64_t t) { return trace.events()[i].t < t; };
  std::int64_t called = -1;
  for (auto at = std::lower_bound(order.begin(), order.end(), p.step.from, earlier); at != order.end(); ++at) {
    const sim::Event& e = trace.events()[*at];
    if (e.type == sim::EventType::RingStepBegin && e.ring.coll == coll && e.ring.chunk == chunk) return e.t;
    if (e.type == sim::EventType::CollectiveStarted && e.collective.coll == coll && called < 0) called = e.t;
  }
  return called;
}

void open_ring(Paint& p, const Way& w) {
  const std::uint32_t coll = coll_of(p, w);
  const std::int64_t t = first_move(p, coll, w.chunk);
  if (t < 0) return;
  Selection chosen;
  chosen.rank = w.rank;
  chosen.chunk = w.chunk;
  chosen.element = w.in_bucket;
  p.view.emit(action::SeekTo{t});
  p.view.emit(action::Select{chosen});
  p.view.emit(action::ShowScene{"allreduce"});
}

void draw_ring_button(Paint& p, const Way& w, Rect box) {
  const std::uint32_t coll = coll_of(p, w);
  std::string why;
  if (coll == sim::kNone || first_move(p, coll, w.chunk) < 0)
    why = tr("step.number.not_called");
  if (p.view.ui.button("step.open_ring", box, tr("step.number.open"),
                       {.primary = true,
                        .icon = Glyph::Ring,
                        .enabled = why.empty(),
                        .explain = why.empty() ? tr("step.explain.open_ring") : why}))
    open_ring(p, w);
}

}  // namespace

void draw_number(Paint& p, Rect box) {
  const sim::Scenario* s = p.numbers.scenario();
  if (!p.numbers.knows(p.step.step)) {
    const std::string& why = p.numbers.too_large() ? tr("step.loss.too_large") : tr("step.number.unknown");
    parts::paragraph(p.c, {box.x + 8, box.y + 40}, box.w - 16, why, {.size = 16, .color = p.t.t2});
    return;
  }
  const Way w = way_of(p);
  const bool together = s->training.network.all_reduce;
  const double most = largest(w);
  // The tensors take what the fixed rows leave.
  const float rows = together ? 322 : 96, tensors = std::min(400.0f, std::max(140.0f, box.h - rows));
  float y = box.y + 14;
  heading(p, box.x, y, "1",
          tr("step.number.tensors", {parts::rank_name(w.rank), std::to_string(p.step.step)}), box.w);
  const auto in_tensor = draw_tensors(p, w, {box.x + 32, y + 22, box.w - 36, tensors - 62});
  y = box.y + tensors;
  const Rect flat{box.x + 32, y + 20, box.w - 36, 20};
  if (in_tensor)
    beam(p, *in_tensor,
         {flat.x + flat.w * static_cast<float>(w.element) / static_cast<float>(w.count), flat.y - 2,
          std::max(2.0f, flat.w / static_cast<float>(w.count)), 1});
  heading(p, box.x, y, "2", tr("step.number.flat", {sim::with_commas(w.count)}), box.w);
  draw_strip(p, w, "step.flat", flat, 0, w.count, most);
  if (!together) {
    p.c.text({flat.x, flat.bottom() + 24}, fit(p.c.fonts(), tr("step.number.alone"), flat.w, 15),
             {.size = 15, .color = p.t.t2});
    return;
  }
  draw_bucket_brackets(p, w, flat);
  y += 94;
  const Rect strip{box.x + 32, y + 20, box.w - 36, 24};
  const float each = flat.w / static_cast<float>(w.count);
  beam(p,
       {flat.x + each * static_cast<float>(w.range.offset), flat.bottom() + 24,
        each * static_cast<float>(w.range.count), 4},
       {strip.x, strip.y - 2, strip.w, 1});
  heading(p, box.x, y, "3",
          tr("step.number.bucket", {"b" + std::to_string(w.bucket), sim::with_commas(w.range.count),
                                    std::to_string(w.schedule->chunks.chunks.size())}),
          box.w);
  draw_strip(p, w, "step.strip", strip, w.range.offset, w.range.count, most);
  draw_chunk_brackets(p, w, strip);
  y += 98;
  heading(p, box.x, y, "4", tr("step.number.sum", {"c" + std::to_string(w.chunk)}), box.w);
  const float button = 236;
  draw_terms(p, w, {box.x + 32, y + 16, box.w - 36, 64});
  draw_ring_button(p, w, {box.right() - button - 4, y + 76, button, 42});
}

}  // namespace ringside::app::step
