// The schedule executed with grouped ncclSend and ncclRecv and our reduce kernel; ncclAllReduce beside it.
//
// Idea. All work of a collective goes into one stream, so it is done in the order in which it was enqueued;
// the host waits by polling an event, and looks at NCCL's asynchronous error each time round, because a lost
// peer shows there and nowhere else. Nothing on this side ever blocks inside a library: communicators are
// non-blocking, copies to the host start only when what they copy is there. So abort() can always cut in.
//
// A ring step: one group with all sends and receives of this rank (a group, because a rank that sends first
// and receives later would wait for a neighbour that does the same), an event, a wait; then the reduction of
// what came, in the stream, before the next step's sends, which read it. Chunks without elements are not
// given to NCCL: both sides know from the schedule that nothing comes.
//
// Abort. aborted_ is set first, then NCCL's abort is called once, under the lock that every other NCCL call
// takes: no thread touches the communicator after it is gone.
#include "backend/live/gpu_plane.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/tensor/reduce.hpp"

namespace ringside::backend {
namespace {

using std::chrono::steady_clock;

static_assert(static_cast<int>(kernels::DType::Int64) == static_cast<int>(sim::DType::Int64) &&
              static_cast<int>(kernels::DType::BFloat16) == static_cast<int>(sim::DType::BFloat16));
kernels::DType kernel_type(sim::DType dtype) {
  return static_cast<kernels::DType>(dtype);
}
kernels::Op kernel_op(sim::ReduceOp op) {
  switch (op) {
    case sim::ReduceOp::Prod:
      return kernels::Op::Prod;
    case sim::ReduceOp::Min:
      return kernels::Op::Min;
    case sim::ReduceOp::Max:
      return kernels::Op::Max;
    default:
      return kernels::Op::Sum;
  }
}
NcclOp nccl_op(sim::ReduceOp op) {
  switch (op) {
    case sim::ReduceOp::Avg:
      return NcclOp::Avg;
    case sim::ReduceOp::Prod:
      return NcclOp::Prod;
    case sim::ReduceOp::Min:
      return NcclOp::Min;
    case sim::ReduceOp::Max:
      return NcclOp::Max;
    default:
      return NcclOp::Sum;
  }
}

/// Device memory that grows and is never read before it was written: floating scratch starts as NaN.
struct Buffer {
  void* data = nullptr;
  std::size_t size = 0;
};

class GpuPlane final : public DataPlane {
 public:
  GpuPlane(std::unique_ptr<DataPlane> host, std::unique_ptr<GpuCalls> calls, const GpuPlaneOptions& options)
      : host_(std::move(host)), calls_(std::move(calls)), options_(options) {}

  ~GpuPlane() override {
    // After an abort the stream may hold work that never ends, and freeing memory waits for it: the process
    // is about to end anyway.
    if (aborted_.load()) return;
    for (Buffer* buffer : {&data_, &scratch_, &look_})
      if (buffer->data != nullptr) calls_->release(buffer->data);
    if (done_ != nullptr) calls_->release_event(done_);
    if (stream_ != nullptr) calls_->release_stream(stream_);
  }

  sim::Status start() {
    if (const CudaError code = calls_->use_device(options_.device)) return cuda_failed(code, "cudaSetDevice");
    name_ = calls_->device_name(options_.device);
    pci_ = calls_->pci_bus_id(options_.device);
    if (const CudaError code = calls_->make_stream(stream_)) return cuda_failed(code, "cudaStreamCreate");
    if (const CudaError code = calls_->make_event(done_)) return cuda_failed(code, "cudaEventCreate");
    if (const auto got = reserve(look_, sizeof(kernels::Summary)); !got) return got;
    return start_communicator();
  }

  int rank() const override { return host_->rank(); }
  int world_size() const override { return host_->world_size(); }
  std::string device() const override { return name_ + " (NCCL)"; }
  std::string version() const override { return calls_->nccl_version(); }
  std::string layer() const override { return "nccl"; }
  std::string pci_bus_id() const override { return pci_; }
  sim::Status exchange(const Fingerprint& mine, std::span<Fingerprint> out) override {
    return host_->exchange(mine, out);
  }
  std::string broadcast_text(const std::string& text) override { return host_->broadcast_text(text); }

