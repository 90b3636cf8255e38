#include "app/session/session.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "app/session/files.hpp"
#include "app/session/live_desk.hpp"
#include "sim/base/text.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::app {
namespace {

/// Moments that two traces of nearly the same job have in common: its ring steps' ends, and its own.
std::vector<std::int64_t> landmarks(const sim::Trace& trace) {
  std::vector<std::int64_t> ends;
  for (const auto& [ring_step, end] : sim::ring_step_times(trace)) ends.push_back(end);
  ends.push_back(trace.end_time());
  std::sort(ends.begin(), ends.end());
  return ends;
}

}  // namespace

std::int64_t same_place(const sim::Trace& from, std::int64_t t, const sim::Trace& to) {
  if (t <= 0) return 0;
  if (t >= from.end_time()) return to.end_time();
  const auto was = landmarks(from), is = landmarks(to);
  const auto passed = static_cast<std::size_t>(std::upper_bound(was.begin(), was.end(), t) - was.begin());
  // With rings in one of them only there is nothing to go by but the share of the whole.
  const bool comparable = (was.size() > 1) == (is.size() > 1);
  const std::size_t last = is.size() - 1, at = comparable ? std::min(passed, last) : last;
  if (comparable && passed > last) return is.back();
  const std::int64_t a = comparable && passed > 0 ? was[passed - 1] : 0, b = comparable ? was[passed] : was.back();
  const std::int64_t c = comparable && at > 0 ? is[at - 1] : 0, d = is[at];
  return c + static_cast<std::int64_t>(static_cast<__int128>(t - a) * (d - c) / std::max<std::int64_t>(1, b - a));
}

double simulation_cost(const sim::Scenario& scenario) {
  const double world = scenario.world_size(), steps = static_cast<double>(scenario.training.steps);
  const double events = world * steps * (8 + scenario.training.buckets);
  if (scenario.tensor.values == sim::ValueSource::None) return events + world * world * steps / 50;
  const double buckets = scenario.training.buckets;
  const double transfers = 2 * world * world * steps * buckets * std::max(1, scenario.collective.channels);
  return events + transfers * 3 + world * static_cast<double>(scenario.tensor.shape.count()) * steps / 10;
}

double comfortable_speed(const sim::Trace& trace, double seconds) {
  const double wanted = std::max(1.0, TimeAxis(trace).length()) / seconds;
  // 1, 2 or 5 times a power of ten, so that the bar reads "1 μs = 0.5 s".
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double k : {1.0, 2.0, 5.0})
    if (wanted <= k * power) return k * power;
  return 10 * power;
}

std::string_view scene_for(const sim::Scenario& scenario) {
  constexpr int kMostOnARing = 64;
  constexpr int kMostOnePath = 16;  // so many ranks can be followed number by number
  const auto all_faults = [&](sim::FaultKind kind) {
    return std::all_of(scenario.faults.begin(), scenario.faults.end(),
                       [&](const sim::Fault& f) { return f.kind == kind; });
  };
  const bool poisons = std::any_of(scenario.faults.begin(), scenario.faults.end(),
                                   [](const sim::Fault& f) { return f.kind == sim::FaultKind::Nan; });
  if (poisons && scenario.world_size() <= kMostOnePath) return "nan";
  const bool trains = scenario.training.network.enabled && all_faults(sim::FaultKind::Slow);
  if (trains && scenario.world_size() <= kMostOnARing) return "step";
  const bool breaks = !scenario.faults.empty() && scenario.training.steps > 1;
  return scenario.world_size() > kMostOnARing || breaks ? "cluster" : "allreduce";
}

bool advance_along(sim::Playhead& playhead, std::int64_t wall_ns, const TimeAxis& axis,
                   std::int64_t end_time) {
  if (axis.cuts().empty() || playhead.mode != sim::PlayMode::Playing)
    return playhead.advance(wall_ns, end_time);
  const std::int64_t before = playhead.t;
  const double place = axis.place(before) + static_cast<double>(wall_ns) * playhead.speed;
  playhead.t = std::max(before, axis.time(place));
  if (place >= axis.length()) {
    playhead.t = playhead.loop ? 0 : end_time;
    if (!playhead.loop) playhead.mode = sim::PlayMode::Paused;
  }
  return true;  // even if the time in ns is the same, a share of one may have passed
}

Session::Session() : live_(std::make_unique<LiveDesk>()) {
  documents_.push_back(std::make_unique<Document>());
  documents_.front()->number = next_number_++;
}

