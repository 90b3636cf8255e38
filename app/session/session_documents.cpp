// Simulating in front or on a thread of its own, and what is done with the result: documents and the trace on
// screen.
#include <algorithm>
#include <chrono>

#include "app/session/session.hpp"

namespace ringside::app {
namespace {

/// Traces of branches that are not on screen may take so much memory (48 bytes an event, and its numbers).
constexpr std::size_t kMostKeptEvents = 8'000'000;

}  // namespace

Document* Session::find(std::uint64_t number) {
  for (const auto& document : documents_)
    if (document->number == number) return document.get();
  return nullptr;
}

// --- simulating
// --------------------------------------------------------------------------------------------------------

void Session::run(Wish wish) {
  if (simulating()) {
    // The latest wish for a branch counts; the simulation that it makes needless stops.
    const auto same = [&](const Wish& other) {
      return !other.opens && !wish.opens && other.document == wish.document && other.branch == wish.branch;
    };
    std::erase_if(waiting_, same);
    if (same(job_wish_)) running_->stop = true;
    waiting_.push_back(std::move(wish));
    return;
  }
  if (simulation_cost(wish.scenario) < kBackgroundCost) {
    auto simulation = std::make_shared<const sim::Simulation>(sim::simulate(wish.scenario, wish.commands));
    take(std::move(wish), std::move(simulation));
    return;
  }
  job_wall_ns_ = 0;
  running_ = std::make_shared<Running>();
  running_->steps = wish.scenario.training.steps;
  job_ = std::async(std::launch::async, [scenario = wish.scenario, commands = wish.commands, at = running_] {
    return sim::simulate_watched(scenario, commands, [&](const sim::SimulationProgress& progress) {
      at->step = progress.step;
      at->t = progress.t_ns;
      at->events = progress.events;
      return !at->stop;
    });
  });
  job_wish_ = std::move(wish);
}

void Session::start_next() {
  while (!simulating() && !waiting_.empty()) {
    Wish next = std::move(waiting_.front());
    waiting_.pop_front();
    run(std::move(next));
  }
}

sim::SimulationProgress Session::simulation_progress() const {
  if (!running_) return {};
  return {running_->step, running_->steps, running_->t, running_->events};
}

void Session::finish_simulation() {
  while (simulating()) {
    job_.wait();
    update(0);
  }
  if (incidents_.reading()) {
    incidents_.wait();
    update(0);
  }
}

namespace {

/// A job of many training steps is watched step by step, not as a whole.
void set_pace(sim::Playhead& playhead, const sim::TrainingSpec& training, const sim::Trace& trace) {
  constexpr std::int64_t kManySteps = 10;
  constexpr double kSecondsAStep = 6;
  playhead.speed = comfortable_speed(trace) / 1e9;
  if (!training.network.enabled) return;
  if (training.steps > 1) playhead.unit = sim::StepUnit::Phase;
  if (training.steps >= kManySteps)
    playhead.speed = comfortable_speed(trace, kSecondsAStep * static_cast<double>(training.steps)) / 1e9;
}

}  // namespace

void Session::take(Wish wish, std::shared_ptr<const sim::Simulation> simulation) {
  const bool opens = wish.opens != nullptr;
  Document* document = opens ? wish.opens.get() : find(wish.document);
  if (document == nullptr) return;  // closed meanwhile
  if (document->branches.size() <= static_cast<std::size_t>(wish.branch))
    document->branches.resize(static_cast<std::size_t>(wish.branch) + 1);
  const Branch* old = opens ? nullptr : document->current();
  const std::shared_ptr<const sim::Simulation> before = old != nullptr ? old->simulation : nullptr;
  Branch& branch = document->branches[static_cast<std::size_t>(wish.branch)];
  branch.scenario = std::move(wish.scenario);
  branch.commands = std::move(wish.commands);
  branch.simulation = std::move(simulation);
  const sim::Trace& trace = branch.simulation->trace;
  sim::Playhead& playhead = document->playhead;
  if (!wish.beside) {
    document->branch = wish.branch;
    if (wish.place == Place::SamePlace && before) playhead.t = same_place(before->trace, playhead.t, trace);
    if (wish.place == Place::Start) {
      playhead = {};
      set_pace(playhead, branch.scenario.training, trace);
    }
    playhead.t = std::clamp<std::int64_t>(playhead.t, 0, trace.end_time());
  }
  if (opens) {
    place_document(std::move(wish.opens), wish.new_tab);
  } else if (document == &front()) {
    if (wish.beside)
      refresh_comparison();
    else
      show();
  }
  if (document == &front() && wish.forked_at >= 0)
    say_if_nothing_changed(*document, wish.branch, wish.forked_at);
  put_away_traces();
}

void Session::take_cancelled(const Wish& wish) {
  Document* document = wish.opens ? nullptr : find(wish.document);
  if (document == nullptr) return;
  const bool replaced = std::any_of(waiting_.begin(), waiting_.end(), [&](const Wish& next) {
    return next.document == wish.document && next.branch == wish.branch;
  });
  if (replaced) return;
  if (wish.undoable && !document->undo.empty()) document->undo.pop_back();
  document->last_merge.clear();
  // A branch that has never been seen is none.
  if (wish.branch + 1 == static_cast<int>(document->branches.size()) && wish.branch != document->branch &&
      !document->branches.back().simulation && !wish.beside)
    document->branches.pop_back();
  if (wish.beside) document->compared = -1;
}

void Session::put_away_traces() {
  const auto events = [](const Branch& branch) {
    return branch.simulation ? branch.simulation->trace.size() : 0;
  };
  std::size_t kept = 0;
  for (const auto& document : documents_)
    for (const Branch& branch : document->branches) kept += events(branch);
  for (const auto& document : documents_)
    for (std::size_t i = 0; i < document->branches.size() && kept > kMostKeptEvents; ++i) {
      Branch& branch = document->branches[i];
      const bool on_screen = document.get() == &front() && (static_cast<int>(i) == document->branch ||
                                                            static_cast<int>(i) == document->compared);
      if (on_screen) continue;
      kept -= events(branch);
      branch.simulation.reset();
    }
}

// --- documents
// ---------------------------------------------------------------------------------------------------------

void Session::place_document(std::unique_ptr<Document> document, bool new_tab) {
  document->number = next_number_++;
  front().scene_id = scene_id;
  front().selection = selection;
  if (new_tab && !document->path.empty())  // the same file again: read anew in its own tab
    for (std::size_t i = 0; i < documents_.size(); ++i)
      if (documents_[i]->path == document->path && documents_[i]->untouched()) {
        front_ = static_cast<int>(i);
        new_tab = false;
        break;
      }
  const bool replaces =
      !has_trace() || (!new_tab && (front().untouched() || (front().of_lesson && document->of_lesson)));
  if (replaces) {
    scene_id = document->scene_id;
    selection = document->selection;
    documents_[static_cast<std::size_t>(front_)] = std::move(document);
    show();
    return;
  }
  if (static_cast<int>(documents_.size()) >= kMaxTabs) {
    const auto old = std::find_if(documents_.begin(), documents_.end(), [&](const auto& other) {
      return other->untouched() && other.get() != &front();
    });
    if (old == documents_.end()) {
      notices.push_back({NoticeKind::Warning, tr("tabs.too_many", {std::to_string(kMaxTabs)})});
      return;
    }
    documents_.erase(old);
  }
  documents_.push_back(std::move(document));
  front_ = -1;
  bring_to_front(static_cast<int>(documents_.size()) - 1);
}

void Session::bring_to_front(int index) {
  if (index < 0 || index >= static_cast<int>(documents_.size()) || index == front_) return;
  if (front_ >= 0) {
    front().scene_id = scene_id;
    front().selection = selection;
    if (front().playhead.mode != sim::PlayMode::Follow) front().playhead.mode = sim::PlayMode::Paused;
  }
  front_ = index;
  scene_id = front().scene_id;
  selection = front().selection;
  problem_.reset();
  const Branch* branch = front().current();
  if (branch != nullptr && !branch->simulation) {  // it was put away
    show();
    Wish wish;
    wish.document = front().number;
    wish.branch = front().branch;
    wish.scenario = branch->scenario;
    wish.commands = branch->commands;
    wish.place = Place::SameTime;
    run(std::move(wish));
    return;
  }
  show();
}

void Session::close_tab(int index) {
  if (index < 0 || index >= static_cast<int>(documents_.size())) return;
  const std::uint64_t number = documents_[static_cast<std::size_t>(index)]->number;
  std::erase_if(waiting_, [&](const Wish& wish) { return !wish.opens && wish.document == number; });
  if (running_ && !job_wish_.opens && job_wish_.document == number) running_->stop = true;
  if (documents_.size() == 1) {
    documents_.front() = std::make_unique<Document>();
    documents_.front()->number = next_number_++;
    scene_id = "home";
    selection = {};
    show();
    return;
  }
  if (index != front_) {
    documents_.erase(documents_.begin() + index);
    if (index < front_) --front_;
    return;
  }
  const int next = index + 1 < static_cast<int>(documents_.size()) ? index + 1 : index - 1;
  bring_to_front(next);
  documents_.erase(documents_.begin() + index);
  if (next > index) --front_;
}

void Session::show() {
  const Branch* branch = front().current();
  frames_.reset();
  shown_ = branch != nullptr ? branch->simulation : nullptr;
  trace_ = front().foreign ? front().foreign.get() : shown_ ? &shown_->trace : nullptr;
  axis_ = trace_ != nullptr && !front().grows ? TimeAxis(*trace_) : TimeAxis();
  if (trace_ != nullptr) frames_ = std::make_unique<sim::FrameSource>(*trace_);
  ++generation_;
  refresh_comparison();
}

}  // namespace ringside::app
