// Lines in zstd frames, as recordings and viewers have them (backend/live/recording.hpp).
#include <gtest/gtest.h>

#include <string>

#include "backend/live/recording.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 20;

TEST(Frames, SeveralInOneMessageGiveTheirLinesInOrder) {
  std::string lines = "before\n";
  ASSERT_TRUE(unpack_frames(pack_frame("one\ntwo\n") + pack_frame("three\n"), kPlenty, lines));
  EXPECT_EQ(lines, "before\none\ntwo\nthree\n");
}

TEST(Frames, ManyLinesTakeLittle) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += R"({"t":)" + std::to_string(i * 977) + R"(,"src":"r3","n":)" + std::to_string(i) + R"(,"type":"heartbeat"})" "\n";
  EXPECT_LT(pack_frame(text).size() * 5, text.size());
}

TEST(Frames, WhatIsCutOrDamagedKeepsWhatWasWhole) {
  const std::string first = pack_frame("one\n"), second = pack_frame("two\n");
  for (std::size_t cut = 1; cut < second.size(); ++cut) {
    std::string lines;
    EXPECT_FALSE(unpack_frames(first + second.substr(0, cut), kPlenty, lines)) << cut;
    EXPECT_EQ(lines, "one\n") << cut;
  }
  std::string lines;
  EXPECT_FALSE(unpack_frames("{\"t\":1}", kPlenty, lines));
  EXPECT_EQ(lines, "");
}

TEST(Frames, FormatsFromBeforeZstd08AreRefused) {
  const std::string first = pack_frame("one\n");
  for (char magic = 0x22; magic <= 0x27; ++magic) {
    std::string old = pack_frame("two\n");
    old[0] = magic;
    std::string lines;
    EXPECT_FALSE(unpack_frames(first + old, kPlenty, lines)) << int{magic};
    EXPECT_EQ(lines, "one\n") << int{magic};
  }
}

TEST(Frames, AFrameThatWouldBeTooMuchIsRefusedBeforeItIsMade) {
  const std::string bomb = pack_frame(std::string(kPlenty + 1, 'a'));
  EXPECT_LT(bomb.size(), 1000u);
  std::string lines;
  EXPECT_FALSE(unpack_frames(bomb, kPlenty, lines));
  EXPECT_EQ(lines, "");
  std::string many;
  for (int i = 0; i < 8; ++i) many += pack_frame(std::string(kPlenty / 4, 'a'));
  EXPECT_FALSE(unpack_frames(many, kPlenty, lines)) << "each is small, together they are not";
  EXPECT_LE(lines.size(), kPlenty);
}

}  // namespace
}  // namespace ringside::backend