Session::~Session() {
  if (running_) running_->stop = true;  // the future waits for the thread
}

const sim::Trace& Session::trace() const {
  static const sim::Trace kEmpty;
  return trace_ != nullptr ? *trace_ : kEmpty;
}

const sim::Frame& Session::frame() {
  static const sim::Frame kEmpty;
  return frames_ ? frames_->frame_at(front().playhead.t) : kEmpty;
}

std::span<const sim::Command> Session::commands() const {
  const Branch* branch = front().current();
  return branch != nullptr ? std::span<const sim::Command>(branch->commands)
                           : std::span<const sim::Command>();
}

const sim::Scenario* Session::scenario() const {
  const Branch* branch = front().current();
  return branch != nullptr && has_trace() ? &branch->scenario : nullptr;
}

const sim::Simulation* Session::simulation() const {
  return front().foreign ? nullptr : shown_.get();
}

// --- opening
// -----------------------------------------------------------------------------------------------------------

void Session::set_problem(const sim::Error& error, const std::string& path, std::string_view text) {
  problem_ = FileProblem{error, path, std::string(line_of(text, error.line))};
}

sim::Status Session::open_file(const std::string& path, bool new_tab) {
  if (path.ends_with(".npy")) return open_npy_files({path}, new_tab);
  const auto text = read_file(path);
  if (!text) {
    set_problem(text.error(), path, {});
    return text.error();
  }
  if (text->find("[[step]]") != std::string::npos) return open_lesson(path);
  auto scenario = sim::parse_scenario(*text, path, folder_loader(path));
  if (!scenario) {
    set_problem(scenario.error(), path, *text);
    return scenario.error();
  }
  problem_.reset();
  open(std::move(*scenario), file_stem(path), path, new_tab);
  return sim::ok();
}

sim::Status Session::open_lesson(const std::string& path) {
  const LessonFile& file = lessons.add_file(path);
  if (file.error) {
    problem_ = FileProblem{*file.error, path, file.line_text};
    return *file.error;
  }
  problem_.reset();
  lessons.start(*this, file.lesson.id, 0);
  return sim::ok();
}

sim::Status Session::retry() {
  if (!problem_) return sim::ok();
  const std::string path = problem_->path;
  return open_file(path);
}

sim::Status Session::open_npy_files(std::vector<std::string> paths, bool new_tab) {
  std::sort(paths.begin(), paths.end());
  sim::Scenario scenario;
  scenario.title = file_stem(paths.front());
  scenario.cluster.nodes = 1;
  scenario.cluster.gpus_per_node = static_cast<int>(paths.size());
  scenario.cluster.topology.world_size = scenario.cluster.topology.gpus_per_node =
      scenario.cluster.gpus_per_node;
  scenario.collective.op = sim::ReduceOp::Avg;
  for (const std::string& path : paths) {
    const auto bytes = read_file(path);
    sim::Result<sim::Tensor> tensor = bytes ? sim::read_npy(std::as_bytes(std::span(*bytes)), path)
                                            : sim::Result<sim::Tensor>(bytes.error());
    if (tensor && !scenario.tensor.list.empty() &&
        (tensor->shape != scenario.tensor.shape || tensor->dtype != scenario.tensor.dtype))
      tensor = sim::Error{
          .what = "shape " + tensor->shape.text() + " and " + std::string(sim::to_word(tensor->dtype)),
          .file = path,
          .legal = scenario.tensor.shape.text() + " and " + std::string(sim::to_word(scenario.tensor.dtype)) +
                   ", as the first file"};
    if (!tensor) {
      set_problem(tensor.error(), path, {});
      return tensor.error();
    }
    scenario.tensor.shape = tensor->shape;
    scenario.tensor.dtype = tensor->dtype;
    scenario.tensor.values = sim::ValueSource::List;
    scenario.tensor.list.push_back(std::make_shared<const sim::Tensor>(std::move(*tensor)));
  }
  problem_.reset();
  array = {scenario.tensor.list.front(), file_stem(paths.front()) + ".npy", array.serial + 1};
  open(std::move(scenario), file_stem(paths.front()), paths.front(), new_tab);
  return sim::ok();
}

void Session::open_scenario(sim::Scenario scenario, std::string name, bool new_tab) {
  open(std::move(scenario), std::move(name), {}, new_tab);
}

