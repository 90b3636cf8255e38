// Child processes that never outlive us: started by argument vector, killed when their parent dies, ended
// with patience.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::backend {

class Child {
 public:
  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // ends it

  /// Starts `argv` (argv[0] is looked up in PATH) with more environment ("NAME=value"). With `read_output`
  /// its stdout comes back through a pipe, else it goes to our stderr: stdout is for results.
  static sim::Result<Child> start(const std::vector<std::string>& argv,
                                  const std::vector<std::string>& environment, bool read_output);

  /// One line of its output without the line feed; an error when it ends or says nothing for `timeout_ms`.
  sim::Result<std::string> read_line(int timeout_ms);
  bool running();
  /// True while child processes of its own run (those that have ended and wait to be reaped do not count), or
  /// when the system does not tell (/proc/PID/task/*/children).
  bool has_running_children() const;
  /// SIGTERM, then SIGKILL after `patience_ms`.
  void end(int patience_ms);
  int pid() const { return pid_; }
  /// Exit code, or 128 + signal; -1 while it runs.
  int exit_code() const { return exit_code_; }

 private:
  int pid_ = -1;
  int output_ = -1;
  int exit_code_ = -1;
};

}  // namespace ringside::backend
