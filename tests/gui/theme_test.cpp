// The tokens keep their contrast: text 4.5 : 1, marks 3 : 1, on every surface that they stand on.
#include <gtest/gtest.h>

#include <vector>

#include "app/draw/theme.hpp"

namespace ringside::app {
namespace {

class Tokens : public testing::TestWithParam<bool> {
 protected:
  const Theme& t = GetParam() ? dark_theme() : light_theme();
};

TEST_P(Tokens, TextIsReadableOnEverySurface) {
  for (const Color surface : {t.stage, t.panel, t.card, t.raised}) {
    for (const Color text : {t.t1, t.t2, t.t3}) EXPECT_GE(contrast(text, surface), 4.5);
    EXPECT_GE(contrast(t.edge, surface), 3.0);
  }
  for (const Color surface : {t.stage, t.panel, t.card})
    for (const Color text : {t.stall_text, t.fail_text, t.nan_text}) EXPECT_GE(contrast(text, surface), 4.5);
  EXPECT_GE(contrast(t.ink, t.accent), 4.5);
  EXPECT_GE(contrast(t.t1, t.strong()), 4.5);
}

TEST_P(Tokens, FillsStandOutAndCarryText) {
  std::vector<Color> fills = {t.forward, t.backward, t.comm, t.update, t.stall, t.fail, t.nan};
  fills.insert(fills.end(), t.ranks.begin(), t.ranks.end());
  for (const Color fill : fills) {
    EXPECT_GE(contrast(fill, t.card), 3.0);
    EXPECT_GE(contrast(t.on(fill), fill), 4.5);
  }
}

INSTANTIATE_TEST_SUITE_P(Themes, Tokens, testing::Bool(), [](const testing::TestParamInfo<bool>& param) {
  return param.param ? "dark" : "light";
});

TEST(Contrast, IsWcags) {
  EXPECT_NEAR(contrast(rgb(0x000000), rgb(0xFFFFFF)), 21.0, 1e-9);
  EXPECT_NEAR(contrast(dark_theme().t3, dark_theme().raised), 4.7, 0.05) << "as the table of the design says";
}

}  // namespace
}  // namespace ringside::app
