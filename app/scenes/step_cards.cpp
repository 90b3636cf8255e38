// The controls above the lanes and the card of the buckets below them.
#include <algorithm>
#include <array>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/step_draw.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::step {
namespace {

constexpr float kPad = 16;

bool alone(const Paint& p) {
  return p.numbers.has_network() && !p.numbers.scenario()->training.network.all_reduce;
}

// --- the card of the buckets

void draw_ready(Paint& p, const BucketView& bucket, float x, float y, float room) {
  const int world = static_cast<int>(bucket.ready.size());
  const float gap = 3;
  const float each =
      std::min(36.0f, (room - gap * static_cast<float>(world - 1)) / static_cast<float>(world));
  if (world > 8 || each < 29) {
    const std::string ready = std::to_string(bucket.ready_count), all = std::to_string(world);
    const std::string words = tr("step.buckets.count", {ready, all});
    p.c.text({x, y}, p.c.width(words, 14) <= room ? words : ready + " / " + all,
             {.size = 14, .color = p.t.t2});
    return;
  }
  for (int r = 0; r < world; ++r) {
    const Rect box{x + static_cast<float>(r) * (each + gap), y - 12, each, 24};
    const bool ready = bucket.ready[static_cast<std::size_t>(r)] != 0;
    const bool awaited = bucket.waits_for == r;
    if (ready)
      p.c.rect(box, {.fill = p.t.raised, .radius = 5});
    else
      p.c.rect(box, {.stroke = awaited ? p.t.stall : fade(p.t.edge, .6f),
                     .radius = 5,
                     .width = awaited ? 1.5f : 1.0f,
                     .dash = awaited ? Dash{4, 3} : Dash{}});
    const Color color = ready ? p.t.t1 : awaited ? p.t.stall_text : p.t.t3;
    p.c.text({box.x + 6, y}, std::to_string(r), {.size = 14, .color = color});
    if (ready) p.c.glyph(Glyph::Check, {box.right() - 9, y}, 9, color, 2);
    if (awaited)
      for (const float d : {-3.5f, 0.0f, 3.5f}) p.c.circle({box.right() - 10 + d, y + 2}, 1.2f, color);
  }
}

std::string state_text(const BucketView& bucket) {
  switch (bucket.state) {
    case BucketState::Filling:
      return tr("step.buckets.filling");
    case BucketState::Waiting:
      return bucket.waits_for >= 0 ? tr("step.buckets.waits", {parts::rank_name(bucket.waits_for)})
                                   : tr("step.buckets.waits_all");
    case BucketState::Moving:
      return tr("step.buckets.moves");
    case BucketState::Done:
      return tr("step.buckets.done");
  }
  return {};
}

void draw_state(Paint& p, const BucketView& bucket, Rect box) {
  const std::string text = fit(p.c.fonts(), state_text(bucket), box.w - 8, 14);
  const bool filled = bucket.state == BucketState::Done || bucket.state == BucketState::Moving;
  Color ink = p.t.t3;
  if (filled) {
    p.c.rect(box, {.fill = bucket.state == BucketState::Done ? p.t.comm : mix(p.t.card, p.t.comm, .45f),
                   .radius = 6});
    ink = bucket.state == BucketState::Done ? p.t.on(p.t.comm) : p.t.t1;
  } else if (bucket.state == BucketState::Waiting) {
    p.c.rect(box, {.stroke = p.t.t2, .radius = 6, .width = 1.25f});
    p.c.hatch(box.inset(2), fade(p.t.t2, .5f), 6, 1.2f);
    const float w = p.c.width(text, 14) + 10;
    p.c.rect({box.center().x - w / 2, box.y + 2, w, box.h - 4}, {.fill = p.t.card});
    ink = p.t.t1;
  }
  p.c.text(box.center(), text, {.size = 14, .color = ink, .align = Align::Center, .on_shape = true});
}

void draw_row(Paint& p, const BucketView& bucket, Rect row) {
  const float y = row.y + row.h / 2;
  const Hit hit = p.view.ui.hit("step.bucket." + std::to_string(bucket.bucket), row,
                                {.explain = tr("step.explain.bucket")});
  if (hit.hovered && p.numbers.has_network()) p.c.rect(row, {.fill = fade(p.t.raised, .5f), .radius = 6});
  if (hit.clicked && p.numbers.has_network()) {
    p.state.element = bucket.offset + bucket.count - 1;
    p.state.mode = Mode::Number;
  }
  p.c.text({row.x + 4, y}, "b" + std::to_string(bucket.bucket), {.size = 16, .face = Face::Bold});
  const float numbers = p.c.width(sim::with_commas(bucket.count), 15);
  p.c.text({row.x + 36, y}, fit(p.c.fonts(), layers_text(bucket), 92 - numbers, 14),
           {.size = 14, .color = p.t.t2});
  p.c.text({row.x + 134, y}, sim::with_commas(bucket.count), {.size = 15, .align = Align::Right});
  const std::string least = std::to_string(bucket.ready.size()) + " / " + std::to_string(bucket.ready.size());
  const float ready = row.x + 148;
  const float state = std::min(106.0f, row.right() - ready - p.c.width(least, 14) - 12);
  draw_ready(p, bucket, ready, y, row.right() - state - 10 - ready);
  draw_state(p, bucket, {row.right() - state, y - 13, state, 26});
}

/// Which of many rows are shown: those around the first bucket that is not done.
std::size_t first_row(const StepView& view, std::size_t fits) {
  std::size_t live = 0;
  while (live < view.buckets.size() && view.buckets[live].state == BucketState::Done) ++live;
  if (view.buckets.size() <= fits || live < fits) return 0;
  return std::min(live - fits + 1, view.buckets.size() - fits);
}

void draw_exposure(Paint& p, Rect box) {
  const int rank = p.view.ctx.selection.rank >= 0 ? p.view.ctx.selection.rank : 0;
  const auto e = exposure_of(p.step, rank);
  if (!e || e->total <= 0) return;
  const float y = box.y + box.h / 2;
  const std::string text = tr("step.buckets.exposed", {time_text(e->exposed), time_text(e->total)});
  const bool beside = p.c.width(text, 14) <= box.w * .68f;  // the words come before the bar
  const std::string shown = fit(p.c.fonts(), text, beside ? box.w * .68f : box.w - 8, 14);
  p.c.text({box.x + 4, y}, shown, {.size = 14, .color = p.t.t2});
  const float x = box.x + 16 + p.c.width(shown, 14), w = box.right() - x;
  if (w < 40) return;
  const Rect track{x, y - 5, w, 10};
  const float part = w * static_cast<float>(static_cast<double>(e->exposed) / static_cast<double>(e->total));
  p.c.rect(track, {.fill = fade(p.t.comm, .3f), .radius = 3});
  if (part >= 1) p.c.rect({x, y - 5, part, 10}, {.fill = p.t.comm, .radius = 3});
  p.view.ui.explain(box, tr("step.explain.exposed", {parts::rank_name(rank)}));
}

/// How many buckets, and whether they start while backward goes on.
void bucket_controls(Paint& p, Rect box) {
  const sim::Scenario* s = p.view.ctx.scenario;
  if (s == nullptr) return;
  const std::string why = why_not_edit(p);
  const int layers = p.numbers.has_network() ? static_cast<int>(s->training.network.layers.size()) - 1 : 3;
  std::vector<MenuItem> items;
  std::vector<int> counts;
  const auto most = std::min<std::int64_t>(s->tensor.shape.count(), 1024);
  for (const int n : {1, 2, layers, 2 * layers, s->training.buckets})
    if (n >= 1 && n <= most && std::find(counts.begin(), counts.end(), n) == counts.end())
      counts.push_back(n);
  std::sort(counts.begin(), counts.end());
  int at = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    items.push_back({.label = std::to_string(counts[i]), .enabled = why.empty()});
    if (counts[i] == s->training.buckets) at = static_cast<int>(i);
  }
  const float select = 64;
  const std::string label = tr("step.buckets.overlap");
  const float check = 30 + p.c.width(label, 15);
  float x = box.right() - select;
  const auto chosen = p.view.ui.select("step.buckets.count", {x, box.y, select, 30}, items, at,
                                       why.empty() ? tr("step.explain.buckets") : why);
  if (chosen && why.empty()) {
    const int n = counts[static_cast<std::size_t>(*chosen)];
    edit(p, "buckets=" + std::to_string(n), [n](sim::Scenario& e) { e.training.buckets = n; });
  }
  x -= check + 14;
  bool overlap = s->training.overlap;
  if (p.view.ui.checkbox("step.overlap", {x, box.y + 15}, label, overlap,
                         why.empty() ? tr("step.explain.overlap") : why) &&
      why.empty())
    edit(p, std::string("overlap=") + (overlap ? "true" : "false"),
         [overlap](sim::Scenario& e) { e.training.overlap = overlap; });
}

