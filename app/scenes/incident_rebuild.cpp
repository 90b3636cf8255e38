#include "app/scenes/incident_rebuild.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "sim/base/quantity.hpp"

namespace ringside::app {
namespace {

constexpr int kSteps = 5, kFaultStep = 3;
constexpr std::int64_t kMostRanks = 4096, kRanksWithNumbers = 64;

/// The fault that usually leads to a verdict of this kind.
std::optional<sim::FaultKind> fault_for(sim::DiagnosisKind kind) {
  using K = sim::DiagnosisKind;
  switch (kind) {  // where a kind is the first consequence of none, or of the wrong one
    case K::UnevenData:
      return sim::FaultKind::EarlyExit;
    case K::NodeFailure:
      return sim::FaultKind::PciePower;
    case K::NvlinkHw:
      return sim::FaultKind::GpuReset;
    case K::WatchdogFalseAlarm:
    case K::GpuOom:
    case K::Unknown:
    case K::None:
      return std::nullopt;
    default:
      break;
  }
  for (int i = 0; i < sim::kFaultKindCount; ++i) {
    const auto fault = static_cast<sim::FaultKind>(i);
    if (!sim::may_lead_to(fault).empty() && sim::may_lead_to(fault).front() == kind) return fault;
  }
  return std::nullopt;
}

/// Ranks a node: what most hosts have, if it divides the world.
int per_node(const IncidentPicture& picture, std::int64_t world, std::vector<Assumed>& assumed) {
  std::map<std::string, int> count;
  for (const IncidentRow& row : picture.rows)
    if (!row.host.empty()) ++count[row.host];
  std::map<int, int> votes;
  for (const auto& [host, n] : count) ++votes[n];
  int best = 0, most = 0;
  for (const auto& [n, v] : votes)
    if (v >= most && world % n == 0) {
      best = n;
      most = v;
    }
  if (best > 0) return best;
  assumed.push_back(Assumed::Hosts);
  for (int n = static_cast<int>(std::min<std::int64_t>(8, world)); n > 1; --n)
    if (world % n == 0) return n;
  return 1;
}

struct Place {
  int rank = 0, per_node = 1;
  std::int64_t world = 1;
};

std::string fault_table(sim::FaultKind kind, const Place& place, std::int64_t shape) {
  std::string out = "\n[[fault]]\nkind = \"" + std::string(sim::to_word(kind)) + "\"\n";
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  using F = sim::FaultKind;
  const bool link = kind == F::LinkDown || kind == F::LinkSlow || kind == F::LinkFlap;
  if (link)
    out += "from = " + number(place.rank) + "\nto = " + number((place.rank + 1) % place.world) + "\n";
  else
    out += "rank = " + number(place.rank) + "\n";
  out += "step = " + number(kFaultStep) + "\n";
  if (kind == F::Shape) out += "shape = [" + number(std::max<std::int64_t>(1, shape / 2)) + "]\n";
  if (kind == F::DType) out += "dtype = \"float64\"\n";
  if (kind == F::Op) out += "op = \"max\"\n";
  if (kind == F::Slow) out += "factor = 0.25\n";
  if (kind == F::LinkSlow) out += "factor = 0.05\n";
  if (kind == F::LinkFlap || kind == F::IbFlap) out += "duration = \"30s\"\n";
  if (kind == F::BitFlip) out += "bit = 20\n";
  return out;
}

}  // namespace

std::string_view to_word(Assumed assumed) {
  constexpr std::array<std::string_view, kAssumedCount> kWords{"culprit", "world", "hosts", "step",
                                                               "timeout", "size",  "times", "peer"};
  return kWords[static_cast<std::size_t>(assumed)];
}

bool can_rebuild(sim::DiagnosisKind kind) {
  return fault_for(kind).has_value();
}

sim::Result<Rebuilt> rebuild(const backend::Incident& incident, const IncidentPicture& picture) {
  const sim::Diagnosis& d = incident.diagnosis;
  const auto fault = fault_for(d.kind);
  if (!fault)
    return sim::Error{.what = "the simulator cannot fail in the way \"" + std::string(sim::to_word(d.kind)) +
                              "\""};
  Rebuilt out;
  out.fault = *fault;
  Place place;
  const int highest = picture.rows.empty() ? 0 : picture.rows.back().rank + 1;
  place.world = d.world_size;
  if (place.world < 2 || place.world < highest) {
    place.world = std::max<std::int64_t>(2, highest);
    out.assumed.push_back(Assumed::World);
  }
  if (place.world > kMostRanks)
    return sim::Error{.what = "a job of " + std::to_string(place.world) + " ranks is too large to build here",
                      .legal = "up to " + std::to_string(kMostRanks) + " ranks"};
  place.per_node = per_node(picture, place.world, out.assumed);
  if (!d.culprits.empty()) {
    place.rank = d.culprits.front();
  } else {
    const auto on_node = std::find_if(picture.rows.begin(), picture.rows.end(), [&](const IncidentRow& row) {
      return !d.culprit_nodes.empty() && row.host == d.culprit_nodes.front();
    });
    if (on_node != picture.rows.end())
      place.rank = on_node->rank;
    else
      out.assumed.push_back(Assumed::Culprit);
  }
  if (place.rank >= place.world) place.rank = 0;

  std::int64_t watchdog = 600'000'000'000;
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (picture.wait_ns >= kSecond)
    watchdog = (picture.wait_ns + kSecond / 2) / kSecond * kSecond;
  else
    out.assumed.push_back(Assumed::Timeout);
  using F = sim::FaultKind;
  const bool link = *fault == F::LinkDown || *fault == F::LinkSlow || *fault == F::LinkFlap;
  if (link) out.assumed.push_back(Assumed::Peer);
  const bool numbers = place.world <= kRanksWithNumbers;
  const std::int64_t elements = numbers ? place.world * 4 : std::int64_t{1} << 20;
  const std::string library = incident.rule.starts_with("gloo") ? "gloo" : "nccl";
  std::string toml = "title = \"Rebuilt: " + std::string(sim::to_word(d.kind)) +
                     "\"\n[cluster]\nnodes = " + std::to_string(place.world / place.per_node) +
                     "\ngpus_per_node = " + std::to_string(place.per_node) + "\n[tensor]\nshape = [" +
                     std::to_string(elements) + "]\nvalues = \"" + (numbers ? "index" : "none") +
                     "\"\n[training]\nsteps = " + std::to_string(kSteps) +
                     "\nforward = \"40ms\"\nloss = \"2ms\"\nbackward = \"80ms\"\noptimizer = \"5ms\"\n" +
                     "[collective]\nop = \"sum\"\n[stack]\nlibrary = \"" + library + "\"\ntransport = \"" +
                     (library == "gloo" ? "tcp" : "ib") + "\"\nwatchdog = \"" +
                     std::to_string(watchdog / kSecond) + "s\"\n";
  if (*fault == F::WrongOrder || *fault == F::SkipCollective)
    toml.insert(toml.find("[collective]"), "buckets = 2\n");
  toml += fault_table(*fault, place, elements);
  auto scenario = sim::parse_scenario(toml, "the rebuilt incident");
  if (!scenario) return scenario.error();
  out.scenario = std::move(*scenario);
  for (const Assumed assumed : {Assumed::Step, Assumed::Size, Assumed::Times}) out.assumed.push_back(assumed);
  return out;
}

}  // namespace ringside::app
