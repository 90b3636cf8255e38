// What timing costs at scale: every algorithm at 64 to 32,768 ranks, tree and hierarchical at 131,072, shared
// links; transfers per second of the schedule that was timed, peak memory of the call, and how the cost
// grows. The machine's memory bandwidth stands beside it.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/collective/executor.hpp"

namespace {

// Every allocation of this program is counted: the peak of one call is exact, and does not remember earlier
// ones.
std::size_t live_bytes = 0, peak_bytes = 0;

}  // namespace

// Not inlined: GCC would see free() meet its own new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);
  peak_bytes = std::max(peak_bytes, live_bytes);
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace {

using namespace ringside::sim;

constexpr std::int64_t kBytes = 100'000'000;

Topology cluster(int world_size) {
  return {.world_size = world_size,
          .gpus_per_node = 8,
          .intra = {1'000, 240'000'000'000},
          .inter = {5'000, 48'000'000'000},
          .overrides = {}};
}

ScheduleRequest request_of(Algorithm algorithm, int world_size) {
  return {.algorithm = algorithm,
          .count = kBytes / 4 / world_size * world_size,
          .world_size = world_size,
          .gpus_per_node = 8};
}

void time_it(benchmark::State& state, const ScheduleRequest& request, const Topology& topology, bool late) {
  std::vector<std::int64_t> arrival(static_cast<std::size_t>(request.world_size), 0);
  if (late) {
    for (std::size_t r = 0; r < arrival.size(); ++r)
      arrival[r] = static_cast<std::int64_t>(r * 7919 % 10'000);
  }
  bool exact = true;
  std::int64_t finish = 0;
  const std::size_t before = live_bytes;
  peak_bytes = before;
  for (auto _ : state) {
    const FinishTimes times = finish_times(request, topology, arrival, 0);
    exact = times.exact;
    finish = *std::max_element(times.finish.begin(), times.finish.end());
  }
  state.counters["peak_MB"] = static_cast<double>(peak_bytes - before) / 1e6;
  state.counters["transfers/s"] = benchmark::Counter(
      static_cast<double>(transfer_count(request)) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
  state.counters["exact"] = exact ? 1 : 0;
  state.counters["virtual_us"] = static_cast<double>(finish) / 1e3;
}

void memory_bandwidth(benchmark::State& state) {
  std::vector<char> from(std::size_t{256} << 20, 1), to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(2 * from.size()) *
                          static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(memory_bandwidth)->Unit(benchmark::kMillisecond);

void register_all() {
  const auto add = [](const std::string& name, const ScheduleRequest& request, const Topology& topology,
                      bool late) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      time_it(state, request, topology, late);
    })->Unit(benchmark::kMillisecond);
  };
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    for (const int world : {64, 512, 4'096, 32'768}) {
      add(std::string(to_word(algorithm)) + "/" + std::to_string(world), request_of(algorithm, world),
          cluster(world), false);
    }
  }
  for (const Algorithm algorithm : {Algorithm::NcclTree, Algorithm::Hierarchical}) {
    add(std::string(to_word(algorithm)) + "/131072", request_of(algorithm, 131'072), cluster(131'072), false);
  }
  for (const int world : {64, 512, 4'096}) {
    add("ring, ranks come one after the other/" + std::to_string(world), request_of(Algorithm::Ring, world),
        cluster(world), true);
  }
  for (const int world : {64, 512}) {
    Topology one_nic = cluster(world), spine = cluster(world);
    one_nic.shared = {.nics_per_node = 1, .nic_bytes_per_s = 48'000'000'000};
    spine.shared = {.nics_per_node = 8,
                    .nic_bytes_per_s = 48'000'000'000,
                    .nodes_per_leaf = 4,
                    .rails = true,
                    .spine_bytes_per_s = 48'000'000'000};
    add("hierarchical, 8 GPUs behind one NIC/" + std::to_string(world),
        request_of(Algorithm::Hierarchical, world), one_nic, false);
    add("hierarchical, rails, spine 4:1/" + std::to_string(world), request_of(Algorithm::Hierarchical, world),
        spine, false);
  }
}

/// CPU time by world size, and the power of the world size with which it grows from 512 on.
class Growth : public benchmark::ConsoleReporter {
 public:
  std::map<std::string, std::map<int, double>> cpu_ms;

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const std::string name = run.benchmark_name();
      const auto slash = name.rfind('/');
      if (slash == std::string::npos) continue;
      cpu_ms[name.substr(0, slash)][std::atoi(name.c_str() + slash + 1)] =
          run.cpu_accumulated_time / static_cast<double>(run.iterations) * 1e3;
    }
    ConsoleReporter::ReportRuns(runs);
  }
  void print() const {
    std::printf("\nGrowth of the cost, per eightfold world (x8 is linear, x64 quadratic)\n");
    for (const auto& [name, by_world] : cpu_ms) {
      std::printf("  %-42s", name.c_str());
      double last = 0;
      for (const auto& [world, ms] : by_world) {
        if (last > 0) std::printf("  %6d: x%-7.1f", world, ms / last);
        last = ms;
      }
      std::printf("\n");
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_all();
  Growth reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print();
}
