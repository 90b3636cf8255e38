// Texts without a window: particles, patterns, wrapping, formats, moments.
#include <gtest/gtest.h>

#include "app/i18n/i18n.hpp"
#include "app/options.hpp"
#include "app/session/settings.hpp"
#include "app/shell/format.hpp"
#include "app/text/fonts.hpp"
#include "app/text/layout.hpp"
#include "app/text/utf8.hpp"

namespace ringside::app {
namespace {

TEST(Josa, FollowsTheLastSound) {
  EXPECT_EQ(josa("이/가", "R3"), "이");  // 삼이
  EXPECT_EQ(josa("이/가", "R2"), "가");  // 이가
  EXPECT_EQ(josa("을/를", "링"), "을");
  EXPECT_EQ(josa("을/를", "트리"), "를");
  EXPECT_EQ(josa("으로/로", "R8"), "로");  // 팔로
  EXPECT_EQ(josa("으로/로", "R3"), "으로");
  EXPECT_EQ(josa("은/는", "AllReduce(seq 412)"), "는");
  EXPECT_EQ(josa("이/가", "R10"), "이");  // 십 ends in a consonant, and 0 is read 영
}

TEST(Pattern, FillsByPosition) {
  EXPECT_EQ(fill_pattern("{1} before {0}", {"a", "b"}), "b before a");
  EXPECT_EQ(fill_pattern("{0:이/가} {1:을/를} 기다립니다.", {"R0", "R3"}), "R0이 R3을 기다립니다.");
  EXPECT_EQ(fill_pattern("{0} { {x} {9}", {"a"}), "a { {x} {9}") << "what is no slot stays";
}

TEST(Utf8, BrokenBytesAreReplacedOneByOne) {
  const std::string_view text = "a\xff\xed\x95\x9c";
  std::size_t at = 0;
  EXPECT_EQ(next_code_point(text, at), U'a');
  EXPECT_EQ(next_code_point(text, at), 0xFFFDu);
  EXPECT_EQ(next_code_point(text, at), 0xD55Cu);
  EXPECT_EQ(at, text.size());
}

class WithFonts : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Fonts::open();
    ASSERT_TRUE(opened);
    fonts = std::move(*opened);
  }
  std::unique_ptr<Fonts> fonts;
};

TEST_F(WithFonts, WidthsGrowLinearlyWithTheSize) {
  EXPECT_NEAR(fonts->width("R1 adds 50 + 20 = 70.", 32), 2 * fonts->width("R1 adds 50 + 20 = 70.", 16), 0.01);
  EXPECT_FLOAT_EQ(fonts->width("1111", 26, Face::Bold), fonts->width("0890", 26, Face::Bold))
      << "tabular figures";
}

TEST_F(WithFonts, WrapKeepsEveryWordAndEveryLineFits) {
  const std::string text = "R1 and R3 add what arrived. Two chunks still cross the slower PCIe links.";
  const auto lines = wrap(*fonts, text, 180, 16);
  ASSERT_GT(lines.size(), 2u);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(fonts->width(line, 16), 180.0f) << line;
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, text);
  const auto cut = wrap(*fonts, text, 180, 16, Face::Regular, 2);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_TRUE(cut[1].ends_with("..."));
  EXPECT_LE(fonts->width(cut[1], 16), 180.0f);
}

TEST_F(WithFonts, APercentSignStaysWithItsNumber) {
  const std::string text = "NVLSTree spends 73 % of its time on launch and hops.";
  for (float width = 60; width < 400; width += 7)
    for (const std::string& line : wrap(*fonts, text, width, 16)) {
      EXPECT_FALSE(line.starts_with("%")) << width << ": " << line;
      EXPECT_LE(fonts->width(line, 16), width);
    }
}

