// A stack machine, as pickles are: values go on a stack, a MARK remembers its height, containers take what is
// above it. The stack holds ids of nodes, so a value that the memo gives a thousand times costs four bytes
// each time.
#include "backend/import/pickle.hpp"

#include <bit>
#include <charconv>
#include <string>

namespace ringside::backend {
namespace {

using Id = PlainData::Id;

class Unpickler {
 public:
  Unpickler(std::string_view bytes, std::string_view name, const PlainLimits& limits)
      : bytes_(bytes), name_(name), data_(limits) {}

  sim::Result<PlainData> run() {
    while (!done_) {
      op_at_ = at_;
      if (at_ >= bytes_.size()) {
        fail("ends before its STOP; it was cut off");
      } else {
        step(static_cast<unsigned char>(bytes_[at_++]));
      }
      if (!error_.empty()) return sim::Error{.what = error_, .file = std::string(name_), .hint = hint_};
    }
    return std::move(data_);
  }

 private:
  void fail(std::string what) {
    if (error_.empty()) error_ = "the pickle " + std::move(what) + " (byte " + std::to_string(op_at_) + ")";
  }
  void refuse(std::string_view opcode, std::string_view why) {
    fail("holds the opcode " + std::string(opcode) + ", which would " + std::string(why));
    hint_ = "Only plain data is read and nothing is ever executed; a Flight Recorder dump needs no more";
  }

