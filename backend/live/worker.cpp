#include "backend/live/worker.hpp"

#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "backend/files.hpp"
#include "backend/live/clock.hpp"
#include "backend/live/compare.hpp"
#include "backend/live/data_plane.hpp"
#include "backend/live/flight_log.hpp"
#include "backend/live/mpi_plane.hpp"
#include "sim/base/text.hpp"
#include "sim/job/buckets.hpp"
#include "sim/job/network.hpp"
#include "sim/scenario/inputs.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::backend {
namespace {

using sim::EventType;
using sim::FaultKind;
using sim::Phase;
constexpr auto kHeartbeat = std::chrono::milliseconds(250);
constexpr auto kWatchdogPoll = std::chrono::milliseconds(100);
constexpr int kWatchdogExit = 6;  // what SIGABRT would give: the stack ends so after a timeout
constexpr std::int64_t kSampledUpTo =
    4096;  // elements of a chunk that are looked at; more would disturb the run

/// The rank's whole state. The training thread owns all of it but what is marked shared.
class Worker : public StepObserver {
 public:
  Worker(SharedRank& shared, const WorkerOptions& options, std::unique_ptr<DataPlane> plane,
         sim::Scenario scenario)
      : shared_(shared),
        options_(options),
        plane_(std::move(plane)),
        scenario_(std::move(scenario)),
        rank_(plane_->rank()),
        on_gpu_(plane_->layer() == "nccl"),
        flight_(rank_, plane_->world_size(), scenario_.stack.watchdog_ns / 1'000'000) {}

  int run();

  // StepObserver: ring steps become records.
  void sends(const sim::Transfer& t, const ChunkNumbers& numbers) override {
    tell_step(EventType::RingStepBegin, t, t.dst, t.sender_primitive, &numbers);
  }
  void waits(const sim::Transfer& t) override {
    tell_step(EventType::RingStepWait, t, t.src, t.receiver_primitive, nullptr);
  }
  void arrived(const sim::Transfer& t, std::int64_t) override {
    if (t.action == sim::Action::Reduce)
      tell_step(EventType::RingStepArrive, t, t.src, t.receiver_primitive, nullptr);
  }
  void holds(const sim::Transfer& t, const ChunkNumbers& numbers) override {
    tell_step(EventType::RingStepEnd, t, t.src, t.receiver_primitive, &numbers);
  }

 private:
  /// This rank's clock: the machine's, unless a test makes it wrong.
  std::int64_t now_ns() const { return unix_ns() + shared_.clock_shift_ns; }
  Record record(EventType type) const {
    Record r;
    r.event.t = now_ns() - options_.origin_unix_ns;
    r.event.type = type;
    return r;
  }
  void tell(const Record& r) {
    if (telling_) shared_.main.push(r);
  }
  void tell_side(const Record& r) {
    const std::lock_guard lock(side_);
    shared_.side.push(r);
  }
  void tell_text(EventType type, std::string_view text, int code = 0, TextFrom from = TextFrom::Stderr) {
    Record r = record(type);
    r.event.text = sim::TextPayload{sim::kNone, static_cast<std::uint32_t>(from), code, 0};
    r.set_text(text);
    tell(r);
  }
  void tell_phase(EventType type, Phase phase, double loss = 0, bool has_loss = false);
  void tell_step(EventType type, const sim::Transfer& t, int peer, sim::Primitive primitive,
                 const ChunkNumbers* numbers);
  void tell_tensor(std::string_view name, const sim::Tensor& tensor);
  void tell_weights();

  void heartbeat_loop();
  void watchdog_loop();
  void expire(std::int64_t waited_ns);
  void abort_plane();
  [[noreturn]] void end_by_error(const std::string& text, const std::string& log);

