#include "kernels/kernels.hpp"

namespace ringside::kernels::host {
namespace {

template <class Body>
void for_each(const Body& body, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace

void fill(DType dtype, void* out, std::int64_t count, std::uint64_t bits) {
  element::with_element(dtype, [&](auto e) {
    using E = decltype(e);
    using W = typename E::Word;
    for_each(FillBody<E>{static_cast<W*>(out), static_cast<W>(bits)}, count);
  });
}

void reduce(DType dtype, Op op, const void* arrived, void* own, std::int64_t count) {
  element::with_element(dtype, [&](auto e) {
    with_op(op, [&](auto fn) {
      using E = decltype(e);
      using W = typename E::Word;
      for_each(ReduceBody<E, decltype(fn)>{static_cast<const W*>(arrived), static_cast<W*>(own)}, count);
    });
  });
}

void scale(DType dtype, void* data, std::int64_t count, int world_size) {
  element::with_element(dtype, [&](auto e) {
    using E = decltype(e);
    if constexpr (E::kFloating)
      for_each(ScaleBody<E>{static_cast<typename E::Word*>(data), reciprocal<E>(world_size)}, count);
  });
}

void divide(DType dtype, void* data, std::int64_t count, int world_size) {
  element::with_element(dtype, [&](auto e) {
    using E = decltype(e);
    for_each(DivideBody<E>{static_cast<typename E::Word*>(data), world_size}, count);
  });
}

Summary summary(DType dtype, const void* data, std::int64_t count, std::uint64_t first, int threads) {
  return element::with_element(dtype, [&](auto e) {
    using E = decltype(e);
    const SummaryBody<E> body{static_cast<const typename E::Word*>(data), count, first};
    Summary sum = SummaryBody<E>::nothing();
    for (int t = 0; t < threads; ++t) sum = combine(sum, body.share(t, threads));
    return sum;
  });
}

}  // namespace ringside::kernels::host
