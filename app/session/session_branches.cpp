// Changing what is simulated: edits with undo and redo, faults by hand, branches and their comparison.
#include <algorithm>

#include "app/session/breaks.hpp"
#include "app/session/session.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr std::size_t kMaxUndo = 200;

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

/// Commands that still mean something after an edit: a rank may be gone.
std::vector<sim::Command> those_that_fit(std::vector<sim::Command> commands, const sim::Scenario& scenario) {
  std::erase_if(commands, [&](const sim::Command& command) {
    sim::Fault fault = command.fault;
    fault.at_ns = command.t;
    return sim::check_fault(fault, scenario).has_value();
  });
  return commands;
}

bool same_commands(const std::vector<sim::Command>& a, const std::vector<sim::Command>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const sim::Command& x, const sim::Command& y) {
    return x.t == y.t && x.fault == y.fault;
  });
}

/// Until when two branches cannot differ: before the first command that only one of them has.
std::int64_t common_past(const Branch& a, const Branch& b) {
  if (branch_id(a.scenario, {}) != branch_id(b.scenario, {})) return 0;
  std::size_t i = 0;
  const auto same = [&] {
    return a.commands[i].t == b.commands[i].t && a.commands[i].fault == b.commands[i].fault;
  };
  while (i < a.commands.size() && i < b.commands.size() && same()) ++i;
  std::int64_t t = INT64_MAX;
  if (i < a.commands.size()) t = std::min(t, a.commands[i].t);
  if (i < b.commands.size()) t = std::min(t, b.commands[i].t);
  return t;
}

bool is_about(const sim::Fault& fault, const Selection& selection) {
  if (selection.link_from >= 0) return fault.from == selection.link_from && fault.to == selection.link_to;
  if (selection.rank >= 0) return fault.rank == selection.rank;
  return selection.node >= 0 && fault.node == selection.node;
}

}  // namespace

// --- edits
// -------------------------------------------------------------------------------------------------------------

Change::Made Session::latest() const {
  const Document& document = front();
  const auto wanted = [&](const Wish& wish) {
    return !wish.opens && !wish.beside && wish.document == document.number && wish.branch == document.branch;
  };
  for (auto wish = waiting_.rbegin(); wish != waiting_.rend(); ++wish)
    if (wanted(*wish)) return {wish->scenario, wish->commands};
  if (simulating() && wanted(job_wish_)) return {job_wish_.scenario, job_wish_.commands};
  return {document.current()->scenario, document.current()->commands};
}

void Session::edit(const action::EditScenario& edit) {
  Document& document = front();
  if (document.current() == nullptr) {
    if (!document.can.can_edit()) notices.push_back({NoticeKind::Warning, tr(document.can.edit_why_not)});
    return;
  }
  Change::Made before = latest();
  sim::Scenario changed = before.scenario;
  edit.change(changed);
  if (const auto problem = problem_of(changed, document.name)) {
    notices.push_back({NoticeKind::Error, sim::escape_for_display(problem->message())});
    return;
  }
  Wish wish;
  wish.document = document.number;
  wish.branch = document.branch;
  wish.commands = those_that_fit(before.commands, changed);
  wish.scenario = std::move(changed);
  wish.place = Place::SamePlace;
  const bool merges = !edit.merge.empty() && edit.merge == document.last_merge && !document.undo.empty();
  wish.undoable = !merges;
  if (!merges) document.undo.push_back({document.branch, std::move(before)});
  if (document.undo.size() > kMaxUndo) document.undo.erase(document.undo.begin());
  document.redo.clear();
  document.last_merge = edit.merge;
  document.playhead.mode = sim::PlayMode::Paused;
  run(std::move(wish));
}

