#include "app/session/live_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/i18n/i18n.hpp"
#include "app/session/session.hpp"
#include "backend/trace_reader.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

using namespace std::chrono_literals;
using Duration = std::chrono::steady_clock::duration;

/// The hub sends ten times a second; more often there is nothing new.
constexpr auto kLeastPause = 100ms;
/// A frame that shows what is new may take this share of the time.
constexpr std::int64_t kRestPerCost = 10;
/// A frame's share for reading: a quarter of what drawing takes, within bounds.
constexpr Duration kLeastReading = 6ms, kMostReading = 100ms;
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr int kLeastPieces = 4;  // however busy the machine is
/// More than a batch: the snapshot of a job that runs for long. It is read without a rest.
constexpr std::size_t kBehind = std::size_t{512} << 10;
/// Heartbeats come four times a second: by then every rank has shown what is missing.
constexpr auto kKnowsWhatIsMissing = 1500ms;
constexpr std::size_t kMostSaid = 200;

/// What one window keeps of a job. Beyond it the hub's recording goes on, the picture ends.
constexpr backend::TraceLimits kLimits{.max_header = std::size_t{80} << 20,
                                       .max_line = std::size_t{16} << 20,
                                       .max_events = 8'000'000,
                                       .max_memory = std::size_t{3} << 30};

std::string seconds_text(std::chrono::steady_clock::duration d) {
  return tr("live.seconds", {fmt::format("{:.1f}", std::chrono::duration<double>(d).count())});
}

}  // namespace

LiveDesk::LiveDesk() = default;

LiveDesk::~LiveDesk() {
  client_.reset();
  here_.leave_to_end();  // mpirun and hub take their seconds to end in order; the window does not wait for them
}

// --- watching
// -----------------------------------------------------------------------------------------------------

sim::Status LiveDesk::watch(std::string_view url) {
  auto address = backend::parse_hub_url(url);
  if (!address) {
    sim::Error error = address.error();
    error.text.clear();  // it may hold a token
    return error;
  }
  client_.reset();
  reader_ = std::make_shared<backend::TraceReader>("live", kLimits);
  opened_ = over_ = grew_ = say_what_was_missed_ = false;
  status_ = {};
  host_ = address->host + ":" + address->port;
  cost_ns_ = 0;
  next_growth_ = {};
  connections_seen_ = 0;
  counted_ = 0;
  rank_ended_.clear();
  samples_.clear();
  rate_ = 0;
  client_ = std::make_unique<backend::LiveClient>(std::move(*address));
  return sim::ok();
}

void LiveDesk::leave(Session& session) {
  if (client_) status_ = client_->status();
  client_.reset();
  rate_ = 0;
  if (reader_ && opened_) session.stop_growing(reader_->trace());
  reader_.reset();
}

const sim::Trace* LiveDesk::trace() const {
  return reader_ && reader_->has_header() ? &reader_->trace() : nullptr;
}

sim::Status LiveDesk::order(const sim::Fault& fault) {
  if (!client_) return sim::Error{.what = tr("live.not_connected")};
  return client_->order(fault);
}

bool LiveDesk::update_link(Session& session) {
  const backend::LiveStatus now = client_->status();
  const bool changed = now.link != status_.link || now.text != status_.text ||
                       now.missed != status_.missed || now.may_command != status_.may_command;
  if (now.link == backend::LinkState::Lost && status_.link != backend::LinkState::Lost) lost_at_ = now.since;
  if (now.connections > connections_seen_ && now.link == backend::LinkState::Connected) {
    say_what_was_missed_ = connections_seen_ > 0;
    connections_seen_ = now.connections;
    back_at_ = now.since;
  }
  status_ = now;
  if (!say_what_was_missed_ || Clock::now() - back_at_ < kKnowsWhatIsMissing) return changed;
  say_what_was_missed_ = false;
  const std::string away = seconds_text(back_at_ - lost_at_);
  session.notices.push_back(
      now.missed_since_connected > 0
          ? Notice{NoticeKind::Warning,
                   tr("live.back_missed", {away, sim::with_commas(now.missed_since_connected)})}
          : Notice{NoticeKind::Info, tr("live.back", {away})});
  return true;
}

void LiveDesk::open_document(Session& session) {
  opened_ = true;
  std::shared_ptr<sim::Trace> trace(reader_, &reader_->trace());
  rank_ended_.assign(static_cast<std::size_t>(std::max(0, trace->header.world_size)), false);
  if (session.scene_id == "home") session.scene_id = "live";
  session.open_growing(std::move(trace), host_,
                       {.edit_why_not = "live.cannot_edit", .fork_why_not = "branch.real_run"});
}

void LiveDesk::count_ends() {
  const sim::Trace& trace = reader_->trace();
  for (; counted_ < trace.size(); ++counted_) {
    const sim::Event& e = trace.events()[counted_];
    const auto rank = static_cast<std::size_t>(e.rank());
    if (e.rank() < 0 || rank >= rank_ended_.size()) continue;
    if (e.type == sim::EventType::Exit || e.type == sim::EventType::Left) rank_ended_[rank] = true;
    if (e.type == sim::EventType::Hello) rank_ended_[rank] = false;
  }
}