void column_heads(Paint& p, Rect box, float y) {
  p.c.text({box.x + kPad + 130, y}, tr("step.buckets.numbers"),
           {.size = 13, .color = p.t.t3, .align = Align::Right});
  p.c.text({box.x + kPad + 144, y}, fit(p.c.fonts(), tr("step.buckets.ready"), 130, 13),
           {.size = 13, .color = p.t.t3});
  p.c.text({box.right() - kPad, y}, tr("step.buckets.state"),
           {.size = 13, .color = p.t.t3, .align = Align::Right});
}

// --- instead of it: ranks that train alone

void draw_alone(Paint& p, Rect box) {
  const sim::TrainingHistory* history = p.numbers.history();
  p.c.text({box.x + kPad, box.y + 22},
           fit(p.c.fonts(), tr("step.alone.title"), box.w - 2 * kPad, 14, Face::Bold),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  // The weights that all ranks have now: after the last step that is over everywhere.
  std::int64_t step = p.step.step - 1;
  if (p.now() >= p.step.to) step = p.step.step;
  if (history == nullptr || (step > 0 && !p.numbers.knows(step))) {
    parts::paragraph(p.c, {box.x + kPad, box.y + 56}, box.w - 2 * kPad, tr("step.alone.unknown"),
                     {.size = 14, .color = p.t.t2, .max_lines = 4});
    return;
  }
  const int models = history->models(step);
  p.c.text({box.x + kPad, box.y + 52}, models == 1 ? tr("step.alone.one_model") : tr("step.alone.models", {std::to_string(models)}),
           {.size = 22, .color = models > 1 ? p.t.stall_text : p.t.t1, .face = Face::Bold});
  p.c.text({box.right() - kPad, box.y + 52}, tr("step.alone.after", {std::to_string(step)}),
           {.size = 14, .color = p.t.t2, .align = Align::Right});
  const float head = box.y + 82, first = head + 24, pitch = 25;
  const float own = box.x + kPad + box.w * .38f, all = own + box.w * .27f;
  p.c.text({own, head}, fit(p.c.fonts(), tr("step.alone.own"), box.w * .27f, 13),
           {.size = 13, .color = p.t.t3, .align = Align::Right});
  p.c.text({all, head}, fit(p.c.fonts(), tr("step.alone.all"), box.w * .26f, 13),
           {.size = 13, .color = p.t.t3, .align = Align::Right});
  const int world = history->scenario().world_size();
  const int rows = std::clamp(static_cast<int>((box.bottom() - 12 - first) / pitch) + 1, 1, world);
  double most = 1e-30;
  for (int r = 0; r < rows; ++r) most = std::max(most, history->loss_on_all(r, step));
  for (int r = 0; r < rows; ++r) {
    const float y = first + pitch * static_cast<float>(r);
    if (r + 1 == rows && rows < world) {
      p.c.text({box.x + kPad, y}, tr("step.more_ranks", {std::to_string(world - r)}),
               {.size = 14, .color = p.t.t3});
      break;
    }
    parts::rank_tag(p.c, {box.x + kPad, y}, r, {.height = 20, .neutral = true});
    p.c.text({own, y}, value_text(history->own_loss(r, step)), {.size = 15, .align = Align::Right});
    p.c.text({all, y}, value_text(history->loss_on_all(r, step)),
             {.size = 15, .face = Face::Bold, .align = Align::Right});
    const float x = all + 12, room = box.right() - kPad - x;
    if (room > 20)
      p.c.rect(
          {x, y - 5, std::max(2.0f, room * static_cast<float>(history->loss_on_all(r, step) / most)), 10},
          {.fill = p.t.edge, .radius = 3});
  }
}

}  // namespace

