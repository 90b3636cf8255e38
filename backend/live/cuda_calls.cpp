// GpuCalls as CUDA and NCCL give them. No decision is made here: whatever can be wrong in it shows at the
// first run on a GPU. Without CUDA and NCCL in the build there are none.
#include "backend/live/gpu_calls.hpp"

#ifdef RINGSIDE_HAVE_CUDA

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstring>

namespace ringside::backend {
namespace {

static_assert(static_cast<int>(Nccl::RemoteError) == ncclRemoteError &&
              static_cast<int>(Nccl::InProgress) == ncclInProgress);
static_assert(static_cast<int>(NcclOp::Prod) == ncclProd && static_cast<int>(NcclOp::Max) == ncclMax &&
              static_cast<int>(NcclOp::Min) == ncclMin && static_cast<int>(NcclOp::Avg) == ncclAvg);
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId) && kCudaNotReady == cudaErrorNotReady);

cudaStream_t stream_of(Stream s) {
  return static_cast<cudaStream_t>(s);
}
cudaEvent_t event_of(Event e) {
  return static_cast<cudaEvent_t>(e);
}
ncclComm_t comm_of(Comm c) {
  return static_cast<ncclComm_t>(c);
}
Nccl result_of(ncclResult_t r) {
  return static_cast<Nccl>(r);
}
ncclDataType_t type_of(kernels::DType dtype) {
  switch (dtype) {
    case kernels::DType::Float64:
      return ncclFloat64;
    case kernels::DType::Float32:
      return ncclFloat32;
    case kernels::DType::Float16:
      return ncclFloat16;
    case kernels::DType::BFloat16:
      return ncclBfloat16;
    case kernels::DType::Int32:
      return ncclInt32;
    case kernels::DType::Int64:
      break;
  }
  return ncclInt64;
}

