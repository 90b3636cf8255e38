// What is open and where in time the viewer stands: scenario, simulation, trace, frames, playhead, selection,
// undo. Actions are applied here, between frames. No ImGui: sessions are tested without a window.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/lesson/desk.hpp"
#include "app/lesson/glossary.hpp"
#include "app/scenes/scene.hpp"
#include "app/session/actions.hpp"
#include "sim/base/result.hpp"
#include "sim/job/simulate.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

/// A file that could not be opened, for the card that says so.
struct FileProblem {
  sim::Error error;
  std::string path;
  std::string line_text;  // the offending line, if the file could be read
};

class Session {
 public:
  Session();
  ~Session();

  // --- opening
  // -------------------------------------------------------------------------------------------------------
  /// Opens a scenario file, a lesson or .npy files (one a rank). On an error, problem() says what is wrong
  /// and what was open stays as it was, unless nothing was.
  sim::Status open_file(const std::string& path);
  sim::Status open_npy_files(std::vector<std::string> paths);
  /// Simulates a scenario and shows it from the start.
  void open_scenario(sim::Scenario scenario, std::string name);
  /// Shows a trace that was not simulated here (a recording, a live job, logs).
  void open_trace(std::unique_ptr<sim::Trace> trace, std::string name, Abilities can);
  const std::optional<FileProblem>& problem() const { return problem_; }
  void clear_problem() { problem_.reset(); }
  /// Shows the card of a file that cannot be read, found elsewhere.
  void show_problem(FileProblem problem) { problem_ = std::move(problem); }
  /// The file of the problem, read again.
  sim::Status retry();

  // --- what is open
  // --------------------------------------------------------------------------------------------------
  bool has_trace() const { return trace_ != nullptr; }
  const sim::Trace& trace() const;
  /// The frame at the playhead. Valid until the next call or update.
  const sim::Frame& frame();
  const sim::Playhead& playhead() const { return playhead_; }
  sim::Playhead& playhead() { return playhead_; }
  std::int64_t end_time() const { return has_trace() ? trace().end_time() : 0; }
  const sim::Scenario* scenario() const { return scenario_ ? &*scenario_ : nullptr; }
  const sim::Simulation* simulation() const { return simulation_.get(); }
  /// The same, kept alive for work on another thread; null for a trace that was not simulated here.
  std::shared_ptr<const sim::Simulation> shared_simulation() const { return simulation_; }
  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  Abilities abilities() const { return can_; }
  bool can_undo() const { return !undo_.empty(); }
  bool can_redo() const { return !redo_.empty(); }
  /// Changes when another trace is shown (scenes drop what they remember of the old one).
  std::uint64_t generation() const { return generation_; }

  Selection selection;
  std::string scene_id = "home";
  std::vector<LibraryEntry> library;  // what home offers to open
  OpenedArray array;                  // the first of the .npy files that were opened last
  LessonDesk lessons;
  Glossary glossary;
  std::optional<sim::TimeModel> time_model;  // of assets/presets.toml

  // --- time and change
  // -----------------------------------------------------------------------------------------------
  /// Applies what is about time, scenario and scene; returns false for the window's own (theme, language …).
  bool apply(const Action& action);
  /// Wall time passed. Moves the playhead, takes up a finished simulation. True if something changed.
  bool update(std::int64_t wall_ns);
  /// A simulation that takes long runs on its own thread; the old trace stays on screen.
  bool simulating() const { return job_.valid(); }
  std::int64_t simulating_for_ns() const { return job_wall_ns_; }
  /// Blocks until no simulation runs (tests, --render).
  void finish_simulation();
  /// Things to tell the person; the shell shows and removes them.
  std::vector<Notice> notices;

 private:
  sim::Status open_lesson(const std::string& path);
  void run(sim::Scenario scenario, bool keep_place);
  void take(std::unique_ptr<sim::Simulation> simulation, sim::Scenario scenario, bool keep_place);
  void show(const sim::Trace& trace);
  void edit(const action::EditScenario& edit);
  void step(int direction);
  void set_problem(const sim::Error& error, const std::string& path, std::string_view text);

  struct Job {
    std::unique_ptr<sim::Simulation> simulation;
    sim::Scenario scenario;
    bool keep_place = false;
  };

  std::string name_, path_;
  std::optional<sim::Scenario> scenario_;
  std::shared_ptr<const sim::Simulation> simulation_;
  std::unique_ptr<sim::Trace> foreign_;
  const sim::Trace* trace_ = nullptr;
  std::unique_ptr<sim::FrameSource> frames_;
  sim::Playhead playhead_;
  Abilities can_;
  std::vector<sim::Scenario> undo_, redo_;
  std::string last_merge_;
  std::optional<FileProblem> problem_;
  std::uint64_t generation_ = 0;
  std::future<Job> job_;
  std::optional<std::pair<sim::Scenario, bool>> next_job_;
  std::int64_t job_wall_ns_ = 0;
};

/// Where a time of one trace lies in another: same collective and ring step, same share of it; the same share
/// of the whole if there are no ring steps. Start stays start, end stays end.
std::int64_t same_place(const sim::Trace& from, std::int64_t t, const sim::Trace& to);
/// Rough count of the numbers and transfers that simulating costs; above kBackgroundCost it runs on its own
/// thread.
double simulation_cost(const sim::Scenario& scenario);
inline constexpr double kBackgroundCost = 3e6;
/// A speed at which the trace takes about `seconds` to play: simulated ns per wall second.
double comfortable_speed(const sim::Trace& trace, double seconds = 16);

}  // namespace ringside::app
