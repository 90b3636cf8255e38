// The schedule executed with MPI_Isend and MPI_Irecv, and MPI_Iallreduce beside it.
//
// Idea. A rank walks the schedule step by step. In a step it posts a receive for every chunk that comes to it
// and a send for every chunk that leaves it, waits for all of them, then reduces or keeps what came. Messages
// carry the ring step as their tag and no sequence number: calls pair by order, as in every MPI collective,
// so a skipped call mixes steps exactly as it would there. Bytes per rank: those of the schedule (ring:
// 2(N-1)/N of the buffer).
#include "backend/live/mpi_plane.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/tensor/reduce.hpp"

namespace ringside::backend {
namespace {

MPI_Datatype bytes_type_of(sim::DType dtype) {
  switch (sim::size_of(dtype)) {
    case 2:
      return MPI_UINT16_T;
    case 4:
      return MPI_UINT32_T;
    default:
      return MPI_UINT64_T;
  }
}

// MPI's user-defined ops get no context, so there is one function per dtype and op that MPI cannot do as NCCL
// does.
template <sim::DType D, sim::ReduceOp O>
void reduce_op(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto bytes = static_cast<std::size_t>(*count) * static_cast<std::size_t>(sim::size_of(D));
  sim::reduce_into(D, O, {static_cast<const std::byte*>(in), bytes}, {static_cast<std::byte*>(inout), bytes});
}

template <sim::DType D>
MPI_User_function* function_of(sim::ReduceOp op) {
  switch (op) {
    case sim::ReduceOp::Prod:
      return reduce_op<D, sim::ReduceOp::Prod>;
    case sim::ReduceOp::Min:
      return reduce_op<D, sim::ReduceOp::Min>;
    case sim::ReduceOp::Max:
      return reduce_op<D, sim::ReduceOp::Max>;
    default:
      return reduce_op<D, sim::ReduceOp::Sum>;
  }
}

MPI_User_function* function_of(sim::DType dtype, sim::ReduceOp op) {
  switch (dtype) {
    case sim::DType::Float64:
      return function_of<sim::DType::Float64>(op);
    case sim::DType::Float32:
      return function_of<sim::DType::Float32>(op);
    case sim::DType::Float16:
      return function_of<sim::DType::Float16>(op);
    case sim::DType::BFloat16:
      return function_of<sim::DType::BFloat16>(op);
    case sim::DType::Int32:
      return function_of<sim::DType::Int32>(op);
    case sim::DType::Int64:
      return function_of<sim::DType::Int64>(op);
  }
  return nullptr;
}

sim::Status check(int code, const char* where) {
  if (code == MPI_SUCCESS) return sim::ok();
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return sim::Error{.what = std::string(text, static_cast<std::size_t>(length)), .text = where};
}

/// A chunk in this process's memory.
class HostNumbers final : public ChunkNumbers {
 public:
  HostNumbers(sim::DType dtype, std::span<const std::byte> data) : dtype_(dtype), data_(data) {}
  std::optional<sim::Sample> sample() const override { return sim::sample_of(dtype_, data_); }

 private:
  sim::DType dtype_;
  std::span<const std::byte> data_;
};

class MpiPlane final : public DataPlane {
 public:
  MpiPlane() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_dup(MPI_COMM_WORLD, &guard_);
    // Also of the world: Open MPI frees a request that failed, and reports what is asked of it afterwards
    // there.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(guard_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    crowded_ = host_is_crowded();
  }
  int rank() const override { return rank_; }
  int world_size() const override { return size_; }
  std::string device() const override { return "CPU (MPI)"; }
  std::string layer() const override { return "mpi"; }

  std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string version(text, static_cast<std::size_t>(length));
    return version.substr(0, version.find(','));
  }

