#include "backend/import/literal_scanner.hpp"

#include <algorithm>
#include <deque>

#include "sim/base/check.hpp"

namespace ringside::backend {

LiteralScanner::LiteralScanner(const std::vector<std::string>& literals,
                               const std::vector<std::string>& hints) {
  RINGSIDE_CHECK_LT(literals.size(), std::size_t{65535});
  RINGSIDE_CHECK_LT(hints.size(), std::size_t{65});
  std::vector<std::string> words = literals;
  words.insert(words.end(), hints.begin(), hints.end());
  for (const std::string& literal : words) {
    RINGSIDE_CHECK(!literal.empty());
    for (const char c : literal) {
      std::uint8_t& byte_class = class_of_[static_cast<unsigned char>(c)];
      if (byte_class == 0) byte_class = static_cast<std::uint8_t>(classes_++);
    }
  }
  // The trie; 0 is the root and also "no child" while it is built.
  std::vector<std::vector<std::uint32_t>> child(1, std::vector<std::uint32_t>(classes_, 0));
  ends_.resize(1);
  hints_.resize(1);
  for (std::size_t id = 0; id < words.size(); ++id) {
    std::uint32_t state = 0;
    for (const char c : words[id]) {
      const std::uint8_t byte_class = class_of_[static_cast<unsigned char>(c)];
      if (child[state][byte_class] == 0) {
        child[state][byte_class] = static_cast<std::uint32_t>(child.size());
        child.emplace_back(classes_, 0);
        ends_.emplace_back();
        hints_.push_back(0);
      }
      state = child[state][byte_class];
    }
    if (id < literals.size())
      ends_[state].push_back(static_cast<std::uint16_t>(id));
    else
      hints_[state] |= std::uint64_t{1} << (id - literals.size());
  }
  // Breadth first, so that a state's fallback (its longest proper suffix in the trie) is finished before it.
  std::vector<std::uint32_t> fallback(child.size(), 0);
  std::deque<std::uint32_t> queue;
  for (const std::uint32_t state : child[0])
    if (state != 0) queue.push_back(state);
  while (!queue.empty()) {
    const std::uint32_t state = queue.front();
    queue.pop_front();
    const std::uint32_t back = fallback[state];
    ends_[state].insert(ends_[state].end(), ends_[back].begin(), ends_[back].end());
    hints_[state] |= hints_[back];
    for (std::uint32_t c = 0; c < classes_; ++c) {
      std::uint32_t& to = child[state][c];
      if (to == 0) {
        to = child[back][c];
      } else {
        fallback[to] = child[back][c];
        queue.push_back(to);
      }
    }
  }
  // Renumber: states where no literal ends first, so that one comparison a byte tells whether something was
  // found.
  std::vector<std::uint32_t> order;
  for (std::uint32_t state = 0; state < child.size(); ++state)
    if (ends_[state].empty() && hints_[state] == 0) order.push_back(state);
  first_hit_ = static_cast<std::uint32_t>(order.size()) * classes_;
  for (std::uint32_t state = 0; state < child.size(); ++state)
    if (!ends_[state].empty() || hints_[state] != 0) order.push_back(state);
  std::vector<std::uint32_t> renamed(child.size());
  for (std::uint32_t at = 0; at < order.size(); ++at) renamed[order[at]] = at;
  next_.reserve(child.size() * classes_);
  std::vector<std::vector<std::uint16_t>> ends(child.size());
  std::vector<std::uint64_t> hint_masks(child.size());
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    for (const std::uint32_t to : child[order[at]]) next_.push_back(renamed[to] * classes_);
    ends[at] = std::move(ends_[order[at]]);
    hint_masks[at] = hints_[order[at]];
  }
  ends_ = std::move(ends);
  hints_ = std::move(hint_masks);
}

std::uint64_t LiteralScanner::scan(std::string_view text, std::vector<std::uint16_t>& found) const {
  found.clear();
  std::uint64_t hints = 0;
  std::uint32_t row = 0;
  for (const char c : text) {
    row = next_[row + class_of_[static_cast<unsigned char>(c)]];
    if (row >= first_hit_) {
      const std::uint32_t state = row / classes_;
      hints |= hints_[state];
      const std::vector<std::uint16_t>& ids = ends_[state];
      if (!ids.empty()) found.insert(found.end(), ids.begin(), ids.end());
    }
  }
  if (found.size() > 1) {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }
  return hints;
}

bool LiteralScanner::any(std::string_view text) const {
  std::uint32_t row = 0;
  for (const char c : text) {
    row = next_[row + class_of_[static_cast<unsigned char>(c)]];
    if (row >= first_hit_ && !ends_[row / classes_].empty()) return true;
  }
  return false;
}

}  // namespace ringside::backend
