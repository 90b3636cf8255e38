#include "app/scenes/tensor_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/check.hpp"

namespace ringside::app {
namespace {

constexpr std::size_t kMostUndo = 200;

/// The key of a place that stays the same when directions are added or dropped in front.
Index key_of(const Index& index) {
  Index key(index.rbegin(), index.rend());
  while (!key.empty() && key.back() == 0) key.pop_back();
  return key;
}

/// The index in a shape of other length: zeros in front, or zeros dropped there. Nothing if it lies outside.
std::optional<Index> index_in(const sim::Shape& shape, const Index& index) {
  const Index key = key_of(index);
  if (key.size() > shape.extents.size()) return std::nullopt;
  Index out(shape.extents.size(), 0);
  for (std::size_t i = 0; i < key.size(); ++i) out[out.size() - 1 - i] = key[i];
  for (std::size_t d = 0; d < out.size(); ++d)
    if (out[d] >= shape.extents[d]) return std::nullopt;
  return out;
}

TensorState state_of_rung(int rung, sim::DType dtype) {
  TensorState state;
  state.shape.extents = rungs()[static_cast<std::size_t>(rung)].extents;
  state.dtype = dtype;
  state.selected.assign(state.shape.extents.size(), 0);
  if (rung == 0) {  // the seed's first number
    state.frozen = state.shape;
    state.typed[{}] = 5;
  }
  return state;
}

}  // namespace

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> kRungs{
      {"tensor.rung.scalar", {}},         {"tensor.rung.vector", {3}},
      {"tensor.rung.matrix", {2, 2}},     {"tensor.rung.stack", {2, 2, 3}},
      {"tensor.rung.four", {2, 2, 2, 3}}, {"tensor.rung.five", {2, 2, 2, 2, 3}}};
  return kRungs;
}

TensorModel::TensorModel() : state_(state_of_rung(0, sim::DType::Int64)) {}

double TensorModel::given(const Index& index) const {
  const auto typed = state_.typed.find(key_of(index));
  if (typed != state_.typed.end()) return typed->second;
  if (state_.base == BaseKind::Array) {
    const auto inside = index_in(state_.array->shape, index);
    return inside ? sim::to_double(state_.array->at(state_.array->shape.flat_of(*inside))) : 0.0;
  }
  if (!state_.frozen) return static_cast<double>(offset(index) + 1);
  const auto inside = index_in(*state_.frozen, index);
  return inside ? static_cast<double>(state_.frozen->flat_of(*inside) + 1) : 0.0;
}

sim::Scalar TensorModel::stored(const Index& index) const {
  if (state_.base == BaseKind::Array && state_.array->dtype == state_.dtype &&
      !state_.typed.contains(key_of(index)))
    if (const auto inside = index_in(state_.array->shape, index))  // exact, int64 beyond 2^53 too
      return state_.array->at(state_.array->shape.flat_of(*inside));
  return sim::make_scalar(state_.dtype, given(index));
}

void TensorModel::keep(std::string_view merge) {
  ++version_;
  const bool merges = !merge.empty() && merge == last_merge_ && !undo_.empty();
  last_merge_ = std::string(merge);
  redo_.clear();
  if (merges) return;
  undo_.push_back(state_);
  if (undo_.size() > kMostUndo) undo_.erase(undo_.begin());
}

void TensorModel::fit_selection() {
  Index& s = state_.selected;
  const auto& extents = state_.shape.extents;
  while (s.size() > extents.size()) s.erase(s.begin());
  while (s.size() < extents.size()) s.insert(s.begin(), 0);
  for (std::size_t d = 0; d < s.size(); ++d) s[d] = std::clamp<std::int64_t>(s[d], 0, extents[d] - 1);
}

void TensorModel::go_to_rung(int rung) {
  if (rung < 0 || rung >= static_cast<int>(rungs().size()) || rung == this->rung()) return;
  keep();
  Index selected = state_.selected;
  state_ = state_of_rung(rung, state_.dtype);
  state_.selected = std::move(selected);
  fit_selection();
}

sim::Status TensorModel::set_shape(std::vector<std::int64_t> extents, std::string_view merge) {
  if (extents == state_.shape.extents) return sim::ok();
  if (extents.size() > std::max<std::size_t>(kMostDims, state_.shape.extents.size()))
    return sim::Error{.what = "too many directions", .legal = "at most 8"};
  auto checked = sim::checked_shape(std::move(extents));
  if (!checked) return checked.error();
  keep(merge);
  state_.shape = std::move(*checked);
  fit_selection();
  return sim::ok();
}

sim::Status TensorModel::grow(int axis, std::int64_t by, std::string_view merge) {
  if (axis < 0 || axis >= dims()) return sim::Error{.what = "there is no such direction"};
  auto extents = state_.shape.extents;
  extents[static_cast<std::size_t>(axis)] += by;
  return set_shape(std::move(extents), merge);
}

