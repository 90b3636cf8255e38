#include "backend/live/rank_log.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "backend/live/line_maker.hpp"

namespace ringside::backend {

using sim::EventType;
using sim::Phase;

namespace {

/// "2026-11-30T23:03:42.123", UTC.
std::string stamp(std::int64_t unix_ns) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char date[32], all[40];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(all, sizeof all, "%s.%03d", date, static_cast<int>(unix_ns / 1'000'000 % 1'000));
  return all;
}

std::string milliseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(ns) / 1e6);
  return text;
}

}  // namespace

void RankLog::begin() {
  if (folder_.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  const std::string path = folder_ + "/rank_" + std::to_string(shared_.rank.load()) + ".log";
  file_.open(path, std::ios::binary | std::ios::trunc);
  if (!file_) {
    std::fprintf(stderr, "ringside-rank: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
    return;
  }
}

void RankLog::add(const Record& record) {
  if (!file_.is_open()) return;
  const sim::Event& e = record.event;
  const std::int64_t at = e.t + origin_;
  introduce(at);
  switch (e.type) {
    case EventType::PhaseBegin:
      if (e.phase.phase != Phase::Forward) break;
      step_ = e.phase.step;
      began_ = e.t;
      in_collectives_ = 0;
      has_loss_ = false;
      break;
    case EventType::PhaseEnd:
      if ((e.phase.has & sim::kHasLoss) != 0) {
        has_loss_ = true;
        loss_ = e.phase.loss;
      }
      if (e.phase.phase == Phase::Optimizer) step_done(e.t);
      break;
    case EventType::CollectiveStarted:
      collective_began_ = e.t;
      break;
    case EventType::CollectiveFinished:
      if (collective_began_ >= 0) in_collectives_ += e.t - collective_began_;
      collective_began_ = -1;
      break;
    case EventType::NanFound:
      line(at, "Rank " + std::to_string(shared_.rank.load()) +
                   ": found NaN in local gradient before the all-reduce, element " +
                   std::to_string(e.nan.index) + ", step " + std::to_string(e.nan.step) +
                   ", node: " + shared_.host);
      break;
    case EventType::LogLine:
      line(at, record.text);
      break;
    default:
      break;
  }
}

void RankLog::introduce(std::int64_t at_unix_ns) {
  if (std::exchange(introduced_, true)) return;
  line(at_unix_ns, "rank " + std::to_string(shared_.rank.load()) + " of " +
                       std::to_string(shared_.world_size.load()) + " on " + shared_.host + ", local rank " +
                       std::to_string(shared_.local_rank) + ", pid " + pid_);
}

void RankLog::step_done(std::int64_t t) {
  if (began_ < 0) return;
  std::string text = "step " + std::to_string(step_);
  if (has_loss_) {
    char loss[32];
    if (std::isfinite(loss_))
      std::snprintf(loss, sizeof loss, " loss %.5f", loss_);
    else
      std::snprintf(loss, sizeof loss, " loss %s", std::isnan(loss_) ? "nan" : "inf");
    text += loss;
  }
  const std::int64_t computing = t - began_ - in_collectives_;
  line(t + origin_,
       text + " compute " + milliseconds(computing) + " all_reduce " + milliseconds(in_collectives_));
  began_ = -1;
}

void RankLog::ended(bool by_signal, int code, bool ended_by_us) {
  if (!file_.is_open()) return;
  introduce(unix_ns());
  const std::string rank = std::to_string(shared_.rank.load());
  if (ended_by_us)  // it would look killed, and it was stopped
    line(unix_ns(), "rank " + rank + " (pid " + pid_ +
                        ") was stopped for longer than the watchdog waits; its supervisor ended it");
  else if (by_signal)
    line(unix_ns(), "ringside-rank noticed that process rank " + rank + " with PID " + pid_ + " on node " +
                        shared_.host + " exited on signal " + std::to_string(code) + " (" +
                        ::strsignal(code) + ").");
  else
    line(unix_ns(), "process " + pid_ + " of rank " + rank + " ended with exit code " + std::to_string(code));
}

void RankLog::line(std::int64_t at_unix_ns, std::string_view text) {
  file_ << stamp(at_unix_ns) << " | [rank" << shared_.rank.load() << "]: " << text << '\n' << std::flush;
}

}  // namespace ringside::backend
