#include "backend/import/messages.hpp"

#include "backend/import/hints.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "sim/base/check.hpp"

namespace ringside::backend {
namespace {

std::int64_t to_int(std::string_view text, int base = 10) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end != text.data() ? value : -1;
}

int to_int32(std::string_view text) {
  const std::int64_t value = to_int(text);
  return value > 2'000'000'000 || value < -2'000'000'000 ? -1 : static_cast<int>(value);
}

double to_double(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string clipped(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return std::string(text.substr(0, 240));
}

using Setter = void (*)(Fact&, std::string_view);

/// What a named group of a pattern fills.
const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> kSetters = {
      {"rank", [](Fact& f, std::string_view v) { f.who.rank = to_int32(v); }},
      {"local_rank", [](Fact& f, std::string_view v) { f.who.local_rank = to_int32(v); }},
      {"group_rank", [](Fact& f, std::string_view v) { f.who.group_rank = to_int32(v); }},
      {"task", [](Fact& f, std::string_view v) { f.who.task = to_int32(v); }},
      {"pid", [](Fact& f, std::string_view v) { f.who.pid = to_int(v); }},
      {"host", [](Fact& f, std::string_view v) { f.who.host = clipped(v); }},
      {"device", [](Fact& f, std::string_view v) { f.who.device = to_int32(v); }},
      {"seq", [](Fact& f, std::string_view v) { f.seq = to_int(v); }},
      {"hexseq", [](Fact& f, std::string_view v) { f.seq = to_int(v, 16); }},
      {"op", [](Fact& f, std::string_view v) { f.op = clipped(v); }},
      {"numel_in", [](Fact& f, std::string_view v) { f.numel_in = to_int(v); }},
      {"numel_out", [](Fact& f, std::string_view v) { f.numel_out = to_int(v); }},
      {"shape", [](Fact& f, std::string_view v) { f.mine.shape = clipped(v); }},
      {"dtype", [](Fact& f, std::string_view v) { f.dtype = clipped(v); }},
      {"enqueued", [](Fact& f, std::string_view v) { f.enqueued = to_int(v); }},
      {"completed", [](Fact& f, std::string_view v) { f.completed = to_int(v); }},
      {"value", [](Fact& f, std::string_view v) { f.value = to_int(v); }},
      {"limit", [](Fact& f, std::string_view v) { f.limit = to_int(v); }},
      {"code", [](Fact& f, std::string_view v) { f.code = to_int32(v); }},
      {"bus", [](Fact& f, std::string_view v) { f.bus = normal_bus(v); }},
      {"port", [](Fact& f, std::string_view v) { f.bus = clipped(v); }},
      {"peer", [](Fact& f, std::string_view v) { f.peer = clipped(v); }},
      {"name", [](Fact& f, std::string_view v) { f.name = clipped(v); }},
      {"named", [](Fact& f, std::string_view v) { f.named = read_rank_list(v); }},
      {"also",
       [](Fact& f, std::string_view v) {
         for (const int rank : read_rank_list(v)) f.named.push_back(rank);
       }},
      {"pg", [](Fact& f, std::string_view v) { f.pg = clipped(v); }},
      {"step", [](Fact& f, std::string_view v) { f.step = to_int(v); }},
      {"x", [](Fact& f, std::string_view v) { f.x = to_double(v); }},
      {"y", [](Fact& f, std::string_view v) { f.y = to_double(v); }},
  };
  return kSetters;
}

}  // namespace

