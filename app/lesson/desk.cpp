#include "app/lesson/desk.hpp"

#include <algorithm>
#include <filesystem>

#include "app/options.hpp"
#include "app/session/files.hpp"
#include "app/session/session.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr std::size_t kMaxProgressBytes = std::size_t{1} << 20;

/// A shipped scenario, or one that lies beside the lesson.
std::string scenario_path(const std::string& assets, const std::string& lesson_file,
                          const std::string& name) {
  std::string shipped = assets + "/scenarios/" + name;
  std::error_code none;
  if (lesson_file.empty() || std::filesystem::exists(shipped, none)) return shipped;
  const auto beside = std::filesystem::path(lesson_file).parent_path() / name;
  return std::filesystem::exists(beside, none) ? beside.string() : shipped;
}

/// Opens the scenario unless it is on screen unchanged.
sim::Status open_scenario_of(Session& session, const std::string& assets, const std::string& lesson_file,
                             const Place& place) {
  if (place.scenario.empty()) return sim::ok();
  const std::string path = scenario_path(assets, lesson_file, place.scenario);
  if (session.path() == path && !session.can_undo() && session.scenario() != nullptr) return sim::ok();
  const sim::Status opened = session.open_file(path);
  session.clear_problem();  // said where the lesson is, not over the whole stage
  return opened;
}

}  // namespace

sim::Status go_to(Session& session, const std::string& assets, const Place& place) {
  if (const sim::Status opened = open_scenario_of(session, assets, {}, place); !opened) return opened;
  if (!place.at.empty() && session.has_trace()) {
    session.finish_simulation();
    const auto t = parse_at(place.at, session.trace());
    if (!t) return t.error();
    session.playhead().mode = sim::PlayMode::Paused;
    session.playhead().t = *t;
  }
  if (!place.scene.empty()) session.scene_id = place.scene;
  return sim::ok();
}

// --- library and progress ---

void LessonDesk::open(std::string assets, std::string state_file, std::vector<Notice>& notices) {
  assets_ = std::move(assets);
  state_file_ = std::move(state_file);
  library_.refresh(assets_ + "/lessons");
  std::error_code none;
  if (state_file_.empty() || !std::filesystem::exists(state_file_, none)) return;
  const auto text = read_file(state_file_, kMaxProgressBytes);
  auto read = text ? parse_progress(*text, state_file_) : sim::Result<Progress>(text.error());
  if (read) {
    progress_ = std::move(*read);
    kept_ = to_toml(progress_);
    return;
  }
  const std::string aside = state_file_ + ".broken";
  std::filesystem::rename(state_file_, aside, none);
  notices.push_back({NoticeKind::Warning,
                     tr("lesson.progress_broken", {sim::escape_for_display(read.error().message()), aside})});
}

const LessonFile& LessonDesk::add_file(const std::string& path) {
  return library_.add(path, assets_ + "/lessons");
}

void LessonDesk::keep(std::vector<Notice>& notices) {
  if (state_file_.empty()) return;
  std::string now = to_toml(progress_);
  if (now == kept_) return;
  const bool first_failure = !kept_.empty() || progress_.lessons.size() == 1;
  kept_ = std::move(now);
  const sim::Status written = write_file(state_file_, kept_);
  if (!written && first_failure)
    notices.push_back({NoticeKind::Warning,
                       tr("lesson.progress_not_kept", {sim::escape_for_display(written.error().message())})});
}

bool LessonDesk::refresh() {
  if (!library_.refresh(assets_ + "/lessons")) return false;
  if (const sim::Lesson* now = lesson()) step_ = std::min(step_, static_cast<int>(now->steps.size()));
  return true;
}

