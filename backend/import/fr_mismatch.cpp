#include "backend/import/fr_mismatch.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "backend/import/wait_graph.hpp"

namespace ringside::backend {
namespace {

using sim::DiagnosisKind;

/// The part of a call that all members have to agree on. Sizes are compared only where the operation demands
/// it.
struct Signature {
  std::uint32_t op = 0, input = 0, output = 0, dtype = 0;
  auto operator<=>(const Signature&) const = default;
};

bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// all_to_all may be uneven, scatter and gather differ at the root, the list form of all_gather takes uneven
/// inputs, and a batch is judged by its members.
Signature signature_of(const FlightRecorder& recorder, const FrEntry& entry) {
  const std::string_view op = recorder.text(entry.op);
  const bool base = contains(op, "base") || contains(op, "tensor");
  const bool reduce_scatter = contains(op, "reduce_scatter");
  const bool uneven = contains(op, "all_to_all") || contains(op, "alltoall") || op == "coalesced";
  const bool input = !uneven && (reduce_scatter || !contains(op, "scatter")) && (op != "all_gather" || base);
  const bool output = !uneven &&
                      (contains(op, "all_gather") || contains(op, "allgather") || !contains(op, "gather")) &&
                      (op != "reduce_scatter" || base);
  return {entry.op, input ? entry.input_sizes : 0, output ? entry.output_sizes : 0, entry.input_dtypes};
}

/// Elements in "[[4096, 1, 5120], [3]]"; saturates.
std::int64_t count_of(std::string_view sizes) {
  std::int64_t total = 0;
  std::int64_t tensor = -1;  // -1: outside a tensor
  int depth = 0;
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    const char c = sizes[at];
    if (c == '[' && ++depth == 2) tensor = 1;
    if (c == ']' && depth-- == 2) {
      if (__builtin_add_overflow(total, tensor, &total)) return INT64_MAX;
      tensor = -1;
    }
    if (tensor < 0 || c < '0' || c > '9') continue;
    std::int64_t extent = 0;
    const auto [end, code] = std::from_chars(sizes.data() + at, sizes.data() + sizes.size(), extent);
    if (code != std::errc() || __builtin_mul_overflow(tensor, extent, &tensor)) return INT64_MAX;
    at = static_cast<std::size_t>(end - sizes.data()) - 1;
  }
  return total;
}

int width_of(std::string_view dtype) {
  for (const auto& [word, width] : {std::pair{"Double", 8},
                                    {"Long", 8},
                                    {"ComplexFloat", 8},
                                    {"BFloat16", 2},
                                    {"Half", 2},
                                    {"Short", 2},
                                    {"Byte", 1},
                                    {"Char", 1},
                                    {"Bool", 1},
                                    {"Float8", 1},
                                    {"Float", 4},
                                    {"Int", 4}})
    if (dtype.substr(0, std::string_view(word).size()) == word) return width;
  return 0;
}

struct Call {
  std::uint32_t group;
  std::int64_t seq;
  std::uint32_t dump;  // index into FlightRecorder::dumps, which are in order of rank
  const FrEntry* entry;
};
using Calls = std::span<const Call>;  // of one (group, seq), ascending rank

struct Class {
  Signature signature;
  std::vector<int> ranks;
  const FrEntry* example;
  const FrCallIndex* calls;  // all calls of the first rank
};

class Finder {
 public:
  explicit Finder(const FlightRecorder& recorder) : recorder_(recorder) {}

