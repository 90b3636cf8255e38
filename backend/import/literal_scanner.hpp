// Finds which of a few hundred literals occur in a line, in one pass over its bytes (Aho-Corasick as a
// table). It is the sieve in front of the regular expressions: training chatter contains none of the literals
// and costs one table step a byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::backend {

class LiteralScanner {
 public:
  /// Ids are positions in `literals`; the same text may stand there more than once. No literal may be empty.
  /// `hints`: at most 64 common words, of which only the presence is of interest.
  explicit LiteralScanner(const std::vector<std::string>& literals,
                          const std::vector<std::string>& hints = {});

  /// Gives the ids of all literals that occur in `text`, ascending, each once; `found` is cleared first.
  /// Returns the hints that occur, bit i for hint i.
  std::uint64_t scan(std::string_view text, std::vector<std::uint16_t>& found) const;
  /// True if any literal occurs.
  bool any(std::string_view text) const;

 private:
  std::uint8_t class_of_[256] = {};  // bytes that no literal uses share class 0
  std::uint32_t classes_ = 1;
  std::vector<std::uint32_t> next_;  // state * classes_ + class -> state of the next row (already multiplied)
  std::uint32_t first_hit_ = 0;      // rows from here on: some literal ends here
  std::vector<std::vector<std::uint16_t>> ends_;  // state -> ids
  std::vector<std::uint64_t> hints_;              // state -> hints
};

}  // namespace ringside::backend
