// libnccl-profiler-ringside.so: NCCL loads it, calls it for every communicator, and an unchanged job can be
// watched. See docs/nccl-profiler.md.
//
// The plugin itself only fills shared memory (tracker.hpp). At the first communicator it starts the feeder
// (ringside-nccl-feed), a process beside the job that talks to the hub: no network, no TLS and no thread of
// ours inside somebody else's training process. Whatever goes wrong here, the job goes on: after a failed
// start the activation mask is 0 and NCCL calls nothing.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "backend/live/nccl_profiler/feed_block.hpp"
#include "backend/live/nccl_profiler/tracker.hpp"

extern char** environ;

namespace ringside::nccl_profiler {
namespace {

constexpr int kLogWarn = 2, kLogInfo = 3;
constexpr unsigned long kLogInit = 1;
constexpr int kFeedFd = 3;
constexpr int kMask = kColl | kProxyOp | kProxyStep | kKernelCh;

int number_from(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names)
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return otherwise;
}

/// Beside this library, or in ../bin; RINGSIDE_FEED says another place.
std::string feeder_path() {
  if (const char* path = std::getenv("RINGSIDE_FEED")) return path;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&feeder_path), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash);
  for (const char* place : {"/ringside-nccl-feed", "/../bin/ringside-nccl-feed"})
    if (::access((folder + place).c_str(), X_OK) == 0) return folder + place;
  return {};
}

/// The block as the only descriptor that the feeder gets beside stderr: NCCL's sockets stay the job's.
bool start_feeder(const std::string& path, int block_fd) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, block_fd, kFeedFd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kFeedFd + 1);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  const std::string job = std::to_string(::getpid());
  const char* argv[] = {path.c_str(), "--job", job.c_str(), nullptr};
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, path.c_str(), &actions, &attributes, const_cast<char**>(argv), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return failed == 0;
}

/// Made at the first communicator, never taken down: the library stays loaded (-z nodelete) and the feeder
/// ends with the process.
struct Plugin {
  std::mutex mutex;  // init only
  bool tried = false;
  std::atomic<Tracker*> tracker{nullptr};
  std::string problem;

  void start(int ranks, int rank) {
    tried = true;
    if (std::getenv("RINGSIDE_HUB") == nullptr) {
      problem = "RINGSIDE_HUB is not set (the URL that `ringside-cli hub` printed)";
      return;
    }
    const std::string feeder = feeder_path();
    if (feeder.empty()) {
      problem = "ringside-nccl-feed is not beside the plugin; RINGSIDE_FEED says where it is";
      return;
    }
    const int fd = ::memfd_create("ringside-nccl", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, sizeof(backend::FeedBlock)) != 0) {
      problem = "no shared memory";
      return;
    }
    void* memory = ::mmap(nullptr, sizeof(backend::FeedBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      problem = "no shared memory";
      return;
    }
    auto* block = new (memory) backend::FeedBlock;
    const int job_rank = number_from({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, rank);
    const int world = number_from({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, ranks);
    describe(block->rank, job_rank, world);
    if (!start_feeder(feeder, fd)) {
      problem = feeder + " did not start";
      return;
    }
    ::close(fd);
    tracker = new (std::nothrow) Tracker(block->rank, job_rank, world);
  }

  static void describe(backend::SharedRank& shared, int rank, int world) {
    utsname system{};
    ::uname(&system);
    std::snprintf(shared.host, sizeof shared.host, "%s", system.nodename);
    std::snprintf(shared.device, sizeof shared.device, "GPU (NCCL profiler plugin)");
    shared.pid = ::getpid();
    shared.local_rank = number_from({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, rank);
    shared.rank.store(rank);
    shared.world_size.store(world);
    shared.ready.store(true, std::memory_order_release);
  }
};

Plugin& plugin() {
  static auto* const the = new Plugin;
  return *the;
}
Tracker* tracker() {
  return plugin().tracker.load(std::memory_order_acquire);
}

Result init(void** context, std::uint64_t id, int* mask, const char* name, int ranks, int rank, Logger log) {
  Plugin& p = plugin();
  const std::lock_guard lock(p.mutex);
  const bool first = !p.tried;
  if (first) p.start(ranks, rank);
  Tracker* const t = tracker();
  if (mask != nullptr) *mask = t != nullptr ? kMask : 0;
  if (context != nullptr) *context = t != nullptr ? t->open(id, name, ranks, rank) : nullptr;
  if (first && log != nullptr) {
    if (t == nullptr)
      log(kLogWarn, kLogInit, __FILE__, __LINE__, "Ringside's profiler plugin records nothing: %s",
          p.problem.c_str());
    else
      log(kLogInfo, kLogInit, __FILE__, __LINE__, "Ringside's profiler plugin records this job");
  }
  return 0;
}

template <class Descriptor>
Result start_event(void* context, void** handle, Descriptor* descriptor) {
  if (handle == nullptr) return 0;
  *handle = nullptr;
  if (Tracker* t = tracker(); t != nullptr && descriptor != nullptr)
    *handle = t->start(context, descriptor->type, descriptor->parent, descriptor->as);
  return 0;
}
Result stop_event(void* handle) {
  if (Tracker* t = tracker()) t->stop(handle);
  return 0;
}
Result record_event_state(void* handle, int state, StateArgs* args) {
  if (Tracker* t = tracker()) t->state(handle, state, args);
  return 0;
}
Result finalize(void* context) {
  if (Tracker* t = tracker()) t->close(context);
  return 0;
}
Result init_v4(void** context, int* mask, const char* name, std::uint64_t hash, int, int ranks, int rank,
               Logger log) {
  return init(context, hash, mask, name, ranks, rank, log);
}
Result init_v5(void** context, std::uint64_t id, int* mask, const char* name, int, int ranks, int rank,
               Logger log) {
  return init(context, id, mask, name, ranks, rank, log);
}

}  // namespace
}  // namespace ringside::nccl_profiler

#define RINGSIDE_EXPORT extern "C" __attribute__((visibility("default")))
RINGSIDE_EXPORT ringside::nccl_profiler::ProfilerV4 ncclProfiler_v4;
RINGSIDE_EXPORT ringside::nccl_profiler::ProfilerV5 ncclProfiler_v5, ncclProfiler_v6;

namespace ringside::nccl_profiler {
namespace {
constexpr ProfilerV4 kV4{"Ringside",         init_v4, start_event<DescriptorV4>, stop_event,
                         record_event_state, finalize};
constexpr ProfilerV5 kV5{"Ringside",         init_v5, start_event<DescriptorV5>, stop_event,
                         record_event_state, finalize};
}  // namespace
}  // namespace ringside::nccl_profiler

ringside::nccl_profiler::ProfilerV4 ncclProfiler_v4 = ringside::nccl_profiler::kV4;
ringside::nccl_profiler::ProfilerV5 ncclProfiler_v5 = ringside::nccl_profiler::kV5;
ringside::nccl_profiler::ProfilerV5 ncclProfiler_v6 = ringside::nccl_profiler::kV5;
