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
  /// its stdout comes back through a pipe, with `read_errors` its stderr too (the same pipe), else they go to
  /// our stderr: stdout is for results. Call it on a thread that lives as long as we do: the child ends with
  /// that thread.
  static sim::Result<Child> start(const std::vector<std::string>& argv,
                                  const std::vector<std::string>& environment, bool read_output,
                                  bool read_errors = false);

  /// Whole lines that came since the last call, without waiting; the rest of the output once it has ended.
  std::vector<std::string> lines();

  /// One line of its output without the line feed; an error when it ends or says nothing for `timeout_ms`.
  sim::Result<std::string> read_line(int timeout_ms);
  bool running();
  /// True while child processes of its own run (those that have ended and wait to be reaped do not count), or
  /// when the system does not tell (/proc/PID/task/*/children).
  bool has_running_children() const;
  /// SIGTERM, then SIGKILL after `patience_ms`.
  void end(int patience_ms);
  /// SIGTERM, without waiting.
  void ask_to_end();
  /// SIGTERM, and we have nothing to do with it any more: for who ends too and cannot wait. The child must end by
  /// itself on SIGTERM and not mind that nobody reads what it says.
  void leave_to_end();
  int pid() const { return pid_; }
  /// Exit code, or 128 + signal; -1 while it runs.
  int exit_code() const { return exit_code_; }

 private:
  int pid_ = -1;
  int output_ = -1;
  int exit_code_ = -1;
  std::string partial_;  // a line whose end has not come yet
};

}  // namespace ringside::backend
