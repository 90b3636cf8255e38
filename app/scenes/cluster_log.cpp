#include "app/scenes/cluster_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/cluster_grid.hpp"
#include "app/session/files.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"
#include "sim/job/log_text.hpp"

namespace ringside::app {
namespace {

using sim::Event;
using sim::Source;

constexpr float kPitch = 21;
constexpr std::int64_t kFoldNs = 2'000'000'000;  // like lines within so long are one row
constexpr std::size_t kLookBack = 12'000;        // lines that are looked at for the rows of one screen
constexpr std::size_t kRows = 400;

/// Two lines are alike if they differ in digits and in hex numbers only.
std::uint64_t shape_of(std::string_view text) {
  std::uint64_t h = 1469598103934665603ull;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && in_number) continue;
    in_number = digit;
    h = (h ^ static_cast<std::uint8_t>(digit ? '0' : c)) * 1099511628211ull;
  }
  return h;
}

/// A line that goes on with the message before it: an indented one, a rule, an entry of a table.
bool continues(std::string_view text) {
  if (text.empty()) return true;
  const char c = text.front();
  if (c == ' ' || c == '=' || c == '-' || c == '\t') return true;
  if (c == '[' && text.size() < 8) return true;
  return text == "Failures:" || text == "train.py FAILED" || text.starts_with("Root Cause");
}

/// Text without the prefix that torch >= 2.2 puts before every line of a rank: "[rank3]: ".
std::string_view without_rank(std::string_view text) {
  if (!text.starts_with("[rank")) return text;
  const std::size_t end = text.find("]: ");
  return end == std::string_view::npos || end > 12 ? text : text.substr(end + 3);
}

bool wanted(const Event& e, LogFilter filter, int rank) {
  switch (filter) {
    case LogFilter::Merged:
      return true;
    case LogFilter::Launcher:
      return e.src_kind == Source::Kind::Launcher;
    case LogFilter::Kernel:
      return e.src_kind == Source::Kind::Node;
    case LogFilter::Rank:
      return e.rank() == rank;
  }
  return false;
}

std::string launcher_of(const SceneContext& ctx) {
  if (ctx.scenario == nullptr) return "launcher";
  const std::string word(sim::to_word(ctx.scenario->stack.launcher));
  return word.substr(0, word.find(' '));
}

/// The message without what stands in the panel's other columns: time, process, source file.
std::string_view message_of(std::string_view line) {
  const auto after = [&](std::string_view mark, std::size_t within) {
    const std::size_t at = line.find(mark);
    return at == std::string_view::npos || at > within ? std::string_view::npos : at + mark.size();
  };
  line = without_rank(line);
  std::size_t from = std::string_view::npos;
  if (line.starts_with("[rank")) {  // [rank3]:[E302 09:15:58.461000000 ProcessGroupNCCL.cpp:670] message
    from = after("] ", 120);
  } else if (line.find("NCCL WARN") < 120) {
    from = line.find("NCCL WARN");
  } else if (line.size() > 6 && (line[0] == 'W' || line[0] == 'E' || line[0] == 'I') && line[1] >= '0' &&
             line[1] <= '9') {
    from = after("] ", 120);
  } else if (line.starts_with("[") && line.find("NVRM") < 60) {
    from = line.find("NVRM");
  }
  return from == std::string_view::npos || from >= line.size() ? line : line.substr(from);
}

/// Why so many print nothing: by transport and launcher.
std::string silence_note(const SceneContext& ctx, std::size_t silent) {
  const std::string count = sim::with_commas(static_cast<std::int64_t>(silent));
  if (ctx.scenario == nullptr) return tr("cluster.log.silent", {count});
  const sim::StackSpec& stack = ctx.scenario->stack;
  const bool ib = stack.transport == sim::Transport::Ib || stack.transport == sim::Transport::Roce;
  if (ib && stack.launcher == sim::Launcher::Torchrun) return tr("cluster.log.silent_ib_torchrun", {count});
  if (ib) return tr("cluster.log.silent_ib", {count});
  return tr("cluster.log.silent", {count});
}

/// Lines that tell of the cause: evidence of the diagnosis, what the guilty rank printed itself, and what
/// others say of its process.
bool tells_of_cause(const SceneContext& ctx, const sim::Diagnosis* d, std::uint32_t event) {
  if (d == nullptr || d->kind == sim::DiagnosisKind::None) return false;
  if (std::any_of(d->evidence.begin(), d->evidence.end(), [&](const sim::Evidence& e) {
        return e.event && *e.event == static_cast<std::int64_t>(event);
      }))
    return true;
  const Event& e = ctx.trace.events()[event];
  if (e.t < d->first_cause.t_ns.value_or(0) || d->culprits.empty()) return false;
  const int guilty = d->culprits.front();
  if (e.rank() == guilty) return true;
  if (static_cast<std::size_t>(guilty) >= ctx.frame.ranks.size()) return false;
  const std::uint32_t hello = ctx.frame.ranks[static_cast<std::size_t>(guilty)].hello;
  if (hello == sim::kNone || ctx.trace.hello(hello).pid <= 0) return false;
  const std::string pid = std::to_string(ctx.trace.hello(hello).pid);
  const std::string& text = ctx.trace.string(e.text.text);
  return text.find("(pid: " + pid + ")") != std::string::npos || text.find("pid=" + pid) != std::string::npos;
}