  // Bytes

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      fail("says that " + std::to_string(size) + " bytes follow, but only " +
           std::to_string(bytes_.size() - at_) + " do");
      return {};
    }
    const auto piece = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += piece.size();
    return piece;
  }
  std::uint64_t little_endian(std::size_t size) {
    std::uint64_t value = 0;
    const std::string_view piece = take(size);
    for (std::size_t i = piece.size(); i-- > 0;) value = (value << 8) | static_cast<unsigned char>(piece[i]);
    return value;
  }
  std::string_view rest_of_line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) {
      fail("ends inside a line");
      return {};
    }
    const auto line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  // Stack and memo

  void push(Id id) {
    if (id == PlainData::kFull) return fail("holds more values than this reader takes");
    if (stack_.size() >= kMaxStack) return fail("puts too many values on its stack");
    stack_.push_back(id);
  }
  /// True when `count` values lie above the last MARK.
  bool need(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor >= count) return true;
    fail("takes a value from an empty stack");
    return false;
  }
  Id pop() {
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }
  /// Height of the stack at the last MARK, which is removed.
  std::size_t pop_mark() {
    if (marks_.empty()) {
      fail("takes a MARK that is not there");
      return stack_.size();
    }
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  void remember(std::uint64_t index) {
    // Writers count up and every store takes two bytes or more, so a larger index is a lie that would only
    // cost memory.
    if (index > at_ / 2 || index >= kMaxStack)
      return fail("stores under the impossible memo index " + std::to_string(index));
    if (!need(1)) return;
    if (index >= memo_.size()) memo_.resize(static_cast<std::size_t>(index) + 1, PlainData::kFull);
    memo_[static_cast<std::size_t>(index)] = stack_.back();
  }
  void recall(std::uint64_t index) {
    if (index >= memo_.size() || memo_[static_cast<std::size_t>(index)] == PlainData::kFull)
      return fail("refers to the memo entry " + std::to_string(index) + ", which was never stored");
    push(memo_[static_cast<std::size_t>(index)]);
  }

  // Values

  void push_text(std::uint64_t size) {
    const std::string_view text = take(size);
    if (error_.empty()) push(data_.add_text(text));
  }
  void push_long(std::uint64_t size) {
    std::string_view digits = take(size);
    if (!error_.empty()) return;
    const bool negative = !digits.empty() && static_cast<unsigned char>(digits.back()) >= 0x80;
    const char filler = negative ? '\xFF' : '\0';
    while (digits.size() > 8 && digits.back() == filler) digits.remove_suffix(1);
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    if (digits.size() > 8) return push(data_.add_other());
    for (std::size_t i = digits.size(); i-- > 0;)
      value = (value << 8) | static_cast<unsigned char>(digits[i]);
    if ((static_cast<std::int64_t>(value) < 0) != negative) return push(data_.add_other());
    push(data_.add_int(static_cast<std::int64_t>(value)));
  }
  void push_decimal(std::string_view digits) {  // protocol 0: I01, I00, I42, L42L
    if (digits == "01" || digits == "00") return push(data_.bool_id(digits == "01"));
    if (!digits.empty() && digits.back() == 'L') digits.remove_suffix(1);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end != digits.data() + digits.size() || digits.empty()) return fail("holds a number that is none");
    push(code == std::errc() ? data_.add_int(value) : data_.add_other());
  }
  void push_float_text(std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) return fail("holds a number that is none");
    push(data_.add_real(value));
  }
  void push_binfloat() {
    std::uint64_t bits = 0;
    for (const char c : take(8)) bits = (bits << 8) | static_cast<unsigned char>(c);
    push(data_.add_real(std::bit_cast<double>(bits)));
  }

  // Containers

  void fill(Id container, std::size_t from) {
    for (std::size_t i = from; i < stack_.size() && error_.empty(); ++i)
      if (!data_.append(container, stack_[i])) fail("holds more values than this reader takes");
    stack_.resize(from);
  }
  void collect(Id container, std::size_t from) {
    if (container == PlainData::kFull) return fail("holds more values than this reader takes");
    fill(container, from);
    if (error_.empty()) push(container);
  }
  void collect_last(std::size_t count) {
    if (need(count)) collect(data_.add_list(), stack_.size() - count);
  }
  void collect_marked(bool dict) {
    const std::size_t mark = pop_mark();
    if (dict && (stack_.size() - mark) % 2 != 0) return fail("holds a dict with a key without value");
    if (error_.empty()) collect(dict ? data_.add_dict() : data_.add_list(), mark);
  }
  void extend(std::size_t from, PlainData::Kind kind) {
    if (!error_.empty()) return;
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (from <= floor || from > stack_.size()) return fail("extends a container that is not there");
    const Id container = stack_[from - 1];
    if (data_.kind(container) != kind) return fail("extends a value of another kind");
    if (kind == PlainData::Kind::Dict && (stack_.size() - from) % 2 != 0)
      return fail("holds a dict with a key without value");
    fill(container, from);
  }

  void step(unsigned char op);
  void step_text_or_memo(unsigned char op);
  void step_refused(unsigned char op);

  static constexpr std::size_t kMaxStack = 16'000'000;
  std::string_view bytes_;
  std::string_view name_;
  std::size_t at_ = 0;
  std::size_t op_at_ = 0;
  PlainData data_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Id> memo_;
  std::uint64_t memoized_ = 0;
  bool done_ = false;
  std::string error_;
  std::string hint_;
};

