// RAS STATUS as text: a state machine over its lines.
#include <algorithm>
#include <charconv>

#include "backend/import/ras.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kMaxNamed = 4'096;  // RAS itself stops at 10, verbose at half of a communicator
constexpr std::size_t kMaxComms = 100'000;
constexpr std::size_t kMaxClasses = 10'000;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

/// Takes `word` from the front.
bool take(std::string_view& text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_number(std::string_view& text, std::int64_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

int small(std::int64_t value) {
  return value >= 0 && value < (1 << 24) ? static_cast<int>(value) : -1;
}

/// "GPU 4 (NVML 5) managed by process 323032 on node 192.0.2.124"
void read_place(std::string_view text, RasRank& rank) {
  std::int64_t value = 0;
  if (const std::size_t at = text.find("GPU "); at != std::string_view::npos) {
    std::string_view rest = text.substr(at + 4);
    if (take_number(rest, value)) rank.device = small(value);
  }
  if (const std::size_t at = text.find("process "); at != std::string_view::npos) {
    std::string_view rest = text.substr(at + 8);
    if (take_number(rest, value)) rank.pid = value;
  }
  if (const std::size_t at = text.find(" on node "); at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + 9);
    rank.host = rest.substr(0, std::min<std::size_t>(rest.find(' '), 255));
  }
}

void name_rank(std::vector<RasRank>& named, RasRank rank) {
  if (named.size() < kMaxNamed) named.push_back(std::move(rank));
}

}  // namespace

RasComm& RasTextReader::comm() {
  return report_.comms.back();
}

/// "#0-1 (fa93daea854b060b) MISMATCH" and the other beginnings of a block.
bool RasTextReader::header(std::string_view text, std::int64_t number) {
  std::string_view rest = text;
  if (take(rest, "NCCL version ")) {
    report_.version = rest.substr(0, std::min<std::size_t>(rest.find(' '), 64));
  } else if (text == "Job summary") {
    block_ = Block::Summary;
  } else if (text.substr(0, 16) == "Communicators...") {
    block_ = Block::Table;
  } else if (text == "DEAD") {
    block_ = Block::Dead;
    report_.dead_line = number;
  } else if (text == "INCOMPLETE") {
    block_ = Block::Silent;
    report_.silent_line = number;
  } else if (text == "Errors" || text == "Warnings" || take(rest, "TIMEOUT")) {
    block_ = Block::None;
  } else if (take(rest, "#")) {
    std::int64_t group = 0;
    std::int64_t index = 0;
    if (!take_number(rest, group) || !take(rest, "-") || !take_number(rest, index) || !take(rest, " ("))
      return false;
    const std::size_t close = rest.find(')');
    if (close == std::string_view::npos || close > 32 || report_.comms.size() >= kMaxComms) return false;
    const std::string hash(rest.substr(0, close));
    // One communicator has a block under Errors and another one under Warnings.
    const auto known = std::find_if(report_.comms.begin(), report_.comms.end(),
                                    [&](const RasComm& other) { return other.hash == hash; });
    if (known != report_.comms.end()) {
      std::rotate(known, known + 1, report_.comms.end());
    } else {
      RasComm fresh;
      fresh.hash = hash;
      fresh.line = number;
      if (static_cast<std::size_t>(group) < sizes_.size())
        fresh.size = sizes_[static_cast<std::size_t>(group)];
      report_.comms.push_back(std::move(fresh));
    }
    block_ = Block::Comm;
    classes_ = nullptr;
    missing_ = false;
  } else {
    return false;
  }
  return true;
}

/// The row of five numbers ends with the number of GPUs; the two shorter forms have other columns.
void RasTextReader::summary(std::string_view text) {
  std::int64_t values[5] = {};
  std::size_t count = 0;
  while (count < 5) {
    text = trim(text);
    if (text.empty()) break;
    if (!take_number(text, values[count])) return;
    ++count;
  }
  if (count == 5 && trim(text).empty()) report_.gpus = values[4];
}

/// "    0         1         4         8        32        32   RUNNING  MISMATCH"; ranks per node may be
/// "2-8".
void RasTextReader::table(std::string_view text) {
  std::int64_t group = 0;
  std::int64_t size = 0;
  std::int64_t skipped = 0;
  text = trim(text);
  if (!take_number(text, group) || group != static_cast<std::int64_t>(sizes_.size())) return;
  for (int column = 0; column < 2; ++column)
    if (text = trim(text); !take_number(text, skipped)) return;
  text = trim(text);
  text.remove_prefix(std::min(text.find(' '), text.size()));
  text = trim(text);
  if (take_number(text, size) && sizes_.size() < kMaxComms) sizes_.push_back(size);
}