  sim::Status stepped(const sim::Schedule& schedule, const PlaneCall& call, StepObserver& observer) override {
    if (const auto loaded = load(call); !loaded) return loaded;
    if (sim::has_prepare(call.dtype, call.op))
      if (const CudaError code =
              calls_->scale(kernel_type(call.dtype), data_.data, count_of(call), world_size(), stream_))
        return cuda_failed(code, "the scale kernel");
    for (std::size_t at = 0; at < schedule.transfers.size();) {
      std::size_t end = at;
      while (end < schedule.transfers.size() && schedule.transfers[end].step == schedule.transfers[at].step)
        ++end;
      const auto status =
          one_step(schedule, std::span(schedule.transfers).subspan(at, end - at), call, observer);
      if (!status) return status;
      at = end;
    }
    return unload(call, sim::has_finish(call.dtype, call.op));
  }

  sim::Status fused(const PlaneCall& call) override {
    if (const auto loaded = load(call); !loaded) return loaded;
    const auto started = nccl("ncclAllReduce", [&] {
      return calls_->all_reduce(data_.data, count_of(call), kernel_type(call.dtype), nccl_op(call.op), comm_,
                                stream_);
    });
    if (!started) return started;
    // NCCL's avg divides by itself; only the textbook's way is left to us.
    return unload(call, call.op == sim::ReduceOp::SumThenDivide);
  }

