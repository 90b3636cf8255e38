// On a real GPU: the kernels give the bits of the CPU, NCCL moves them, a live run completes. Without a GPU
// the program says "not run: no GPU" and returns 77, which ctest counts as skipped.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/live/compare.hpp"
#include "backend/live/gpu_plane.hpp"
#include "sim/base/random.hpp"
#include "sim/collective/executor.hpp"
#include "tests/live/gpu_double.hpp"

namespace ringside {
namespace {

using backend::GpuCalls;
using test::GpuWorld;
using test::HostDouble;

int gpus() {
  const auto calls = backend::make_gpu_calls();
  int count = 0;
  return calls != nullptr && calls->device_count(count) == backend::kCudaSuccess ? count : 0;
}

std::shared_ptr<const sim::Tensor> input(sim::DType dtype, std::int64_t count, int rank) {
  auto tensor = std::make_shared<sim::Tensor>(dtype, sim::Shape{{count}});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto raw = sim::draw_u64({.seed = 5,
                                    .rank = static_cast<std::uint64_t>(rank),
                                    .step = 0,
                                    .purpose = sim::Purpose::TensorValues},
                                   static_cast<std::uint64_t>(i));
    tensor->set(i, sim::make_scalar(dtype, static_cast<double>(raw % 20'001) / 1000.0 - 10.0));
  }
  return tensor;
}

/// Device memory with a host's copy in it, on one stream; everything waits.
class Device {
 public:
  Device() : calls_(backend::make_gpu_calls()) {
    EXPECT_EQ(calls_->use_device(0), 0);
    EXPECT_EQ(calls_->make_stream(stream_), 0);
    EXPECT_EQ(calls_->make_event(event_), 0);
  }
  ~Device() {
    for (void* memory : memory_) calls_->release(memory);
    calls_->release_event(event_);
    calls_->release_stream(stream_);
  }
  void* put(const std::vector<std::byte>& host) {
    void* memory = nullptr;
    EXPECT_EQ(calls_->allocate(memory, std::max<std::size_t>(host.size(), 64)), 0);
    memory_.push_back(memory);
    EXPECT_EQ(calls_->copy_in(memory, host.data(), host.size(), stream_), 0);
    return memory;
  }
  std::vector<std::byte> get(const void* memory, std::size_t bytes) {
    std::vector<std::byte> host(bytes);
    EXPECT_EQ(calls_->copy_out(host.data(), memory, bytes, stream_), 0);
    EXPECT_EQ(calls_->record(event_, stream_), 0);
    backend::CudaError code = backend::kCudaNotReady;
    while ((code = calls_->query(event_)) == backend::kCudaNotReady) std::this_thread::yield();
    EXPECT_EQ(code, 0) << calls_->cuda_text(code);
    return host;
  }
  GpuCalls& calls() { return *calls_; }
  backend::Stream stream() { return stream_; }

 private:
  std::unique_ptr<GpuCalls> calls_;
  backend::Stream stream_ = nullptr;
  backend::Event event_ = nullptr;
  std::vector<void*> memory_;
};

/// Random bit patterns: NaN of any payload, infinities and subnormals among them.
std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t stream) {
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<std::byte>(
        sim::draw_u64({.seed = 6, .rank = stream, .step = 0, .purpose = sim::Purpose::TensorValues}, i));
  return out;
}

class OnDevice : public testing::TestWithParam<sim::DType> {};

TEST_P(OnDevice, KernelsGiveTheBitsOfTheCpu) {
  const auto dtype = static_cast<kernels::DType>(GetParam());
  const auto size = static_cast<std::size_t>(sim::size_of(GetParam()));
  Device device;
  GpuCalls& calls = device.calls();
  for (const std::int64_t count : {1, 255, 257, 100'003, 3'000'001}) {
    const std::size_t bytes = static_cast<std::size_t>(count) * size;
    const auto a = random_bytes(bytes, 1), b = random_bytes(bytes, 2);
    for (const auto op : {kernels::Op::Sum, kernels::Op::Prod, kernels::Op::Min, kernels::Op::Max}) {
      void *arrived = device.put(a), *own = device.put(b);
      ASSERT_EQ(calls.reduce(dtype, op, arrived, own, count, device.stream()), 0);
      auto expected = b;
      kernels::host::reduce(dtype, op, a.data(), expected.data(), count);
      EXPECT_TRUE(device.get(own, bytes) == expected) << "reduce, op " << static_cast<int>(op);
    }
    auto scaled = a, divided = a, filled = a;
    void *s = device.put(a), *d = device.put(a), *f = device.put(a);
    ASSERT_EQ(calls.scale(dtype, s, count, 3, device.stream()), 0);
    ASSERT_EQ(calls.divide(dtype, d, count, 3, device.stream()), 0);
    ASSERT_EQ(calls.fill(dtype, f, count, 0x4048, device.stream()), 0);
    kernels::host::scale(dtype, scaled.data(), count, 3);
    kernels::host::divide(dtype, divided.data(), count, 3);
    kernels::host::fill(dtype, filled.data(), count, 0x4048);
    EXPECT_TRUE(device.get(s, bytes) == scaled) << "scale";
    EXPECT_TRUE(device.get(d, bytes) == divided) << "divide";
    EXPECT_TRUE(device.get(f, bytes) == filled) << "fill";
    void *data = device.put(a), *out = device.put(std::vector<std::byte>(sizeof(kernels::Summary)));
    ASSERT_EQ(calls.summary(dtype, data, count, out, device.stream()), 0);
    const auto raw = device.get(out, sizeof(kernels::Summary));
    kernels::Summary summary;
    std::memcpy(&summary, raw.data(), sizeof summary);
    const kernels::Summary expected = kernels::host::summary(dtype, a.data(), count, 0);
    EXPECT_EQ(summary.digest, expected.digest);
    EXPECT_EQ(summary.nan_count, expected.nan_count);
    EXPECT_EQ(summary.inf_count, expected.inf_count);
    EXPECT_EQ(summary.low, expected.low);
    EXPECT_EQ(summary.high, expected.high);
  }
}
INSTANTIATE_TEST_SUITE_P(AllDTypes, OnDevice, testing::ValuesIn(sim::kAllDTypes));

struct Looks : backend::StepObserver {
  void sends(const sim::Transfer&, const backend::ChunkNumbers& n) override { (void)n.sample(); }
  void waits(const sim::Transfer&) override {}
  void arrived(const sim::Transfer&, std::int64_t) override {}
  void holds(const sim::Transfer&, const backend::ChunkNumbers& n) override { (void)n.sample(); }
};

/// NCCL between as many GPUs as there are (up to 8), one thread each. Stepped must give the simulator's bits;
/// ncclAllReduce is forced to the ring (main) and the first differing element is named.
TEST(NcclOnDevice, SteppedAndFusedGiveTheSimulatorsNumbers) {
  const int world_size = std::min(gpus(), 8);
  for (const sim::DType dtype : sim::kAllDTypes)
    for (const std::int64_t count : {1, 1000, 1'000'003}) {
      sim::ScheduleRequest request;
      request.dtype = dtype;
      request.count = count;
      request.world_size = world_size;
      const auto schedule = sim::make_schedule(request);
      std::vector<std::shared_ptr<const sim::Tensor>> in;
      for (int r = 0; r < world_size; ++r) in.push_back(input(dtype, count, r));
      const auto expected = sim::execute_numbers(schedule, sim::ReduceOp::Sum, in);
      GpuWorld world(world_size);
      std::vector<std::thread> threads;
      for (int r = 0; r < world_size; ++r)
        threads.emplace_back([&, r] {
          auto plane = backend::make_gpu_plane(std::make_unique<HostDouble>(world, r),
                                               backend::make_gpu_calls(), {.device = r});
          ASSERT_TRUE(plane) << plane.error().message();
          const auto i = static_cast<std::size_t>(r);
          std::vector<std::byte> a = in[i]->data, b = a;
          Looks looks;
          const auto stepped = (*plane)->stepped(schedule, {dtype, sim::ReduceOp::Sum, a}, looks);
          ASSERT_TRUE(stepped) << stepped.error().message();
          EXPECT_TRUE(a == expected.result[i]->data) << "stepped, " << to_word(dtype) << " × " << count;
          const auto fused = (*plane)->fused({dtype, sim::ReduceOp::Sum, b});
          ASSERT_TRUE(fused) << fused.error().message();
          const auto difference = backend::compare_results(dtype, expected.result[i]->data, b);
          if (difference.differing > 0)  // chunks of NCCL's own: allowed where the sum is not exact
            std::printf("fused against the simulator: %s\n", backend::comparison_text(difference, 0).c_str());
          if (!sim::is_floating(dtype)) {
            EXPECT_EQ(difference.differing, 0);
          }
          (*plane)->finalize();
        });
      for (std::thread& thread : threads) thread.join();
    }
}

TEST(NcclOnDevice, AbortEndsAWaitForARankThatLeft) {
  if (gpus() < 2) GTEST_SKIP() << "not run: one GPU, this needs two";
  GpuWorld world(2);
  std::vector<std::thread> threads;
  const auto began = std::chrono::steady_clock::now();
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      auto plane = backend::make_gpu_plane(std::make_unique<HostDouble>(world, r), backend::make_gpu_calls(),
                                           {.device = r});
      ASSERT_TRUE(plane) << plane.error().message();
      if (r == 1) return (*plane)->abort();
      std::vector<std::byte> data(4096);
      std::thread watchdog([&] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        (*plane)->abort();
      });
      EXPECT_FALSE((*plane)->fused({sim::DType::Float32, sim::ReduceOp::Sum, data}));
      watchdog.join();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(LiveOnDevice, ARunWithBothModesCompletes) {
  const std::string ranks = std::to_string(std::min(gpus(), 8));
  const std::string command = std::string(RINGSIDE_BIN_DIR) +
                              "/ringside-cli live --json --device gpu --both --op sum --steps 5 -n " + ranks;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  ASSERT_EQ(WEXITSTATUS(::pclose(pipe)), 0);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["outcome"], "completed");
  EXPECT_EQ(json["device"], "gpu");
  std::printf("stepped and fused: %s\n", json["comparison"].dump().c_str());
}

}  // namespace
}  // namespace ringside

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // What the simulator's ring stands for; the user's own choice wins.
  ::setenv("NCCL_ALGO", "Ring", 0);
  ::setenv("NCCL_PROTO", "Simple", 0);
  if (!testing::GTEST_FLAG(list_tests) && ringside::gpus() == 0) {
    std::printf("not run: no GPU (%s)\n", ringside::backend::make_gpu_calls() == nullptr
                                              ? "and this build has no CUDA and NCCL"
                                              : "that CUDA can use on this machine");
    return 77;
  }
  return RUN_ALL_TESTS();
}
