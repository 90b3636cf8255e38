// A double of the few CUDA and NCCL calls that the GPU plane makes. It moves real numbers between ranks that
// are threads of one process, and is as unhelpful as the real thing may be:
//  * Work in a stream happens later: when an event is queried (Pace::Late), so that a host that does not wait
//    reads what was there before; or at once (Pace::Early), so that a host that reuses memory too soon is
//    caught.
//  * A call that says InProgress has not put anything into the stream yet.
//  * A send ends when its receiver took it, so sends and receives that are not grouped wait for each other.
// What a program may not do (touch memory that is not its own, use a communicator after the abort, send
// outside a group …) is noted in `violations`.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/live/data_plane.hpp"
#include "backend/live/gpu_calls.hpp"

namespace ringside::test {

enum class Pace : std::uint8_t { Late, Early };

/// What goes wrong on one rank.
struct Trouble {
  int in_progress = 0;         // how often async_error says InProgress after a call
  int async_error_after = -1;  // from this poll on …
  backend::Nccl async_error = backend::Nccl::RemoteError;  // … the communicator has failed so
  int cuda_error_at = -1;                                  // this call of a kernel or copy fails (from 0)
  bool loses_sends = false;                                // what it sends never arrives
  bool no_id = false;                                      // ncclGetUniqueId fails
  int devices = 8;
  backend::CudaError device_error = backend::kCudaSuccess;
};

/// What the ranks share: messages on their way, reductions that collect their inputs, the host's bootstrap.
class GpuWorld {
 public:
  explicit GpuWorld(int size) : size_(size) {}
  int size() const { return size_; }

 private:
  friend class GpuDouble;
  friend class HostDouble;
  struct Message {
    std::vector<std::byte> bytes;
    std::shared_ptr<bool> taken;
  };
  struct Reduction {
    kernels::DType dtype{};
    backend::NcclOp op{};
    std::int64_t count = -1;
    std::map<int, std::vector<std::byte>> inputs;
    std::map<int, std::vector<std::byte>> results;
    bool mismatched = false;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  int size_;
  std::set<int> joined_;
  std::map<std::pair<int, int>, std::deque<Message>> mail_;
  std::deque<Reduction> reductions_;  // by the number of the call
  // Bootstrap: one round at a time.
  std::map<int, std::vector<std::byte>> gathered_;
  std::vector<std::byte> round_;
  int leaving_ = 0;
};

class GpuDouble final : public backend::GpuCalls {
 public:
  /// What outlives the plane that owns the double.
  struct Notes {
    std::mutex mutex;
    std::vector<std::string> calls;       // in order
    std::vector<std::string> violations;  // empty if the plane is right
    int aborts = 0, destroys = 0, allocations = 0;
    int count(const std::string& call) const;
  };
  GpuDouble(GpuWorld& world, int rank, Pace pace, const Trouble& trouble, std::shared_ptr<Notes> notes);

