// Writes the seeds of every entry to DIR/ENTRY/N, where libFuzzer takes them from.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz_entry.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIR\n", argv[0]);
    return 2;
  }
  for (const auto& entry : ringside::fuzz::kEntries) {
    const auto folder = std::filesystem::path(argv[1]) / entry.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const auto& seed : ringside::fuzz::seeds(entry.name))
      std::ofstream(folder / ("seed_" + std::to_string(number++)), std::ios::binary) << seed;
  }
  return 0;
}