std::vector<int> read_rank_list(std::string_view text) {
  static constexpr std::size_t kMaxRanks = 4096;
  std::vector<int> ranks;
  std::size_t at = 0;
  while (at < text.size() && ranks.size() < kMaxRanks) {
    if (text[at] < '0' || text[at] > '9') {
      ++at;
      continue;
    }
    int first = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), first);
    if (error != std::errc{}) return ranks;
    at = static_cast<std::size_t>(end - text.data());
    int last = first;
    if (at + 1 < text.size() && text[at] == '-' && text[at + 1] >= '0' && text[at + 1] <= '9') {
      auto [range_end, range_error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), last);
      if (range_error != std::errc{}) return ranks;
      at = static_cast<std::size_t>(range_end - text.data());
    }
    for (int rank = first; rank <= last && ranks.size() < kMaxRanks; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

std::string normal_bus(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower.rfind("pci:", 0) == 0) lower = lower.substr(4);
  const std::size_t colon = lower.find(':');
  if (colon == std::string::npos) {
    // NCCL: hex digits of domain(4) bus(2) device(2) function(1), leading zeros dropped
    if (lower.empty() || lower.size() > 9 || lower.find_first_not_of("0123456789abcdef") != std::string::npos)
      return lower;
    lower.insert(0, 9 - lower.size(), '0');
    return lower.substr(0, 4) + ":" + lower.substr(4, 2) + ":" + lower.substr(6, 2);
  }
  if (const std::size_t dot = lower.rfind('.'); dot != std::string::npos) lower.resize(dot);
  if (lower.find(':') == lower.rfind(':')) lower = "0000:" + lower;  // "4e:00"
  const std::size_t domain = lower.find(':');
  std::string head = lower.substr(0, domain);
  if (head.size() > 4) head = head.substr(head.size() - 4);
  while (head.size() < 4) head.insert(head.begin(), '0');
  return head + lower.substr(domain);
}

MessageTable::MessageTable() {
  for (const auto table : {torch_messages(), connection_messages(), nccl_messages(), device_messages(),
                           launcher_messages(), program_messages()}) {
    for (const MessageForm& form : table) {
      Compiled compiled{&form, std::make_shared<const re2::RE2>(form.pattern, re2::RE2::Quiet), {}};
      if (!compiled.pattern->ok())
        sim::check_failed(__FILE__, __LINE__, form.pattern, compiled.pattern->error());
      compiled.groups.resize(static_cast<std::size_t>(compiled.pattern->NumberOfCapturingGroups()), nullptr);
      for (const auto& [name, index] : compiled.pattern->NamedCapturingGroups()) {
        const auto setter = setters().find(name);
        if (setter == setters().end())
          sim::check_failed(__FILE__, __LINE__, form.pattern, "no field named " + name);
        compiled.groups[static_cast<std::size_t>(index - 1)] = setter->second;
      }
      forms_.push_back(std::move(compiled));
      literal_list_.emplace_back(form.literal);
    }
  }
  literals_ = std::make_unique<LiteralScanner>(literal_list_, hint_words());
}

const MessageTable& MessageTable::get() {
  static const MessageTable kTable;
  return kTable;
}

std::uint64_t MessageTable::match(std::string_view text, std::vector<std::uint16_t>& scratch,
                                  std::vector<Fact>& facts) const {
  const std::uint64_t hints = literals_->scan(text, scratch);
  if (scratch.empty()) return hints;
  const std::size_t first = facts.size();
  bool specific = false;
  re2::StringPiece groups[16];
  for (std::size_t pass = 0; pass < 2 * scratch.size(); ++pass) {  // specific forms first, then generic ones
    const Compiled& compiled = forms_[scratch[pass % scratch.size()]];
    if (compiled.form->generic != (pass >= scratch.size())) continue;
    if (compiled.form->generic && specific) break;
    // Two versions of one message may both fit: the first row of a kind wins.
    bool seen = false;
    for (std::size_t i = first; i < facts.size(); ++i) seen = seen || facts[i].kind == compiled.form->kind;
    if (seen) continue;
    const int count = std::min<int>(16, static_cast<int>(compiled.groups.size()) + 1);
    if (!compiled.pattern->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                                 re2::RE2::UNANCHORED, groups, count))
      continue;
    Fact fact;
    fact.kind = compiled.form->kind;
    fact.layer = compiled.form->layer;
    fact.role = compiled.form->role;
    if (compiled.form->name != nullptr) fact.name = compiled.form->name;
    for (std::size_t group = 0; group < compiled.groups.size() && group < 15; ++group) {
      const re2::StringPiece& value = groups[group + 1];
      if (compiled.groups[group] != nullptr && value.data() != nullptr)
        compiled.groups[group](fact, std::string_view(value.data(), value.size()));
    }
    specific = specific || !compiled.form->generic;
    facts.push_back(std::move(fact));
  }
  return hints;
}

}  // namespace ringside::backend
