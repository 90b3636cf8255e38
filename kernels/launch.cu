// Thin launchers: a grid-stride loop around each body. 256 threads a block, at most kBlocks blocks: enough to
// fill any GPU, few enough that a summary's atomics are cheap.
#include <cuda_runtime.h>

#include "kernels/kernels.hpp"

namespace ringside::kernels::launch {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlocks = 1024;

int blocks_for(std::int64_t count) {
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kBlocks ? (blocks < 1 ? 1 : blocks) : kBlocks);
}

template <class Body>
__global__ void for_each(Body body, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) body(i);
}

template <class Body>
int start(const Body& body, std::int64_t count, void* stream) {
  if (count == 0) return cudaSuccess;
  for_each<<<blocks_for(count), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body, count);
  return cudaGetLastError();
}

template <class E>
__global__ void begin_summary(Summary* out) {
  *out = SummaryBody<E>::nothing();
}

/// Each thread takes its share, the block combines them in shared memory, its first thread adds the block's
/// to the result.
template <class E>
__global__ void summarise(SummaryBody<E> body, Summary* out) {
  __shared__ std::uint64_t digest[kThreads], nans[kThreads], infs[kThreads];
  __shared__ std::int64_t low[kThreads], high[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  const auto put = [&](const Summary& s) {
    digest[t] = s.digest;
    nans[t] = s.nan_count;
    infs[t] = s.inf_count;
    low[t] = s.low;
    high[t] = s.high;
  };
  const auto get = [&](int i) { return Summary{digest[i], nans[i], infs[i], low[i], high[i]}; };
  put(body.share(std::int64_t{blockIdx.x} * blockDim.x + t, std::int64_t{gridDim.x} * blockDim.x));
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) put(combine(get(t), get(t + half)));
  }
  if (t != 0) return;
  using Unsigned = unsigned long long;  // what the atomics are declared for
  const Summary s = get(0);
  atomicAdd(reinterpret_cast<Unsigned*>(&out->digest), static_cast<Unsigned>(s.digest));
  atomicAdd(reinterpret_cast<Unsigned*>(&out->nan_count), static_cast<Unsigned>(s.nan_count));
  atomicAdd(reinterpret_cast<Unsigned*>(&out->inf_count), static_cast<Unsigned>(s.inf_count));
  atomicMin(reinterpret_cast<long long*>(&out->low), static_cast<long long>(s.low));
  atomicMax(reinterpret_cast<long long*>(&out->high), static_cast<long long>(s.high));
}

}  // namespace

int fill(DType dtype, void* out, std::int64_t count, std::uint64_t bits, void* stream) {
  return element::with_element(dtype, [&](auto e) {
    using E = decltype(e);
    using W = typename E::Word;
    return start(FillBody<E>{static_cast<W*>(out), static_cast<W>(bits)}, count, stream);
  });
}

int reduce(DType dtype, Op op, const void* arrived, void* own, std::int64_t count, void* stream) {
  return element::with_element(dtype, [&](auto e) {
    using E = decltype(e);
    return with_op(op, [&](auto fn) {
      using W = typename E::Word;
      return start(ReduceBody<E, decltype(fn)>{static_cast<const W*>(arrived), static_cast<W*>(own)}, count,
                   stream);
    });
  });
}

int scale(DType dtype, void* data, std::int64_t count, int world_size, void* stream) {
  return element::with_element(dtype, [&](auto e) -> int {
    using E = decltype(e);
    if constexpr (E::kFloating) {
      return start(ScaleBody<E>{static_cast<typename E::Word*>(data), reciprocal<E>(world_size)}, count,
                   stream);
    } else {
      return cudaSuccess;
    }
  });
}

int divide(DType dtype, void* data, std::int64_t count, int world_size, void* stream) {
  return element::with_element(dtype, [&](auto e) {
    using E = decltype(e);
    return start(DivideBody<E>{static_cast<typename E::Word*>(data), world_size}, count, stream);
  });
}

int summary(DType dtype, const void* data, std::int64_t count, std::uint64_t first, void* out, void* stream) {
  return element::with_element(dtype, [&](auto e) -> int {
    using E = decltype(e);
    const auto s = static_cast<cudaStream_t>(stream);
    begin_summary<E><<<1, 1, 0, s>>>(static_cast<Summary*>(out));
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
    const SummaryBody<E> body{static_cast<const typename E::Word*>(data), count, first};
    summarise<E><<<blocks_for(count), kThreads, 0, s>>>(body, static_cast<Summary*>(out));
    return cudaGetLastError();
  });
}

const char* error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

}  // namespace ringside::kernels::launch
