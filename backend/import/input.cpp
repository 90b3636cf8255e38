#include "backend/import/input.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "backend/import/natural_order.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kHead = std::size_t{64} << 10;
constexpr int kMaxProblems = 20;

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// Share of control characters: text has none but white space, escapes and the odd NUL that a crash leaves
/// behind; compressed or machine data has one in ten (27 of 256 byte values).
bool looks_binary(std::string_view head) {
  std::size_t control = 0;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    const bool legal =
        byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f' || byte == '\b' || byte == 0x1B;
    control += (byte < 0x20 && !legal) || byte == 0x7F;
  }
  return control * 20 > head.size();
}

InputKind classify_json(std::string_view head) {
  const std::string_view first_line = head.substr(0, head.find('\n'));
  if (has(first_line, "\"magic\":\"ringside")) return InputKind::RingsideTrace;
  if (has(head, "\"inspector_output_format_version\"") || has(first_line, "\"coll_perf\"") ||
      has(first_line, "\"p2p_perf\""))
    return InputKind::InspectorJsonl;
  if (has(head, "\"communicators_count\"") ||
      (has(head, "\"communicators\"") && has(head, "\"nccl_version\"")))
    return InputKind::RasJson;
  if (has(head, "\"event\"") && has(head, "\"PEER_")) return InputKind::RasEvents;
  if (has(head, "\"pg_config\"") || has(head, "\"pg_status\"") || has(head, "\"record_id\"") ||
      (has(head, "\"entries\"") && has(head, "\"version\"")))
    return InputKind::FlightRecorderJson;
  return InputKind::TextLog;
}

struct FileId {
  dev_t device;
  ino_t inode;
  auto operator<=>(const FileId&) const = default;
};

class Finder {
 public:
  Finder(const InputControl& control, InputSet& set) : control_(control), set_(set) {}

  void add_path(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      problem(path, errno == ENOENT ? "no such file or folder"
                                    : std::string("cannot be read: ") + std::strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
      const std::size_t before = set_.files.size() + static_cast<std::size_t>(skipped_);
      const std::size_t problems = set_.problems.size();
      add_folder(path, "", 0);
      if (set_.files.size() + static_cast<std::size_t>(skipped_) == before &&
          set_.problems.size() == problems)
        problem(path, "the folder holds no files");
    } else {
      add_file(path, path, status, true);
    }
  }

  void finish() {
    if (binary_ > 0)
      problem(first_binary_, binary_ == 1 ? "is not text and no known dump: skipped"
                                          : "is not text and no known dump: skipped, as " +
                                                std::to_string(binary_ - 1) + " more");
    if (dropped_problems_ > 0)
      problem("", std::to_string(dropped_problems_) + " more problems of the same kinds", true);
  }

 private:
  void problem(const std::string& name, std::string what, bool always = false) {
    if (!always && static_cast<int>(set_.problems.size()) >= kMaxProblems) {
      ++dropped_problems_;
      return;
    }
    set_.problems.push_back({.what = std::move(what), .file = name});
  }

  bool stopped() const {
    return full_ || (control_.cancel != nullptr && control_.cancel->load(std::memory_order_relaxed));
  }

  void add_folder(const std::string& path, const std::string& prefix, int depth) {
    const std::string shown = prefix.empty() ? path : prefix;
    if (depth > control_.limits.max_depth) return problem(shown, "folders are nested too deep: not read");
    DIR* const folder = ::opendir(path.c_str());
    if (folder == nullptr)
      return problem(shown, std::string("the folder cannot be read: ") + std::strerror(errno));
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(folder)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
      if (static_cast<int>(names.size()) > control_.limits.max_files) break;
    }
    ::closedir(folder);
    std::sort(names.begin(), names.end(), natural_less);
    for (const auto& name : names) {
      if (stopped()) return;
      add_entry(path + "/" + name, prefix.empty() ? name : prefix + "/" + name, depth);
    }
  }

  void add_entry(const std::string& path, const std::string& name, int depth) {
    struct stat link {};
    struct stat status {};
    if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &status) != 0) {
      return problem(name, S_ISLNK(link.st_mode) ? "is a link to nothing"
                                                 : std::string("cannot be read: ") + std::strerror(errno));
    }
    if (!S_ISDIR(status.st_mode)) return add_file(path, name, status, false);
    if (S_ISLNK(link.st_mode)) return;  // a link to a folder could lead anywhere, also back up
    add_folder(path, name, depth + 1);
  }

  void add_file(const std::string& path, const std::string& name, const struct stat& status, bool given) {
    if (!S_ISREG(status.st_mode)) return problem(name, "is not a regular file: skipped");
    if (!seen_.insert({status.st_dev, status.st_ino}).second) {
      ++skipped_;
      return;
    }
    if (static_cast<int>(set_.files.size()) >= control_.limits.max_files) {
      full_ = true;
      return problem(name,
                     "there are more than " + std::to_string(control_.limits.max_files) +
                         " files; the rest was not read",
                     true);
    }
    InputFile file{.path = path, .name = name, .size = static_cast<std::int64_t>(status.st_size)};
    auto bytes = open_bytes(path, name, control_.limits);
    if (!bytes) {
      if (static_cast<int>(set_.problems.size()) < kMaxProblems) {
        set_.problems.push_back(bytes.error());
      } else {
        ++dropped_problems_;
      }
      return;
    }
    file.kind = look_at(**bytes, name);
    if (file.kind == InputKind::Binary) {
      ++skipped_;
      if (given) return problem(name, "is not text and no known dump: skipped" + packed_hint(path));
      if (binary_++ == 0) first_binary_ = name;
      return;
    }
    set_.bytes += file.size;
    set_.files.push_back(std::move(file));
  }

  InputKind look_at(ByteSource& bytes, const std::string& name) {
    head_.resize(kHead);
    std::size_t got = 0;
    while (got < kHead) {
      const std::size_t n = bytes.read(head_.data() + got, kHead - got);
      if (n == 0) break;
      got += n;
    }
    if (got == 0 && bytes.problem()) problem(name, bytes.problem()->what);
    return classify(std::string_view(head_).substr(0, got), got < kHead);
  }

  static std::string packed_hint(std::string_view path) {
    for (const std::string_view end : {".xz", ".bz2", ".zip", ".tar", ".tgz", ".7z", ".lz4"})
      if (path.size() > end.size() && path.substr(path.size() - end.size()) == end)
        return " (gzip and zstd are unpacked here; unpack this one first)";
    return {};
  }

  const InputControl& control_;
  InputSet& set_;
  std::set<FileId> seen_;
  std::string head_;
  std::string first_binary_;
  int binary_ = 0;
  int skipped_ = 0;
  int dropped_problems_ = 0;
  bool full_ = false;
};

}  // namespace