  sim::Status stepped(const sim::Schedule& schedule, const PlaneCall& call, StepObserver& observer) override {
    sim::prepare(call.dtype, call.op, size_, call.data);
    for (std::size_t at = 0; at < schedule.transfers.size();) {
      std::size_t end = at;
      while (end < schedule.transfers.size() && schedule.transfers[end].step == schedule.transfers[at].step)
        ++end;
      const auto status =
          one_step(schedule, std::span(schedule.transfers).subspan(at, end - at), call, observer);
      if (!status) return status;
      at = end;
    }
    sim::finish(call.dtype, call.op, size_, call.data);
    return sim::ok();
  }

  sim::Status fused(const PlaneCall& call) override {
    sim::prepare(call.dtype, call.op, size_, call.data);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(function_of(call.dtype, call.op), 1, &op);
    MPI_Request request = MPI_REQUEST_NULL;
    const auto count =
        static_cast<int>(call.data.size() / static_cast<std::size_t>(sim::size_of(call.dtype)));
    auto status = check(
        MPI_Iallreduce(MPI_IN_PLACE, call.data.data(), count, bytes_type_of(call.dtype), op, comm_, &request),
        "MPI_Iallreduce");
    if (status) status = wait_all({&request, 1}, "MPI_Iallreduce");
    MPI_Op_free(&op);
    if (status) sim::finish(call.dtype, call.op, size_, call.data);
    return status;
  }

  sim::Status exchange(const Fingerprint& mine, std::span<Fingerprint> out) override {
    static_assert(sizeof(Fingerprint) == 5 * sizeof(std::int64_t));
    MPI_Request request = MPI_REQUEST_NULL;
    const auto status =
        check(MPI_Iallgather(&mine, 5, MPI_INT64_T, out.data(), 5, MPI_INT64_T, guard_, &request),
              "MPI_Iallgather");
    return status ? wait_all({&request, 1}, "MPI_Iallgather") : status;
  }

  std::string broadcast_text(const std::string& text) override {
    std::int64_t size = static_cast<std::int64_t>(text.size());
    MPI_Bcast(&size, 1, MPI_INT64_T, 0, guard_);
    std::string out = text;
    out.resize(static_cast<std::size_t>(size));
    MPI_Bcast(out.data(), static_cast<int>(size), MPI_BYTE, 0, guard_);
    return out;
  }

  void finalize() override { MPI_Finalize(); }

 private:
  /// More ranks on this host than cores, as on a laptop: whoever waits gives its core away at once. Else it keeps
  /// it for a while, as MPI's own calls do: what it waits for is mostly under way, and a core that is given away on
  /// a busy machine comes back late.
  sim::Status wait_all(std::span<MPI_Request> requests, const char* where) {
    // Counted in polls, some tens of milliseconds of this thread's own time: a clock would go on while other
    // programs have the core.
    constexpr int kPolls = 200'000;
    int done = 0;
    for (std::int64_t polls = 0;; ++polls) {
      const int code =
          MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (code != MPI_SUCCESS) return check(first_error(requests, code), where);
      if (done) return sim::ok();
      if (crowded_ || polls > kPolls) sched_yield();
    }
  }

  /// Testall says only that some request failed; the request itself says how.
  static int first_error(std::span<MPI_Request> requests, int code) {
    if (code != MPI_ERR_IN_STATUS) return code;
    for (MPI_Request& request : requests) {
      if (request == MPI_REQUEST_NULL) continue;
      int done = 0;
      const int own = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (own != MPI_SUCCESS && own != MPI_ERR_REQUEST) return own;
    }
    return MPI_ERR_TRUNCATE;  // Open MPI 4.1 frees the failed request; a size too large is the only failure
                              // of a local receive
  }

  std::span<std::byte> bytes_of(const sim::Schedule& schedule, const PlaneCall& call,
                                std::uint32_t chunk) const {
    const auto size = static_cast<std::size_t>(sim::size_of(call.dtype));
    const sim::Chunk& c = schedule.chunks.chunks[chunk];
    return call.data.subspan(static_cast<std::size_t>(c.offset) * size,
                             static_cast<std::size_t>(c.count) * size);
  }

