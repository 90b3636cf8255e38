// The lesson that is being read: which step, what was answered, what has happened, and how far time may go.
// It owns the library of lessons and the reader's progress; it moves the Session, and never draws.
//
// The rule of time: while a question is open, nobody sees past the moment at which it was asked. The fence is
// kept in hold(), after every movement of the playhead, whoever moved it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/lesson/library.hpp"
#include "app/lesson/place.hpp"
#include "app/lesson/progress.hpp"
#include "app/session/actions.hpp"

namespace ringside::app {

inline constexpr std::string_view kLessonScene = "lesson";

class LessonDesk {
 public:
  /// Reads the lessons below `assets` and the progress of `state_file` ("" = keep nothing). A progress file
  /// that cannot be read is said in `notices` and put aside, not overwritten.
  void open(std::string assets, std::string state_file, std::vector<Notice>& notices);
  /// Reads changed lesson files again. The lesson on stage is read again too, and stays at its step.
  bool refresh();
  /// A lesson file from anywhere joins the path. Its error, if it has one, is in what is returned.
  const LessonFile& add_file(const std::string& path);
  /// Writes the progress if it has changed since the last call.
  void keep(std::vector<Notice>& notices);

  const LessonLibrary& library() const { return library_; }
  const Progress& progress() const { return progress_; }
  const std::string& assets() const { return assets_; }
  /// The lesson that Continue goes on with: the last one if it is not finished, else the first that is not
  /// done, else the first. Null if there are no lessons.
  const LessonFile* next_to_read() const;

  // --- the lesson on stage
  /// Null if none is open, or if its file has a mistake since (broken() says which).
  const sim::Lesson* lesson() const;
  const sim::Error* broken() const;
  /// From 0; lesson()->steps.size() at the last page.
  int step_index() const { return step_; }
  /// Null at the last page.
  const sim::LessonStep* step() const;
  bool at_last_page() const { return lesson() != nullptr && step() == nullptr; }
  bool question_open() const;
  /// What was answered first to this step's question.
  std::optional<int> choice() const;
  /// True once everything that the step waits for has held at one time; true if it waits for nothing.
  bool fulfilled() const;
  bool may_go_on() const { return !question_open() && fulfilled(); }
  /// The scene on the lesson's stage.
  const std::string& scene() const { return scene_; }
  /// A place of the scene's own that the step asks for ("rung:3"); the page takes the scene there. "" = none.
  const std::string& own_place() const { return own_place_; }
  /// Why the step's place cannot be shown; "" if it is.
  const std::string& problem() const { return problem_; }
  /// False while the step's scenario is still being simulated: nothing can be said about it yet.
  bool ready() const { return settled_; }
  /// From when on the future is covered.
  std::optional<std::int64_t> fence() const;
  /// Counts steps that were entered: changes when another step begins.
  std::uint64_t visit() const { return visit_; }
  /// Counts openings of lessons: a lesson begins with a scene as it comes.
  std::uint64_t openings() const { return openings_; }

  // --- what the reader does
  /// Opens a lesson at a step (from 0) and shows the lesson page. False if there is no such lesson.
  bool start(Session& session, std::string_view id, int step);
  /// Opens it where the reader left off; at its start if it is finished.
  bool resume(Session& session, std::string_view id);
  /// Next (+1) or previous (-1) beat. On only if may_go_on(), or by `skip`.
  void go(Session& session, int direction, bool skip = false);
  void answer(int choice);
  /// Forgets the answers and begins anew.
  void restart(Session& session);
  /// Plays on to the next step's moment if that lies ahead in the same scenario, else to the end.
  void show_what_happens(Session& session);
  /// The step's conditions hold.
  void fulfil() { fulfilled_ = true; }
  /// Another scene on the lesson's stage.
  void show_scene(std::string_view id) { scene_ = id; }
  /// Keeps the rule of time. Call after the playhead has moved and simulations were taken up.
  void hold(Session& session);

 private:
  void enter(Session& session, int step, bool whole);
  void settle(Session& session);
  Place place_of(int step) const;
  LessonProgress& mine();

  std::string assets_, state_file_;
  LessonLibrary library_;
  Progress progress_;
  std::string kept_;  // the progress file as it was last written or read

  std::string id_;
  int step_ = 0;
  bool fulfilled_ = false;
  std::string scene_, problem_, own_place_;
  std::uint64_t visit_ = 0, openings_ = 0;
  std::string wanted_at_;  // the moment to go to as soon as the scenario is simulated
  bool settled_ = false;
  std::int64_t fence_ = 0, stop_at_ = -1;
  std::uint64_t generation_ = 0;
};

/// Opens the scenario of a place (unless it is open as it was written), goes to its moment and shows its
/// scene. Simulates in place: these are small. Returns what went wrong, in the world's words.
sim::Status go_to(Session& session, const std::string& assets, const Place& place);

}  // namespace ringside::app
