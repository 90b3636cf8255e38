// The panel at the right: now, how we know, the verdict or the chosen rank, the numbers of the connection, and
// what can be done.
#include <fmt/format.h>

#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/i18n/phrases.hpp"
#include "app/scenes/cluster_inspector.hpp"
#include "app/scenes/live_scene.hpp"
#include "app/session/live_desk.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::live {
namespace {

constexpr float kPad = 16;

struct Column {
  float x = 0, w = 0, y = 0, bottom = 0;
  bool room(float h) const { return y + h <= bottom; }
};

const LiveLane* first_in(const LiveView& live, LiveState state) {
  for (const LiveLane& lane : live.lanes)
    if (lane.state == state) return &lane;
  return nullptr;
}

std::string waiting_text(const LiveView& live) {
  if (live.waiting == 0) return {};
  std::int64_t seq = 0;
  int last = -1;
  for (const LiveLane& lane : live.lanes)
    if (lane.waiting_from >= 0) {
      last = lane.rank;
      if (seq == 0 || lane.seq < seq) seq = lane.seq;
    }
  const std::string number = sim::with_commas(live.stuck_seq > 0 ? live.stuck_seq : seq);
  return live.waiting == 1 ? tr("live.now.one_waits_in", {parts::rank_name(last), number})
                           : tr("live.now.wait_in", {std::to_string(live.waiting), number});
}

std::string silent_text(const LiveView& live) {
  const LiveLane* lane = first_in(live, LiveState::Silent);
  const std::string time = time_text(lane->heard_ns);
  if (live.silent > 1) return tr("live.now.silent_many", {std::to_string(live.silent), time});
  return live.one_host ? tr("live.now.silent", {parts::rank_name(lane->rank), time})
                       : tr("live.now.silent_host",
                            {parts::rank_name(lane->rank), sim::escape_for_display(lane->host), time});
}

std::string stuck_text(const LiveView& live) {
  const std::string seq = sim::with_commas(live.stuck_seq), time = time_text(live.stuck_ns);
  if (live.absent.empty()) return tr("live.now.stuck_inside", {seq, time});
  if (live.absent.size() == 1) return tr("live.now.stuck_for", {parts::rank_name(live.absent.front()), seq, time});
  return tr("live.now.stuck_many", {std::to_string(live.absent.size()), seq, time});
}

std::string ended_text(const LiveView& live) {
  const LiveLane* first = nullptr;
  for (const LiveLane& lane : live.lanes)
    if (lane.failed && (first == nullptr || lane.ended < first->ended)) first = &lane;
  if (first == nullptr) return {};
  const std::string code = std::to_string(first->exit_code);
  return tr(first->by_signal ? "live.now.died" : "live.now.failed", {parts::rank_name(first->rank), code});
}

struct Known {
  std::string label;
  parts::Truth truth;
};

std::vector<Known> known(const LiveView& live) {
  using parts::Truth;
  std::vector<Known> rows;
  rows.push_back({tr("live.know.phases"), Truth::Measured});
  if (live.called) {
    rows.push_back({tr("live.know.calls"), Truth::Measured});
    rows.push_back(live.ring_steps ? Known{tr("live.know.ring"), Truth::Measured}
                                   : Known{tr("live.know.ring_hidden"), Truth::Hidden});
  }
  if (live.absent.size() == 1)
    rows.push_back({tr("live.know.waits_for", {parts::rank_name(live.absent.front())}), Truth::Inferred});
  if (live.silent == 1)
    rows.push_back({tr("live.know.what_does", {parts::rank_name(first_in(live, LiveState::Silent)->rank)}), Truth::Hidden});
  if (!live.one_host) {
    int hosts = 1;
    for (std::size_t i = 1; i < live.lanes.size(); ++i) hosts += live.lanes[i].host != live.lanes[i - 1].host;
    rows.push_back({live.one_time ? tr("live.know.clocks_known", {std::to_string(hosts), time_text(live.clock_error_ns)})
                                  : tr("live.know.clocks", {std::to_string(hosts)}),
                    live.one_time ? Truth::Inferred : Truth::Hidden});
  }
  return rows;
}

void draw_known(Paint& p, Column& k) {
  const std::vector<Known> rows = known(p.live);
  const float h = 36 + 25 * static_cast<float>(rows.size()) + 6;
  if (!k.room(h)) return;
  const Rect box{k.x, k.y, k.w, h};
  p.c.rect(box, {.fill = p.t.card, .radius = 10});
  p.c.text({box.x + kPad, box.y + 20}, tr("live.know.title"), {.size = 14, .color = p.t.t2, .face = Face::Bold});
  float y = box.y + 46;
  for (const Known& row : rows) {
    const float badge = parts::truth_badge(p.c, {box.right() - 14, y}, row.truth, true, Align::Right, 14);
    p.c.text({box.x + kPad, y}, fit(p.c.fonts(), row.label, box.w - kPad - 24 - badge, 14),
             {.size = 14, .color = row.truth == parts::Truth::Hidden ? p.t.t3 : p.t.t1});
    y += 25;
  }
  k.y += h + 10;
}

/// A command to copy, in a field; the host name stands in it only if it is one.
void draw_command(Paint& p, Column& k, const std::string& command) {
  if (!k.room(36)) return;
  const Rect box{k.x, k.y, k.w, 34};
  const Hit hit = p.view.ui.hit("live.command", box);
  p.c.rect(box, {.fill = hit.hovered ? p.t.raised : p.t.stage, .stroke = p.t.edge, .radius = 8});
  p.c.text({box.x + 12, box.center().y}, fit(p.c.fonts(), command, box.w - 48, 13, Face::Mono),
           {.size = 13, .face = Face::Mono});
  p.c.glyph(Glyph::Copy, {box.right() - 18, box.center().y}, 14, p.t.t2, 1.5f);
  if (hit.clicked) p.view.emit(action::CopyText{command});
  k.y += 44;
}

/// Why a rank may be silent: who else on its node still speaks tells something.
void draw_where(Paint& p, Column& k) {
  const LiveLane* silent = first_in(p.live, LiveState::Silent);
  if (silent == nullptr || !k.room(110)) return;
  int mates = 0, mates_speaking = 0, speaker = -1;
  for (const LiveLane& lane : p.live.lanes) {
    if (lane.rank == silent->rank || lane.host != silent->host || lane.ended >= 0) continue;
    ++mates;
    if (lane.state == LiveState::Silent) continue;
    ++mates_speaking;
    if (speaker < 0) speaker = lane.rank;
  }
  const std::string host = sim::escape_for_display(silent->host);
  const std::string words = mates_speaking > 0 ? tr("live.where.process", {parts::rank_name(speaker)})
                            : mates > 0        ? tr("live.where.node", {host})
                                               : tr("live.where.alone", {host});
  p.c.text({k.x, k.y + 8}, tr("live.where.title"), {.size = 14, .color = p.t.t3, .face = Face::Bold});
  k.y = parts::paragraph(p.c, {k.x, k.y + 32}, k.w, words, {.size = 15, .line_height = 1.4f, .max_lines = 4}) - 4;
  std::string command = "ps -o pid,stat,wchan -p " + std::to_string(silent->pid);
  if (!p.live.one_host) {
    if (!sim::is_safe_host_name(silent->host)) return;
    command = "ssh " + silent->host + " " + command;
  }
  if (silent->pid > 0) draw_command(p, k, command);
}

void draw_verdict(Paint& p, Column& k) {
  if (!p.live.verdict || p.live.verdict->kind == sim::DiagnosisKind::None || !k.room(86)) return;
  const sim::Diagnosis& d = *p.live.verdict;
  const std::string head = verdict_headline(d), what = known_phrase(d.first_cause.what);
  const auto head_lines = wrap(p.c.fonts(), head, k.w - 2 * kPad, 16, Face::Bold, 2);
  const auto what_lines = wrap(p.c.fonts(), sim::escape_for_display(what), k.w - 2 * kPad, 14, Face::Regular, 3);
  const float h = 44 + 22 * static_cast<float>(head_lines.size()) + 20 * static_cast<float>(what_lines.size()) + 8;
  if (!k.room(h)) return;
  const Rect box{k.x, k.y, k.w, h};
  p.c.rect(box, {.fill = p.t.card, .radius = 10});
  p.c.text({box.x + kPad, box.y + 20}, tr("live.verdict.title"), {.size = 14, .color = p.t.t2, .face = Face::Bold});
  const std::string& word = tr_word("cluster.confidence", sim::to_word(d.confidence));
  p.c.text({box.right() - kPad, box.y + 20}, word, {.size = 14, .color = p.t.t2, .align = Align::Right});
  float y = box.y + 46;
  for (const std::string& line : head_lines) {
    p.c.text({box.x + kPad, y}, line, {.size = 16, .face = Face::Bold});
    y += 22;
  }
  for (const std::string& line : what_lines) {
    p.c.text({box.x + kPad, y}, line, {.size = 14, .color = p.t.t2});
    y += 20;
  }
  k.y += h + 10;
}

void draw_rank(Paint& p, Column& k) {
  const int rank = p.view.ctx.selection.rank;
  if (rank < 0 || rank >= static_cast<int>(p.live.lanes.size())) return;
  const LiveLane& lane = p.live.lanes[static_cast<std::size_t>(rank)];
  constexpr float kRow = 23;
  const float h = 36 + 4 * kRow + 8;
  if (!k.room(h)) return;
  const Rect box{k.x, k.y, k.w, h};
  p.c.rect(box, {.fill = p.t.card, .radius = 10});
  const std::string title = tr("live.rank.title", {parts::rank_name(rank), sim::escape_for_display(lane.host)});
  p.c.text({box.x + kPad, box.y + 20}, fit(p.c.fonts(), title, box.w - 2 * kPad, 14, Face::Bold),
           {.size = 14, .color = p.t.t2, .face = Face::Bold});
  float y = box.y + 45;
  const auto row = [&](std::string_view key, const std::string& value) {
    p.c.text({box.x + kPad, y}, tr(key), {.size = 14, .color = p.t.t2});
    p.c.text({box.right() - kPad, y}, fit(p.c.fonts(), value, box.w * .56f, 14), {.size = 14, .align = Align::Right});
    y += kRow;
  };
  row("live.rank.pid", lane.pid > 0 ? std::to_string(lane.pid) : "-");
  row("live.rank.step", sim::with_commas(lane.step));
  row("live.rank.seq", lane.seq > 0 ? sim::with_commas(lane.seq) : "-");
  row("live.rank.heard", lane.heard_ns >= 0 ? time_text(lane.heard_ns) : "-");
  k.y += h + 10;
}

void draw_stats(Paint& p, Column& k) {
  if (!k.room(66)) return;
  const backend::LiveStatus status =
      p.running && p.desk != nullptr ? p.desk->status() : backend::LiveStatus{};
  const Rect box{k.x, k.y, k.w, 62};
  p.c.rect(box, {.fill = p.t.card, .radius = 10});
  struct Stat {
    std::string value;
    std::string_view key;
    bool bad;
  };
  std::vector<Stat> stats;
  if (p.running) stats.push_back({sim::with_commas(static_cast<std::int64_t>(p.desk->rate() + .5)), "live.stat.rate", false});
  const std::int64_t gaps = p.running ? status.missed : p.live.missing_events;
  stats.push_back({sim::with_commas(gaps), "live.stat.lost", gaps > 0});
  if (p.running) {
    const bool dropped = status.dropped > 0;
    stats.push_back(dropped ? Stat{sim::with_commas(status.dropped), "live.stat.dropped", true}
                            : Stat{sim::with_commas(std::max(0, status.connections - 1)), "live.stat.back", false});
  }
  const float w = (box.w - 2 * kPad) / static_cast<float>(stats.size());
  float x = box.x + kPad;
  for (const Stat& stat : stats) {
    p.c.text({x, box.y + 22}, stat.value,
             {.size = 19, .color = stat.bad ? p.t.stall_text : p.t.t1, .face = Face::Bold});
    p.c.text({x, box.y + 45}, fit(p.c.fonts(), tr(stat.key), w - 6, 13), {.size = 13, .color = p.t.t2});
    x += w;
  }
  k.y += 72;
}

}  // namespace

