#include "app/session/session.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "app/session/files.hpp"
#include "sim/base/text.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::app {
namespace {

constexpr std::size_t kMaxUndo = 200;

std::vector<std::int64_t> ring_step_ends(const sim::Trace& trace) {
  std::vector<std::int64_t> ends;
  for (std::uint32_t coll = 0; coll < trace.collective_count(); ++coll)
    for (std::uint32_t step = 1; step <= trace.collective(coll).steps; ++step) {
      const std::int64_t end = sim::ring_step_end(trace, coll, step);
      if (end >= 0) ends.push_back(end);
    }
  std::stable_sort(ends.begin(), ends.end());
  return ends;
}

}  // namespace

namespace {

/// What the file format would refuse, an edit may not do either. Large and foreign values are left out of the
/// check: they were checked when they were read, and writing them out would take longer than simulating.
std::optional<sim::Error> problem_of(sim::Scenario scenario, std::string_view name) {
  constexpr std::int64_t kMostValues = 4'096;
  const bool listed = scenario.tensor.values == sim::ValueSource::List;
  if (scenario.tensor.values == sim::ValueSource::File ||
      (listed && scenario.tensor.shape.count() * scenario.world_size() > kMostValues)) {
    scenario.tensor.values = sim::ValueSource::Index;
    scenario.tensor.list.clear();
  }
  const auto checked = sim::parse_scenario(sim::to_toml(scenario), name);
  if (checked) return std::nullopt;
  return checked.error();
}

}  // namespace

std::int64_t same_place(const sim::Trace& from, std::int64_t t, const sim::Trace& to) {
  if (t <= 0) return 0;
  if (t >= from.end_time()) return to.end_time();
  const auto old_ends = ring_step_ends(from), new_ends = ring_step_ends(to);
  const auto whole = [&] {
    return static_cast<std::int64_t>(static_cast<double>(t) / static_cast<double>(from.end_time()) *
                                     static_cast<double>(to.end_time()));
  };
  if (old_ends.empty() || new_ends.empty()) return whole();
  const auto passed =
      static_cast<std::size_t>(std::upper_bound(old_ends.begin(), old_ends.end(), t) - old_ends.begin());
  if (passed >= old_ends.size()) return to.end_time();
  if (passed >= new_ends.size()) return new_ends.back();
  const std::int64_t a = passed == 0 ? 0 : old_ends[passed - 1], b = old_ends[passed];
  const std::int64_t c = passed == 0 ? 0 : new_ends[passed - 1], d = new_ends[passed];
  const double share = b > a ? static_cast<double>(t - a) / static_cast<double>(b - a) : 0.0;
  return c + static_cast<std::int64_t>(share * static_cast<double>(d - c));
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
  const double wanted = std::max(1.0, static_cast<double>(trace.end_time())) / seconds;
  // 1, 2 or 5 times a power of ten, so that the bar reads "1 μs = 0.5 s".
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double k : {1.0, 2.0, 5.0})
    if (wanted <= k * power) return k * power;
  return 10 * power;
}

Session::Session() = default;
Session::~Session() = default;

const sim::Trace& Session::trace() const {
  static const sim::Trace kEmpty;
  return trace_ != nullptr ? *trace_ : kEmpty;
}

const sim::Frame& Session::frame() {
  static const sim::Frame kEmpty;
  return frames_ ? frames_->frame_at(playhead_.t) : kEmpty;
}

// --- opening
// -----------------------------------------------------------------------------------------------------------

void Session::set_problem(const sim::Error& error, const std::string& path, std::string_view text) {
  problem_ = FileProblem{error, path, std::string(line_of(text, error.line))};
}

