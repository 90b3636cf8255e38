// Reading the logs, dumps or recording of a job that died: on a thread of its own, with progress that counts
// things, first findings early, and a way to cancel. No ImGui; used from the main thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/scenes/incident_lanes.hpp"
#include "backend/import/diagnose.hpp"
#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::app {

class Session;

/// How far the reading is.
struct ReadingProgress {
  int files_done = 0, files_total = 0;  // total 0: still looking for files
  std::int64_t bytes_done = 0, bytes_total = 0;
  int found_count = 0;
  std::vector<backend::EarlyFinding> found;  // the first few lines that name a cause or a rank
};
inline constexpr std::size_t kEarlyFindings = 6;

class IncidentDesk {
 public:
  IncidentDesk() = default;
  ~IncidentDesk();
  IncidentDesk(const IncidentDesk&) = delete;
  IncidentDesk& operator=(const IncidentDesk&) = delete;

  /// Starts to read files and folders; what was being read before is given up.
  void open(std::vector<std::string> paths);
  /// Gives up reading; what was open before stays.
  void cancel();
  bool reading() const { return job_ != nullptr; }
  ReadingProgress progress() const;
  /// Blocks until nothing is being read.
  void wait();
  /// Takes up what the thread has finished; a trace or an incident is opened in the session. True if
  /// something changed.
  bool update(Session& session);

  /// Shows the incident's own timeline (again).
  void show(Session& session) const;

  /// The incident on the desk; null before the first one.
  const backend::Incident* incident() const { return incident_ ? &*incident_ : nullptr; }
  const IncidentPicture& picture() const { return picture_; }
  /// Why the last reading gave nothing.
  const std::optional<sim::Error>& error() const { return error_; }
  void clear_error() { error_.reset(); }
  const std::vector<std::string>& paths() const { return paths_; }
  /// Name of what was opened, for the top bar.
  const std::string& name() const { return name_; }
  /// Changes when another incident is on the desk.
  std::uint64_t generation() const { return generation_; }

 private:
  struct Job {
    std::vector<std::string> paths;
    std::atomic<bool> cancel{false}, done{false};
    mutable std::mutex mutex;
    ReadingProgress progress;
    // Written by the thread before `done`.
    std::optional<backend::Incident> incident;
    std::unique_ptr<sim::Trace> trace;  // the paths led to one trace or recording
    std::optional<sim::Error> error, trace_problem;
    std::thread thread;
  };
  static void read(Job& job);
  void bury_dead();

  std::unique_ptr<Job> job_;
  std::vector<std::unique_ptr<Job>> dying_;  // cancelled, not yet joined
  std::optional<backend::Incident> incident_;
  IncidentPicture picture_;
  std::optional<sim::Error> error_;
  std::vector<std::string> paths_;
  std::string name_;
  std::uint64_t generation_ = 0;
};

}  // namespace ringside::app
