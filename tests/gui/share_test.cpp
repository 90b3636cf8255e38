// Moments that are copied and opened elsewhere, files that are saved, exports; the axis on which waits are
// cut.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "app/render.hpp"
#include "app/session/files.hpp"
#include "app/session/moment.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {
namespace fs = std::filesystem;

std::string bytes_of(const sim::Trace& trace) {
  std::string out;
  for (const sim::Event& event : trace.events()) sim::append_event_json(out, trace, event);
  return out;
}

/// A folder of this test alone, gone afterwards.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("ringside_share_" + std::to_string(getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

sim::Fault fault(sim::FaultKind kind, int rank) {
  sim::Fault out;
  out.kind = kind;
  out.rank = rank;
  return out;
}

TEST(Moments, AFreshAppShowsTheSamePixels) {
  std::string text;
  Image before;
  {
    Harness h({.theme = ThemeChoice::Light, .offscreen = true});
    h.open("four-gpus-vector.toml");
    h.session().apply(
        action::EditScenario{"op", [](sim::Scenario& s) { s.collective.op = sim::ReduceOp::Sum; }, {}});
    h.session().playhead().t = sim::ring_step_end(h.session().trace(), 0, 1) + 100;
    sim::Fault nan = fault(sim::FaultKind::Nan, 2);
    nan.element = 3;  // it waits there for what is on its way
    h.session().apply(action::Inject{nan});
    h.session().playhead().t = sim::ring_step_end(h.session().trace(), 0, 3) + 700;
    h.session().playhead().unit = sim::StepUnit::Transfer;
    h.session().selection = Selection{.rank = 1};
    h.app->shell().scene("allreduce").set_view_state("tensor ring");
    h.frames(3);
    const auto copied = h.app->moment_text();
    ASSERT_TRUE(copied) << copied.error().message();
    text = *copied;
    before = h.image();
  }
  EXPECT_LT(text.size(), 2'000u) << "short enough for a message";
  Harness h({.theme = ThemeChoice::Light, .offscreen = true});
  const sim::Status opened = h.app->open_moment(text);
  ASSERT_TRUE(opened) << opened.error().message();
  h.frames(3);
  // What only that window had: its undo history, and that the scenario came from a file.
  int differing = 0;
  ASSERT_EQ(h.image().rgba.size(), before.rgba.size());
  for (std::size_t i = 0; i < before.rgba.size(); i += 4) {
    const auto y = static_cast<int>(i / 4) / before.width;
    if (y >= 48 && std::memcmp(&before.rgba[i], &h.image().rgba[i], 3) != 0) ++differing;
  }
  EXPECT_EQ(differing, 0);
  EXPECT_EQ(h.session().branches().size(), 2u) << "its own original stands beside it";
  EXPECT_EQ(h.session().faults().size(), 1u);
}

TEST(Moments, TheChosenNumberOfATrainingStepTravelsAlong) {
  std::string text;
  {
    Harness h;
    h.open("training-step.toml");
    h.session().scene_id = "step";
    h.frames(2);
    h.app->shell().scene("step").set_view_state("number 7");
    h.frames(2);
    const auto copied = h.app->moment_text();
    ASSERT_TRUE(copied) << copied.error().message();
    text = *copied;
  }
  Harness other;
  ASSERT_TRUE(other.app->open_moment(text));
  other.frames(2);
  EXPECT_EQ(other.app->shell().scene("step").view_state(), "number 7");
  for (const std::string_view nonsense : {"", "number", "number x", "proof -5", "7 number"})
    other.app->shell().scene("step").set_view_state(nonsense);
  other.frames(2);
  EXPECT_EQ(other.app->shell().scene("step").view_state(), "proof 7") << "what is not understood stays as it was";
}

TEST(Moments, EveryKindOfFaultComesBackAsItWas) {
  auto scenario = sim::parse_scenario(
      "[cluster]\nnodes = 2\ngpus_per_node = 2\n[tensor]\nshape = [4, 4]\nvalues = {random = \"normal\"}\n"
      "[training]\nsteps = 4\nforward = \"30ms\"\nbackward = \"60ms\"\n[stack]\ntransport = \"ib\"\n",
      "t.toml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  for (const sim::FaultRule& rule : sim::fault_rules()) {
    Moment moment;
    moment.name = "t \"x\" \\ 한국어\n";
    moment.scene_id = "allreduce";
    moment.scenario = *scenario;
    moment.playhead.t = 123'456'789;
    moment.playhead.speed = 0.000123;
    moment.selection = {.rank = 1, .chunk = 3};
    Selection target{.rank = 2};
    if (rule.target == sim::FaultTarget::Link) target = {.link_from = 1, .link_to = 2};
    const sim::Frame frame;
    for (const BreakChoice& choice : break_choices(target, {*scenario, frame, 50'000'000, 1'000'000'000, {}}))
      if (choice.fault.kind == rule.kind) moment.commands.push_back({50'000'000, choice.fault});
    ASSERT_EQ(moment.commands.size(), 1u);
    const auto text = write_moment(moment);
    ASSERT_TRUE(text) << rule.word;
    const auto back = read_moment(*text);
    ASSERT_TRUE(back) << rule.word << ": " << back.error().message();
    EXPECT_EQ(back->name, moment.name);
    EXPECT_EQ(back->playhead.t, moment.playhead.t);
    EXPECT_EQ(back->playhead.speed, moment.playhead.speed);
    EXPECT_EQ(back->selection, moment.selection);
    ASSERT_EQ(back->commands.size(), 1u);
    EXPECT_EQ(branch_id(back->scenario, back->commands), branch_id(moment.scenario, moment.commands))
        << rule.word;
    EXPECT_EQ(bytes_of(sim::simulate(back->scenario, back->commands).trace),
              bytes_of(sim::simulate(moment.scenario, moment.commands).trace))
        << rule.word;
  }
}

TEST(Moments, ValuesFromFilesTravelAlong) {
  Session session;
  ASSERT_TRUE(load_languages(source_path("assets/lang")));
  ASSERT_TRUE(session.open_file(source_path("assets/scenarios/own-npy.toml")));
  session.finish_simulation();
  const auto text = write_moment(session.moment({}));
  ASSERT_TRUE(text) << text.error().message();
  const auto back = read_moment(*text);
  ASSERT_TRUE(back) << back.error().message();
  const std::string here = bytes_of(session.trace()), there = bytes_of(sim::simulate(back->scenario).trace);
  EXPECT_EQ(here, there) << "bit for bit, without the files";
}

TEST(Moments, HostileTextIsRefusedWithAReason) {
  Session session;
  ASSERT_TRUE(session.open_file(source_path("assets/scenarios/four-gpus.toml")));
  const auto good = write_moment(session.moment({}));
  ASSERT_TRUE(good);
  std::string wrapped = "  \n" + *good + "\n";
  for (std::size_t i = 60; i < wrapped.size(); i += 60) wrapped.insert(i, "\r\n ");
  EXPECT_TRUE(read_moment(wrapped)) << "a mail may wrap it";
  const auto refused = [](const std::string& text) {
    const auto read = read_moment(text);
    EXPECT_FALSE(read);
    if (!read) {
      EXPECT_FALSE(read.error().what.empty());
    }
  };
  refused("");
  refused("hello");
  refused("ringside1.");
  refused("ringside1.!!!!");
  refused("ringside2." + good->substr(10));
  refused(good->substr(0, good->size() / 2));
  refused(std::string(kMaxMomentText + 1, 'A'));
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {  // zlib's checksum stands against one wrong character anywhere
    std::string bad = *good;
    char& c = bad[10 + random() % (bad.size() - 10)];
    c = c == 'A' ? 'B' : 'A';
    if (bad != *good) refused(bad);
  }
}

TEST(Moments, ASmallTextCannotUnpackIntoAllMemory) {
  // 64 MiB of zeros in some 64 KiB: legal zlib, refused for its size.
  Moment moment;
  auto scenario = sim::parse_scenario("[tensor]\nshape = [1]\n", "x");
  ASSERT_TRUE(scenario) << scenario.error().message();
  moment.scenario = *scenario;
  moment.scenario.title = std::string(64u << 20, 'x');
  moment.scene_id = "allreduce";
  const auto text = write_moment(moment);
  ASSERT_TRUE(text);
  EXPECT_LT(text->size(), kMaxMomentText);
  const auto read = read_moment(*text);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("too large"), std::string::npos) << read.error().what;
}

TEST(Moments, TooManyNumbersAreRefusedWithAdvice) {
  auto scenario = sim::parse_scenario("[tensor]\nshape = [100000]\nvalues = {random = \"normal\"}\n", "x");
  ASSERT_TRUE(scenario) << scenario.error().message();
  Moment moment;
  moment.scenario = *scenario;
  EXPECT_TRUE(write_moment(moment)) << "a seed is a short text";
  moment.scenario.tensor.values = sim::ValueSource::List;
  moment.scenario.tensor.list = sim::make_inputs(*scenario);
  const auto text = write_moment(moment);
  ASSERT_FALSE(text);
  EXPECT_FALSE(text.error().hint.empty());
}

TEST(Moments, CopyAndPasteByKey) {
  Harness h;
  h.open("four-gpus-vector.toml");
  h.session().playhead().t = 5'000;
  h.press_with_ctrl(Key::C);
  h.session().playhead().t = 0;
  h.frames(1);
  h.press_with_ctrl(Key::V);
  EXPECT_EQ(h.session().documents().size(), 2u);
  EXPECT_EQ(h.session().playhead().t, 5'000);
  EXPECT_EQ(h.problems(), "");
  h.press_with_ctrl(Key::Tab);
  EXPECT_EQ(h.session().playhead().t, 0);
  h.press_with_ctrl(Key::W);
  EXPECT_EQ(h.session().documents().size(), 1u);
  EXPECT_EQ(h.session().playhead().t, 5'000);
  ImGui::SetClipboardText("something else");
  h.press_with_ctrl(Key::V);
  EXPECT_EQ(h.session().documents().size(), 1u);
  EXPECT_EQ(h.problems(), "");
}

TEST(Saving, TheFileGivesTheSameTrace) {
  Folder folder;
  Harness h;
  h.open("own-npy.toml");
  h.session().playhead().t = h.session().end_time() / 3;
  h.session().apply(action::Inject{fault(sim::FaultKind::Crash, 1)});
  const std::string bytes = bytes_of(h.session().trace()), path = (folder.path / "saved.toml").string();
  ASSERT_TRUE(h.session().save_scenario(path));
  EXPECT_EQ(h.session().name(), "saved");
  Session other;
  ASSERT_TRUE(other.open_file(path)) << other.problem()->error.message();
  other.finish_simulation();
  EXPECT_EQ(bytes_of(other.trace()), bytes);
  EXPECT_FALSE(h.session().save_scenario("/proc/nowhere/x.toml"));
}

TEST(Saving, ByKeyIntoTheFolderOfTheFile) {
  Folder folder;
  fs::copy_file(source_path("assets/scenarios/four-gpus.toml"), folder.path / "mine.toml");
  Harness h;
  h.app->drop_files({(folder.path / "mine.toml").string()});
  h.frames(2);
  h.press_with_ctrl(Key::S);
  ASSERT_TRUE(h.has("share.go"));
  EXPECT_EQ(h.problems(), "");
  h.click("share.go");
  EXPECT_TRUE(fs::exists(folder.path / "mine-2.toml")) << "a free name is proposed";
  EXPECT_EQ(h.session().path(), (folder.path / "mine-2.toml").string());
}

TEST(Saving, NamesAndFolders) {
  EXPECT_EQ(safe_file_stem("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(safe_file_stem("a:b\nc"), "a-b-c");
  EXPECT_EQ(safe_file_stem("..."), "scenario");
  EXPECT_EQ(safe_file_stem("GPU 네 개"), "GPU 네 개");
  EXPECT_NE(documents_folder(source_path("assets/scenarios/four-gpus.toml")), source_path("assets/scenarios"))
      << "Ringside's own folder is no place for a person's files";
}

TEST(Exports, TheCommandLineIsAVectorAndTheWindowStays) {
  action::Export wanted;
  wanted.path = "/tmp/a b; rm -rf $HOME.mp4";
  wanted.video = true;
  wanted.from = 10;
  wanted.to = 2'000;
  const auto argv = ExportJob::command_line(wanted, {.lang = Lang::Ko, .assets = "/x"}, "/bin/ringside");
  EXPECT_EQ(argv[2], wanted.path) << "one argument, whatever it holds";
  EXPECT_NE(std::find(argv.begin(), argv.end(), "2000ns"), argv.end());
}

TEST(Exports, AChildIsReadAndCancelled) {
  auto child = ChildProcess::start({"/bin/sh", "-c", "echo frame 1 2; cat; echo bad >&2; exit 3"},
                                   {.input = "frame 2 2\n", .read_output = true});
  ASSERT_TRUE(child);
  child->wait();
  EXPECT_EQ(child->lines(), (std::vector<std::string>{"frame 1 2", "frame 2 2"}));
  EXPECT_EQ(child->exit_code(), 3);
  EXPECT_EQ(child->errors(), "bad");
  EXPECT_FALSE(ChildProcess::start({"/no/such/program"}, {}));
  auto long_one = ChildProcess::start({"/bin/sleep", "60"}, {});
  ASSERT_TRUE(long_one);
  EXPECT_TRUE(long_one->running());
  long_one->kill();
  long_one->wait();
  EXPECT_EQ(long_one->exit_code(), 128 + 15);
}

TEST(Share, PanelsFitInBothLanguages) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang});
    h.open("four-gpus-vector.toml");
    for (const char* page : {"share.save", "share.picture", "share.video"}) {
      h.click("top.share");
      EXPECT_EQ(h.problems(), "");
      h.click(page);
      EXPECT_EQ(h.problems(), "") << page;
      h.press(Key::Escape);
    }
  }
}

// --- the axis

sim::Trace trace_of(std::string_view faults, std::string_view more = "") {
  auto scenario =
      sim::parse_scenario("[cluster]\ngpus_per_node = 4\n[tensor]\nshape = [8]\nvalues = \"index\"\n" +
                              std::string(more) + std::string(faults),
                          "t.toml");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return sim::simulate(*scenario).trace;
}

TEST(TimeAxis, AHealthyJobIsShownAsItIs) {
  const sim::Trace trace = trace_of("", "[training]\nsteps = 2\nforward = \"12s\"\nbackward = \"20s\"\n");
  const TimeAxis axis(trace);
  EXPECT_TRUE(axis.cuts().empty()) << "long work is work";
  EXPECT_EQ(axis.place(5'000), 5'000.0);
  EXPECT_EQ(axis.length(), static_cast<double>(trace.end_time()));
}

TEST(TimeAxis, TheWaitForTheWatchdogIsCut) {
  const sim::Trace trace = trace_of("[[fault]]\nkind = \"hang\"\nrank = 1\nstep = 1\nat = \"all_reduce\"\n");
  ASSERT_GT(trace.end_time(), 600'000'000'000);
  const TimeAxis axis(trace);
  ASSERT_FALSE(axis.cuts().empty());
  EXPECT_LT(axis.length(), 60e9) << "ten minutes of nothing take little room";
  double last = -1;
  for (int i = 0; i <= 1'000; ++i) {
    const std::int64_t t = trace.end_time() / 1'000 * i;
    const double place = axis.place(t);
    EXPECT_GE(place, last);
    last = place;
    EXPECT_NEAR(static_cast<double>(axis.time(place)), static_cast<double>(t),
                1e-6 * static_cast<double>(trace.end_time()));
  }
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_NEAR(axis.place(trace.end_time()), axis.length(), 1);
}

TEST(TimeAxis, PlayingCrossesAWaitInAMoment) {
  Session session;
  auto scenario = sim::parse_scenario(
      "[cluster]\ngpus_per_node = 4\n[tensor]\nshape = [8]\nvalues = \"index\"\n[[fault]]\nkind = "
      "\"hang\"\nrank = 1\n"
      "step = 1\nat = \"all_reduce\"\n",
      "t.toml");
  ASSERT_TRUE(scenario);
  session.open_scenario(*scenario, "t");
  session.apply(action::TogglePlay{});
  for (int i = 0; i < 60 * 20 && session.playhead().mode == sim::PlayMode::Playing; ++i)
    session.update(16'666'667);
  EXPECT_EQ(session.playhead().t, session.end_time()) << "within twenty seconds, not within ten minutes";
}

TEST(Videos, FramesGoFromTheFirstMomentToTheLast) {
  const sim::Trace trace = trace_of("");
  const TimeAxis axis(trace);
  const auto times = video_times(axis, 0, trace.end_time(), 100);
  EXPECT_EQ(times.size(), 100u);
  EXPECT_EQ(times.front(), 0);
  EXPECT_EQ(times.back(), trace.end_time());
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_EQ(video_times(axis, 5, 5, 1), std::vector<std::int64_t>{5});
}

// --- two branches side by side, presenter

TEST(Compare, TwoBranchesSideBySideFit) {
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const auto& [width, height] : {std::pair{1280, 720}, std::pair{2560, 1440}}) {
      Harness h({.width = width, .height = height, .lang = lang});
      h.open("four-gpus-vector.toml");
      h.session().playhead().t = sim::ring_step_end(h.session().trace(), 0, 1) + 1;
      h.session().apply(action::Inject{fault(sim::FaultKind::Crash, 2)});
      h.frames(2);
      EXPECT_EQ(h.problems(), "") << "tracks under the timeline";
      ASSERT_TRUE(h.has("branch.track.0"));
      h.click("branch.chip");
      EXPECT_EQ(h.problems(), "") << "the list";
      h.click("branch.compare.0");
      h.frames(2);
      ASSERT_TRUE(h.has("compare.end"));
      EXPECT_EQ(h.problems(), "") << "side by side";
      h.session().playhead().t = 0;
      h.click("compare.go");
      EXPECT_EQ(h.session().playhead().t, h.session().difference()->t);
      h.click("branch.track.0");
      EXPECT_EQ(h.session().branch(), 0);
      h.click("compare.end");
      EXPECT_FALSE(h.has("compare.end"));
    }
}

TEST(Presenter, TheLightStaysWhereItWasPut) {
  Harness h;
  h.open("four-gpus-vector.toml");
  h.click("top.presenter");
  ASSERT_TRUE(h.app->shell().presenter);
  const auto click_at = [&](Vec2 at) {
    compat::inject_mouse_position(at);
    h.frames(1);
    compat::inject_mouse_button(0, true);
    h.frames(1);
    compat::inject_mouse_button(0, false);
    h.frames(2);
  };
  click_at({400, 300});
  ASSERT_TRUE(h.app->shell().spotlight);
  const Vec2 put = *h.app->shell().spotlight;
  h.press(Key::PageDown);
  compat::inject_mouse_position({900, 200});
  h.frames(2);
  EXPECT_EQ(*h.app->shell().spotlight, put) << "neither time nor the mouse moves it";
  EXPECT_EQ(h.session().selection, Selection{}) << "the light is no selection";
  EXPECT_EQ(h.problems(), "");
  click_at({405, 305});
  EXPECT_FALSE(h.app->shell().spotlight) << "a click on it takes it away";
}

}  // namespace
}  // namespace ringside::app::test
