// The .npy reader: every version, byte order, memory order and dtype; every way in which a file can be wrong;
// NumPy's own files and NumPy's own arithmetic.
#include "sim/tensor/npy.hpp"

#include <cmath>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "collective_oracle.hpp"

namespace ringside::sim {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A file by hand: version, header text, data.
std::string file(int major, const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return out + header + data;
}
std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }   \n";
}
/// The bits of numbers, in one byte order.
std::string data(const std::vector<std::uint64_t>& words, int size, bool big) {
  std::string out;
  for (const std::uint64_t word : words) {
    for (int i = 0; i < size; ++i) out += static_cast<char>(word >> (8 * (big ? size - 1 - i : i)) & 0xFF);
  }
  return out;
}

Result<Tensor> read(const std::string& text, bool as_bfloat16 = false) {
  return read_npy(bytes_of(text), "grads.npy", as_bfloat16);
}
std::string problem(const std::string& text) {
  const auto tensor = read(text);
  return tensor ? "no problem" : tensor.error().message();
}

struct Kind {
  const char* descr;
  DType dtype;
};
const Kind kKinds[] = {{"f8", DType::Float64},  {"f4", DType::Float32}, {"f2", DType::Float16},
                       {"V2", DType::BFloat16}, {"i4", DType::Int32},   {"i8", DType::Int64}};

TEST(Npy, EveryVersionByteOrderMemoryOrderAndDtype) {
  for (const int version : {1, 2, 3}) {
    for (const bool big : {false, true}) {
      for (const bool fortran : {false, true}) {
        for (const Kind& kind : kKinds) {
          // Element (i, j, k) of shape (2, 3, 4) is 100 i + 10 j + k.
          std::vector<std::uint64_t> words;
          for (int at = 0; at < 24; ++at) {
            const int i = fortran ? at % 2 : at / 12, j = fortran ? at / 2 % 3 : at / 4 % 3,
                      k = fortran ? at / 6 : at % 4;
            words.push_back(make_scalar(kind.dtype, 100.0 * i + 10.0 * j + k).bits);
          }
          const std::string order = big ? ">" : "<";
          const auto tensor = read(file(version, header(order + kind.descr, "(2, 3, 4)", fortran),
                                        data(words, static_cast<int>(size_of(kind.dtype)), big)),
                                   kind.dtype == DType::BFloat16);
          ASSERT_TRUE(tensor) << tensor.error().message();
          EXPECT_EQ(tensor->dtype, kind.dtype);
          EXPECT_EQ(tensor->shape.text(), "(2, 3, 4)");
          for (int at = 0; at < 24; ++at) {
            EXPECT_EQ(to_double(tensor->at(at)), 100.0 * (at / 12) + 10.0 * (at / 4 % 3) + at % 4);
          }
        }
      }
    }
  }
}

TEST(Npy, AcceptsWhatNumpyWrites) {
  const std::string two = data({1, 2}, 4, false);
  EXPECT_TRUE(read(file(1, header("<i4", "(2,)"), two)));
  EXPECT_TRUE(read(file(1, header("<i4", "(2L,)"), two))) << "Python 2 wrote an L";
  EXPECT_TRUE(read(file(1, header("=i4", "(1, 2)"), two)));
  EXPECT_TRUE(read(file(1, header("<i4", "()"), data({7}, 4, false)))) << "a scalar";
  EXPECT_TRUE(read(file(1, "{\"shape\":(2,),\"descr\":\"<i4\",\"fortran_order\":False}", two)))
      << "any order, either quote";
  EXPECT_TRUE(read(file(3, header("|V2", "(2,)"), "abcd"), true));
}

TEST(Npy, NanIsCanonical) {
  const auto tensor = read(file(1, header("<f4", "(1,)"), data({0xFFC00123}, 4, false)));
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->as<std::uint32_t>()[0], 0x7FC00000u);
}

