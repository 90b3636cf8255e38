// The rules of diagnosis, one function each. A rule looks at one class of evidence and either concludes or
// says nothing; reason.cpp tries them in order. The classes and their order come from how failures spread:
// what the hardware, the kernel or the scheduler says outranks a program's own exception, that outranks
// statements about others, and those outrank silence.
#pragma once

#include <optional>

#include "backend/import/case.hpp"

namespace ringside::backend::rules {

using Rule = std::optional<Finding> (*)(const Case&);

// nothing failed, or nobody is guilty
std::optional<Finding> noise_after_success(const Case&);
std::optional<Finding> straggler(const Case&);
std::optional<Finding> nothing_failed(const Case&);
// hardware, kernel, scheduler
std::optional<Finding> gpu_hardware(const Case&);
std::optional<Finding> node_failure(const Case&);
std::optional<Finding> ib_port(const Case&);
std::optional<Finding> ib_completion(const Case&);
std::optional<Finding> pcie_reports(const Case&);
std::optional<Finding> host_memory(const Case&);
// stopped from outside
std::optional<Finding> stopped_first(const Case&);
std::optional<Finding> time_limit(const Case&);
// set up wrongly
std::optional<Finding> configuration(const Case&);
std::optional<Finding> ib_settings(const Case&);
std::optional<Finding> rendezvous(const Case&);
// a rank's own failure
std::optional<Finding> nan_before_communication(const Case&);
std::optional<Finding> nan_in_loss(const Case&);
std::optional<Finding> gpu_memory(const Case&);
std::optional<Finding> ddp_parameters(const Case&);
std::optional<Finding> primary_exception(const Case&);
std::optional<Finding> fatal_signal(const Case&);
std::optional<Finding> plain_exit(const Case&);
// statements with both sides, and about missing ranks
std::optional<Finding> wrapper_mismatch(const Case&);
std::optional<Finding> coll_lines(const Case&);
std::optional<Finding> horovod(const Case&);
std::optional<Finding> recorder_statements(const Case&);
std::optional<Finding> missing_in_barrier(const Case&);
std::optional<Finding> watchdog_groups(const Case&);
std::optional<Finding> gloo_waits(const Case&);
std::optional<Finding> gloo_size(const Case&);
std::optional<Finding> mpi_error(const Case&);
std::optional<Finding> ras_statements(const Case&);
// only victims are left
std::optional<Finding> lost_connections(const Case&);
std::optional<Finding> victims_only(const Case&);

/// The rank of an exception that no prefix names: by torchrun's table, Slurm's list of ended tasks, or the
/// rank whose step lines stop first. -1 if none of these decides.
int attribute(const Case& c, const Fact& fact);
/// torchrun's table of their host lists these ranks neither as failed nor as stopped by the agent: they ended
/// with code 0.
bool left_with_zero(const Case& c, const std::vector<int>& ranks);
/// Every report of a failure, a loss or an end stands behind `stop`, by line or by stamp.
bool all_reports_follow(const Case& c, const Fact& stop);
/// Ranks that only waited or lost a connection.
std::set<int> victim_ranks(const Case& c);
/// The job made further steps after the event, by stamps of the same file: it cannot be what ended them. With
/// `rank` below 0: of any rank.
bool steps_go_on(const Case& c, const Fact& fact, int rank);
/// The first report of a message that did not fit its receive buffer (Gloo, NCCL, MPI); null if there is
/// none.
const Fact* size_report(const Case& c);
/// The author of an error was still there afterwards: it made further steps, or waited in a call together
/// with the others. Who caught an exception, or found memory for a smaller batch, did not end the job by it.
bool went_on(const Case& c, const Fact& fact);
/// torchrun's table, the entry under "Root Cause" first.
std::vector<const Fact*> launcher_entries(const Case& c);
/// A crash of these ranks (none: nobody is named), with their hosts.
Finding crash_of(const Case& c, const std::vector<int>& ranks, const char* rule);
/// "rank 5 (gpu-q07)"
std::string rank_on_host(const Case& c, int rank);

}  // namespace ringside::backend::rules
