// The rank's side of `ringside-cli measure`: parts of an AllReduce at several sizes, and AllReduces as live
// ranks and Open MPI make them, by all ranks at once. A shared machine's speed changes by the second, so
// everything is timed once a round, round after round: each AllReduce has beside it what its parts cost in
// the same round. Of the ranks the slowest counts.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backend/live/measure.hpp"
#include "backend/live/mpi_plane.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::backend {
namespace {

/// On a machine so busy that rounds take long there are fewer.
constexpr int kRounds = 11, kFewestRounds = 3;
constexpr double kLongUs = 60e6;
/// A batch of calls is timed as one, long enough for the clock, short enough that most batches see no other
/// program take the core; of a sample's batches the median counts.
constexpr double kBatchUs = 60, kSampleUs = 8'000;
constexpr double kFewestBatches = 3, kMostBatches = 100;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Does `calls` calls, of which the first is the `first`-th.
using Make = std::function<void(int first, int calls)>;

/// µs of one call: all ranks make so many batches together; each rank's median, of the ranks the slowest.
double time_of(const Make& make, int batches, int calls) {
  std::vector<double> us(static_cast<std::size_t>(batches));
  MPI_Barrier(MPI_COMM_WORLD);
  double before = now_us();
  for (int batch = 0; batch < batches; ++batch) {
    make(batch * calls, calls);
    const double now = now_us();
    us[static_cast<std::size_t>(batch)] = (now - before) / calls;
    before = now;
  }
  std::nth_element(us.begin(), us.begin() + batches / 2, us.end());
  double took = us[static_cast<std::size_t>(batches / 2)];
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return took;
}

/// One thing to time.
struct Sample {
  std::string key;
  std::int64_t bytes = 0;
  Make make;
  int cycle = 1;  // so many calls belong together: each is another distance
  int calls = 1, batches = 3;
  std::vector<double> us = {};  // by round
};

/// What the parts work on: `data` is as large as the largest AllReduce's, `scratch` is where messages arrive.
class Bench {
 public:
  Bench(DataPlane& plane, std::int64_t to_bytes)
      : plane_(plane),
        rank_(plane.rank()),
        size_(plane.world_size()),
        crowded_(host_is_crowded()),
        data_(static_cast<std::size_t>(to_bytes)),
        scratch_(data_.size()) {}

  void add_parts(std::vector<Sample>& out, std::int64_t bytes) {
    const auto add = [&](sim::MpiPart part, auto call) {
      out.push_back({std::string(sim::to_word(part)), bytes, [this, bytes, call](int first, int calls) {
                       for (int i = first; i < first + calls; ++i) call(bytes, i);
                     }});
      out.back().cycle = tree_rounds();
    };
    add(sim::MpiPart::ReduceStep, [this](std::int64_t size, int i) {
      exchange(chunk(size, i), came(size));
      reduce(chunk(size, i + 1), came(size));
    });
    add(sim::MpiPart::CopyStep, [this](std::int64_t size, int i) {
      exchange(chunk(size, i), came(size));
      copy(chunk(size, i + 1), came(size));
    });
    add(sim::MpiPart::TreeStep, [this](std::int64_t size, int i) { tree_step(size, i); });
    add(sim::MpiPart::LibraryReduceStep, [this](std::int64_t size, int i) {
      library_exchange(chunk(size, i), came(size), i);
      MPI_Reduce_local(came(size).data(), chunk(size, i + 1).data(), static_cast<int>(size / 4), MPI_FLOAT,
                       MPI_SUM);
    });
    add(sim::MpiPart::LibraryPassStep, [this](std::int64_t size, int i) {
      // With one chunk there is no other place: it would be sent and overwritten at once.
      const Bytes to = chunk(size, i).data() == chunk(size, i + 1).data() ? came(size) : chunk(size, i + 1);
      library_exchange(chunk(size, i), to, i);
    });
    add(sim::MpiPart::Buffer, [](std::int64_t size, int) { use_buffer(size); });
    add(sim::MpiPart::Copy, [this](std::int64_t size, int i) { copy(chunk(size, i), came(size)); });
  }

