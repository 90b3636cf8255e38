#include "backend/import/case.hpp"

#include <algorithm>

#include "backend/import/natural_order.hpp"
#include "backend/import/timestamps.hpp"

namespace ringside::backend {
namespace {

constexpr std::int64_t kClockErrorNs =
    5 * kSecondNs;  // two hosts' clocks may differ by this without any hint

/// Where the first attempt ends in each file: behind the first "will restart worker group" that follows a
/// failure.
std::map<std::uint32_t, std::int64_t> first_attempts(const Facts& facts) {
  std::map<std::uint32_t, std::int64_t> ends;
  for (const Fact& fact : facts.facts)
    if (fact.kind == FactKind::ElasticRestart) {
      const auto [found, fresh] = ends.try_emplace(fact.file, fact.line);
      if (!fresh) found->second = std::min(found->second, fact.line);
    }
  return ends;
}

}  // namespace

Case::Case(const Facts& all, const Who& identities, Of of) : facts(all), who(identities), by_kind_(256) {
  const auto ends = first_attempts(all);
  for (const Fact& fact : all.facts) {
    const bool from_a_dump = fact.layer == Layer::FlightRecorder && fact.line == 0;
    if (of == Of::Lines && from_a_dump) continue;
    // What happens after a restart is a consequence of the first failure as often as a second one.
    const auto end = ends.find(fact.file);
    if (end != ends.end() && fact.line > end->second && fact.kind != FactKind::Progress) {
      restarted_ = true;
      continue;
    }
    by_kind_[static_cast<std::size_t>(fact.kind)].push_back(&fact);
    if (fact.kind == FactKind::Progress) {
      const int author = identities.rank_of(fact);
      if (author < 0) continue;
      const Fact*& last = last_words_[author];
      if (last == nullptr || last->file != fact.file || last->line < fact.line) last = &fact;
    }
  }
}

const std::vector<const Fact*>& Case::of(FactKind kind) const {
  return by_kind_[static_cast<std::size_t>(kind)];
}

int Case::torch_rank(const Fact& fact) const {
  if (const int known = rank(fact); known >= 0) return known;
  const bool whole_job = fact.pg.empty() || fact.pg == "0" || fact.pg_name == "default_pg";
  return whole_job ? fact.who.group_rank : -1;
}

std::set<int> Case::ranks_with(std::initializer_list<FactKind> kinds) const {
  std::set<int> ranks;
  for (const FactKind kind : kinds)
    for (const Fact* fact : of(kind))
      if (const int author = torch_rank(*fact); author >= 0) ranks.insert(author);
  return ranks;
}

const Fact* Case::last_words(int rank) const {
  const auto found = last_words_.find(rank);
  return found == last_words_.end() ? nullptr : found->second;
}

const Fact* Case::note(FactKind kind, int rank) const {
  const Fact* last = nullptr;
  for (const Fact* fact : of(kind))
    if (this->rank(*fact) == rank) last = fact;
  return last;
}

bool Case::before(const Fact& a, const Fact& b) const {
  if (a.file == b.file) return a.line < b.line;
  if (a.t_ns < 0 || b.t_ns < 0) return false;
  std::int64_t ta = a.t_ns;
  std::int64_t tb = b.t_ns;
  if (a.zone_s != kNoZone && b.zone_s != kNoZone) {
    ta -= a.zone_s * kSecondNs;
    tb -= b.zone_s * kSecondNs;
  }
  if (a.dated != b.dated) {  // compare the time of day only
    ta %= kDayNs;
    tb %= kDayNs;
  }
  return ta + (host(a) == host(b) ? 0 : kClockErrorNs) < tb;
}

std::string Case::at(const Fact& fact) const {
  const std::string& name = fact.file < facts.files.size() ? facts.files[fact.file] : std::string("?");
  return fact.line > 0 ? name + ":" + std::to_string(fact.line) : name;
}

std::vector<std::string> Case::hosts_of(const std::vector<int>& ranks) const {
  std::set<std::string> names;
  for (const int one : ranks)
    if (std::string host = who.host_of_rank(one); !host.empty()) names.insert(std::move(host));
  std::vector<std::string> hosts(names.begin(), names.end());
  std::sort(hosts.begin(), hosts.end(),
            [](const std::string& a, const std::string& b) { return natural_less(a, b); });
  return hosts;
}

namespace {
constexpr std::size_t kNamesShown = 8;

template <class T, class Print>
std::string list(const std::vector<T>& items, Print print) {
  std::string text;
  const std::size_t shown = items.size() <= kNamesShown ? items.size() : kNamesShown - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += print(items[i]);
  }
  if (shown < items.size()) text += " and " + std::to_string(items.size() - shown) + " more";
  return text;
}
}  // namespace

std::string name_ranks(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no rank";
  return (ranks.size() == 1 ? "rank " : "ranks ") +
         list(ranks, [](int rank) { return std::to_string(rank); });
}

std::string name_hosts(const std::vector<std::string>& hosts) {
  return list(hosts, [](const std::string& host) { return host; });
}

}  // namespace ringside::backend