class CudaCalls final : public GpuCalls {
 public:
  CudaError device_count(int& count) override { return cudaGetDeviceCount(&count); }
  CudaError use_device(int device) override { return cudaSetDevice(device); }
  std::string device_name(int device) override {
    cudaDeviceProp properties{};
    return cudaGetDeviceProperties(&properties, device) == cudaSuccess ? properties.name : "GPU";
  }
  std::string pci_bus_id(int device) override {
    char id[32] = {};
    return cudaDeviceGetPCIBusId(id, sizeof id, device) == cudaSuccess ? id : "";
  }
  CudaError allocate(void*& out, std::size_t bytes) override { return cudaMalloc(&out, bytes); }
  void release(void* memory) override { cudaFree(memory); }
  CudaError make_stream(Stream& out) override {
    cudaStream_t stream{};
    const cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    out = stream;
    return code;
  }
  void release_stream(Stream stream) override { cudaStreamDestroy(stream_of(stream)); }
  CudaError make_event(Event& out) override {
    cudaEvent_t event{};
    const cudaError_t code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    out = event;
    return code;
  }
  void release_event(Event event) override { cudaEventDestroy(event_of(event)); }
  CudaError copy_in(void* device, const void* host, std::size_t bytes, Stream stream) override {
    return cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_of(stream));
  }
  CudaError copy_out(void* host, const void* device, std::size_t bytes, Stream stream) override {
    return cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_of(stream));
  }
  CudaError copy_within(void* to, const void* from, std::size_t bytes, Stream stream) override {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(stream));
  }
  CudaError record(Event event, Stream stream) override {
    return cudaEventRecord(event_of(event), stream_of(stream));
  }
  CudaError query(Event event) override { return cudaEventQuery(event_of(event)); }
  std::string cuda_text(CudaError error) override { return kernels::launch::error_text(error); }

  CudaError reduce(kernels::DType dtype, kernels::Op op, const void* arrived, void* own, std::int64_t count,
                   Stream stream) override {
    return kernels::launch::reduce(dtype, op, arrived, own, count, stream);
  }
  CudaError scale(kernels::DType dtype, void* data, std::int64_t count, int world, Stream stream) override {
    return kernels::launch::scale(dtype, data, count, world, stream);
  }
  CudaError divide(kernels::DType dtype, void* data, std::int64_t count, int world, Stream stream) override {
    return kernels::launch::divide(dtype, data, count, world, stream);
  }
  CudaError summary(kernels::DType dtype, const void* data, std::int64_t count, void* out,
                    Stream stream) override {
    return kernels::launch::summary(dtype, data, count, 0, out, stream);
  }
  CudaError fill(kernels::DType dtype, void* out, std::int64_t count, std::uint64_t bits,
                 Stream stream) override {
    return kernels::launch::fill(dtype, out, count, bits, stream);
  }

  Nccl make_id(NcclId& out) override {
    ncclUniqueId id{};
    const Nccl code = result_of(ncclGetUniqueId(&id));
    std::memcpy(out.data(), &id, sizeof id);
    return code;
  }
  Nccl comm_init(Comm& out, int world, const NcclId& id, int rank) override {
    ncclUniqueId unique{};
    std::memcpy(&unique, id.data(), sizeof unique);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.commName = "default_pg";
    ncclComm_t comm{};
    const Nccl code = result_of(ncclCommInitRankConfig(&comm, world, unique, rank, &config));
    out = comm;
    return code;
  }
  Nccl async_error(Comm comm, Nccl& error) override {
    ncclResult_t state = ncclSuccess;
    const Nccl code = result_of(ncclCommGetAsyncError(comm_of(comm), &state));
    error = result_of(state);
    return code;
  }
  Nccl all_reduce(void* data, std::int64_t count, kernels::DType dtype, NcclOp op, Comm comm,
                  Stream stream) override {
    return result_of(ncclAllReduce(data, data, static_cast<std::size_t>(count), type_of(dtype),
                                   static_cast<ncclRedOp_t>(op), comm_of(comm), stream_of(stream)));
  }
  Nccl group_start() override { return result_of(ncclGroupStart()); }
  Nccl send(const void* data, std::size_t bytes, int peer, Comm comm, Stream stream) override {
    return result_of(ncclSend(data, bytes, ncclInt8, peer, comm_of(comm), stream_of(stream)));
  }
  Nccl recv(void* data, std::size_t bytes, int peer, Comm comm, Stream stream) override {
    return result_of(ncclRecv(data, bytes, ncclInt8, peer, comm_of(comm), stream_of(stream)));
  }
  Nccl group_end() override { return result_of(ncclGroupEnd()); }
  Nccl comm_finalize(Comm comm) override { return result_of(ncclCommFinalize(comm_of(comm))); }
  Nccl comm_destroy(Comm comm) override { return result_of(ncclCommDestroy(comm_of(comm))); }
  Nccl comm_abort(Comm comm) override { return result_of(ncclCommAbort(comm_of(comm))); }
  std::string nccl_text(Nccl error) override {
    return ncclGetErrorString(static_cast<ncclResult_t>(static_cast<int>(error)));
  }
  std::string nccl_last_error(Comm comm) override {
    const char* text = ncclGetLastError(comm_of(comm));
    return text == nullptr ? "" : text;
  }
  std::string nccl_version() override {
    int code = 0;
    if (ncclGetVersion(&code) != ncclSuccess) return "NCCL";
    return "NCCL " + std::to_string(code / 10'000) + "." + std::to_string(code / 100 % 100) + "." +
           std::to_string(code % 100);
  }
};

}  // namespace

std::unique_ptr<GpuCalls> make_gpu_calls() {
  return std::make_unique<CudaCalls>();
}

}  // namespace ringside::backend

#else

namespace ringside::backend {
std::unique_ptr<GpuCalls> make_gpu_calls() {
  return nullptr;
}
}  // namespace ringside::backend

#endif
