// A stand-in for libnvidia-ml.so.1: one GPU at 0000:2b:00.0. Its Xid and its link errors come with the second
// reading; it has no clock (as a virtual GPU).
#include <cstring>

namespace {
int g_reads = 0;
int g_device = 0;
}  // namespace

extern "C" {
int nvmlInit_v2() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = &g_device;
  return std::strcmp(id, "0000:2b:00.0") == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatt) {
  ++g_reads;
  *milliwatt = 412'500;
  return device == &g_device ? 0 : 2;
}
struct Rates {
  unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(void*, Rates* rates) {
  *rates = {98, 40};
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned, unsigned*) {
  return 3;  // NVML_ERROR_NOT_SUPPORTED
}
int nvmlDeviceGetTemperature(void*, unsigned sensor, unsigned* celsius) {
  *celsius = 63;
  return sensor == 0 ? 0 : 2;
}
int nvmlDeviceGetTotalEccErrors(void*, unsigned type, unsigned counter, unsigned long long* count) {
  *count = 2;
  return type == 1 && counter == 0 ? 0 : 2;
}
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned link, unsigned counter, unsigned long long* value) {
  if (link > 3) return 3;
  *value = link == 3 && counter == 0 && g_reads >= 2 ? 7 : 5;
  return 0;
}
int nvmlEventSetCreate(void** set) {
  *set = &g_reads;
  return 0;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long types, void*) {
  return types == 8 ? 0 : 2;
}
struct Data {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
int nvmlEventSetWait_v2(void*, Data* data, unsigned timeout_ms) {
  if (timeout_ms != 0) return 2;
  if (g_reads != 2) return 10;  // NVML_ERROR_TIMEOUT
  *data = {&g_device, 8, 79, 0, 0};
  return 0;
}
}
