// What the incident scene found in prepare(), and the state of its view; shared by the files that draw it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/i18n/i18n.hpp"
#include "app/scenes/explain_box.hpp"
#include "app/scenes/incident_lanes.hpp"
#include "app/scenes/incident_words.hpp"
#include "app/scenes/scene.hpp"
#include "app/session/incident_desk.hpp"

namespace ringside::app::incident {

/// Ranks that are drawn in one card: those of a host, or a part of them.
struct Group {
  std::string host;  // "" = not known
  std::vector<const IncidentRow*> rows;
  bool guilty = false;
};

struct ToolCard {
  std::string tool, text;
  sim::ToolVerdict verdict = sim::ToolVerdict::Silent;
  int times = 1;
};

/// A line of evidence without the prefixes of its logger, and how many others say the same.
struct EvidenceRow {
  std::size_t index = 0;  // into the Diagnosis' evidence
  std::string place, text;
  int rank = -1;  // its author, if the line says so
  int more = 0;   // lines that differ in numbers only
};

/// A line of "ruled out" or "candidates".
struct OtherCause {
  std::string name, why;
};

/// Words and numbers of the incident in the current language; made again only when either changes.
struct Items {
  const backend::Incident* incident = nullptr;
  const IncidentPicture* picture = nullptr;
  std::string verdict, others, why, facts;
  std::string longest_seq;    // the widest "last seq" of all rows; empty if none is known
  std::vector<Group> groups;  // guilty ones first
  std::vector<ToolCard> tools;
  std::vector<EvidenceRow> evidence;
  std::vector<NextStep> steps;
  std::vector<OtherCause> causes;
  bool own_timeline = false;  // the transport bar drives this incident
  std::int64_t t = 0;         // picture time that is shown
};

/// What a person has typed, opened and scrolled.
struct ViewState {
  std::string path;
  ExplainBox explain;
  bool opening = false;  // the page to open others, although an incident is there
  int evidence = -1;     // row whose file is shown
  std::optional<backend::FileExcerpt> excerpt;
  std::string excerpt_problem;
  std::int64_t excerpt_line = 0;
  std::string excerpt_name;
};

/// Shows a line of a file: reads its neighbours (bounded) and opens the popup.
void open_excerpt(View& view, ViewState& state, const Items& items, std::uint32_t file_index,
                  const std::string& name, std::int64_t line);

void draw_open_page(View& view, ViewState& state, const IncidentDesk& desk);
void draw_reading(View& view, const IncidentDesk& desk);
void draw_stage(View& view, ViewState& state, const Items& items);
void draw_panel(View& view, ViewState& state, const Items& items);
void draw_reads(View& view);  // the inspector of the page where logs are opened
void draw_excerpt(View& view, const ViewState& state);

/// The word for how a rank ended.
const std::string& end_word(parts::Mark mark);

}  // namespace ringside::app::incident
