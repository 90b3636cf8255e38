// Reads .npy bytes. Hostile input is expected: the header is scanned once, without recursion, and no length
// in it is believed before it was compared with the bytes at hand.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "sim/base/text.hpp"
#include "sim/tensor/element.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::sim {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian in memory");

constexpr std::string_view kLegalTypes = "<f8, <f4, <f2, <i4, <i8 or the same with >; <V2 for bfloat16";

/// The text of the header is quoted in errors: escaped and cut, since it comes from outside.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out = escape_for_display(text.substr(0, kMost));
  return text.size() > kMost ? out + "…" : out;
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// A scanner of the one Python literal that a header holds: a dict of a string, a bool and a tuple of
/// integers.
class HeaderScanner {
 public:
  explicit HeaderScanner(std::string_view text) : text_(text) {}

  Result<Header> scan() {
    Header header;
    bool have_descr = false, have_order = false, have_shape = false;
    if (!take('{')) return problem("the header is not a Python dict");
    while (!take('}')) {
      const auto key = string();
      if (!key) return problem("a key of the header is not a string");
      if (!take(':')) return problem("a key of the header has no value");
      bool* const have = *key == "descr"           ? &have_descr
                         : *key == "fortran_order" ? &have_order
                         : *key == "shape"         ? &have_shape
                                                   : nullptr;
      if (have == nullptr) return problem("unknown key \"" + shown(*key) + "\" in the header");
      if (*have) return problem("key \"" + *key + "\" twice in the header");
      *have = true;
      if (have == &have_descr) {
        if (peek() == '[' || peek() == '(') return problem("a structured dtype");
        const auto value = string();
        if (!value) return problem("\"descr\" is not a string");
        header.descr = *value;
      } else if (have == &have_order) {
        const auto value = boolean();
        if (!value) return problem("\"fortran_order\" is not True or False");
        header.fortran_order = *value;
      } else if (!tuple(header.shape)) {
        return problem("\"shape\" is not a tuple of at most 16 integers");
      }
      if (!take(',') && peek() != '}') return problem("entries of the header without a comma between them");
    }
    skip_spaces();
    if (at_ != text_.size()) return problem("text after the header's dict");
    if (!have_descr || !have_order || !have_shape) {
      return problem("the header lacks a key");
    }
    return header;
  }

 private:
  Error problem(std::string what) const {
    return Error{.what = std::move(what),
                 .text = shown(text_.substr(std::min(at_, text_.size()))),
                 .legal = "{'descr': string, 'fortran_order': True or False, 'shape': tuple of integers}"};
  }
  void skip_spaces() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.find('\\') != std::string_view::npos) return std::nullopt;  // no key or type needs an escape
    at_ = end + 1;
    return std::string(value);
  }
  std::optional<bool> boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    return std::nullopt;
  }
  bool tuple(std::vector<std::int64_t>& out) {
    constexpr std::size_t kMaxRank = 16;
    if (!take('(')) return false;
    bool comma = true;  // before the first
    while (!take(')')) {
      if (!comma || out.size() == kMaxRank) return false;
      skip_spaces();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc{}) return false;
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
      out.push_back(value);
      comma = take(',');
    }
    return out.size() != 1 || comma;  // "(3)" is an integer, not a tuple
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct ElementType {
  DType dtype;
  bool swapped = false;
};

Result<ElementType> element_type(const std::string& descr, bool as_bfloat16) {
  const Error unknown{.what = "a dtype that tensors here cannot have",
                      .text = shown(descr),
                      .legal = std::string(kLegalTypes)};
  const auto refuse = [&](std::string what) {
    Error error = unknown;
    error.what = std::move(what);
    return error;
  };
  if (descr.size() < 2) return unknown;
  const char order = descr[0];
  const std::string_view kind = std::string_view(descr).substr(1);
  if (kind.starts_with('O')) return refuse("an object dtype (pickled Python objects, which are never read)");
  if (order != '<' && order != '>' && order != '=' && order != '|') return unknown;
  if (kind == "V2") {
    if (!as_bfloat16) {
      Error error = refuse("two bytes of unknown type");
      error.hint = "bfloat16 arrays are written so: set dtype = \"bfloat16\" to read them";
      return error;
    }
    return ElementType{DType::BFloat16, order == '>'};
  }
  if (order == '|') return unknown;
  const bool swapped = order == '>';
  if (kind == "f8") return ElementType{DType::Float64, swapped};
  if (kind == "f4") return ElementType{DType::Float32, swapped};
  if (kind == "f2") return ElementType{DType::Float16, swapped};
  if (kind == "i4") return ElementType{DType::Int32, swapped};
  if (kind == "i8") return ElementType{DType::Int64, swapped};
  return unknown;
}

struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};

/// Cuts the file into header and data; checks magic, version and the header's length.
Result<Parts> cut(std::span<const std::byte> bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::uint64_t kMaxHeader = 1 << 16;  // a header of 16 extents has some 400 bytes
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) {
    return Error{.what = "not a .npy file (it does not start with \\x93NUMPY)",
                 .text = shown(text.substr(0, 8))};
  }
  if (text.size() < 8) return Error{.what = "a .npy file that ends before its version"};
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint64_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    return Error{.what = "unknown .npy version " + std::to_string(major) + "." + std::to_string(minor),
                 .legal = "1.0, 2.0, 3.0"};
  }
  const std::size_t start = major == 1 ? 10 : 12;
  if (text.size() < start) return Error{.what = "a .npy file that ends before the length of its header"};
  std::uint64_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) {
    return Error{.what = "a .npy header of " + with_commas(static_cast<std::int64_t>(length)) +
                         " bytes in a file of " + with_commas(static_cast<std::int64_t>(text.size())) +
                         " bytes"};
  }
  if (length > kMaxHeader) {
    return Error{.what = "a .npy header of " + with_commas(static_cast<std::int64_t>(length)) + " bytes",
                 .legal = "at most 65,536 bytes"};
  }
  return Parts{text.substr(start, length), bytes.subspan(start + length)};
}

/// Copies the elements into row-major order, native-endian, with canonical NaNs.
template <class E>
void copy_elements(std::span<const std::byte> data, const Header& header, bool swapped, Tensor& out) {
  using W = typename E::Word;
  const auto read = [&](std::size_t i) {
    std::array<std::byte, sizeof(W)> raw;
    std::memcpy(raw.data(), data.data() + i * sizeof(W), sizeof(W));
    if (swapped) std::reverse(raw.begin(), raw.end());
    return E::canonical(std::bit_cast<W>(raw));
  };
  const auto count = static_cast<std::size_t>(out.count());
  if (!header.fortran_order || header.shape.size() < 2) {
    for (std::size_t i = 0; i < count; ++i) element::store(out.data.data(), i, read(i));
    return;
  }
  // Fortran order: the first index runs fastest in the file. `index` is the row-major position that is
  // written.
  const std::size_t rank = header.shape.size();
  std::vector<std::int64_t> stride(rank, 1), index(rank, 0);
  for (std::size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * header.shape[d - 1];
  std::int64_t source = 0;
  for (std::size_t i = 0; i < count; ++i) {
    element::store(out.data.data(), i, read(static_cast<std::size_t>(source)));
    for (std::size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < header.shape[d]) break;
      source -= index[d] * stride[d];
      index[d] = 0;
    }
  }
}

Result<Tensor> read(std::span<const std::byte> bytes, bool as_bfloat16) {
  const auto parts = cut(bytes);
  if (!parts) return parts.error();
  const auto header = HeaderScanner(parts->header).scan();
  if (!header) return header.error();
  const auto type = element_type(header->descr, as_bfloat16);
  if (!type) return type.error();
  const auto shape = checked_shape(header->shape);
  if (!shape) return shape.error();
  const std::int64_t needed = shape->count() * size_of(type->dtype);
  const auto held = static_cast<std::int64_t>(parts->data.size());
  if (held != needed) {
    return Error{
        .what = std::string(held < needed ? "a truncated .npy file: " : "a .npy file with trailing bytes: ") +
                "the shape needs " + with_commas(needed) + " bytes of data and the file holds " +
                with_commas(held),
        .text = shape->text()};
  }
  Tensor tensor(type->dtype, *shape);
  element::with_element(
      type->dtype, [&](auto e) { copy_elements<decltype(e)>(parts->data, *header, type->swapped, tensor); });
  return tensor;
}

}  // namespace

Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view file_name, bool as_bfloat16) {
  auto tensor = read(bytes, as_bfloat16);
  if (tensor) return tensor;
  Error error = tensor.error();
  error.file = escape_for_display(file_name);
  return error;
}

}  // namespace ringside::sim