std::pair<std::string, std::string> sentences(const LiveView& live, const LiveDesk* desk, bool running) {
  const int world = static_cast<int>(live.lanes.size());
  if (running && desk != nullptr && desk->status().link == backend::LinkState::Lost) {
    const auto away = std::chrono::steady_clock::now() - desk->status().since;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(away).count();
    return {tr("live.now.lost", {tr("live.seconds", {std::to_string(std::max<std::int64_t>(1, seconds))}),
                                 sim::escape_for_display(desk->status().text)}),
            {}};
  }
  if (world == 0 || (live.present == 0 && live.ended == 0)) return {tr("live.now.nothing"), {}};
  if (live.ended == world)
    return {live.failed == 0 ? tr("live.now.over", {std::to_string(world)})
                             : tr("live.now.over_bad", {std::to_string(live.failed), std::to_string(world)}),
            ended_text(live)};
  const std::string waits = waiting_text(live);
  if (live.failed > 0) return {ended_text(live), waits};
  if (live.silent > 0) return {silent_text(live), waits};
  if (!live.stuck.empty()) return {stuck_text(live), waits};
  for (const LiveLane& lane : live.lanes)
    if (lane.poisoned) return {tr("live.now.poisoned", {parts::rank_name(lane.rank)}), {}};
  const std::string count = std::to_string(live.present), step = sim::with_commas(live.step);
  if (!live.loss) return {tr("live.now.running", {count, step}), {}};
  return {tr("live.now.running_loss", {count, step, fmt::format("{:.4g}", *live.loss)}), {}};
}

