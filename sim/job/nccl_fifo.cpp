#include "sim/job/nccl_fifo.hpp"

#include <algorithm>

#include "sim/model/preset.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kKiB = 1'024;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Data bytes that one chunk of the protocol carries.
std::int64_t chunk_capacity(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::LL:
      return 32 * kKiB;
    case NcclProtocol::LL128:
      return 576'000;  // 600 KiB, 120 of 128 bytes are data
    case NcclProtocol::Simple:
      break;
  }
  return 2'048 * kKiB;
}

/// Data bytes that share one flag; 0: none have one.
std::int64_t line_of(NcclProtocol protocol) {
  if (protocol == NcclProtocol::LL) return 8;
  return protocol == NcclProtocol::LL128 ? 120 : 0;
}

}  // namespace

NcclProtocol nccl_protocol(const Scenario& scenario, std::int64_t bytes) {
  if (scenario.stack.library != Library::Nccl || scenario.collective.chunking == Chunking::Nccl ||
      scenario.world_size() < 2)
    return NcclProtocol::Simple;
  const auto preset =
      find_preset(scenario.cluster.preset.empty() ? std::string("dgx-a100") : scenario.cluster.preset);
  if (!preset) return NcclProtocol::Simple;
  const TunerJob job = tuner_job(*preset, scenario.cluster.nodes, scenario.cluster.gpus_per_node);
  const TunerRow* best = nullptr;
  const std::vector<TunerRow> rows = tuner_rows(job, Collective::AllReduce, bytes);
  for (const TunerRow& row : rows)
    if (row.algorithm == NcclAlgorithm::Ring && (best == nullptr || row.tuner_us < best->tuner_us))
      best = &row;
  return best == nullptr ? NcclProtocol::Simple : best->protocol;
}

bool receive_gets_done(NcclProtocol protocol, std::int64_t sent, std::int64_t room) {
  const auto pieces = [&](std::int64_t bytes) {
    return std::max<std::int64_t>(1, ceil_div(bytes, chunk_capacity(protocol)));
  };
  if (pieces(sent) != pieces(room)) return false;
  const std::int64_t line = line_of(protocol);
  return line == 0 || ceil_div(room, line) <= ceil_div(sent, line);
}

}  // namespace ringside::sim
