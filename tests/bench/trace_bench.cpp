// Seeking in a trace of a million events: the slowest of 200 seeks to seeded places must stay under one frame of 60 Hz (16 ms).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "sim/base/random.hpp"
#include "sim/trace/frame.hpp"

namespace {

using namespace ringside::sim;

Trace million_events(int ranks) {
  Trace trace;
  trace.header.world_size = ranks;
  trace.header.gpus_per_node = 8;
  const int steps = 1'000'000 / (ranks * 2);
  for (int step = 1; step <= steps; ++step)
    for (int half = 0; half < 2; ++half)
      for (int r = 0; r < ranks; ++r) {
        Event e;
        e.t = std::int64_t{step} * 1'000'000 + half * 500'000 + r;
        e.set_source(Source::rank(r));
        e.type = half == 0 ? EventType::PhaseBegin : EventType::PhaseEnd;
        e.phase = PhasePayload{step, Phase::Backward, kHasLoss, 0, 1.0, 0};
        trace.emit(e);
      }
  return trace;
}

void seek(benchmark::State& state) {
  const Trace trace = million_events(static_cast<int>(state.range(0)));
  FrameSource source(trace);
  const DrawKey key{.seed = 5, .purpose = Purpose::Noise};
  std::uint64_t i = 0;
  double slowest_ms = 0;
  for (auto _ : state) {
    const auto t = static_cast<std::int64_t>(draw_u64(key, i++) % static_cast<std::uint64_t>(trace.end_time()));
    const auto before = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(source.frame_at(t).step);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
    slowest_ms = std::max(slowest_ms, took.count());
  }
  state.counters["events"] = static_cast<double>(trace.size());
  state.counters["slowest_ms"] = slowest_ms;
}
BENCHMARK(seek)->Arg(8)->Arg(64)->Arg(512)->Iterations(200)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
