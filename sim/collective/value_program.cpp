#include "sim/collective/value_program.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"

namespace ringside::sim {

ValueProgram value_program(const Schedule& schedule, std::uint32_t chunk) {
  const auto world = static_cast<std::uint32_t>(schedule.world_size);
  const auto transfers = schedule.transfers_into(chunk);
  ValueProgram program;
  program.travels.reserve(transfers.size());
  program.result.resize(world);
  std::iota(program.result.begin(), program.result.end(), 0u);
  auto& held = program.result;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  std::vector<std::pair<std::int32_t, std::uint32_t>>
      written;  // of this step: applied when all of it was read
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& transfer = schedule.transfers[transfers[i]];
    RINGSIDE_CHECK_EQ(transfer.chunk, chunk);
    const std::uint32_t arrived = held[static_cast<std::size_t>(transfer.src)];
    program.travels.push_back(arrived);
    std::uint32_t value = arrived;
    if (transfer.action == Action::Reduce) {
      const std::uint32_t own = held[static_cast<std::size_t>(transfer.dst)];
      const auto next = static_cast<std::uint32_t>(world + program.ops.size());
      const auto [at, is_new] = known.try_emplace(std::minmax(arrived, own), next);
      if (is_new) program.ops.push_back({arrived, own});
      value = at->second;
    }
    written.emplace_back(transfer.dst, value);
    if (i + 1 == transfers.size() || schedule.transfers[transfers[i + 1]].step != transfer.step) {
      for (const auto& [rank, new_value] : written) held[static_cast<std::size_t>(rank)] = new_value;
      written.clear();
    }
  }
  return program;
}

}  // namespace ringside::sim
