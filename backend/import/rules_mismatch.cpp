// Rules on statements that show both sides of a mismatch: debug wrapper, COLL lines, Horovod, Gloo, MPI.
#include <algorithm>
#include <map>

#include "backend/import/fingerprint.hpp"
#include "backend/import/rules.hpp"
#include "backend/import/vote.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

std::string print_of(const CallPrint& print) {
  return print.op + " " + print.shape + " " + print.dtype +
         (print.seq >= 0 ? " #" + std::to_string(print.seq) : std::string());
}

const char* kind_words(DiagnosisKind kind) {
  switch (kind) {
    case DiagnosisKind::CollectiveOrder:
      return "runs another operation";
    case DiagnosisKind::ShapeMismatch:
      return "uses another shape";
    case DiagnosisKind::DtypeMismatch:
      return "uses another dtype";
    case DiagnosisKind::SequenceMismatch:
      return "is at another call";
    default:
      return "differs";
  }
}

void settle(const Case& c, Finding& finding, const Vote& result, const std::set<int>& involved) {
  if (result.decided && result.minority.size() * 2 < result.majority.size() + result.minority.size() + 1) {
    finding.culprits = result.minority;
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = Confidence::Certain;
    return;
  }
  finding.confidence = Confidence::Unknown;
  for (const int rank : involved) {
    std::vector<int> one = {rank};
    finding.alternatives.push_back({finding.kind, one, "no majority: it or the other side is wrong"});
  }
}

}  // namespace

/// TORCH_DISTRIBUTED_DEBUG=DETAIL. Each rank names the FIRST rank, from 0 up, that differs from itself: the
/// majority names the odd rank and the odd rank names rank 0. So a message (A, B) also says that all ranks
/// below B agree with A.
std::optional<Finding> wrapper_mismatch(const Case& c) {
  const auto& facts = c.of(FactKind::WrapperMismatch);
  if (facts.empty()) return std::nullopt;
  std::map<int, CallPrint> own;
  std::map<int, CallPrint> told;
  std::map<int, int> names;
  std::size_t implied = 0;
  for (const Fact* fact : facts) {
    // The numbers inside are ranks of the group; a prefix tells which global rank speaks.
    const int speaker = fact->who.group_rank;
    own[speaker] = fact->mine;
    if (fact->named.empty()) continue;
    told.try_emplace(fact->named.front(), fact->theirs);
    names[speaker] = fact->named.front();
  }
  std::map<int, std::string> said;
  bool foreign = false;
  for (const auto& [rank, print] : told) {
    if (own.count(rank) == 0) said[rank] = print_of(print);
    foreign = foreign || is_foreign(print);
  }
  // After a lost step the other side's fingerprint is read from foreign data; what a rank says of itself is
  // real.
  for (const auto& [rank, print] : own) said[rank] = print_of(print);
  if (own.size() == 1 && !names.empty()) {
    const auto [speaker, named] = *names.begin();
    for (int rank = 0; rank < named; ++rank)
      if (rank != speaker && said.count(rank) == 0) ++implied;
    if (named < speaker) implied = 0;  // the speaker may be the odd one
  }
  Finding finding;
  finding.rule = "wrapper_mismatch";
  finding.evidence = facts;
  const Vote result = vote(said, implied);
  const Fact& first = *facts.front();
  finding.kind = difference(
      first.mine, first.theirs.op.empty() && own.size() > 1 ? std::prev(own.end())->second : first.theirs);
  for (const auto& [rank, print] : own)
    for (const auto& [other, other_print] : own)
      if (print_of(print) != print_of(other_print)) finding.kind = difference(print, other_print);
  if (foreign && finding.kind != DiagnosisKind::ShapeMismatch && finding.kind != DiagnosisKind::DtypeMismatch)
    finding.kind = DiagnosisKind::SequenceMismatch;
  // Group ranks to global ranks, where a prefix gives both.
  std::map<int, int> global;
  for (const Fact* fact : facts)
    if (const int rank = c.rank(*fact); rank >= 0) global[fact->who.group_rank] = rank;
  const auto translate = [&global](std::vector<int> ranks) {
    bool same = true;
    for (const auto& [group, rank] : global) same = same && group == rank;
    if (!same)
      for (int& rank : ranks)
        if (const auto found = global.find(rank); found != global.end()) rank = found->second;
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  };
  Vote translated = result;
  translated.minority = translate(result.minority);
  translated.majority = translate(result.majority);
  std::set<int> involved;
  for (const auto& [rank, what] : said) involved.insert(translate({rank}).front());
  if (said.size() == 2 && implied == 0) translated.decided = false;
  if (said.size() == 2 && implied > 0 && translated.decided)
    translated.minority = translate({names.begin()->second});
  settle(c, finding, translated, involved);
  for (const int rank : translated.majority) finding.victims.insert(rank);
  finding.what = finding.culprits.empty()
                     ? std::string("ranks disagree about one call: ") + print_of(first.mine) + " against " +
                           print_of(first.theirs)
                     : name_ranks(finding.culprits) + " " + kind_words(finding.kind) +
                           (first.mine.seq >= 0 ? " at call #" + std::to_string(first.mine.seq) : "");
  finding.why = finding.culprits.empty()
                    ? "With two sides of equal weight there is no majority: either rank may be the odd one."
                    : std::to_string(translated.majority.size() + implied) +
                          " rank(s) agree with each other and differ from " + name_ranks(finding.culprits) +
                          "; the odd rank itself can only name rank 0.";
  return finding;
}

