// TextFile: blocks of whole lines out of a ByteSource, and lines out of blocks.
#include <algorithm>
#include <cstring>

#include "backend/import/input.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;  // fits in a second-level cache

std::int64_t count_lines(std::string_view text) {
  std::int64_t lines = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    // Bytes are counted in pieces that a byte-wide counter cannot overflow, so that the compiler can use
    // vectors.
    const char* const piece = at + std::min<std::ptrdiff_t>(end - at, 4096);
    std::uint32_t count = 0;
    for (; at < piece; ++at) count += *at == '\n';
    lines += count;
  }
  return lines;
}

}  // namespace

TextFile::TextFile(std::unique_ptr<ByteSource> bytes, std::string name, std::size_t max_line,
                   std::size_t whole)
    : bytes_(std::move(bytes)), name_(std::move(name)), max_line_(std::max<std::size_t>(max_line, 1)) {
  capacity_ = std::max(kBlock, 2 * max_line_);
  if (whole > 0) capacity_ = std::min(capacity_, whole + 1);
  buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
}

/// Moves what is left to the front and reads more behind it. False when nothing more came.
bool TextFile::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (ended_) return false;
  const std::size_t got = bytes_->read(buffer_.get() + end_, capacity_ - end_);
  if (got == 0) ended_ = true;
  end_ += got;
  bytes_read_ += static_cast<std::int64_t>(got);
  return got > 0;
}

/// After a line that was cut: drops bytes up to and with its end. False at the end of the file.
bool TextFile::skip_rest_of_line() {
  while (skipping_) {
    if (begin_ == end_ && !fill()) return false;
    const void* found = std::memchr(buffer_.get() + begin_, '\n', end_ - begin_);
    if (found == nullptr) {
      begin_ = end_;
      continue;
    }
    begin_ = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.get()) + 1;
    skipping_ = false;
  }
  return true;
}

bool TextFile::next_block(Block& block) {
  if (!skip_rest_of_line()) return false;
  for (;;) {
    const void* last = begin_ < end_ ? ::memrchr(buffer_.get() + begin_, '\n', end_ - begin_) : nullptr;
    if (last != nullptr) {
      const auto stop = static_cast<std::size_t>(static_cast<const char*>(last) - buffer_.get()) + 1;
      block = {{buffer_.get() + begin_, stop - begin_}, line_ + 1, false};
      begin_ = stop;
      line_ += count_lines(block.text);
      return true;
    }
    if (end_ - begin_ == capacity_) {  // a line longer than the buffer
      block = {{buffer_.get(), std::min(max_line_, capacity_)}, line_ + 1, true};
      begin_ = end_;
      skipping_ = true;
      ++line_;
      ++cut_lines_;
      return true;
    }
    if (!fill()) break;
  }
  if (begin_ == end_) return false;
  const std::size_t size = std::min(end_ - begin_, max_line_);
  block = {{buffer_.get() + begin_, size}, line_ + 1, size < end_ - begin_};
  begin_ = end_;
  ++line_;
  cut_lines_ += block.cut;
  return true;
}

bool TextFile::next(Line& line) {
  if (at_ >= block_.text.size()) {
    at_ = 0;
    if (!next_block(block_)) {
      block_ = {};
      return false;
    }
    number_ = block_.first_line;
  } else {
    ++number_;
  }
  line.number = number_;
  const char* const start = block_.text.data() + at_;
  const std::size_t left = block_.text.size() - at_;
  const void* const found = std::memchr(start, '\n', left);
  std::size_t size =
      found == nullptr ? left : static_cast<std::size_t>(static_cast<const char*>(found) - start);
  at_ += found == nullptr ? left : size + 1;
  line.cut = found == nullptr;
  if (size > max_line_) {
    size = max_line_;
    line.cut = true;
    ++cut_lines_;
  }
  line.text = {start, size};
  if (!line.cut && size > 0 && start[size - 1] == '\r') line.text.remove_suffix(1);
  if (line.number == 1 && line.text.substr(0, 3) == "\xEF\xBB\xBF") line.text.remove_prefix(3);
  return true;
}

}  // namespace ringside::backend
