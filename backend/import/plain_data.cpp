#include "backend/import/plain_data.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ringside::backend {

PlainData::PlainData(PlainLimits limits) : limits_(limits) {
  nodes_ = {{Kind::Null, 0, 0}, {Kind::True, 0, 0}, {Kind::False, 0, 0}};  // shared by all that need them
}

PlainData::Id PlainData::add(Kind kind, std::uint32_t size, std::uint64_t bits) {
  if (nodes_.size() >= limits_.max_nodes) return kFull;
  nodes_.push_back({kind, size, bits});
  return static_cast<Id>(nodes_.size() - 1);
}

PlainData::Id PlainData::add_int(std::int64_t value) {
  return add(Kind::Int, 0, static_cast<std::uint64_t>(value));
}
PlainData::Id PlainData::add_real(double value) {
  return add(Kind::Real, 0, std::bit_cast<std::uint64_t>(value));
}
PlainData::Id PlainData::add_other() {
  return add(Kind::Other, 0, 0);
}
PlainData::Id PlainData::add_list() {
  return add(Kind::List, 0, kNone);
}
PlainData::Id PlainData::add_dict() {
  return add(Kind::Dict, 0, kNone);
}

PlainData::Id PlainData::add_text(std::string_view text) {
  if (text.size() > 0xFFFFFFFEu) return kFull;
  const std::uint64_t offset = text_.size();
  text_ += text;
  return add(Kind::Text, static_cast<std::uint32_t>(text.size()), offset);
}

bool PlainData::spend(std::size_t children) {
  if (children > limits_.max_children - spent_) return false;
  spent_ += children;
  return true;
}

bool PlainData::append(Id container, Id child) {
  Node& node = nodes_[container];
  if ((node.kind != Kind::List && node.kind != Kind::Dict) || !spend(1)) return false;
  if (node.bits == kNone) {
    node.bits = children_.size();
    children_.emplace_back();
  }
  children_[node.bits].push_back(child);
  return true;
}

const std::vector<PlainData::Id>* PlainData::children(Id id) const {
  const Node& node = nodes_[id];
  const bool holds = (node.kind == Kind::List || node.kind == Kind::Dict) && node.bits != kNone;
  return holds ? &children_[node.bits] : nullptr;
}

PlainData::Kind PlainData::Ref::kind() const {
  return data_->nodes_[id_].kind;
}

std::size_t PlainData::Ref::size() const {
  const auto* children = data_ != nullptr ? data_->children(id_) : nullptr;
  if (children == nullptr) return 0;
  return kind() == Kind::Dict ? children->size() / 2 : children->size();
}

PlainData::Ref PlainData::Ref::at(std::size_t i) const {
  if (i >= size()) return {};
  const auto& children = *data_->children(id_);
  return {data_, kind() == Kind::Dict ? children[2 * i + 1] : children[i]};
}

PlainData::Ref PlainData::Ref::key_at(std::size_t i) const {
  if (i >= size() || kind() != Kind::Dict) return {};
  return {data_, (*data_->children(id_))[2 * i]};
}

PlainData::Ref PlainData::Ref::find(std::string_view key) const {
  if (!is_dict()) return {};
  for (std::size_t i = size(); i-- > 0;)
    if (const Ref candidate = key_at(i); candidate.is_text() && candidate.text() == key) return at(i);
  return {};
}

std::string_view PlainData::Ref::text() const {
  if (!is_text()) return {};
  const Node& node = data_->nodes_[id_];
  return std::string_view(data_->text_).substr(node.bits, node.size);
}

std::optional<std::int64_t> PlainData::Ref::integer() const {
  if (data_ == nullptr) return std::nullopt;
  const Node& node = data_->nodes_[id_];
  if (node.kind == Kind::Int) return static_cast<std::int64_t>(node.bits);
  if (node.kind == Kind::Real) {
    const double value = std::bit_cast<double>(node.bits);
    if (value >= -9e15 && value <= 9e15 && value == std::floor(value))
      return static_cast<std::int64_t>(value);
    return std::nullopt;
  }
  const std::string_view digits = text();
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> PlainData::Ref::real() const {
  if (data_ == nullptr) return std::nullopt;
  const Node& node = data_->nodes_[id_];
  if (node.kind == Kind::Real) return std::bit_cast<double>(node.bits);
  if (node.kind == Kind::Int) return static_cast<double>(static_cast<std::int64_t>(node.bits));
  return std::nullopt;
}

std::optional<bool> PlainData::Ref::boolean() const {
  if (data_ == nullptr) return std::nullopt;
  if (kind() == Kind::True) return true;
  if (kind() == Kind::False) return false;
  return std::nullopt;
}

namespace {

using Json = nlohmann::json;

/// Events of nlohmann's reader (which does not recurse) become nodes.
class JsonSink : public nlohmann::json_sax<Json> {
 public:
  JsonSink(PlainData& data, int max_depth) : data_(data), max_depth_(max_depth) {}

  bool null() override { return put(data_.null_id()); }
  bool boolean(bool value) override { return put(data_.bool_id(value)); }
  bool number_integer(number_integer_t value) override { return put(data_.add_int(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<std::uint64_t>(INT64_MAX);
    return put(fits ? data_.add_int(static_cast<std::int64_t>(value)) : data_.add_other());
  }
  bool number_float(number_float_t value, const string_t&) override { return put(data_.add_real(value)); }
  bool string(string_t& value) override { return put(data_.add_text(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override { return put(data_.add_text(value)); }
  bool start_object(std::size_t) override { return open(data_.add_dict()); }
  bool start_array(std::size_t) override { return open(data_.add_list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }

  std::size_t position_ = 0;
  std::string why_ = "is not valid JSON";

 private:
  bool put(PlainData::Id id) {
    if (id != PlainData::kFull && open_.empty()) {
      data_.set_root(id);
      return true;
    }
    if (id != PlainData::kFull && data_.append(open_.back(), id)) return true;
    why_ = "holds more values than this reader takes";
    return false;
  }
  bool open(PlainData::Id id) {
    if (!put(id)) return false;
    if (static_cast<int>(open_.size()) >= max_depth_) {
      why_ = "is nested deeper than " + std::to_string(max_depth_) + " levels";
      return false;
    }
    open_.push_back(id);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  PlainData& data_;
  int max_depth_;
  std::vector<PlainData::Id> open_;
};

}  // namespace

sim::Result<PlainData> parse_json(std::string_view text, std::string_view name, const PlainLimits& limits) {
  PlainData data(limits);
  JsonSink sink(data, limits.max_depth);
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (Json::sax_parse(text, &sink)) return data;
  sim::Error error{.what = sink.why_, .file = std::string(name)};
  if (sink.position_ > 0) {
    const std::string_view before = text.substr(0, std::min(sink.position_, text.size()));
    error.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    const std::size_t start = before.rfind('\n');
    error.column = static_cast<int>(std::min<std::size_t>(
        before.size() - (start == std::string_view::npos ? 0 : start + 1), 1'000'000'000));
  }
  return error;
}

}  // namespace ringside::backend
