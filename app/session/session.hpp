// What is open and where in time the viewer stands: scenarios with their branches, simulations, traces,
// frames, playhead, selection, undo. Actions are applied here, between frames. No ImGui: sessions are tested
// without a window.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/lesson/desk.hpp"
#include "app/lesson/glossary.hpp"
#include "app/scenes/scene.hpp"
#include "app/session/actions.hpp"
#include "app/session/breaks.hpp"
#include "app/session/document.hpp"
#include "app/session/incident_desk.hpp"
#include "app/session/moment.hpp"
#include "app/session/time_axis.hpp"
#include "sim/base/result.hpp"
#include "sim/job/simulate.hpp"
#include "sim/trace/difference.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

/// A file that could not be opened, for the card that says so.
struct FileProblem {
  sim::Error error;
  std::string path;
  std::string line_text;  // the offending line, if the file could be read
};

inline constexpr int kMaxTabs = 12, kMaxBranches = 64;

class Session {
 public:
  Session();
  ~Session();

  // --- opening
  // -------------------------------------------------------------------------------------------------------
  /// Opens a scenario file, a lesson or .npy files (one a rank). On an error, problem() says what is wrong
  /// and what was open stays as it was, unless nothing was. `new_tab`: beside what is open; else in its place
  /// if nothing was changed there.
  sim::Status open_file(const std::string& path, bool new_tab = false);
  sim::Status open_npy_files(std::vector<std::string> paths, bool new_tab = false);
  /// Simulates a scenario and shows it from the start.
  void open_scenario(sim::Scenario scenario, std::string name, bool new_tab = false);
  /// Shows a trace that was not simulated here (a recording, a live job, logs).
  void open_trace(std::shared_ptr<sim::Trace> trace, std::string name, Abilities can, bool new_tab = false);
  /// The same for a job that runs: the trace may be appended to between frames; the playhead follows its end.
  void open_growing(std::shared_ptr<sim::Trace> trace, std::string name, Abilities can);
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
  const sim::Playhead& playhead() const { return front().playhead; }
  sim::Playhead& playhead() { return front().playhead; }
  std::int64_t end_time() const { return has_trace() ? trace().end_time() : 0; }
  /// What is on screen is a job that runs: its end is not there yet.
  bool grows() const { return front().grows; }
  /// Nothing more will come: the document of this trace stays as a recording.
  void stop_growing(const sim::Trace& trace);
  const sim::Scenario* scenario() const;
  const sim::Simulation* simulation() const;
  /// The faults given by hand on the branch on screen.
  std::span<const sim::Command> commands() const;
  /// The same, kept alive for work on another thread; null for a trace that was not simulated here.
  std::shared_ptr<const sim::Simulation> shared_simulation() const {
    return front().foreign ? nullptr : shown_;
  }
  const std::string& name() const { return front().name; }
  const std::string& path() const { return front().path; }
  Abilities abilities() const { return front().can; }
  bool can_undo() const { return !front().undo.empty(); }
  bool can_redo() const { return !front().redo.empty(); }
  /// Changes when another trace is shown (scenes drop what they remember of the old one).
  std::uint64_t generation() const { return generation_; }

  // --- branches
  // ------------------------------------------------------------------------------------------------------
  /// All branches of what is open, oldest first; empty if it was not simulated here.
  const std::vector<Branch>& branches() const { return front().branches; }
  int branch() const { return front().branch; }
  /// Faults of the branch on screen: the scenario's own, then those by hand.
  std::vector<sim::Fault> faults() const;
  /// Why nothing can be forked here, in the person's language; "" if it can.
  std::string fork_why_not() const;
  /// What can be broken on the target at the playhead (app/session/breaks.hpp). Not while a frame is in use.
  std::vector<BreakChoice> break_choices(const Selection& target);
  /// The branch that is shown beside the one on screen, or -1.
  int compared() const { return front().compared; }
  /// Its trace and its frame at the playhead (at its own end if it ends before).
  const sim::Trace& compared_trace() const;
  const sim::Frame& compared_frame();
  /// Where the two part; nothing if they are the same.
  const std::optional<sim::Difference>& difference() const { return difference_; }
  /// The simulation beside; null while there is none.
  const sim::Simulation* compared_simulation() const { return compared_shown_.get(); }
  std::shared_ptr<const sim::Simulation> compared_shared() const { return compared_shown_; }
  std::uint64_t compared_generation() const { return compared_generation_; }

  // --- moments
  // -------------------------------------------------------------------------------------------------------
  /// What is on screen, to be opened elsewhere (`view` is for the scene's own). Only while scenario() is
  /// known.
  Moment moment(std::string view) const;
  /// Opens it in a tab of its own, at its place in time, beside the branch without its faults.
  void open_moment(Moment moment);
  /// Writes the branch on screen as a scenario file, faults by hand included; values from files are written
  /// out. The tab then belongs to that file.
  sim::Status save_scenario(const std::string& path);

  /// The time axis of what is on screen: long waits are cut.
  const TimeAxis& axis() const { return axis_; }

