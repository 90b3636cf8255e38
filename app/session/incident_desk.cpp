#include "app/session/incident_desk.hpp"

#include <algorithm>
#include <filesystem>

#include "app/scenes/incident_trace.hpp"
#include "app/session/session.hpp"
#include "backend/trace_reader.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

std::string name_of(const std::vector<std::string>& paths) {
  if (paths.empty()) return {};
  std::filesystem::path path(paths.front());
  if (!path.has_filename()) path = path.parent_path();  // "logs/"
  std::string name = path.filename().string();
  if (paths.size() > 1) name += " + " + std::to_string(paths.size() - 1);
  return name;
}

}  // namespace

IncidentDesk::~IncidentDesk() {
  cancel();
  for (const auto& job : dying_)
    if (job->thread.joinable()) job->thread.join();
}

void IncidentDesk::read(Job& job) {
  if (const auto trace = backend::only_a_trace(job.paths)) {
    auto read = backend::read_trace_file(*trace);
    if (read) {
      job.trace = std::make_unique<sim::Trace>(std::move(read->trace));
      job.trace_problem = read->problem;
    } else {
      job.error = read.error();
    }
    job.done.store(true, std::memory_order_release);
    return;
  }
  backend::DiagnoseInput input;
  input.paths = job.paths;
  input.control.cancel = &job.cancel;
  input.control.progress = [&job](const backend::InputProgress& p) {
    const std::lock_guard lock(job.mutex);
    job.progress.files_done = p.files_done;
    job.progress.files_total = p.files_total;
    job.progress.bytes_done = p.bytes_done;
    job.progress.bytes_total = p.bytes_total;
  };
  input.found = [&job](const backend::EarlyFinding& finding) {
    const std::lock_guard lock(job.mutex);
    ++job.progress.found_count;
    if (job.progress.found.size() < kEarlyFindings) job.progress.found.push_back(finding);
  };
  auto incident = backend::diagnose_paths(input);
  if (incident)
    job.incident = std::move(*incident);
  else
    job.error = incident.error();
  job.done.store(true, std::memory_order_release);
}

void IncidentDesk::open(std::vector<std::string> paths) {
  cancel();
  error_.reset();
  if (paths.empty()) return;
  job_ = std::make_unique<Job>();
  job_->paths = std::move(paths);
  job_->thread = std::thread([job = job_.get()] { read(*job); });
}

void IncidentDesk::cancel() {
  if (!job_) return;
  job_->cancel.store(true);
  dying_.push_back(std::move(job_));
  bury_dead();
}

void IncidentDesk::bury_dead() {
  std::erase_if(dying_, [](const std::unique_ptr<Job>& job) {
    if (!job->done.load(std::memory_order_acquire)) return false;
    if (job->thread.joinable()) job->thread.join();
    return true;
  });
}

ReadingProgress IncidentDesk::progress() const {
  if (!job_) return {};
  const std::lock_guard lock(job_->mutex);
  return job_->progress;
}

void IncidentDesk::wait() {
  if (job_ && job_->thread.joinable()) job_->thread.join();
}

bool IncidentDesk::update(Session& session) {
  bury_dead();
  if (!job_ || !job_->done.load(std::memory_order_acquire)) return false;
  if (job_->thread.joinable()) job_->thread.join();
  const std::unique_ptr<Job> job = std::move(job_);
  if (job->error) {
    error_ = job->error;
    return true;
  }
  paths_ = job->paths;
  name_ = name_of(paths_);
  if (job->trace) {
    if (job->trace_problem)
      session.notices.push_back(
          {NoticeKind::Warning,
           tr("incident.trace_cut", {sim::escape_for_display(job->trace_problem->message())})});
    const std::string scene = job->trace->header.source == "live" ? "live" : "allreduce";
    session.scene_id = find_scene(scene) != nullptr ? scene : "incident";
    session.open_trace(std::move(job->trace), name_,
                       {.edit_why_not = "incident.cannot_edit", .fork_why_not = "incident.cannot_edit"});
    session.playhead().t = session.end_time();
    return true;
  }
  incident_ = std::move(job->incident);
  picture_ = picture_of(*incident_);
  ++generation_;
  show(session);
  return true;
}

void IncidentDesk::show(Session& session) const {
  if (!incident_) return;
  session.scene_id = "incident";
  session.open_trace(std::make_unique<sim::Trace>(trace_of(*incident_, picture_)), name_,
                     {.edit_why_not = "incident.cannot_edit", .fork_why_not = "incident.cannot_edit"});
  session.playhead().t = session.end_time();
  session.playhead().unit = sim::StepUnit::Event;
}

}  // namespace ringside::app