  void training_step(std::int64_t step);
  void one_bucket(std::int64_t step, int bucket);
  /// One call of the collective, from enqueued to finished, in place in `data`.
  void call(std::int64_t step, const sim::Shape& shape, std::span<std::byte> data, bool stepped);
  void compare(int bucket, std::span<const std::byte> stepped, std::span<const std::byte> fused);
  bool guard_agrees(std::int64_t step, std::int64_t count);
  const sim::Schedule& schedule_for(std::int64_t count);
  sim::Chunk bucket_range(int bucket) const;
  /// The fault that strikes now, if one is armed for this step and place or was ordered by a controller.
  bool strikes(FaultKind kind, std::int64_t step, FaultOrder* out = nullptr);
  /// The same, of a controller's orders alone.
  bool take_order_of(FaultKind kind, std::int64_t step, FaultOrder* out);
  void slow_down(std::int64_t step, std::chrono::steady_clock::time_point began);
  void strike_before_step(std::int64_t step);
  void read_orders();

  SharedRank& shared_;
  const WorkerOptions& options_;
  std::unique_ptr<DataPlane> plane_;
  sim::Scenario scenario_;
  int rank_;
  bool on_gpu_;
  FlightLog flight_;  // shared, locks itself
  sim::Network network_;
  sim::Tensor gradient_, input_;  // input_: without a network, what each step begins with
  std::vector<FaultOrder> orders_;
  sim::Schedule schedule_;
  std::int64_t schedule_count_ = -1;
  std::int64_t seq_ = 0, step_ = 0;
  const sim::Schedule* now_running_ = nullptr;
  bool telling_ = true;                                        // WorkerOptions::tell_in_turn
  std::vector<std::pair<std::int64_t, std::int64_t>> times_;  // step, ns
  std::mutex side_;                                   // heartbeat and watchdog threads take turns
  std::atomic<std::int64_t> in_collective_since_{0};  // 0 = in none
  std::atomic<std::int64_t> elements_of_call_{0};     // of the call that it is in
  std::atomic<bool> over_{false};
};

void Worker::tell_phase(EventType type, Phase phase, double loss, bool has_loss) {
  shared_.phase.store(static_cast<std::uint8_t>(phase), std::memory_order_relaxed);
  Record r = record(type);
  r.event.phase = sim::PhasePayload{
      static_cast<std::int32_t>(step_), phase, has_loss ? sim::kHasLoss : std::uint8_t{0}, 0, loss, 0};
  tell(r);
}

void Worker::tell_step(EventType type, const sim::Transfer& t, int peer, sim::Primitive primitive,
                       const ChunkNumbers* numbers) {
  if (!telling_) return;
  const sim::Chunk& chunk = now_running_->chunks.chunks[t.chunk];
  Record r = record(type);
  r.seq = seq_;
  r.event.aux8 = static_cast<std::uint8_t>(primitive);
  r.event.flags = static_cast<std::uint8_t>(sim::WaitsFor::Peer);
  r.event.aux32 = static_cast<std::uint32_t>(chunk.count * sim::size_of(scenario_.tensor.dtype));
  r.event.ring =
      sim::RingStepPayload{sim::kNone, chunk.channel, chunk.loop, t.step, t.chunk, peer, sim::kNone};
  if (numbers != nullptr && (on_gpu_ || chunk.count <= kSampledUpTo))  // a GPU looks at any chunk by kernel
    if (const auto sample = numbers->sample()) r.set_sample(*sample);
  tell(r);
}

void Worker::tell_tensor(std::string_view name, const sim::Tensor& tensor) {
  if (!telling_ || tensor.count() > kSampledUpTo) return;
  Record r = record(EventType::TensorValues);
  r.event.tensor = sim::TensorPayload{sim::kNone, sim::kNone, sim::kNone, tensor.dtype, {}};
  r.set_text(name);
  r.set_sample(sim::sample_of(tensor));
  tell(r);
}

void Worker::tell_weights() {
  Record r = record(EventType::Weights);
  r.event.weights = sim::WeightsPayload{step_, network_.digest(rank_)};
  tell(r);
}

void Worker::heartbeat_loop() {
  while (!over_.load(std::memory_order_relaxed)) {
    shared_.beats.fetch_add(1, std::memory_order_relaxed);
    std::this_thread::sleep_for(kHeartbeat);
  }
}

void Worker::watchdog_loop() {
  const std::int64_t limit = scenario_.stack.watchdog_ns;
  while (limit > 0 && !over_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(kWatchdogPoll);
    const std::int64_t since = in_collective_since_.load(std::memory_order_acquire);
    if (since != 0 && unix_ns() - since > limit) expire(unix_ns() - since);
  }
}

/// The collective is stuck: dump, say so as the stack does, end. Never MPI_Abort: it would cut off the other
/// ranks' dumps.
void Worker::expire(std::int64_t waited_ns) {
  const auto dumped = flight_.write(options_.dump_folder);
  Record expired = record(EventType::WatchdogExpired);
  expired.event.watchdog = sim::WatchdogPayload{sim::kNone, sim::kNone, waited_ns};
  expired.seq = static_cast<std::int64_t>(shared_.enqueued.load());
  const std::int64_t ms = waited_ns / 1'000'000;
  const std::int64_t count = elements_of_call_.load();
  const std::string text =
      "[Rank " + std::to_string(rank_) +
      "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(expired.seq) +
      ", OpType=ALLREDUCE, NumelIn=" + std::to_string(count) + ", NumelOut=" + std::to_string(count) +
      ", Timeout(ms)=" + std::to_string(scenario_.stack.watchdog_ns / 1'000'000) + ") ran for " +
      std::to_string(ms) + " milliseconds before timing out.";
  expired.set_text(text);
  tell_side(expired);
  Record log = record(EventType::LogLine);
  log.event.text = sim::TextPayload{sim::kNone, 0, 0, 0};
  log.set_text("[PG ID 0 PG GUID 0(default_pg) Rank " + std::to_string(rank_) + "] " + text);
  tell_side(log);
  if (!dumped) {
    Record failed = record(EventType::LogLine);
    failed.event.text = sim::TextPayload{sim::kNone, 0, 0, 0};
    failed.set_text(dumped.error().message());
    tell_side(failed);
  }
  if (on_gpu_) tell_side(record(EventType::CommAbort));
  abort_plane();
  ::_exit(kWatchdogExit);
}

/// NCCL's abort waits for what runs on the GPU: it gets two seconds, then the process ends anyway.
void Worker::abort_plane() {
  const auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([this, done] {
    plane_->abort();
    done->store(true);
  }).detach();
  for (int i = 0; i < 200 && !done->load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void Worker::end_by_error(const std::string& text, const std::string& log) {
  (void)flight_.write(options_.dump_folder);
  tell_text(EventType::Error, text, 1, on_gpu_ ? TextFrom::Nccl : TextFrom::Mpi);
  tell_text(EventType::LogLine, log.empty() ? text : log);
  if (on_gpu_) tell(record(EventType::CommAbort));
  abort_plane();
  ::_exit(kWatchdogExit);
}

bool Worker::strikes(FaultKind kind, std::int64_t step, FaultOrder* out) {
  for (const sim::Fault& fault : scenario_.faults) {
    if (fault.kind != kind || fault.rank != rank_ || fault.step != step) continue;
    if (out) *out = {kind, step, fault.duration_ns, fault.element, fault.shape ? fault.shape->count() : 0};
    return true;
  }
  return take_order_of(kind, step, out);
}

bool Worker::take_order_of(FaultKind kind, std::int64_t step, FaultOrder* out) {
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    if (orders_[i].kind != kind || (orders_[i].step != 0 && orders_[i].step != step)) continue;
    if (out) *out = orders_[i];
    orders_.erase(orders_.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

void Worker::read_orders() {
  FaultOrder order;
  while (shared_.take_order(order)) orders_.push_back(order);
}

void Worker::strike_before_step(std::int64_t step) {
  if (strikes(FaultKind::Crash, step)) ::raise(SIGKILL);
  if (strikes(FaultKind::Hang, step)) ::raise(SIGSTOP);
  if (strikes(FaultKind::EarlyExit, step)) {
    tell_text(EventType::LogLine, "data loader exhausted, leaving");
    ::_exit(0);
  }
}

/// As in the simulator, a rank that became slow stays it; what a controller orders holds for one step.
void Worker::slow_down(std::int64_t step, std::chrono::steady_clock::time_point began) {
  std::int64_t longer_ns = 0;
  for (const sim::Fault& fault : scenario_.faults) {
    if (fault.kind != FaultKind::Slow || fault.rank != rank_ || fault.step > step) continue;
    longer_ns += fault.duration_ns;
    if (fault.factor_ppm <= 0) continue;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
    const double factor = static_cast<double>(fault.factor_ppm) / 1e6;
    longer_ns += static_cast<std::int64_t>(static_cast<double>(took.count()) * (1 / factor - 1));
  }
  FaultOrder order;
  if (take_order_of(FaultKind::Slow, step, &order))
    longer_ns += order.duration_ns > 0 ? order.duration_ns : 1'000'000'000;
  std::this_thread::sleep_for(std::chrono::nanoseconds(longer_ns));
}

/// As the simulator cuts it: with a network the last layer first.
sim::Chunk Worker::bucket_range(int bucket) const {
  const sim::Bucket part =
      sim::bucket_plan(scenario_.training, gradient_.count())[static_cast<std::size_t>(bucket)];
  return {part.offset, part.count, 0, 0, 0};
}

const sim::Schedule& Worker::schedule_for(std::int64_t count) {
  if (schedule_count_ != count) {
    sim::ScheduleRequest request = scenario_.schedule_request();
    request.count = count;
    schedule_ = sim::make_schedule(request);
    schedule_count_ = count;
  }
  return schedule_;
}

/// As TORCH_DISTRIBUTED_DEBUG=DETAIL: everybody's call is compared before it runs; the odd one out becomes a
/// clean error.
bool Worker::guard_agrees(std::int64_t step, std::int64_t count) {
  const Fingerprint mine{step, static_cast<std::int64_t>(scenario_.collective.collective),
                         static_cast<std::int64_t>(scenario_.tensor.dtype), count,
                         static_cast<std::int64_t>(scenario_.collective.op)};
  std::vector<Fingerprint> all(static_cast<std::size_t>(plane_->world_size()));
  if (const auto status = plane_->exchange(mine, all); !status) end_by_error(status.error().message(), {});
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] == mine) continue;
    const auto print = [](const Fingerprint& f) {
      return "CollectiveFingerPrint(SequenceNumber=" + std::to_string(f.seq) +
             ", OpType=ALLREDUCE, TensorShape=[" + std::to_string(f.count) + "])";
    };
    end_by_error("Detected mismatch between collectives on ranks. Rank " + std::to_string(rank_) +
                     " is running collective: " + print(mine) + ", but Rank " + std::to_string(r) +
                     " is running collective: " + print(all[r]) + ".",
                 {});
  }
  return true;
}

void Worker::one_bucket(std::int64_t step, int bucket) {
  const sim::Chunk range = bucket_range(bucket);
  const std::int64_t size = sim::size_of(gradient_.dtype);
  std::int64_t count = range.count;
  FaultOrder wrong_call;
  if (strikes(FaultKind::Shape, step, &wrong_call))
    count = wrong_call.count > 0 ? wrong_call.count : count + std::max<std::int64_t>(1, count / 2);
  std::vector<std::byte> wrong;  // a call with more elements than the gradient has needs a buffer of its own
  std::span<std::byte> data(gradient_.data.data() + range.offset * size,
                            static_cast<std::size_t>(range.count * size));
  if (count != range.count) {
    wrong.assign(static_cast<std::size_t>(count * size), std::byte{0});
    std::copy_n(data.begin(), std::min(data.size(), wrong.size()), wrong.begin());
    data = wrong;
  }
  const sim::Shape shape =
      scenario_.training.buckets == 1 && count == range.count ? gradient_.shape : sim::Shape{{count}};
  std::vector<std::byte> again;
  if (options_.mode == CollectiveMode::Both) again.assign(data.begin(), data.end());
  call(step, shape, data, options_.mode != CollectiveMode::Fused);
  if (options_.mode == CollectiveMode::Both) {
    call(step, shape, again, false);
    compare(bucket, data, again);
  }
  if (!wrong.empty())
    std::copy_n(wrong.begin(), std::min(static_cast<std::int64_t>(wrong.size()), range.count * size),
                gradient_.data.begin() + range.offset * size);
}

void Worker::compare(int bucket, std::span<const std::byte> stepped, std::span<const std::byte> fused) {
  const Comparison comparison = compare_results(gradient_.dtype, stepped, fused);
  tell_text(EventType::LogLine, comparison_text(comparison, bucket), 0, TextFrom::Compare);
  if (comparison.differing == 0 || comparison.count > kSampledUpTo) return;
  for (const auto& [name, data] :
       {std::pair("compare.stepped", stepped), std::pair("compare.fused", fused)}) {
    Record r = record(EventType::TensorValues);
    r.event.tensor = sim::TensorPayload{sim::kNone, sim::kNone, sim::kNone, gradient_.dtype, {}};
    r.set_text(name);
    r.set_sample(sim::sample_of(gradient_.dtype, data));
    tell(r);
  }
}

void Worker::call(std::int64_t step, const sim::Shape& shape, std::span<std::byte> data, bool stepped) {
  const std::int64_t count = static_cast<std::int64_t>(data.size()) / sim::size_of(gradient_.dtype);
  const sim::Schedule& schedule = schedule_for(count);
  const auto began = std::chrono::steady_clock::now();
  ++seq_;
  shared_.enqueued.store(static_cast<std::uint32_t>(seq_), std::memory_order_relaxed);
  flight_.enqueued(seq_, scenario_.collective.collective, gradient_.dtype, shape, now_ns());
  Record called = record(EventType::CollectiveEnqueued);
  called.seq = seq_;
  called.step = static_cast<std::int32_t>(step);
  called.event.collective = sim::CollectivePayload{sim::kNone,
                                                   sim::kNone,
                                                   count,
                                                   scenario_.collective.collective,
                                                   scenario_.collective.op,
                                                   gradient_.dtype,
                                                   scenario_.collective.algorithm,
                                                   0,
                                                   static_cast<std::uint8_t>(scenario_.collective.channels),
                                                   0};
  called.order = scenario_.collective.order;
  called.chunking = scenario_.collective.chunking;
  if (stepped) {
    called.steps = schedule.steps;
    called.reduce_steps = schedule.reduce_steps;
    called.transfers = static_cast<std::uint32_t>(schedule.transfers.size());
  }
  tell(called);
  elements_of_call_.store(count);
  in_collective_since_.store(unix_ns(), std::memory_order_release);
  if (options_.guard) guard_agrees(step, count);

  Record moved = called;
  moved.event.type = EventType::CollectiveStarted;
  moved.event.t = now_ns() - options_.origin_unix_ns;
  flight_.started(seq_, now_ns());
  shared_.started.store(static_cast<std::uint32_t>(seq_), std::memory_order_relaxed);
  tell(moved);
  now_running_ = &schedule;
  const PlaneCall plane_call{gradient_.dtype, scenario_.collective.op, data};
  const auto status = stepped ? plane_->stepped(schedule, plane_call, *this) : plane_->fused(plane_call);
  if (!status)
    end_by_error(status.error().message(),
                 (on_gpu_ ? "" : "*** An error occurred in MPI_Allreduce: ") + status.error().message());
  in_collective_since_.store(0, std::memory_order_release);
  flight_.completed(seq_, now_ns());
  shared_.completed.store(static_cast<std::uint32_t>(seq_), std::memory_order_relaxed);
  moved.event.type = EventType::CollectiveFinished;
  moved.event.t = now_ns() - options_.origin_unix_ns;
  tell(moved);
  if (!options_.times_path.empty())
    times_.emplace_back(step, std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count());
}

void Worker::training_step(std::int64_t step) {
  step_ = step;
  telling_ = !options_.tell_in_turn || step % 2 == 1;
  shared_.step.store(static_cast<std::int32_t>(step), std::memory_order_relaxed);
  const auto began = std::chrono::steady_clock::now();
  read_orders();
  strike_before_step(step);
  if (strikes(FaultKind::SkipStep, step)) {
    tell_text(EventType::LogLine, "skipping step " + std::to_string(step));
    return;
  }
  double loss = 0;
  tell_phase(EventType::PhaseBegin, Phase::Forward);
  if (network_.enabled()) loss = network_.forward(rank_, step);
  tell_phase(EventType::PhaseEnd, Phase::Forward);
  tell_phase(EventType::PhaseBegin, Phase::Loss);
  tell_phase(EventType::PhaseEnd, Phase::Loss, loss, network_.enabled());
  tell_phase(EventType::PhaseBegin, Phase::Backward);
  if (network_.enabled()) {
    gradient_ = network_.backward(rank_, step, scenario_.tensor.dtype);
  } else {
    gradient_ = input_;
  }
  slow_down(step, began);
  FaultOrder order;
  if (strikes(FaultKind::Nan, step, &order)) {
    const std::int64_t element = std::min(order.element, gradient_.count() - 1);
    gradient_.set(
        element, sim::canonical(sim::make_scalar(gradient_.dtype, std::numeric_limits<double>::quiet_NaN())));
    Record found = record(EventType::NanFound);
    found.event.nan = sim::NanPayload{sim::kNone, static_cast<std::int32_t>(step), element, 1};
    found.set_text("gradient");
    tell(found);
  }
  tell_phase(EventType::PhaseEnd, Phase::Backward);
  tell_tensor("input", gradient_);

  tell_phase(EventType::PhaseBegin, Phase::AllReduce);
  const int buckets = scenario_.training.buckets;
  const bool swapped = buckets > 1 && strikes(FaultKind::WrongOrder, step);
  for (int b = 0; b < buckets; ++b) one_bucket(step, swapped && b < 2 ? 1 - b : b);
  tell_phase(EventType::PhaseEnd, Phase::AllReduce);
  tell_tensor("result", gradient_);
  tell_phase(EventType::PhaseBegin, Phase::Optimizer);
  if (network_.enabled()) network_.update(rank_, gradient_);
  tell_phase(EventType::PhaseEnd, Phase::Optimizer);
  if (network_.enabled()) tell_weights();
  const auto least = std::chrono::nanoseconds(options_.step_ns);
  const auto took = std::chrono::steady_clock::now() - began;
  if (took < least) std::this_thread::sleep_for(least - took);
}

int Worker::run() {
  if (scenario_.training.network.enabled)
    network_ = sim::Network(scenario_.training.network, scenario_.seed, plane_->world_size());
  else if (const auto input = sim::make_input(scenario_, rank_))
    input_ = *input;
  else  // a scenario without values: zeros of its shape
    input_ = sim::Tensor(scenario_.tensor.dtype, scenario_.tensor.shape);
  std::thread heart([this] { heartbeat_loop(); });
  std::thread watchdog([this] { watchdog_loop(); });
  tell_text(EventType::CommInit, "default_pg");
  for (std::int64_t step = 1; step <= scenario_.training.steps; ++step) training_step(step);
  if (rank_ == 0 && !options_.times_path.empty()) {
    std::ofstream file(options_.times_path);
    for (const auto& [step, ns] : times_) file << step << ' ' << ns << '\n';
  }
  in_collective_since_.store(unix_ns(),
                             std::memory_order_release);  // leaving together is a wait like any other
  plane_->finalize();
  over_.store(true);
  heart.join();
  watchdog.join();
  return 0;
}

/// This rank's number on its host, which picks its GPU: from the launcher's environment (Open MPI, Slurm).
int local_rank(int rank) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return rank;
}

/// For tests: RINGSIDE_TEST_HOSTS="beta:2:250000000" makes ranks from 2 on say that they are on host beta, whose
/// clock is 250 ms ahead. Several, separated by commas; the last that fits counts.
void pretend_other_host(SharedRank& shared, int rank) {
  const char* value = std::getenv("RINGSIDE_TEST_HOSTS");
  std::stringstream hosts(value == nullptr ? "" : value);
  for (std::string one; std::getline(hosts, one, ',');) {
    char name[64] = {};
    int from = 0;
    long long shift = 0;
    if (std::sscanf(one.c_str(), "%63[^:]:%d:%lld", name, &from, &shift) != 3 || rank < from) continue;
    std::snprintf(shared.host, sizeof shared.host, "%s", name);
    shared.clock_shift_ns = shift;
  }
}

/// Rank 0's scenario for everybody: what `ringside-cli live` put into the environment, else the file; empty if it
/// cannot be read, which the parser then says.
std::string scenario_text(const DataPlane& plane, const std::string& path) {
  constexpr std::int64_t kMaxBytes = std::int64_t{16} << 20;
  if (plane.rank() != 0) return {};
  if (const char* given = std::getenv("RINGSIDE_SCENARIO"); given != nullptr && *given != '\0') return given;
  const auto text = read_file(path, kMaxBytes);
  return text ? *text : std::string();
}

}  // namespace

