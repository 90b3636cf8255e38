// Branches: faults by hand, the kept future, where two branches part, the break menu.
#include <set>

#include "app/session/breaks.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

std::string bytes_of(const sim::Trace& trace) {
  std::string out;
  for (const sim::Event& event : trace.events()) sim::append_event_json(out, trace, event);
  return out;
}

std::string scenario_path(std::string_view name) {
  return source_path("assets/scenarios/" + std::string(name));
}

/// Four ranks, four training steps with phases, so that every kind has a step to happen in.
sim::Scenario training() {
  auto scenario = sim::parse_scenario(
      "title = \"t\"\n[cluster]\nnodes = 2\ngpus_per_node = 2\n[tensor]\nshape = [8]\nvalues = \"index\"\n"
      "[training]\nsteps = 4\nforward = \"30ms\"\nbackward = \"60ms\"\noptimizer = \"5ms\"\n"
      "[collective]\nop = \"sum\"\n[stack]\ntransport = \"ib\"\nwatchdog = \"30s\"\n",
      "t.toml");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return *scenario;
}

sim::Fault crash(int rank) {
  sim::Fault fault;
  fault.kind = sim::FaultKind::Crash;
  fault.rank = rank;
  return fault;
}

class Branches : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(load_languages(source_path("assets/lang")));
    set_language(Lang::En);
    session.open_scenario(training(), "t");
    ASSERT_TRUE(session.has_trace());
  }
  Session session;
};

TEST_F(Branches, AFaultByHandForksAndKeepsTheOldFuture) {
  const std::string before = bytes_of(session.trace());
  session.playhead().t = 130'000'000;
  session.apply(action::Inject{crash(2)});
  ASSERT_EQ(session.branches().size(), 2u);
  EXPECT_EQ(session.branch(), 1);
  EXPECT_EQ(session.branches()[1].parent, 0);
  EXPECT_EQ(session.branches()[1].forked_at, 130'000'000);
  EXPECT_EQ(session.playhead().t, 130'000'000) << "the same moment, in the other future";
  EXPECT_NE(bytes_of(session.trace()), before);
  session.apply(action::SwitchBranch{0});
  EXPECT_EQ(bytes_of(session.trace()), before) << "nothing of the old future is lost";
}

