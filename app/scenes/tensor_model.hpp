// What the tensor scene is about: one tensor that a person can grow, edit, look into and undo. No ImGui, no
// window.
//
// The numbers are never copied when the shape changes. A place x[i, j] keeps its number: the tensor is a base
// (what was there first), the numbers that were typed over it, and zeros where neither reaches. So a box of
// 4096 × 4096 costs nothing, and shrinking and growing again loses nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::app {

using Index = std::vector<std::int64_t>;

/// Where the numbers come from that nobody typed.
enum class BaseKind : std::uint8_t {
  Counting,  // 1, 2, 3 … in memory order; counts anew when the shape changes, until a number is typed
  Array,     // a tensor that was given: a file, a rank's gradient, a picture
};

/// A whole state; what undo keeps. Cheap to copy.
struct TensorState {
  sim::Shape shape;
  sim::DType dtype = sim::DType::Int64;
  BaseKind base = BaseKind::Counting;
  std::shared_ptr<const sim::Tensor> array;  // Array
  std::string array_name;                    // "rank0.npy"; empty: written out in the PyTorch line
  std::optional<sim::Shape> frozen;          // Counting with typed numbers: the shape that it counted in
  std::map<Index, double> typed;             // by index, innermost axis first, without trailing zeros
  Index selected;                            // as long as the shape
};

/// A rung of the ladder: a shape that has one direction more than the one before.
struct Rung {
  std::string_view key;  // text key of its name
  std::vector<std::int64_t> extents;
};
/// scalar, vector, matrix, 3-D, 4-D, 5-D.
const std::vector<Rung>& rungs();

class TensorModel {
 public:
  TensorModel();

  const TensorState& state() const { return state_; }
  const sim::Shape& shape() const { return state_.shape; }
  int dims() const { return static_cast<int>(state_.shape.extents.size()); }
  std::int64_t count() const { return state_.shape.count(); }
  /// The number as it was given: what a person typed is not rounded yet.
  double given(const Index& index) const;
  /// The number as the tensor holds it: rounded to the dtype.
  sim::Scalar stored(const Index& index) const;
  const Index& selected() const { return state_.selected; }
  /// Flat position of an index: Σ index × stride.
  std::int64_t offset(const Index& index) const { return state_.shape.flat_of(index); }

  // Every change is one step of undo; a drag (the same non-empty `merge` in a row) is one step.
  void go_to_rung(int rung);
  /// Refuses a shape that cannot be: more than kMostDims axes, an extent below 1, too many numbers.
  sim::Status set_shape(std::vector<std::int64_t> extents, std::string_view merge = {});
  /// One more or less along an axis.
  sim::Status grow(int axis, std::int64_t by, std::string_view merge = {});
  /// A new outermost direction of `extent`.
  sim::Status add_axis(std::int64_t extent = 2);
  /// Drops the outermost direction (its first slice stays).
  sim::Status drop_axis();
  void set_number(const Index& index, double value);
  void set_dtype(sim::DType dtype);
  /// Takes a tensor from outside. `name` as in array_name.
  void take(std::shared_ptr<const sim::Tensor> tensor, std::string name);
  void select(Index index);
  /// Moves the selection along an axis, staying inside; true if it moved.
  bool move_selection(int axis, std::int64_t by);

  bool undo();
  bool redo();
  bool can_undo() const { return !undo_.empty(); }
  bool can_redo() const { return !redo_.empty(); }
  /// The rung whose shape and numbers these are; -1 if they are no rung's.
  int rung() const;
  /// Grows with every change of shape or numbers, for what is derived.
  std::uint64_t version() const { return version_; }

 private:
  void keep(std::string_view merge = {});
  void fit_selection();

  TensorState state_;
  std::vector<TensorState> undo_, redo_;
  std::string last_merge_;
  std::uint64_t version_ = 1;
};

inline constexpr int kMostDims = 8;

/// "2, 2, 3", "(2, 2, 3)", "[2,2,3]", "2x2x3", "2 × 2 × 3", "()" or nothing for a scalar. The error says what
/// is legal.
sim::Result<std::vector<std::int64_t>> parse_shape_text(std::string_view text);
/// "x[1, 0, 2]"; "x" for a scalar.
std::string index_text(const Index& index);

/// What Python would need to make and ask this tensor.
struct PyTorchText {
  std::string make;    // x = torch.arange(1, 13).reshape(2, 2, 3)
  std::string size;    // torch.Size([2, 2, 3])
  std::string stride;  // (6, 3, 1)
  std::string ask;     // x[1, 0, 2].item()
  std::string answer;  // 9
  /// All of it, ready to paste.
  std::string all() const;
};
PyTorchText pytorch_text(const TensorModel& model);
/// A float as Python's repr writes it ("9.0", "0.0999755859375", "1e-05"), an int as it is.
std::string python_number(sim::Scalar value);

/// One tensor of a model in training, and which it is.
struct PlacedTensor {
  std::string_view role;  // input, weight, bias, activation, output, loss, weight_grad, bias_grad
  int layer = 0;          // from 1; 0 = the whole model's
  sim::Shape shape;
};
/// All tensors of one step through fully connected layers (PyTorch's nn.Linear keeps its weight as (out,
/// in)), in the order in which they come about: input, then weight, bias, activation a layer; loss; gradients
/// backwards.
std::vector<PlacedTensor> tensors_of_layers(const std::vector<int>& layers, int batch);

}  // namespace ringside::app
