// The inspector of the cluster scene: what happens now, the diagnosis, its evidence and what one's own tools
// say, the next steps and "what if".
#pragma once

#include <string>
#include <vector>

#include "app/scenes/cluster_chain.hpp"
#include "app/scenes/cluster_verdict.hpp"
#include "app/scenes/cluster_view.hpp"
#include "app/scenes/cluster_whatif.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

enum class InspectorTab : std::uint8_t { Verdict, Evidence, Next, Rank };

/// What the inspector shows; made by the scene's prepare().
struct InspectorFacts {
  const ClusterView* cluster = nullptr;
  const ClusterStory* story = nullptr;
  Verdicts::Answer verdict;
  std::vector<ChainLink> chain;
  Cost cost;                     // by now
  std::int64_t stop = -1;        // when the job stopped; -1 = it runs
  std::int64_t timeout_at = -1;  // when it will be over if nobody acts; -1 = unknown or never
  bool by_watchdog = false;      // … because the watchdog strikes; else all ranks have ended by then
  Cost cost_then;                // by then
  Episode episode;               // of the stop
};

struct InspectorMemory {
  InspectorTab tab = InspectorTab::Verdict;
  int seen_rank = -1;
  WhatIf what_if;
  bool reliability_wanted = false;  // the button was pressed
};

/// "R137 stopped the job."
std::string verdict_headline(const sim::Diagnosis& verdict);
/// The whole verdict as text, for a ticket or a message.
std::string verdict_report(const SceneContext& ctx, const InspectorFacts& facts);
/// One sentence on what happens now, where there is no verdict.
std::string now_sentence(const SceneContext& ctx, const InspectorFacts& facts);

void draw_cluster_inspector(View& view, const InspectorFacts& facts, InspectorMemory& memory);

// The parts, from top to bottom.
struct InspectorColumn {
  View& view;
  Canvas& c;
  const Theme& t;
  const InspectorFacts& f;
  InspectorMemory& memory;
  float x, w, y, bottom;
  /// True if so much is left.
  bool room(float h) const { return y + h <= bottom; }
};
void draw_verdict_tab(InspectorColumn& k);
void draw_evidence_tab(InspectorColumn& k);
void draw_next_tab(InspectorColumn& k);
/// A small title with a rule of its own height; false if there is no room for it and `h` more.
bool inspector_heading(InspectorColumn& k, std::string_view text, float h);
/// The cost so far and, where known, at the watchdog.
void draw_cost(InspectorColumn& k);
/// What the tools on its node show for the selected rank.
void draw_rank_gauges(InspectorColumn& k, int rank);

}  // namespace ringside::app
