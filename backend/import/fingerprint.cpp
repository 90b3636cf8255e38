#include "backend/import/fingerprint.hpp"

#include <charconv>

namespace ringside::backend {
namespace {

/// The text behind `key`, up to one of `ends`; empty if the key does not occur.
std::string_view behind(std::string_view text, std::string_view key, std::string_view ends) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(ends));
}

CallPrint read_one(std::string_view text) {
  CallPrint print;
  const std::string_view seq = behind(text, "SequenceNumber=", ",O) ");
  if (!seq.empty()) std::from_chars(seq.data(), seq.data() + seq.size(), print.seq);
  print.op = std::string(behind(text, "OpType=", ",) "));
  if (const std::size_t at = text.find("TensorShape=["); at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + 12);
    print.shape = std::string(
        rest.substr(0, rest.find(']') == std::string_view::npos ? rest.size() : rest.find(']') + 1));
  }
  // TensorDtypes counts; "dtype=float (default)" inside TensorOptions is the same for every tensor.
  print.dtype = std::string(behind(text, "TensorDtypes=", ",) "));
  print.device = std::string(behind(text, "device=", ",) "));
  return print;
}

}  // namespace

void read_fingerprints(std::string_view text, Fact& fact) {
  static constexpr std::string_view kMark = "CollectiveFingerPrint(";
  const std::size_t first = text.find(kMark);
  if (first == std::string_view::npos) return;
  const std::size_t second = text.find(kMark, first + kMark.size());
  fact.mine = read_one(
      text.substr(first, second == std::string_view::npos ? std::string_view::npos : second - first));
  if (second != std::string_view::npos) {
    const std::size_t end = text.find("Collectives differ in", second);
    fact.theirs = read_one(text.substr(second, end == std::string_view::npos ? end : end - second));
  }
  fact.seq = fact.mine.seq;
  fact.op = fact.mine.op;
}

bool is_foreign(const CallPrint& print) {
  if (print.op.empty()) return true;
  const bool no_tensors = print.shape.empty() && print.dtype.empty();
  if (no_tensors) return print.op != "BARRIER" && print.op != "MONITORED_BARRIER";
  return print.shape == "[]" && print.dtype.empty();
}

}  // namespace ringside::backend
