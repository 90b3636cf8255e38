// Calls that do not agree. With numbers the data plane decides what comes of it; here stand the checks that
// libraries make on top (sizes, fingerprints), and what is known without numbers.
#include <algorithm>

#include "sim/job/nccl_fifo.hpp"
#include "sim/job/rules.hpp"

namespace ringside::sim {

/// What a size check does to the one that received more than it has room for.
void size_error(Simulator& sim, int r, std::int64_t bytes, std::int64_t room) {
  const Printer who = printer(sim, r);
  if (sim.scenario->stack.library == Library::Mpi) {
    error_event(sim, r, "mpi", 15, "MPI_ERR_TRUNCATE: message truncated");
    log_rank(sim, r, mpi_truncate(who));
    return go_down(sim, r, 1'000'000, EndReason::SizeError, 15, false);
  }
  const std::string text = gloo_enforce(bytes, room);
  error_event(sim, r, "gloo", 6, text);
  log_rank(sim, r,
           std::vector<std::string>{"terminate called after throwing an instance of 'gloo::EnforceNotMet'",
                                    "  what():  " + text});
  go_down(sim, r, 1'000'000, EndReason::SizeError, 6, true);
}

namespace {

/// Whether a receiver of NCCL gets done with the first chunk that the rank before it sends: the rule of the
/// data plane (nccl_fifo.hpp).
bool nccl_neighbours_agree(const Simulator& sim, const OpenCall& sender, const OpenCall& receiver) {
  const std::int64_t sent = sender.count * size_of(sender.dtype),
                     room = receiver.count * size_of(receiver.dtype);
  if (sent == room) return true;
  const NcclProtocol protocol = nccl_protocol(*sim.scenario, room);
  if (nccl_protocol(*sim.scenario, sent) != protocol) return false;
  const auto first_chunk = [&](const OpenCall& call) {
    const int n = sim.world();
    const CollectiveSpec& spec = sim.scenario->collective;
    const ChunkTable table = spec.chunking == Chunking::Nccl
                                 ? nccl_chunks(call.count, call.dtype, n, spec.channels)
                                 : even_chunks(call.count, n, spec.channels);
    return table.chunks.front().count * size_of(call.dtype);
  };
  return receive_gets_done(protocol, first_chunk(sender), first_chunk(receiver));
}

}  // namespace

/// Without numbers: whether calls that differ come to an end all the same. The rules of the data plane,
/// applied to the first chunk that every connection carries.
bool timed_mismatch_passes(Simulator& sim) {
  const CollectiveSpec& spec = sim.scenario->collective;
  const int n = sim.world();
  const auto& first = sim.rank(0).open.front();
  bool passes = true;
  for (int r = 0; r < n; ++r) {
    const OpenCall& mine = sim.rank(r).open.front();
    const OpenCall& before = sim.rank((r + n - 1) % n).open.front();
    const std::int64_t sent = before.count * size_of(before.dtype), room = mine.count * size_of(mine.dtype);
    if (mine.collective != first.collective) passes = false;
    if (sim.scenario->stack.library == Library::Nccl && !nccl_neighbours_agree(sim, before, mine))
      passes = false;
    if (sim.scenario->stack.library != Library::Nccl && sent > room && mine.collective == before.collective) {
      size_error(sim, r, sent / n, room / n);
      passes = false;
    }
    if (spec.chunking == Chunking::Nccl &&
        nccl_chunks(mine.count, mine.dtype, n, spec.channels).chunks.size() !=
            nccl_chunks(first.count, first.dtype, n, spec.channels).chunks.size())
      passes = false;
  }
  return passes;
}

/// Why this call makes its collective worth a look.
std::uint8_t suspicion(const Simulator& sim, int r, const OpenCall& call) {
  const CollectiveInfo& info = sim.trace.collective(call.coll);
  const bool other_call = info.collective != call.collective || info.op != call.op ||
                          info.dtype != call.dtype || info.count != call.count || info.shape != call.shape;
  if (other_call) return kCallsDiffer;
  return info.step != call.step || sim.rank(r).grad_changed ? kChanged : std::uint8_t{0};
}

/// TORCH_DISTRIBUTED_DEBUG=DETAIL: the ranks compare fingerprints before a call does anything. The last to
/// come settles it: all go on, or all raise. True if nothing holds this rank back.
bool fingerprints_agree(Simulator& sim, std::uint32_t seq) {
  auto& prints = sim.fingerprints[seq];
  prints.clear();
  for (int r = 0; r < sim.world(); ++r)
    for (const OpenCall& call : sim.rank(r).open)
      if (call.seq == seq) {
        Fingerprint print{seq, call.collective, sim.trace.shape(call.shape), call.dtype,
                          sim.scenario->stack.library == Library::Nccl};
        prints.emplace(r, print);
      }
  if (prints.size() < sim.ranks.size()) return false;
  const auto same = [&](int a, int b) { return prints.at(a) == prints.at(b); };
  bool all_same = true;
  for (int r = 1; r < sim.world(); ++r) all_same = all_same && same(0, r);
  if (all_same) {
    sim.fingerprints_passed = std::max(sim.fingerprints_passed, seq);
    sim.fingerprints.erase(seq);
    for (int r = 0; r < sim.world(); ++r)
      if (sim.rank(r).life == Life::Running) enter_next(sim, r);
    return false;
  }
  for (int r = 0; r < sim.world(); ++r) {
    int other = 0;
    while (same(r, other) && other + 1 < sim.world()) ++other;
    raise_exception(sim, r, "dist.all_reduce(grad)",
                    wrapper_mismatch(r, prints.at(r), other, prints.at(other)), "wrapper");
  }
  return false;
}

bool may_enter(const Simulator& sim, std::uint32_t seq) {
  return !sim.scenario->stack.debug_detail || seq <= sim.fingerprints_passed;
}

}  // namespace ringside::sim