void draw_panel(Paint& p, Rect box, FaultChoice& fault, const std::optional<sim::Scenario>& scenario) {
  const bool here = p.running && p.desk->here();
  Column k{box.x + kPad, box.w - 2 * kPad, box.y + 22, box.bottom() - kPad};
  const float buttons = p.running ? 46.0f : 0.0f, stop = here ? 44.0f : 0.0f;
  k.bottom -= buttons + stop;
  p.c.text({k.x, k.y}, tr(p.running ? "live.now.title" : "live.now.recording"),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  if (p.view.ctx.playhead.mode != sim::PlayMode::Follow && p.live.t < p.view.ctx.trace.end_time()) {
    const std::string at = tr("live.now.paused", {time_text(p.live.t)});
    p.c.text({k.x + k.w, k.y}, at, {.size = 14, .color = p.t.t2, .align = Align::Right});
  }
  const auto [first, second] = sentences(p.live, p.desk, p.running);
  k.y = parts::paragraph(p.c, {k.x, k.y + 28}, k.w, first,
                         {.size = 17, .line_height = 1.4f, .face = Face::Bold, .max_lines = 4});
  if (!second.empty())
    k.y = parts::paragraph(p.c, {k.x, k.y}, k.w, second, {.size = 15, .line_height = 1.4f, .color = p.t.t2, .max_lines = 2});
  k.y += 2;
  const float stats = 72;
  k.bottom -= stats;
  if (p.live.trouble) draw_verdict(p, k);
  draw_known(p, k);
  if (p.live.silent > 0) draw_where(p, k);
  draw_rank(p, k);
  k.bottom += stats;
  k.y = std::max(k.y, k.bottom - stats + 6);
  draw_stats(p, k);
  float y = box.bottom() - kPad - 38;
  if (here) {
    if (p.view.ui.button("live.stop", {k.x, y, k.w, 38}, tr("live.connect.stop"), {.icon = Glyph::Stop, .size = 15}))
      p.view.emit(action::Custom{"live.stop", [](Session& s) { s.live().stop_here(); }});
    y -= 44;
  }
  if (p.running) draw_faults(p, {k.x, y, k.w, 38}, fault, scenario);
}

}  // namespace ringside::app::live
