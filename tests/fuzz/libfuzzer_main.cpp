// The libFuzzer program of one entry; its name comes from the build.
#include "fuzz_entry.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ringside::fuzz::RINGSIDE_FUZZ_ENTRY({reinterpret_cast<const char*>(data), size});
  return 0;
}