sim::Status TensorModel::add_axis(std::int64_t extent) {
  auto extents = state_.shape.extents;
  extents.insert(extents.begin(), extent);
  return set_shape(std::move(extents));
}

sim::Status TensorModel::drop_axis() {
  auto extents = state_.shape.extents;
  if (extents.empty()) return sim::Error{.what = "a scalar has no direction to drop"};
  extents.erase(extents.begin());
  return set_shape(std::move(extents));
}

void TensorModel::set_number(const Index& index, double value) {
  keep();
  if (state_.base == BaseKind::Counting && !state_.frozen) state_.frozen = state_.shape;
  state_.typed[key_of(index)] = value;
}

void TensorModel::set_dtype(sim::DType dtype) {
  if (dtype == state_.dtype) return;
  keep();
  state_.dtype = dtype;
}

void TensorModel::take(std::shared_ptr<const sim::Tensor> tensor, std::string name) {
  keep();
  state_ = {};
  state_.base = BaseKind::Array;
  state_.shape = tensor->shape;
  state_.dtype = tensor->dtype;
  state_.array = std::move(tensor);
  state_.array_name = std::move(name);
  fit_selection();
}

void TensorModel::select(Index index) {
  RINGSIDE_CHECK_EQ(index.size(), state_.shape.extents.size());
  state_.selected = std::move(index);
  fit_selection();
}

bool TensorModel::move_selection(int axis, std::int64_t by) {
  if (axis < 0 || axis >= dims()) return false;
  const Index before = state_.selected;
  state_.selected[static_cast<std::size_t>(axis)] += by;
  fit_selection();
  return state_.selected != before;
}

bool TensorModel::undo() {
  if (undo_.empty()) return false;
  redo_.push_back(std::move(state_));
  state_ = std::move(undo_.back());
  undo_.pop_back();
  last_merge_.clear();
  ++version_;
  return true;
}

bool TensorModel::redo() {
  if (redo_.empty()) return false;
  undo_.push_back(std::move(state_));
  state_ = std::move(redo_.back());
  redo_.pop_back();
  last_merge_.clear();
  ++version_;
  return true;
}

int TensorModel::rung() const {
  for (std::size_t i = 0; i < rungs().size(); ++i) {
    if (rungs()[i].extents != state_.shape.extents || state_.base != BaseKind::Counting) continue;
    const TensorState fresh = state_of_rung(static_cast<int>(i), state_.dtype);
    if (fresh.typed == state_.typed && fresh.frozen == state_.frozen) return static_cast<int>(i);
  }
  return -1;
}

sim::Result<std::vector<std::int64_t>> parse_shape_text(std::string_view text) {
  const auto bad = [&](std::string what) {
    return sim::Error{
        .what = std::move(what), .text = std::string(text), .legal = "2, 2, 3 or (2, 2, 3) or 2x2x3"};
  };
  std::vector<std::int64_t> out;
  bool number_before = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      if (number_before) return bad("two extents with nothing between");
      std::int64_t value = 0;
      const auto read = std::from_chars(text.data() + i, text.data() + text.size(), value);
      if (read.ec != std::errc{}) return bad("an extent that is too large");
      if (value < 1) return bad("an extent below 1");
      out.push_back(value);
      number_before = true;
      i = static_cast<std::size_t>(read.ptr - text.data());
      continue;
    }
    if (c == ',' || c == 'x' || c == 'X' || c == '*' || c == '\xC3' || c == '\x97') {  // × is C3 97
      number_before = false;
    } else if (c != ' ' && c != '(' && c != ')' && c != '[' && c != ']') {
      return bad("this is not a shape");
    }
    ++i;
  }
  if (out.size() > static_cast<std::size_t>(kMostDims)) return bad("more than 8 directions");
  return out;
}

std::string index_text(const Index& index) {
  if (index.empty()) return "x";
  std::string out = "x[";
  for (std::size_t d = 0; d < index.size(); ++d) out += (d > 0 ? ", " : "") + std::to_string(index[d]);
  return out + "]";
}

std::vector<PlacedTensor> tensors_of_layers(const std::vector<int>& layers, int batch) {
  std::vector<PlacedTensor> out;
  const auto add = [&](std::string_view role, int layer, std::vector<std::int64_t> extents) {
    out.push_back({role, layer, sim::Shape{std::move(extents)}});
  };
  const auto last = static_cast<int>(layers.size()) - 1;
  const auto width = [&](int i) { return static_cast<std::int64_t>(layers[static_cast<std::size_t>(i)]); };
  add("input", 0, {batch, width(0)});
  for (int i = 1; i <= last; ++i) {
    add("weight", i, {width(i), width(i - 1)});
    add("bias", i, {width(i)});
    add(i == last ? "output" : "activation", i, {batch, width(i)});
  }
  add("loss", 0, {});
  for (int i = last; i >= 1; --i) {
    add("weight_grad", i, {width(i), width(i - 1)});
    add("bias_grad", i, {width(i)});
  }
  return out;
}

}  // namespace ringside::app