  void add_allreduces(std::vector<Sample>& out, std::int64_t bytes) {
    const auto data = std::span(data_).first(static_cast<std::size_t>(bytes));
    const PlaneCall call{sim::DType::Float32, sim::ReduceOp::Sum, data};
    const auto ring = sim::make_schedule({.count = bytes / 4, .world_size = size_});
    out.push_back({"stepped", bytes, [this, call, ring](int, int calls) {
                     for (int i = 0; i < calls; ++i) (void)plane_.stepped(ring, call, nobody_);
                   }});
    out.push_back({"fused", bytes, [this, call](int, int calls) {
                     for (int i = 0; i < calls; ++i) (void)plane_.fused(call);
                   }});
    out.push_back({"library", bytes, [this, data](int, int calls) {
                     for (int i = 0; i < calls; ++i)
                       MPI_Allreduce(data.data(), scratch_.data(), static_cast<int>(data.size() / 4),
                                     MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                   }});
  }

 private:
  using Bytes = std::span<std::byte>;

  class NoObserver final : public StepObserver {
   public:
    void sends(const sim::Transfer&, const ChunkNumbers&) override {}
    void waits(const sim::Transfer&) override {}
    void arrived(const sim::Transfer&, std::int64_t) override {}
    void holds(const sim::Transfer&, const ChunkNumbers&) override {}
  };

  /// The i-th chunk of a buffer of as many chunks as ranks, as a ring walks through it.
  Bytes chunk(std::int64_t bytes, int i) {
    const auto size = static_cast<std::size_t>(bytes);
    const std::size_t chunks =
        std::clamp<std::size_t>(data_.size() / size, 1, static_cast<std::size_t>(size_));
    return std::span(data_).subspan(static_cast<std::size_t>(i) % chunks * size, size);
  }
  Bytes came(std::int64_t bytes) { return std::span(scratch_).first(static_cast<std::size_t>(bytes)); }

  static void reduce(Bytes own, Bytes came) {
    sim::reduce_into(sim::DType::Float32, sim::ReduceOp::Sum, came, own);
  }
  /// Large ones come from the kernel anew each time, and every page costs a fault.
  static void use_buffer(std::int64_t bytes) {
    constexpr std::int64_t kPage = 4096;
    auto* buffer = static_cast<volatile char*>(std::malloc(static_cast<std::size_t>(bytes)));
    for (std::int64_t at = 0; buffer != nullptr && at < bytes; at += kPage) buffer[at] = 1;
    std::free(const_cast<char*>(buffer));
  }
  static void copy(Bytes own, Bytes came) { std::memcpy(own.data(), came.data(), own.size()); }

  /// As live ranks wait (mpi_plane.cpp).
  void wait(std::span<MPI_Request> requests) const {
    constexpr int kPolls = 200'000;
    int done = 0;
    for (int polls = 0; !done; polls = std::min(polls + 1, kPolls + 1)) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (!done && (crowded_ || polls > kPolls)) sched_yield();
    }
  }

  /// One ring step: everybody sends to the next and receives from the one before.
  void exchange(Bytes out, Bytes in) const {
    std::array<MPI_Request, 2> requests{};
    MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, (rank_ + size_ - 1) % size_, 1,
              MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, (rank_ + 1) % size_, 1, MPI_COMM_WORLD,
              &requests[1]);
    wait(requests);
  }