/// The first line that tells of the cause; kNone if nobody printed one.
std::uint32_t first_of_cause(const SceneContext& ctx, const ClusterStory& story, const sim::Diagnosis* d) {
  constexpr std::size_t kLooked = 400;
  if (d == nullptr || !d->first_cause.t_ns) return sim::kNone;
  const auto logs = story.logs().first(story.logs_until(ctx.frame.t));
  const std::size_t from = story.logs_until(*d->first_cause.t_ns - 1);
  for (std::size_t i = from; i < std::min(logs.size(), from + kLooked); ++i)
    if (tells_of_cause(ctx, d, logs[i])) return logs[i];
  return sim::kNone;
}

}  // namespace

std::vector<LogRow> log_rows(const sim::Trace& trace, const ClusterStory& story, std::int64_t t,
                             LogFilter filter, int rank, std::size_t most) {
  const auto logs = story.logs().first(story.logs_until(t));
  const std::size_t first = logs.size() > kLookBack ? logs.size() - kLookBack : 0;
  std::vector<LogRow> rows;
  std::map<std::uint64_t, std::size_t> open;  // shape -> row that like lines are folded into
  Source last_source;
  std::int64_t last_t = -1;
  std::size_t last_row = 0;
  int before = 0;  // lines of a traceback whose error has not come yet
  for (std::size_t i = first; i < logs.size(); ++i) {
    const Event& e = trace.events()[logs[i]];
    if (!wanted(e, filter, rank)) continue;
    if (filter != LogFilter::Merged) {
      rows.push_back({logs[i]});
      continue;
    }
    const std::string_view text = without_rank(trace.string(e.text.text));
    const bool same = e.source() == last_source && e.t == last_t;
    if (text.starts_with("Traceback (most recent") || (same && before > 0 && continues(text))) {
      ++before;  // the error itself comes last
      last_source = e.source();
      last_t = e.t;
      continue;
    }
    if (!rows.empty() && same && before == 0 && continues(text)) {
      ++rows[last_row].more;
      continue;
    }
    last_source = e.source();
    last_t = e.t;
    const std::uint64_t shape =
        shape_of(trace.string(e.text.text)) ^ (static_cast<std::uint64_t>(e.src_kind) << 56);
    const auto found = open.find(shape);
    if (found != open.end() && e.t - trace.events()[rows[found->second].event].t <= kFoldNs) {
      LogRow& row = rows[found->second];
      ++row.count;
      last_row = found->second;
      before = 0;
      continue;
    }
    open[shape] = last_row = rows.size();
    rows.push_back({logs[i], 1, std::exchange(before, 0)});
  }
  if (rows.size() > most) rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(most));
  return rows;
}

std::string log_source(const sim::Trace& trace, const Event& e, std::string_view launcher) {
  switch (e.src_kind) {
    case Source::Kind::Rank:
      return "rank" + std::to_string(e.src_id);
    case Source::Kind::Node:
      return trace.string(e.text.channel) + " n" + std::to_string(e.src_id);
    case Source::Kind::Launcher:
      return std::string(launcher);
    default:
      return "hub";
  }
}