TEST(Npy, WritesWhatItReads) {
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{}, Shape{{5}}, Shape{{2, 3}}, Shape{std::vector<std::int64_t>(16, 1)}}) {
      Tensor tensor(dtype, shape);
      for (std::int64_t i = 0; i < tensor.count(); ++i)
        tensor.set(i, make_scalar(dtype, 1.5 * static_cast<double>(i)));
      const std::string text = write_npy(tensor);
      EXPECT_EQ((text.size() - tensor.data.size()) % 64, 0u);
      const auto back = read(text, true);
      ASSERT_TRUE(back) << back.error().message();
      EXPECT_EQ(back->dtype, dtype);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->data, tensor.data);
    }
  }
}

TEST(NpyErrors, NameTheFileAndWhatIsLegal) {
  const std::string good = file(1, header("<f4", "(2, 2)"), std::string(16, '\0'));
  ASSERT_TRUE(read(good));
  struct Bad {
    std::string text;
    const char* says;
  };
  const Bad bad[] = {
      {"", "not a .npy file"},
      {"PK\x03\x04", "not a .npy file"},
      {std::string("\x93NUMP"), "not a .npy file"},
      {good.substr(0, 6), "ends before its version"},
      {good.substr(0, 7), "ends before its version"},
      {good.substr(0, 9), "ends before the length of its header"},
      {good.substr(0, 40), "header of"},
      {good.substr(0, good.size() - 1),
       "truncated .npy file: the shape needs 16 bytes of data and the file holds 15"},
      {good + "x", "trailing bytes"},
      {file(4, header("<f4", "(2, 2)"), std::string(16, '\0')),
       "unknown .npy version 4.0 (legal: 1.0, 2.0, 3.0)"},
      {file(0, header("<f4", "(2, 2)"), ""), "unknown .npy version 0.0"},
      {std::string("\x93NUMPY\x01\x01\x02\x00{}", 12), "unknown .npy version 1.1"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14),
       "header of 4,294,967,295 bytes in a file of 14 bytes"},
      {file(2, std::string(70000, ' '), ""), "at most 65,536 bytes"},
      {file(1, header("|O", "(2,)"), ""), "object dtype"},
      {file(1, header("O", "(2,)"), ""), "a dtype that tensors here cannot have"},
      {file(1, header("<f16", "(2,)"), ""), "a dtype that tensors here cannot have: <f16 (legal: <f8, <f4"},
      {file(1, header("<c8", "(2,)"), ""), "a dtype that tensors here cannot have"},
      {file(1, header("|b1", "(2,)"), ""), "a dtype that tensors here cannot have"},
      {file(1, header("<U5", "(2,)"), ""), "a dtype that tensors here cannot have"},
      {file(1, header("|f4", "(2,)"), ""), "a dtype that tensors here cannot have"},
      {file(1, header("", "(2,)"), ""), "a dtype that tensors here cannot have"},
      {file(1, header("<V2", "(2,)"), "abcd"), "set dtype = \"bfloat16\""},
      {file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", ""), "structured dtype"},
      {file(1, "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (2,), }", ""), "structured dtype"},
      {file(1, "{'descr': 4, 'fortran_order': False, 'shape': (2,), }", ""), "\"descr\" is not a string"},
      {file(1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", ""), "not True or False"},
      {file(1, header("<f4", "2"), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", "(2)"), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", "[2]"), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", "(2, 'a')"), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", "(2 3)"), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", "((2,),)"), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", std::string(50000, '(')), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), ""), "at most 16"},
      {file(1, header("<f4", "(99999999999999999999,)"), ""), "\"shape\" is not a tuple"},
      {file(1, header("<f4", "(0,)"), ""), "extent below 1"},
      {file(1, header("<f4", "(-1, 4)"), ""), "extent below 1"},
      {file(1, header("<f4", "(4611686018427387904, 4)"), ""), "too many elements"},
      {file(1, header("<f4", "(1000000000, 100000000)"), std::string(16, '\0')), "truncated"},
      {file(1, "{'descr': '<f4', 'fortran_order': False}", ""), "lacks a key"},
      {file(1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", ""), "twice"},
      {file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", ""), "unknown key \"x\""},
      {file(1, "{'descr' '<f4'}", ""), "has no value"},
      {file(1, "{'descr': '<f4' 'shape': (2,)}", ""), "without a comma"},
      {file(1, "{'descr': '<f4\\x27', 'fortran_order': False, 'shape': (2,)}", ""), "not a string"},
      {file(1, "{'descr': '<f4, 'fortran_order': False}", ""), "without a comma"},
      {file(1, "[1]", ""), "not a Python dict"},
      {file(1, "", ""), "not a Python dict"},
      {file(1, "{", ""), "not a string"},
      {file(1, header("<f4", "(2, 2)") + "extra", std::string(16, '\0')), "text after the header's dict"},
      {file(1, "{'\x1b[31mdescr': 1}", ""), "\\x1b[31mdescr"},
  };
  for (const Bad& b : bad) {
    const std::string message = problem(b.text);
    EXPECT_NE(message.find(b.says), std::string::npos) << message << "\nshould say: " << b.says;
    EXPECT_EQ(message.rfind("grads.npy: ", 0), 0u) << message;
    EXPECT_EQ(message.find('\x1b'), std::string::npos) << "escaped";
    EXPECT_LT(message.size(), 400u) << "a hostile header is quoted in part only";
  }
}

