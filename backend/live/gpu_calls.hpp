// The few CUDA and NCCL calls that the GPU plane makes, as an interface: the real ones are one line each
// (cuda_calls.cpp, only in a build with CUDA and NCCL), the tests' double moves the numbers between ranks in
// one process and makes trouble on demand. All decisions are in the plane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/kernels.hpp"

namespace ringside::backend {

/// ncclResult_t as of NCCL 2.28 (cuda_calls.cpp asserts the numbers).
enum class Nccl : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7
};
/// ncclRedOp_t.
enum class NcclOp : int { Sum = 0, Prod = 1, Max = 2, Min = 3, Avg = 4 };

/// cudaError_t: 0 is success, 600 is cudaErrorNotReady, the rest is told by cuda_text.
using CudaError = int;
inline constexpr CudaError kCudaSuccess = 0, kCudaNotReady = 600;

using Stream = void*;
using Event = void*;
using Comm = void*;
using NcclId = std::array<std::byte, 128>;

class GpuCalls {
 public:
  virtual ~GpuCalls() = default;

  // CUDA. Copies, kernels and records are asynchronous: they are done when an event recorded after them is.
  virtual CudaError device_count(int& count) = 0;
  virtual CudaError use_device(int device) = 0;
  virtual std::string device_name(int device) = 0;
  virtual std::string pci_bus_id(int device) = 0;
  virtual CudaError allocate(void*& out, std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual CudaError make_stream(Stream& out) = 0;
  virtual void release_stream(Stream stream) = 0;
  virtual CudaError make_event(Event& out) = 0;
  virtual void release_event(Event event) = 0;
  virtual CudaError copy_in(void* device, const void* host, std::size_t bytes, Stream stream) = 0;
  virtual CudaError copy_out(void* host, const void* device, std::size_t bytes, Stream stream) = 0;
  virtual CudaError copy_within(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  virtual CudaError record(Event event, Stream stream) = 0;
  virtual CudaError query(Event event) = 0;
  virtual std::string cuda_text(CudaError error) = 0;

  // kernels/
  virtual CudaError reduce(kernels::DType dtype, kernels::Op op, const void* arrived, void* own,
                           std::int64_t count, Stream stream) = 0;
  virtual CudaError scale(kernels::DType dtype, void* data, std::int64_t count, int world, Stream stream) = 0;
  virtual CudaError divide(kernels::DType dtype, void* data, std::int64_t count, int world,
                           Stream stream) = 0;
  virtual CudaError summary(kernels::DType dtype, const void* data, std::int64_t count, void* out,
                            Stream stream) = 0;
  virtual CudaError fill(kernels::DType dtype, void* out, std::int64_t count, std::uint64_t bits,
                         Stream stream) = 0;

  // NCCL, on non-blocking communicators: InProgress means that async_error will tell.
  virtual Nccl make_id(NcclId& out) = 0;
  virtual Nccl comm_init(Comm& out, int world, const NcclId& id, int rank) = 0;
  virtual Nccl async_error(Comm comm, Nccl& error) = 0;
  virtual Nccl all_reduce(void* data, std::int64_t count, kernels::DType dtype, NcclOp op, Comm comm,
                          Stream stream) = 0;
  virtual Nccl group_start() = 0;
  virtual Nccl send(const void* data, std::size_t bytes, int peer, Comm comm, Stream stream) = 0;
  virtual Nccl recv(void* data, std::size_t bytes, int peer, Comm comm, Stream stream) = 0;
  virtual Nccl group_end() = 0;
  virtual Nccl comm_finalize(Comm comm) = 0;
  virtual Nccl comm_destroy(Comm comm) = 0;
  virtual Nccl comm_abort(Comm comm) = 0;
  virtual std::string nccl_text(Nccl error) = 0;
  virtual std::string nccl_last_error(Comm comm) = 0;
  virtual std::string nccl_version() = 0;
};

/// "ncclRemoteError: A call failed possibly due to …": the name and the sentence that PyTorch prints for it
/// (torch/csrc/distributed/c10d/NCCLUtils.cpp).
std::string nccl_meaning(Nccl result);

/// The real ones; nullptr in a build without CUDA and NCCL.
std::unique_ptr<GpuCalls> make_gpu_calls();

}  // namespace ringside::backend
