#include "sim/job/program.hpp"

#include <algorithm>

namespace ringside::sim {
namespace {

void index_ranks(Program& program) {
  const Schedule& schedule = program.schedule;
  const auto world = static_cast<std::size_t>(schedule.world_size);
  program.sends.resize(world);
  program.receives.resize(world);
  for (std::uint32_t i = 0; i < schedule.transfers.size(); ++i) {
    program.sends[static_cast<std::size_t>(schedule.transfers[i].src)].push_back(i);
    program.receives[static_cast<std::size_t>(schedule.transfers[i].dst)].push_back(i);
  }
}

/// A channel's loops one after the other, each rank's sends in that order, one at a time.
void put_in_program_order(Program& program) {
  const Schedule& schedule = program.schedule;
  program.place.resize(schedule.transfers.size());
  program.send_place.resize(schedule.transfers.size());
  program.next_send.assign(schedule.transfers.size(), kNoTransfer);
  const auto loop_of = [&](std::uint32_t i) {
    return schedule.chunks.chunks[schedule.transfers[i].chunk].loop;
  };
  for (auto* lists : {&program.sends, &program.receives})
    for (auto& list : *lists)
      if (schedule.in_program_order)
        std::stable_sort(list.begin(), list.end(), [&](auto a, auto b) { return loop_of(a) < loop_of(b); });
  for (const auto& receives : program.receives)
    for (std::uint32_t i = 0; i < receives.size(); ++i) program.place[receives[i]] = i;
  std::vector<std::uint32_t> last(schedule.chunks.channels);
  for (const auto& sends : program.sends) {
    std::fill(last.begin(), last.end(), kNoTransfer);
    for (std::uint32_t i = 0; i < sends.size(); ++i) {
      program.send_place[sends[i]] = i;
      std::uint32_t& before = last[schedule.chunks.chunks[schedule.transfers[sends[i]].chunk].channel];
      if (before != kNoTransfer) program.next_send[before] = sends[i];
      before = sends[i];
    }
  }
}

/// For one rank: walks its transfers step by step; what a step reads is what earlier steps left.
void link_rank(Program& program, std::size_t rank, std::vector<std::uint32_t>& last) {
  const auto& transfers = program.schedule.transfers;
  const auto& sends = program.sends[rank];
  const auto& receives = program.receives[rank];
  std::size_t s = 0, r = 0;
  while (s < sends.size() || r < receives.size()) {
    const std::uint32_t step = std::min(s < sends.size() ? transfers[sends[s]].step : UINT32_MAX,
                                        r < receives.size() ? transfers[receives[r]].step : UINT32_MAX);
    for (; s < sends.size() && transfers[sends[s]].step == step; ++s)
      program.needs[sends[s]] = last[transfers[sends[s]].chunk];
    for (; r < receives.size() && transfers[receives[r]].step == step; ++r) {
      std::uint32_t& newest = last[transfers[receives[r]].to_chunk];
      program.after[receives[r]] = newest;
      newest = receives[r];
    }
  }
  for (const std::uint32_t i : receives) last[transfers[i].to_chunk] = kNoTransfer;
}

}  // namespace

std::shared_ptr<const Program> make_program(Schedule schedule, NcclProtocol protocol) {
  auto program = std::make_shared<Program>();
  program->protocol = protocol;
  program->schedule = std::move(schedule);
  const std::size_t count = program->schedule.transfers.size();
  index_ranks(*program);
  program->needs.assign(count, kNoTransfer);
  program->after.assign(count, kNoTransfer);
  std::vector<std::uint32_t> last(program->schedule.chunks.chunks.size(), kNoTransfer);
  for (std::size_t rank = 0; rank < program->sends.size(); ++rank) link_rank(*program, rank, last);
  put_in_program_order(*program);
  if (program->schedule.in_program_order)
    for (const Chunk& chunk : program->schedule.chunks.chunks)
      program->loops = std::max(program->loops, chunk.loop + std::uint32_t{1});
  program->unlock_from.assign(count + 1, 0);
  for (const std::uint32_t need : program->needs)
    if (need != kNoTransfer) ++program->unlock_from[need + 1];
  for (std::size_t i = 0; i < count; ++i) program->unlock_from[i + 1] += program->unlock_from[i];
  program->unlocked.resize(program->unlock_from[count]);
  std::vector<std::uint32_t> fill(program->unlock_from.begin(), program->unlock_from.end());
  for (std::uint32_t i = 0; i < count; ++i)
    if (program->needs[i] != kNoTransfer) program->unlocked[fill[program->needs[i]]++] = i;
  return program;
}

}  // namespace ringside::sim