TEST_F(Branches, GivesTheBytesOfAScenarioWithThatFault) {
  session.playhead().t = 45'000'001;
  session.apply(action::Inject{crash(1)});
  sim::Scenario with = training();
  with.faults.push_back(crash(1));
  with.faults.back().at_ns = 45'000'001;
  EXPECT_EQ(bytes_of(session.trace()), bytes_of(sim::simulate(with).trace));
  const Branch& branch = session.branches()[1];
  const auto again =
      sim::parse_scenario(sim::to_toml(with_commands(branch.scenario, branch.commands)), "b.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(bytes_of(sim::simulate(*again).trace), bytes_of(session.trace())) << "also as a saved file";
}

TEST_F(Branches, TheSameFaultAtTheSameMomentIsTheSameBranch) {
  session.playhead().t = 130'000'000;
  session.apply(action::Inject{crash(2)});
  session.apply(action::SwitchBranch{0});
  session.playhead().t = 130'000'000;
  session.apply(action::Inject{crash(2)});
  EXPECT_EQ(session.branches().size(), 2u);
  EXPECT_EQ(session.branch(), 1);
  const Branch &a = session.branches()[0], &b = session.branches()[1];
  EXPECT_NE(branch_id(a.scenario, a.commands), branch_id(b.scenario, b.commands));
  EXPECT_EQ(branch_id(b.scenario, b.commands).size(), 16u);
}

TEST_F(Branches, UndoGoesBackToTheBranchAndRedoReturns) {
  session.playhead().t = 130'000'000;
  session.apply(action::Inject{crash(2)});
  session.apply(action::Undo{});
  EXPECT_EQ(session.branch(), 0);
  EXPECT_EQ(session.branches().size(), 2u) << "undo loses no future either";
  session.apply(action::Redo{});
  EXPECT_EQ(session.branch(), 1);
}

TEST_F(Branches, AFaultIsRemovedIntoAnotherBranch) {
  session.playhead().t = 130'000'000;
  session.apply(action::Inject{crash(2)});
  const std::string healthy = bytes_of(session.branches()[0].simulation->trace);
  session.apply(action::RemoveFault{});
  EXPECT_EQ(session.branch(), 0) << "without its only fault it is the first one again";
  session.playhead().t = 50'000'000;
  sim::Fault slow = crash(1);
  slow.kind = sim::FaultKind::Slow;
  slow.factor_ppm = 500'000;
  session.apply(action::Inject{slow});
  session.playhead().t = 140'000'000;
  session.apply(action::Inject{crash(3)});
  session.selection = Selection{.rank = 1};
  session.apply(action::RemoveFault{});
  ASSERT_EQ(session.faults().size(), 1u);
  EXPECT_EQ(session.faults()[0].rank, 3) << "the one that the selection is about goes";
  EXPECT_EQ(session.branches().size(), 5u);
  EXPECT_EQ(bytes_of(session.branches()[0].simulation->trace), healthy);
}

TEST_F(Branches, TheComparisonNamesRankStepAndPhase) {
  session.playhead().t = 150'000'000;  // every rank is in backward of step 2
  session.apply(action::Inject{crash(3)});
  session.apply(action::Compare{0});
  ASSERT_TRUE(session.difference());
  EXPECT_EQ(session.difference()->source, sim::Source::rank(3));
  EXPECT_EQ(session.difference()->step, 2);
  EXPECT_EQ(session.difference()->phase, sim::Phase::Backward);
  EXPECT_EQ(session.difference()->t, 150'000'000);
  EXPECT_EQ(session.compared_frame().ranks.size(), 4u);
  session.apply(action::SwitchBranch{0});
  EXPECT_EQ(session.compared(), 1) << "switching between the two makes them change places";
  session.apply(action::Compare{-1});
  EXPECT_FALSE(session.difference());
}

TEST_F(Branches, EditsStayOnTheirBranchAndKeepTheirFaults) {
  session.playhead().t = 150'000'000;
  session.apply(action::Inject{crash(3)});
  session.apply(
      action::EditScenario{"max", [](sim::Scenario& s) { s.collective.op = sim::ReduceOp::Max; }, {}});
  EXPECT_EQ(session.faults().size(), 1u);
  EXPECT_EQ(session.scenario()->collective.op, sim::ReduceOp::Max);
  session.apply(action::SwitchBranch{0});
  EXPECT_EQ(session.scenario()->collective.op, sim::ReduceOp::Sum);
  session.apply(action::SwitchBranch{1});
  session.apply(action::EditScenario{"two",
                                     [](sim::Scenario& s) {
                                       s.cluster.nodes = 1;
                                       s.cluster.topology.world_size = s.world_size();
                                     },
                                     {}});
  EXPECT_EQ(session.scenario()->world_size(), 2);
  EXPECT_TRUE(session.faults().empty()) << "R3 is gone, and its crash with it";
}

TEST_F(Branches, ARealRunCannotBeForked) {
  auto trace = std::make_unique<sim::Trace>(session.trace());
  session.open_trace(std::move(trace), "recording", {});
  session.apply(action::Inject{crash(0)});
  ASSERT_FALSE(session.notices.empty());
  EXPECT_EQ(session.notices.back().text, "A real run cannot be forked. Make a scenario from it.");
  EXPECT_TRUE(session.branches().empty());
}

TEST_F(Branches, WhatTheMenuOffersHappensAndWhatItRefusesIsRefused) {
  // Every offered kind must make a future that differs; every refused one must say why and fork nothing.
  for (const std::int64_t t : {std::int64_t{0}, std::int64_t{20'000'000}, std::int64_t{150'000'000}}) {
    for (const Selection& target : {Selection{.rank = 2}, Selection{.link_from = 1, .link_to = 2}}) {
      session.playhead().t = t;
      const auto choices = session.break_choices(target);
      EXPECT_EQ(choices.size(), target.rank >= 0 ? 18u : 3u);
      for (const BreakChoice& choice : choices) {
        Session fresh;
        fresh.open_scenario(training(), "t");
        fresh.playhead().t = t;
        fresh.apply(action::Inject{choice.fault});
        EXPECT_EQ(fresh.branches().size(), choice.why_not.empty() ? 2u : 1u) << fault_name(choice.fault);
        if (!choice.why_not.empty()) continue;
        fresh.apply(action::Compare{0});
        EXPECT_TRUE(fresh.difference()) << fault_name(choice.fault) << " at " << t << " changes nothing";
      }
    }
  }
}

TEST_F(Branches, AnEndedRankAndAnEndedJobCannotBreakAgain) {
  session.playhead().t = 130'000'000;
  session.apply(action::Inject{crash(2)});
  session.playhead().t = 131'000'000;
  for (const BreakChoice& choice : session.break_choices(Selection{.rank = 2}))
    EXPECT_EQ(choice.why_not, "R2 has already ended.") << fault_name(choice.fault);
  session.playhead().t = session.end_time();
  for (const BreakChoice& choice : session.break_choices(Selection{.rank = 1}))
    EXPECT_EQ(choice.why_not, "The job is over by now. Go back in time first.");
}

// --- tabs

TEST_F(Branches, ScenariosOpenInTabs) {
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus.toml")));
  EXPECT_EQ(session.documents().size(), 1u) << "nothing was changed, so it takes the place";
  ASSERT_TRUE(session.open_file(scenario_path("uneven.toml"), true));
  ASSERT_EQ(session.documents().size(), 2u);
  session.scene_id = "allreduce";
  session.playhead().t = 3;
  session.apply(action::SwitchTab{0});
  EXPECT_EQ(session.name(), "four-gpus");
  session.apply(action::SwitchTab{1});
  EXPECT_EQ(session.name(), "uneven");
  EXPECT_EQ(session.playhead().t, 3) << "each tab keeps its place";
  session.apply(action::Inject{crash(1)});
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus-vector.toml")));
  EXPECT_EQ(session.documents().size(), 3u) << "what was broken is kept in its tab";
  session.apply(action::CloseTab{2});
  EXPECT_EQ(session.name(), "uneven");
  session.apply(action::CloseTab{0});
  EXPECT_EQ(session.name(), "uneven");
  EXPECT_EQ(session.branches().size(), 2u);
  session.apply(action::CloseTab{0});
  EXPECT_FALSE(session.has_trace());
  EXPECT_EQ(session.scene_id, "home");
}

TEST_F(Branches, AsManyTabsAsAllowedAndNoMore) {
  for (int i = 0; i < kMaxTabs + 3; ++i) {
    session.open_scenario(training(), "t" + std::to_string(i), true);
    session.playhead().t = 150'000'000;
    session.apply(action::Inject{crash(1)});
  }
  EXPECT_EQ(static_cast<int>(session.documents().size()), kMaxTabs);
  EXPECT_FALSE(session.notices.empty()) << "refused aloud, not by losing a branch";
}

TEST_F(Branches, ALongSimulationIsCancelledAndNothingChanges) {
  session.apply(action::EditScenario{"a big job",
                                     [](sim::Scenario& s) {
                                       s.tensor.values = sim::ValueSource::None;
                                       s.cluster.nodes = 256;
                                       s.cluster.topology.world_size = s.world_size();
                                       s.training.steps = 100'000;
                                     },
                                     {}});
  ASSERT_TRUE(session.simulating());
  session.apply(action::CancelSimulation{});
  session.finish_simulation();
  EXPECT_EQ(session.scenario()->world_size(), 4);
  EXPECT_FALSE(session.can_undo()) << "a step that was not made cannot be undone";
}

// --- the menu on screen

TEST(BreakMenu, OpensOnEverythingByMouseAndByKey) {
  Harness h;
  h.open("four-gpus-vector.toml");
  h.session().playhead().t = sim::ring_step_end(h.session().trace(), 0, 1) + 1;
  h.frames(1);
  const auto right_click = [&](std::string_view id) {
    h.move_to(id);
    compat::inject_mouse_button(1, true);
    h.frames(1);
    compat::inject_mouse_button(1, false);
    h.frames(2);
  };
  right_click("allreduce.link0.1.1");
  EXPECT_TRUE(h.has("break.link_down"));
  EXPECT_FALSE(h.has("break.crash"));
  EXPECT_EQ(h.problems(), "");
  h.press(Key::Escape);
  right_click("allreduce.rank2.c1");
  EXPECT_TRUE(h.shows("R2, c1"));
  EXPECT_TRUE(h.has("break.nan"));
  EXPECT_EQ(h.problems(), "");
  h.click("break.next");
  EXPECT_TRUE(h.shows("R3, c1"));
  h.press(Key::Escape);
  h.session().selection = Selection{.rank = 1};
  h.press(Key::Enter);
  EXPECT_TRUE(h.has("break.crash"));
  h.click("break.bit_flip");
  EXPECT_TRUE(h.has("break.bit")) << "a bit flip asks which bit";
  EXPECT_EQ(h.problems(), "");
  h.click("break.go");
  EXPECT_EQ(h.session().branches().size(), 2u);
  h.press(Key::Delete);
  EXPECT_EQ(h.session().branch(), 0);
}

TEST(BreakMenu, ANumberFromAChunkIsTheOneThatBreaks) {
  Harness h;
  h.open("four-gpus-vector.toml");
  h.session().playhead().t = 1;
  h.frames(1);
  h.app->ui().focus("allreduce.rank3.c1");
  h.press(Key::Menu);
  h.click("break.nan");
  ASSERT_EQ(h.session().faults().size(), 1u);
  EXPECT_EQ(h.session().faults()[0].rank, 3);
  EXPECT_EQ(h.session().faults()[0].element, 1);
  h.session().playhead().t = h.session().end_time();
  h.frames(2);
  EXPECT_EQ(h.problems(), "");
  EXPECT_TRUE(h.shows("NaN")) << "the sum of that place is NaN on every rank";
}

TEST(BreakMenu, SaysWhenAFaultCameTooLateToMatter) {
  Harness h;
  h.open("four-gpus-vector.toml");
  h.session().playhead().t = 1;  // R3 has just sent its c2 away: what stands there now is never read again
  sim::Fault fault;
  fault.kind = sim::FaultKind::Nan;
  fault.rank = 3;
  fault.element = 2;
  h.session().apply(action::Inject{fault});
  h.frames(2);
  EXPECT_TRUE(h.shows("Nothing became different: R3 NaN has no effect at this moment.")) << h.problems();
}

TEST(BreakMenu, FitsInBothLanguagesForEveryTarget) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang});
    h.session().open_scenario(training(), "t");
    h.session().scene_id = "allreduce";
    for (const std::int64_t t : {std::int64_t{0}, std::int64_t{150'000'000}, h.session().end_time()})
      for (const Selection& target :
           {Selection{.rank = 1}, Selection{.link_from = 0, .link_to = 1}, Selection{.node = 1}}) {
        h.session().playhead().t = t;
        h.frames(1);
        h.app->shell().break_menu.open(h.session(), h.app->ui(), target, {400, 300});
        h.frames(2);
        EXPECT_EQ(h.problems(), "") << t;
        for (const sim::FaultRule& rule : sim::fault_rules()) {
          const std::string id = "break." + std::string(rule.word);
          if (!h.has(id) || !h.session().break_choices(target).front().why_not.empty()) continue;
          h.click(id);
          EXPECT_EQ(h.problems(), "") << id;
          if (h.has("break.back")) h.click("break.back");
          h.session().apply(action::SwitchBranch{0});
          h.frames(1);
          h.app->shell().break_menu.open(h.session(), h.app->ui(), target, {400, 300});
          h.frames(2);
        }
        h.press(Key::Escape);
      }
  }
}

}  // namespace
}  // namespace ringside::app::test
