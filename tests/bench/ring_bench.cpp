// The stepped CPU ring against Open MPI's own ring, on the same data, one after the other, and that both add up
// to the same where order cannot matter.
//   OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=4 mpirun -n 2 ring_bench [pairs = 60]
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "backend/live/mpi_plane.hpp"
#include "sim/collective/schedule.hpp"
#include "tests/bench/paired.hpp"

namespace {

using namespace ringside;

struct Silent final : backend::StepObserver {
  void sends(const sim::Transfer&, const backend::ChunkNumbers&) override {}
  void waits(const sim::Transfer&) override {}
  void arrived(const sim::Transfer&, std::int64_t) override {}
  void holds(const sim::Transfer&, const backend::ChunkNumbers&) override {}
};

/// The slowest rank's time.
double together(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

void measure(backend::DataPlane& plane, std::int64_t bytes, int pairs) {
  const auto count = bytes / 4;
  sim::ScheduleRequest request;
  request.world_size = plane.world_size();
  request.count = count;
  request.dtype = sim::DType::Float32;
  const sim::Schedule schedule = sim::make_schedule(request);
  std::vector<float> ours(static_cast<std::size_t>(count)), theirs(ours.size());
  Silent silent;
  const backend::PlaneCall call{sim::DType::Float32, sim::ReduceOp::Sum, std::as_writable_bytes(std::span(ours))};
  std::vector<double> stepped, tuned;
  bool equal = true;
  for (int pair = -3; pair < pairs; ++pair) {  // three to warm up
    for (std::size_t i = 0; i < ours.size(); ++i)  // whole numbers: sums are exact in any order
      ours[i] = theirs[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(plane.rank())) % 1024);
    double times[2] = {};
    for (int turn = 0; turn < 2; ++turn) {
      const bool own = (turn == 0) == (pair % 2 == 0);  // each goes first in every other pair
      MPI_Barrier(MPI_COMM_WORLD);
      const double began = MPI_Wtime();
      if (own) {
        if (!plane.stepped(schedule, call, silent)) std::abort();
      } else {
        MPI_Allreduce(MPI_IN_PLACE, theirs.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      }
      times[own ? 0 : 1] = together(MPI_Wtime() - began);
    }
    equal = equal && std::memcmp(ours.data(), theirs.data(), ours.size() * sizeof(float)) == 0;
    if (pair < 0) continue;
    stepped.push_back(times[0]);
    tuned.push_back(times[1]);
  }
  if (plane.rank() != 0) return;
  const bench::Interval speed = bench::ratio_interval(tuned, stepped);
  const double bus = 2.0 * (plane.world_size() - 1) / plane.world_size() * static_cast<double>(bytes) / 1e9;
  std::printf("%8lld KiB  ours %6.2f GB/s, Open MPI's ring %6.2f GB/s; ours is %.3f times as fast, 95 %% interval %.3f to %.3f%s\n",
              static_cast<long long>(bytes / 1024), bus / bench::median_interval(stepped).median,
              bus / bench::median_interval(tuned).median, speed.median, speed.low, speed.high,
              equal ? "" : "  RESULTS DIFFER");
}

}  // namespace

int main(int argc, char** argv) {
  auto plane = backend::make_mpi_plane(&argc, &argv);
  if (!plane) return 1;
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 60;
  if ((*plane)->rank() == 0)
    std::printf("AllReduce, float32, sum, %d ranks, %d pairs in turn; bus bandwidth\n", (*plane)->world_size(), pairs);
  for (const std::int64_t mib : {1, 4, 16, 64}) measure(**plane, mib << 20, mib > 16 ? pairs / 3 : pairs);
  (*plane)->finalize();
  return 0;
}
