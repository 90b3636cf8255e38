// Prototypes after NVIDIA's public NVML reference (docs.nvidia.com/deploy/nvml-api): the library is C and
// stable by its versioned names.
#include "backend/live/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace ringside::backend {
namespace {

using Device = void*;
using EventSet = void*;
using Code = int;  // 0 = NVML_SUCCESS
struct Utilisation {
  unsigned gpu, memory;
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kClockSm = 1, kTemperatureGpu = 0, kEccUncorrected = 1, kEccVolatile = 0, kLinks = 18;
constexpr unsigned long long kXidEvent = 8;
constexpr std::array<const char*, 4> kLinkCounters{"replay", "recovery", "CRC flit", "CRC data"};
constexpr std::size_t kKept = 64;

struct Library {
  Code (*init)() = nullptr;
  Code (*by_pci)(const char*, Device*) = nullptr;
  Code (*power)(Device, unsigned*) = nullptr;
  Code (*utilisation)(Device, Utilisation*) = nullptr;
  Code (*clock)(Device, unsigned, unsigned*) = nullptr;
  Code (*temperature)(Device, unsigned, unsigned*) = nullptr;
  Code (*ecc)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  Code (*link_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  Code (*make_set)(EventSet*) = nullptr;
  Code (*listen)(Device, unsigned long long, EventSet) = nullptr;
  Code (*next_event)(EventSet, EventData*, unsigned) = nullptr;

  /// Never closed: its threads are its own.
  bool load(const char* name) {
    void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    const auto get = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, symbol));
    };
    get(init, "nvmlInit_v2");
    get(by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    get(power, "nvmlDeviceGetPowerUsage");
    get(utilisation, "nvmlDeviceGetUtilizationRates");
    get(clock, "nvmlDeviceGetClockInfo");
    get(temperature, "nvmlDeviceGetTemperature");
    get(ecc, "nvmlDeviceGetTotalEccErrors");
    get(link_errors, "nvmlDeviceGetNvLinkErrorCounter");
    get(make_set, "nvmlEventSetCreate");
    get(listen, "nvmlDeviceRegisterEvents");
    get(next_event, "nvmlEventSetWait_v2");
    return init != nullptr && by_pci != nullptr;
  }
};

}  // namespace

struct DeviceMonitor::State {
  Library nvml;
  Device device = nullptr;
  EventSet events = nullptr;
  int period_ms = 1000;
  std::array<std::array<unsigned long long, kLinkCounters.size()>, kLinks> links{};
  bool links_known = false;
  std::mutex mutex;
  std::condition_variable stopped;
  bool stop = false;
  std::vector<DeviceReading> readings;

  template <class Function, class... Arguments>
  static float number(Function function, float scale, Arguments... arguments) {
    unsigned value = 0;
    return function != nullptr && function(arguments..., &value) == 0
               ? static_cast<float>(value) * scale
               : std::numeric_limits<float>::quiet_NaN();
  }

  std::string new_link_errors() {
    if (nvml.link_errors == nullptr) return {};
    std::string out;
    for (unsigned link = 0; link < kLinks; ++link)
      for (unsigned counter = 0; counter < kLinkCounters.size(); ++counter) {
        unsigned long long value = 0;
        if (nvml.link_errors(device, link, counter, &value) != 0) continue;
        unsigned long long& last = links[link][counter];
        if (links_known && value > last)
          out += (out.empty() ? "" : ", ") + ("NVLink " + std::to_string(link)) + ": " +
                 std::to_string(value - last) + " " + kLinkCounters[counter] + " errors";
        last = value;
      }
    links_known = true;
    return out;
  }

  void read() {
    DeviceReading reading;
    reading.unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
    reading.device.power_w = number(nvml.power, 1e-3f, device);
    reading.device.sm_clock_mhz = number(nvml.clock, 1.0f, device, kClockSm);
    reading.device.temperature_c = number(nvml.temperature, 1.0f, device, kTemperatureGpu);
    Utilisation used{};
    reading.device.utilisation = nvml.utilisation != nullptr && nvml.utilisation(device, &used) == 0
                                     ? static_cast<float>(used.gpu)
                                     : std::numeric_limits<float>::quiet_NaN();
    unsigned long long errors = 0;
    if (nvml.ecc != nullptr && nvml.ecc(device, kEccUncorrected, kEccVolatile, &errors) == 0)
      reading.device.ecc_errors =
          static_cast<std::uint32_t>(std::min<unsigned long long>(errors, 0xFFFF'FFFF));
    EventData event{};
    if (events != nullptr && nvml.next_event != nullptr && nvml.next_event(events, &event, 0) == 0 &&
        event.type == kXidEvent)
      reading.device.xid = static_cast<std::uint32_t>(event.data);
    reading.link_errors = new_link_errors();
    const std::lock_guard lock(mutex);
    if (readings.size() < kKept) readings.push_back(std::move(reading));
  }

  void run() {
    while (true) {
      read();
      std::unique_lock lock(mutex);
      if (stopped.wait_for(lock, std::chrono::milliseconds(period_ms), [this] { return stop; })) return;
    }
  }
};

std::unique_ptr<DeviceMonitor> DeviceMonitor::open(const std::string& pci_bus_id, int period_ms,
                                                   const std::string& library) {
  auto state = std::make_shared<State>();
  state->period_ms = period_ms;
  if (!state->nvml.load(library.c_str()) || state->nvml.init() != 0 ||
      state->nvml.by_pci(pci_bus_id.c_str(), &state->device) != 0)
    return nullptr;
  const Library& nvml = state->nvml;
  if (nvml.make_set != nullptr && nvml.listen != nullptr && nvml.make_set(&state->events) == 0 &&
      nvml.listen(state->device, kXidEvent, state->events) != 0)
    state->events = nullptr;
  std::thread([state] { state->run(); }).detach();  // it may hang in the driver: nobody joins it
  return std::unique_ptr<DeviceMonitor>(new DeviceMonitor(std::move(state)));
}

DeviceMonitor::~DeviceMonitor() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->stopped.notify_all();
}

std::vector<DeviceReading> DeviceMonitor::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->readings, {});
}

}  // namespace ringside::backend