const LessonFile* LessonDesk::next_to_read() const {
  const auto unfinished = [&](const LessonFile& file) {
    const LessonProgress* progress = progress_.of(file.lesson.id);
    return !file.error && (progress == nullptr || !progress->done);
  };
  if (const LessonFile* last = library_.find(progress_.last); last != nullptr && unfinished(*last))
    return last;
  const auto& files = library_.files();
  const auto next = std::find_if(files.begin(), files.end(), unfinished);
  if (next != files.end()) return &*next;
  return files.empty() || files.front().error ? nullptr : &files.front();
}

LessonProgress& LessonDesk::mine() {
  return progress_.lessons[id_];
}

// --- the lesson on stage ---

const sim::Lesson* LessonDesk::lesson() const {
  const LessonFile* file = id_.empty() ? nullptr : library_.find(id_);
  return file != nullptr ? &file->lesson : nullptr;
}

const sim::Error* LessonDesk::broken() const {
  if (lesson() != nullptr) return nullptr;
  for (const LessonFile& file : library_.files())
    if (file.error) return &*file.error;
  return nullptr;
}

const sim::LessonStep* LessonDesk::step() const {
  const sim::Lesson* now = lesson();
  if (now == nullptr || step_ < 0 || static_cast<std::size_t>(step_) >= now->steps.size()) return nullptr;
  return &now->steps[static_cast<std::size_t>(step_)];
}

std::optional<int> LessonDesk::choice() const {
  const sim::LessonStep* now = step();
  const LessonProgress* progress = progress_.of(id_);
  if (now == nullptr || !now->question || progress == nullptr) return std::nullopt;
  const auto found = progress->answers.find(step_);
  // The file may have lost a choice since.
  if (found == progress->answers.end() ||
      static_cast<std::size_t>(found->second) >= now->question->choices.size())
    return std::nullopt;
  return found->second;
}

bool LessonDesk::question_open() const {
  const sim::LessonStep* now = step();
  return now != nullptr && now->question && !choice();
}

bool LessonDesk::fulfilled() const {
  const sim::LessonStep* now = step();
  return now == nullptr || now->until.empty() || fulfilled_;
}

std::optional<std::int64_t> LessonDesk::fence() const {
  if (!question_open() || !settled_) return std::nullopt;
  return fence_;
}

// --- what the reader does ---

bool LessonDesk::start(Session& session, std::string_view id, int step) {
  const LessonFile* file = library_.find(id);
  if (file == nullptr) return false;
  id_ = std::string(id);
  progress_.last = id_;
  scene_.clear();
  ++openings_;
  session.scene_id = kLessonScene;
  enter(session, std::clamp(step, 0, static_cast<int>(file->lesson.steps.size())), true);
  return true;
}

bool LessonDesk::resume(Session& session, std::string_view id) {
  const LessonFile* file = library_.find(id);
  if (file == nullptr) return false;
  const LessonProgress* progress = progress_.of(id);
  const int left_off = progress == nullptr ? 0 : progress->step;
  return start(session, id, left_off < static_cast<int>(file->lesson.steps.size()) ? left_off : 0);
}

void LessonDesk::go(Session& session, int direction, bool skip) {
  if (lesson() == nullptr) return;
  if (direction > 0 && !skip && !may_go_on()) return;
  const int last = static_cast<int>(lesson()->steps.size());
  const int wanted = std::clamp(step_ + direction, 0, last);
  if (wanted != step_) enter(session, wanted, direction < 0);
}

void LessonDesk::answer(int choice) {
  const sim::LessonStep* now = step();
  if (!question_open() || choice < 0 || static_cast<std::size_t>(choice) >= now->question->choices.size())
    return;
  mine().answers[step_] = choice;
}

void LessonDesk::restart(Session& session) {
  if (lesson() == nullptr) return;
  mine().answers.clear();
  start(session, std::string(id_), 0);
}