void Session::travel(std::vector<Change> Document::*from, std::vector<Change> Document::*to) {
  Document& document = front();
  if ((document.*from).empty() || document.current() == nullptr || simulating()) return;
  Change target = std::move((document.*from).back());
  (document.*from).pop_back();
  document.last_merge.clear();
  Change back{document.branch, std::nullopt};
  if (!target.made) {
    (document.*to).push_back(std::move(back));
    switch_branch(target.branch);
    return;
  }
  back.made = Change::Made{document.current()->scenario, document.current()->commands};
  (document.*to).push_back(std::move(back));
  Wish wish;
  wish.document = document.number;
  wish.branch = target.branch;
  wish.scenario = std::move(target.made->scenario);
  wish.commands = std::move(target.made->commands);
  wish.place = Place::SamePlace;
  run(std::move(wish));
}

// --- branches
// -------------------------------------------------------------------------------------------------------------

std::vector<sim::Fault> Session::faults() const {
  const Branch* branch = front().current();
  return branch == nullptr ? std::vector<sim::Fault>() : faults_of(branch->scenario, branch->commands);
}

std::string Session::fork_why_not() const {
  if (front().current() != nullptr) return {};
  return tr(front().can.can_fork() ? std::string_view("branch.real_run") : front().can.fork_why_not);
}

std::vector<BreakChoice> Session::break_choices(const Selection& target) {
  if (front().current() == nullptr || !frames_) return {};
  const std::int64_t t = front().playhead.t;
  const std::vector<sim::Fault> there = faults();
  return app::break_choices(target,
                            {front().current()->scenario, frames_->frame_at(t - 1), t, end_time(), there});
}

void Session::inject(const sim::Fault& given) {
  const Branch* branch = front().current();
  if (branch == nullptr || !frames_) {
    notices.push_back({NoticeKind::Warning, fork_why_not()});
    return;
  }
  const std::int64_t t = front().playhead.t;
  const std::vector<sim::Fault> there = faults();
  const std::string why_not =
      why_not_break(given, {branch->scenario, frames_->frame_at(t - 1), t, end_time(), there});
  if (!why_not.empty()) {
    notices.push_back({NoticeKind::Warning, why_not});
    return;
  }
  sim::Command command{t, given};
  command.fault.at_ns = t;
  command.fault.line = 0;
  std::vector<sim::Command> commands = branch->commands;
  const auto after = std::upper_bound(commands.begin(), commands.end(), t,
                                      [](std::int64_t time, const sim::Command& c) { return time < c.t; });
  commands.insert(after, std::move(command));
  fork(branch->scenario, std::move(commands), t);
}

void Session::remove_fault(int index) {
  const Branch* branch = front().current();
  if (branch == nullptr) {
    notices.push_back({NoticeKind::Warning, fork_why_not()});
    return;
  }
  const std::vector<sim::Fault> all = faults();
  if (index < 0) {
    const std::int64_t t = front().playhead.t;
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      const sim::Fault& fault = all[static_cast<std::size_t>(i)];
      const bool chosen =
          selection == Selection{} ? fault.at_ns.value_or(0) <= t : is_about(fault, selection);
      if (chosen) index = i;
    }
    if (index < 0 && selection == Selection{}) index = static_cast<int>(all.size()) - 1;
  }
  if (index < 0 || index >= static_cast<int>(all.size())) {
    notices.push_back({NoticeKind::Info, tr("branch.no_fault")});
    return;
  }
  sim::Scenario scenario = branch->scenario;
  std::vector<sim::Command> commands = branch->commands;
  const int own = static_cast<int>(scenario.faults.size());
  if (index < own)
    scenario.faults.erase(scenario.faults.begin() + index);
  else
    commands.erase(commands.begin() + (index - own));
  fork(std::move(scenario), std::move(commands), all[static_cast<std::size_t>(index)].at_ns.value_or(0));
}

void Session::say_if_nothing_changed(const Document& document, int index, std::int64_t t) {
  const Branch& branch = document.branches[static_cast<std::size_t>(index)];
  const Branch& parent = document.branches[static_cast<std::size_t>(branch.parent)];
  if (!parent.simulation || sim::first_difference(parent.simulation->trace, branch.simulation->trace, t))
    return;
  for (const sim::Command& command : branch.commands)
    if (command.t == t)
      notices.push_back({NoticeKind::Info, tr("branch.no_effect", {fault_name(command.fault)})});
}

