// Loads the profiler plugin and calls it as NCCL does: nccl_profiler_driver PLUGIN VERSION RANK WORLD COMMS
// FLOOD
//
// The declarations are written down here once more, whole, from NCCL's public headers (profiler_v4.h, v5.h,
// v6.h), so that a slip in the plugin's shows as wrong numbers in the recording. A user thread calls
// collectives, a proxy thread moves them, a third thread polls the kernels: as NCCL's threads do.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

template <class Type, bool kIsV4>
struct Descriptor {
  Type type;
  void* parentObj;
  int rank;
  union {
    struct {
      bool graphCaptured;
      int groupDepth;
    } groupApi;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graphCaptured;
    } collApi;
    struct {
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
      void* parentGroup;  // not in v4, whose descriptor ends before it
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
      void* parentGroup;
    } p2p;
    struct {
      pid_t pid;
      uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
    struct {
      uint8_t channelId;
      uint64_t pTimer;
    } kernelCh;
    struct {
      int64_t id;
      void* data;
    } netPlugin;
  };
};
union StateArgs {
  struct {
    size_t transSize;
  } proxyStep;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
};
using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);

template <class D>
struct CommonCalls {
  int (*startEvent)(void*, void**, D*);
  int (*stopEvent)(void*);
  int (*recordEventState)(void*, int, StateArgs*);
  int (*finalize)(void*);
};
using D4 = Descriptor<uint8_t, true>;
using D5 = Descriptor<uint64_t, false>;
struct V4 {
  const char* name;
  int (*init)(void**, int*, const char*, uint64_t, int, int, int, Logger);
  CommonCalls<D4> calls;
};
struct V5 {
  const char* name;
  int (*init)(void**, uint64_t, int*, const char*, int, int, int, Logger);
  CommonCalls<D5> calls;
};

void log_line(int, unsigned long, const char*, int, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "driver: %s\n", what);
  std::exit(3);
}

enum {
  Group = 1,
  Coll = 2,
  P2p = 4,
  ProxyOp = 8,
  ProxyStep = 16,
  ProxyCtrl = 32,
  KernelCh = 64,
  GroupApi = 256,
  CollApi = 512
};

struct Job {
  int rank, world, flood;
};

/// One collective of a communicator with traffic on two channels.
template <class D>
class Session {
 public:
  Session(const CommonCalls<D>& calls, void* context, const Job& job)
      : calls_(calls), context_(context), job_(job) {}

  void* start(unsigned type, void* parent, D d = {}) {
    void* handle = reinterpret_cast<void*>(uintptr_t{0xDEAD});
    d.type = static_cast<decltype(d.type)>(type);
    d.parentObj = parent;
    d.rank = job_.rank;
    if (calls_.startEvent(context_, &handle, &d) != 0) fail("startEvent failed");
    if (handle == reinterpret_cast<void*>(uintptr_t{0xDEAD})) fail("startEvent left the handle as it was");
    ++made_;
    return handle;
  }

  void collective(const char* func, size_t count, const char* datatype) {
    if (start(GroupApi & 255 ? GroupApi : ProxyCtrl, nullptr) != nullptr)
      fail("a handle for what was not asked");
    D d = {};
    d.coll.seqNumber = 77;  // NCCL counts each function by itself; the plugin must not take this one
    d.coll.func = func;
    d.coll.count = count;
    d.coll.datatype = datatype;
    d.coll.root = -1;
    d.coll.nChannels = 2;
    d.coll.nWarps = 16;
    d.coll.algo = "RING";
    d.coll.proto = "SIMPLE";
    void* coll = start(Coll, nullptr, d);
    calls_.stopEvent(coll);  // launched; it runs on
    std::thread kernels([&] {
      std::vector<void*> channels;
      for (uint8_t c = 0; c < 2; ++c) {
        D k = {};
        k.kernelCh.channelId = c;
        channels.push_back(start(KernelCh, coll, k));
      }
      proxy(coll);
      for (void* channel : channels) {
        calls_.recordEventState(channel, 22, nullptr);
        calls_.stopEvent(channel);
      }
    });
    kernels.join();
  }

  void proxy(void* coll) {
    std::vector<std::thread> threads;
    for (uint8_t c = 0; c < 2; ++c)
      for (const int is_send : {0, 1}) threads.emplace_back([=, this] { channel(coll, c, is_send); });
    for (std::thread& thread : threads) thread.join();
  }

