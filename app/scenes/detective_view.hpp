// The pages of the detective scene: start, desk (what an operator has), accusation, verdict. They draw and
// tell what a person did; the scene changes its game with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/scenes/cluster_chain.hpp"
#include "app/scenes/detective_game.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

/// What a person did in this frame.
struct DetectiveAnswer {
  std::optional<sim::Tool> tool;
  std::optional<int> node, rank, node_out;
  std::optional<std::pair<int, NodeMark>> mark;
  std::optional<sim::DiagnosisKind> kind;
  std::optional<std::uint64_t> start;  // take the case of this seed
  std::optional<bool> undo;            // true = redo
  bool name = false, back = false;     // to the accusation, and back to the desk
  bool close = false;                  // make it
  bool leave = false, resume = false;  // to the start page and back to the game
  bool replay = false, copy = false;
  /// Something on the desk changes: the next frame shows it.
  bool any() const { return tool || node || rank || node_out || mark || kind || undo || name || back || close; }
};

/// What the pages remember of how they are looked at.
struct DetectiveMemory {
  bool naming = false, starting = false;
  double seed = 1;  // in the field of the start page
  float log_at = 0, notes_at = 0;
  int log_row = -1;        // the row that is read in full
  double made_for_s = -1;  // how long the case is being made by now; < 0 = none is
};

/// Where the desk has its parts.
struct DeskLayout {
  Rect header, grid, node, log, column;
  int columns = 16;  // of tiles
};
DeskLayout layout_desk(Rect stage, int nodes);
/// The tile of a node.
Rect tile_box(const DeskLayout& layout, int nodes, int node);

/// The true story, told after the verdict only.
struct DetectiveTale {
  std::string headline, cause;
  struct Beat {
    std::int64_t t = 0;
    std::string text;
  };
  std::vector<Beat> beats;            // the chain, in the order of time
  std::vector<std::string> evidence;  // what it could be seen from, strongest first
};
DetectiveTale make_tale(const DetectiveGame& game);

void draw_start_page(View& view, const DetectiveGame* game, DetectiveMemory& memory, DetectiveAnswer& answer);
void draw_desk(View& view, const DetectiveGame& game, DetectiveMemory& memory, DetectiveAnswer& answer);
void draw_verdict_page(View& view, const DetectiveGame& game, const DetectiveTale& tale,
                       DetectiveAnswer& answer);

// The parts of the desk.
void draw_desk_header(View& view, const DetectiveGame& game, Rect box, DetectiveAnswer& answer);
void draw_desk_log(View& view, const DetectiveGame& game, DetectiveMemory& memory, Rect box,
                   DetectiveAnswer& answer);
void draw_tools(View& view, const DetectiveGame& game, Rect box, DetectiveAnswer& answer);
void draw_notebook(View& view, const DetectiveGame& game, DetectiveMemory& memory, Rect box,
                   DetectiveAnswer& answer);
void draw_accusation(View& view, const DetectiveGame& game, Rect box, DetectiveAnswer& answer);

// Words.
/// "5:17" from nanoseconds.
std::string minutes_text(std::int64_t ns);
/// "10 s", "1 min".
std::string cost_text(std::int64_t ns);
/// "44.7".
std::string hours_text(double gpu_hours);
/// One line of the notebook as a sentence.
std::string finding_text(const sim::Finding& finding);
/// "NaN check", "Stacks of n45".
std::string report_title(const sim::ToolReport& report);

}  // namespace ringside::app