int run_worker(SharedRank& shared, const WorkerOptions& options, int* argc, char*** argv) {
  auto host = make_mpi_plane(argc, argv);
  if (!host) {
    std::fprintf(stderr, "ringside-rank: %s\n", host.error().message().c_str());
    return 1;
  }
  const std::string mpi = (*host)->version();
  const int rank = (*host)->rank();
  shared.local_rank = local_rank(rank);
  std::string why_not_gpu;
  auto calls = options.device == DeviceWish::Cpu ? nullptr : make_gpu_calls();
  auto plane =
      choose_plane(options.device, std::move(*host), std::move(calls), shared.local_rank, &why_not_gpu);
  if (!plane) {
    if (rank == 0) std::fprintf(stderr, "ringside-rank: %s\n", plane.error().message().c_str());
    return 1;
  }
  if (rank == 0 && !why_not_gpu.empty())
    std::fprintf(stderr, "ringside-rank: collectives on the CPU: %s\n", why_not_gpu.c_str());
  utsname system{};
  ::uname(&system);
  std::snprintf(shared.host, sizeof shared.host, "%s", system.nodename);
  pretend_other_host(shared, rank);
  std::snprintf(shared.device, sizeof shared.device, "%s", (*plane)->device().c_str());
  std::snprintf(shared.mpi_version, sizeof shared.mpi_version, "%s", mpi.c_str());
  if ((*plane)->layer() == "nccl")
    std::snprintf(shared.nccl_version, sizeof shared.nccl_version, "%s", (*plane)->version().c_str());
  std::snprintf(shared.pci, sizeof shared.pci, "%s", (*plane)->pci_bus_id().c_str());
  shared.world_size.store((*plane)->world_size());
  shared.rank.store((*plane)->rank());
  shared.ready.store(true, std::memory_order_release);

  const std::string text = (*plane)->broadcast_text(scenario_text(**plane, options.scenario_path));
  auto scenario = sim::parse_scenario(text, options.scenario_path);
  if (!scenario || scenario->world_size() != (*plane)->world_size()) {
    if ((*plane)->rank() == 0)
      std::fprintf(
          stderr, "ringside-rank: %s\n",
          scenario ? "the scenario's world size is not mpirun's -n" : scenario.error().message().c_str());
    (*plane)->finalize();
    return 1;
  }
  return Worker(shared, options, std::move(*plane), std::move(*scenario)).run();
}

}  // namespace ringside::backend