void Session::open(sim::Scenario scenario, std::string name, std::string path, bool new_tab) {
  Wish wish;
  wish.opens = std::make_unique<Document>();
  wish.opens->name = std::move(name);
  wish.opens->path = std::move(path);
  wish.new_tab = new_tab;
  wish.scenario = std::move(scenario);
  if (scene_id == "home") scene_id = scene_for(wish.scenario);
  wish.opens->scene_id = scene_id;
  wish.opens->of_lesson = scene_id == kLessonScene;
  run(std::move(wish));
}

void Session::open_trace(std::shared_ptr<sim::Trace> trace, std::string name, Abilities can, bool new_tab) {
  auto document = std::make_unique<Document>();
  document->name = std::move(name);
  document->can = can;
  document->scene_id = scene_id;
  document->playhead.speed = comfortable_speed(*trace) / 1e9;
  document->foreign = std::move(trace);
  place_document(std::move(document), new_tab);
}

void Session::open_growing(std::shared_ptr<sim::Trace> trace, std::string name, Abilities can) {
  auto document = std::make_unique<Document>();
  document->name = std::move(name);
  document->can = can;
  document->scene_id = scene_id;
  document->playhead.mode = sim::PlayMode::Follow;
  document->playhead.unit = sim::StepUnit::TrainingStep;
  document->grows = true;
  document->foreign = std::move(trace);
  place_document(std::move(document), true);
}

void Session::stop_growing(const sim::Trace& trace) {
  for (const auto& document : documents_) {
    if (document->foreign.get() != &trace) continue;
    document->grows = false;
    if (document.get() == &front()) axis_ = TimeAxis(trace);
    if (document->playhead.mode == sim::PlayMode::Follow) {
      document->playhead.mode = sim::PlayMode::Paused;
      document->playhead.t = trace.end_time();
    }
  }
}

// --- moments
// -----------------------------------------------------------------------------------------------------------

Moment Session::moment(std::string view) const {
  const Branch* branch = front().current();
  RINGSIDE_CHECK(branch != nullptr);
  Moment out;
  out.name = front().name;
  out.scene_id = scene_id;
  out.view = std::move(view);
  out.scenario = branch->scenario;
  out.commands = branch->commands;
  out.playhead = front().playhead;
  out.selection = selection;
  return out;
}

void Session::open_moment(Moment moment) {
  Wish wish;
  wish.opens = std::make_unique<Document>();
  Document& document = *wish.opens;
  document.name = std::move(moment.name);
  document.scene_id = find_scene(moment.scene_id) != nullptr ? moment.scene_id : "allreduce";
  document.selection = moment.selection;
  document.playhead = moment.playhead;
  document.playhead.mode = sim::PlayMode::Paused;
  Branch first;
  first.scenario = moment.scenario;
  document.branches.push_back(first);
  if (!moment.commands.empty()) {
    first.commands = moment.commands;
    first.parent = 0;
    first.forked_at = moment.commands.back().t;
    document.branches.push_back(first);
  }
  wish.branch = static_cast<int>(document.branches.size()) - 1;
  wish.new_tab = true;
  wish.scenario = std::move(moment.scenario);
  wish.commands = std::move(moment.commands);
  wish.place = Place::SameTime;
  // The future without the faults, to be compared with; a long one is simulated when it is wanted.
  if (document.branches.size() > 1 && simulation_cost(document.branches.front().scenario) < kBackgroundCost)
    document.branches.front().simulation =
        std::make_shared<const sim::Simulation>(sim::simulate(document.branches.front().scenario));
  problem_.reset();
  run(std::move(wish));
}

sim::Status Session::save_scenario(const std::string& path) {
  const Branch* branch = front().current();
  if (branch == nullptr) return sim::Error{.what = tr("share.not_simulated")};
  const sim::Scenario whole = without_files(branch->scenario);
  constexpr std::int64_t kMostWritten = std::int64_t{1} << 22;
  if (!whole.tensor.list.empty() && whole.tensor.shape.count() * whole.world_size() > kMostWritten)
    return sim::Error{.what = tr("share.too_many"), .legal = sim::with_commas(kMostWritten)};
  if (const sim::Status written = write_file(path, sim::to_toml(with_commands(whole, branch->commands)));
      !written)
    return written.error();
  front().path = path;
  front().name = file_stem(path);
  return sim::ok();
}

// --- time
// --------------------------------------------------------------------------------------------------------------

