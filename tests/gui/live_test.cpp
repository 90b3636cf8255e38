// The live scene against a hub on the loopback: what is shown of a job as it runs, waits, goes silent and
// dies, what a person can do to it, and what is said after the hub was away. No test here measures time.
#include "tests/gui/harness.hpp"
#include "tests/gui/live_job.hpp"

#include <algorithm>
#include <functional>

#include "app/scenes/live_view.hpp"
#include "app/session/live_desk.hpp"

namespace ringside::app::test {
namespace {

using namespace std::chrono_literals;

/// Draws frames until it is so.
bool until(Harness& h, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < end) {
    h.frames(1);
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool shows_part(const Harness& h, std::string_view part) {
  return std::any_of(h.record().texts.begin(), h.record().texts.end(),
                     [&](const DrawnText& t) { return t.text.find(part) != std::string::npos; });
}

/// A job with four ranks that have trained three steps, watched.
struct Watched {
  TalkingJob job;
  Harness h;
  explicit Watched(const std::string& token = "viewer-token", const HarnessOptions& options = {}) : h(options) {
    job.add_ranks();
    EXPECT_TRUE(until(h, [&] { return job.all_connected(); }));
    for (auto& rank : job.ranks) rank->hello(0, "lab-n0");
    for (int step = 1; step <= 3; ++step)
      for (auto& rank : job.ranks) rank->train(step * 100, step);
    EXPECT_TRUE(h.app->watch(job.url(token)));
    EXPECT_TRUE(until(h, [&] { return seen(395); }));
  }
  /// Everything up to this time is in the trace.
  bool seen(std::int64_t t_ms) { return h.session().end_time() >= t_ms * 1'000'000; }
};

TEST(LiveScene, ShowsARunningJobAndFollowsIt) {
  Watched w;
  EXPECT_EQ(w.h.session().scene_id, "live");
  EXPECT_TRUE(w.h.session().grows());
  EXPECT_EQ(w.h.session().playhead().mode, sim::PlayMode::Follow);
  EXPECT_TRUE(w.h.has("live.rank.3"));
  EXPECT_TRUE(shows_part(w.h, "4 ranks train: step 3, loss 0.25.")) << w.h.problems();
  EXPECT_EQ(w.h.problems(), "");
  for (auto& rank : w.job.ranks) rank->train(400, 4);
  EXPECT_TRUE(until(w.h, [&] { return w.seen(495); }));
  EXPECT_EQ(w.h.session().playhead().t, w.h.session().end_time());
}

TEST(LiveScene, ScrubbingBackStaysWhileTheJobGoesOn) {
  Watched w;
  const std::int64_t back = 150'000'000;
  w.h.session().apply(action::SeekTo{back});
  for (auto& rank : w.job.ranks) rank->train(400, 4);
  EXPECT_TRUE(until(w.h, [&] { return w.seen(495); }));
  EXPECT_EQ(w.h.session().playhead().t, back);
  EXPECT_TRUE(shows_part(w.h, "step 1"));
  w.h.click("transport.follow");
  EXPECT_EQ(w.h.session().playhead().t, w.h.session().end_time());
  w.h.press(Key::Space);
  EXPECT_EQ(w.h.session().playhead().mode, sim::PlayMode::Paused);
}

TEST(LiveScene, NamesTheSilentRankAndWhoWaits) {
  Watched w;
  for (int r = 0; r < 4; ++r) {
    if (r == 1) continue;
    TalkingRank& rank = *w.job.ranks[static_cast<std::size_t>(r)];
    rank.phase(400, 480, "forward", 4);
    rank.call(480, 4, 4);
    for (int t = 600; t <= 2200; t += 200) rank.heartbeat(t, 4, 4);
  }
  ASSERT_TRUE(until(w.h, [&] { return w.seen(2200) && shows_part(w.h, "R1 has been silent for 1.8"); }));
  EXPECT_TRUE(shows_part(w.h, "3 ranks wait in AllReduce, seq 4."));
  EXPECT_TRUE(shows_part(w.h, "what R1 does"));
  EXPECT_TRUE(w.h.shows("not visible"));
  EXPECT_TRUE(shows_part(w.h, "all wait for R1"));
  EXPECT_TRUE(shows_part(w.h, "R1")) << "the verdict names it";
  EXPECT_EQ(w.h.problems(), "");
}

TEST(LiveScene, ALongWaitIsNoSilenceAndALongSilenceNoEnd) {
  Watched w;
  for (auto& rank : w.job.ranks) {
    if (rank != w.job.ranks[1]) rank->call(480, 4, 4);
    for (int t = 900; t <= 24'900; t += 500) rank->heartbeat(t, 4, 4);
  }
  // Each rank speaks over its own connection: what one has said may come after the others' last words.
  EXPECT_TRUE(until(w.h, [&] { return w.seen(24'900) && shows_part(w.h, "R1 has not come to AllReduce"); }));
  EXPECT_FALSE(shows_part(w.h, "silent for"));
  EXPECT_EQ(w.h.problems(), "");
  for (int r : {0, 2, 3})
    for (int t = 25'400; t <= 95'400; t += 500) w.job.ranks[static_cast<std::size_t>(r)]->heartbeat(t, 4, 4);
  EXPECT_TRUE(until(w.h, [&] { return w.seen(95'400) && shows_part(w.h, "R1 has been silent for 70.50 s."); }));
  EXPECT_FALSE(shows_part(w.h, "ended with"));
}

TEST(LiveScene, ADeadRankIsTheFirstThingSaid) {
  Watched w;
  w.job.ranks[2]->say(410, "exit", "\"signal\":9");
  for (int r : {0, 1, 3}) w.job.ranks[static_cast<std::size_t>(r)]->heartbeat(500, 4, 3);
  ASSERT_TRUE(until(w.h, [&] { return shows_part(w.h, "R2 ended by signal 9."); }));
  EXPECT_TRUE(shows_part(w.h, "R2 stopped the job."));
  EXPECT_EQ(w.h.problems(), "");
}

TEST(LiveScene, ARunningCallIsNoHang) {
  Watched w;
  for (auto& rank : w.job.ranks) {
    rank->phase(400, 440, "forward", 4);
    rank->call(480, 4, 4);
  }
  ASSERT_TRUE(until(w.h, [&] { return w.seen(480); }));
  for (const std::string_view scene : {"live", "cluster", "step", "allreduce"}) {
    w.h.session().scene_id = std::string(scene);
    w.h.frames(3);
    EXPECT_FALSE(shows_part(w.h, "stopped the job")) << scene;
    EXPECT_EQ(w.h.problems(), "") << scene;
  }
}

TEST(LiveScene, OnlyTheControllerInjectsAndKillingIsAskedTwice) {
  {
    Watched viewer;
    viewer.h.click("live.fault");
    EXPECT_FALSE(viewer.h.has("live.fault.nan"));
  }
  Watched w("controller-token");
  ASSERT_TRUE(until(w.h, [&] { return w.h.session().live().status().may_command; }));
  w.h.click("live.rank.2");
  w.h.click("live.fault");
  ASSERT_TRUE(w.h.has("live.fault.crash"));
  EXPECT_EQ(w.h.problems(), "");
  w.h.click("live.fault.crash");
  w.h.frames(3);
  EXPECT_EQ(w.job.ranks[2]->orders(), "");
  ASSERT_TRUE(w.h.has("live.fault.kill"));
  w.h.click("live.fault.cancel");
  w.h.frames(2);
  w.h.click("live.fault.nan");
  EXPECT_TRUE(until(w.h, [&] { return w.job.ranks[2]->orders().find("\"kind\":\"nan\"") != std::string::npos; }));
  EXPECT_NE(w.job.ranks[2]->orders().find("\"step\":0"), std::string::npos) << "now, not in a step that is over";
  EXPECT_EQ(w.job.ranks[1]->orders(), "");
}

TEST(LiveScene, SaysWhyItIsRefused) {
  TalkingJob job;
  Harness h;
  ASSERT_TRUE(h.app->watch(job.url("nonsense")));
  EXPECT_TRUE(until(h, [&] { return shows_part(h, "The token is wrong."); }));
  EXPECT_EQ(h.problems(), "");
  EXPECT_FALSE(h.app->watch("not an address"));
}

TEST(LiveScene, WatchesOverTlsWithThePinnedCertificateOnly) {
  TalkingJob job(0, true);
  ASSERT_TRUE(job.url("viewer-token").starts_with("https://"));
  job.add_ranks();
  {
    Harness h;
    ASSERT_TRUE(until(h, [&] { return job.all_connected(); }));
    for (auto& rank : job.ranks) rank->hello(0, "lab-n0");
    for (auto& rank : job.ranks) rank->train(100, 1);
    ASSERT_TRUE(h.app->watch(job.url("viewer-token")));
    EXPECT_TRUE(until(h, [&] { return shows_part(h, "4 ranks train: step 1"); }));
    EXPECT_EQ(h.problems(), "");
  }
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    HarnessOptions options;
    options.lang = lang;
    Harness h(options);
    h.session().scene_id = "live";
    ASSERT_TRUE(h.app->watch(job.url("viewer-token", std::string(64, 'a'))));
    EXPECT_TRUE(until(h, [&] { return shows_part(h, "the hub's certificate is not the pinned one"); }));
    EXPECT_FALSE(h.session().grows()) << "nothing came from a hub that is not the one";
    EXPECT_EQ(h.problems(), "");
  }
}

TEST(LiveScene, RanksOnCpusAreNoGpus) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    HarnessOptions options;
    options.lang = lang;
    Watched w("viewer-token", options);
    for (const std::string_view scene : {"allreduce", "cluster", "step", "nan", "live"}) {
      w.h.session().scene_id = std::string(scene);
      for (const std::int64_t t : {std::int64_t{90'000'000}, std::int64_t{185'000'000}, w.h.session().end_time()}) {
        w.h.session().apply(action::SeekTo{t});
        w.h.frames(2);
        for (const DrawnText& text : w.h.record().texts)
          EXPECT_EQ(text.text.find("GPU"), std::string::npos) << to_word(lang) << " " << scene << ": " << text.text;
      }
    }
  }
}

TEST(LiveScene, TheClusterSaysTheSameAsTheLiveScene) {
  Watched w;
  for (int r = 0; r < 4; ++r) {
    if (r == 1) continue;
    TalkingRank& rank = *w.job.ranks[static_cast<std::size_t>(r)];
    rank.call(480, 4, 4);
    for (int t = 600; t <= 2200; t += 200) rank.heartbeat(t, 4, 4);
  }
  ASSERT_TRUE(until(w.h, [&] { return w.seen(2200) && shows_part(w.h, "R1 has been silent for 1.8"); }));
  std::string headline;
  for (const DrawnText& text : w.h.record().texts)
    if (text.text.find("is missing") != std::string::npos) headline = text.text;
  EXPECT_NE(headline.find("R1"), std::string::npos) << headline;
  w.h.session().scene_id = "cluster";
  w.h.frames(2);
  EXPECT_TRUE(shows_part(w.h, headline)) << "two seconds after the hang, not twenty";
  EXPECT_EQ(w.h.problems(), "");
}

/// Two ranks on each of two hosts; the clock of the second is ahead.
struct TwoHosts {
  static constexpr int kAheadMs = 1500;
  TalkingJob job;
  Harness h;
  TwoHosts() {
    job.add_ranks();
    EXPECT_TRUE(until(h, [&] { return job.all_connected(); }));
    for (int r = 0; r < 4; ++r) rank(r).hello(ahead(r), r < 2 ? "lab-n0" : "lab-n1");
    for (int step = 1; step <= 3; ++step)
      for (int r = 0; r < 4; ++r) rank(r).train(ahead(r) + step * 100, step);
    EXPECT_TRUE(h.app->watch(job.url("viewer-token")));
    EXPECT_TRUE(until(h, [&] { return seen(395); }));
  }
  TalkingRank& rank(int r) { return *job.ranks[static_cast<std::size_t>(r)]; }
  static int ahead(int r) { return r < 2 ? 0 : kAheadMs; }
  bool seen(std::int64_t t_ms) { return h.session().end_time() >= (t_ms + kAheadMs) * 1'000'000; }
};

TEST(LiveScene, AClockThatIsAheadMakesNobodySilent) {
  TwoHosts w;
  EXPECT_TRUE(until(w.h, [&] { return shows_part(w.h, "4 ranks train: step 3"); }));
  EXPECT_FALSE(shows_part(w.h, "silent for")) << "by raw times R0 and R1 have said nothing for 1.5 s";
  EXPECT_TRUE(shows_part(w.h, "clocks of 2 hosts, to ±"));
  EXPECT_EQ(w.h.problems(), "");
}

TEST(LiveScene, NamesTheSilentRankByCorrectedTimes) {
  TwoHosts w;
  for (int r : {0, 2, 3}) {
    w.rank(r).call(TwoHosts::ahead(r) + 480, 4, 4);
    for (int t = 600; t <= 2400; t += 200) w.rank(r).heartbeat(TwoHosts::ahead(r) + t, 4, 4);
  }
  // R1 is on the host whose clock is behind: by raw times R0 would be silent as well.
  ASSERT_TRUE(until(w.h, [&] { return w.seen(2400) && shows_part(w.h, "R1 on lab-n0 has been silent for "); }));
  EXPECT_TRUE(until(w.h, [&] { return shows_part(w.h, "R1 is missing. Everyone waits."); }));
  EXPECT_TRUE(shows_part(w.h, "3 ranks wait in AllReduce, seq 4."));
  w.h.session().scene_id = "cluster";
  EXPECT_TRUE(until(w.h, [&] { return shows_part(w.h, "R1 is missing. Everyone waits."); }));
}

TEST(LiveScene, SaysNothingThatTheClocksAreNotKnownWellEnoughFor) {
  const auto view_of = [](std::int64_t error_ns) {
    Watched w;
    for (int r : {0, 2, 3}) {
      TalkingRank& rank = *w.job.ranks[static_cast<std::size_t>(r)];
      rank.call(480, 4, 4);
      rank.heartbeat(1900, 4, 4);
    }
    // Each has a connection of its own: the last word of one may come before that of another.
    EXPECT_TRUE(until(w.h, [&] {
      const auto& ranks = w.h.session().frame().ranks;
      return ranks.size() == 4 && std::min({ranks[0].last_heard, ranks[2].last_heard, ranks[3].last_heard}) >= 1'900'000'000;
    }));
    StepIndex index;
    const std::vector<RankClock> clocks(4, RankClock{0, error_ns});
    index.update(w.h.session().trace(), 1, std::vector<std::int64_t>(4, 0));
    return make_live_view(w.h.session().trace(), index, w.h.session().frame(), true, clocks);
  };
  const LiveView sure = view_of(1'000'000), unsure = view_of(2'000'000'000);
  EXPECT_EQ(sure.silent, 1);
  EXPECT_TRUE(sure.trouble);
  EXPECT_EQ(unsure.silent, 0) << "silent for 1.5 s, or not at all: nobody knows";
  EXPECT_FALSE(unsure.trouble);
}

TEST(LiveScene, ReconnectsAndSaysWhatIsMissing) {
  auto job = std::make_unique<TalkingJob>();
  const std::uint16_t port = job->port();
  Harness h;
  job->add_ranks();
  ASSERT_TRUE(until(h, [&] { return job->all_connected(); }));
  job->ranks[0]->hello(0, "lab-n0");
  job->ranks[0]->heartbeat(100, 1, 1);
  ASSERT_TRUE(h.app->watch(job->url("viewer-token")));
  ASSERT_TRUE(until(h, [&] { return h.session().end_time() >= 100'000'000; }));
  job.reset();
  ASSERT_TRUE(until(h, [&] { return shows_part(h, "The hub has been away for"); }));
  EXPECT_TRUE(h.session().grows()) << "it may come back";
  job = std::make_unique<TalkingJob>(port);
  job->add_ranks();
  ASSERT_TRUE(until(h, [&] { return job->all_connected(); }));
  job->ranks[0]->lose(2 + 7);
  job->ranks[0]->heartbeat(900, 2, 2);
  EXPECT_TRUE(until(h, [&] { return shows_part(h, "7 events are missing."); }));
}

TEST(LiveScene, TheSameJobRunsInTheSimulator) {
  Watched w;
  ASSERT_TRUE(w.h.has("live.same"));
  const std::size_t tabs = w.h.session().documents().size();
  w.h.click("live.same");
  w.h.session().finish_simulation();
  w.h.frames(2);
  EXPECT_EQ(w.h.session().documents().size(), tabs + 1);
  EXPECT_EQ(w.h.session().trace().header.source, "simulator");
  EXPECT_EQ(w.h.session().trace().header.world_size, 4);
}

TEST(LiveScene, ClosingItsTabEndsTheConnection) {
  Watched w;
  w.h.session().apply(action::CloseTab{w.h.session().tab()});
  EXPECT_TRUE(until(w.h, [&] { return !w.h.session().live().watching(); }));
  EXPECT_FALSE(w.h.session().grows());
}

TEST(LiveScene, FitsInBothLanguagesThemesAndSizes) {
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const bool large : {false, true}) {
      HarnessOptions options;
      options.lang = lang;
      options.theme = large ? ThemeChoice::Light : ThemeChoice::Dark;
      options.user_scale = large ? 1.25f : 1;
      Watched w("controller-token", options);
      EXPECT_EQ(w.h.problems(), "") << to_word(lang) << (large ? ", large" : "");
      w.job.ranks[3]->say(410, "exit", "\"code\":1");
      for (int r : {0, 2}) {
        TalkingRank& rank = *w.job.ranks[static_cast<std::size_t>(r)];
        rank.call(480, 4, 4);
        for (int t = 600; t <= 3000; t += 200) rank.heartbeat(t, 4, 4);
      }
      ASSERT_TRUE(until(w.h, [&] { return w.seen(3000); }));
      w.h.frames(2);
      EXPECT_EQ(w.h.problems(), "") << to_word(lang) << (large ? ", large" : "");
      w.h.resize(2560, 1440);
      EXPECT_EQ(w.h.problems(), "") << to_word(lang) << ", 2560";
    }
}

TEST(LiveScene, ThePageWithoutAJobFits) {
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const float scale : {1.0f, 1.25f}) {
      HarnessOptions options;
      options.lang = lang;
      options.user_scale = scale;
      Harness h(options);
      h.session().scene_id = "live";
      h.frames(3);
      EXPECT_TRUE(h.has("live.start"));
      EXPECT_EQ(h.problems(), "");
    }
}

}  // namespace
}  // namespace ringside::app::test