/// "Rank 12 -- GPU …", "Rank 12 has launched up to operation 640 -- GPU …", "Rank 12 reported System error --
/// …"
void RasTextReader::rank_line(std::string_view text, std::int64_t number) {
  std::int64_t value = 0;
  RasRank rank;
  if (!take(text, "Rank ") || !take_number(text, value)) return;
  rank.rank = small(value);
  const std::size_t dashes = text.find(" -- ");
  std::string_view said = trim(text.substr(0, dashes));
  if (dashes != std::string_view::npos) read_place(text.substr(dashes), rank);
  if (said.empty()) {
    if (missing_) {
      name_rank(comm().missing_named, std::move(rank));
    } else if (classes_ != nullptr && !classes_->empty()) {
      name_rank(classes_->back().named, std::move(rank));
    }
    return;
  }
  RasClass one;
  one.ranks = 1;
  one.line = number;
  std::vector<RasClass>* classes = classes_;
  if (take(said, "has launched up to operation ")) {
    if (!take_number(said, one.value)) return;
  } else if (take(said, "has status ")) {
    classes = &comm().states;
    one.word = said.substr(0, 64);
  } else if (take(said, "reported ")) {
    classes = &comm().errors;
    one.word = said.substr(0, 64);
  } else if (said != "has not launched any operations") {
    return;
  }
  if (classes == nullptr || classes->size() >= kMaxClasses) return;
  one.named.push_back(std::move(rank));
  classes->push_back(std::move(one));
}

void RasTextReader::comm_line(std::string_view text, std::int64_t number) {
  std::string_view rest = text;
  std::int64_t value = 0;
  if (take(rest, "Missing communicator data from ")) {
    missing_ = take_number(rest, comm().missing);
  } else if (take(rest, "Communicator ranks have different ")) {
    missing_ = false;
    if (take(rest, "status")) {
      classes_ = &comm().states;
    } else if (comm().counts.size() < 64) {
      // "AllReduce operation counts"; NCCL 2.24 and 2.25 count all operations together.
      comm().counts.emplace_back(std::string(rest.substr(0, std::min<std::size_t>(rest.find(' '), 32))),
                                 std::vector<RasClass>());
      classes_ = &comm().counts.back().second;
    }
  } else if (text.substr(0, 12) == "Asynchronous" || text.substr(0, 14) == "Initialization") {
    missing_ = false;
    classes_ = &comm().errors;
  } else if (take_number(rest, value) && (take(rest, " ranks ") || take(rest, " rank "))) {
    RasClass one;
    one.ranks = value;
    one.line = number;
    std::vector<RasClass>* classes = classes_;
    if (take(rest, "have launched up to operation ") || take(rest, "has launched up to operation ")) {
      if (!take_number(rest, one.value)) return;
    } else if (take(rest, "have status ") || take(rest, "has status ")) {
      classes = &comm().states;
      one.word = rest.substr(0, 64);
    } else if (take(rest, "reported ")) {
      classes = &comm().errors;
      one.word = rest.substr(0, 64);
    } else if (!take(rest, "have not launched any operations")) {
      return;
    }
    if (classes == nullptr || classes->size() >= kMaxClasses) return;
    classes->push_back(std::move(one));
    classes_ = classes;
  } else {
    rank_line(text, number);
  }
}

/// "Process 3487984 on node 192.0.2.13 managing GPU 5"
void RasTextReader::process_line(std::string_view text) {
  std::int64_t value = 0;
  std::string_view rest = text;
  const bool dead = block_ == Block::Dead;
  if (take_number(rest, value) && rest.substr(0, 5) == " job ") {
    (dead ? report_.dead : report_.silent) = value;
  } else if (take(rest, "Missing communicator data from ") && take_number(rest, value)) {
    report_.silent = value;
  } else if (take(rest, "Process ") && take_number(rest, value)) {
    RasRank process;
    read_place(rest, process);
    process.pid = value;
    name_rank(dead ? report_.dead_named : report_.silent_named, std::move(process));
  }
}

void RasTextReader::line(std::string_view text, std::int64_t number) {
  text = trim(text);
  if (const std::size_t at = text.find("Encountered "); at == 0) {
    std::string_view rest = text.substr(12);
    take_number(rest, report_.timeouts);
  }
  if (text.empty() || header(text, number)) return;
  switch (block_) {
    case Block::Summary:
      return summary(text);
    case Block::Table:
      return table(text);
    case Block::Comm:
      return comm_line(text, number);
    case Block::Dead:
    case Block::Silent:
      return process_line(text);
    case Block::None:
      return;
  }
}

RasReport RasTextReader::finish() {
  for (const std::int64_t size : sizes_) report_.gpus = std::max(report_.gpus, size);
  RasReport out = std::move(report_);
  *this = RasTextReader();
  return out;
}

}  // namespace ringside::backend
