// Every scene of the table, in both languages and themes, in the sizes that people have: no text is cut,
// overlaps, lies outside or lacks a glyph.
#include <algorithm>
#include <array>

#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

struct Size {
  int width, height;
  float scale = 1;
};

class EveryScene : public testing::TestWithParam<std::tuple<Lang, ThemeChoice, Size>> {};

TEST_P(EveryScene, FitsAtEveryMoment) {
  const auto [lang, theme, size] = GetParam();
  Harness h(
      {.width = size.width, .height = size.height, .lang = lang, .theme = theme, .user_scale = size.scale});
  EXPECT_EQ(h.problems(), "") << "home, nothing open";
  for (const char* file : {"four-gpus.toml", "four-gpus-vector.toml"}) {
    h.open(file);
    for (const SceneEntry& entry : scene_table()) {
      h.session().scene_id = entry.id;
      for (const double share : {0.0, 0.21, 0.34, 0.5, 0.73, 1.0}) {
        h.session().playhead().t =
            static_cast<std::int64_t>(share * static_cast<double>(h.session().end_time()));
        h.frames(2);
        EXPECT_EQ(h.problems(), "") << file << ", " << entry.id << " at " << share;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryScene,
                         testing::Combine(testing::Values(Lang::En, Lang::Ko),
                                          testing::Values(ThemeChoice::Dark, ThemeChoice::Light),
                                          testing::Values(Size{1280, 720}, Size{2560, 1440},
                                                          Size{1600, 900})),
                         [](const testing::TestParamInfo<std::tuple<Lang, ThemeChoice, Size>>& param) {
                           return std::string(to_word(std::get<0>(param.param))) +
                                  (std::get<1>(param.param) == ThemeChoice::Dark ? "_dark_" : "_light_") +
                                  std::to_string(std::get<2>(param.param).width);
                         });

// Large type: 125 % at 1280 × 720 and 250 % at 2560 × 1440. The inspector has no room beside the stage then;
// it is laid over it.
INSTANTIATE_TEST_SUITE_P(LargeType, EveryScene,
                         testing::Combine(testing::Values(Lang::En, Lang::Ko),
                                          testing::Values(ThemeChoice::Dark),
                                          testing::Values(Size{1280, 720, 1.25f}, Size{2560, 1440, 2.5f})),
                         [](const testing::TestParamInfo<std::tuple<Lang, ThemeChoice, Size>>& param) {
                           return std::string(to_word(std::get<0>(param.param))) + "_" +
                                  std::to_string(std::get<2>(param.param).width);
                         });

TEST(LargeType, TheInspectorIsLaidOverTheStage) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang, .user_scale = 1.25f});
    h.open("four-gpus-vector.toml");
    for (const SceneEntry& entry : scene_table()) {
      if (entry.inspector_width <= 0) continue;
      h.session().scene_id = entry.id;
      h.frames(2);
      if (!h.has("inspector.ground")) h.click("top.panel");
      EXPECT_TRUE(h.has("inspector.ground")) << entry.id;
      EXPECT_EQ(h.problems(), "") << entry.id;
    }
    h.click("top.panel");
    EXPECT_FALSE(h.has("inspector.ground"));
  }
}

TEST(Presenters, EveryStageFits) {
  struct Case {
    const char *scene, *file;
    float least;  // pixels of the smallest text
  };
  constexpr std::array kCases{Case{"nan", "nan-eight-gpus.toml", 28},
                              Case{"nan", "float16-overflow.toml", 28},
                              Case{"cluster", "cluster-64x8-crash.toml", 28},
                              Case{"cluster", "crash-one-rank.toml", 28},
                              Case{"cluster", "cluster-16384-failures.toml", 28},
                              Case{"duel", "four-gpus.toml", 28},
                              Case{"allreduce", "eight-gpus-16.toml", 28},
                              Case{"step", "training-step.toml", 28}};
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang, .theme = ThemeChoice::Light});
    h.app->shell().presenter = true;
    for (const Case& one : kCases) {
      h.open(one.file);
      h.session().scene_id = one.scene;
      for (const double share : {0.0, 0.4, 1.0}) {
        h.session().playhead().t =
            static_cast<std::int64_t>(share * static_cast<double>(h.session().end_time()));
        h.frames(3);
        EXPECT_EQ(h.problems(), "") << one.file << ", " << one.scene << " at " << share;
        for (const DrawnText& text : h.record().texts)
          EXPECT_GE(text.box.h, .82f * (one.least - .1f)) << one.scene << ", " << one.file << ": " << text.text;
      }
    }
  }
}

TEST(Checks, FindWhatIsWrong) {
  DrawRecord record;
  const Rect window{0, 0, 200, 100};
  record.texts.push_back({.box = {10, 10, 50, 12}, .clip = window, .text = "a", .order = 1, .layer = 0});
  record.texts.push_back({.box = {40, 12, 50, 12}, .clip = window, .text = "b", .order = 2, .layer = 0});
  record.texts.push_back({.box = {180, 60, 50, 12}, .clip = window, .text = "c", .order = 3, .layer = 0});
  record.texts.push_back({.box = {10, 60, 50, 12}, .clip = window, .text = "d", .order = 4, .layer = 0});
  record.shapes.push_back(
      {.box = {0, 50, 100, 40}, .filled = true, .outlined = false, .order = 5, .layer = 0});
  std::string all;
  for (const std::string& problem : check_record(record, {200, 100})) all += problem + "\n";
  EXPECT_NE(all.find("overlap: \"a\" and \"b\""), std::string::npos) << all;
  EXPECT_NE(all.find("outside the window: \"c\""), std::string::npos) << all;
  EXPECT_NE(all.find("cut off: \"c\""), std::string::npos) << all;
  EXPECT_NE(all.find("hidden by a later shape: \"d\""), std::string::npos) << all;
}

TEST(Scale, FollowsTheWindowAndThePerson) {
  EXPECT_FLOAT_EQ(ui_scale_for(1280, 720, 1), 1.0f);
  EXPECT_FLOAT_EQ(ui_scale_for(1920, 1080, 1), 1.25f);
  EXPECT_FLOAT_EQ(ui_scale_for(2560, 1440, 1), 1.5f);
  EXPECT_FLOAT_EQ(ui_scale_for(3840, 2160, 1), 2.0f);
  EXPECT_FLOAT_EQ(ui_scale_for(3840, 2160, 1.5f), 3.0f);
  EXPECT_FLOAT_EQ(ui_scale_for(1280, 720, 1.25f), 1.25f);
  EXPECT_FLOAT_EQ(ui_scale_for(2560, 1440, 2.5f), 2.5f);
  EXPECT_FLOAT_EQ(ui_scale_for(1280, 720, 2), 1.25f) << "never larger than the smallest layout allows";
  EXPECT_FLOAT_EQ(ui_scale_for(1000, 600, 1), 1000.0f / 1280) << "a small window shrinks everything";
}

}  // namespace
}  // namespace ringside::app::test
