#include "backend/import/clock.hpp"

#include <algorithm>
#include <map>

#include "backend/import/timestamps.hpp"

namespace ringside::backend {
namespace {

constexpr std::int64_t kQuarterHourNs = 900 * kSecondNs;

/// Events that every member of a group has at about the same time, by a key that names the event.
std::string shared_event(const Fact& fact) {
  if (fact.kind == FactKind::NcclInit && fact.name == "Init COMPLETE" && !fact.pg.empty())
    return "init " + fact.pg;
  // Members of one call wait for the same timeout, and begin to wait within seconds of each other.
  if (fact.kind == FactKind::WatchdogTimeout && fact.seq >= 0 && fact.value > 0 && fact.limit > 0 &&
      fact.value < fact.limit + 5000)
    return "timeout " + fact.op + " " + std::to_string(fact.seq);
  return {};
}

}  // namespace

std::vector<ClockOffset> clock_offsets(const Facts& facts, const Who& who) {
  std::map<std::string, std::map<std::string, std::vector<std::int64_t>>> events;  // event -> host -> stamps
  for (const Fact& fact : facts.facts) {
    if (fact.t_ns < 0 || !fact.dated) continue;
    const std::string event = shared_event(fact);
    if (event.empty()) continue;
    std::string host = who.host_of(fact);
    if (host.empty()) host = who.host_of_rank(who.rank_of(fact));
    if (!host.empty()) events[event][host].push_back(fact.t_ns);
  }
  std::map<std::string, std::size_t> count;
  for (const auto& [event, hosts] : events)
    if (hosts.size() > 1)
      for (const auto& [host, stamps] : hosts) ++count[host];
  if (count.empty()) return {};
  const std::string reference =
      std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  const auto median = [](std::vector<std::int64_t> stamps) {
    std::sort(stamps.begin(), stamps.end());
    return stamps[stamps.size() / 2];
  };
  std::map<std::string, std::vector<std::int64_t>> differences;
  for (const auto& [event, hosts] : events) {
    const auto at_reference = hosts.find(reference);
    if (at_reference == hosts.end()) continue;
    for (const auto& [host, stamps] : hosts)
      if (host != reference) differences[host].push_back(median(stamps) - median(at_reference->second));
  }
  std::vector<ClockOffset> offsets;
  for (auto& [host, values] : differences) {
    std::sort(values.begin(), values.end());
    ClockOffset offset;
    offset.host = host;
    offset.reference = reference;
    offset.offset_ns = values[values.size() / 2];
    offset.error_ns = std::max(kLeastClockErrorNs, (values.back() - values.front()) / 2);
    offset.events = static_cast<int>(values.size());
    const std::int64_t rest = std::abs(offset.offset_ns) % kQuarterHourNs;
    offset.zone = std::abs(offset.offset_ns) >= kQuarterHourNs - offset.error_ns &&
                  (rest <= offset.error_ns || kQuarterHourNs - rest <= offset.error_ns);
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace ringside::backend