  void channel(void* coll, uint8_t c, int is_send) {
    D d = {};
    d.proxyOp.pid = ::getpid();
    d.proxyOp.channelId = c;
    d.proxyOp.peer = (job_.rank + (is_send ? 1 : job_.world - 1)) % job_.world;
    d.proxyOp.nSteps = 2;
    d.proxyOp.chunkSize = 4096;
    d.proxyOp.isSend = is_send;
    void* op = start(ProxyOp, coll, d);
    d.proxyOp.pid = ::getpid() + 1;
    if (start(ProxyOp, coll, d) != nullptr) fail("the parent of another process was taken");
    for (int s = 0; s < 2 + job_.flood; ++s) {
      D p = {};
      p.proxyStep.step = s;
      void* step = start(ProxyStep, op, p);
      StateArgs args{};
      args.proxyStep.transSize = static_cast<size_t>(1000 + s);
      for (const int state : is_send ? std::vector<int>{8, 20, 9} : std::vector<int>{10, 11, 12})
        calls_.recordEventState(step, state, &args);
      calls_.stopEvent(step);
      calls_.stopEvent(step);  // once more, with a handle that is over
    }
    calls_.stopEvent(op);
  }

  void garbage() {
    for (uint64_t bits : {uint64_t{1}, ~uint64_t{0}, uint64_t{0x0100000000000001},
                          uint64_t{0x03FFFFFF00000001}, uint64_t{0x0400000500000009}}) {
      void* handle = reinterpret_cast<void*>(bits);
      calls_.recordEventState(handle, 10, nullptr);
      calls_.stopEvent(handle);
      start(ProxyStep, handle);
      start(KernelCh, handle);
    }
    calls_.stopEvent(nullptr);
    calls_.recordEventState(nullptr, 10, nullptr);
    void* handle = nullptr;
    D d = {};
    d.type = Coll;
    calls_.startEvent(nullptr, &handle, &d);
    if (handle != nullptr) fail("an event without a context");
  }
  size_t made() const { return made_.load(); }

 private:
  const CommonCalls<D>& calls_;
  void* context_;
  Job job_;
  std::atomic<size_t> made_{0};
};

template <class D, class Init>
int drive(const CommonCalls<D>& calls, const Job& job, int comms, const Init& init) {
  std::vector<void*> contexts;
  int mask = -1;
  for (int c = 0; c < comms; ++c) {
    void* context = nullptr;
    const int ranks = c == 0 ? job.world : 1;  // the first is the whole job, the others a part of it
    if (init(&context, &mask, c, ranks, c == 0 ? job.rank : 0) != 0) fail("init failed");
    contexts.push_back(context);
  }
  if (mask == 0) return std::puts("mask 0"), 0;
  if (mask != (Coll | ProxyOp | ProxyStep | KernelCh)) fail("wrong mask");
  const auto began = std::chrono::steady_clock::now();
  size_t made = 0;
  std::vector<std::thread> users;
  for (size_t c = 0; c < contexts.size(); ++c)
    users.emplace_back([&, c] {
      Session<D> session(calls, contexts[c], job);
      session.collective("AllReduce", 1000, "ncclFloat32");
      session.garbage();
      session.collective("AllGather", 9, "ncclInt8");
      session.collective("Broadcast", 5, "ncclBfloat16");
      if (c == 0) made = session.made();
    });
  for (std::thread& user : users) user.join();
  const auto took = std::chrono::steady_clock::now() - began;
  std::printf("ns_per_event %lld\n",
              static_cast<long long>(std::chrono::nanoseconds(took).count() /
                                     static_cast<long long>(std::max<size_t>(made, 1))));
  for (void* context : contexts) calls.finalize(context);
  // The job goes on for a while, or as long as the test says: a file that it makes ends it.
  if (const char* until = std::getenv("STAY_UNTIL")) {
    for (int i = 0; i < 600 && ::access(until, F_OK) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(job.flood > 0 ? 1500 : 600));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  void* library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(::dlerror());
  const Job job{std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[6])};
  const int comms = std::atoi(argv[5]);
  const std::string symbol = std::string("ncclProfiler_v") + argv[2];
  void* table = ::dlsym(library, symbol.c_str());
  if (table == nullptr) fail("no such version");
  if (argv[2][0] == '4') {
    const V4& v4 = *static_cast<V4*>(table);
    return drive<D4>(v4.calls, job, comms, [&](void** context, int* mask, int c, int ranks, int rank) {
      return v4.init(context, mask, c == 0 ? "world" : nullptr, 0xABC0u + static_cast<unsigned>(c), 1, ranks,
                     rank, log_line);
    });
  }
  const V5& v5 = *static_cast<V5*>(table);
  return drive<D5>(v5.calls, job, comms, [&](void** context, int* mask, int c, int ranks, int rank) {
    return v5.init(context, 0xABC0u + static_cast<unsigned>(c), mask, c == 0 ? "world" : nullptr, 1, ranks,
                   rank, log_line);
  });
}
