// The way in: logs and dumps of a job that died go in, one Incident comes out: verdict, evidence, who is who,
// and what each rank did as far as its lines tell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/import/clock.hpp"
#include "backend/import/input.hpp"
#include "backend/import/who.hpp"
#include "sim/base/result.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::backend {

/// A line that may matter, told while the rest is still being read.
struct EarlyFinding {
  Role role = Role::Context;  // Root or Names
  int rank = -1;              // its author, if the line itself says so
  std::string file;
  std::int64_t line = 0;
  std::string text;
};

struct DiagnoseInput {
  std::vector<std::string> paths;                    // files and folders, packed or not
  InputControl control;                              // limits, progress, cancel
  std::function<void(const EarlyFinding&)> found{};  // on the reading thread, after each file; may be empty
};

/// One thing that a rank did or said, for a lane of the picture.
struct LanePoint {
  std::int64_t t_ns = -1;  // since the first stamp of the incident, by this rank's clock; -1 unknown
  FactKind kind = FactKind::RankNote;
  std::int64_t seq = -1;
  std::int64_t waited_ns = -1;  // a timeout: how long it had waited; a call that never ended: 0; -1 unknown
  int code = 0;                 // exit code (negative: signal), Xid …, as the kind says
  std::string op;               // "ALLREDUCE"; empty for anything that is not a collective
  std::string what;             // "timed out", "raised ValueError", "last line" …
  std::uint32_t file = 0;       // index into Incident::files
  std::int64_t line = 0;
};

struct Lane {
  int rank = -1;
  std::string host;
  std::int64_t last_enqueued = -1;   // seq of its newest call in the group of the verdict; -1 unknown
  std::int64_t last_completed = -1;  // seq of its newest finished call there; -1 unknown
  std::vector<LanePoint> points;     // in order of time where known, otherwise of lines
};

struct RankRow {
  int rank = -1;
  std::string host;
  std::int64_t pid = -1;
  int local_rank = -1;
  int device = -1;
  std::string bus;
};

struct Incident {
  sim::Diagnosis diagnosis;
  std::string explanation;         // how the lines lead to the verdict
  std::string rule;                // name of the rule that gave it
  std::vector<std::string> files;  // names, as evidence and lanes give them
  std::vector<std::string> paths;  // where each can be opened again; empty for text from memory
  std::int64_t lines = 0;
  std::int64_t bytes = 0;
  std::int64_t unread_lines = 0;
  std::vector<sim::Error> problems;  // files that could not be read
  std::vector<RankRow> ranks;
  std::vector<std::string> conflicts;  // contradictions about who is who
  std::vector<ClockOffset> clocks;     // offsets between hosts, where shared events give them
  std::vector<Lane> lanes;             // ascending rank
  /// The stamp that lane times count from: ns since 1 January of its year, or since midnight where the lines
  /// carry no date; -1 if no line has a time.
  std::int64_t first_stamp_ns = -1;
};

/// A few lines of a text file around a line, unpacked if needed: what evidence stands in. `first` is the
/// number of lines[0]. Error: cannot be opened, or has no such line.
struct FileExcerpt {
  std::int64_t first = 1;
  std::vector<std::string> lines;
};
sim::Result<FileExcerpt> read_excerpt(const std::string& path, std::int64_t line, int around = 8);

/// Error: no path, or nothing in them could be read. Everything else, also "unknown", is an Incident.
sim::Result<Incident> diagnose_paths(const DiagnoseInput& input);

/// The same over text in memory: tests, fuzzing, text that was pasted. `name` is a file name.
struct NamedText {
  std::string name;
  std::string_view text;
};
Incident diagnose_texts(const std::vector<NamedText>& files);

/// For people: the verdict in two sentences, then evidence with file and line, culprits, victims,
/// alternatives, next steps. Text from outside is escaped.
std::string to_text(const Incident& incident);
/// The Diagnosis object of the contract with unread_lines.
void append_json(std::string& out, const Incident& incident);

}  // namespace ringside::backend
