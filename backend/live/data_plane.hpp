// The data plane of a live rank: moves and reduces real bytes between real processes, and knows nothing of
// telemetry. What happens inside a stepped collective is told to an observer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "sim/base/result.hpp"
#include "sim/collective/schedule.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::backend {

/// The numbers of a chunk where they are. A look costs a pass over them, on a GPU a kernel and a copy, so the
/// plane takes none: the observer asks.
class ChunkNumbers {
 public:
  virtual ~ChunkNumbers() = default;
  /// Nothing if the device failed meanwhile (the plane then reports that by itself).
  virtual std::optional<sim::Sample> sample() const = 0;
};

/// What a stepped collective does, seen from this rank. ChunkNumbers are valid during the call only.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void sends(const sim::Transfer& transfer, const ChunkNumbers& numbers) = 0;
  virtual void waits(const sim::Transfer& transfer) = 0;
  virtual void arrived(const sim::Transfer& transfer, std::int64_t bytes) = 0;
  virtual void holds(const sim::Transfer& transfer, const ChunkNumbers& numbers) = 0;
};

/// One call as this rank makes it: count may be wrong on purpose.
struct PlaneCall {
  sim::DType dtype = sim::DType::Float32;
  sim::ReduceOp op = sim::ReduceOp::Sum;
  std::span<std::byte> data;  // in place
};

/// Numbers that ranks compare before a collective, as PyTorch's DETAIL wrapper does.
struct Fingerprint {
  std::int64_t seq = 0, collective = 0, dtype = 0, count = 0, op = 0;
  bool operator==(const Fingerprint&) const = default;
};

class DataPlane {
 public:
  virtual ~DataPlane() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual std::string device() const = 0;   // "CPU (MPI)" …
  virtual std::string version() const = 0;  // of the library that moves the bytes
  /// Whose errors these are, as the trace's error events name it: "mpi", "nccl".
  virtual std::string layer() const = 0;
  /// PCI bus id of the GPU ("0000:2b:00.0"), empty on a CPU.
  virtual std::string pci_bus_id() const { return {}; }
  /// The schedule's own sends and receives. Errors are the library's (truncation …).
  virtual sim::Status stepped(const sim::Schedule& schedule, const PlaneCall& call,
                              StepObserver& observer) = 0;
  /// The library's own AllReduce.
  virtual sim::Status fused(const PlaneCall& call) = 0;
  /// Gathers every rank's fingerprint; out has world_size entries.
  virtual sim::Status exchange(const Fingerprint& mine, std::span<Fingerprint> out) = 0;
  /// Rank 0's text to everybody (the scenario file).
  virtual std::string broadcast_text(const std::string& text) = 0;
  /// Gives up what runs because a rank is lost: what waits in this plane, in any thread, returns an error,
  /// and so does every later call. From any thread, any number of times. MPI has no such thing that would
  /// spare the other ranks (MPI_Abort ends them all), so its plane does nothing.
  virtual void abort() {}
  /// Leaves cleanly: only when every rank calls it.
  virtual void finalize() = 0;
};

}  // namespace ringside::backend