std::string_view to_word(InputKind kind) {
  static constexpr std::array<std::string_view, 10> kWords = {"empty",
                                                              "text log",
                                                              "Flight Recorder dump (pickle)",
                                                              "Flight Recorder dump (JSON)",
                                                              "NCCL RAS status",
                                                              "NCCL RAS status (JSON)",
                                                              "NCCL RAS events",
                                                              "NCCL Inspector",
                                                              "Ringside trace",
                                                              "binary"};
  return kWords[static_cast<std::size_t>(kind)];
}

InputKind classify(std::string_view head, bool whole) {
  if (head.empty()) return InputKind::Empty;
  // PROTO 2 … 5; torch's dumps start with an empty dict.
  if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
    return InputKind::FlightRecorderPickle;
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string_view::npos && (head[first] == '{' || (whole && head[first] == '['))) {
    const InputKind kind = classify_json(head.substr(first));
    if (kind != InputKind::TextLog) return kind;
  }
  const std::string_view begin = head.substr(0, 4096);
  if (begin.front() == '[' && has(begin.substr(0, 200), "] PEER_")) return InputKind::RasEvents;
  if (has(begin, "Job summary") && has(begin, "NCCL version")) return InputKind::RasText;
  if (looks_binary(begin)) return InputKind::Binary;
  return InputKind::TextLog;
}

InputSet find_inputs(std::span<const std::string> paths, const InputControl& control) {
  InputSet set;
  Finder finder(control, set);
  for (const auto& path : paths) finder.add_path(path);
  finder.finish();
  return set;
}

std::optional<std::string> only_a_trace(std::span<const std::string> paths) {
  const InputSet set = find_inputs(paths);
  const bool trace = set.files.size() == 1 && set.files[0].kind == InputKind::RingsideTrace;
  return trace ? std::optional(set.files[0].path) : std::nullopt;
}

InputMeter::InputMeter(const InputSet& set, const InputControl& control) : control_(control) {
  progress_.bytes_total = set.bytes;
  progress_.files_total = static_cast<int>(set.files.size());
}

bool InputMeter::add(std::int64_t bytes) {
  progress_.bytes_done += bytes;
  if (progress_.bytes_done - reported_ >= (1 << 20)) report();
  return !cancelled();
}

void InputMeter::file_done() {
  ++progress_.files_done;
  report();
}

void InputMeter::report() {
  reported_ = progress_.bytes_done;
  if (control_.progress) control_.progress(progress_);
}

namespace {
sim::Result<std::unique_ptr<ByteSource>> open_metered(const InputFile& file, InputMeter* meter) {
  const InputLimits limits = meter != nullptr ? meter->limits() : InputLimits{};
  std::function<bool(std::int64_t)> on_read;
  if (meter != nullptr) on_read = [meter](std::int64_t bytes) { return meter->add(bytes); };
  return open_bytes(file.path, file.name, limits, std::move(on_read));
}
}  // namespace

sim::Result<std::unique_ptr<TextFile>> open_text(const InputFile& file, InputMeter* meter) {
  auto bytes = open_metered(file, meter);
  if (!bytes) return bytes.error();
  const std::size_t max_line = meter != nullptr ? meter->limits().max_line : InputLimits{}.max_line;
  return std::make_unique<TextFile>(std::move(*bytes), file.name, max_line);
}

std::unique_ptr<TextFile> text_from_memory(std::string name, std::string_view bytes,
                                           const InputLimits& limits) {
  auto source = bytes_from_memory(name, bytes, limits);
  const std::size_t whole = packing_of(bytes) == Packing::None ? bytes.size() : 0;
  return std::make_unique<TextFile>(std::move(source), std::move(name), limits.max_line, whole);
}

sim::Result<std::string> read_document(const InputFile& file, InputMeter* meter) {
  auto bytes = open_metered(file, meter);
  if (!bytes) return bytes.error();
  const std::size_t limit = meter != nullptr ? meter->limits().max_document : InputLimits{}.max_document;
  std::string out;
  constexpr std::size_t kPiece = std::size_t{256} << 10;
  for (;;) {
    const std::size_t old = out.size();
    out.resize(old + kPiece);
    const std::size_t got = (*bytes)->read(out.data() + old, kPiece);
    out.resize(old + got);
    if (got == 0) break;
    if (out.size() > limit)
      return sim::Error{
          .what = "the document is larger than " + std::to_string(limit >> 20) + " MiB: not read",
          .file = file.name};
  }
  if ((*bytes)->problem()) return *(*bytes)->problem();
  return out;
}

}  // namespace ringside::backend