  void abort() override {
    if (aborted_.exchange(true)) return;
    // A call in progress returns soon: the communicator is non-blocking. If it does not, waiting longer helps
    // nobody.
    std::unique_lock lock(nccl_, std::defer_lock);
    for (int i = 0; i < 500 && !lock.try_lock(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (const Comm comm = comm_.exchange(nullptr)) calls_->comm_abort(comm);
  }

  void finalize() override {
    if (!aborted_.load() && comm_ != nullptr) {
      const auto finalized = nccl("ncclCommFinalize", [&] { return calls_->comm_finalize(comm_); });
      if (finalized) {
        const std::lock_guard lock(nccl_);
        if (const Comm comm = comm_.exchange(nullptr)) calls_->comm_destroy(comm);
      }
    }
    host_->finalize();
  }

  /// The sample of a chunk in device memory: extremes, counts and digest by kernel, the values it shows by
  /// copy.
  std::optional<sim::Sample> look(sim::DType dtype, const std::byte* data, std::int64_t count) {
    if (count == 0) return sim::sample_of(dtype, {});
    if (aborted_.load()) return std::nullopt;
    const auto size = static_cast<std::size_t>(sim::size_of(dtype));
    const std::int64_t head = count <= sim::Sample::kAllUpTo ? count : 4, tail = head == count ? 0 : 4;
    std::vector<std::byte> shown(static_cast<std::size_t>(head + tail) * size);
    kernels::Summary summary;
    CudaError code = calls_->summary(kernel_type(dtype), data, count, look_.data, stream_);
    const auto copy = [&](void* to, const void* from, std::size_t bytes) {
      if (code == kCudaSuccess && bytes > 0) code = calls_->copy_out(to, from, bytes, stream_);
    };
    copy(&summary, look_.data, sizeof summary);
    copy(shown.data(), data, static_cast<std::size_t>(head) * size);
    copy(shown.data() + static_cast<std::size_t>(head) * size,
         data + static_cast<std::size_t>(count - tail) * size, static_cast<std::size_t>(tail) * size);
    const auto looked =
        code == kCudaSuccess ? wait("a look at a chunk") : cuda_failed(code, "a look at a chunk");
    if (!looked) {
      look_error_ = looked.error();  // the step that was looked at returns it
      return std::nullopt;
    }

    sim::Sample sample = sim::sample_of(dtype, shown);  // the values; the rest is that of the whole chunk
    sample.count = count;
    sample.digest = summary.digest;
    sample.nan_count = static_cast<std::int64_t>(summary.nan_count);
    sample.inf_count = static_cast<std::int64_t>(summary.inf_count);
    sample.min = {dtype, kernels::bits_of_key(kernel_type(dtype), summary.low)};
    sample.max = {dtype, kernels::bits_of_key(kernel_type(dtype), summary.high)};
    return sample;
  }

 private:
  struct Incoming {
    const sim::Transfer* transfer;
    std::byte* data;
    std::size_t size;
  };

  static std::int64_t count_of(const PlaneCall& call) {
    return static_cast<std::int64_t>(call.data.size()) / sim::size_of(call.dtype);
  }

  sim::Status start_communicator() {
    NcclId id{};
    std::string text;
    if (rank() == 0 && calls_->make_id(id) == Nccl::Success)
      text.assign(reinterpret_cast<const char*>(id.data()), id.size());
    text = host_->broadcast_text(text);
    if (text.size() != id.size())
      return failed(
          {.what = "rank 0 got no id from ncclGetUniqueId",
           .hint = "NCCL needs a network interface: set NCCL_SOCKET_IFNAME, look at NCCL_DEBUG=INFO"});
    std::memcpy(id.data(), text.data(), id.size());
    limit_ = steady_clock::now() + options_.init_limit;
    const auto ready = nccl("ncclCommInitRankConfig", [&] {
      Comm comm = nullptr;
      const Nccl code = calls_->comm_init(comm, world_size(), id, rank());
      comm_ = comm;
      return code;
    });
    limit_.reset();
    return ready;
  }

  sim::Status reserve(Buffer& buffer, std::size_t bytes) {
    if (bytes <= buffer.size) return sim::ok();
    if (buffer.data != nullptr) calls_->release(buffer.data);
    buffer = {};
    if (const CudaError code = calls_->allocate(buffer.data, bytes))
      return cuda_failed(code, "cudaMalloc of " + std::to_string(bytes) + " bytes");
    buffer.size = bytes;
    return sim::ok();
  }

  sim::Status load(const PlaneCall& call) {
    if (aborted_.load()) return was_aborted();
    if (const auto got = reserve(data_, call.data.size()); !got) return got;
    if (call.data.empty()) return sim::ok();
    if (const CudaError code = calls_->copy_in(data_.data, call.data.data(), call.data.size(), stream_))
      return cuda_failed(code, "the copy to the GPU");
    return sim::ok();
  }

  /// Waits for the collective, and only then divides and copies: the first start of a kernel may load it, and
  /// a copy to the host waits for the stream; both would block behind a collective that hangs.
  sim::Status unload(const PlaneCall& call, bool divide) {
    if (const auto done = wait("the collective"); !done) return done;
    if (call.data.empty()) return sim::ok();
    if (divide)
      if (const CudaError code =
              calls_->divide(kernel_type(call.dtype), data_.data, count_of(call), world_size(), stream_))
        return cuda_failed(code, "the divide kernel");
    if (const CudaError code = calls_->copy_out(call.data.data(), data_.data, call.data.size(), stream_))
      return cuda_failed(code, "the copy from the GPU");
    return wait("the copy from the GPU");
  }

  class DeviceNumbers final : public ChunkNumbers {
   public:
    DeviceNumbers(GpuPlane& plane, sim::DType dtype, const std::byte* data, std::int64_t count)
        : plane_(plane), dtype_(dtype), data_(data), count_(count) {}
    std::optional<sim::Sample> sample() const override { return plane_.look(dtype_, data_, count_); }

   private:
    GpuPlane& plane_;
    sim::DType dtype_;
    const std::byte* data_;
    std::int64_t count_;
  };

  sim::Status one_step(const sim::Schedule& schedule, std::span<const sim::Transfer> transfers,
                       const PlaneCall& call, StepObserver& observer) {
    const auto size = static_cast<std::size_t>(sim::size_of(call.dtype));
    const auto chunk_at = [&](std::uint32_t chunk) {
      return static_cast<std::byte*>(data_.data) +
             static_cast<std::size_t>(schedule.chunks.chunks[chunk].offset) * size;
    };
    const auto bytes_of = [&](std::uint32_t chunk) {
      return static_cast<std::size_t>(schedule.chunks.chunks[chunk].count) * size;
    };
    std::size_t total = 0;
    for (const sim::Transfer& t : transfers)
      if (t.dst == rank()) total += bytes_of(t.chunk);
    if (total > scratch_.size) {
      if (const auto got = reserve(scratch_, total); !got) return got;
      // Whatever would be read before it came shows as NaN.
      const auto quiet_nan = sim::make_scalar(call.dtype, std::numeric_limits<double>::quiet_NaN()).bits;
      if (const CudaError code = calls_->fill(kernel_type(call.dtype), scratch_.data,
                                              static_cast<std::int64_t>(total / size), quiet_nan, stream_))
        return cuda_failed(code, "the fill kernel");
    }

    incoming_.clear();
    std::size_t used = 0;
    bool takes_part = false, moves = false;
    for (const sim::Transfer& t : transfers) {
      const std::int64_t count = schedule.chunks.chunks[t.chunk].count;
      if (t.src == rank()) observer.sends(t, DeviceNumbers(*this, call.dtype, chunk_at(t.chunk), count));
      if (t.dst == rank()) {
        incoming_.push_back({&t, static_cast<std::byte*>(scratch_.data) + used, bytes_of(t.chunk)});
        used += bytes_of(t.chunk);
      }
      takes_part = takes_part || t.src == rank() || t.dst == rank();
      moves = moves || ((t.src == rank() || t.dst == rank()) && count > 0);
    }
    if (look_error_) return *look_error_;
    if (!takes_part) return sim::ok();
    if (moves) {
      const auto grouped = nccl("a group of ncclSend and ncclRecv", [&] {
        Nccl code = calls_->group_start();
        if (code != Nccl::Success) return code;
        for (const Incoming& in : incoming_)
          if (in.size > 0 && code == Nccl::Success)
            code = calls_->recv(in.data, in.size, in.transfer->src, comm_, stream_);
        for (const sim::Transfer& t : transfers)
          if (t.src == rank() && bytes_of(t.chunk) > 0 && code == Nccl::Success)
            code = calls_->send(chunk_at(t.chunk), bytes_of(t.chunk), t.dst, comm_, stream_);
        const Nccl ended = calls_->group_end();  // also after an error: groups are counted per thread
        return code == Nccl::Success ? ended : code;
      });
      if (!grouped) return grouped;
      const auto moved = wait("ring step", [&] {
        for (const Incoming& in : incoming_) observer.waits(*in.transfer);
      });
      if (!moved) return moved;
    }
    for (const Incoming& in : incoming_) {
      std::byte* const own = chunk_at(in.transfer->chunk);
      const auto count = static_cast<std::int64_t>(in.size / size);
      observer.arrived(*in.transfer, static_cast<std::int64_t>(in.size));
      CudaError code = kCudaSuccess;
      if (in.size > 0 && in.transfer->action == sim::Action::Reduce)
        code = calls_->reduce(kernel_type(call.dtype), kernel_op(call.op), in.data, own, count, stream_);
      else if (in.size > 0)
        code = calls_->copy_within(own, in.data, in.size, stream_);
      if (code != kCudaSuccess) return cuda_failed(code, "the reduce kernel");
      observer.holds(*in.transfer, DeviceNumbers(*this, call.dtype, own, count));
      if (look_error_) return *look_error_;
    }
    return sim::ok();
  }

  /// Makes one NCCL call under the lock and waits until NCCL has done it (InProgress is not an error).
  template <class Call>
  sim::Status nccl(const char* where, const Call& call) {
    Nccl state = Nccl::Success;
    {
      const std::lock_guard lock(nccl_);
      if (aborted_.load()) return was_aborted();
      state = call();
    }
    for (int turn = 0; state == Nccl::InProgress; ++turn) {
      if (limit_ && steady_clock::now() > *limit_)
        return failed({.what = std::string(where) + ": not every rank came within " +
                               std::to_string(options_.init_limit.count() / 1000) + " s",
                       .hint = "NCCL_DEBUG=INFO on every rank shows whom NCCL waits for"});
      pause(turn);
      if (const auto polled = poll(state); !polled) return polled;
    }
    if (state != Nccl::Success) return nccl_failed(state, where);
    return sim::ok();
  }

  /// NCCL's asynchronous state, unless the communicator is gone.
  sim::Status poll(Nccl& state) {
    const std::lock_guard lock(nccl_);
    if (aborted_.load() || comm_ == nullptr) return was_aborted();
    const Nccl code = calls_->async_error(comm_, state);
    if (code != Nccl::Success) state = code;
    return sim::ok();
  }

  /// Records the event and polls it together with NCCL's asynchronous error.
  sim::Status wait(const char* where, const std::function<void()>& begins_to_wait = {}) {
    if (const CudaError code = calls_->record(done_, stream_)) return cuda_failed(code, "cudaEventRecord");
    for (int turn = 0;; ++turn) {
      if (aborted_.load()) return was_aborted();
      const CudaError code = calls_->query(done_);
      if (code == kCudaSuccess) return sim::ok();
      if (code != kCudaNotReady) return cuda_failed(code, where);
      if (turn == 0 && begins_to_wait) begins_to_wait();
      Nccl state = Nccl::Success;
      if (const auto polled = poll(state); !polled) return polled;
      if (state != Nccl::Success && state != Nccl::InProgress) return nccl_failed(state, where);
      pause(turn);
    }
  }

  /// Quick while it is quick, then without holding the core for itself.
  static void pause(int turn) {
    if (turn < 1000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

  sim::Status failed(sim::Error error) {
    abort();
    return error;
  }
  sim::Error was_aborted() const {
    return {.what = "NCCL communicator was aborted on rank " + std::to_string(rank())};
  }
  sim::Status cuda_failed(CudaError code, const std::string& where) {
    return failed({.what = "CUDA error in " + where + ": " + calls_->cuda_text(code)});
  }
  sim::Status nccl_failed(Nccl code, const std::string& where) {
    std::string last;
    {
      const std::lock_guard lock(nccl_);
      if (!aborted_.load() && comm_ != nullptr) last = calls_->nccl_last_error(comm_);
    }
    std::string text = "NCCL error in: " + where + ", " + calls_->nccl_text(code) + ", " +
                       calls_->nccl_version() + "; " + nccl_meaning(code);
    if (!last.empty()) text += " Last error: " + last;
    return failed({.what = std::move(text)});
  }

  std::unique_ptr<DataPlane> host_;
  std::unique_ptr<GpuCalls> calls_;
  GpuPlaneOptions options_;
  std::string name_, pci_;
  Stream stream_ = nullptr;
  Event done_ = nullptr;
  std::mutex nccl_;  // one NCCL call at a time, none after the abort
  std::atomic<Comm> comm_ = nullptr;
  std::atomic<bool> aborted_{false};
  std::optional<steady_clock::time_point> limit_;  // while the communicator is made
  Buffer data_, scratch_, look_;
  std::optional<sim::Error> look_error_;  // a look has no way to say it
  std::vector<Incoming> incoming_;
};

}  // namespace

sim::Result<std::unique_ptr<DataPlane>> make_gpu_plane(std::unique_ptr<DataPlane> host,
                                                       std::unique_ptr<GpuCalls> calls,
                                                       const GpuPlaneOptions& options) {
  auto plane = std::make_unique<GpuPlane>(std::move(host), std::move(calls), options);
  if (const auto started = plane->start(); !started) return started.error();
  return std::unique_ptr<DataPlane>(std::move(plane));
}

}  // namespace ringside::backend
