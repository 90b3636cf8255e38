// ringside-fit TABLES [OUT.toml]: fits the time model to the tables of a folder, prints the
// leave-one-machine-out table, and writes the constants (assets/presets.toml).
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "backend/model/fit.hpp"

int main(int argc, char** argv) {
  namespace backend = ringside::backend;
  if (argc < 2 || argc > 3) {
    fmt::print(stderr,
               "usage: ringside-fit TABLES [OUT.toml]\n"
               "example: ringside-fit tests/data/nccl-tests assets/presets.toml\n");
    return 2;
  }
  const auto catalog = backend::read_catalog(argv[1]);
  if (!catalog) {
    fmt::print(stderr, "{}\n", catalog.error().message());
    return 2;
  }
  const backend::FitReport report = backend::fit_and_hold_out(*catalog);
  fmt::print("{}", backend::hold_out_table(report));
  if (argc == 2) return 0;
  std::ofstream file(argv[2], std::ios::binary);
  file << ringside::sim::time_model_toml(report.model);
  if (file.flush()) return 0;
  fmt::print(stderr, "cannot write {}\n", argv[2]);
  return 1;
}