  /// A message that is longer than it should be is MPI_ERR_TRUNCATE, but on one machine Open MPI 4.1 has written
  /// all of it by then (vader's get over CMA). What is up to twice as long harms nothing here.
  static std::size_t room_for(std::size_t bytes) {
    constexpr std::size_t kAtLeast = 4096;
    return 2 * bytes + kAtLeast;
  }

  sim::Status one_step(const sim::Schedule& schedule, std::span<const sim::Transfer> transfers,
                       const PlaneCall& call, StepObserver& observer) {
    requests_.clear();
    std::size_t scratch_bytes = 0;
    for (const sim::Transfer& t : transfers)
      if (t.dst == rank_) scratch_bytes += room_for(bytes_of(schedule, call, t.chunk).size());
    if (scratch_.size() < scratch_bytes) scratch_.resize(scratch_bytes);

    incoming_.clear();
    std::size_t used = 0;
    for (const sim::Transfer& t : transfers) {
      if (t.dst != rank_) continue;
      const std::size_t size = bytes_of(schedule, call, t.chunk).size();
      incoming_.push_back({&t, std::span(scratch_).subspan(used, size)});
      used += room_for(size);
      requests_.push_back(MPI_REQUEST_NULL);
      MPI_Irecv(incoming_.back().data.data(), static_cast<int>(size), MPI_BYTE, t.src, tag_of(t), comm_,
                &requests_.back());
    }
    for (const sim::Transfer& t : transfers) {
      if (t.src != rank_) continue;
      const auto data = bytes_of(schedule, call, t.chunk);
      observer.sends(t, HostNumbers(call.dtype, data));
      requests_.push_back(MPI_REQUEST_NULL);
      MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, t.dst, tag_of(t), comm_,
                &requests_.back());
    }
    if (requests_.empty()) return sim::ok();
    int done = 0;
    const int code =
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return check(first_error(requests_, code), "ring step");
    if (!done) {
      for (const Incoming& in : incoming_) observer.waits(*in.transfer);
      const auto status = wait_all(requests_, "ring step");
      if (!status) return status;
    }
    for (const Incoming& in : incoming_) {
      const auto own = bytes_of(schedule, call, in.transfer->chunk);
      observer.arrived(*in.transfer, static_cast<std::int64_t>(in.data.size()));
      if (in.transfer->action == sim::Action::Reduce) {
        sim::reduce_into(call.dtype, call.op, in.data, own);
      } else if (!own.empty()) {
        std::memcpy(own.data(), in.data.data(), own.size());
      }
      observer.holds(*in.transfer, HostNumbers(call.dtype, own));
    }
    return sim::ok();
  }

  static int tag_of(const sim::Transfer& t) { return static_cast<int>((t.step * 31 + t.chunk) % 32'000); }

  struct Incoming {
    const sim::Transfer* transfer;
    std::span<std::byte> data;
  };
  MPI_Comm comm_ = MPI_COMM_NULL, guard_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool crowded_ = false;
  std::vector<std::byte> scratch_;
  std::vector<MPI_Request> requests_;
  std::vector<Incoming> incoming_;
};

}  // namespace

bool host_is_crowded() {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int ranks = 1;
  MPI_Comm_size(here, &ranks);
  MPI_Comm_free(&here);
  return ranks > ::sysconf(_SC_NPROCESSORS_ONLN);
}

sim::Result<std::unique_ptr<DataPlane>> make_mpi_plane(int* argc, char*** argv) {
  int provided = 0;
  if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return sim::Error{.what = "MPI did not start", .hint = "Start it with: mpirun -n 4 ringside-rank …"};
  return std::unique_ptr<DataPlane>(std::make_unique<MpiPlane>());
}

}  // namespace ringside::backend