bool Session::update(std::int64_t wall_ns) {
  bool changed = incidents_.update(*this);
  changed = live_->update(*this) || changed;
  if (simulating()) {
    job_wall_ns_ += wall_ns;
    if (job_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      Made made = job_.get();
      running_.reset();
      Wish wish = std::exchange(job_wish_, {});
      if (made)
        take(std::move(wish), std::make_shared<const sim::Simulation>(std::move(*made)));
      else
        take_cancelled(wish);
      start_next();
      changed = true;
    }
  }
  bool moved = has_trace() && advance_along(playhead(), wall_ns, axis_, end_time());
  sim::Playhead& p = playhead();
  if (grows() && moved && p.mode == sim::PlayMode::Paused && p.t >= end_time())
    p.mode = sim::PlayMode::Follow;  // it has played up to now, and goes on with the job
  if (p.mode == sim::PlayMode::Follow && p.t != end_time()) {
    p.t = end_time();
    moved = true;
  }
  lessons.hold(*this);
  return moved || changed;
}

void Session::step(int direction) {
  sim::Playhead& p = playhead();
  p.mode = sim::PlayMode::Paused;
  p.t = direction > 0 ? sim::next_time(trace(), p.unit, p.t) : sim::previous_time(trace(), p.unit, p.t);
}

// --- actions
// -----------------------------------------------------------------------------------------------------------

namespace {
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;
}  // namespace

bool Session::apply(const Action& action) {
  sim::Playhead& p = playhead();
  const auto seek = [&](std::int64_t t) {
    p.mode = sim::PlayMode::Paused;
    p.t = std::clamp<std::int64_t>(t, 0, end_time());
  };
  bool mine = true;
  std::visit(Overloaded{
                 [&](const action::TogglePlay&) {
                   if (p.mode != sim::PlayMode::Paused) {
                     p.mode = sim::PlayMode::Paused;
                   } else if (grows() && p.t >= end_time()) {
                     p.mode = sim::PlayMode::Follow;
                   } else if (has_trace()) {
                     if (p.t >= end_time()) p.t = 0;
                     p.mode = sim::PlayMode::Playing;
                   }
                 },
                 [&](const action::Pause&) { p.mode = sim::PlayMode::Paused; },
                 [&](const action::StepBy& a) {
                   if (has_trace()) step(a.direction);
                 },
                 [&](const action::SeekTo& a) { seek(a.t); },
                 [&](const action::SeekStart&) { seek(0); },
                 [&](const action::SeekEnd&) {
                   seek(end_time());
                   if (grows()) p.mode = sim::PlayMode::Follow;
                 },
                 [&](const action::Follow&) { p.mode = sim::PlayMode::Follow; },
                 [&](const action::SetSpeed& a) { p.speed = a.simulated_ns_per_s / 1e9; },
                 [&](const action::SetLoop& a) { p.loop = a.on; },
                 [&](const action::SetStepUnit& a) { p.unit = a.unit; },
                 [&](const action::ShowScene& a) {
                   if (find_scene(a.id) == nullptr) return;
                   scene_id = a.id;
                   for (Wish* wish : {&job_wish_, waiting_.empty() ? nullptr : &waiting_.back()})
                     if (wish != nullptr && wish->opens) wish->opens->scene_id = a.id;
                 },
                 [&](const action::OpenFile& a) { static_cast<void>(open_file(a.path, a.new_tab)); },
                 [&](const action::Select& a) { selection = a.selection; },
                 [&](const action::ShowNotice& a) { notices.push_back(a.notice); },
                 [&](const action::EditScenario& a) { edit(a); },
                 [&](const action::Undo&) { travel(&Document::undo, &Document::redo); },
                 [&](const action::Redo&) { travel(&Document::redo, &Document::undo); },
                 [&](const action::Inject& a) { inject(a.fault); },
                 [&](const action::RemoveFault& a) { remove_fault(a.index); },
                 [&](const action::SwitchBranch& a) { switch_branch(a.index); },
                 [&](const action::Compare& a) { compare(a.with); },
                 [&](const action::CancelSimulation&) {
                   for (; !waiting_.empty(); waiting_.pop_back()) {
                     const Wish wish = std::move(waiting_.back());
                     waiting_.back() = {};
                     take_cancelled(wish);
                   }
                   if (running_) running_->stop = true;
                 },
                 [&](const action::SwitchTab& a) { bring_to_front(a.index); },
                 [&](const action::CloseTab& a) { close_tab(a.index); },
                 [&](const action::Custom& a) { a.run(*this); },
                 [&](const auto&) { mine = false; },
             },
             action);
  return mine;
}

}  // namespace ringside::app