/// NCCL_DEBUG_SUBSYS=COLL: the calls of all ranks at one opCount side by side.
std::optional<Finding> coll_lines(const Case& c) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<int, const Fact*>>
      calls;  // (ranks of the communicator, opCount)
  std::map<int, std::int64_t> last;
  for (const Fact* fact : c.of(FactKind::NcclColl)) {
    const int rank = c.rank(*fact);
    if (rank < 0) continue;
    calls[{fact->value, fact->seq}].try_emplace(rank, fact);
    auto& newest = last.try_emplace(rank, fact->seq).first->second;
    newest = std::max(newest, fact->seq);
  }
  for (const auto& [key, ranks] : calls) {
    std::map<int, std::string> said;
    for (const auto& [rank, fact] : ranks)
      said[rank] = fact->op + " " + std::to_string(fact->numel_in) + " " + fact->dtype;
    const Vote result = vote(said);
    if (!result.decided || result.minority.size() * 2 >= said.size() || said.size() < 3) continue;
    const Fact& odd = *ranks.at(result.minority.front());
    const Fact& usual = *ranks.at(result.majority.front());
    Finding finding;
    finding.rule = "coll_lines";
    finding.kind = odd.op != usual.op               ? DiagnosisKind::CollectiveOrder
                   : odd.numel_in != usual.numel_in ? DiagnosisKind::ShapeMismatch
                                                    : DiagnosisKind::DtypeMismatch;
    finding.evidence = {&odd, &usual};
    for (const Fact* check : c.of(FactKind::NcclSelfCheck)) finding.evidence.push_back(check);
    settle(c, finding, result, {});
    finding.what = name_ranks(finding.culprits) + " called " + odd.op + " with count " +
                   std::to_string(odd.numel_in) + " where " + std::to_string(result.majority.size()) +
                   " ranks called " + usual.op + " with count " + std::to_string(usual.numel_in);
    finding.why =
        "The calls are compared at the same operation count of one communicator; neighbours that report a "
        "hang are victims.";
    return finding;
  }
  // Equal calls, but one rank's list ends before that of the others, which all stop at one number.
  std::map<int, std::string> ends;
  for (const auto& [rank, seq] : last) ends[rank] = std::to_string(seq);
  const Vote by_end = vote(ends);
  if (by_end.decided && by_end.minority.size() * 3 <= ends.size()) {
    const std::int64_t usual = last[by_end.majority.front()];
    const bool behind = std::all_of(by_end.minority.begin(), by_end.minority.end(),
                                    [&](int rank) { return last[rank] < usual; });
    if (behind) {
      Finding finding;
      finding.rule = "coll_lines";
      finding.kind = DiagnosisKind::HangRankMissing;
      finding.culprits = by_end.minority;
      finding.nodes = c.hosts_of(finding.culprits);
      finding.confidence = Confidence::Likely;
      for (const Fact* fact : c.of(FactKind::NcclColl))
        if (fact->seq == last[by_end.minority.front()] && c.rank(*fact) == by_end.minority.front())
          finding.evidence.push_back(fact);
      for (const Fact* fact : c.of(FactKind::NcclColl))
        if (fact->seq == usual && finding.evidence.size() < 4) finding.evidence.push_back(fact);
      finding.what = name_ranks(finding.culprits) + " made its last call at operation " +
                     std::to_string(last[by_end.minority.front()]) + ", the others at " +
                     std::to_string(usual);
      finding.why = "All calls before are equal; the ranks that are further wait for the one that is behind.";
      return finding;
    }
  }
  // NCCL 2.4's own check alone.
  for (const Fact* check : c.of(FactKind::NcclSelfCheck))
    if (check->name == "mismatch") {
      Finding finding;
      finding.rule = "coll_lines";
      finding.kind = DiagnosisKind::CollectiveOrder;
      finding.culprits = check->named;
      finding.nodes = c.hosts_of(finding.culprits);
      finding.confidence = Confidence::Likely;
      finding.evidence = {check};
      finding.what = "NCCL found mismatched collectives at and around " + name_ranks(check->named);
      finding.why = "NCCL 2.4 checks this itself; \"may be hanging\" lines come from neighbours.";
      return finding;
    }
  return std::nullopt;
}

