#include "app/session/branch.hpp"

#include <algorithm>

#include "sim/base/random.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kWrittenNumbers = 4'096;

std::uint64_t fold(std::uint64_t hash, std::uint64_t value) {
  return sim::mix64((hash ^ value) + 0x9E3779B97F4A7C15ULL);
}

std::uint64_t fold(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = fold(hash, static_cast<unsigned char>(c));
  return fold(hash, text.size());
}

}  // namespace

std::string branch_id(const sim::Scenario& scenario, const std::vector<sim::Command>& commands) {
  std::uint64_t hash = 0;
  const bool big = scenario.tensor.list.size() > 0 &&
                   scenario.tensor.shape.count() * scenario.world_size() > kWrittenNumbers;
  if (big) {
    sim::Scenario head = scenario;
    head.tensor.values = sim::ValueSource::Index;
    head.tensor.list.clear();
    hash = fold(hash, sim::to_toml(head));
    for (const auto& tensor : scenario.tensor.list)
      hash = fold(hash, sim::digest_of(tensor->dtype, tensor->data));
  } else {
    hash = fold(hash, sim::to_toml(scenario));
  }
  for (const sim::Fault& fault : faults_of({}, commands)) hash = fold(hash, sim::fault_text(fault));
  std::string out;
  sim::append_hex64(out, hash);
  return out;
}

std::vector<sim::Fault> faults_of(const sim::Scenario& scenario, const std::vector<sim::Command>& commands) {
  std::vector<sim::Fault> out = scenario.faults;
  for (const sim::Command& command : commands) {
    out.push_back(command.fault);
    out.back().at_ns = command.t;
    out.back().line = 0;
  }
  return out;
}

sim::Scenario with_commands(sim::Scenario scenario, const std::vector<sim::Command>& commands) {
  scenario.faults = faults_of(scenario, commands);
  return scenario;
}

std::int64_t divergence(const std::vector<Branch>& branches, int a, int b) {
  // The younger of two is never an ancestor of the older: step up from it until both are the same.
  std::int64_t t = INT64_MAX;
  while (a != b && a >= 0 && b >= 0) {
    int& younger = a > b ? a : b;
    t = std::min(t, branches[static_cast<std::size_t>(younger)].forked_at);
    younger = branches[static_cast<std::size_t>(younger)].parent;
  }
  return t == INT64_MAX || a != b ? 0 : t;
}

}  // namespace ringside::app
