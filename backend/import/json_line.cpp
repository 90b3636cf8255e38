#include "backend/import/json_line.hpp"

#include <algorithm>
#include <initializer_list>

namespace ringside::backend {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Walks over the outer object; values are slices of the line.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool open() { return take('{'); }
  /// The next key and its value; `string` tells whether it was quoted. False at the end or at anything that
  /// is no JSON.
  bool next(std::string_view& key, std::string_view& value, bool& string) {
    if (!first_ && !take(',')) return false;
    first_ = false;
    if (!quoted(key) || !take(':')) return false;
    blanks();
    string = at_ < text_.size() && text_[at_] == '"';
    return string ? quoted(value) : plain(value);
  }
  bool closed() { return take('}'); }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool quoted(std::string_view& out) {
    if (!take('"')) return false;
    const std::size_t start = at_;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (at_ >= text_.size()) return false;
    out = text_.substr(start, at_ - start);
    ++at_;
    return true;
  }
  /// A number, a word, or an array or object as a whole.
  bool plain(std::string_view& out) {
    const std::size_t start = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        std::string_view skipped;
        if (!quoted(skipped)) return false;
        --at_;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth == 0) break;
        --depth;
      } else if (c == ',' && depth == 0) {
        break;
      }
    }
    out = text_.substr(start, at_ - start);
    return !out.empty();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool first_ = true;
};

/// Appends the text of a JSON string, with `prefix` in front of each of its lines. Other characters than
/// ASCII that are written as \u stand for themselves in no message that we read: '?'.
void append_lines(std::string& out, std::string_view escaped, std::string_view prefix) {
  bool fresh = true;
  for (std::size_t at = 0; at < escaped.size(); ++at) {
    char c = escaped[at];
    if (c == '\\' && at + 1 < escaped.size()) {
      c = escaped[++at];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
      if (c == 'r') continue;
      if (c == 'u') {
        at += std::min<std::size_t>(4, escaped.size() - at - 1);
        c = '?';
      }
    }
    if (c == '\n') {
      if (!fresh) out += '\n';
      fresh = true;
      continue;
    }
    if (fresh) out += prefix;
    fresh = false;
    out += c;
  }
  if (!fresh) out += '\n';
}

}  // namespace

bool unwrap_json(std::string_view line, std::string& out) {
  Reader reader(line);
  if (!reader.open()) return false;
  std::string_view key, value, message, traceback, rank, host, time;
  bool string = false;
  while (reader.next(key, value, string)) {
    if (string && message.empty() && is_one_of(key, {"log", "msg", "message", "text"}))
      message = value;
    else if (string &&
             is_one_of(key, {"exc_info", "exception", "traceback", "stack_trace", "error.stack_trace"}))
      traceback = value;
    else if (is_one_of(key, {"rank", "global_rank"}))
      rank = value;
    else if (string && is_one_of(key, {"host", "hostname", "node", "node_name"}))
      host = value;
    else if (string && is_one_of(key, {"ts", "time", "timestamp", "@timestamp", "asctime"}))
      time = value;
  }
  if (!reader.closed() || (message.empty() && traceback.empty())) return false;
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.size() <= 7 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  std::string prefix;
  if (!time.empty() && time.size() <= 40 && time.front() >= '0' && time.front() <= '9')
    prefix.append(time).append(" ");
  if (!host.empty() && host.size() <= 64 && host.find_first_of(" |:") == std::string_view::npos)
    prefix.append(host).append(" | ");
  if (digits(rank)) prefix.append("[rank").append(rank).append("]: ");
  out.clear();
  append_lines(out, message, prefix);
  append_lines(out, traceback, prefix);
  return !out.empty();
}

}  // namespace ringside::backend
