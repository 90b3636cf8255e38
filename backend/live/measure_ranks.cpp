// The rank's side of `ringside-cli measure`: timings are taken over many calls in a row, as a job makes them,
// by all ranks at once; of several rounds the median, of the ranks the slowest.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "backend/live/measure.hpp"
#include "backend/live/mpi_plane.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::backend {
namespace {

constexpr int kRounds = 7;
constexpr double kRoundUs = 20'000;  // about so long is a round, so that the clock does not matter

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// µs of one `call`, which all ranks make together.
template <class Call>
double time_of(Call call) {
  const auto round = [&](int calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = now_us();
    for (int i = 0; i < calls; ++i) call();
    double took = (now_us() - began) / calls;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
  };
  round(1);  // first touch, connections
  const double first = std::max(round(3), 0.01);
  const int calls =
      static_cast<int>(std::clamp(kRoundUs / first, 2.0, 20'000.0));  // the same on all ranks: MAX
  std::array<double, kRounds> rounds{};
  for (double& took : rounds) took = round(calls);
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

/// One ring step: everybody sends to the next and receives from the one before, waiting as live ranks do.
void exchange(std::vector<std::byte>& out, std::vector<std::byte>& in, int bytes, int rank, int size) {
  std::array<MPI_Request, 2> requests{};
  MPI_Irecv(in.data(), bytes, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out.data(), bytes, MPI_BYTE, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
  for (int done = 0; !done;) {
    MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE);
    if (!done) sched_yield();
  }
}

class NoObserver final : public StepObserver {
 public:
  void sends(const sim::Transfer&, const ChunkNumbers&) override {}
  void waits(const sim::Transfer&) override {}
  void arrived(const sim::Transfer&, std::int64_t) override {}
  void holds(const sim::Transfer&, const ChunkNumbers&) override {}
};

void measure_constants(int rank, int size) {
  constexpr int kSmall = 8, kLarge = 1 << 20;
  std::vector<std::byte> out(kLarge), in(kLarge);
  const double alpha = time_of([&] { exchange(out, in, kSmall, rank, size); });
  const double large = time_of([&] { exchange(out, in, kLarge, rank, size); });
  const double reduce = time_of([&] { sim::reduce_into(sim::DType::Float32, sim::ReduceOp::Sum, in, out); });
  std::vector<float> sum(kLarge / sizeof(float)), more(sum.size());
  const double library = time_of(
      [&] { MPI_Reduce_local(more.data(), sum.data(), static_cast<int>(sum.size()), MPI_FLOAT, MPI_SUM); });
  if (rank != 0) return;
  const auto rate = [](double us) { return kLarge / std::max(us, 0.001); };
  std::printf("alpha_us %.6g\nbytes_per_us %.6g\nreduce_per_us %.6g\nlibrary_reduce_per_us %.6g\n", alpha,
              rate(large - alpha), rate(reduce), rate(library));
}

void measure_allreduces(DataPlane& plane, std::int64_t from, std::int64_t to) {
  NoObserver nobody;
  for (std::int64_t bytes = from; bytes <= to; bytes *= 4) {
    const std::int64_t count = bytes / 4;
    std::vector<std::byte> data(static_cast<std::size_t>(bytes)), result(data.size());
    const PlaneCall call{sim::DType::Float32, sim::ReduceOp::Sum, data};
    const sim::Schedule ring = sim::make_schedule({.count = count, .world_size = plane.world_size()});
    const double stepped = time_of([&] { (void)plane.stepped(ring, call, nobody); });
    const double fused = time_of([&] { (void)plane.fused(call); });
    const double library = time_of([&] {
      MPI_Allreduce(data.data(), result.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    });
    if (plane.rank() != 0) continue;
    const auto say = [&](const char* way, double us) {
      std::printf("%s %lld %.6g\n", way, static_cast<long long>(bytes), us);
    };
    say("stepped", stepped);
    say("fused", fused);
    say("library_call", library);
    std::fflush(stdout);
  }
}

}  // namespace

int measure_ranks(std::int64_t from_bytes, std::int64_t to_bytes, int* argc, char*** argv) {
  auto plane = make_mpi_plane(argc, argv);
  if (!plane) {
    std::fprintf(stderr, "ringside-rank: %s\n", plane.error().message().c_str());
    return 1;
  }
  if ((*plane)->world_size() < 2) {
    std::fprintf(stderr, "ringside-rank: a machine is measured between two ranks or more\n");
    (*plane)->finalize();
    return 1;
  }
  if ((*plane)->rank() == 0) std::printf("library %s\n", (*plane)->version().c_str());
  measure_constants((*plane)->rank(), (*plane)->world_size());
  measure_allreduces(**plane, from_bytes, to_bytes);
  (*plane)->finalize();
  return 0;
}

}  // namespace ringside::backend
