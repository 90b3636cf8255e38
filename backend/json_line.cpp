#include "backend/json_line.hpp"

namespace ringside::backend {
namespace {

constexpr int kDeepest = 16;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool fail(const char* what) {
    if (!problem_) problem_ = JsonProblem{at_, what};
    return false;
  }
  const std::optional<JsonProblem>& problem() const { return problem_; }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool expect(char c, const char* what) { return take(c) || fail(what); }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size() || fail("text after the end");
  }

  bool string(std::string_view& raw) {
    if (!expect('"', "a string is needed")) return false;
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        raw = text_.substr(begin, at_ - begin);
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string");
      if (c == '\\' && ++at_ == text_.size()) break;
    }
    return fail("a string that does not end");
  }

  bool value(JsonValue& out, int depth) {
    skip_blanks();
    if (at_ >= text_.size()) return fail("a value is missing");
    const std::size_t begin = at_;
    bool good = false;
    switch (text_[at_]) {
      case '"':
        out.kind = JsonValue::Kind::String;
        return string(out.raw);
      case '{':
        out.kind = JsonValue::Kind::Object;
        good = object(nullptr, depth);
        break;
      case '[':
        out.kind = JsonValue::Kind::Array;
        good = array(nullptr, depth);
        break;
      case 't':
      case 'f':
        out.kind = JsonValue::Kind::Boolean;
        good = word(text_[at_] == 't' ? "true" : "false");
        break;
      case 'n':
        out.kind = JsonValue::Kind::Null;
        good = word("null");
        break;
      default:
        out.kind = JsonValue::Kind::Number;
        good = number();
    }
    out.raw = text_.substr(begin, at_ - begin);
    return good;
  }

  bool object(std::vector<JsonField>* fields, int depth) {
    if (depth > kDeepest) return fail("nested too deep");
    if (!expect('{', "an object is needed")) return false;
    if (take('}')) return true;
    do {
      JsonField field;
      if (!string(field.key) || !expect(':', "a colon is needed") || !value(field.value, depth + 1))
        return false;
      if (fields != nullptr) fields->push_back(field);
    } while (take(','));
    return expect('}', "a comma or } is needed");
  }

  bool array(std::vector<JsonValue>* elements, int depth) {
    if (depth > kDeepest) return fail("nested too deep");
    if (!expect('[', "an array is needed")) return false;
    if (take(']')) return true;
    do {
      JsonValue element;
      if (!value(element, depth + 1)) return false;
      if (elements != nullptr) elements->push_back(element);
    } while (take(','));
    return expect(']', "a comma or ] is needed");
  }

 private:
  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return fail("a value is needed");
    at_ += expected.size();
    return true;
  }

  bool digits() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > begin || fail("a number is needed");
  }

  bool number() {
    const auto next = [&](char c) { return at_ < text_.size() && text_[at_] == c; };
    if (next('-')) ++at_;
    if (next('0')) {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (next('.')) {
      ++at_;
      if (!digits()) return false;
    }
    if (!next('e') && !next('E')) return true;
    ++at_;
    if (next('+') || next('-')) ++at_;
    return digits();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<JsonProblem> problem_;
};

std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      byte(0xE0 | c >> 12);
    } else {
      byte(0xF0 | c >> 18);
      byte(0x80 | (c >> 12 & 0x3F));
    }
    byte(0x80 | (c >> 6 & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

/// "\uD83D\uDE00" is one character; a lone surrogate becomes U+FFFD. `rest` starts behind "\u".
bool append_unicode(std::string& out, std::string_view rest, std::size_t& used) {
  const auto first = hex4(rest);
  if (!first) return false;
  used = 4;
  if (*first < 0xD800 || *first > 0xDFFF) {
    append_utf8(out, *first);
    return true;
  }
  const auto second = rest.substr(4, 2) == "\\u" ? hex4(rest.substr(6)) : std::nullopt;
  if (*first <= 0xDBFF && second && *second >= 0xDC00 && *second <= 0xDFFF) {
    append_utf8(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
    used = 10;
  } else {
    append_utf8(out, 0xFFFD);
  }
  return true;
}

}  // namespace

std::optional<JsonProblem> parse_json_object(std::string_view text, std::vector<JsonField>& fields) {
  fields.clear();
  Cursor cursor(text);
  if (cursor.object(&fields, 0)) cursor.at_end();
  return cursor.problem();
}

std::optional<JsonProblem> parse_json_array(std::string_view text, std::vector<JsonValue>& elements) {
  elements.clear();
  Cursor cursor(text);
  if (cursor.array(&elements, 0)) cursor.at_end();
  return cursor.problem();
}

std::optional<std::string> decode_json_string(const JsonValue& value) {
  if (value.kind != JsonValue::Kind::String) return std::nullopt;
  std::string out;
  out.reserve(value.raw.size());
  for (std::size_t at = 0; at < value.raw.size(); ++at) {
    if (value.raw[at] != '\\') {
      out += value.raw[at];
      continue;
    }
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = value.raw[++at];  // the parser saw to it that something follows
    if (letter == 'u') {
      std::size_t used = 0;
      if (!append_unicode(out, value.raw.substr(at + 1), used)) return std::nullopt;
      at += used;
      continue;
    }
    const std::size_t which = kLetters.find(letter);
    if (which == std::string_view::npos) return std::nullopt;
    out += kMeanings[which];
  }
  return out;
}

}  // namespace ringside::backend
