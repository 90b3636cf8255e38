// The detective: the game beside its engine, and the window on it: a whole case by hand, what the desk may not
// give away, the same seed again.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "app/i18n/i18n.hpp"
#include "app/scenes/detective_game.hpp"
#include "app/scenes/detective_view.hpp"
#include "harness.hpp"
#include "imgui.h"

namespace ringside::app::test {
namespace {

constexpr std::uint64_t kNanSeed = 3;  // R99: NaN in step 3

const sim::DetectiveCase& made(std::uint64_t seed) {
  static std::map<std::uint64_t, sim::DetectiveCase> cases;
  const auto found = cases.find(seed);
  return found != cases.end() ? found->second : cases.emplace(seed, sim::make_detective_case(seed)).first->second;
}

std::string all_texts(const Harness& h) {
  std::string all;
  for (const auto& text : h.record().texts) all += text.text + "\n";
  return all;
}

/// Opens the scene and takes a case through the start page.
void take_case(Harness& h, std::uint64_t seed) {
  h.session().scene_id = "detective";
  h.frames(2);
  ASSERT_TRUE(h.has("detective.take"));
  h.click("detective.seed");
  h.frames(4);
  h.type(std::to_string(seed));
  h.press(Key::Enter);
  h.click("detective.take");
  for (int i = 0; i < 600 && !h.has("detective.name"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    h.frames(1);
  }
  ASSERT_TRUE(h.has("detective.name")) << "no case after 30 s";
  h.frames(2);
}

// --- the game
// ------------------------------------------------------------------------------------------------------------

TEST(DetectiveGame, ShowsWhatTheEngineShows) {
  DetectiveGame game(made(kNanSeed));
  sim::Detective engine(made(kNanSeed));
  EXPECT_EQ(game.logs().size(), engine.logs().size());
  EXPECT_EQ(game.stopped_for_ns(), sim::kAlarmNs);
  EXPECT_NEAR(game.gpu_hours_lost(), 512 * 3 / 60.0, 1e-9);
  EXPECT_EQ(game.watchdog_left_ns(), 600'000'000'000 - sim::kAlarmNs);
  EXPECT_EQ(game.usual().utilisation_percent, 100);
  game.look(sim::Tool::Ping);
  engine.use(sim::Tool::Ping);
  EXPECT_EQ(game.engine().now(), engine.now());
  EXPECT_EQ(game.engine().reports()[0].findings.size(), engine.reports()[0].findings.size());
  EXPECT_EQ(game.stopped_for_ns(), sim::kAlarmNs + sim::cost_ns(sim::Tool::Ping));
}

TEST(DetectiveGame, MarksAreTakenBackAndMadeAgain) {
  DetectiveGame game(made(kNanSeed));
  EXPECT_FALSE(game.undo(false));
  game.mark(12, NodeMark::Suspect);
  game.mark(12, NodeMark::Cleared);
  game.mark(5, NodeMark::Cleared);
  game.mark(5, NodeMark::Cleared);  // again: taken away
  EXPECT_EQ(game.mark_of(5), NodeMark::None);
  EXPECT_TRUE(game.undo(false));
  EXPECT_EQ(game.mark_of(5), NodeMark::Cleared);
  EXPECT_TRUE(game.undo(false));
  EXPECT_TRUE(game.undo(false));
  EXPECT_EQ(game.mark_of(12), NodeMark::Suspect);
  EXPECT_TRUE(game.undo(true));
  EXPECT_EQ(game.mark_of(12), NodeMark::Cleared);
  game.mark(1, NodeMark::Suspect);  // another way: what was taken back is gone
  EXPECT_FALSE(game.undo(true));
}

TEST(DetectiveGame, HintsFollowWhatWasDone) {
  DetectiveGame game(made(kNanSeed));
  EXPECT_EQ(game.hint(), DetectiveHint::Begin);
  game.look(sim::Tool::NanCheck);
  EXPECT_EQ(game.hint(), DetectiveHint::Follow);
  DetectiveGame quiet(made(4711));  // nobody prints, all tiles are the same
  quiet.look(sim::Tool::NanCheck);
  EXPECT_EQ(quiet.hint(), DetectiveHint::Deeper);
  quiet.look(sim::Tool::Dump);
  EXPECT_EQ(quiet.hint(), DetectiveHint::Follow);
  game.mark(12, NodeMark::Suspect);
  EXPECT_EQ(game.hint(), DetectiveHint::Decide);
  while (game.watchdog_left_ns() > -10'000'000'000) game.look(sim::Tool::Dump);
  EXPECT_TRUE(game.watchdog_struck());
  EXPECT_EQ(game.hint(), DetectiveHint::Late);
}

TEST(DetectiveGame, TheNodeFollowsTheRankUntilItIsChosen) {
  DetectiveGame game(made(kNanSeed));
  EXPECT_EQ(game.node_out(), -1);
  EXPECT_EQ(game.missing(), "detective.name.no_kind");
  game.kind = sim::DiagnosisKind::Nan;
  EXPECT_EQ(game.missing(), "detective.name.no_rank");
  game.choose_rank(99);
  EXPECT_EQ(game.node(), 12);
  EXPECT_EQ(game.node_out(), 12);
  game.choose_node_out(13);
  EXPECT_EQ(game.node_out(), 13);
  game.choose_node(3);
  EXPECT_EQ(game.rank(), -1) << "a rank of another node is no longer chosen";
}

TEST(DetectiveGame, AsATextAndBack) {
  DetectiveGame game(made(kNanSeed));
  game.look(sim::Tool::NanCheck);
  game.choose_node(12);
  game.look(sim::Tool::Stacks);
  game.mark(12, NodeMark::Suspect);
  game.mark(0, NodeMark::Cleared);
  game.choose_rank(99);
  game.kind = sim::DiagnosisKind::Nan;
  const std::string open = game.to_text();
  DetectiveGame again(made(kNanSeed));
  EXPECT_TRUE(again.replay(open)) << open;
  EXPECT_EQ(again.to_text(), open);
  EXPECT_EQ(again.engine().now(), game.engine().now());
  game.close();
  DetectiveGame over(made(kNanSeed));
  EXPECT_TRUE(over.replay(game.to_text()));
  EXPECT_TRUE(over.closed());
  EXPECT_EQ(over.score().points, game.score().points);
  for (const char* bad : {"seed:4", "do:nothing", "do:stacks", "do:ping/3", "do:stacks/64", "mark:64/suspect",
                          "mark:1/guilty", "rank:512", "rank:-1", "kind:none", "kind:straggler", "closed", "x",
                          "node:", "out:99999999999"}) {
    DetectiveGame fresh(made(kNanSeed));
    EXPECT_FALSE(fresh.replay(bad)) << bad;
  }
  EXPECT_EQ(detective_seed("seed:17,do:ping"), 17u);
  EXPECT_FALSE(detective_seed("seed:1000000"));
  EXPECT_FALSE(detective_seed("seed:"));
  EXPECT_FALSE(detective_seed("rung:3"));
}

TEST(DetectiveGame, RangesOfRanks) {
  int left = 0;
  EXPECT_EQ(rank_ranges({361}, 4, left), "R361");
  EXPECT_EQ(rank_ranges({0, 1, 2, 3, 5, 6, 9}, 4, left), "R0-R3, R5, R6, R9");
  EXPECT_EQ(left, 0);
  EXPECT_EQ(rank_ranges({0, 8, 16, 24}, 2, left), "R0, R8");
  EXPECT_EQ(left, 2);
}

TEST(DetectiveGame, StacksOfANodeAreOneLineWhereTheyAreTheSame) {
  sim::ToolReport report;
  for (int r = 0; r < 8; ++r)
    report.findings.push_back({r == 5 ? sim::FindingKind::InPhase : sim::FindingKind::InCall,
                               {r},
                               -1,
                               r == 5 ? 3 : 7,
                               0,
                               r == 5 ? "forward" : "all_reduce"});
  const auto lines = notebook_lines(report);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].finding.ranks.size(), 7u);
  EXPECT_FALSE(lines[0].odd);
  EXPECT_EQ(lines[1].finding.ranks, std::vector<int>{5});
  EXPECT_TRUE(lines[1].odd);
}

// --- the window
// ----------------------------------------------------------------------------------------------------------

TEST(Detective, IsOneClickFromHome) {
  Harness h;
  h.frames(2);
  h.click("home.detective");
  EXPECT_EQ(h.session().scene_id, "detective");
  EXPECT_TRUE(h.shows(tr("detective.title")));
  EXPECT_TRUE(h.has("rail.detective"));
  EXPECT_EQ(h.problems(), "");
}

TEST(Detective, AWholeCaseWithTheMouse) {
  Harness h;
  take_case(h, kNanSeed);
  EXPECT_EQ(h.problems(), "");
  EXPECT_TRUE(h.shows("3:00"));
  h.click("detective.tool.nan_check");
  EXPECT_TRUE(h.shows("3:10")) << "the look takes its time";
  EXPECT_NE(all_texts(h).find("NaN in step 3: R99"), std::string::npos) << all_texts(h);
  h.click("detective.note.0.0");  // leads to the rank
  EXPECT_TRUE(h.shows("Node n12"));
  h.click("detective.suspect");
  h.click("detective.name");
  EXPECT_EQ(h.problems(), "");
  h.click("detective.name.close");
  EXPECT_FALSE(h.has("detective.replay")) << "nothing is named yet: there is no verdict";
  h.click("detective.kind.nan");
  h.click("detective.name.close");
  EXPECT_TRUE(h.has("detective.replay"));
  EXPECT_TRUE(h.shows("99")) << "100, less one minute";
  EXPECT_EQ(h.problems(), "");
  const std::string place = h.app->shell().scene("detective").place();
  EXPECT_NE(place.find("do:nan_check"), std::string::npos) << place;
  EXPECT_NE(place.find("closed"), std::string::npos) << place;
  // The true story: the same job in the cluster scene, at the moment of the fault.
  h.click("detective.replay");
  h.session().finish_simulation();
  h.frames(3);
  EXPECT_EQ(h.session().scene_id, "cluster");
  ASSERT_NE(h.session().scenario(), nullptr);
  ASSERT_EQ(h.session().scenario()->faults.size(), 1u);
  EXPECT_EQ(h.session().scenario()->faults[0].rank, 99);
  EXPECT_EQ(h.session().playhead().t, made(kNanSeed).struck_ns);
  EXPECT_EQ(h.session().trace().size(), made(kNanSeed).run->trace.size()) << "the same trace again";
  // Once more: the tab that holds it comes to the front, there is no second one.
  const std::size_t tabs = h.session().documents().size();
  h.session().scene_id = "detective";
  h.frames(2);
  h.click("detective.replay");
  h.session().finish_simulation();
  h.frames(3);
  EXPECT_EQ(h.session().scene_id, "cluster");
  EXPECT_EQ(h.session().documents().size(), tabs);
}

TEST(Detective, AWholeCaseWithTheKeyboard) {
  Harness h({.lang = Lang::Ko});
  take_case(h, kNanSeed);
  h.app->ui().clear_focus();
  h.press(Key::Right);
  h.press(Key::Down);
  h.frames(1);
  const int columns = layout_desk({0, 0, 1196, 672}, 64).columns;
  EXPECT_TRUE(h.shows("노드 n" + std::to_string(columns + 1)));
  h.press(Key::Enter);
  EXPECT_NE(h.app->shell().scene("detective").place().find("/suspect"), std::string::npos);
  h.press_with_ctrl(Key::Z);
  EXPECT_EQ(h.app->shell().scene("detective").place().find("/suspect"), std::string::npos);
  h.press_with_ctrl(Key::Y);
  EXPECT_NE(h.app->shell().scene("detective").place().find("/suspect"), std::string::npos);
  const auto tab_to = [&](std::string_view id) {
    for (int i = 0; i < 80 && h.app->ui().focused() != id; ++i) h.press(Key::Tab);
    EXPECT_EQ(h.app->ui().focused(), id) << "not reached by Tab";
  };
  tab_to("detective.tool.nan_check");
  h.press(Key::Enter);
  tab_to("detective.note.0.0");
  h.press(Key::Enter);
  h.app->ui().clear_focus();
  h.press(Key::Space);
  tab_to("detective.kind.nan");
  h.press(Key::Enter);
  tab_to("detective.name.close");
  h.press(Key::Enter);
  EXPECT_TRUE(h.shows("99"));
  EXPECT_TRUE(h.has("detective.replay"));
}

/// Before the verdict, nothing that is drawn or said comes from the fault: every text on the desk is there as well
/// in the same case seen by somebody who knows only log, dashboard and answers.
TEST(Detective, NothingGivesTheAnswerAwayBeforeTheVerdict) {
  for (const std::uint64_t seed : {kNanSeed, std::uint64_t{6}, std::uint64_t{8}}) {
    Harness h;
    const sim::DetectiveCase& truth = made(seed);
    const int rank = truth.job.faults.front().rank;
    take_case(h, seed);
    sim::Detective engine(truth);
    std::string visible;  // what the log itself says
    for (const sim::LogRow& row : engine.logs()) visible += "rank" + std::to_string(row.rank) + "\n" + row.text + "\n";
    const auto gives_away = [&](const std::string& word) {
      for (const auto& text : h.record().texts)
        if (text.text.find(word) != std::string::npos && visible.find(text.text) == std::string::npos &&
            visible.find(word) == std::string::npos)
          ADD_FAILURE() << "seed " << seed << ": \"" << text.text << "\"";
    };
    if (rank >= 8) gives_away("R" + std::to_string(rank));
    for (int r = 0; r < 512; ++r)
      EXPECT_EQ(h.shows("R" + std::to_string(r)), r < 8) << seed << ": the ranks of the chosen node, no other";
    const sim::Diagnosis d = [&] {
      sim::Detective closed(truth);
      closed.close({});
      return closed.story().diagnosis;
    }();
    gives_away(tr_word("detective.kind", sim::to_word(d.kind)));
    gives_away(d.first_cause.what);
    gives_away(std::string(sim::to_word(truth.job.faults.front().kind)));
    EXPECT_EQ(h.app->window_title().find(std::to_string(rank)), std::string::npos);
    const std::string place = h.app->shell().scene("detective").place();
    EXPECT_EQ(place, "seed:" + std::to_string(seed) + ",node:0") << "nothing but the seed and what was chosen";
    // The accusation offers every kind, in the same order in every case.
    h.click("detective.name");
    float above = 0;
    for (const sim::DiagnosisKind kind : sim::detective_kinds()) {
      const auto box = h.app->ui().probe("detective.kind." + std::string(sim::to_word(kind)));
      ASSERT_TRUE(box);
      EXPECT_GT(box->y, above);
      above = box->y;
    }
  }
}

/// Two players of one seed, the first verdict wrong: the same desk for both.
TEST(Detective, TheSameSeedIsTheSameCase) {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    Harness h;
    take_case(h, 6);
    h.click("detective.tool.kernel_log");
    if (i == 0)
      first = all_texts(h);
    else
      EXPECT_EQ(all_texts(h), first);
  }
}

TEST(Detective, AWrongNameIsAnsweredWithTheTruth) {
  Harness h;
  Scene& scene = h.app->shell().scene("detective");
  ASSERT_TRUE(scene.go_to("seed:3,do:dump,rank:8,kind:rank_crash,closed"));
  h.session().scene_id = "detective";
  h.frames(3);
  EXPECT_EQ(h.problems(), "");
  EXPECT_TRUE(h.shows("- 20")) << "n1 was innocent";
  EXPECT_NE(all_texts(h).find("R99"), std::string::npos);
  EXPECT_FALSE(scene.go_to("seed:3,closed"));
  EXPECT_FALSE(scene.go_to("rung:3"));
  h.click("detective.copy");
  EXPECT_STREQ(ImGui::GetClipboardText(), "3");
  h.click("detective.next");
  EXPECT_TRUE(h.has("detective.take")) << "the next case is being made";
}

TEST(Detective, FitsInEverySizeOnEveryPage) {
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const HarnessOptions& size :
         {HarnessOptions{}, HarnessOptions{.width = 2560, .height = 1440, .theme = ThemeChoice::Light},
          HarnessOptions{.width = 2560, .height = 1440, .user_scale = 2.5f},
          HarnessOptions{.width = 1600, .height = 900}}) {
      HarnessOptions options = size;
      options.lang = lang;
      Harness h(options);
      h.session().scene_id = "detective";
      h.frames(2);
      EXPECT_EQ(h.problems(), "") << "start";
      Scene& scene = h.app->shell().scene("detective");
      for (const char* place :
           {"seed:6,do:nan_check+kernel_log+ping+dump+stacks/25,mark:25/suspect,mark:3/cleared,rank:207",
            "seed:6,do:kernel_log,kind:pcie_error,rank:207,naming", "seed:6,naming",
            "seed:6,do:dump+dump+dump+ping,rank:1,kind:nan,closed",
            "seed:1,do:stacks/4,rank:32,kind:sequence_mismatch,closed", "seed:1"}) {
        ASSERT_TRUE(scene.go_to(place)) << place;
        h.frames(2);
        EXPECT_EQ(h.problems(), "") << place << " " << options.width << " × " << options.user_scale << " "
                                    << to_word(lang);
      }
      if (options.width == 1280) {
        h.click("detective.log.row0");
        EXPECT_EQ(h.problems(), "") << "a row in full";
        h.click("detective.log.last");
        EXPECT_EQ(h.problems(), "") << "the end of the log";
      }
    }
}

}  // namespace
}  // namespace ringside::app::test