sim::Status Session::open_file(const std::string& path) {
  if (path.ends_with(".npy")) return open_npy_files({path});
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
  path_ = path;
  open_scenario(std::move(*scenario), file_stem(path));
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

sim::Status Session::open_npy_files(std::vector<std::string> paths) {
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
  path_ = paths.front();
  array = {scenario.tensor.list.front(), file_stem(path_) + ".npy", array.serial + 1};
  open_scenario(std::move(scenario), file_stem(path_));
  return sim::ok();
}

void Session::open_scenario(sim::Scenario scenario, std::string name) {
  name_ = std::move(name);
  undo_.clear();
  redo_.clear();
  last_merge_.clear();
  selection = {};
  if (scene_id == "home") scene_id = "allreduce";
  can_ = {};
  foreign_.reset();
  run(std::move(scenario), false);
}

void Session::open_trace(std::unique_ptr<sim::Trace> trace, std::string name, Abilities can) {
  name_ = std::move(name);
  can_ = can;
  undo_.clear();
  redo_.clear();
  selection = {};
  scenario_.reset();
  frames_.reset();
  simulation_.reset();
  foreign_ = std::move(trace);
  playhead_ = {};
  show(*foreign_);
  playhead_.speed = comfortable_speed(*foreign_) / 1e9;
}

// --- simulating
// --------------------------------------------------------------------------------------------------------

void Session::run(sim::Scenario scenario, bool keep_place) {
  if (simulating()) {  // the latest wish counts
    next_job_ = {std::move(scenario), keep_place};
    return;
  }
  if (simulation_cost(scenario) < kBackgroundCost) {
    auto simulation = std::make_unique<sim::Simulation>(sim::simulate(scenario));
    take(std::move(simulation), std::move(scenario), keep_place);
    return;
  }
  job_wall_ns_ = 0;
  job_ = std::async(std::launch::async, [scenario = std::move(scenario), keep_place]() mutable {
    auto simulation = std::make_unique<sim::Simulation>(sim::simulate(scenario));
    return Job{std::move(simulation), std::move(scenario), keep_place};
  });
}

void Session::take(std::unique_ptr<sim::Simulation> simulation, sim::Scenario scenario, bool keep_place) {
  const bool keep = keep_place && trace_ != nullptr;
  const std::int64_t t = keep ? same_place(trace(), playhead_.t, simulation->trace) : 0;
  frames_.reset();
  simulation_ = std::move(simulation);
  scenario_ = std::move(scenario);
  show(simulation_->trace);
  if (keep) {
    playhead_.t = t;
  } else {
    playhead_ = {};
    playhead_.speed = comfortable_speed(trace()) / 1e9;
  }
}

void Session::show(const sim::Trace& trace) {
  trace_ = &trace;
  frames_ = std::make_unique<sim::FrameSource>(trace);
  ++generation_;
}

void Session::finish_simulation() {
  while (simulating()) {
    job_.wait();
    update(0);
  }
}

bool Session::update(std::int64_t wall_ns) {
  bool changed = false;
  if (simulating()) {
    job_wall_ns_ += wall_ns;
    if (job_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      Job job = job_.get();
      take(std::move(job.simulation), std::move(job.scenario), job.keep_place);
      if (next_job_) {
        auto next = std::move(*next_job_);
        next_job_.reset();
        run(std::move(next.first), next.second);
      }
      changed = true;
    }
  }
  const bool moved = has_trace() && playhead_.advance(wall_ns, end_time());
  lessons.hold(*this);
  return moved || changed;
}

// --- actions
// -----------------------------------------------------------------------------------------------------------

void Session::edit(const action::EditScenario& edit) {
  if (!scenario_) {
    if (!can_.can_edit()) notices.push_back({NoticeKind::Warning, tr(can_.edit_why_not)});
    return;
  }
  const sim::Scenario before = next_job_ ? next_job_->first : *scenario_;
  sim::Scenario changed = before;
  edit.change(changed);
  if (const auto problem = problem_of(changed, name_)) {
    notices.push_back({NoticeKind::Error, sim::escape_for_display(problem->message())});
    return;
  }
  const bool merges = !edit.merge.empty() && edit.merge == last_merge_ && !undo_.empty();
  if (!merges) undo_.push_back(before);
  if (undo_.size() > kMaxUndo) undo_.erase(undo_.begin());
  redo_.clear();
  last_merge_ = edit.merge;
  playhead_.mode = sim::PlayMode::Paused;
  run(std::move(changed), true);
}

void Session::step(int direction) {
  playhead_.mode = sim::PlayMode::Paused;
  playhead_.t = direction > 0 ? sim::next_time(trace(), playhead_.unit, playhead_.t)
                              : sim::previous_time(trace(), playhead_.unit, playhead_.t);
}

namespace {
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;
}  // namespace

bool Session::apply(const Action& action) {
  const auto seek = [&](std::int64_t t) {
    playhead_.mode = sim::PlayMode::Paused;
    playhead_.t = std::clamp<std::int64_t>(t, 0, end_time());
  };
  const auto travel = [&](std::vector<sim::Scenario>& from, std::vector<sim::Scenario>& to) {
    if (from.empty() || !scenario_ || simulating()) return;
    to.push_back(*scenario_);
    sim::Scenario target = std::move(from.back());
    from.pop_back();
    last_merge_.clear();
    run(std::move(target), true);
  };
  return std::visit(Overloaded{
                        [&](const action::TogglePlay&) {
                          if (playhead_.mode == sim::PlayMode::Playing) {
                            playhead_.mode = sim::PlayMode::Paused;
                          } else if (has_trace()) {
                            if (playhead_.t >= end_time()) playhead_.t = 0;
                            playhead_.mode = sim::PlayMode::Playing;
                          }
                          return true;
                        },
                        [&](const action::Pause&) {
                          playhead_.mode = sim::PlayMode::Paused;
                          return true;
                        },
                        [&](const action::StepBy& a) {
                          if (has_trace()) step(a.direction);
                          return true;
                        },
                        [&](const action::SeekTo& a) {
                          seek(a.t);
                          return true;
                        },
                        [&](const action::SeekStart&) {
                          seek(0);
                          return true;
                        },
                        [&](const action::SeekEnd&) {
                          seek(end_time());
                          return true;
                        },
                        [&](const action::Follow&) {
                          playhead_.mode = sim::PlayMode::Follow;
                          return true;
                        },
                        [&](const action::SetSpeed& a) {
                          playhead_.speed = a.simulated_ns_per_s / 1e9;
                          return true;
                        },
                        [&](const action::SetLoop& a) {
                          playhead_.loop = a.on;
                          return true;
                        },
                        [&](const action::SetStepUnit& a) {
                          playhead_.unit = a.unit;
                          return true;
                        },
                        [&](const action::ShowScene& a) {
                          if (find_scene(a.id) != nullptr) scene_id = a.id;
                          return true;
                        },
                        [&](const action::OpenFile& a) {
                          static_cast<void>(open_file(a.path));
                          return true;
                        },
                        [&](const action::Select& a) {
                          selection = a.selection;
                          return true;
                        },
                        [&](const action::ShowNotice& a) {
                          notices.push_back(a.notice);
                          return true;
                        },
                        [&](const action::EditScenario& a) {
                          edit(a);
                          return true;
                        },
                        [&](const action::Undo&) {
                          travel(undo_, redo_);
                          return true;
                        },
                        [&](const action::Redo&) {
                          travel(redo_, undo_);
                          return true;
                        },
                        [&](const action::Custom& a) {
                          a.run(*this);
                          return true;
                        },
                        [&](const auto&) { return false; },
                    },
                    action);
}

}  // namespace ringside::app