TEST_F(WithFonts, AWordThatIsTooLongIsBrokenInside) {
  for (const std::string& line : wrap(*fonts, std::string(200, 'x'), 100, 14))
    EXPECT_LE(fonts->width(line, 14), 100.0f);
  EXPECT_LE(fonts->width(fit(*fonts, std::string(200, 'x'), 100, 14), 14), 100.0f);
  EXPECT_EQ(fit(*fonts, "short", 100, 14), "short");
}

TEST(Format, ClocksAndSpeeds) {
  set_text_table(Lang::En, {{"transport.speed_value", "{0} = {1} s"}});
  set_language(Lang::En);
  EXPECT_EQ(format_clock(9'534, 34'200), "9.5 μs");
  EXPECT_EQ(format_clock(34'200, 34'200), "34.2 μs");
  EXPECT_EQ(format_clock(950, 5'000), "950 ns");
  EXPECT_EQ(format_clock(7'384'000'000'000, 8'000'000'000'000), "2:03:04");
  EXPECT_EQ(format_speed(2'000), "1 μs = 0.5 s");
  EXPECT_EQ(format_speed(1e9), "1 s = 1 s");
  EXPECT_EQ(format_speed(24e9), "1 min = 2.5 s");
}

TEST(Settings, SurviveARoundTripAndNonsense) {
  Settings settings{.lang = Lang::Ko,
                    .theme = ThemeChoice::Light,
                    .user_scale = 1.25f,
                    .reduced_motion = true,
                    .inspector_folded = true,
                    .recent = {"/a b/\"c\".toml", "/d"}};
  Settings read = parse_settings(to_toml(settings));
  EXPECT_TRUE(read.recent.empty()) << "the list has a file of its own";
  parse_recent(recent_toml(settings), read);
  EXPECT_EQ(read, settings);
  EXPECT_FLOAT_EQ(parse_settings("scale = 99").user_scale, kMostUserScale);
  EXPECT_EQ(parse_settings("{{{").theme, ThemeChoice::Dark);
  for (int i = 0; i < 30; ++i) add_recent(settings, "/" + std::to_string(i));
  EXPECT_EQ(settings.recent.size(), kMaxRecent);
  EXPECT_EQ(settings.recent.front(), "/29");
}

sim::Trace small_trace() {
  sim::Trace trace;
  for (int i = 0; i < 3; ++i) {
    sim::Event event;
    event.t = i * 1'000;
    event.type = sim::EventType::PhaseBegin;
    event.set_source(sim::Source::rank(0));
    event.phase = {};
    event.phase.step = i + 1;
    trace.emit(event);
  }
  return trace;
}

TEST(Moment, DurationsStepsAndEvents) {
  const sim::Trace trace = small_trace();
  EXPECT_EQ(*parse_at("1.5us", trace), 1'500);
  EXPECT_EQ(*parse_at("7s", trace), 2'000) << "never behind the end";
  EXPECT_EQ(*parse_at("step:2", trace), 1'000);
  EXPECT_EQ(*parse_at("event:3", trace), 2'000);
  EXPECT_EQ(*parse_at("end", trace), 2'000);
  for (const char* wrong :
       {"", "5", "-1s", "step:9", "event:0", "event:4", "ring:1", "step:x", "1e30h", "foo:1"})
    EXPECT_FALSE(parse_at(wrong, trace)) << wrong;
}

TEST(Options, BadUsageIsExitTwo) {
  const auto code = [](std::vector<const char*> argv) {
    argv.insert(argv.begin(), "ringside");
    return parse_options(static_cast<int>(argv.size()), argv.data()).exit_code;
  };
  EXPECT_EQ(code({}), std::nullopt);
  EXPECT_EQ(code({"--version"}), 0);
  EXPECT_EQ(code({"--help"}), 0);
  EXPECT_EQ(code({"--lang", "fr"}), 2);
  EXPECT_EQ(code({"--size", "10"}), 2);
  EXPECT_EQ(code({"--size", "0x0"}), 2);
  EXPECT_EQ(code({"--nonsense"}), 2);
}

}  // namespace
}  // namespace ringside::app