  backend::CudaError device_count(int& count) override;
  backend::CudaError use_device(int device) override;
  std::string device_name(int) override { return "Double GPU"; }
  std::string pci_bus_id(int device) override { return "0000:0" + std::to_string(device) + ":00.0"; }
  backend::CudaError allocate(void*& out, std::size_t bytes) override;
  void release(void* memory) override;
  backend::CudaError make_stream(backend::Stream& out) override;
  void release_stream(backend::Stream) override { note("release_stream"); }
  backend::CudaError make_event(backend::Event& out) override;
  void release_event(backend::Event) override {}
  backend::CudaError copy_in(void*, const void*, std::size_t, backend::Stream) override;
  backend::CudaError copy_out(void*, const void*, std::size_t, backend::Stream) override;
  backend::CudaError copy_within(void*, const void*, std::size_t, backend::Stream) override;
  backend::CudaError record(backend::Event, backend::Stream) override;
  backend::CudaError query(backend::Event) override;
  std::string cuda_text(backend::CudaError error) override { return "CUDA error " + std::to_string(error); }
  backend::CudaError reduce(kernels::DType, kernels::Op, const void*, void*, std::int64_t,
                            backend::Stream) override;
  backend::CudaError scale(kernels::DType, void*, std::int64_t, int, backend::Stream) override;
  backend::CudaError divide(kernels::DType, void*, std::int64_t, int, backend::Stream) override;
  backend::CudaError summary(kernels::DType, const void*, std::int64_t, void*, backend::Stream) override;
  backend::CudaError fill(kernels::DType, void*, std::int64_t, std::uint64_t, backend::Stream) override;
  backend::Nccl make_id(backend::NcclId& out) override;
  backend::Nccl comm_init(backend::Comm&, int world, const backend::NcclId&, int rank) override;
  backend::Nccl async_error(backend::Comm, backend::Nccl& error) override;
  backend::Nccl all_reduce(void*, std::int64_t, kernels::DType, backend::NcclOp, backend::Comm,
                           backend::Stream) override;
  backend::Nccl group_start() override;
  backend::Nccl send(const void*, std::size_t, int peer, backend::Comm, backend::Stream) override;
  backend::Nccl recv(void*, std::size_t, int peer, backend::Comm, backend::Stream) override;
  backend::Nccl group_end() override;
  backend::Nccl comm_finalize(backend::Comm) override;
  backend::Nccl comm_destroy(backend::Comm) override;
  backend::Nccl comm_abort(backend::Comm) override;
  std::string nccl_text(backend::Nccl error) override;
  std::string nccl_last_error(backend::Comm) override { return "socketProgress: Connection closed by peer"; }
  std::string nccl_version() override { return "NCCL 2.28.9"; }

 private:
  using Work = std::function<bool()>;  // true when it is done; tried again until then
  struct Post {
    int peer;
    void* data;
    std::size_t bytes;
  };
  struct EventState {
    bool done = true;
  };
  void note(const std::string& call);
  void violation(const std::string& text);
  void check_device(const void* memory, std::size_t bytes, const char* who);
  void check_comm(backend::Comm comm, const char* who);
  /// Counts kernels and copies; the error that is due, if any.
  backend::CudaError work(const char* call, Work work);
  backend::Nccl later(Work work);
  void progress();
  bool exchange(const std::vector<Post>& sends, const std::vector<Post>& receives,
                const std::shared_ptr<std::vector<int>>& state,
                std::vector<std::shared_ptr<bool>>& on_their_way);

  GpuWorld& world_;
  int rank_;
  Pace pace_;
  Trouble trouble_;
  std::shared_ptr<Notes> notes_;
  std::recursive_mutex mutex_;  // the plane may abort from another thread
  std::map<std::byte*, std::vector<std::byte>> memory_;
  std::list<EventState> events_;
  std::deque<Work> stream_;
  std::deque<Work> not_yet_;  // of a call that is still InProgress
  int in_progress_ = 0, polls_ = 0, works_ = 0;
  std::size_t reductions_ = 0;
  bool in_group_ = false, comm_alive_ = false;
  std::vector<Post> sends_, receives_;
  int stream_token_ = 0, comm_token_ = 0;
};

/// The bootstrap between the threads: what MPI is for the real plane.
class HostDouble final : public backend::DataPlane {
 public:
  HostDouble(GpuWorld& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int world_size() const override { return world_.size(); }
  std::string device() const override { return "CPU (double)"; }
  std::string version() const override { return "double"; }
  std::string layer() const override { return "double"; }
  sim::Status stepped(const sim::Schedule&, const backend::PlaneCall&, backend::StepObserver&) override {
    return sim::Error{.what = "the host moves nothing here"};
  }
  sim::Status fused(const backend::PlaneCall&) override {
    return sim::Error{.what = "the host moves nothing here"};
  }
  sim::Status exchange(const backend::Fingerprint& mine, std::span<backend::Fingerprint> out) override;
  std::string broadcast_text(const std::string& text) override;
  void finalize() override {}

 private:
  std::vector<std::byte> gather(const std::vector<std::byte>& mine, std::size_t each);
  GpuWorld& world_;
  int rank_;
};

}  // namespace ringside::test
