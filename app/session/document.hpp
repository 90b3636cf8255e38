// One open scenario or trace: a tab. Everything of it that is not on screen now waits here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/scenes/scene.hpp"
#include "app/session/branch.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

/// What undo goes back to: a branch, and what it was simulated from if that changed.
struct Change {
  int branch = 0;
  struct Made {
    sim::Scenario scenario;
    std::vector<sim::Command> commands;
  };
  std::optional<Made> made;
};

struct Document {
  std::uint64_t number = 0;  // never used twice
  std::string name, path;
  std::vector<Branch> branches;         // empty for a trace that was not simulated here
  int branch = 0;                       // on screen
  std::shared_ptr<sim::Trace> foreign;  // a recording, a live job, logs
  bool grows = false;                   // a job that runs: more events may come
  Abilities can;
  sim::Playhead playhead;
  std::vector<Change> undo, redo;
  std::string last_merge;
  Selection selection;
  std::string scene_id;
  int compared = -1;       // the branch that is shown beside
  bool of_lesson = false;  // opened by a lesson: its next scenario takes the place

  const Branch* current() const {
    return branches.empty() ? nullptr : &branches[static_cast<std::size_t>(branch)];
  }
  /// Nothing would be lost if another one took its place.
  bool untouched() const { return undo.empty() && redo.empty() && branches.size() <= 1; }
};

}  // namespace ringside::app