/// One set of missing ranks for all tensors: those hang. Two complementary sets: two orders of operations.
std::optional<Finding> horovod(const Case& c) {
  if (const auto& mismatches = c.of(FactKind::HorovodMismatch); !mismatches.empty()) {
    const std::string& text = mismatches.front()->name;
    Finding finding;
    finding.rule = "horovod";
    finding.evidence = mismatches;
    finding.kind = text.find("shape") != std::string::npos       ? DiagnosisKind::ShapeMismatch
                   : text.find("data type") != std::string::npos ? DiagnosisKind::DtypeMismatch
                   : text.find("operation") != std::string::npos ? DiagnosisKind::CollectiveOrder
                   : text.find("device") != std::string::npos    ? DiagnosisKind::ConfigError
                                                                 : DiagnosisKind::CollectiveOrder;
    finding.confidence = Confidence::Unknown;
    finding.what = text.substr(0, 160);
    finding.why = "Horovod says that ranks differ, but not which.";
    return finding;
  }
  const auto& stalls = c.of(FactKind::HorovodStall);
  if (stalls.empty()) return std::nullopt;
  Finding finding;
  finding.rule = "horovod";
  finding.evidence = stalls;
  std::map<std::set<int>, std::size_t> missing;
  std::map<std::set<int>, std::size_t> ready;
  for (const Fact* fact : stalls)
    ++(fact->name == "missing" ? missing : ready)[{fact->named.begin(), fact->named.end()}];
  const auto world = static_cast<std::size_t>(c.world());
  const auto complement = [&](const std::set<int>& ranks) {
    std::set<int> others;
    for (std::size_t rank = 0; rank < world && world < 65'536; ++rank)
      if (ranks.count(static_cast<int>(rank)) == 0) others.insert(static_cast<int>(rank));
    return others;
  };
  for (const auto& [ranks, count] : ready)
    if (world > 0) missing[complement(ranks)] += count;
  std::set<std::set<int>> sets;
  for (const auto& [ranks, count] : missing)
    if (!ranks.empty()) sets.insert(ranks);
  if (sets.size() == 1 && (world == 0 || sets.begin()->size() * 2 < world)) {
    finding.kind = DiagnosisKind::HangRankMissing;
    finding.culprits.assign(sets.begin()->begin(), sets.begin()->end());
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = Confidence::Certain;
    finding.what = name_ranks(finding.culprits) + " did not submit what all others wait for";
    finding.why =
        "Every stalled tensor misses the same rank, so this rank never arrived; two different orders would "
        "give complementary sets.";
    return finding;
  }
  if (sets.size() == 2) {
    const std::set<int>& a = *sets.begin();
    const std::set<int>& b = *std::next(sets.begin());
    const bool disjoint = std::none_of(a.begin(), a.end(), [&b](int rank) { return b.count(rank) != 0; });
    if (disjoint) {
      finding.kind = DiagnosisKind::CollectiveOrder;
      const std::set<int>& few = a.size() <= b.size() ? a : b;
      finding.confidence = Confidence::Unknown;
      if (a.size() != b.size()) {
        finding.culprits.assign(few.begin(), few.end());
        finding.nodes = c.hosts_of(finding.culprits);
        finding.confidence = Confidence::Certain;
      } else {
        for (const auto* ranks : {&a, &b})
          finding.alternatives.push_back(
              {finding.kind, {ranks->begin(), ranks->end()}, "as many as on the other side"});
      }
      finding.what = (finding.culprits.empty() ? std::string("ranks") : name_ranks(finding.culprits)) +
                     " submitted other operations than the rest";
      finding.why =
          "The sets of ready ranks complement each other: each side waits for the other's operation. The "
          "smaller side is the odd one.";
      return finding;
    }
  }
  finding.kind = DiagnosisKind::HangRankMissing;
  // The ranks that are missing everywhere, if any.
  std::set<int> common = sets.empty() ? std::set<int>{} : *sets.begin();
  for (const auto& ranks : sets) {
    std::set<int> both;
    std::set_intersection(common.begin(), common.end(), ranks.begin(), ranks.end(),
                          std::inserter(both, both.begin()));
    common = both;
  }
  if (!common.empty() && (world == 0 || common.size() * 2 < world))
    finding.culprits.assign(common.begin(), common.end());
  finding.nodes = c.hosts_of(finding.culprits);
  finding.confidence = finding.culprits.empty() ? Confidence::Unknown : Confidence::Likely;
  finding.what = "operations are stalled" + (finding.culprits.empty() ? std::string()
                                                                      : "; " + name_ranks(finding.culprits) +
                                                                            " is missing in all of them");
  finding.why = "The missing sets differ from tensor to tensor.";
  return finding;
}

/// Gloo: a message larger than the posted buffer, reported by the neighbour of the guilty rank.
std::optional<Finding> gloo_size(const Case& c) {
  const auto& facts = c.of(FactKind::GlooSize);
  if (facts.empty()) return std::nullopt;
  Finding finding;
  finding.rule = "gloo_size";
  finding.kind = DiagnosisKind::ShapeMismatch;
  finding.evidence = facts;
  finding.confidence = Confidence::Unknown;
  int reporter = c.torch_rank(*facts.front());
  if (reporter < 0)
    for (const FactKind kind : {FactKind::ElasticEntry, FactKind::ElasticRoot})
      for (const Fact* entry : c.of(kind))
        if (entry->code == -6) reporter = c.rank(*entry);
  const Fact& first = *facts.front();
  finding.what = "a message did not fit the buffer" +
                 (first.value > 0 ? " (" + std::to_string(first.value) + " against " +
                                        std::to_string(first.limit) + " bytes)"
                                  : std::string());
  finding.why =
      "A wrong size, dtype or order looks the same here, and the rank that reports is the innocent neighbour "
      "of the guilty one.";
  if (reporter >= 0) {
    finding.victims.insert(reporter);
    const auto world = static_cast<int>(c.world());
    if (world > 2)
      for (const int rank : {(reporter + world - 1) % world, (reporter + 1) % world})
        finding.alternatives.push_back(
            {finding.kind, {rank}, "a neighbour of the rank that reports; nothing tells which neighbour"});
  }
  return finding;
}

const Fact* size_report(const Case& c) {
  for (const FactKind kind : {FactKind::GlooSize, FactKind::NcclTruncated})
    if (c.has(kind)) return c.of(kind).front();
  for (const Fact* fact : c.of(FactKind::MpiError))
    if (fact->name.find("TRUNCATE") != std::string::npos || fact->name.find("runcated") != std::string::npos)
      return fact;
  return nullptr;
}

/// MPI's and NCCL's own report of a message that is too long. The reporter is the receiver and innocent; the
/// sender of the wrong count is not named.
std::optional<Finding> mpi_error(const Case& c) {
  const Fact* truncated = size_report(c);
  if (truncated == nullptr && !c.has(FactKind::MpiError)) return std::nullopt;
  Finding finding;
  finding.rule = "mpi_error";
  finding.confidence = Confidence::Unknown;
  finding.evidence = c.of(FactKind::MpiError);
  const auto& nccl = c.of(FactKind::NcclTruncated);
  finding.evidence.insert(finding.evidence.end(), nccl.begin(), nccl.end());
  if (truncated == nullptr) {
    finding.kind = DiagnosisKind::Unknown;
    finding.what = "MPI reported " + finding.evidence.front()->name.substr(0, 100);
    finding.why = "The line does not say which rank caused it.";
    return finding;
  }
  finding.kind = DiagnosisKind::ShapeMismatch;
  finding.what =
      "a message was longer than the receiver expected" +
      (truncated->value > 0 && truncated->limit > 0
           ? " (" + std::to_string(truncated->value) + " against " + std::to_string(truncated->limit) +
                 " bytes)"
           : " (" + (truncated->op.empty() ? std::string("MPI_ERR_TRUNCATE") : truncated->op) + ")");
  finding.why =
      "The rank that reports is the receiver, and so the victim; the rank with the wrong count, or with "
      "another "
      "call in this place, is not named.";
  if (const int reporter = c.torch_rank(*truncated); reporter >= 0) {
    finding.victims.insert(reporter);
    // Two ranks: the other one sent it, but which of both counts is the wrong one, nobody says.
    finding.alternatives.push_back(
        {finding.kind, {reporter}, "received it: innocent unless its own count is the odd one"});
  }
  return finding;
}

}  // namespace ringside::backend::rules
