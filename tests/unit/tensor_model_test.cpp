// The tensor scene without a window: shapes, numbers that keep their place, offsets, bits, Python, layouts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "app/scenes/tensor_bits.hpp"
#include "app/scenes/tensor_layout.hpp"
#include "app/scenes/tensor_model.hpp"

namespace ringside::app {
namespace {

using sim::DType;

std::vector<double> numbers(const TensorModel& model) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < model.count(); ++i)
    out.push_back(sim::to_double(model.stored(model.shape().index_of(i))));
  return out;
}

TEST(TensorModel, RungsAreTheLessonsOwn) {
  TensorModel model;
  EXPECT_EQ(model.shape().text(), "()");
  EXPECT_EQ(numbers(model), std::vector<double>{5});
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor(5)");
  model.go_to_rung(1);
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor([1, 2, 3])");
  EXPECT_EQ(model.shape().text(), "(3,)");
  model.go_to_rung(2);
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor([[1, 2], [3, 4]])");
  EXPECT_EQ(pytorch_text(model).size, "torch.Size([2, 2])");
  model.go_to_rung(3);
  EXPECT_EQ(pytorch_text(model).make, "x = torch.arange(1, 13).reshape(2, 2, 3)");
  EXPECT_EQ(pytorch_text(model).stride, "(6, 3, 1)");
  for (int rung = 0; rung < static_cast<int>(rungs().size()); ++rung) {
    model.go_to_rung(rung);
    EXPECT_EQ(model.rung(), rung);
    EXPECT_EQ(model.dims(), rung);
  }
}

