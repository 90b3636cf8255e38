// A child process of ours: argument vector, bytes for its stdin, its stdout line by line, its stderr as a
// text.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::app {

class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept { swap(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ChildProcess();  // ends it

  struct Options {
    std::string input = {};     // its whole stdin
    bool stream_input = false;  // instead: write() feeds it
    bool read_output = false;   // lines() reads its stdout; else that goes nowhere
  };
  /// argv[0] is a path.
  static sim::Result<ChildProcess> start(const std::vector<std::string>& argv, const Options& options);

  bool started() const { return pid_ > 0; }
  /// Blocks until the child has taken it. False if it does not read any more.
  bool write(const void* bytes, std::size_t size);
  void close_input();
  /// Whole lines that came since the last call. Never blocks.
  std::vector<std::string> lines();
  /// True while it runs.
  bool running();
  /// Waits for its end.
  void wait();
  void kill();
  /// After its end: the exit code, or 128 + signal.
  int exit_code() const { return exit_code_; }
  /// What it said on stderr, at most 4 KiB.
  std::string errors() const;

 private:
  void swap(ChildProcess& other) noexcept;
  void reap(int status);
  int pid_ = -1, input_ = -1, output_ = -1, errors_ = -1, exit_code_ = -1;
  std::string partial_;
};

}  // namespace ringside::app