// Any byte changed, any cut: an error or a tensor, never a crash (the sanitizers watch).
RC_GTEST_PROP(NpyErrors, DamagedFilesNeverCrash, ()) {
  std::string text = file(*rc::gen::inRange(1, 4), header("<f4", "(2, 2)"), std::string(16, 'a'));
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i)
    text[*rc::gen::inRange<std::size_t>(6, text.size())] = *rc::gen::arbitrary<char>();
  text.resize(*rc::gen::inRange<std::size_t>(text.size() / 2, text.size() + 1));
  const auto tensor = read(text);
  if (tensor) RC_ASSERT(tensor->bytes() <= 16);
}

// --- NumPy's own files and bits (tests/data/npy/make.py)
// ---------------------------------------------------------------

std::shared_ptr<const Tensor> numpy_file(const std::string& name) {
  std::ifstream in(std::string(RINGSIDE_SOURCE_DIR "/tests/data/npy/") + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto tensor = read(text);
  EXPECT_TRUE(tensor) << name << ": " << tensor.error().message();
  return std::make_shared<Tensor>(*tensor);
}

TEST(Numpy, RingOrderedResultsBitForBit) {
  for (const DType dtype : {DType::Float32, DType::Float16}) {
    const std::string name(to_word(dtype));
    oracle::Inputs inputs;
    for (int r = 0; r < 4; ++r) inputs.push_back(numpy_file(name + "_rank" + std::to_string(r) + ".npy"));
    EXPECT_EQ(inputs[0]->shape.text(), "(3, 5, 7)");
    const Schedule four = make_schedule({.dtype = dtype, .count = 105, .world_size = 4});
    EXPECT_EQ(execute_numbers(four, ReduceOp::Sum, inputs).result[2]->data,
              numpy_file(name + "_sum.npy")->data);
    EXPECT_EQ(execute_numbers(four, ReduceOp::Avg, inputs).result[0]->data,
              numpy_file(name + "_avg.npy")->data);
    const Schedule three = make_schedule({.dtype = dtype, .count = 105, .world_size = 3});
    inputs.pop_back();
    EXPECT_EQ(execute_numbers(three, ReduceOp::Avg, inputs).result[1]->data,
              numpy_file(name + "_avg3.npy")->data);
    // Another order gives other bits: the test can fail.
    const Schedule textbook =
        make_schedule({.order = RingOrder::Textbook, .dtype = dtype, .count = 105, .world_size = 3});
    EXPECT_NE(execute_numbers(textbook, ReduceOp::Avg, inputs).result[1]->data,
              numpy_file(name + "_avg3.npy")->data);
  }
}

TEST(Numpy, WriterGivesNumpysBytes) {
  for (const char* name : {"float32_rank0.npy", "float16_sum.npy"}) {
    std::ifstream in(std::string(RINGSIDE_SOURCE_DIR "/tests/data/npy/") + name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(write_npy(*numpy_file(name)), text);
  }
}

}  // namespace
}  // namespace ringside::sim
