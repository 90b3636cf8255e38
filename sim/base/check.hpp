// Checks for our own bugs: print both values and abort. The world's faults are values (result.hpp), never
// checks.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace ringside::sim {

[[noreturn]] inline void check_failed(const char* file, int line, const char* expression,
                                      const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, expression, values.c_str());
  std::abort();
}

template <class A, class B>
std::string check_values(const A& a, const B& b) {
  std::ostringstream out;
  out << a << " against " << b;
  return out.str();
}

}  // namespace ringside::sim

#define RINGSIDE_CHECK_OP(a, op, b)                                                   \
  do {                                                                                \
    const auto& check_a = (a);                                                        \
    const auto& check_b = (b);                                                        \
    if (!(check_a op check_b))                                                        \
      ::ringside::sim::check_failed(__FILE__, __LINE__, #a " " #op " " #b,            \
                                    ::ringside::sim::check_values(check_a, check_b)); \
  } while (false)
#define RINGSIDE_CHECK_EQ(a, b) RINGSIDE_CHECK_OP(a, ==, b)
#define RINGSIDE_CHECK_LT(a, b) RINGSIDE_CHECK_OP(a, <, b)
#define RINGSIDE_CHECK_LE(a, b) RINGSIDE_CHECK_OP(a, <=, b)
#define RINGSIDE_CHECK(a)                                                     \
  do {                                                                        \
    if (!(a)) ::ringside::sim::check_failed(__FILE__, __LINE__, #a, "false"); \
  } while (false)
