// What one thread of each kernel does. The launchers (launch.cu) spread the elements over a grid; the host
// (host.cpp) walks them in a loop. Both call the same bodies.
#pragma once

#include "kernels/element.hpp"

namespace ringside::kernels {

/// `avg` is a sum with a scale before or a division after; the planes say so by calling those kernels.
enum class Op : std::uint8_t { Sum, Prod, Min, Max };

/// What a device can say of many numbers at once. All its parts can be combined in any order: the digest is a
/// sum modulo 2^64 (CONTRACTS), the rest counts and extremes.
struct Summary {
  std::uint64_t digest = 0;
  std::uint64_t nan_count = 0, inf_count = 0;
  std::int64_t low = 0, high = 0;  // order keys of the least and the greatest number that is not NaN
};

struct SumFn {
  template <class E>
  RINGSIDE_HD static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    return E::encode(E::decode(arrived) + E::decode(own));
  }
};
struct ProdFn {
  template <class E>
  RINGSIDE_HD static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    return E::encode(E::decode(arrived) * E::decode(own));
  }
};
/// The number wins over NaN, as NCCL's fminf and fmaxf.
struct MinFn {
  template <class E>
  RINGSIDE_HD static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    using S = typename E::Signed;
    const S a = E::is_nan(arrived) ? element::Ends<E>::kMax : E::order(static_cast<S>(arrived));
    const S b = E::is_nan(own) ? element::Ends<E>::kMax : E::order(static_cast<S>(own));
    return E::canonical(static_cast<typename E::Word>(E::order(a < b ? a : b)));
  }
};
struct MaxFn {
  template <class E>
  RINGSIDE_HD static typename E::Word apply(typename E::Word arrived, typename E::Word own) {
    using S = typename E::Signed;
    const S a = E::is_nan(arrived) ? element::Ends<E>::kMin : E::order(static_cast<S>(arrived));
    const S b = E::is_nan(own) ? element::Ends<E>::kMin : E::order(static_cast<S>(own));
    return E::canonical(static_cast<typename E::Word>(E::order(a > b ? a : b)));
  }
};

template <class E>
struct FillBody {
  typename E::Word* out;
  typename E::Word value;
  RINGSIDE_HD void operator()(std::int64_t i) const { out[i] = value; }
};

template <class E, class Fn>
struct ReduceBody {
  const typename E::Word* arrived;
  typename E::Word* own;
  RINGSIDE_HD void operator()(std::int64_t i) const { own[i] = Fn::template apply<E>(arrived[i], own[i]); }
};

/// avg of a floating type: times 1/n before the sum, n rounded as NCCL passes it to its kernel.
template <class E>
struct ScaleBody {
  typename E::Word* data;
  typename E::Word factor;
  RINGSIDE_HD void operator()(std::int64_t i) const { data[i] = ProdFn::apply<E>(data[i], factor); }
};
template <class E>
typename E::Word reciprocal(int world_size) {
  return E::encode(static_cast<typename E::Compute>(1.0 / world_size));
}

/// The textbook's average (and NCCL's of integers): divided by n after the sum; integers toward zero.
template <class E>
struct DivideBody {
  typename E::Word* data;
  int world_size;
  RINGSIDE_HD void operator()(std::int64_t i) const {
    if constexpr (E::kFloating) {
      data[i] = E::encode(E::decode(data[i]) / static_cast<typename E::Compute>(world_size));
    } else {
      using S = typename E::Signed;
      data[i] = static_cast<typename E::Word>(static_cast<S>(data[i]) / static_cast<S>(world_size));
    }
  }
};

/// splitmix64's finaliser.
RINGSIDE_HD inline std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A thread's share of a summary: elements begin, begin + stride, … below count. `first` is the index that
/// the first element has in the whole tensor: digests of the parts add up to that of the whole.
template <class E>
struct SummaryBody {
  const typename E::Word* data;
  std::int64_t count;
  std::uint64_t first;

  RINGSIDE_HD static Summary nothing() { return {0, 0, 0, element::Ends<E>::kMax, element::Ends<E>::kMin}; }

  RINGSIDE_HD Summary share(std::int64_t begin, std::int64_t stride) const {
    using S = typename E::Signed;
    Summary s = nothing();
    for (std::int64_t i = begin; i < count; i += stride) {
      const typename E::Word word = data[i];
      const std::uint64_t position = (first + static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u;
      s.digest += mix64(E::canonical(word) ^ position);
      if (E::is_nan(word)) {
        ++s.nan_count;
        continue;
      }
      if (E::is_inf(word)) ++s.inf_count;
      const std::int64_t key = E::order(static_cast<S>(word));
      if (key < s.low) s.low = key;
      if (key > s.high) s.high = key;
    }
    return s;
  }
};

RINGSIDE_HD inline Summary combine(const Summary& a, const Summary& b) {
  return {a.digest + b.digest, a.nan_count + b.nan_count, a.inf_count + b.inf_count,
          a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/// The bits of an order key: how a reader gets low and high back. Host only.
inline std::uint64_t bits_of_key(DType dtype, std::int64_t key) {
  return element::with_element(dtype, [&](auto e) -> std::uint64_t {
    using E = decltype(e);
    return E::canonical(static_cast<typename E::Word>(E::order(static_cast<typename E::Signed>(key))));
  });
}

/// Calls f(SumFn{}) or whichever function belongs to the op. Host only.
template <class F>
decltype(auto) with_op(Op op, F&& f) {
  switch (op) {
    case Op::Sum:
      break;
    case Op::Prod:
      return f(ProdFn{});
    case Op::Min:
      return f(MinFn{});
    case Op::Max:
      return f(MaxFn{});
  }
  return f(SumFn{});
}

}  // namespace ringside::kernels