void draw_buckets(Paint& p, Rect box) {
  parts::card(p.c, box);
  if (alone(p)) return draw_alone(p, box);
  p.c.text({box.x + kPad, box.y + 24}, tr("step.buckets.title"),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  bucket_controls(p, {box.x + kPad, box.y + 9, box.w - 2 * kPad, 30});
  if (p.step.buckets.empty()) {
    parts::paragraph(p.c, {box.x + kPad, box.y + 60}, box.w - 2 * kPad,
                     tr(p.step.grouped ? "step.buckets.grouped" : "step.buckets.none"),
                     {.size = 14, .color = p.t.t2, .max_lines = 4});
    return;
  }
  column_heads(p, box, box.y + 53);
  const float first = box.y + 64, foot = 30;
  const auto fits = static_cast<std::size_t>(std::max(1.0f, (box.bottom() - foot - 2 - first) / 30));
  const std::size_t shown = std::min(fits, p.step.buckets.size()), from = first_row(p.step, fits);
  const float pitch = std::min(38.0f, (box.bottom() - foot - 2 - first) / static_cast<float>(shown));
  for (std::size_t i = 0; i < shown; ++i)
    draw_row(p, p.step.buckets[from + i],
             {box.x + kPad - 4, first + pitch * static_cast<float>(i), box.w - 2 * kPad + 4, pitch});
  draw_exposure(p, {box.x + kPad - 4, box.bottom() - foot, box.w - 2 * kPad + 4, 22});
}

float draw_controls(Paint& p, Rect box) {
  const float y = box.y + 22;
  const std::array<std::string, 3> modes{tr("step.mode.time"), tr("step.mode.number"), tr("step.mode.proof")};
  if (p.numbers.has_network()) {
    if (const auto chosen = p.view.ui.toggle("step.mode", {box.x, y}, modes, static_cast<int>(p.state.mode),
                                             Align::Left, nullptr, 34))
      p.state.mode = static_cast<Mode>(*chosen);
  } else {
    p.state.mode = Mode::Time;
  }
  if (!p.numbers.has_network()) return 8;
  const bool on = p.numbers.scenario()->training.network.all_reduce;
  const std::array<std::string, 2> choice{tr("step.on"), tr("step.off")};
  float w = 0;
  const std::string why = why_not_edit(p);
  const auto chosen =
      p.view.ui.toggle("step.all_reduce", {box.right(), y}, choice, on ? 0 : 1, Align::Right, &w, 34);
  const std::string label = tr_word("phase", "all_reduce");
  p.c.text({box.right() - w - 12, y}, label, {.size = 15, .align = Align::Right});
  if (!why.empty())
    p.view.ui.explain({box.right() - w, y - 17, w, 34}, why);
  else
    p.view.ui.explain({box.right() - w - 12 - p.c.width(label, 15), y - 17, p.c.width(label, 15), 34},
                      tr("step.explain.all_reduce"));
  if (chosen) {
    const bool wanted = *chosen == 0;
    if (!why.empty())
      p.view.emit(action::ShowNotice{{NoticeKind::Warning, why}});
    else if (wanted != on)
      edit(p, std::string("all_reduce=") + (wanted ? "true" : "false"),
           [wanted](sim::Scenario& s) { s.training.network.all_reduce = wanted; });
  }
  return 44;
}

}  // namespace ringside::app::step
