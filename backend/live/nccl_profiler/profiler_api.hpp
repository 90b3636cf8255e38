// The binary interface between NCCL and a profiler plugin, versions 4, 5 and 6: what this plugin reads of it.
//
// Declared by hand after the public headers of NCCL (github.com/NVIDIA/nccl,
// src/include/plugin/nccl_profiler.h and profiler/profiler_v4.h, v5.h, v6.h): the plugin is built without
// NCCL and loaded by whatever NCCL a job brings. The assertions below pin the layout. Of the descriptors only
// the members that are read have names; later members of the unions do not move them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringside::nccl_profiler {

using Result = int;  // ncclResult_t; 0 = ncclSuccess. Other values only ever leave init.

/// ncclProfileColl … : bits of the activation mask, one of them is the type of an event.
enum EventBit : std::uint32_t { kColl = 1 << 1, kProxyOp = 1 << 3, kProxyStep = 1 << 4, kKernelCh = 1 << 6 };

/// ncclProfilerEventState_t: the states that a network step goes through.
enum StepState : int {
  kSendGpuWait = 8,
  kSendWait = 9,
  kRecvWait = 10,
  kRecvFlushWait = 11,
  kRecvGpuWait = 12,
  kSendPeerWait = 20,
};

/// The members of the union that have the same place in all three versions.
union Payload {
  struct {
    std::uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels, warps;
    const char* algorithm;
    const char* protocol;
  } coll;
  struct {
    std::int32_t pid;
    std::uint8_t channel;
    int peer, steps, chunk_size, is_send;
  } proxy_op;
  struct {
    int step;
  } proxy_step;
  struct {
    std::uint8_t channel;
    std::uint64_t gpu_time;
  } kernel_channel;
};

struct DescriptorV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  Payload as;
};
/// Also version 6, whose union is longer behind.
struct DescriptorV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  Payload as;
};
union StateArgs {
  struct {
    std::size_t bytes;
  } proxy_step;
  void* other;
};

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

struct ProfilerV4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* comm_name, std::uint64_t comm_hash, int nodes,
                 int ranks, int rank, Logger log);
  Result (*start_event)(void* context, void** handle, DescriptorV4* descriptor);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, StateArgs* args);
  Result (*finalize)(void* context);
};
/// Versions 5 and 6.
struct ProfilerV5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t comm_id, int* mask, const char* comm_name, int nodes,
                 int ranks, int rank, Logger log);
  Result (*start_event)(void* context, void** handle, DescriptorV5* descriptor);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, StateArgs* args);
  Result (*finalize)(void* context);
};

static_assert(sizeof(void*) == 8, "NCCL is 64-bit only");
static_assert(offsetof(DescriptorV4, parent) == 8 && offsetof(DescriptorV4, rank) == 16 &&
              offsetof(DescriptorV4, as) == 24);
static_assert(offsetof(DescriptorV5, parent) == 8 && offsetof(DescriptorV5, rank) == 16 &&
              offsetof(DescriptorV5, as) == 24);
static_assert(offsetof(Payload, coll.function) == 8 && offsetof(Payload, coll.count) == 32 &&
              offsetof(Payload, coll.root) == 40 && offsetof(Payload, coll.datatype) == 48 &&
              offsetof(Payload, coll.channels) == 56 && offsetof(Payload, coll.algorithm) == 64 &&
              offsetof(Payload, coll.protocol) == 72);
static_assert(offsetof(Payload, proxy_op.channel) == 4 && offsetof(Payload, proxy_op.peer) == 8 &&
              offsetof(Payload, proxy_op.chunk_size) == 16 && offsetof(Payload, proxy_op.is_send) == 20);
static_assert(offsetof(Payload, kernel_channel.gpu_time) == 8);
static_assert(sizeof(Payload) == 80 && sizeof(DescriptorV4) == 104, "v4 as a whole");
static_assert(sizeof(StateArgs) == 8);
static_assert(offsetof(ProfilerV4, finalize) == 40 && sizeof(ProfilerV5) == 48);

}  // namespace ringside::nccl_profiler
