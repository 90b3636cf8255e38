#include "backend/import/evidence.hpp"

#include <array>

namespace ringside::backend {

std::string_view to_word(Layer layer) {
  static constexpr std::array<std::string_view, 21> kWords = {
      "unknown",     "PyTorch",        "PyTorch ProcessGroupWrapper",
      "PyTorch DDP", "torchrun",       "store",
      "Gloo",        "NCCL",           "NCCL NET/IB",
      "CUDA",        "kernel",         "Slurm",
      "MPI",         "Horovod",        "numbers",
      "Python",      "shell",          "Flight Recorder",
      "NCCL RAS",    "NCCL Inspector", "training program"};
  return kWords[static_cast<std::size_t>(layer)];
}

std::string_view to_word(Role role) {
  static constexpr std::array<std::string_view, 5> kWords = {"root candidate", "names another", "victim",
                                                             "consequence", "context"};
  return kWords[static_cast<std::size_t>(role)];
}

}  // namespace ringside::backend
