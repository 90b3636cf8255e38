// The verdict from Flight Recorder dumps alone, and what they say as Facts for reasoning together with logs.
#pragma once

#include "backend/import/evidence.hpp"
#include "backend/import/fr_mismatch.hpp"
#include "backend/import/wait_graph.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::backend {

/// In this order: a mismatch that ranks wait in, ranks that nobody else explains (roots of the wait-for
/// graph), circles, a mismatch that has passed, counters that differ. Says unknown, with the candidates,
/// where the dumps do not decide. waits_for is the whole graph.
sim::Diagnosis diagnose(const FlightRecorder& recorder);

/// The verdict of the dumps as one Fact (Layer::FlightRecorder), or none for a clean job. Also raises
/// facts.world_size.
///   FrMismatch  named = the odd ranks, or nobody without a majority; name = shape | dtype | order |
///   sequence;
///               mine = the majority's call, theirs = the other one
///   FrMissing   named = the ranks that all wait for; name = idle | stuck | no dump
///   FrState     the dumps do not decide: names nobody
void append_facts(const FlightRecorder& recorder, Facts& facts);

}  // namespace ringside::backend
