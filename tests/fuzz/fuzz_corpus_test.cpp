// Every fuzz entry on its seeds and on mutations of them, with any compiler. The mutations are the same in
// every run.
#include <gtest/gtest.h>

#include "fuzz_entry.hpp"
#include "sim/base/random.hpp"

namespace ringside::fuzz {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) { key_.seed = seed; }
  std::uint32_t below(std::size_t n) { return sim::draw_below(key_, next_++, static_cast<std::uint32_t>(n)); }

 private:
  sim::DrawKey key_;
  std::uint64_t next_ = 0;
};

/// One to four small damages: a byte, a bit, a cut, a piece copied elsewhere, a long run, an interesting
/// value.
std::string mutated(std::string text, Draw& draw) {
  const std::uint32_t damages = 1 + draw.below(4);
  for (std::uint32_t i = 0; i < damages; ++i) {
    const std::size_t at = text.empty() ? 0 : draw.below(text.size());
    switch (draw.below(6)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(draw.below(256));
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << draw.below(8)));
        break;
      case 2:
        text.erase(at, 1 + draw.below(16));
        break;
      case 3:
        text.insert(at, text.substr(text.empty() ? 0 : draw.below(text.size()), 1 + draw.below(64)));
        break;
      case 4:
        text.insert(at, 1 + draw.below(300), static_cast<char>(draw.below(256)));
        break;
      default: {
        static constexpr const char* kWords[] = {
            "99999999999999999999", "-1", "\xFF\xFF\xFF\x7F", "[[", "}", "\n", "\r", "null"};
        text.insert(at, kWords[draw.below(std::size(kWords))]);
      }
    }
  }
  return text;
}

TEST(FuzzCorpus, EveryEntryTakesItsSeedsAndTheirMutations) {
  std::uint64_t number = 0;
  for (const auto& entry : kEntries) {
    const auto inputs = seeds(entry.name);
    ASSERT_GE(inputs.size(), 2u) << entry.name;
    for (const auto& input : inputs) {
      entry.run(input);
      Draw draw(++number);
      for (int i = 0; i < 200; ++i) entry.run(mutated(input, draw));
    }
  }
}

}  // namespace
}  // namespace ringside::fuzz
