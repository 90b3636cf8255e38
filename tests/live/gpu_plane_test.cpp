// The GPU plane against a double of CUDA and NCCL: its numbers are the simulator's, in whatever order the
// device works; its calls are in the right order; errors, lost peers and aborts end it and leave nothing.
#include "backend/live/gpu_plane.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "sim/base/random.hpp"
#include "sim/collective/executor.hpp"
#include "tests/live/gpu_double.hpp"

namespace ringside {
namespace {

using backend::DataPlane;
using backend::DeviceWish;
using backend::Nccl;
using test::GpuDouble;
using test::GpuWorld;
using test::HostDouble;
using test::Pace;
using test::Trouble;
using namespace std::chrono_literals;

/// What an observer saw, with the samples it asked for.
struct Seen : backend::StepObserver {
  struct Row {
    std::string what;
    std::uint32_t step, chunk;
    sim::Sample sample;
    bool operator==(const Row&) const = default;
  };
  bool asks = true;
  std::vector<Row> rows;
  int waited = 0;
  void add(const char* what, const sim::Transfer& t, const backend::ChunkNumbers* numbers) {
    Row row{what, t.step, t.chunk, {}};
    if (asks && numbers != nullptr)
      if (const auto sample = numbers->sample()) row.sample = *sample;
    rows.push_back(std::move(row));
  }
  void sends(const sim::Transfer& t, const backend::ChunkNumbers& n) override { add("sends", t, &n); }
  void waits(const sim::Transfer&) override { ++waited; }
  void arrived(const sim::Transfer&, std::int64_t) override {}
  void holds(const sim::Transfer& t, const backend::ChunkNumbers& n) override { add("holds", t, &n); }
};

std::vector<std::shared_ptr<const sim::Tensor>> inputs(sim::DType dtype, std::int64_t count, int world) {
  std::vector<std::shared_ptr<const sim::Tensor>> out;
  for (int r = 0; r < world; ++r) {
    auto tensor = std::make_shared<sim::Tensor>(dtype, sim::Shape{{count}});
    for (std::int64_t i = 0; i < count; ++i) {
      const auto raw = sim::draw_u64({.seed = 3,
                                      .rank = static_cast<std::uint64_t>(r),
                                      .step = 0,
                                      .purpose = sim::Purpose::TensorValues},
                                     static_cast<std::uint64_t>(i));
      tensor->set(i, raw % 101 == 0
                         ? sim::make_scalar(dtype, std::numeric_limits<double>::quiet_NaN())
                         : sim::make_scalar(dtype, static_cast<double>(raw % 20'001) / 1000.0 - 10.0));
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

struct RankRun {
  std::shared_ptr<GpuDouble::Notes> notes = std::make_shared<GpuDouble::Notes>();
  Trouble trouble;
  bool comes = true;
};

/// Runs `body(rank, plane)` on a thread for each rank that comes.
template <class Body>
void on_ranks(std::vector<RankRun>& ranks, Pace pace, const Body& body,
              std::chrono::milliseconds limit = 10s) {
  GpuWorld world(static_cast<int>(ranks.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < world.size(); ++r)
    threads.emplace_back([&, r] {
      RankRun& run = ranks[static_cast<std::size_t>(r)];
      auto host = std::make_unique<HostDouble>(world, r);
      if (!run.comes) {
        host->broadcast_text({});  // it takes part in the bootstrap and is lost after it
        return;
      }
      auto calls = std::make_unique<GpuDouble>(world, r, pace, run.trouble, run.notes);
      auto plane =
          backend::make_gpu_plane(std::move(host), std::move(calls), {.device = 0, .init_limit = limit});
      body(r, std::move(plane));
    });
  for (std::thread& thread : threads) thread.join();
  for (const RankRun& run : ranks) EXPECT_EQ(run.notes->violations, std::vector<std::string>{});
}

sim::Schedule schedule_of(sim::DType dtype, std::int64_t count, int world, sim::Algorithm algorithm,
                          int channels = 1) {
  sim::ScheduleRequest request;
  request.algorithm = algorithm;
  request.dtype = dtype;
  request.count = count;
  request.world_size = world;
  request.channels = channels;
  return sim::make_schedule(request);
}

/// The rows that rank should have seen, from the simulator.
std::vector<Seen::Row> expected_rows(const sim::Schedule& schedule, sim::ReduceOp op,
                                     std::span<const std::shared_ptr<const sim::Tensor>> in, int rank) {
  std::vector<Seen::Row> rows;
  const sim::DType dtype = in[0]->dtype;
  std::uint32_t step = 0;
  std::vector<Seen::Row> held;
  sim::execute_numbers(schedule, op, in,
                       [&](std::size_t i, std::span<const std::byte> arrived, std::span<const std::byte>,
                           std::span<const std::byte> after) {
                         const sim::Transfer& t = schedule.transfers[i];
                         if (t.step != step) rows.insert(rows.end(), held.begin(), held.end()), held.clear();
                         step = t.step;
                         if (t.src == rank)
                           rows.push_back({"sends", t.step, t.chunk, sim::sample_of(dtype, arrived)});
                         if (t.dst == rank)
                           held.push_back({"holds", t.step, t.chunk, sim::sample_of(dtype, after)});
                       });
  rows.insert(rows.end(), held.begin(), held.end());
  return rows;
}

class SameBits : public testing::TestWithParam<std::tuple<int, sim::DType>> {};

void stepped_and_fused(int world, sim::DType dtype, sim::ReduceOp op, Pace pace, std::int64_t count) {
  const auto in = inputs(dtype, count, world);
  const auto schedule = schedule_of(dtype, count, world, sim::Algorithm::Ring);
  const auto expected = sim::execute_numbers(schedule, op, in);
  std::vector<RankRun> ranks(static_cast<std::size_t>(world));
  for (RankRun& run : ranks) run.trouble.in_progress = count == 105 ? 3 : 0;
  on_ranks(ranks, pace, [&](int r, sim::Result<std::unique_ptr<DataPlane>> plane) {
    ASSERT_TRUE(plane) << plane.error().message();
    std::vector<std::byte> a = in[static_cast<std::size_t>(r)]->data, b = a, c = a;
    Seen seen, quiet;
    quiet.asks = false;
    ASSERT_TRUE((*plane)->stepped(schedule, {dtype, op, a}, seen));
    EXPECT_TRUE(a == expected.result[static_cast<std::size_t>(r)]->data) << "stepped";
    EXPECT_TRUE(seen.rows == expected_rows(schedule, op, in, r));
    ASSERT_TRUE((*plane)->stepped(schedule, {dtype, op, b}, quiet));
    EXPECT_TRUE(b == a) << "looking changes nothing";
    ASSERT_TRUE((*plane)->fused({dtype, op, c}));
    EXPECT_TRUE(c == a) << "fused";
    (*plane)->finalize();
  });
  for (const RankRun& run : ranks) {
    EXPECT_EQ(run.notes->destroys, 1);
    EXPECT_EQ(run.notes->aborts, 0);
    EXPECT_EQ(run.notes->allocations, 0) << "device memory is given back";
  }
}

TEST_P(SameBits, SteppedAndFusedGiveTheSimulatorsNumbersStepByStep) {
  const auto [world, dtype] = GetParam();
  for (const sim::ReduceOp op : {sim::ReduceOp::Sum, sim::ReduceOp::Avg, sim::ReduceOp::SumThenDivide,
                                 sim::ReduceOp::Prod, sim::ReduceOp::Max})
    for (const Pace pace : {Pace::Late, Pace::Early})
      for (const std::int64_t count : {1, 105, 700}) stepped_and_fused(world, dtype, op, pace, count);
}
INSTANTIATE_TEST_SUITE_P(Matrix, SameBits,
                         testing::Combine(testing::Values(2, 3, 4, 8), testing::ValuesIn(sim::kAllDTypes)));

TEST(GpuPlane, OtherAlgorithmsAndChannelsToo) {
  struct Case {
    sim::Algorithm algorithm;
    int world, channels;
  };
  for (const Case& c : {Case{sim::Algorithm::RecursiveDoubling, 4, 1}, Case{sim::Algorithm::Naive, 3, 1},
                        Case{sim::Algorithm::BinomialTree, 5, 1}, Case{sim::Algorithm::Ring, 4, 2},
                        Case{sim::Algorithm::Rabenseifner, 8, 1}}) {
    const auto in = inputs(sim::DType::Float32, 333, c.world);
    const auto schedule = schedule_of(sim::DType::Float32, 333, c.world, c.algorithm, c.channels);
    const auto expected = sim::execute_numbers(schedule, sim::ReduceOp::Sum, in);
    std::vector<RankRun> ranks(static_cast<std::size_t>(c.world));
    on_ranks(ranks, Pace::Late, [&](int r, sim::Result<std::unique_ptr<DataPlane>> plane) {
      ASSERT_TRUE(plane);
      std::vector<std::byte> a = in[static_cast<std::size_t>(r)]->data;
      Seen seen;
      ASSERT_TRUE((*plane)->stepped(schedule, {sim::DType::Float32, sim::ReduceOp::Sum, a}, seen));
      EXPECT_TRUE(a == expected.result[static_cast<std::size_t>(r)]->data);
      (*plane)->finalize();
    });
  }
}

/// Group, record, done, reduce: in each ring step, in this order, and no send outside.
TEST(GpuPlane, EachStepIsGroupedAndWaitedForBeforeItsReduction) {
  const int world = 3;
  const auto in = inputs(sim::DType::Float32, 9, world);
  const auto schedule = schedule_of(sim::DType::Float32, 9, world, sim::Algorithm::Ring);
  std::vector<RankRun> ranks(world);
  for (RankRun& run : ranks) run.trouble.in_progress = 2;
  on_ranks(ranks, Pace::Late, [&](int r, sim::Result<std::unique_ptr<DataPlane>> plane) {
    ASSERT_TRUE(plane);
    std::vector<std::byte> a = in[static_cast<std::size_t>(r)]->data;
    Seen quiet;
    quiet.asks = false;
    ASSERT_TRUE((*plane)->stepped(schedule, {sim::DType::Float32, sim::ReduceOp::Sum, a}, quiet));
    (*plane)->finalize();
  });
  const std::vector<std::string> step{"group_start", "recv 2", "send 1", "group_end", "record", "done"};
  std::vector<std::string> expected{"use_device", "make_id", "comm_init", "copy_in"};
  for (int s = 0; s < 4; ++s) {
    if (s == 0) expected.push_back("fill");
    expected.insert(expected.end(), step.begin(), step.end());
    expected.push_back(s < 2 ? "reduce" : "copy_within");
  }
  for (const char* call :
       {"record", "done", "copy_out", "record", "done", "comm_finalize", "comm_destroy", "release_stream"})
    expected.push_back(call);
  EXPECT_EQ(ranks[0].notes->calls, expected);
}

TEST(GpuPlane, AnAsynchronousErrorAbortsOnceAndSaysWhatPyTorchSays) {
  std::vector<RankRun> ranks(2);
  ranks[0].trouble.async_error_after = 20;
  ranks[1].trouble.loses_sends = true;  // so that rank 0 waits
  ranks[1].trouble.async_error_after = 20;
  const auto in = inputs(sim::DType::Float32, 64, 2);
  const auto schedule = schedule_of(sim::DType::Float32, 64, 2, sim::Algorithm::Ring);
  on_ranks(ranks, Pace::Late, [&](int r, sim::Result<std::unique_ptr<DataPlane>> plane) {
    ASSERT_TRUE(plane);
    std::vector<std::byte> a = in[static_cast<std::size_t>(r)]->data;
    Seen seen;
    const auto status = (*plane)->stepped(schedule, {sim::DType::Float32, sim::ReduceOp::Sum, a}, seen);
    ASSERT_FALSE(status);
    const std::string text = status.error().message();
    EXPECT_NE(text.find("remote process exited or there was a network error, NCCL 2.28.9"), std::string::npos)
        << text;
    EXPECT_NE(text.find("ncclRemoteError: A call failed possibly due to a network error"), std::string::npos);
    EXPECT_NE(text.find("Last error: socketProgress: Connection closed by peer"), std::string::npos);
    const auto again = (*plane)->fused({sim::DType::Float32, sim::ReduceOp::Sum, a});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().what, "NCCL communicator was aborted on rank " + std::to_string(r));
    (*plane)->finalize();
  });
  for (const RankRun& run : ranks) {
    EXPECT_EQ(run.notes->aborts, 1);
    EXPECT_EQ(run.notes->destroys, 0) << "an aborted communicator is not destroyed again";
  }
}

TEST(GpuPlane, ACudaErrorAbortsWhereverItHappens) {
  const auto in = inputs(sim::DType::Float16, 500, 2);
  const auto schedule = schedule_of(sim::DType::Float16, 500, 2, sim::Algorithm::Ring);
  for (int at = 0; at < 12; ++at) {  // copies, fill, scale, looks, reductions, in turn
    std::vector<RankRun> ranks(2);
    for (RankRun& run : ranks) run.trouble.cuda_error_at = at;
    on_ranks(ranks, Pace::Late, [&](int r, sim::Result<std::unique_ptr<DataPlane>> plane) {
      ASSERT_TRUE(plane);
      std::vector<std::byte> a = in[static_cast<std::size_t>(r)]->data;
      Seen seen;
      const auto status = (*plane)->stepped(schedule, {sim::DType::Float16, sim::ReduceOp::Avg, a}, seen);
      ASSERT_FALSE(status) << "error at call " << at;
      EXPECT_NE(status.error().what.find("CUDA error 700"), std::string::npos) << status.error().what;
    });
    for (const RankRun& run : ranks) EXPECT_EQ(run.notes->aborts, 1) << "error at call " << at;
  }
}

/// What the watchdog does: it aborts from its own thread while the training thread waits for a lost peer.
TEST(GpuPlane, AbortFromAnotherThreadEndsAWaitForALostPeer) {
  for (const bool fused : {false, true}) {
    std::vector<RankRun> ranks(3);
    const auto in = inputs(sim::DType::Float32, 30, 3);
    const auto schedule = schedule_of(sim::DType::Float32, 30, 3, sim::Algorithm::Ring);
    on_ranks(ranks, Pace::Late, [&](int r, sim::Result<std::unique_ptr<DataPlane>> plane) {
      ASSERT_TRUE(plane);
      if (r == 2) return (*plane)->abort();  // it stops taking part
      std::vector<std::byte> a = in[static_cast<std::size_t>(r)]->data;
      std::thread watchdog([&] {
        std::this_thread::sleep_for(30ms);
        (*plane)->abort();
        (*plane)->abort();
      });
      Seen seen;
      const backend::PlaneCall call{sim::DType::Float32, sim::ReduceOp::Sum, a};
      const auto status = fused ? (*plane)->fused(call) : (*plane)->stepped(schedule, call, seen);
      watchdog.join();
      ASSERT_FALSE(status);
      EXPECT_NE(status.error().what.find("aborted on rank"), std::string::npos);
      if (!fused && r == 0) {
        EXPECT_GT(seen.waited, 0);
      }
    });
    for (const RankRun& run : ranks) {
      EXPECT_EQ(run.notes->aborts, 1);
      EXPECT_EQ(run.notes->calls.back(), "comm_abort") << "nothing is called after it";
    }
  }
}

TEST(GpuPlane, AWrongCountHangsUntilTheAbort) {
  std::vector<RankRun> ranks(2);
  on_ranks(ranks, Pace::Late, [&](int r, sim::Result<std::unique_ptr<DataPlane>> plane) {
    ASSERT_TRUE(plane);
    const std::int64_t count = r == 0 ? 12 : 10;
    const auto schedule = schedule_of(sim::DType::Float32, count, 2, sim::Algorithm::Ring);
    std::vector<std::byte> a(static_cast<std::size_t>(count) * 4);
    std::thread watchdog([&] {
      std::this_thread::sleep_for(30ms);
      (*plane)->abort();
    });
    Seen seen;
    EXPECT_FALSE((*plane)->stepped(schedule, {sim::DType::Float32, sim::ReduceOp::Sum, a}, seen));
    watchdog.join();
  });
}

TEST(GpuPlane, APeerThatNeverComesEndsTheStart) {
  std::vector<RankRun> ranks(3);
  ranks[2].comes = false;
  on_ranks(
      ranks, Pace::Late,
      [&](int, sim::Result<std::unique_ptr<DataPlane>> plane) {
        ASSERT_FALSE(plane);
        EXPECT_NE(plane.error().what.find("not every rank came"), std::string::npos) << plane.error().what;
        EXPECT_NE(plane.error().hint.find("NCCL_DEBUG"), std::string::npos);
      },
      50ms);
  EXPECT_EQ(ranks[0].notes->aborts, 1);
  EXPECT_EQ(ranks[1].notes->aborts, 1);
}

TEST(GpuPlane, WithoutAnIdEveryRankSaysSo) {
  std::vector<RankRun> ranks(2);
  ranks[0].trouble.no_id = true;
  on_ranks(ranks, Pace::Late, [&](int, sim::Result<std::unique_ptr<DataPlane>> plane) {
    ASSERT_FALSE(plane);
    EXPECT_NE(plane.error().what.find("ncclGetUniqueId"), std::string::npos);
  });
}

struct Choice {
  std::string device;  // or the error
  std::string why;
};
std::vector<Choice> choices(DeviceWish wish, std::vector<RankRun>& ranks, bool built = true) {
  GpuWorld world(static_cast<int>(ranks.size()));
  std::vector<Choice> out(ranks.size());
  std::vector<std::thread> threads;
  for (int r = 0; r < world.size(); ++r)
    threads.emplace_back([&, r] {
      const auto i = static_cast<std::size_t>(r);
      std::unique_ptr<backend::GpuCalls> calls;
      if (built) calls = std::make_unique<GpuDouble>(world, r, Pace::Late, ranks[i].trouble, ranks[i].notes);
      auto plane = backend::choose_plane(wish, std::make_unique<HostDouble>(world, r), std::move(calls), r,
                                         &out[i].why);
      out[i].device = plane ? (*plane)->device() : plane.error().message();
      if (plane) (*plane)->finalize();
    });
  for (std::thread& thread : threads) thread.join();
  return out;
}

TEST(DeviceChoice, AutoTakesTheGpusWhereEveryRankHasOne) {
  std::vector<RankRun> ranks(3);
  for (const Choice& choice : choices(DeviceWish::Auto, ranks)) EXPECT_EQ(choice.device, "Double GPU (NCCL)");
  ranks = std::vector<RankRun>(3);
  for (const Choice& choice : choices(DeviceWish::Gpu, ranks)) EXPECT_EQ(choice.device, "Double GPU (NCCL)");
}

TEST(DeviceChoice, OneRankWithoutAGpuMovesAllToTheCpuAndSaysWhy) {
  std::vector<RankRun> ranks(3);
  for (RankRun& run : ranks) run.trouble.devices = 2;
  for (const Choice& choice : choices(DeviceWish::Auto, ranks)) {
    EXPECT_EQ(choice.device, "CPU (double)");
    EXPECT_EQ(choice.why, "rank 2 has no GPU of its own: 2 on its host, and it is local rank 2");
  }
  for (const Choice& choice : choices(DeviceWish::Gpu, ranks)) {
    EXPECT_NE(choice.device.find("rank 2 has no GPU of its own"), std::string::npos);
    EXPECT_NE(choice.device.find("--device cpu"), std::string::npos);
  }
}

TEST(DeviceChoice, NoDriverNoBuildNoWish) {
  std::vector<RankRun> ranks(2);
  for (RankRun& run : ranks) run.trouble.device_error = 35;
  for (const Choice& choice : choices(DeviceWish::Auto, ranks))
    EXPECT_EQ(choice.why, "no GPU was found (CUDA says: CUDA error 35)");
  ranks = std::vector<RankRun>(2);
  for (const Choice& choice : choices(DeviceWish::Gpu, ranks, false))
    EXPECT_NE(choice.device.find("this build has no CUDA and NCCL"), std::string::npos);
  ranks = std::vector<RankRun>(2);
  for (const Choice& choice : choices(DeviceWish::Cpu, ranks)) EXPECT_EQ(choice.device, "CPU (double)");
  for (const RankRun& run : ranks) EXPECT_TRUE(run.notes->calls.empty()) << "no CUDA call with --device cpu";
}

}  // namespace
}  // namespace ringside
