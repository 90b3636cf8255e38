// What the executor costs: real numbers as a ratio to a plain loop over the same arrays, and the time and
// memory of the timing-only path by world size. Prints a summary after Google Benchmark's table.
#include <sys/resource.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/collective/executor.hpp"

namespace {

using namespace ringside::sim;

// --- timing only: first, so that the peak memory is its own
// ------------------------------------------------------------

ScheduleRequest hundred_megabytes(int world_size) {
  return {.dtype = DType::Float32, .count = 25'000'000, .world_size = world_size};
}

void ring_time(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  const Topology topology{.world_size = world,
                          .gpus_per_node = 8,
                          .intra = {3'400, 240'000'000'000},
                          .inter = {14'000, 48'000'000'000},
                          .overrides = {}};
  const std::vector<std::int64_t> arrival(static_cast<std::size_t>(world), 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ring_finish_times(hundred_megabytes(world), topology, arrival, 0));
  }
  const double transfers = 2.0 * (world - 1) * world;
  state.counters["transfers/s"] =
      benchmark::Counter(transfers * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(ring_time)->Arg(64)->Arg(512)->Arg(4096)->Unit(benchmark::kMillisecond)->UseRealTime();

void schedule_time(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  const Topology topology{.world_size = world,
                          .gpus_per_node = 8,
                          .intra = {},
                          .inter = {14'000, 48'000'000'000},
                          .overrides = {}};
  const std::vector<std::int64_t> arrival(static_cast<std::size_t>(world), 0);
  for (auto _ : state) {
    const Schedule schedule = make_schedule(hundred_megabytes(world));
    benchmark::DoNotOptimize(execute_times(schedule, DType::Float32, topology, arrival, 0));
  }
}
BENCHMARK(schedule_time)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();

// --- numbers
// -----------------------------------------------------------------------------------------------------------

constexpr int kRanks = 8;

const std::vector<std::shared_ptr<const Tensor>>& gradients() {
  static const auto inputs = [] {
    std::vector<std::shared_ptr<const Tensor>> out;
    for (int r = 0; r < kRanks; ++r) {
      auto tensor = std::make_shared<Tensor>(DType::Float32, Shape{{4096, 4096}});
      float value = 0.25f + static_cast<float>(r);
      for (float& element : tensor->as<float>())
        element = (value = value < 8.0f ? value * 1.0009765625f : 0.1f);
      out.push_back(std::move(tensor));
    }
    return out;
  }();
  return inputs;
}

void plain_loop(benchmark::State& state) {
  const auto& inputs = gradients();
  std::vector<float> sum(static_cast<std::size_t>(inputs[0]->count()));
  for (auto _ : state) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (const auto& input : inputs) {
      const float* const x = input->as<float>().data();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(plain_loop)->Unit(benchmark::kMillisecond)->UseRealTime();

void ring_numbers(benchmark::State& state, ReduceOp op, bool digests) {
  const auto& inputs = gradients();
  const Schedule schedule = make_schedule({.count = inputs[0]->count(), .world_size = kRanks});
  for (auto _ : state) {
    benchmark::DoNotOptimize(digests ? execute_numbers_with_digests(schedule, op, inputs)
                                     : execute_numbers(schedule, op, inputs));
  }
}
BENCHMARK_CAPTURE(ring_numbers, sum, ReduceOp::Sum, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(ring_numbers, avg, ReduceOp::Avg, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(ring_numbers, sum_with_digests, ReduceOp::Sum, true)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(ring_numbers, avg_with_digests, ReduceOp::Avg, true)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// --- summary: CPU time, since one thread does all and other programs may run
// -------------------------------------------

class Collector : public benchmark::ConsoleReporter {
 public:
  std::map<std::string, double> cpu_ms;
  long peak_of_timing_kb = 0;

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const std::string name = run.benchmark_name();
      cpu_ms[name] = run.cpu_accumulated_time / static_cast<double>(run.iterations) * 1e3;
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      if (name.starts_with("ring_time")) peak_of_timing_kb = usage.ru_maxrss;
    }
    ConsoleReporter::ReportRuns(runs);
  }
};

void print_summary(Collector& collector) {
  const auto line = [&](const char* what, const char* name, double aim) {
    const auto at = collector.cpu_ms.find(std::string(name) + "/real_time");
    if (at != collector.cpu_ms.end()) std::printf("  %-52s %9.3f ms   aim < %g ms\n", what, at->second, aim);
  };
  std::printf("\nRing AllReduce of 100,000,000 bytes, timing only\n");
  line("64 ranks", "ring_time/64", 0.2);
  line("512 ranks", "ring_time/512", 10);
  line("4,096 ranks", "ring_time/4096", 500);
  std::printf("  %-52s %9.1f MB   aim < 300 MB\n", "peak memory of this program until then",
              static_cast<double>(collector.peak_of_timing_kb) * 1024 / 1e6);
  const auto plain = collector.cpu_ms.find("plain_loop/real_time");
  if (plain == collector.cpu_ms.end()) return;
  std::printf("8 ranks x (4096, 4096) float32, as a ratio to the plain loop (%.1f ms)\n", plain->second);
  for (const auto& [name, aim] :
       {std::pair{"sum", 3.5}, {"avg", 3.5}, {"sum_with_digests", 5.0}, {"avg_with_digests", 5.0}}) {
    const auto at = collector.cpu_ms.find("ring_numbers/" + std::string(name) + "/real_time");
    if (at == collector.cpu_ms.end()) continue;
    std::printf("  %-52s %9.2f x    aim <= %g x   (%.1f ms)\n", name, at->second / plain->second, aim,
                at->second);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  print_summary(collector);
}
