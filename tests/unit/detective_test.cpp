// The detective without a window: cases can be solved by what the tools say, cost what they cost, and the
// score says what was right.
#include <gtest/gtest.h>

#include <set>

#include "sim/detective/detective.hpp"

namespace ringside::sim {
namespace {

const Finding* find(const ToolReport& report, FindingKind kind) {
  for (const Finding& finding : report.findings)
    if (finding.kind == kind) return &finding;
  return nullptr;
}

bool says(const Detective& game, int rank, std::string_view text) {
  for (const LogRow& row : game.logs())
    if (row.rank == rank && row.text.find(text) != std::string::npos) return true;
  return false;
}

/// Of the processes that are gone, the one that does not say that another is gone.
int ended_by_itself(const Detective& game, const Finding* gone) {
  if (gone == nullptr) return -1;
  for (const int rank : gone->ranks)
    if (!says(game, rank, "remote process exited") && !says(game, rank, "Watchdog caught")) return rank;
  return -1;
}

DiagnosisKind how_it_ended(const Detective& game, int rank) {
  if (says(game, rank, "exhausted")) return DiagnosisKind::RankExitEarly;
  return says(game, rank, "skipping step") ? DiagnosisKind::SequenceMismatch : DiagnosisKind::RankCrash;
}

/// The operator's checklist, followed literally: NaN, the kernel's messages, dead processes, counters, and
/// only then the expensive ones. What it answers comes from the reports and the logs alone.
Accusation by_the_checklist(Detective& game) {
  const auto accuse = [&](DiagnosisKind kind, int rank) {
    return Accusation{kind, rank, rank < 0 ? -1 : rank / game.gpus_per_node()};
  };
  if (const Finding* nan = find(game.use(Tool::NanCheck), FindingKind::NanIn))
    return accuse(DiagnosisKind::Nan, nan->ranks.front());
  DiagnosisKind hardware = DiagnosisKind::None;
  int node = -1;
  for (const Finding& line : game.use(Tool::KernelLog).findings) {
    if (line.kind != FindingKind::KernelLine || hardware != DiagnosisKind::None) continue;
    node = line.node;
    const bool memory =
        line.text.find("emory") != std::string::npos || line.text.find("oom") != std::string::npos;
    const bool bus =
        line.text.find("AER") != std::string::npos || line.text.find("pcie") != std::string::npos;
    hardware = memory ? DiagnosisKind::HostOom : bus ? DiagnosisKind::PcieError : DiagnosisKind::GpuHw;
  }
  const ToolReport ping = game.use(Tool::Ping);
  if (const int rank = ended_by_itself(game, find(ping, FindingKind::NoProcess)); rank >= 0)
    return accuse(hardware != DiagnosisKind::None ? hardware : how_it_ended(game, rank), rank);
  if (const Finding* silent = find(ping, FindingKind::NoAnswer))
    return accuse(DiagnosisKind::HangRankMissing, silent->ranks.front());
  if (hardware != DiagnosisKind::None) {
    for (const Finding& stack : game.use(Tool::Stacks, node).findings)
      if (stack.kind != FindingKind::InCall) return accuse(hardware, stack.ranks.front());
  }
  const ToolReport dump = game.use(Tool::Dump);
  const Finding* odd = nullptr;
  for (const Finding& finding : dump.findings)
    if (finding.kind == FindingKind::OpenCall && finding.ranks.size() == 1 && finding.count != 8)
      odd = &finding;
  return odd != nullptr ? accuse(DiagnosisKind::ShapeMismatch, odd->ranks.front())
                        : accuse(DiagnosisKind::Unknown, -1);
}

class DetectiveCases : public testing::TestWithParam<std::uint64_t> {};

TEST_P(DetectiveCases, AreSolvedByTheChecklist) {
  Detective game(make_detective_case(GetParam()));
  const Accusation named = by_the_checklist(game);
  const Score score = game.close(named);
  const Story& story = game.story();
  EXPECT_TRUE(score.kind_right) << to_word(named.kind) << ", but it was " << to_word(story.diagnosis.kind);
  EXPECT_TRUE(score.rank_right) << named.rank << ", but it was " << story.fault.rank;
  EXPECT_TRUE(score.node_right);
  EXPECT_GE(score.points, 90);
}

constexpr std::uint64_t kSeeds = 24;
INSTANTIATE_TEST_SUITE_P(Seeds, DetectiveCases, testing::Range<std::uint64_t>(1, kSeeds + 1));

TEST(Detective, TheseSeedsHaveEveryKind) {
  std::set<FaultKind> kinds;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    kinds.insert(make_detective_case(seed).job.faults.front().kind);
  EXPECT_EQ(kinds.size(), detective_kinds().size());
}

TEST(Detective, ToolsCostMinutesOfTheWholeCluster) {
  Detective game(make_detective_case(5));
  const std::int64_t called = game.now();
  game.use(Tool::NanCheck);
  EXPECT_EQ(game.now(), called + cost_ns(Tool::NanCheck));
  game.use(Tool::Stacks, 63);
  EXPECT_EQ(game.now(), called + cost_ns(Tool::NanCheck) + cost_ns(Tool::Stacks));
  EXPECT_EQ(game.reports().size(), 2u);
  const Score score = game.close({DiagnosisKind::Unknown, -1, -1});
  EXPECT_EQ(score.minutes, 3);
  EXPECT_EQ(score.points, 0);
  EXPECT_NEAR(score.gpu_hours - score.least_gpu_hours, 512 * 130.0 / 3600, 1e-9);
}

TEST(Detective, CheapToolsComeFirst) {
  EXPECT_LT(cost_ns(Tool::NanCheck), cost_ns(Tool::KernelLog));
  EXPECT_LT(cost_ns(Tool::KernelLog), cost_ns(Tool::Ping));
  EXPECT_LT(cost_ns(Tool::Ping), cost_ns(Tool::Stacks));
}

TEST(Detective, IsolatingAnInnocentNodeCosts) {
  const DetectiveCase made = make_detective_case(7);
  const int rank = made.job.faults.front().rank, node = rank / 8;
  Detective right(made), wrong(made);
  const DiagnosisKind kind = right.close({DiagnosisKind::None, rank, node}).kind_right
                                 ? DiagnosisKind::None
                                 : right.story().diagnosis.kind;
  Detective best(made);
  EXPECT_EQ(best.close({kind, rank, node}).points, 100);
  const Score score = wrong.close({kind, rank, (node + 1) % 64});
  EXPECT_FALSE(score.node_right);
  EXPECT_EQ(score.points, 60);
}

/// Nothing shown to the player before the end comes from the future, and the same seed is the same case.
TEST(Detective, SeesOnlyThePastAndIsTheSameForTheSameSeed) {
  for (const std::uint64_t seed : {1u, 2u}) {
    Detective a(make_detective_case(seed)), b(make_detective_case(seed));
    EXPECT_EQ(a.now(), b.now());
    for (const LogRow& row : a.logs()) EXPECT_LE(row.t_ns, a.now());
    for (int tool = 0; tool < kToolCount; ++tool) {
      const ToolReport& one = a.use(static_cast<Tool>(tool), 3);
      const ToolReport& other = b.use(static_cast<Tool>(tool), 3);
      ASSERT_EQ(one.findings.size(), other.findings.size());
      for (std::size_t i = 0; i < one.findings.size(); ++i) {
        EXPECT_EQ(one.findings[i].ranks, other.findings[i].ranks);
        EXPECT_EQ(one.findings[i].text, other.findings[i].text);
      }
    }
  }
}

/// The dashboard shows a node, not a rank: GPUs that wait look busy, and of no node more than two are gone,
/// be it the one that did it or one whose NIC gave up on it.
TEST(Detective, TheDashboardDoesNotGiveItAway) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const NodeTile& tile : Detective(make_detective_case(seed)).dashboard())
      EXPECT_GE(tile.utilisation_percent, 75) << seed;
}

}  // namespace
}  // namespace ringside::sim
