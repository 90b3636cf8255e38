// Fuzz entries: one function for each reader. With Clang and RINGSIDE_FUZZ each becomes a libFuzzer program;
// everywhere else fuzz_corpus_test runs all of them on their seeds and on mutations of the seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::fuzz {

/// Seeds are made by code (seeds.cpp), so that no binary file and nobody else's data is in the repository.
std::vector<std::string> seeds(std::string_view entry);

/// Stops the program when a property that must hold for every input does not.
[[noreturn]] void broken(const char* what);
inline void require(bool holds, const char* what) {
  if (!holds) broken(what);
}

void pickle(std::string_view input);
void json(std::string_view input);
void flight_recorder(std::string_view input);
void ras(std::string_view input);
void inspector(std::string_view input);
void input_layer(std::string_view input);
void log_lines(std::string_view input);
void diagnose_texts(std::string_view input);
void scenario(std::string_view input);
void fault(std::string_view input);
void trace(std::string_view input);

struct Entry {
  const char* name;
  void (*run)(std::string_view);
};
inline constexpr Entry kEntries[] = {
    {"pickle", pickle},
    {"json", json},
    {"flight_recorder", flight_recorder},
    {"ras", ras},
    {"inspector", inspector},
    {"input_layer", input_layer},
    {"log_lines", log_lines},
    {"diagnose_texts", diagnose_texts},
    {"scenario", scenario},
    {"fault", fault},
    {"trace", trace},
};

}  // namespace ringside::fuzz
