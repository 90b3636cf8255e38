#define TOML_IMPLEMENTATION  // toml++ is compiled here and nowhere else
#include "sim/base/toml.hpp"

#include <cstddef>
#include <optional>
#include <string>

#include "sim/base/text.hpp"

namespace ringside::sim {
namespace {

constexpr int kMostKeyParts = 16;

/// Walks over the text as TOML's lexer does, as far as strings, comments and brackets go.
class Guard {
 public:
  explicit Guard(std::string_view text) : text_(text) {}

  /// Offset of the first place that must not reach the parser, and why.
  std::optional<Error> run() {
    while (at_ < text_.size()) {
      if (!step()) return error_;
    }
    return std::nullopt;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool step() {
    const char c = peek();
    if (c == '\n') {
      next_line();
      return true;
    }
    const bool first = line_empty_;
    if (c != ' ' && c != '\t' && c != '\r') line_empty_ = false;
    if (c == '#') return skip_comment();
    if (c == '"' || c == '\'') return skip_string(c);
    if (static_cast<unsigned char>(c) >= 0x80) {  // toml++ 3.3 is undefined on some letters there
      if (at_ > 0 || !text_.starts_with("\xEF\xBB\xBF")) return fail("a letter outside quotes is not ASCII");
      at_ += 3;
      line_empty_ = true;
      return true;
    }
    if (c == '[' && first && open_.empty()) return header();
    ++at_;
    if (c == '.') return ++dots_ < kMostKeyParts || fail("a key has more than 16 parts");
    if (in_header_) return true;
    if (c == '[' || c == '{') open_ += c;
    if ((c == ']' || c == '}') && !open_.empty()) {
      // toml++ 3.3 takes a brace where an array's value should be for one (an assertion, or undefined without)
      if (open_.back() != (c == ']' ? '[' : '{')) {
        --at_;
        return fail(std::string("'") + c + "' where " + (c == ']' ? "'}'" : "']'") + " should close");
      }
      open_.pop_back();
    }
    if (c == '[' || c == ']' || c == '{' || c == '}' || c == '=' || c == ',') dots_ = 0;
    return true;
  }

  void next_line() {
    ++at_;
    ++line_;
    line_begin_ = at_;
    line_empty_ = true;
    in_header_ = false;
    dots_ = 0;
  }

  bool skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    return true;
  }

  bool skip_string(char quote) {
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n' && !triple) return true;  // not closed: the parser says so
      if (c == '\\' && quote == '"') {
        at_ += peek(1) == '\n' ? 1 : 2;
        continue;
      }
      if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        while (triple && peek() == quote) ++at_;  // """" ends a string that ends with a quote
        return true;
      }
      ++at_;
      if (c == '\n') {
        ++line_;
        line_begin_ = at_;
      }
    }
    return true;
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }

  bool header() {
    in_header_ = true;
    ++at_;
    skip_blanks();
    if (peek() == '[') {
      ++at_;
      skip_blanks();
    }
    const char c = peek();
    const bool name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '"' || c == '\'' || c == ']';
    return at_ >= text_.size() || name || fail("a table header needs a name: [name] or [[name]]");
  }

  bool fail(std::string what) {
    Error error;
    error.what = "not valid TOML: " + std::move(what);
    error.line = line_;
    error.column = 1;
    for (std::size_t i = line_begin_; i < at_ && i < text_.size(); ++i) {
      if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) ++error.column;
    }
    error_ = std::move(error);
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1, dots_ = 0;
  std::string open_;  // brackets and braces
  bool line_empty_ = true, in_header_ = false;
  std::optional<Error> error_;
};

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view file_name) {
  if (auto error = Guard(text).run()) {
    error->file = std::string(file_name);
    return *error;
  }
  toml::parse_result parsed = toml::parse(text, file_name);
  if (parsed) return std::move(parsed).table();
  constexpr std::string_view kPrefix = "Error while parsing ";
  std::string_view description = parsed.error().description();
  if (description.substr(0, kPrefix.size()) == kPrefix) description.remove_prefix(kPrefix.size());
  Error error;
  error.what = "not valid TOML: " + escape_for_display(description);
  error.file = std::string(file_name);
  error.line = static_cast<int>(parsed.error().source().begin.line);
  error.column = static_cast<int>(parsed.error().source().begin.column);
  return error;
}

}  // namespace ringside::sim
