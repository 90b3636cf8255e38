// Home: what it shows and where its doors lead.
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

TEST(Home, OffersTheScenariosAndOpensOne) {
  Harness h;
  EXPECT_TRUE(h.shows("Four GPUs. One answer."));
  ASSERT_TRUE(h.has("home.start"));
  h.click("home.start");
  EXPECT_EQ(h.session().scene_id, "lesson");
  ASSERT_NE(h.session().lessons.lesson(), nullptr);
  EXPECT_EQ(h.session().lessons.lesson()->id, h.session().lessons.library().files().front().lesson.id);
}

TEST(Home, SaysWhatABuildDoesNotHave) {
  Harness h;
  for (const std::string_view door : {"learn", "break", "watch", "open"})
    EXPECT_TRUE(h.has("home." + std::string(door)));
}

TEST(Home, ASpaceInALineOfALogIsASpace) {
  Harness h;
  h.click("home.explain");
  h.type("NCCL");
  h.press(Key::Space);
  h.type("WARN");
  h.frames(2);
  EXPECT_EQ(h.session().scene_id, "home") << "Space starts the lesson only while nothing is typed";
}

TEST(Home, LibraryRowsOpen) {
  Harness h;
  ASSERT_TRUE(h.has("home.library"));
  h.click("home.library");
  h.click("home.library.menu.0");
  h.frames(2);
  h.session().finish_simulation();
  EXPECT_TRUE(h.session().has_trace());
  EXPECT_EQ(h.session().scene_id, scene_for(*h.session().scenario()));
}

}  // namespace
}  // namespace ringside::app::test
