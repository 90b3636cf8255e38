// NCCL RAS: what any process of a running (or hanging) job answers on port 28028. STATUS as text (NCCL 2.24
// and later) and as JSON (2.28.7 and later), and MONITOR events. Counts of launched operations tell who is
// behind; RAS itself only lists those that are few, which may as well be the ones ahead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/import/evidence.hpp"
#include "sim/base/result.hpp"

namespace ringside::backend {

/// A rank or a process, as far as RAS says who it is.
struct RasRank {
  int rank = -1;  // in its communicator
  std::string host;
  std::int64_t pid = -1;
  int device = -1;  // CUDA index
};

/// Ranks that are in the same state. RAS gives the number of all, and names them only when they are few.
struct RasClass {
  std::string word;        // status or error; empty for counts
  std::int64_t value = 0;  // operations launched
  std::int64_t ranks = 0;
  std::vector<RasRank> named;
  std::int64_t line = 0;  // where it stands, 0 in JSON
};

struct RasComm {
  std::string hash;       // 16 hex digits
  std::int64_t size = 0;  // 0 unknown
  std::int64_t line = 0;
  std::int64_t missing = 0;  // ranks without data
  std::vector<RasRank> missing_named;
  std::vector<std::pair<std::string, std::vector<RasClass>>> counts;  // by operation; only those that differ
  std::vector<RasClass> errors;
  std::vector<RasClass> states;  // RUNNING, ABORT …; only when they differ
};

struct RasReport {
  std::string version;
  std::int64_t gpus = 0;       // of the whole job; 0 unknown
  std::vector<RasComm> comms;  // those with something to tell; largest first in text
  std::vector<RasRank> world;  // ranks of the largest communicator, when given (JSON)
  std::int64_t dead = 0;       // processes that RAS has given up
  std::vector<RasRank> dead_named;
  std::int64_t silent = 0;  // processes that gave no data and are not given up
  std::vector<RasRank> silent_named;
  std::int64_t timeouts = 0;
  std::int64_t dead_line = 0, silent_line = 0;
};

/// Text of STATUS or VERBOSE STATUS, also with other lines around it. Lines that it does not know are
/// skipped.
class RasTextReader {
 public:
  void line(std::string_view text, std::int64_t number);
  RasReport finish();

 private:
  enum class Block : std::uint8_t { None, Summary, Table, Comm, Dead, Silent };
  RasComm& comm();
  bool header(std::string_view text, std::int64_t number);
  void summary(std::string_view text);
  void table(std::string_view text);
  void comm_line(std::string_view text, std::int64_t number);
  void rank_line(std::string_view text, std::int64_t number);
  void process_line(std::string_view text);

  RasReport report_;
  Block block_ = Block::None;
  std::vector<std::int64_t> sizes_;           // ranks per communicator, by group number
  std::vector<RasClass>* classes_ = nullptr;  // of the open construct
  bool missing_ = false;                      // rank lines name ranks without data
};

/// The JSON answer. Error: not JSON, or without communicators.
sim::Result<RasReport> parse_ras_json(std::string_view document, std::string_view name);

/// Reports as Facts (Layer::Ras): RasOutlier, RasMissing, RasDead, RasError, and NcclInit for who is who.
/// Ranks are global: numbers of smaller communicators are translated by process where the largest one is
/// known, and left out where not (then `who` names the process).
void append_facts(const RasReport& report, std::string_view name, Facts& facts);

/// One line of MONITOR output, text ("[time] PEER_DEAD: Process P on node H managing GPU 1") or JSON. False:
/// not an event.
bool append_ras_event(std::string_view line, std::int64_t number, std::uint32_t file, Facts& facts);

}  // namespace ringside::backend
