// Home: what it shows and where its doors lead.
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

TEST(Home, OffersTheScenariosAndOpensOne) {
  Harness h;
  EXPECT_TRUE(h.shows("Four GPUs. One answer."));
  ASSERT_TRUE(h.has("home.start"));
  h.click("home.start");
  EXPECT_TRUE(h.session().has_trace());
  EXPECT_EQ(h.session().trace().header.title, "Four GPUs, one number each");
}

TEST(Home, SaysWhatABuildDoesNotHave) {
  Harness h;
  for (const std::string_view door : {"learn", "break", "watch", "open"})
    EXPECT_TRUE(h.has("home." + std::string(door)));
}

TEST(Home, LibraryRowsOpen) {
  Harness h;
  ASSERT_TRUE(h.has("home.library.0"));
  h.click("home.library.0");
  EXPECT_TRUE(h.session().has_trace());
}

}  // namespace
}  // namespace ringside::app::test
