#include <gtest/gtest.h>

#include "sim/base/json_writer.hpp"
#include "sim/base/random.hpp"
#include "sim/base/text.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::sim {

TEST(Text, DurationsAndBytes) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(34'200), "34.2 μs");
  EXPECT_EQ(format_duration(1'500'000), "1.5 ms");
  EXPECT_EQ(format_duration(600'000'000'000), "10 min");
  EXPECT_EQ(format_duration(-3'400), "-3.4 μs");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
  EXPECT_EQ(with_commas(100), "100");
}

TEST(Text, JsonStringsAreAlwaysValidAndHarmless) {
  std::string out;
  append_json_string(out, "a\"b\\c\x1b[31m\n\xE2\x80\xAE\xFF가");
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\u001b[31m\\n\\u202e\xEF\xBF\xBD가\"");
}

TEST(Text, DisplayEscapesControlAndBidi) {
  EXPECT_EQ(escape_for_display("\x1b[2J\xE2\x80\xAE"), "\\x1b[2J\\u202e");
  EXPECT_TRUE(is_safe_host_name("gpu-v03.example_1"));
  EXPECT_FALSE(is_safe_host_name("-rf"));
  EXPECT_FALSE(is_safe_host_name("a;b"));
  EXPECT_FALSE(is_safe_host_name(""));
}

TEST(Random, FixedForever) {
  const DrawKey key{.seed = 1, .rank = 2, .step = 3, .purpose = Purpose::Jitter};
  EXPECT_EQ(draw_u64(key, 0), draw_u64(key, 0));
  EXPECT_NE(draw_u64(key, 0), draw_u64(key, 1));
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double x = draw_normal(key, i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 10'000, 0.0, 0.05);
  EXPECT_NEAR(squares / 10'000, 1.0, 0.05);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const std::int64_t ppm = draw_jitter_ppm(key, i, 20'000);
    EXPECT_GE(ppm, 980'000);
    EXPECT_LE(ppm, 1'020'000);
  }
}

TEST(Diagnosis, EveryKindHasAWordAndReadsBack) {
  for (int i = 0; i < kDiagnosisKindCount; ++i) {
    const auto kind = static_cast<DiagnosisKind>(i);
    EXPECT_FALSE(to_word(kind).empty());
    EXPECT_FALSE(meaning(kind).empty());
    EXPECT_EQ(diagnosis_kind_from(to_word(kind)), kind);
  }
  EXPECT_EQ(to_word(DiagnosisKind::Unknown), "unknown");
}

TEST(Diagnosis, JsonOfACleanJob) {
  std::string out;
  Diagnosis clean;
  clean.world_size = 4;
  append_diagnosis_json(out, clean);
  EXPECT_EQ(
      out,
      R"({"kind":"none","first_cause":{"rank":null,"node":null,"step":null,"seq":null,"t_ns":null,"what":""},)"
      R"("culprits":[],"culprit_nodes":[],"victims":[],"confidence":"certain","evidence":[],"waits_for":[],)"
      R"("tools_would_say":[],"next_steps":[],"alternatives":[],"world_size":4})");
}

}  // namespace ringside::sim
