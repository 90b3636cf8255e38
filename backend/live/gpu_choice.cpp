// Which data plane a live run takes: decided by all ranks together, from what each of them has.
#include <vector>

#include "backend/live/gpu_plane.hpp"

namespace ringside::backend {
namespace {

/// What a rank tells the others of its GPUs, carried by the exchange of fingerprints.
Fingerprint offer_of(GpuCalls* calls, int local_rank, std::string& problem) {
  int count = 0;
  if (calls == nullptr) {
    problem = "this build has no CUDA and NCCL";
  } else if (const CudaError code = calls->device_count(count)) {
    problem = "no GPU was found (CUDA says: " + calls->cuda_text(code) + ")";
    count = 0;
  } else if (count == 0) {
    problem = "no GPU was found";
  }
  return {.seq = count > local_rank ? 1 : 0, .collective = count, .dtype = local_rank, .count = 0, .op = 0};
}

}  // namespace

sim::Result<std::unique_ptr<DataPlane>> choose_plane(DeviceWish wish, std::unique_ptr<DataPlane> host,
                                                     std::unique_ptr<GpuCalls> calls, int local_rank,
                                                     std::string* why_not_gpu) {
  if (wish == DeviceWish::Cpu) return host;
  std::string problem;
  const Fingerprint mine = offer_of(calls.get(), local_rank, problem);
  std::vector<Fingerprint> all(static_cast<std::size_t>(host->world_size()));
  if (const auto status = host->exchange(mine, all); !status) return status.error();
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].seq == 1) continue;
    if (problem.empty())
      problem = "rank " + std::to_string(r) + " has no GPU of its own: " + std::to_string(all[r].collective) +
                " on its host, and it is local rank " + std::to_string(all[r].dtype);
    if (why_not_gpu != nullptr) *why_not_gpu = problem;
    if (wish == DeviceWish::Auto) return host;
    host->finalize();
    return sim::Error{
        .what = problem,
        .hint = "Use --device cpu: the same schedule over MPI. NCCL wants one GPU for each rank."};
  }
  return make_gpu_plane(std::move(host), std::move(calls), {.device = local_rank});
}

}  // namespace ringside::backend