void Session::fork(sim::Scenario scenario, std::vector<sim::Command> commands, std::int64_t at) {
  Document& document = front();
  document.playhead.mode = sim::PlayMode::Paused;
  const bool adds = commands.size() > document.current()->commands.size();
  const std::string id = branch_id(scenario, commands);
  for (std::size_t i = 0; i < document.branches.size(); ++i) {
    const Branch& other = document.branches[i];
    if (!same_commands(other.commands, commands) || branch_id(other.scenario, other.commands) != id) continue;
    if (static_cast<int>(i) != document.branch) document.undo.push_back({document.branch, std::nullopt});
    switch_branch(static_cast<int>(i));  // this future is known
    return;
  }
  if (static_cast<int>(document.branches.size()) >= kMaxBranches) {
    notices.push_back({NoticeKind::Warning, tr("branch.too_many", {std::to_string(kMaxBranches)})});
    return;
  }
  document.undo.push_back({document.branch, std::nullopt});
  document.redo.clear();
  document.last_merge.clear();
  Branch branch;
  branch.scenario = scenario;
  branch.commands = commands;
  branch.parent = document.branch;
  branch.forked_at = at;
  document.branches.push_back(std::move(branch));
  Wish wish;
  wish.document = document.number;
  wish.branch = static_cast<int>(document.branches.size()) - 1;
  wish.scenario = std::move(scenario);
  wish.commands = std::move(commands);
  wish.place = Place::SameTime;
  wish.forked_at = adds ? at : -1;
  wish.undoable = true;
  run(std::move(wish));
}

void Session::switch_branch(int index) {
  Document& document = front();
  if (index < 0 || index >= static_cast<int>(document.branches.size()) || index == document.branch) return;
  const Branch& branch = document.branches[static_cast<std::size_t>(index)];
  if (!branch.simulation) {
    Wish wish;
    wish.document = document.number;
    wish.branch = index;
    wish.scenario = branch.scenario;
    wish.commands = branch.commands;
    wish.place = Place::SameTime;
    run(std::move(wish));
    return;
  }
  if (document.compared == index) document.compared = document.branch;  // the two change places
  document.branch = index;
  document.playhead.mode = sim::PlayMode::Paused;
  show();
  document.playhead.t = std::clamp<std::int64_t>(document.playhead.t, 0, end_time());
}

// --- comparing
// -------------------------------------------------------------------------------------------------------------

void Session::compare(int with) {
  Document& document = front();
  if (with >= static_cast<int>(document.branches.size()) || with == document.branch) return;
  document.compared = std::max(-1, with);
  if (with >= 0 && !document.branches[static_cast<std::size_t>(with)].simulation) {
    const Branch& branch = document.branches[static_cast<std::size_t>(with)];
    Wish wish;
    wish.document = document.number;
    wish.branch = with;
    wish.scenario = branch.scenario;
    wish.commands = branch.commands;
    wish.beside = true;
    run(std::move(wish));
    return;
  }
  refresh_comparison();
}

void Session::refresh_comparison() {
  Document& document = front();
  compared_frames_.reset();
  compared_shown_.reset();
  difference_.reset();
  if (document.compared == document.branch || document.compared >= static_cast<int>(document.branches.size()))
    document.compared = -1;
  if (document.compared < 0 || !shown_) return;
  const Branch& other = document.branches[static_cast<std::size_t>(document.compared)];
  if (!other.simulation) return;
  compared_shown_ = other.simulation;
  compared_frames_ = std::make_unique<sim::FrameSource>(compared_shown_->trace);
  const std::int64_t past = common_past(*document.current(), other);
  if (past < INT64_MAX) difference_ = sim::first_difference(shown_->trace, compared_shown_->trace, past);
  ++compared_generation_;
}

const sim::Trace& Session::compared_trace() const {
  static const sim::Trace kEmpty;
  return compared_shown_ ? compared_shown_->trace : kEmpty;
}

const sim::Frame& Session::compared_frame() {
  static const sim::Frame kEmpty;
  if (!compared_frames_) return kEmpty;
  return compared_frames_->frame_at(std::min(front().playhead.t, compared_trace().end_time()));
}

}  // namespace ringside::app
