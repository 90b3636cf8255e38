// How far the clocks of the hosts of a job are apart, from events that they share, and how well that is known.
//
// Idea. Whatever happens before something else on another host gives a bound: if a on host A comes before b on
// host B, then (clock of B - clock of A) <= b's stamp - a's stamp. No rank finishes an AllReduce before every
// rank has started it, and no chunk arrives before it was sent. Bounds from both directions leave an interval
// that holds the offset for certain; its middle is the estimate, half its width the error (Cristian 1989; the
// bounds are those of Duda, Harrus, Haddad and Bernard 1987). Clocks drift, so a bound gets looser with age, by
// the most that a clock without a fault drifts. When bounds contradict each other a clock was set: they are
// thrown away and begin anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/diagnosis/diagnosis.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {

/// One host against the reference, which is the host of rank 0.
struct HostOffset {
  std::string host, reference;
  std::int64_t offset_ns = 0;  // its clock minus the reference's
  std::int64_t error_ns = 0;   // the true offset is within offset ± error
  std::int64_t events = 0;     // pairs of events that were compared
  int resets = 0;              // times that the bounds contradicted each other: a clock was set
  /// Zero is within the interval: as far as anybody can tell the clocks agree.
  bool may_agree() const { return offset_ns <= error_ns && -offset_ns <= error_ns; }
};

class HostClocks {
 public:
  void lives_on(int rank, const std::string& host);
  /// A rank started or finished call `seq` of `comm` (an AllReduce of all `world` ranks), by its own clock.
  void started(int rank, std::string_view comm, std::int64_t seq, int world, std::int64_t t);
  void finished(int rank, std::string_view comm, std::int64_t seq, int world, std::int64_t t);
  /// Rank a's event at ta happened before rank b's at tb, each by its own clock.
  void precedes(int a, std::int64_t ta, int b, std::int64_t tb);
  bool several_hosts() const;
  /// Hosts for which there are bounds from both sides, by name.
  std::vector<HostOffset> offsets() const;
  std::optional<HostOffset> offset_of(int rank) const;

 private:
  struct Bound {
    std::int64_t value = 0, at = 0;  // at: when it was learnt, by the host's own clock
    bool known = false;
  };
  struct Host {
    Bound lower, upper;
    std::int64_t latest = 0, events = 0;
    int resets = 0;
  };
  struct Call {
    std::map<int, std::int64_t> started, finished;
  };
  void learn(const std::string& host, bool is_upper, std::int64_t value, std::int64_t at);
  void settle(const Call& call);
  Call& call_of(std::string_view comm, std::int64_t seq);
  HostOffset offset_of(const std::string& name, const Host& host) const;

  std::map<int, std::string> host_of_;
  std::map<std::string, Host> hosts_;  // all but the reference
  std::map<std::pair<std::string, std::int64_t>, Call> calls_;
};

/// The same from a trace of a live run as it grows: from its AllReduces alone, as the hub does.
class TraceClocks {
 public:
  /// Takes in what the trace has got since.
  void update(const sim::Trace& trace);
  /// Empty on one host.
  std::vector<HostOffset> offsets() const { return clocks_.several_hosts() ? clocks_.offsets() : std::vector<HostOffset>(); }
  std::optional<HostOffset> offset_of(int rank) const { return clocks_.offset_of(rank); }

 private:
  HostClocks clocks_;
  std::set<int> met_;  // ranks whose host is known
  std::size_t seen_ = 0;
};

/// Everything that a trace of a live run tells: collectives, and the chunks of stepped ones.
std::vector<HostOffset> host_clocks(const sim::Trace& trace);

/// One line for the log: "clock of beta: 250.1 ms ahead of alpha, within 0.3 ms, from 120 events".
std::string offset_text(const HostOffset& offset);
inline constexpr std::string_view kClockStream = "clock";

/// The diagnosis of a run on several hosts: every rank's events on the reference's time. A verdict that does not
/// stand at both ends of what the offsets may be is not one: it is then given as unknown, with that reason.
/// `until`: what could be known by then, on the reference's time (sim::diagnose_at).
sim::Diagnosis diagnose_with_clocks(const sim::Trace& trace, const std::vector<HostOffset>& offsets,
                                    std::optional<std::int64_t> until = std::nullopt);

}  // namespace ringside::backend
