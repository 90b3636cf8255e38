#include "backend/live/gpu_calls.hpp"

namespace ringside::backend {

std::string nccl_meaning(Nccl result) {
  switch (result) {
    case Nccl::UnhandledCudaError:
      return "ncclUnhandledCudaError: Call to CUDA function failed.";
    case Nccl::SystemError:
      return "ncclSystemError: "
             "System call (e.g. socket, malloc) or external library call failed or device error.";
    case Nccl::InternalError:
      return "ncclInternalError: Internal check failed.";
    case Nccl::InvalidArgument:
      return "ncclInvalidArgument: Invalid value for an argument.";
    case Nccl::InvalidUsage:
      return "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.";
    case Nccl::RemoteError:
      return "ncclRemoteError: "
             "A call failed possibly due to a network error or a remote process exiting prematurely.";
    default:
      return "ncclResult: An error of this NCCL version.";
  }
}

}  // namespace ringside::backend
