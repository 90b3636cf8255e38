// Writes the pickles that tests need: protocol 2 as torch's pickler does, keys and repeated texts through the
// memo.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ringside::test {

class PickleWriter {
 public:
  PickleWriter() { out_ = "\x80\x02"; }
  PickleWriter& text(std::string_view value) {
    const auto [found, fresh] =
        memo_.try_emplace(std::string(value), static_cast<std::uint32_t>(memo_.size()));
    if (!fresh) return memo("hj", found->second);
    out_ += 'X';
    little_endian(static_cast<std::uint32_t>(value.size()), 4);
    out_ += value;
    return memo("qr", found->second);
  }
  PickleWriter& integer(std::int64_t value) {
    if (value >= 0 && value < 256) return op('K').little_endian(static_cast<std::uint64_t>(value), 1);
    if (value >= 0 && value < 65536) return op('M').little_endian(static_cast<std::uint64_t>(value), 2);
    if (value >= INT32_MIN && value <= INT32_MAX)
      return op('J').little_endian(static_cast<std::uint32_t>(value), 4);
    return op('\x8A').op(8).little_endian(static_cast<std::uint64_t>(value), 8);
  }
  PickleWriter& boolean(bool value) { return op(value ? '\x88' : '\x89'); }
  PickleWriter& none() { return op('N'); }
  PickleWriter& list(const std::function<void(PickleWriter&)>& items) {
    op(']').op('(');
    items(*this);
    return op('e');
  }
  PickleWriter& dict(const std::function<void(PickleWriter&)>& pairs) {
    op('}').op('(');
    pairs(*this);
    return op('u');
  }
  PickleWriter& op(char code) {
    out_ += code;
    return *this;
  }
  std::string done() const { return out_ + "."; }

 private:
  PickleWriter& little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>((value >> (8 * i)) & 0xFF);
    return *this;
  }
  PickleWriter& memo(const char* ops, std::uint32_t index) {
    return index < 256 ? op(ops[0]).little_endian(index, 1) : op(ops[1]).little_endian(index, 4);
  }
  std::string out_;
  std::map<std::string, std::uint32_t> memo_;
};

}  // namespace ringside::test
