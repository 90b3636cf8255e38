// What a rank prints, in a file of its own, as a training program under a launcher leaves it: who it is, its
// steps with loss and times, the stack's error texts, and how its process ended. For people who have only the
// log; the trace says more.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "backend/live/telemetry.hpp"

namespace ringside::backend {

class RankLog {
 public:
  /// Writes `folder`/rank_<R>.log; the folder is made if it is missing. An empty folder writes nothing.
  /// `pid` is the worker's.
  RankLog(const SharedRank& shared, int pid, std::string folder, std::int64_t origin_unix_ns)
      : shared_(shared), pid_(std::to_string(pid)), folder_(std::move(folder)), origin_(origin_unix_ns) {}

  /// Opens the file. Call when SharedRank is ready.
  void begin();
  /// Whatever a program would print of this record; most print nothing.
  void add(const Record& record);
  /// `ended_by_us`: the process was stopped and its supervisor ended it.
  void ended(bool by_signal, int code, bool ended_by_us);

 private:
  void line(std::int64_t at_unix_ns, std::string_view text);
  /// The first line: rank, host, process. Stamped as the first record, for the file to be in order.
  void introduce(std::int64_t at_unix_ns);
  void step_done(std::int64_t t);

  const SharedRank& shared_;
  std::string pid_, folder_;
  std::int64_t origin_;
  std::ofstream file_;
  // The step that is running, times in ns of the trace.
  std::int64_t step_ = 0, began_ = -1, in_collectives_ = 0, collective_began_ = -1;
  double loss_ = 0;
  bool has_loss_ = false, introduced_ = false;
};

}  // namespace ringside::backend
