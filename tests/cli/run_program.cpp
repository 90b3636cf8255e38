#include "tests/cli/run_program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ringside::test {
namespace {

std::string take_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

void redirect(const std::string& path, int descriptor) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
}

}  // namespace

Said run_program(const std::vector<std::string>& arguments, const std::string& folder) {
  static int serial = 0;
  const std::string base = (std::filesystem::temp_directory_path() /
                            ("ringside-said-" + std::to_string(::getpid()) + "-" + std::to_string(++serial)))
                               .string();
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(126);
    redirect(base + ".out", STDOUT_FILENO);
    redirect(base + ".err", STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  Said said;
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) == child)
    said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  said.out = take_file(base + ".out");
  said.err = take_file(base + ".err");
  return said;
}

}  // namespace ringside::test
