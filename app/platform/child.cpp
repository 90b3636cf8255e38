#include "app/platform/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

extern char** environ;

namespace ringside::app {
namespace {

/// A file in memory that holds `text`, at its start.
int memory_file(const std::string& text) {
  const int fd = memfd_create("ringside", MFD_CLOEXEC);
  if (fd < 0) return fd;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  lseek(fd, 0, SEEK_SET);
  return fd;
}

void close_if(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

sim::Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& argv, const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a child that stops reading is an error of write, not our end
  ChildProcess child;
  int in = -1;
  std::array<int, 2> input{-1, -1}, output{-1, -1};
  if (options.stream_input) {
    if (pipe2(input.data(), O_CLOEXEC) != 0) return sim::Error{.what = "no pipe can be made"};
    in = input[0];
    child.input_ = input[1];
  } else {
    in = memory_file(options.input);
  }
  if (options.read_output) {
    if (pipe2(output.data(), O_CLOEXEC) != 0) return sim::Error{.what = "no pipe can be made"};
    child.output_ = output[0];
    fcntl(child.output_, F_SETFL, O_NONBLOCK);
  }
  child.errors_ = memory_file({});
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  if (options.read_output)
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  else
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, child.errors_, 2);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int problem =
      posix_spawn(&child.pid_, argv.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close_if(in);
  close_if(output[1]);
  if (problem != 0) {
    child.pid_ = -1;
    return sim::Error{.what = argv.front() + " cannot be started: " + std::strerror(problem)};
  }
  return child;
}

ChildProcess::~ChildProcess() {
  close_input();
  if (pid_ > 0) {
    kill();
    wait();
  }
  close_if(output_);
  close_if(errors_);
}

void ChildProcess::swap(ChildProcess& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(exit_code_, other.exit_code_);
  std::swap(partial_, other.partial_);
}

bool ChildProcess::write(const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::write(input_, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

void ChildProcess::close_input() {
  close_if(input_);
}

std::vector<std::string> ChildProcess::lines() {
  std::vector<std::string> out;
  if (output_ < 0) return out;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = ::read(output_, part.data(), part.size())) > 0;)
    partial_.append(part.data(), static_cast<std::size_t>(n));
  for (std::size_t end = 0; (end = partial_.find('\n')) != std::string::npos;) {
    out.push_back(partial_.substr(0, end));
    partial_.erase(0, end + 1);
  }
  return out;
}

void ChildProcess::reap(int status) {
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
}

bool ChildProcess::running() {
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) reap(status);
  return pid_ > 0;
}

void ChildProcess::wait() {
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_) reap(status);
}

void ChildProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

std::string ChildProcess::errors() const {
  std::string out(4096, '\0');
  const ssize_t n = errors_ >= 0 ? pread(errors_, out.data(), out.size(), 0) : 0;
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

}  // namespace ringside::app
