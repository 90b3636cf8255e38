// The edit panel of the AllReduce scene. Every change is one Action; the Session runs it from the same seed.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_edit.hpp"
#include "app/scenes/allreduce_inspector.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

struct Panel {
  View& view;
  const sim::Scenario& scenario;
  float x, w, y, row, bottom;
  bool room() const { return y + row <= bottom + 1; }
};

/// The label of a row; returns the box of its control.
Rect next_row(Panel& p, std::string_view label) {
  Canvas& c = p.view.canvas;
  const float label_width = p.w * .42f;
  c.text({p.x, p.y + p.row / 2}, fit(c.fonts(), label, label_width - 6, 14),
         {.size = 14, .color = c.theme().t2});
  const Rect box{p.x + label_width, p.y + 2, p.w - label_width, p.row - 5};
  p.y += p.row;
  return box;
}

/// A choice: its name in actions, its label (also the id of the widget), its explanation.
struct Texts {
  std::string_view name, label, explain;
};

template <class T, std::size_t N>
void choice(Panel& p, const Texts& texts, T current, const std::array<T, N>& all, std::string_view (*word)(T),
            void (*set)(sim::Scenario&, T)) {
  if (!p.room()) return;
  const Rect box = next_row(p, tr(texts.label));
  std::vector<MenuItem> items;
  int at = 0;
  for (std::size_t i = 0; i < N; ++i) {
    items.push_back({.label = std::string(word(all[i]))});
    if (all[i] == current) at = static_cast<int>(i);
  }
  if (const auto chosen = p.view.ui.select(texts.label, box, items, at, tr(texts.explain))) {
    const T value = all[static_cast<std::size_t>(*chosen)];
    p.view.emit(edit::action_for(std::string(texts.name) + "=" + std::string(word(value)),
                                 [set, value](sim::Scenario& s) { set(s, value); }));
  }
}

void edit_world(Panel& p) {
  double world = p.scenario.world_size();
  const Rect box = next_row(p, tr("allreduce.edit.world"));
  if (!p.view.ui.number_field("allreduce.edit.world", box, world, 1, edit::kMaxGpus, 1, {},
                              tr("allreduce.edit.world_explain")))
    return;
  const int n = std::clamp(static_cast<int>(std::lround(std::isnan(world) ? 1.0 : world)), 1, edit::kMaxGpus);
  p.view.emit(edit::action_for(
      "world=" + std::to_string(n), [n](sim::Scenario& s) { edit::set_world(s, n); }, "world"));
}

void edit_links(Panel& p) {
  const Selection& sel = p.view.ctx.selection;
  const sim::Topology& topology = p.scenario.cluster.topology;
  const bool one = sel.link_from >= 0 && sel.link_to >= 0 && sel.link_from < topology.world_size &&
                   sel.link_to < topology.world_size;
  const int from = one ? sel.link_from : -1, to = one ? sel.link_to : -1;
  const sim::LinkSpec spec = one                       ? topology.link(from, to)
                             : topology.world_size > 1 ? topology.link(0, 1)
                                                       : topology.intra;
  const std::string which = one ? parts::rank_name(from) + "→" + parts::rank_name(to) + " " : std::string();
  if (p.room()) {
    double us = static_cast<double>(spec.latency_ns) / 1e3;
    const Rect box = next_row(p, which + tr("allreduce.edit.latency"));
    if (p.view.ui.number_field("allreduce.edit.latency", box, us, 0, 1e9, 0.1, "μs",
                               tr("allreduce.edit.latency_explain")) &&
        std::isfinite(us)) {
      const auto ns = static_cast<std::int64_t>(std::llround(us * 1e3));
      p.view.emit(edit::action_for(
          "latency=" + std::to_string(ns), [=](sim::Scenario& s) { edit::set_latency(s, from, to, ns); },
          "latency"));
    }
  }
  if (p.room()) {
    double gb = static_cast<double>(spec.bytes_per_s) / 1e9;
    const Rect box = next_row(p, which + tr("allreduce.edit.bandwidth"));
    if (p.view.ui.number_field("allreduce.edit.bandwidth", box, gb, 1e-6, 1e6, 1, "GB/s",
                               tr("allreduce.edit.bandwidth_explain")) &&
        std::isfinite(gb)) {
      const auto bytes = static_cast<std::int64_t>(std::llround(gb * 1e9));
      p.view.emit(edit::action_for(
          "bandwidth=" + std::to_string(bytes),
          [=](sim::Scenario& s) { edit::set_bandwidth(s, from, to, bytes); }, "bandwidth"));
    }
  }
}

constexpr std::array kOrders{sim::RingOrder::Nccl, sim::RingOrder::Textbook};
constexpr std::array kChunkings{sim::Chunking::Even, sim::Chunking::Nccl};
constexpr std::array kAlgorithms{sim::Algorithm::Ring, sim::Algorithm::Naive};

}  // namespace

float draw_edit_panel(View& view, const RingView&, Rect box) {
  const sim::Scenario& scenario = *view.ctx.scenario;
  Panel p{view, scenario, box.x, box.w, box.y, 38, box.bottom()};
  edit_world(p);
  choice<sim::ReduceOp>(p, {"op", "allreduce.edit.op", "allreduce.edit.op_explain"}, scenario.collective.op,
                        sim::kAllOps, sim::to_word,
                        [](sim::Scenario& s, sim::ReduceOp v) { s.collective.op = v; });
  choice<sim::DType>(p, {"dtype", "allreduce.edit.dtype", "allreduce.edit.dtype_explain"},
                     scenario.tensor.dtype, sim::kAllDTypes, sim::to_word, edit::set_dtype);
  choice<sim::Algorithm>(p, {"algorithm", "allreduce.edit.algorithm", "allreduce.edit.algorithm_explain"},
                         scenario.collective.algorithm, kAlgorithms, sim::to_word,
                         [](sim::Scenario& s, sim::Algorithm v) { s.collective.algorithm = v; });
  choice<sim::RingOrder>(p, {"order", "allreduce.edit.order", "allreduce.edit.order_explain"},
                         scenario.collective.order, kOrders, sim::to_word,
                         [](sim::Scenario& s, sim::RingOrder v) { s.collective.order = v; });
  choice<sim::Chunking>(p, {"chunking", "allreduce.edit.chunking", "allreduce.edit.chunking_explain"},
                        scenario.collective.chunking, kChunkings, sim::to_word,
                        [](sim::Scenario& s, sim::Chunking v) { s.collective.chunking = v; });
  edit_links(p);
  const std::string& hint = tr("allreduce.edit.hint");
  if (p.y + 44 <= p.bottom)
    p.y =
        parts::paragraph(view.canvas, {p.x, p.y + 16}, p.w, hint,
                         {.size = 14, .line_height = 1.35f, .color = view.canvas.theme().t3, .max_lines = 2});
  return p.y;
}

}  // namespace ringside::app