  /// The library's algorithms exchange with ranks at distance 1, 2, 4 … in turn; each waits for each.
  void library_exchange(Bytes out, Bytes in, int i) const {
    int rounds = 1;
    while ((2 << rounds) <= size_) ++rounds;
    const int distance = 1 << (i % rounds);
    const bool pairs = (size_ & (size_ - 1)) == 0;
    const int to = pairs ? rank_ ^ distance : (rank_ + distance) % size_;
    const int from = pairs ? to : (rank_ + size_ - distance) % size_;
    MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_BYTE, to, 2, in.data(),
                 static_cast<int>(in.size()), MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  void send(Bytes out, int to) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, to, 3, MPI_COMM_WORLD, &request);
    wait({&request, 1});
  }
  void receive(Bytes in, int from) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, from, 3, MPI_COMM_WORLD, &request);
    wait({&request, 1});
  }
  /// One step of a binomial tree, up and down again, at distance 1, 2, 4 … in turn: one rank of a pair sends
  /// to the other, which reduces and sends the result back.
  void tree_step(std::int64_t bytes, int i) {
    const int distance = 1 << (i % tree_rounds());
    const Bytes own = std::span(data_).first(static_cast<std::size_t>(bytes));
    if (rank_ % (2 * distance) == distance) {
      send(own, rank_ - distance);
      receive(own, rank_ - distance);
    } else if (rank_ % (2 * distance) == 0 && rank_ + distance < size_) {
      receive(came(bytes), rank_ + distance);
      reduce(own, came(bytes));
      send(own, rank_ + distance);
    }
  }
  int tree_rounds() const {
    int rounds = 1;
    while ((1 << rounds) < size_) ++rounds;
    return rounds;
  }

  DataPlane& plane_;
  int rank_ = 0, size_ = 1;
  bool crowded_ = false;
  std::vector<std::byte> data_, scratch_;
  NoObserver nobody_;
};

/// Sizes at which the parts are timed: close together where shared memory changes its ways (a few KiB) and
/// around 32 MiB, from where glibc takes every buffer from the kernel. They end with the largest AllReduce's
/// own size.
std::vector<std::int64_t> part_sizes(std::int64_t to_bytes) {
  constexpr std::int64_t kKi = 1 << 10, kMi = 1 << 20;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t bytes :
       {8L, 256L, kKi, 2 * kKi, 4 * kKi, 8 * kKi, 16 * kKi, 32 * kKi, 128 * kKi, 512 * kKi, 2 * kMi, 8 * kMi,
        16 * kMi, 31 * kMi, 32 * kMi, 128 * kMi, 512 * kMi})
    if (bytes < to_bytes) sizes.push_back(bytes);
  sizes.push_back(to_bytes);
  return sizes;
}

/// Rank 0 says a word after each round: whoever waits for it sees that it goes on.
void time_all(std::vector<Sample>& samples, int rank) {
  const double began = now_us();
  for (Sample& sample : samples) {
    time_of(sample.make, 1, 2 * sample.cycle);  // first touch, connections
    const double call = std::max(time_of(sample.make, 3, sample.cycle), 0.001);
    sample.calls = sample.cycle * static_cast<int>(std::clamp(kBatchUs / call / sample.cycle, 1.0, 20'000.0));
    sample.batches =
        static_cast<int>(std::clamp(kSampleUs / call / sample.calls, kFewestBatches, kMostBatches));
  }
  for (int round = 0, goes_on = 1; goes_on != 0; ++round) {
    for (Sample& sample : samples) sample.us.push_back(time_of(sample.make, sample.batches, sample.calls));
    if (rank == 0) {
      std::printf("round %d\n", round + 1);
      std::fflush(stdout);
    }
    goes_on = round + 1 < kRounds && (round + 1 < kFewestRounds || now_us() - began < kLongUs) ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

void print(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    std::printf("%s %lld", sample.key.c_str(), static_cast<long long>(sample.bytes));
    for (const double us : sample.us) std::printf(" %.6g", us);
    std::printf("\n");
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
  if ((*plane)->rank() == 0) std::printf("version %s\n", (*plane)->version().c_str());
  to_bytes = std::max(from_bytes, to_bytes) / 4 * 4;
  Bench bench(**plane, to_bytes);
  std::vector<Sample> samples;
  for (const std::int64_t bytes : part_sizes(to_bytes)) bench.add_parts(samples, bytes);
  for (std::int64_t bytes = from_bytes; bytes <= to_bytes; bytes *= 4) bench.add_allreduces(samples, bytes);
  time_all(samples, (*plane)->rank());
  if ((*plane)->rank() == 0) print(samples);
  (*plane)->finalize();
  return 0;
}

}  // namespace ringside::backend