/// What holds at a step: the last scene, scenario and moment that it or a step before it names. A new
/// scenario begins at its start.
Place LessonDesk::place_of(int step) const {
  Place out;
  const sim::Lesson* now = lesson();
  for (int i = 0; now != nullptr && i <= step && i < static_cast<int>(now->steps.size()); ++i) {
    const sim::LessonStep& s = now->steps[static_cast<std::size_t>(i)];
    if (!s.scene.empty()) out.scene = s.scene;
    if (!s.scenario.empty()) {
      out.scenario = s.scenario;
      out.at = "start";
    }
    if (!s.at.empty()) out.at = s.at;
  }
  return out;
}

/// `whole`: everything that holds there is set up anew (a jump, a step back). Otherwise only what the step
/// itself names, so that what the reader has made stays.
void LessonDesk::enter(Session& session, int step, bool whole) {
  step_ = step;
  ++visit_;
  fulfilled_ = false;
  problem_.clear();
  stop_at_ = -1;
  LessonProgress& progress = mine();
  progress.step = step;
  if (at_last_page()) progress.done = true;
  session.playhead().mode = sim::PlayMode::Paused;
  Place place = place_of(step);
  if (!whole) {
    const sim::LessonStep* now = this->step();
    place = now == nullptr ? Place{} : Place{now->scene, now->scenario, now->at};
    if (now != nullptr && !now->scenario.empty() && now->at.empty()) place.at = "start";
  }
  if (!place.scene.empty()) scene_ = place.scene;
  if (const sim::Status opened = open_scenario_of(session, assets_, lesson()->file, place); !opened)
    problem_ = sim::escape_for_display(opened.error().message());
  const bool own = !place.at.empty() && !sim::is_time_place(place.at);
  own_place_ = own ? place.at : "";
  wanted_at_ = own ? "" : place.at;
  settled_ = false;
  hold(session);
}

/// Goes to the step's moment, and puts the fence there.
void LessonDesk::settle(Session& session) {
  settled_ = true;
  generation_ = session.generation();
  if (!wanted_at_.empty() && session.has_trace()) {
    const auto t = parse_at(wanted_at_, session.trace());
    if (t) {
      session.playhead().t = *t;
    } else {
      problem_ = sim::escape_for_display(t.error().message());
    }
  }
  wanted_at_.clear();
  fence_ = session.playhead().t;
}

void LessonDesk::hold(Session& session) {
  if (session.scene_id != kLessonScene || lesson() == nullptr || session.simulating()) return;
  sim::Playhead& playhead = session.playhead();
  if (!settled_) settle(session);
  if (generation_ != session.generation()) {  // an edit: it kept its place, so the fence moves along
    generation_ = session.generation();
    fence_ = playhead.t;
  }
  if (question_open() && playhead.t > fence_) {
    playhead.t = fence_;
    playhead.mode = sim::PlayMode::Paused;
  }
  if (stop_at_ < 0) return;
  // Playing may have run past it, even to the end, where it pauses by itself.
  const bool playing = playhead.mode == sim::PlayMode::Playing;
  if (playhead.t >= stop_at_ && (playing || playhead.t == session.end_time())) {
    playhead.t = stop_at_;
    playhead.mode = sim::PlayMode::Paused;
  }
  if (playhead.mode != sim::PlayMode::Playing) stop_at_ = -1;
}

void LessonDesk::show_what_happens(Session& session) {
  if (question_open() || !session.has_trace()) return;
  sim::Playhead& playhead = session.playhead();
  stop_at_ = session.end_time();
  if (const sim::Lesson* now = lesson();
      now != nullptr && static_cast<std::size_t>(step_) + 1 < now->steps.size()) {
    const sim::LessonStep& next = now->steps[static_cast<std::size_t>(step_) + 1];
    const auto t = next.scenario.empty() && !next.at.empty() ? parse_at(next.at, session.trace())
                                                             : sim::Result<std::int64_t>(std::int64_t{-1});
    if (t && *t > playhead.t) stop_at_ = *t;
  }
  if (playhead.t >= stop_at_) return;
  playhead.mode = sim::PlayMode::Playing;
}

}  // namespace ringside::app
