#include "sim/tensor/reduce.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/tensor/element.hpp"

// The loops hold no branch, so that the compiler can vectorise them: NaN is replaced by a select, min and max
// compare integers in the order of the numbers. The build compiles this file at -O3 (sim/CMakeLists.txt).
namespace ringside::sim {
namespace {

using element::load;
using element::store;
using element::with_element;

struct SumFn {
  template <class E>
  static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    return E::encode(E::decode(arrived) + E::decode(own));
  }
};
struct ProdFn {
  template <class E>
  static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    return E::encode(E::decode(arrived) * E::decode(own));
  }
};
/// The number wins over NaN: a NaN gets the key that loses, and decodes to a NaN if both had it.
struct MinFn {
  template <class E>
  static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    using S = typename E::Signed;
    const S a = E::is_nan(arrived) ? std::numeric_limits<S>::max() : E::order(static_cast<S>(arrived));
    const S b = E::is_nan(own) ? std::numeric_limits<S>::max() : E::order(static_cast<S>(own));
    return E::canonical(static_cast<typename E::Word>(E::order(a < b ? a : b)));
  }
};
struct MaxFn {
  template <class E>
  static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    using S = typename E::Signed;
    const S a = E::is_nan(arrived) ? std::numeric_limits<S>::min() : E::order(static_cast<S>(arrived));
    const S b = E::is_nan(own) ? std::numeric_limits<S>::min() : E::order(static_cast<S>(own));
    return E::canonical(static_cast<typename E::Word>(E::order(a > b ? a : b)));
  }
};

template <class F>
decltype(auto) with_op(ReduceOp op, F&& f) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg:
    case ReduceOp::SumThenDivide:
      break;
    case ReduceOp::Prod:
      return f(ProdFn{});
    case ReduceOp::Min:
      return f(MinFn{});
    case ReduceOp::Max:
      return f(MaxFn{});
  }
  return f(SumFn{});
}

template <class E, class Fn>
void in_place(const std::byte* __restrict arrived, std::byte* __restrict own, std::size_t count) {
  using W = typename E::Word;
  for (std::size_t i = 0; i < count; ++i)
    store(own, i, Fn::template apply<E>(load<W>(arrived, i), load<W>(own, i)));
}

template <class E, class Fn>
void three_operands(const std::byte* __restrict arrived, const std::byte* __restrict own,
                    std::byte* __restrict out, std::size_t count) {
  using W = typename E::Word;
  for (std::size_t i = 0; i < count; ++i)
    store(out, i, Fn::template apply<E>(load<W>(arrived, i), load<W>(own, i)));
}

/// 1/n as NCCL passes it to the kernel (hostToDevRedOp): rounded to float for float16 and bfloat16, then to
/// the dtype.
template <class E>
typename E::Word reciprocal(int world_size) {
  return E::encode(static_cast<typename E::Compute>(1.0 / world_size));
}

template <class E>
typename E::Word divided(typename E::Word value, int world_size) {
  if constexpr (E::kFloating) {
    return E::encode(E::decode(value) / static_cast<typename E::Compute>(world_size));
  } else {
    using S = typename E::Signed;
    return static_cast<typename E::Word>(static_cast<S>(value) / static_cast<S>(world_size));
  }
}

/// One Scalar as bytes for the loops: the low bytes of its bits.
std::span<std::byte> bytes_of(Scalar& value) {
  return {reinterpret_cast<std::byte*>(&value.bits), static_cast<std::size_t>(size_of(value.dtype))};
}

}  // namespace

void reduce_into(DType dtype, ReduceOp op, std::span<const std::byte> arrived, std::span<std::byte> own) {
  RINGSIDE_CHECK_EQ(arrived.size(), own.size());
  with_element(dtype, [&](auto e) {
    with_op(op, [&](auto fn) {
      using E = decltype(e);
      in_place<E, decltype(fn)>(arrived.data(), own.data(), own.size() / sizeof(typename E::Word));
    });
  });
}

void reduce_to(DType dtype, ReduceOp op, std::span<const std::byte> arrived, std::span<const std::byte> own,
               std::span<std::byte> out) {
  RINGSIDE_CHECK_EQ(arrived.size(), own.size());
  RINGSIDE_CHECK_EQ(out.size(), own.size());
  with_element(dtype, [&](auto e) {
    with_op(op, [&](auto fn) {
      using E = decltype(e);
      three_operands<E, decltype(fn)>(arrived.data(), own.data(), out.data(),
                                      own.size() / sizeof(typename E::Word));
    });
  });
}

Scalar reduce(ReduceOp op, Scalar arrived, Scalar own) {
  RINGSIDE_CHECK(arrived.dtype == own.dtype);
  reduce_into(own.dtype, op, bytes_of(arrived), bytes_of(own));
  return own;
}

bool has_prepare(DType dtype, ReduceOp op) {
  return op == ReduceOp::Avg && is_floating(dtype);
}

void prepare(DType dtype, ReduceOp op, int world_size, std::span<std::byte> data) {
  if (!has_prepare(dtype, op)) return;
  with_element(dtype, [&](auto e) {
    using E = decltype(e);
    using W = typename E::Word;
    const W factor = reciprocal<E>(world_size);
    std::byte* const bytes = data.data();
    const std::size_t count = data.size() / sizeof(W);
    for (std::size_t i = 0; i < count; ++i) store(bytes, i, ProdFn::apply<E>(load<W>(bytes, i), factor));
  });
}

Scalar prepare(ReduceOp op, int world_size, Scalar value) {
  prepare(value.dtype, op, world_size, bytes_of(value));
  return value;
}

bool has_finish(DType dtype, ReduceOp op) {
  return op == ReduceOp::SumThenDivide || (op == ReduceOp::Avg && !is_floating(dtype));
}

void finish(DType dtype, ReduceOp op, int world_size, std::span<std::byte> data) {
  if (!has_finish(dtype, op)) return;
  with_element(dtype, [&](auto e) {
    using E = decltype(e);
    using W = typename E::Word;
    std::byte* const bytes = data.data();
    const std::size_t count = data.size() / sizeof(W);
    for (std::size_t i = 0; i < count; ++i) store(bytes, i, divided<E>(load<W>(bytes, i), world_size));
  });
}

Scalar finish(ReduceOp op, int world_size, Scalar value) {
  finish(value.dtype, op, world_size, bytes_of(value));
  return value;
}

}  // namespace ringside::sim
