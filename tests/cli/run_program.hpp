// Starts a program by argument vector and gives back what it said.
#pragma once

#include <string>
#include <vector>

namespace ringside::test {

struct Said {
  int code = -1;  // exit status; 128 + signal
  std::string out, err;
};

/// Runs `arguments[0]` in `folder` (empty: here) and waits for its end.
Said run_program(const std::vector<std::string>& arguments, const std::string& folder = {});

}  // namespace ringside::test