  // --- tabs
  // ----------------------------------------------------------------------------------------------------------
  const std::vector<std::unique_ptr<Document>>& documents() const { return documents_; }
  int tab() const { return front_; }

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
  /// How far it is: training steps of the whole, events so far.
  sim::SimulationProgress simulation_progress() const;
  /// Blocks until no simulation runs and no file is being read (tests, --render).
  void finish_simulation();
  /// Logs, dumps and recordings: what is being read and what was read.
  IncidentDesk& incidents() { return incidents_; }
  const IncidentDesk& incidents() const { return incidents_; }
  /// The running job that is watched, and the one that was started here.
  LiveDesk& live() { return *live_; }
  const LiveDesk& live() const { return *live_; }
  /// Things to tell the person; the shell shows and removes them.
  std::vector<Notice> notices;

 private:
  sim::Status open_lesson(const std::string& path);
  enum class Place : std::uint8_t { Start, SamePlace, SameTime };
  /// Something to simulate, and where it goes.
  struct Wish {
    std::unique_ptr<Document> opens;  // not null: a document to be shown
    bool new_tab = false;
    std::uint64_t document = 0;  // else: a branch of this one
    int branch = 0;
    sim::Scenario scenario;
    std::vector<sim::Command> commands;
    Place place = Place::Start;
    bool beside = false;          // for comparing: the branch on screen stays
    std::int64_t forked_at = -1;  // a fault by hand at this time: the person is told if it changed nothing
    bool undoable = false;        // an edit: a cancelled one takes its step of undo with it
  };
  struct Running {  // shared with the thread
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> step{0}, steps{0}, t{0}, events{0};
  };
  using Made = std::optional<sim::Simulation>;

  Document& front() { return *documents_[static_cast<std::size_t>(front_)]; }
  const Document& front() const { return *documents_[static_cast<std::size_t>(front_)]; }
  Document* find(std::uint64_t number);
  Branch* current() {
    return front().branches.empty() ? nullptr : &front().branches[static_cast<std::size_t>(front().branch)];
  }

  void open(sim::Scenario scenario, std::string name, std::string path, bool new_tab);
  void run(Wish wish);
  void take(Wish wish, std::shared_ptr<const sim::Simulation> simulation);
  void take_cancelled(const Wish& wish);
  void start_next();
  /// Makes a document the one on screen, beside or in the place of what is open.
  void place_document(std::unique_ptr<Document> document, bool new_tab);
  void bring_to_front(int index);
  void close_tab(int index);
  /// The trace of the document in front has changed, or another document is in front.
  void show();
  /// What an edit of the branch on screen starts from: a simulation under way counts.
  Change::Made latest() const;
  void edit(const action::EditScenario& edit);
  void inject(const sim::Fault& fault);
  void remove_fault(int index);
  void fork(sim::Scenario scenario, std::vector<sim::Command> commands, std::int64_t at);
  void say_if_nothing_changed(const Document& document, int index, std::int64_t t);
  void switch_branch(int index);
  void compare(int with);
  void refresh_comparison();
  void put_away_traces();
  void travel(std::vector<Change> Document::*from, std::vector<Change> Document::*to);
  void step(int direction);
  void set_problem(const sim::Error& error, const std::string& path, std::string_view text);

  std::vector<std::unique_ptr<Document>> documents_;
  int front_ = 0;
  std::uint64_t next_number_ = 1;
  const sim::Trace* trace_ = nullptr;
  std::unique_ptr<sim::FrameSource> frames_, compared_frames_;
  TimeAxis axis_;
  std::shared_ptr<const sim::Simulation> shown_, compared_shown_;  // keep what frames_ look at alive
  std::optional<sim::Difference> difference_;
  std::optional<FileProblem> problem_;
  IncidentDesk incidents_;
  std::unique_ptr<LiveDesk> live_;
  std::uint64_t generation_ = 0, compared_generation_ = 0;
  std::future<Made> job_;
  std::shared_ptr<Running> running_;
  Wish job_wish_;  // of the simulation that runs
  std::deque<Wish> waiting_;
  std::int64_t job_wall_ns_ = 0;
};

/// The scene that shows a scenario best when it is opened: the ring, or the cluster where there are too many
/// ranks for one or where something breaks.
std::string_view scene_for(const sim::Scenario& scenario);
/// Where a time of one trace lies in another: same collective and ring step, same share of it; the same share
/// of the whole if there are no ring steps. Start stays start, end stays end.
std::int64_t same_place(const sim::Trace& from, std::int64_t t, const sim::Trace& to);
/// Rough count of the numbers and transfers that simulating costs; above kBackgroundCost it runs on its own
/// thread.
double simulation_cost(const sim::Scenario& scenario);
inline constexpr double kBackgroundCost = 3e6;
/// A speed at which the trace takes about `seconds` to play: simulated ns per wall second.
double comfortable_speed(const sim::Trace& trace, double seconds = 16);
/// The playhead after wall time, along an axis on which long waits are short. As Playhead::advance.
bool advance_along(sim::Playhead& playhead, std::int64_t wall_ns, const TimeAxis& axis,
                   std::int64_t end_time);

}  // namespace ringside::app