void Unpickler::step(unsigned char op) {
  using Kind = PlainData::Kind;
  switch (op) {
    case 0x80:  // PROTO
      if (little_endian(1) > 5) fail("is of a protocol that is not known");
      return;
    case 0x95:  // FRAME: its length must be true, nothing else follows from it
      if (little_endian(8) > bytes_.size() - at_) fail("has a frame that is longer than the file");
      return;
    case '.':
      if (!need(1)) return;
      data_.set_root(stack_.back());
      done_ = true;
      return;
    case '(':
      if (marks_.size() >= kMaxStack) return fail("puts too many values on its stack");
      return marks_.push_back(stack_.size());
    case '0':
      if (need(1)) pop();
      return;
    case '1':
      stack_.resize(pop_mark());
      return;
    case '2':
      if (need(1)) push(stack_.back());
      return;
    case 'N':
      return push(data_.null_id());
    case 0x88:
      return push(data_.bool_id(true));
    case 0x89:
      return push(data_.bool_id(false));
    case 'J':
      return push(data_.add_int(static_cast<std::int32_t>(little_endian(4))));
    case 'K':
      return push(data_.add_int(static_cast<std::int64_t>(little_endian(1))));
    case 'M':
      return push(data_.add_int(static_cast<std::int64_t>(little_endian(2))));
    case 0x8A:
      return push_long(little_endian(1));
    case 0x8B:
      return push_long(little_endian(4));
    case 'I':
    case 'L':
      return push_decimal(rest_of_line());
    case 'F':
      return push_float_text(rest_of_line());
    case 'G':
      return push_binfloat();
    case '}':
      return push(data_.add_dict());
    case ']':
    case ')':
    case 0x8F:
      return push(data_.add_list());
    case 't':
    case 'l':
    case 0x91:
      return collect_marked(false);
    case 'd':
      return collect_marked(true);
    case 0x85:
      return collect_last(1);
    case 0x86:
      return collect_last(2);
    case 0x87:
      return collect_last(3);
    case 'a':
      if (need(2)) extend(stack_.size() - 1, Kind::List);
      return;
    case 's':
      if (need(3)) extend(stack_.size() - 2, Kind::Dict);
      return;
    case 'e':
    case 0x90:
      return extend(pop_mark(), Kind::List);
    case 'u':
      return extend(pop_mark(), Kind::Dict);
    default:
      return step_text_or_memo(op);
  }
}

void Unpickler::step_text_or_memo(unsigned char op) {
  switch (op) {
    case 'X':
    case 'B':
    case 'T':
      return push_text(little_endian(4));
    case 0x8C:
    case 'C':
    case 'U':
      return push_text(little_endian(1));
    case 0x8D:
    case 0x8E:
      return push_text(little_endian(8));
    case 'V':
    case 'S': {
      const std::string_view text = rest_of_line();
      return error_.empty() ? push(data_.add_text(text)) : void();
    }
    case 'q':
      return remember(little_endian(1));
    case 'r':
      return remember(little_endian(4));
    case 0x94:
      return remember(memoized_++);
    case 'h':
      return recall(little_endian(1));
    case 'j':
      return recall(little_endian(4));
    case 'p':
    case 'g': {
      const std::string_view digits = rest_of_line();
      std::uint64_t index = 0;
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
      if (code != std::errc() || end != digits.data() + digits.size())
        return fail("has a memo index that is no number");
      return op == 'p' ? remember(index) : recall(index);
    }
    default:
      return step_refused(op);
  }
}

void Unpickler::step_refused(unsigned char op) {
  switch (op) {
    case 'c':
      return refuse("GLOBAL", "load a class or function");
    case 0x93:
      return refuse("STACK_GLOBAL", "load a class or function");
    case 'R':
      return refuse("REDUCE", "call a function");
    case 'b':
      return refuse("BUILD", "change an object");
    case 'i':
      return refuse("INST", "create an object");
    case 'o':
      return refuse("OBJ", "create an object");
    case 0x81:
      return refuse("NEWOBJ", "create an object");
    case 0x92:
      return refuse("NEWOBJ_EX", "create an object");
    case 'P':
    case 'Q':
      return refuse("PERSID", "refer to an object outside");
    case 0x82:
    case 0x83:
    case 0x84:
      return refuse("EXT", "load a registered class");
    case 0x96:
    case 0x97:
    case 0x98:
      return refuse("BUFFER", "refer to a buffer outside");
    default:
      return fail("holds the byte " + std::to_string(op) + ", which is no opcode");
  }
}

}  // namespace

sim::Result<PlainData> parse_pickle(std::string_view bytes, std::string_view name,
                                    const PlainLimits& limits) {
  return Unpickler(bytes, name, limits).run();
}

}  // namespace ringside::backend
