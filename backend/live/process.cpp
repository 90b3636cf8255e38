#include "backend/live/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace ringside::backend {
namespace {

[[noreturn]] void become(const std::vector<std::string>& argv, int parent, int output, bool errors_too) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);  // Ctrl-C reaches us alone; we end the children in order
  ::dup2(output >= 0 ? output : STDERR_FILENO, STDOUT_FILENO);
  if (errors_too && output >= 0) ::dup2(output, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

/// "123 (name) Z …": the state stands after the last bracket, whatever the name is.
bool has_ended(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return true;
  const std::size_t bracket = stat.rfind(')');
  return bracket != std::string::npos && bracket + 2 < stat.size() && stat[bracket + 2] == 'Z';
}

}  // namespace

Child::Child(Child&& other) noexcept {
  *this = std::move(other);
}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end(2000);
  pid_ = std::exchange(other.pid_, -1);
  output_ = std::exchange(other.output_, -1);
  exit_code_ = std::exchange(other.exit_code_, -1);
  partial_ = std::exchange(other.partial_, {});
  return *this;
}

Child::~Child() {
  end(2000);
}

sim::Result<Child> Child::start(const std::vector<std::string>& argv,
                                const std::vector<std::string>& environment, bool read_output,
                                bool read_errors) {
  int pipe_ends[2] = {-1, -1};
  if (read_output && ::pipe2(pipe_ends, O_CLOEXEC) != 0) return sim::Error{.what = std::strerror(errno)};
  const int parent = ::getpid();
  const int pid = ::fork();
  if (pid < 0) return sim::Error{.what = std::string("cannot start a process: ") + std::strerror(errno)};
  if (pid == 0) {
    for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
    become(argv, parent, pipe_ends[1], read_errors);
  }
  if (read_output) ::close(pipe_ends[1]);
  Child child;
  child.pid_ = pid;
  child.output_ = pipe_ends[0];
  return child;
}

sim::Result<std::string> Child::read_line(int timeout_ms) {
  std::string line;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    pollfd waited{output_, POLLIN, 0};
    if (left <= 0 || ::poll(&waited, 1, static_cast<int>(left)) <= 0)
      return sim::Error{.what = "it said nothing"};
    char c = 0;
    const ssize_t got = ::read(output_, &c, 1);
    if (got <= 0) return sim::Error{.what = "it ended before it said anything"};
    if (c == '\n') return line;
    line += c;
  }
}

std::vector<std::string> Child::lines() {
  constexpr std::size_t kLongestLine = 64 * 1024;
  std::vector<std::string> out;
  if (output_ < 0) return out;
  bool over = false;
  char bytes[4096];
  for (pollfd waited{output_, POLLIN, 0}; !over && ::poll(&waited, 1, 0) > 0;) {
    const ssize_t got = ::read(output_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    over = got <= 0;
    if (!over) partial_.append(bytes, static_cast<std::size_t>(got));
  }
  std::size_t end = 0;
  while ((end = partial_.find('\n')) != std::string::npos || partial_.size() > kLongestLine) {
    out.push_back(partial_.substr(0, std::min(end, kLongestLine)));
    partial_.erase(0, end == std::string::npos ? kLongestLine : end + 1);
  }
  if (over && !partial_.empty()) out.push_back(std::exchange(partial_, {}));
  return out;
}

bool Child::running() {
  if (pid_ < 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = -1;
  return false;
}

bool Child::has_running_children() const {
  namespace fs = std::filesystem;
  std::error_code error;
  bool told = false;
  for (fs::directory_iterator it("/proc/" + std::to_string(pid_) + "/task", error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream children(it->path() / "children");
    told = told || children.is_open();
    for (std::string child; children >> child;)
      if (!has_ended(child)) return true;
  }
  return !told;
}

void Child::ask_to_end() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

void Child::leave_to_end() {
  if (running()) ::kill(std::exchange(pid_, -1), SIGTERM);
  if (output_ >= 0) ::close(std::exchange(output_, -1));
}

void Child::end(int patience_ms) {
  if (running()) {
    ::kill(pid_, SIGTERM);
    for (int waited = 0; waited < patience_ms && running(); waited += 10)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (running()) {
      ::kill(pid_, SIGKILL);
      while (running()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  if (output_ >= 0) ::close(std::exchange(output_, -1));
}

}  // namespace ringside::backend