std::string log_clock(const sim::Trace& trace, std::int64_t t) {
  const std::int64_t origin =
      trace.header.origin_unix_ns > 0 ? trace.header.origin_unix_ns : sim::kLogEpochUnixS * 1'000'000'000;
  const std::int64_t ms = (origin + t) / 1'000'000, day = ms % 86'400'000;
  return fmt::format("{:02}:{:02}:{:02}.{:03}", day / 3'600'000, day / 60'000 % 60, day / 1'000 % 60,
                     day % 1'000);
}

std::vector<LogFile> log_files(const sim::Trace& trace, const ClusterStory& story, std::int64_t t) {
  std::map<std::string, std::string> texts;
  for (const std::uint32_t i : story.logs().first(story.logs_until(t))) {
    const Event& e = trace.events()[i];
    const std::string& line = trace.string(e.text.text);
    const std::string name = e.src_kind == Source::Kind::Rank   ? fmt::format("rank{}.log", e.src_id)
                             : e.src_kind == Source::Kind::Node ? fmt::format("n{}-dmesg.txt", e.src_id)
                                                                : "launcher.log";
    texts[name] += line + "\n";
    // Merged as a collector writes it: kernel lines are in another file on every machine, so they are left
    // out.
    if (e.src_kind != Source::Kind::Node) texts["merged.log"] += line + "\n";
  }
  std::vector<LogFile> files;
  for (auto& [name, text] : texts) files.push_back({name, std::move(text)});
  return files;
}

void LogPanel::save(View& view, const ClusterStory& story) {
  const std::vector<LogFile> files = log_files(view.ctx.trace, story, view.ctx.frame.t);
  const std::int64_t t = view.ctx.frame.t;
  view.emit(action::Custom{
      "save logs", [files, t](Session& session) {
        std::error_code error;
        std::string name = session.name().empty() ? "job" : session.name();
        for (char& c : name)
          if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') c = '-';
        const std::filesystem::path folder =
            std::filesystem::absolute(fmt::format("ringside-logs-{}-{}s", name, t / 1'000'000'000), error);
        std::filesystem::create_directories(folder, error);
        sim::Status status =
            error ? sim::Status(sim::Error{.what = error.message(), .file = folder.string()}) : sim::ok();
        for (const LogFile& file : files)
          if (status) status = write_file((folder / file.name).string(), file.text);
        if (status) {
          session.notices.push_back(
              {NoticeKind::Info, tr("cluster.log.saved", {std::to_string(files.size()), folder.string()})});
        } else {
          session.notices.push_back({NoticeKind::Error, sim::escape_for_display(status.error().message())});
        }
      }});
}

void LogPanel::header(View& view, Rect box, int rank) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const float y = box.y + 22;
  c.text({box.x + 16, y}, tr("cluster.log.title"), {.size = 14, .color = t.t3, .face = Face::Bold});
  std::vector<std::string> labels{tr("cluster.log.merged"), launcher_of(view.ctx), tr("cluster.log.kernel")};
  if (rank >= 0) labels.push_back(parts::rank_name(rank));
  if (filter_ == LogFilter::Rank && rank < 0) filter_ = LogFilter::Merged;
  const std::string save = tr("cluster.log.save");
  const float bw = c.width(save, 14, Face::Regular) + 40;
  const bool any = !rows_.empty();
  if (view.ui.button("cluster.log.save", {box.right() - 8 - bw, y - 15, bw, 30}, save,
                     {.size = 14,
                      .enabled = any,
                      .explain = tr(any ? "cluster.log.save_explain" : "cluster.log.nothing_to_save")}))
    save_wanted_ = true;
  if (const auto chosen = view.ui.toggle("cluster.log.filter", {box.right() - bw - 20, y}, labels,
                                         static_cast<int>(filter_), Align::Right, nullptr, 30)) {
    filter_ = static_cast<LogFilter>(*chosen);
    scroll_ = 0;
    view.ui.keep_moving();
  }
}

void LogPanel::row(View& view, const LogRow& row, const sim::Diagnosis* verdict, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Event& e = view.ctx.trace.events()[row.event];
  const bool hot = tells_of_cause(view.ctx, verdict, row.event);
  const Hit hit = view.ui.hit("cluster.log.row" + std::to_string(row.event), box, {.focusable = false});
  if (hot) {
    c.rect(box, {.fill = mix(t.card, t.fail, .22f), .radius = 4});
    c.rect({box.x, box.y, 3, box.h}, {.fill = t.fail, .radius = 1.5f});
  } else if (hit.hovered) {
    c.rect(box, {.fill = t.raised, .radius = 4});
  }
  const float y = box.center().y, size = 13.5f;
  float x = box.x + 10;
  c.text({x, y}, log_clock(view.ctx.trace, e.t), {.size = size, .color = t.t3, .face = Face::Mono});
  x += c.width("00:00:00.000", size, Face::Mono) + 14;
  const std::string source = log_source(view.ctx.trace, e, launcher_of(view.ctx));
  const float sw = c.width("kernel n999", size, Face::Mono) + 8;
  c.text({x, y}, fit(c.fonts(), source, sw - 6, size, Face::MonoBold),
         {.size = size, .color = hot ? t.t1 : t.t2, .face = Face::MonoBold});
  x += sw;
  float right = box.right() - 10;
  if (row.count > 1 || row.more > 0) {
    const std::string times = row.count > 1 ? "× " + sim::with_commas(row.count)
                                            : tr("cluster.log.more", {sim::with_commas(row.more)});
    right -= c.width(times, 13) + 10;
    c.text({box.right() - 10, y}, times, {.size = 13, .color = t.t2, .align = Align::Right});
  }
  const std::string text = sim::escape_for_display(view.ctx.trace.string(e.text.text));
  const std::string shown = filter_ == LogFilter::Merged ? std::string(message_of(text)) : text;
  c.text({x, y}, fit(c.fonts(), shown, right - x, size, hot ? Face::MonoBold : Face::Mono),
         {.size = size,
          .color = hot                                    ? t.t1
                   : e.src_kind == Source::Kind::Launcher ? t.t3
                                                          : t.t2,
          .face = hot ? Face::MonoBold : Face::Mono});
  if (hit.clicked) {
    view.emit(action::SeekTo{e.t});
    Selection selection = view.ctx.selection;
    if (e.rank() >= 0) selection.rank = e.rank();
    selection.event = row.event;
    view.emit(action::Select{selection});
  }
  if (hit.hovered) view.ui.explain(box, text);
}

void LogPanel::draw(View& view, const ClusterView& cluster, const ClusterStory& story,
                    const sim::Diagnosis* verdict, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const int rank = view.ctx.selection.rank >= 0 ? view.ctx.selection.rank : cluster.culprit_rank;
  c.rect(box, {.fill = mix(t.stage, t.panel, .6f), .stroke = t.line, .radius = 10});
  header(view, box, rank);
  if (std::exchange(save_wanted_, false)) save(view, story);
  const std::size_t until = story.logs_until(view.ctx.frame.t);
  if (generation_ != view.ctx.generation || until_ != until || shown_ != filter_ || rank_ != rank ||
      verdict_ != (verdict != nullptr)) {
    if (generation_ != view.ctx.generation || shown_ != filter_) scroll_ = 0;
    generation_ = view.ctx.generation;
    until_ = until;
    shown_ = filter_;
    rank_ = rank;
    verdict_ = verdict != nullptr;
    rows_ = log_rows(view.ctx.trace, story, view.ctx.frame.t, filter_, rank, kRows);
    cause_ = filter_ == LogFilter::Merged ? first_of_cause(view.ctx, story, verdict) : sim::kNone;
    silent_ = 0;
    for (const sim::RankFrame& r : view.ctx.frame.ranks)
      silent_ += r.last_log == sim::kNone &&
                         (r.status == sim::RankStatus::Waiting || r.status == sim::RankStatus::Stalled)
                     ? 1
                     : 0;
  }
  const Rect list{box.x + 8, box.y + 42, box.w - 16, box.h - 48};
  const bool note = silent_ > 0 && filter_ == LogFilter::Merged &&
                    view.ctx.frame.t - cluster.waits_since > sim::kSilentAfterNs;
  const int fits_rows = std::max(1, static_cast<int>((list.h - (note ? kPitch : 0)) / kPitch));
  const float most = std::max(0.0f, static_cast<float>(static_cast<int>(rows_.size()) - fits_rows));
  scroll_ = std::clamp(scroll_ + view.ui.wheel(list) * 3, 0.0f, most);
  const int last = static_cast<int>(rows_.size()) - static_cast<int>(scroll_);
  int first = std::max(0, last - fits_rows);
  float y = list.y;
  if (rows_.empty() && !note)
    c.text({list.x + 10, list.y + 14}, fit(c.fonts(), tr("cluster.log.empty"), list.w - 20, 14),
           {.size = 14, .color = t.t3});
  // The first cause stays on top when the newest lines have pushed it out.
  if (cause_ != sim::kNone && fits_rows >= 3) {
    const bool seen = std::any_of(rows_.begin() + first, rows_.begin() + last,
                                  [&](const LogRow& r) { return r.event == cause_; });
    if (!seen && first > 0) {
      row(view, {cause_}, verdict, {list.x, y, list.w, kPitch - 1});
      y += kPitch;
      ++first;
    }
  }
  for (int i = first; i < last; ++i) {
    row(view, rows_[static_cast<std::size_t>(i)], verdict, {list.x, y, list.w, kPitch - 1});
    y += kPitch;
  }
  if (note) {
    rank_mark(c, {list.x + 10, y + kPitch / 2 - 7, 14, 14}, parts::Mark::Waiting);
    const std::string text = silence_note(view.ctx, silent_);
    c.text({list.x + 34, y + kPitch / 2}, fit(c.fonts(), text, list.w - 44, 14), {.size = 14, .color = t.t2});
    view.ui.explain({list.x, y, list.w, kPitch}, text);
  }
  if (most > 0) {
    const float share = static_cast<float>(fits_rows) / static_cast<float>(rows_.size());
    const float track = list.h, at = static_cast<float>(first) / static_cast<float>(rows_.size());
    c.rect({box.right() - 7, list.y + track * at, 3, std::max(12.0f, track * share)},
           {.fill = t.edge, .radius = 1.5f});
  }
}

}  // namespace ringside::app
