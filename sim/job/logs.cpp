// Lines into the trace: what ranks, kernels and launchers print.
#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

void log_line(Simulator& sim, Source source, std::string_view stream, std::string_view text) {
  Event e;
  e.text = {sim.trace.intern(text), sim.trace.intern(stream), 0, 0};
  sim.emit(source, EventType::LogLine, e);
}

}  // namespace

std::string pci_of(const Simulator& sim, int r) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const int bus = 0x10 + r % sim.scenario->cluster.gpus_per_node * 0x0b;
  std::string pci = "0000:00:00.0";
  pci[0] = kHex[static_cast<std::size_t>(bus >> 20 & 0xF)];
  pci[1] = kHex[static_cast<std::size_t>(bus >> 16 & 0xF)];
  pci[2] = kHex[static_cast<std::size_t>(bus >> 12 & 0xF)];
  pci[3] = kHex[static_cast<std::size_t>(bus >> 8 & 0xF)];
  pci[5] = kHex[static_cast<std::size_t>(bus >> 4 & 0xF)];
  pci[6] = kHex[static_cast<std::size_t>(bus & 0xF)];
  return pci;
}

Printer printer(const Simulator& sim, int r) {
  return {r, r % sim.scenario->cluster.gpus_per_node, pid_of(sim, r), Scenario::node_name(sim.node_of(r)),
          pci_of(sim, r)};
}

void log_rank(Simulator& sim, int r, std::string_view text) {
  log_line(sim, Source::rank(r), "stderr", text);
}
void log_rank(Simulator& sim, int r, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) log_rank(sim, r, line);
}
void log_kernel(Simulator& sim, int node, std::string_view text) {
  log_line(sim, Source::node(node), "kernel", text);
}
void log_launcher(Simulator& sim, std::string_view text) {
  log_line(sim, {Source::Kind::Launcher, 0}, "stderr", text);
}

void error_event(Simulator& sim, int r, std::string_view layer, int code, std::string_view text) {
  Event e;
  e.text = {sim.trace.intern(text), sim.trace.intern(layer), code, 0};
  sim.emit(Source::rank(r), EventType::Error, e);
}

}  // namespace ringside::sim
