#include "tests/live/gpu_double.hpp"

#include <algorithm>
#include <cstring>

#include "sim/collective/executor.hpp"

namespace ringside::test {

using backend::Comm;
using backend::CudaError;
using backend::Event;
using backend::kCudaNotReady;
using backend::kCudaSuccess;
using backend::Nccl;
using backend::NcclOp;
using backend::Stream;

int GpuDouble::Notes::count(const std::string& call) const {
  return static_cast<int>(std::count(calls.begin(), calls.end(), call));
}

GpuDouble::GpuDouble(GpuWorld& world, int rank, Pace pace, const Trouble& trouble,
                     std::shared_ptr<Notes> notes)
    : world_(world), rank_(rank), pace_(pace), trouble_(trouble), notes_(std::move(notes)) {}

void GpuDouble::note(const std::string& call) {
  const std::lock_guard lock(notes_->mutex);
  notes_->calls.push_back(call);
}
void GpuDouble::violation(const std::string& text) {
  const std::lock_guard lock(notes_->mutex);
  notes_->violations.push_back(text);
}

void GpuDouble::check_device(const void* memory, std::size_t bytes, const char* who) {
  const auto* at = static_cast<const std::byte*>(memory);
  for (const auto& [base, block] : memory_)
    if (at >= base && at + bytes <= base + block.size()) return;
  violation(std::string(who) + ": " + std::to_string(bytes) + " bytes outside of device memory");
}
void GpuDouble::check_comm(Comm comm, const char* who) {
  if (!comm_alive_ || comm != &comm_token_) violation(std::string(who) + " on a communicator that is gone");
}

// --- CUDA
// ---------------------------------------------------------------------------------------------------

CudaError GpuDouble::device_count(int& count) {
  note("device_count");
  count = trouble_.devices;
  return trouble_.device_error;
}
CudaError GpuDouble::use_device(int device) {
  note("use_device");
  return device < trouble_.devices ? kCudaSuccess : 101;
}
CudaError GpuDouble::allocate(void*& out, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> block(std::max<std::size_t>(bytes, 1), std::byte{0xA5});
  std::byte* const base = block.data();
  memory_.emplace(base, std::move(block));
  ++notes_->allocations;
  out = base;
  return kCudaSuccess;
}
void GpuDouble::release(void* memory) {
  const std::lock_guard lock(mutex_);
  if (!stream_.empty()) violation("memory released while the stream still works");
  if (memory_.erase(static_cast<std::byte*>(memory)) != 1) violation("released what was not allocated");
  --notes_->allocations;
}
CudaError GpuDouble::make_stream(Stream& out) {
  out = &stream_token_;
  return kCudaSuccess;
}
CudaError GpuDouble::make_event(Event& out) {
  out = &events_.emplace_back();
  return kCudaSuccess;
}

CudaError GpuDouble::work(const char* call, Work work) {
  const std::lock_guard lock(mutex_);
  note(call);
  if (works_++ == trouble_.cuda_error_at) return 700;  // cudaErrorIllegalAddress
  stream_.push_back(std::move(work));
  if (pace_ == Pace::Early) progress();
  return kCudaSuccess;
}
void GpuDouble::progress() {
  while (!stream_.empty() && stream_.front()()) stream_.pop_front();
}

CudaError GpuDouble::copy_in(void* device, const void* host, std::size_t bytes, Stream) {
  check_device(device, bytes, "copy_in");
  return work("copy_in", [=] {
    std::memcpy(device, host, bytes);
    return true;
  });
}
CudaError GpuDouble::copy_out(void* host, const void* device, std::size_t bytes, Stream) {
  check_device(device, bytes, "copy_out");
  return work("copy_out", [=] {
    std::memcpy(host, device, bytes);
    return true;
  });
}
CudaError GpuDouble::copy_within(void* to, const void* from, std::size_t bytes, Stream) {
  check_device(to, bytes, "copy_within");
  check_device(from, bytes, "copy_within");
  return work("copy_within", [=] {
    std::memcpy(to, from, bytes);
    return true;
  });
}
CudaError GpuDouble::record(Event event, Stream) {
  auto* state = static_cast<EventState*>(event);
  {
    const std::lock_guard lock(mutex_);
    if (!not_yet_.empty()) violation("an event was recorded before NCCL had put its work into the stream");
    state->done = false;
  }
  note("record");
  const std::lock_guard lock(mutex_);
  stream_.push_back([state] { return state->done = true; });
  return kCudaSuccess;
}
CudaError GpuDouble::query(Event event) {
  const std::lock_guard lock(mutex_);
  progress();
  if (!static_cast<EventState*>(event)->done) return kCudaNotReady;
  note("done");
  return kCudaSuccess;
}

namespace {
std::size_t bytes_of(kernels::DType dtype, std::int64_t count) {
  return static_cast<std::size_t>(count * sim::size_of(static_cast<sim::DType>(dtype)));
}
}  // namespace

CudaError GpuDouble::reduce(kernels::DType dtype, kernels::Op op, const void* arrived, void* own,
                            std::int64_t count, Stream) {
  check_device(arrived, bytes_of(dtype, count), "reduce");
  check_device(own, bytes_of(dtype, count), "reduce");
  return work("reduce", [=] {
    kernels::host::reduce(dtype, op, arrived, own, count);
    return true;
  });
}
CudaError GpuDouble::scale(kernels::DType dtype, void* data, std::int64_t count, int world, Stream) {
  check_device(data, bytes_of(dtype, count), "scale");
  return work("scale", [=] {
    kernels::host::scale(dtype, data, count, world);
    return true;
  });
}
CudaError GpuDouble::divide(kernels::DType dtype, void* data, std::int64_t count, int world, Stream) {
  check_device(data, bytes_of(dtype, count), "divide");
  return work("divide", [=] {
    kernels::host::divide(dtype, data, count, world);
    return true;
  });
}
CudaError GpuDouble::summary(kernels::DType dtype, const void* data, std::int64_t count, void* out, Stream) {
  check_device(data, bytes_of(dtype, count), "summary");
  check_device(out, sizeof(kernels::Summary), "summary");
  return work("summary", [=] {
    const kernels::Summary summary = kernels::host::summary(dtype, data, count, 0, 7);
    std::memcpy(out, &summary, sizeof summary);
    return true;
  });
}
CudaError GpuDouble::fill(kernels::DType dtype, void* out, std::int64_t count, std::uint64_t bits, Stream) {
  check_device(out, bytes_of(dtype, count), "fill");
  return work("fill", [=] {
    kernels::host::fill(dtype, out, count, bits);
    return true;
  });
}

// --- NCCL
// ---------------------------------------------------------------------------------------------------

Nccl GpuDouble::make_id(backend::NcclId& out) {
  note("make_id");
  out.fill(std::byte{0x1D});
  return trouble_.no_id ? Nccl::SystemError : Nccl::Success;
}

Nccl GpuDouble::comm_init(Comm& out, int world, const backend::NcclId& id, int rank) {
  note("comm_init");
  if (world != world_.size() || rank != rank_ || id[100] != std::byte{0x1D})
    violation("comm_init with a wrong world, rank or id");
  const std::lock_guard lock(mutex_);
  comm_alive_ = true;
  out = &comm_token_;
  {
    const std::lock_guard shared(world_.mutex_);
    world_.joined_.insert(rank);
  }
  in_progress_ = std::max(1, trouble_.in_progress);
  return Nccl::InProgress;
}

/// What NCCL's own thread does: at the last InProgress the work enters the stream.
Nccl GpuDouble::async_error(Comm comm, Nccl& error) {
  const std::lock_guard lock(mutex_);
  check_comm(comm, "async_error");
  if (trouble_.async_error_after >= 0 && polls_++ >= trouble_.async_error_after) {
    error = trouble_.async_error;
    return Nccl::Success;
  }
  {
    const std::lock_guard shared(world_.mutex_);
    if (static_cast<int>(world_.joined_.size()) < world_.size()) {
      error = Nccl::InProgress;
      return Nccl::Success;
    }
  }
  if (in_progress_ > 0 && --in_progress_ > 0) {
    error = Nccl::InProgress;
    return Nccl::Success;
  }
  for (Work& work : not_yet_) stream_.push_back(std::move(work));
  not_yet_.clear();
  if (pace_ == Pace::Early) progress();
  error = Nccl::Success;
  return Nccl::Success;
}

Nccl GpuDouble::later(Work work) {
  in_progress_ = trouble_.in_progress;
  (in_progress_ > 0 ? not_yet_ : stream_).push_back(std::move(work));
  if (in_progress_ == 0 && pace_ == Pace::Early) progress();
  return in_progress_ > 0 ? Nccl::InProgress : Nccl::Success;
}

Nccl GpuDouble::group_start() {
  const std::lock_guard lock(mutex_);
  note("group_start");
  if (in_group_) violation("a group in a group");
  in_group_ = true;
  return Nccl::Success;
}
Nccl GpuDouble::send(const void* data, std::size_t bytes, int peer, Comm comm, Stream) {
  const std::lock_guard lock(mutex_);
  note("send " + std::to_string(peer));
  check_comm(comm, "send");
  check_device(data, bytes, "send");
  if (!in_group_) violation("a send outside of a group");
  if (bytes == 0) violation("NCCL is asked to send nothing");
  sends_.push_back({peer, const_cast<void*>(data), bytes});
  return Nccl::Success;
}
Nccl GpuDouble::recv(void* data, std::size_t bytes, int peer, Comm comm, Stream) {
  const std::lock_guard lock(mutex_);
  note("recv " + std::to_string(peer));
  check_comm(comm, "recv");
  check_device(data, bytes, "recv");
  if (!in_group_) violation("a receive outside of a group");
  receives_.push_back({peer, data, bytes});
  return Nccl::Success;
}

/// One try of a group: sends once, takes what has come, done when all came and all was taken.
bool GpuDouble::exchange(const std::vector<Post>& sends, const std::vector<Post>& receives,
                         const std::shared_ptr<std::vector<int>>& state,
                         std::vector<std::shared_ptr<bool>>& on_their_way) {
  const std::lock_guard shared(world_.mutex_);
  if (on_their_way.empty())
    for (const Post& send : sends) {
      const auto* from = static_cast<const std::byte*>(send.data);
      on_their_way.push_back(std::make_shared<bool>(false));
      if (!trouble_.loses_sends)
        world_.mail_[{rank_, send.peer}].push_back({{from, from + send.bytes}, on_their_way.back()});
    }
  bool all = true;
  std::set<int> stuck;  // messages of one peer come in order
  for (std::size_t i = 0; i < receives.size(); ++i) {
    if ((*state)[i]) continue;
    auto& queue = world_.mail_[{receives[i].peer, rank_}];
    if (queue.empty() || stuck.contains(receives[i].peer) ||
        queue.front().bytes.size() != receives[i].bytes) {
      all = false;  // a wrong size never matches: it hangs
      stuck.insert(receives[i].peer);
      continue;
    }
    std::memcpy(receives[i].data, queue.front().bytes.data(), receives[i].bytes);
    *queue.front().taken = true;
    queue.pop_front();
    (*state)[i] = 1;
  }
  for (const auto& taken : on_their_way) all = all && *taken;
  return all;
}

Nccl GpuDouble::group_end() {
  const std::lock_guard lock(mutex_);
  note("group_end");
  if (!in_group_) violation("the end of no group");
  in_group_ = false;
  auto sends = std::move(sends_), receives = std::move(receives_);
  sends_.clear();
  receives_.clear();
  auto state = std::make_shared<std::vector<int>>(receives.size(), 0);
  auto way = std::make_shared<std::vector<std::shared_ptr<bool>>>();
  return later([this, sends, receives, state, way] { return exchange(sends, receives, state, *way); });
}

/// Ring, in NCCL's order, even chunks: what NCCL_ALGO=Ring does to the bits of a sum.
Nccl GpuDouble::all_reduce(void* data, std::int64_t count, kernels::DType dtype, NcclOp op, Comm comm,
                           Stream) {
  const std::lock_guard lock(mutex_);
  note("all_reduce");
  check_comm(comm, "all_reduce");
  const std::size_t bytes = bytes_of(dtype, count);
  check_device(data, bytes, "all_reduce");
  const std::size_t call = reductions_++;
  auto entered = std::make_shared<bool>(false);
  return later([this, data, count, dtype, op, bytes, call, entered] {
    const std::lock_guard shared(world_.mutex_);
    if (world_.reductions_.size() <= call) world_.reductions_.resize(call + 1);
    GpuWorld::Reduction& reduction = world_.reductions_[call];
    if (!*entered) {
      *entered = true;
      const auto* from = static_cast<const std::byte*>(data);
      reduction.mismatched = reduction.mismatched || (reduction.count >= 0 && reduction.count != count);
      reduction.count = count;
      reduction.dtype = dtype;
      reduction.op = op;
      reduction.inputs[rank_] = {from, from + bytes};
    }
    if (static_cast<int>(reduction.inputs.size()) < world_.size() || reduction.mismatched) return false;
    if (reduction.results.empty() && count > 0) {
      constexpr std::array kOps{sim::ReduceOp::Sum, sim::ReduceOp::Prod, sim::ReduceOp::Max,
                                sim::ReduceOp::Min, sim::ReduceOp::Avg};
      std::vector<std::shared_ptr<const sim::Tensor>> inputs;
      for (const auto& [rank, input] : reduction.inputs) {
        auto tensor = std::make_shared<sim::Tensor>(static_cast<sim::DType>(dtype), sim::Shape{{count}});
        tensor->data = input;
        inputs.push_back(std::move(tensor));
      }
      sim::ScheduleRequest request;
      request.dtype = static_cast<sim::DType>(dtype);
      request.count = count;
      request.world_size = world_.size();
      const auto numbers =
          sim::execute_numbers(sim::make_schedule(request), kOps[static_cast<std::size_t>(op)], inputs);
      for (int r = 0; r < world_.size(); ++r)
        reduction.results[r] = numbers.result[static_cast<std::size_t>(r)]->data;
    }
    if (count > 0) std::memcpy(data, reduction.results[rank_].data(), bytes);
    return true;
  });
}

Nccl GpuDouble::comm_finalize(Comm comm) {
  const std::lock_guard lock(mutex_);
  note("comm_finalize");
  check_comm(comm, "comm_finalize");
  in_progress_ = 1;
  return Nccl::InProgress;
}
Nccl GpuDouble::comm_destroy(Comm comm) {
  const std::lock_guard lock(mutex_);
  note("comm_destroy");
  check_comm(comm, "comm_destroy");
  comm_alive_ = false;
  ++notes_->destroys;
  return Nccl::Success;
}
Nccl GpuDouble::comm_abort(Comm comm) {
  const std::lock_guard lock(mutex_);
  note("comm_abort");
  check_comm(comm, "comm_abort");
  comm_alive_ = false;
  stream_.clear();  // what waited for peers never comes to an end
  not_yet_.clear();
  ++notes_->aborts;
  return Nccl::Success;
}
std::string GpuDouble::nccl_text(Nccl error) {
  return error == Nccl::RemoteError ? "remote process exited or there was a network error"
                                    : "error " + std::to_string(static_cast<int>(error));
}

// --- the bootstrap
// ------------------------------------------------------------------------------------------

std::vector<std::byte> HostDouble::gather(const std::vector<std::byte>& mine, std::size_t each) {
  std::unique_lock lock(world_.mutex_);
  world_.changed_.wait(lock, [&] { return world_.leaving_ == 0; });
  world_.gathered_[rank_] = mine;
  if (static_cast<int>(world_.gathered_.size()) == world_.size()) {
    world_.round_.clear();
    for (const auto& [rank, bytes] : world_.gathered_) {
      world_.round_.insert(world_.round_.end(), bytes.begin(), bytes.end());
      if (each > 0) world_.round_.resize(static_cast<std::size_t>(rank + 1) * each);
    }
    world_.gathered_.clear();
    world_.leaving_ = world_.size();
    world_.changed_.notify_all();
  } else {
    world_.changed_.wait(lock, [&] { return world_.leaving_ > 0; });
  }
  std::vector<std::byte> out = world_.round_;
  --world_.leaving_;
  world_.changed_.notify_all();
  return out;
}

sim::Status HostDouble::exchange(const backend::Fingerprint& mine, std::span<backend::Fingerprint> out) {
  std::vector<std::byte> bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  const auto all = gather(bytes, sizeof mine);
  std::memcpy(out.data(), all.data(), all.size());
  return sim::ok();
}

std::string HostDouble::broadcast_text(const std::string& text) {
  std::vector<std::byte> bytes;
  if (rank_ == 0)
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  const auto all = gather(bytes, 0);
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

}  // namespace ringside::test