  std::vector<FrMismatch> run() {
    collect();
    std::vector<std::tuple<bool, std::int64_t, FrMismatch>> found;
    std::map<std::pair<std::uint32_t, bool>, bool>
        done;  // one a group, and one more if a later one still waits
    for (std::size_t from = 0, to = 0; from < calls_.size(); from = to) {
      while (to < calls_.size() && calls_[to].group == calls_[from].group &&
             calls_[to].seq == calls_[from].seq)
        ++to;
      const Calls calls(calls_.data() + from, to - from);
      const auto classes = classify(calls);
      if (classes.size() < 2) continue;
      FrMismatch mismatch = judge(calls, classes);
      if (!done.try_emplace({mismatch.group, mismatch.unfinished}, true).second) continue;
      std::int64_t created = INT64_MAX;
      for (const auto& call : calls) created = std::min(created, call.entry->created_ns);
      found.emplace_back(!mismatch.unfinished, created, std::move(mismatch));
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    std::vector<FrMismatch> out;
    std::set<std::uint32_t> groups;
    for (auto& [finished, created, mismatch] : found)
      if (groups.insert(mismatch.group).second) out.push_back(std::move(mismatch));
    return out;
  }

 private:
  void collect() {
    for (std::size_t i = 0; i < recorder_.dumps.size(); ++i) {
      const FrDump& dump = recorder_.dumps[i];
      indices_.emplace_back(dump);
      for (const auto& entry : dump.entries)
        if (!entry.p2p && entry.seq >= 0)
          calls_.push_back({entry.group, entry.seq, static_cast<std::uint32_t>(i), &entry});
    }
    const auto key = [](const Call& call) { return std::tie(call.group, call.seq, call.dump); };
    std::stable_sort(calls_.begin(), calls_.end(),
                     [&](const Call& a, const Call& b) { return key(a) < key(b); });
    // Of a batch, which shares one number, the first call stands for all.
    calls_.erase(std::unique(calls_.begin(), calls_.end(),
                             [&](const Call& a, const Call& b) { return key(a) == key(b); }),
                 calls_.end());
  }

  std::vector<Class> classify(Calls calls) const {
    std::vector<Class> classes;
    for (const auto& call : calls) {
      const Signature signature = signature_of(recorder_, *call.entry);
      const auto same = std::find_if(classes.begin(), classes.end(),
                                     [&](const Class& other) { return other.signature == signature; });
      if (same != classes.end()) {
        same->ranks.push_back(recorder_.dumps[call.dump].rank);
      } else if (classes.size() < 64) {
        classes.push_back({signature, {recorder_.dumps[call.dump].rank}, call.entry, &indices_[call.dump]});
      }
    }
    std::stable_sort(classes.begin(), classes.end(),
                     [](const Class& a, const Class& b) { return a.ranks.size() > b.ranks.size(); });
    return classes;
  }

  std::string describe(const FrEntry& entry) const {
    return std::string(recorder_.text(entry.op)) + " of " + std::string(recorder_.text(entry.input_sizes)) +
           " " + std::string(recorder_.text(entry.input_dtypes));
  }

  FrMismatch judge(Calls calls, const std::vector<Class>& classes) const {
    FrMismatch out;
    out.group = calls.front().group;
    out.seq = calls.front().seq;
    for (const auto& call : calls) out.unfinished = out.unfinished || call.entry->state != FrState::Completed;
    for (const auto& one : classes) out.sides.emplace_back(describe(*one.example), one.ranks);
    const FrEntry& most = *classes[0].example;
    const FrEntry& other = *classes[1].example;
    out.kind = most.op != other.op                       ? DiagnosisKind::CollectiveOrder
               : most.input_dtypes != other.input_dtypes ? DiagnosisKind::DtypeMismatch
                                                         : DiagnosisKind::ShapeMismatch;
    out.counts_differ = most.op != other.op ||
                        bytes(most.input_sizes, most) != bytes(other.input_sizes, other) ||
                        bytes(most.output_sizes, most) != bytes(other.output_sizes, other);
    const bool majority = classes[0].ranks.size() * 2 > calls.size();
    for (std::size_t i = majority ? 1 : 0; i < classes.size(); ++i) {
      auto& ranks = majority ? out.odd : out.candidates;
      ranks.insert(ranks.end(), classes[i].ranks.begin(), classes[i].ranks.end());
    }
    std::sort(out.odd.begin(), out.odd.end());
    std::sort(out.candidates.begin(), out.candidates.end());
    if (majority) {
      out.first_rank_odd = std::find(out.odd.begin(), out.odd.end(),
                                     recorder_.dumps[calls.front().dump].rank) != out.odd.end();
      find_shift(out, classes);
    }
    return out;
  }

  std::pair<std::int64_t, int> bytes(std::uint32_t sizes, const FrEntry& entry) const {
    return {count_of(recorder_.text(sizes)), width_of(recorder_.text(entry.input_dtypes))};
  }

  /// Whether the odd ranks' calls are the others' calls, one place earlier or later, or two of them
  /// exchanged.
  void find_shift(FrMismatch& out, const std::vector<Class>& classes) const {
    const FrCallIndex& odd = *classes[1].calls;
    const FrCallIndex& most = *classes[0].calls;
    const auto at = [&](const FrCallIndex& calls, std::int64_t seq) -> std::optional<Signature> {
      const FrEntry* entry = calls.find(out.group, seq);
      if (entry == nullptr) return std::nullopt;
      return signature_of(recorder_, *entry);
    };
    // True if every call that both sides still show agrees under the shift, and at least one does.
    const auto agrees = [&](std::int64_t odd_from, std::int64_t most_from) {
      int seen = 0;
      for (int k = 0; k < 64; ++k) {
        const auto a = at(odd, odd_from + k);
        const auto b = at(most, most_from + k);
        if (!a || !b) break;
        if (*a != *b) return false;
        ++seen;
      }
      return seen > 0;
    };
    const std::int64_t s = out.seq;
    if (at(odd, s) == at(most, s + 1) && at(odd, s + 1) && at(odd, s + 1) == at(most, s)) {
      out.kind = DiagnosisKind::CollectiveOrder;
      out.how = "made two calls in the other order";
    } else if (agrees(s, s + 1)) {
      out.kind = DiagnosisKind::SequenceMismatch;
      out.how = "skipped one call";
    } else if (agrees(s + 1, s)) {
      out.kind = DiagnosisKind::SequenceMismatch;
      out.how = "made one call more";
    } else if (out.kind == DiagnosisKind::ShapeMismatch && is_later_in_loop(at, most, odd, s)) {
      out.kind = DiagnosisKind::CollectiveOrder;
      out.how = kLaterInLoop;
    }
  }

  /// Training repeats its calls. If everybody's calls up to here have a period, and the odd rank's call is
  /// one that the period has for a later place and not for this one, then its size is right and its place is
  /// wrong.
  template <class At>
  static bool is_later_in_loop(const At& at, const FrCallIndex& most, const FrCallIndex& odd,
                               std::int64_t s) {
    constexpr std::int64_t kLongest = 512;
    std::vector<Signature> history;  // of the majority: call s, s - 1, …
    for (std::int64_t seq = s; seq > s - 2 * kLongest; --seq) {
      const auto call = at(most, seq);
      if (!call) break;
      history.push_back(*call);
    }
    const auto wrong = at(odd, s);
    for (std::size_t period = 2; 2 * period <= history.size(); ++period) {
      bool repeats = true;
      for (std::size_t i = 0; repeats && i + period < history.size() && i < 2 * period; ++i)
        repeats = history[i] == history[i + period];
      if (!repeats) continue;
      // history[period - k] is the call k places later
      for (std::size_t k = 1; k < period; ++k)
        if (history[period - k] == *wrong) return true;
      return false;
    }
    return false;
  }

  const FlightRecorder& recorder_;
  std::deque<FrCallIndex> indices_;  // by dump; addresses stay
  std::vector<Call> calls_;          // by (group, seq, rank), one each
};

}  // namespace

std::vector<FrMismatch> find_mismatches(const FlightRecorder& recorder) {
  return Finder(recorder).run();
}

}  // namespace ringside::backend