TEST(TensorModel, CountsAnewUntilANumberIsTyped) {
  TensorModel model;
  model.go_to_rung(2);
  ASSERT_TRUE(model.grow(1, 1));
  EXPECT_EQ(numbers(model), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  model.set_number({1, 0}, 40);
  ASSERT_TRUE(model.grow(1, 1));
  EXPECT_EQ(numbers(model), (std::vector<double>{1, 2, 3, 0, 40, 5, 6, 0}));  // x[i, j] stays x[i, j]
}

TEST(TensorModel, ADirectionInFrontKeepsWhatWasThere) {
  TensorModel model;
  model.go_to_rung(1);
  model.set_number({1}, 7);
  ASSERT_TRUE(model.add_axis());
  EXPECT_EQ(model.shape().text(), "(2, 3)");
  EXPECT_EQ(numbers(model), (std::vector<double>{1, 7, 3, 0, 0, 0}));
  model.set_number({1, 2}, 9);
  ASSERT_TRUE(model.drop_axis());
  EXPECT_EQ(numbers(model), (std::vector<double>{1, 7, 3}));
  ASSERT_TRUE(model.add_axis());
  EXPECT_EQ(numbers(model), (std::vector<double>{1, 7, 3, 0, 0, 9}));  // nothing was lost
  ASSERT_TRUE(model.drop_axis());
  ASSERT_TRUE(model.drop_axis());
  EXPECT_EQ(numbers(model), std::vector<double>{1});
  EXPECT_FALSE(model.drop_axis());
}

TEST(TensorModel, RefusesWhatCannotBe) {
  TensorModel model;
  model.go_to_rung(2);
  EXPECT_FALSE(model.grow(0, -2));
  EXPECT_FALSE(model.set_shape({2, 0}));
  EXPECT_FALSE(model.set_shape(std::vector<std::int64_t>(9, 2)));
  EXPECT_FALSE(model.set_shape({std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_EQ(model.shape().text(), "(2, 2)");
  ASSERT_TRUE(model.set_shape({4096, 4096}));  // costs nothing
  EXPECT_EQ(sim::to_int64(model.stored({4095, 4095})), 16'777'216);
}

TEST(TensorModel, OffsetsAndSelectionFollowTheShape) {
  TensorModel model;
  model.go_to_rung(3);
  model.select({1, 0, 2});
  EXPECT_EQ(model.offset(model.selected()), 8);
  EXPECT_EQ(pytorch_text(model).ask, "x[1, 0, 2].item()");
  EXPECT_EQ(pytorch_text(model).answer, "9");
  EXPECT_FALSE(model.move_selection(2, 1));
  EXPECT_TRUE(model.move_selection(1, 1));
  ASSERT_TRUE(model.set_shape({2, 2}));
  EXPECT_EQ(model.selected(), (Index{1, 1}));
  ASSERT_TRUE(model.set_shape({}));
  EXPECT_TRUE(model.selected().empty());
}

TEST(TensorModel, UndoGoesBackStepByStepAndADragIsOne) {
  TensorModel model;
  model.go_to_rung(2);
  ASSERT_TRUE(model.grow(1, 1, "drag.1"));
  ASSERT_TRUE(model.grow(1, 1, "drag.1"));
  ASSERT_TRUE(model.grow(1, 1, "drag.1"));
  EXPECT_EQ(model.shape().text(), "(2, 5)");
  ASSERT_TRUE(model.undo());
  EXPECT_EQ(model.shape().text(), "(2, 2)");
  ASSERT_TRUE(model.redo());
  EXPECT_EQ(model.shape().text(), "(2, 5)");
  ASSERT_TRUE(model.undo());
  ASSERT_TRUE(model.undo());
  EXPECT_EQ(model.shape().text(), "()");
  EXPECT_FALSE(model.undo());
}

TEST(TensorModel, TypedNumbersAreRoundedOnlyWhenStored) {
  TensorModel model;
  model.set_dtype(DType::Float16);
  model.set_number({}, 0.1);
  EXPECT_EQ(model.given({}), 0.1);
  EXPECT_EQ(sim::to_double(model.stored({})), 0.0999755859375);
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor(0.1, dtype=torch.float16)");
  EXPECT_EQ(pytorch_text(model).answer, "0.0999755859375");
  model.set_dtype(DType::Float32);
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor(0.1)");
  model.set_number({}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor(float(\"nan\"))");
  model.set_number({}, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor(float(\"-inf\"))");
  model.set_dtype(DType::Int64);
  model.set_number({}, 2.7);
  EXPECT_EQ(pytorch_text(model).make, "x = torch.tensor(2)");
}

TEST(TensorModel, AnArrayKeepsItsNumbersAndItsFile) {
  auto tensor = std::make_shared<sim::Tensor>(DType::Float32, sim::Shape{{2, 3}});
  for (std::int64_t i = 0; i < 6; ++i)
    tensor->set(i, sim::make_scalar(DType::Float32, 0.5 * static_cast<double>(i)));
  TensorModel model;
  model.take(tensor, "rank0.npy");
  EXPECT_EQ(pytorch_text(model).make, "x = torch.from_numpy(numpy.load(\"rank0.npy\"))");
  EXPECT_EQ(numbers(model), (std::vector<double>{0, .5, 1, 1.5, 2, 2.5}));
  model.set_number({1, 1}, 8);
  ASSERT_TRUE(model.grow(1, 1));
  EXPECT_EQ(numbers(model), (std::vector<double>{0, .5, 1, 0, 1.5, 8, 2.5, 0}));
  EXPECT_EQ(pytorch_text(model).make,
            "x = torch.zeros(2, 4)\n"
            "x[:2, :3] = (torch.from_numpy(numpy.load(\"rank0.npy\")))[:2, :3]\n"
            "x[1, 1] = 8.0");
  EXPECT_NE(pytorch_text(model).all().find("import numpy\nimport torch\n"), std::string::npos);
  ASSERT_TRUE(model.undo());
  ASSERT_TRUE(model.undo());
  ASSERT_TRUE(model.undo());
  EXPECT_EQ(model.shape().text(), "()");
}

TEST(TensorModel, LargeEditedCountsAreWrittenAsAssignments) {
  TensorModel model;
  ASSERT_TRUE(model.set_shape({8, 8}));
  model.set_number({3, 4}, -2);
  const std::string make = pytorch_text(model).make;
  // The scalar's 5 was typed before: it is x[0, 0] now, and the rest is zeros.
  EXPECT_NE(make.find("x[3, 4] = -2"), std::string::npos) << make;
  EXPECT_NE(make.find("x[0, 0] = 5"), std::string::npos) << make;
}

TEST(TensorModel, ReadsShapesAsPeopleWriteThem) {
  using Extents = std::vector<std::int64_t>;
  for (const char* text : {"2, 2, 3", "(2, 2, 3)", "[2,2,3]", "2x2x3", "2 × 2 × 3", "2*2*3", " 2,2,3, "})
    EXPECT_EQ(*parse_shape_text(text), (Extents{2, 2, 3})) << text;
  EXPECT_EQ(*parse_shape_text("()"), Extents{});
  EXPECT_EQ(*parse_shape_text("(3,)"), Extents{3});
  for (const char* text : {"2, 0", "-1", "a", "2 3", "99999999999999999999", "1,1,1,1,1,1,1,1,1", "1.5"})
    EXPECT_FALSE(parse_shape_text(text)) << text;
}

TEST(TensorModel, TensorsOfASmallNetwork) {
  const auto tensors = tensors_of_layers({2, 8, 8, 1}, 4);
  std::vector<std::string> text;
  std::int64_t learned = 0;
  for (const PlacedTensor& p : tensors) {
    text.push_back(std::string(p.role) + " " + p.shape.text());
    if (p.role == "weight" || p.role == "bias") learned += p.shape.count();
  }
  EXPECT_EQ(text, (std::vector<std::string>{"input (4, 2)", "weight (8, 2)", "bias (8,)", "activation (4, 8)",
                                            "weight (8, 8)", "bias (8,)", "activation (4, 8)",
                                            "weight (1, 8)", "bias (1,)", "output (4, 1)", "loss ()",
                                            "weight_grad (1, 8)", "bias_grad (1,)", "weight_grad (8, 8)",
                                            "bias_grad (8,)", "weight_grad (8, 2)", "bias_grad (8,)"}));
  EXPECT_EQ(learned, 105);
  EXPECT_EQ(tensors_of_layers({4096, 4096}, 8)[1].shape.count(), 16'777'216);
}

TEST(FloatBits, TakesNumbersApart) {
  const FloatBits one = float_bits(DType::Float16, 1.0);
  EXPECT_EQ(one.layout.bits(), 16);
  EXPECT_EQ(one.exponent, 0);
  EXPECT_EQ(one.fraction, 1.0);
  EXPECT_TRUE(one.exact());
  const FloatBits tenth = float_bits(DType::Float16, 0.1);
  EXPECT_EQ(tenth.value, 0.0999755859375);
  EXPECT_EQ(tenth.lost, 0.0999755859375 - 0.1);
  EXPECT_EQ(tenth.exponent, -4);
  EXPECT_EQ(std::ldexp(tenth.fraction, tenth.exponent), tenth.value);
  const FloatBits big = float_bits(DType::Float16, 70000);
  EXPECT_TRUE(big.overflow);
  EXPECT_EQ(big.kind, FloatClass::Infinity);
  EXPECT_EQ(float_bits(DType::BFloat16, 70000).value, 70144);
  const FloatBits small = float_bits(DType::Float16, 1e-9);
  EXPECT_TRUE(small.to_zero);
  EXPECT_EQ(float_bits(DType::Float16, 6e-8).kind, FloatClass::Subnormal);
  EXPECT_EQ(float_bits(DType::Float32, std::numeric_limits<double>::quiet_NaN()).kind, FloatClass::Nan);
  const FloatBits negative = float_bits(DType::Float32, -2.5);
  EXPECT_TRUE(negative.negative);
  EXPECT_TRUE(negative.bits.front());
  EXPECT_EQ(negative.fraction * std::exp2(negative.exponent), 2.5);
}

TEST(FloatBits, NumbersAreShort) {
  EXPECT_EQ(short_number(0.1), "0.1");
  EXPECT_EQ(short_number(65504), "65504");
  EXPECT_EQ(short_number(100000), "100000");
  EXPECT_EQ(short_number(0.0999755859375, 7), "0.09997559");
  EXPECT_EQ(short_number(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(TensorLayout, EveryNumberHasAPlaceOfItsOwnInsideTheBox) {
  const Rect box{32, 84, 816, 300};
  TensorModel model;
  for (int rung = 0; rung < static_cast<int>(rungs().size()); ++rung) {
    model.go_to_rung(rung);
    for (const TensorView view : {TensorView::Box, TensorView::Pictures, TensorView::Flat}) {
      const TensorLayout layout = lay_out(model, view, box);
      EXPECT_EQ(layout.shown, model.count());
      std::set<std::int64_t> flat;
      std::set<std::pair<float, float>> corners;
      for (const TensorCell& cell : layout.cells) {
        EXPECT_EQ(cell.flat, model.offset(cell.index));
        flat.insert(cell.flat);
        corners.insert({cell.box.x, cell.box.y});
        EXPECT_GE(cell.box.x, box.x - 1);
        EXPECT_LE(cell.box.right(), box.right() + 1);
        EXPECT_GE(cell.box.y, box.y - 1);
        EXPECT_LE(cell.box.bottom(), box.bottom() + 1);
      }
      EXPECT_EQ(flat.size(), static_cast<std::size_t>(model.count()));
      EXPECT_EQ(corners.size(), flat.size()) << "rung " << rung;
      EXPECT_EQ(layout.lines.size(), view == TensorView::Flat ? 0u : static_cast<std::size_t>(rung));
    }
  }
}

TEST(TensorLayout, LargeTensorsShowTheirEndsAndTheSelection) {
  TensorModel model;
  ASSERT_TRUE(model.set_shape({4096, 4096}));
  model.select({2000, 4095});
  const TensorLayout layout = lay_out(model, TensorView::Box, {0, 0, 800, 300});
  EXPECT_LT(layout.cells.size(), 120u);
  std::set<Index> shown;
  for (const TensorCell& cell : layout.cells) shown.insert(cell.index);
  EXPECT_TRUE(shown.contains({2000, 4095}));
  EXPECT_TRUE(shown.contains({0, 0}));
  EXPECT_TRUE(shown.contains({4095, 4095}));
  EXPECT_FALSE(layout.gaps.empty());
  EXPECT_EQ(shown_places(5, 8, 0), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(shown_places(100, 5, 50), (std::vector<std::int64_t>{0, -1, 49, 50, 51, -1, 99}));
}

TEST(TensorLayout, ADragKeepsTheScaleAndTheFrontSheet) {
  TensorModel model;
  model.go_to_rung(3);
  const Rect box{0, 0, 800, 300};
  const TensorLayout before = lay_out(model, TensorView::Box, box);
  ASSERT_TRUE(model.grow(0, 1));
  const TensorLayout during = lay_out(model, TensorView::Box, box, 76, &before);
  EXPECT_EQ(during.pitch, before.pitch);
  EXPECT_EQ(during.anchor, before.anchor);
}

}  // namespace
}  // namespace ringside::app
