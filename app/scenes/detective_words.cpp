// What the detective scene says: findings, times, the true story.
#include <fmt/format.h>

#include "app/i18n/i18n.hpp"
#include "app/i18n/phrases.hpp"
#include "app/scenes/cluster_inspector.hpp"
#include "app/scenes/detective_view.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostRanges = 4;

std::string ranks_text(const std::vector<int>& ranks) {
  int left = 0;
  const std::string shown = rank_ranges(ranks, kMostRanges, left);
  return left > 0 ? tr("list.and_more", {shown, std::to_string(left)}) : shown;
}

}  // namespace

std::string minutes_text(std::int64_t ns) {
  const std::int64_t s = ns / kSecond;
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string cost_text(std::int64_t ns) {
  const std::int64_t s = ns / kSecond;
  return s < 60 ? tr("detective.seconds", {std::to_string(s)})
                : tr("detective.minutes", {std::to_string(s / 60)});
}

std::string hours_text(double gpu_hours) {
  return fmt::format("{:.1f}", gpu_hours);
}

std::string finding_text(const sim::Finding& f) {
  const std::string ranks = ranks_text(f.ranks), seq = sim::with_commas(f.seq),
                    count = sim::with_commas(f.count);
  switch (f.kind) {
    case sim::FindingKind::AllFinite:
      return tr("detective.finding.all_finite");
    case sim::FindingKind::NanIn:
      return tr("detective.finding.nan_in", {ranks, seq});
    case sim::FindingKind::KernelLine:
      return "n" + std::to_string(f.node) + "  " + sim::escape_for_display(f.text);
    case sim::FindingKind::NoLine:
      return tr("detective.finding.no_line");
    case sim::FindingKind::Answers:
      return tr("detective.finding.answers", {ranks});
    case sim::FindingKind::NoProcess:
      return tr("detective.finding.no_process", {ranks});
    case sim::FindingKind::NoAnswer:
      return tr("detective.finding.no_answer", {ranks});
    case sim::FindingKind::Launched:
      return tr("detective.finding.launched", {ranks, seq});
    case sim::FindingKind::OpenCall:
      return tr("detective.finding.open_call", {ranks, seq, count});
    case sim::FindingKind::NoOpenCall:
      return tr("detective.finding.no_open_call", {ranks, seq});
    case sim::FindingKind::InCall:
      return tr("detective.finding.in_call", {ranks, seq});
    case sim::FindingKind::InPhase:
      return tr("detective.finding.in_phase", {ranks, f.text, seq});
    case sim::FindingKind::NoStack:
      return tr(f.text == "no such process" ? "detective.finding.no_process" : "detective.finding.no_stack",
                {ranks});
  }
  return {};
}

std::string report_title(const sim::ToolReport& report) {
  if (report.tool == sim::Tool::Stacks)
    return tr("detective.stacks_of", {"n" + std::to_string(report.node)});
  return tr_word("detective.tool", sim::to_word(report.tool));
}

DetectiveTale make_tale(const DetectiveGame& game) {
  const sim::Trace& trace = game.engine().replay().trace;
  const sim::Diagnosis& diagnosis = game.engine().story().diagnosis;
  ClusterStory story;
  story.update(trace, 1, 0);
  sim::FrameSource frames(trace);
  const sim::Frame& frame = frames.frame_at(trace.end_time());
  const ClusterView cluster = make_cluster_view(trace, frame, story, &diagnosis, 8, trace.end_time());
  DetectiveTale tale;
  tale.headline = verdict_headline(diagnosis);
  tale.cause = known_phrase(diagnosis.first_cause.what);
  for (const ChainLink& link : make_chain(trace, story, cluster, diagnosis, trace.end_time()))
    tale.beats.push_back({link.t, chain_text(link, diagnosis, cluster)});
  for (const sim::Evidence& evidence : diagnosis.evidence) tale.evidence.push_back(known_phrase(evidence.text));
  return tale;
}

}  // namespace ringside::app