void LiveDesk::measure_rate() {
  const auto now = Clock::now();
  samples_.emplace_back(now, status_.events);
  while (samples_.size() > 2 && now - samples_.front().first > 2s) samples_.pop_front();
  const double seconds = std::chrono::duration<double>(now - samples_.front().first).count();
  if (seconds > 0.2) rate_ = static_cast<double>(status_.events - samples_.front().second) / seconds;
}

bool LiveDesk::grow(Session& session) {
  const auto began = Clock::now();
  std::size_t before = reader_->trace().size();
  const Duration budget = std::clamp<Duration>(std::chrono::nanoseconds(cost_ns_ / 4), kLeastReading, kMostReading);
  for (int piece = 0; piece < kLeastPieces || Clock::now() - began < budget; ++piece) {
    const std::string lines = client_->take(kPiece);
    if (lines.empty()) break;
    const bool fine = reader_->feed(lines);
    if (!opened_ && reader_->has_header()) open_document(session);
    if (fine) continue;
    session.notices.push_back(
        {NoticeKind::Error,
         tr("live.reading_ends", {sim::escape_for_display(reader_->problem()->message())})});
    leave(session);
    return true;
  }
  grew_ = reader_->trace().size() > before;
  const std::int64_t took =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
  const auto rest = std::chrono::nanoseconds(kRestPerCost * (took + cost_ns_));
  const bool behind = client_->waiting() > kBehind;
  next_growth_ = began + (behind ? Clock::duration(rest / kRestPerCost)
                                 : std::max<Clock::duration>(kLeastPause, std::min<Clock::duration>(rest, 3s)));
  count_ends();
  measure_rate();
  return grew_;
}

bool LiveDesk::update(Session& session) {
  bool changed = update_here(session);
  if (!client_) return changed;
  changed = update_link(session) || changed;
  if (Clock::now() >= next_growth_) changed = grow(session) || changed;
  if (!client_) return true;
  if (opened_ && reader_.use_count() == 1) {  // nobody else holds the trace: its tab was closed
    leave(session);
    stop_here();
    return true;
  }
  const bool all_ended = opened_ && !rank_ended_.empty() &&
                         std::all_of(rank_ended_.begin(), rank_ended_.end(), [](bool ended) { return ended; });
  if (status_.link == backend::LinkState::Lost && client_->waiting() == 0 && (all_ended || over_)) {
    over_ = true;
    leave(session);
    return true;
  }
  return changed;
}

void LiveDesk::note_frame(std::int64_t ns) {
  if (!std::exchange(grew_, false)) return;
  cost_ns_ = (cost_ns_ + ns) / 2;
}

bool LiveDesk::caught_up() const {
  return !client_ || client_->waiting() == 0;
}

double LiveDesk::wake_in() const {
  return client_ || here_running_ ? 0.1 : 1e9;
}

// --- a job of our own
// ---------------------------------------------------------------------------------------------

sim::Status LiveDesk::start_here(const HereOptions& options) {
  const std::string program = program_folder + "/ringside-cli";
  std::error_code error;
  if (program_folder.empty() || !std::filesystem::exists(program, error))
    return sim::Error{.what = tr("live.no_program"), .file = program};
  if (here_running_) return sim::Error{.what = tr("live.already_here")};
  here_said_.clear();
  here_failed_ = here_watched_ = false;
  auto child = backend::Child::start(
      {program, "live", "-n", std::to_string(options.ranks), "--steps", std::to_string(options.steps), "--pace",
       options.pace, "--watchdog", options.watchdog, "--device", options.device, "--dump-dir",
       std::filesystem::temp_directory_path(error).string()},
      {}, true, true);
  if (!child) return child.error();
  here_ = std::move(*child);
  here_running_ = true;
  return sim::ok();
}

void LiveDesk::stop_here() {
  here_.ask_to_end();
}

bool LiveDesk::update_here(Session& session) {
  if (!here_running_) return false;
  const bool runs = here_.running();
  bool changed = !runs;
  for (const std::string& line : here_.lines()) {
    changed = true;
    const std::size_t url = line.find("ringside --watch '");
    if (url == std::string::npos) {
      here_said_.push_back(sim::escape_for_display(line));
      if (here_said_.size() > kMostSaid) here_said_.erase(here_said_.begin());
      continue;
    }
    const std::size_t begin = line.find('\'', url) + 1;
    here_watched_ = static_cast<bool>(watch(std::string_view(line).substr(begin, line.find('\'', begin) - begin)));
    session.scene_id = "live";
  }
  if (!runs) {
    here_running_ = false;
    here_failed_ = !here_watched_;
    over_ = over_ || (here_watched_ && client_ != nullptr);  // the hub went with it: nothing to wait for
  }
  return changed;
}

}  // namespace ringside::app
