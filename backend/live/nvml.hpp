// What NVML says of a GPU: power, utilisation, clock, temperature, uncorrected ECC errors, Xid, NVLink
// errors.
//
// libnvidia-ml is loaded at run time; where it is not there, nothing is said ("not visible"). A GPU that has
// fallen off the bus can hold a call of the driver for minutes, so a thread of its own asks, and nobody waits
// for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/trace/event.hpp"

namespace ringside::backend {

struct DeviceReading {
  std::int64_t unix_ns = 0;
  sim::DevicePayload device{};  // NaN where the GPU does not tell; xid only in the reading that brings it
  std::string link_errors;      // "NVLink 3: 2 replay errors" since the last reading, empty if none
};

class DeviceMonitor {
 public:
  /// Watches the GPU with this PCI bus id. nullptr if there is no NVML or it does not know the GPU.
  static std::unique_ptr<DeviceMonitor> open(const std::string& pci_bus_id, int period_ms = 1000,
                                             const std::string& library = "libnvidia-ml.so.1");
  ~DeviceMonitor();
  /// The readings since the last call, at most some dozens.
  std::vector<DeviceReading> take();

 private:
  struct State;
  explicit DeviceMonitor(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace ringside::backend
