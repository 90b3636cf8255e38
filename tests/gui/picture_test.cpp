// Real pixels without a display (L2). With RINGSIDE_PICTURES=FOLDER the states that are hard to reach by
// --render are written there as PNG, for a person to look at.
#include <cstdlib>
#include <fstream>

#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

void keep(const Harness& h, const std::string& name) {
  const char* folder = std::getenv("RINGSIDE_PICTURES");
  if (folder == nullptr) return;
  const sim::Status status = write_png(std::string(folder) + "/" + name + ".png", h.image());
  EXPECT_TRUE(status);
}

Color pixel(const Image& image, int x, int y) {
  const std::uint8_t* p = image.rgba.data() + (static_cast<std::size_t>(y) * image.width + x) * 4;
  return {p[0], p[1], p[2], 255};
}

int differing_pixels(const Image& a, const Image& b, int tolerance) {
  int count = 0;
  for (std::size_t i = 0; i < a.rgba.size(); i += 4)
    for (std::size_t k = 0; k < 3; ++k)
      if (std::abs(a.rgba[i + k] - b.rgba[i + k]) > tolerance) {
        ++count;
        break;
      }
  return count;
}

class Picture : public testing::TestWithParam<std::tuple<Lang, ThemeChoice>> {
 protected:
  Lang lang() const { return std::get<0>(GetParam()); }
  ThemeChoice theme() const { return std::get<1>(GetParam()); }
  std::string suffix() const {
    return "-" + std::string(to_word(lang())) + (theme() == ThemeChoice::Dark ? "-dark" : "-light");
  }
};

TEST_P(Picture, OverlaysAreDrawnAndFit) {
  Harness h({.lang = lang(), .theme = theme(), .offscreen = true});
  const Theme& t = h.app->theme();
  EXPECT_EQ(pixel(h.image(), 20, 600), t.panel) << "the rail";
  h.open("four-gpus-vector.toml");
  const Image plain = h.image();
  h.frames(1);
  EXPECT_EQ(differing_pixels(plain, h.image(), 0), 0) << "a still frame is the same picture";
  const auto look = [&](const std::string& name) {
    EXPECT_EQ(h.problems(), "") << name;
    EXPECT_GT(differing_pixels(plain, h.image(), 8), 2'000) << name;
    keep(h, name + suffix());
  };
  h.app->ui().focus("transport.speed");
  h.press(Key::Tab);
  EXPECT_EQ(h.app->ui().focused(), "transport.unit");
  EXPECT_EQ(h.problems(), "") << "focus";
  EXPECT_GT(differing_pixels(plain, h.image(), 8), 100) << "the focus ring is seen";
  keep(h, "focus" + suffix());
  h.press(Key::Escape);
  EXPECT_TRUE(h.app->ui().focused().empty());
  h.press(Key::F1);
  look("help");
  h.press(Key::Escape);
  h.click("settings");
  look("settings");
  h.press(Key::Escape);
  h.click("transport.speed");
  look("speed");
  h.press(Key::Escape);
  h.click("transport.unit");
  look("unit");
  h.press(Key::Escape);
  const std::string broken = testing::TempDir() + "/ringside-broken.toml";
  std::ofstream(broken) << "[collective]\nalgorithm = \"rng\"\n";
  h.app->drop_files({broken});
  h.frames(2);
  look("problem");
  h.click("problem.close");
  h.session().notices.push_back({NoticeKind::Info, tr("notice.copied")});
  h.session().notices.push_back({NoticeKind::Error, tr("settings.no_korean_font")});
  h.move_to("transport.unit");
  h.frames(40);
  look("notice");
}

TEST_P(Picture, BranchesAreDrawnAndFit) {
  Harness h({.lang = lang(), .theme = theme(), .offscreen = true});
  h.open("four-gpus-vector.toml");
  const Image plain = h.image();
  const auto look = [&](const std::string& name) {
    h.frames(2);
    EXPECT_EQ(h.problems(), "") << name;
    EXPECT_GT(differing_pixels(plain, h.image(), 8), 2'000) << name;
    keep(h, name + suffix());
  };
  h.session().playhead().t = sim::ring_step_end(h.session().trace(), 0, 1) + 1;
  h.frames(1);
  h.app->shell().break_menu.open(h.session(), h.app->ui(), {.rank = 2, .chunk = 1, .element = 1}, {500, 200});
  look("break-menu");
  h.click("break.bit_flip");
  look("break-details");
  h.click("break.go");
  look("branch");
  h.session().apply(action::SwitchBranch{0});
  sim::Fault crash;
  crash.kind = sim::FaultKind::Crash;
  crash.rank = 1;
  h.session().apply(action::Inject{crash});
  h.frames(2);
  h.click("branch.chip");
  look("branch-list");
  h.click("branch.compare.1");
  h.session().playhead().t += 6'000;
  look("compare");
  h.session().apply(action::Compare{-1});
  h.frames(1);
  h.click("top.share");
  look("share");
  h.click("share.video");
  look("share-video");
  h.press(Key::Escape);
  h.app->drop_files({source_path("assets/scenarios/uneven.toml")});
  h.session().apply(action::SwitchTab{0});
  h.session().playhead().t = h.session().end_time() / 2;
  look("tabs");
}

TEST(Pixels, AreTheSameWhetherTheScaleWasChangedOrThereFromTheStart) {
  const auto picture = [](float first, float then) {
    Harness h({.width = 1920, .height = 1080, .user_scale = first, .offscreen = true});
    h.app->settings().user_scale = then;
    h.open("four-gpus-vector.toml");
    h.frames(3);
    return h.image();
  };
  EXPECT_EQ(differing_pixels(picture(1, 0.8f), picture(0.8f, 0.8f), 2), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Picture,
                         testing::Combine(testing::Values(Lang::En, Lang::Ko),
                                          testing::Values(ThemeChoice::Dark, ThemeChoice::Light)));

}  // namespace
}  // namespace ringside::app::test
