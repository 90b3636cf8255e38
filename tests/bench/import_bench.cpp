// Reading a failed job's logs: 1 GB of training chatter in one file with the failure at its end, and the same
// in 512 files of one rank each. Prints MB/s of one core and peak memory beside `LC_ALL=C grep -cE` with the
// readers' own literals, in the same run on the same bytes. Arguments: [megabytes = 1000] [folder for the
// files = a temporary one].
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backend/import/diagnose.hpp"
#include "backend/import/input.hpp"
#include "backend/import/messages.hpp"
#include "sim/base/random.hpp"

namespace {

using namespace ringside;
namespace fs = std::filesystem;

/// One line of what training programs print all day long.
void append_chatter(std::string& out, std::uint64_t number, int rank) {
  const sim::DrawKey key{.seed = 7, .rank = static_cast<std::uint64_t>(rank)};
  const auto draw = [&](std::uint64_t i, std::uint32_t below) {
    return std::to_string(sim::draw_below(key, number * 8 + i, below));
  };
  const std::string step = std::to_string(number / 8);
  const std::string clock = "2026-03-21 0" + std::to_string(number / 4'000'000 % 10) + ":" +
                            std::to_string(10 + number / 60'000 % 50) + ":" +
                            std::to_string(10 + number / 1'000 % 50);
  switch (sim::draw_below(key, number * 8 + 7, 8)) {
    case 0:
    case 1:
      out += " [" + clock + "] iteration " + step + "/ 500000 | consumed samples: " + draw(0, 90'000'000) +
             " | elapsed time per iteration (ms): " + draw(1, 9'000) + "." + draw(2, 10) +
             " | throughput per GPU (TFLOP/s/GPU): " + draw(3, 400) + ".1 | learning rate: 1.4" +
             draw(4, 99) + "E-04 | global batch size: 1024 | lm loss: 2.0" + draw(5, 9'999) +
             "E+00 | loss scale: 1.0 | grad norm: 0." + draw(6, 999) + " |\n";
      break;
    case 2:
      out += "[rank" + std::to_string(rank) + "]: " + clock + ",111 INFO train.py:212 step=" + step +
             " loss=2." + draw(0, 9'999) + " lr=0.0003 grad_norm=0." + draw(1, 999) +
             " tokens/s=" + draw(2, 99'999) + " data_time=0.01" + draw(3, 99) + " mem=71.2GiB\n";
      break;
    case 3:
      out += " 37%|###7      | " + step + "/500000 [11:03:22<18:" + draw(0, 59) + ":31,  7.94it/s, loss=2." +
             draw(1, 999) + ", lr=3e-4]\n";
      break;
    case 4:
      out += "[default" + std::to_string(rank % 8) + "]:[" + clock +
             ",408] [INFO] [logging.py:96:log_dist] [Rank " + std::to_string(rank) + "] step=" + step +
             ", skipped=0, lr=[0.00014" + draw(0, 99) + "], mom=[(0.9, 0.95)]\n";
      break;
    case 5:
      out += "[default" + std::to_string(rank % 8) + "]:steps: " + step + " loss: 2." + draw(0, 9'999) +
             " iter time (s): 7." + draw(1, 999) + " samples/sec: 129." + draw(2, 99) + "\n";
      break;
    case 6:
      out += "(min, max) time across ranks (ms):\n    forward-backward ...............................: (" +
             draw(0, 9'999) + ".26, " + draw(1, 9'999) +
             ".41)\n    optimizer ......................................: (" + draw(2, 99) + ".91, " +
             draw(3, 99) + ".94)\n";
      break;
    default:
      out += clock + ".087 | INFO     | data.loader:next_batch:88 - shard " + draw(0, 4'096) +
             " of /data/tokens/part-" + draw(1, 99'999) + ".bin, offset " + draw(2, 1'000'000'000) +
             ", 2048 x 4096 tokens, queue " + draw(3, 64) + "/64\n";
  }
}

const char* const kFailure =
    "[rank3]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective "
    "operation timeout: "
    "WorkNCCL(SeqNum=96120, OpType=ALLREDUCE, NumelIn=26214400, NumelOut=26214400, Timeout(ms)=600000) ran "
    "for 600013 milliseconds "
    "before timing out.\n";

void write_log(const fs::path& path, std::int64_t bytes, int rank) {
  std::ofstream file(path, std::ios::binary);
  std::string buffer;
  std::int64_t written = 0;
  for (std::uint64_t number = 0; written + static_cast<std::int64_t>(buffer.size()) < bytes; ++number) {
    append_chatter(buffer, number, rank);
    if (buffer.size() < (1 << 20)) continue;
    file << buffer;
    written += static_cast<std::int64_t>(buffer.size());
    buffer.clear();
  }
  file << buffer << kFailure;
}

struct Cost {
  double wall_s = 0, cpu_s = 0;
  long peak_kib = 0;
  int status = 0;
};

/// Runs `work` in a process of its own, so that its peak memory is its own.
template <class Work>
Cost measure(Work work) {
  std::fflush(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::fflush(nullptr);
    ::_exit(0);
  }
  Cost cost;
  rusage usage{};
  ::wait4(child, &cost.status, 0, &usage);
  cost.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  cost.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.peak_kib = usage.ru_maxrss;
  return cost;
}

void report(const char* what, const Cost& cost, double bytes) {
  std::printf("%-46s %8.0f MB/s of CPU time  %6.2f s wall  peak %4ld MiB%s\n", what, bytes / 1e6 / cost.cpu_s,
              cost.wall_s, cost.peak_kib / 1024, cost.status == 0 ? "" : "  (FAILED)");
}

void read_lines(const std::vector<std::string>& paths) {
  const auto set = backend::find_inputs(paths);
  std::int64_t lines = 0;
  for (const auto& file : set.files) {
    auto text = backend::open_text(file);
    if (!text) std::_Exit(1);
    for (backend::Line line; (*text)->next(line);) ++lines;
  }
  std::printf("%lld lines\n", static_cast<long long>(lines));
}

/// The whole way from paths to a verdict.
void diagnose(const std::vector<std::string>& paths) {
  backend::DiagnoseInput input;
  input.paths = paths;
  const auto incident = backend::diagnose_paths(input);
  if (!incident) {
    std::printf("%s\n", incident.error().message().c_str());
    std::_Exit(1);
  }
  std::printf("%lld lines, %s, %zu lines of evidence\n", static_cast<long long>(incident->lines),
              std::string(to_word(incident->diagnosis.kind)).c_str(), incident->diagnosis.evidence.size());
  if (incident->diagnosis.kind == sim::DiagnosisKind::None) std::_Exit(1);
}

/// grep -cE over the same files: every literal of the message tables, escaped, one pattern a line.
void grep(const std::string& patterns, const std::vector<std::string>& files) {
  ::setenv("LC_ALL", "C", 1);
  std::vector<std::string> words{"grep", "-hcE", "-f", patterns};
  words.insert(words.end(), files.begin(), files.end());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // To a file: grep stops at its first match when its output is /dev/null.
  if (const int out = ::open((patterns + ".count").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600); out >= 0)
    ::dup2(out, STDOUT_FILENO);
  ::execvp("grep", arguments.data());
  ::_exit(127);
}

std::string write_patterns(const fs::path& folder) {
  const std::string path = (folder / "patterns").string();
  std::ofstream out(path);
  for (const auto& literal : backend::MessageTable::get().literal_list()) {
    for (const char c : literal) {
      if (std::strchr(".[]{}()*+?^$|\\", c) != nullptr) out << '\\';
      out << c;
    }
    out << '\n';
  }
  return path;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t bytes = (argc > 1 ? std::atoll(argv[1]) : 1000) * 1'000'000;
  std::string pattern = (fs::temp_directory_path() / "ringside_bench_XXXXXX").string();
  const fs::path folder = argc > 2 ? fs::path(argv[2]) : fs::path(::mkdtemp(pattern.data()));
  fs::create_directories(folder / "ranks");
  const std::string one = (folder / "train.log").string();
  std::printf("writing %lld MB of chatter twice, below %s\n", static_cast<long long>(bytes / 1'000'000),
              folder.c_str());
  write_log(one, bytes, 3);
  constexpr int kRanks = 512;
  std::vector<std::string> files;
  for (int rank = 0; rank < kRanks; ++rank) {
    files.push_back((folder / "ranks" / ("rank_" + std::to_string(rank) + ".log")).string());
    write_log(files.back(), bytes / kRanks, rank);
  }
  const std::string patterns = write_patterns(folder);
  const auto size = static_cast<double>(fs::file_size(one));
  double sizes = 0;
  for (const auto& file : files) sizes += static_cast<double>(fs::file_size(file));
  std::printf("%zu literals\n", backend::MessageTable::get().literal_list().size());

  report("one file: lines only", measure([&] { read_lines({one}); }), size);
  report("one file: diagnose", measure([&] { diagnose({one}); }), size);
  Cost found = measure([&] { grep(patterns, {one}); });
  found.status = 0;  // grep says 1 when nothing matched
  report("one file: LC_ALL=C grep -cE, same literals", found, size);
  report("512 files: diagnose", measure([&] { diagnose({(folder / "ranks").string()}); }), sizes);
  found = measure([&] { grep(patterns, files); });
  found.status = 0;
  report("512 files: LC_ALL=C grep -cE, same literals", found, sizes);
  if (argc <= 2) fs::remove_all(folder);
  return 0;
}
