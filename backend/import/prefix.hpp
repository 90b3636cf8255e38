// Takes the prefixes off a log line, outermost first: collector (file name of grep, pod, node, time),
// launcher (torchrun, srun --label, mpirun --tag-output, Ray, NeMo-Run), torch ([rank3]:), logger (c10, glog,
// NCCL, kernel), process group.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/import/evidence.hpp"

namespace ringside::backend {

struct Peeled {
  std::string_view text;    // what is left
  std::string_view stream;  // the prefixes that were taken off: lines of one stream share all but the time
  int rank = -1;            // global, stated by a prefix
  int local_rank = -1;
  int task = -1;  // srun --label or a bare number: rank only if one task runs one rank
  int group_rank = -1;
  int device = -1;  // CUDA index in the process
  std::int64_t pid = -1;
  std::string_view host;
  bool host_is_sure = false;     // NCCL, Open MPI and syslog print it; a word before a colon is a guess
  std::string_view address;      // Ray
  std::string_view source_name;  // file name that grep put in front
  std::string_view pg, pg_name;
  std::string_view source;  // "ProcessGroupNCCL.cpp:607"
  char severity = 0;        // I W E F of c10 and glog
  bool nccl = false;        // "host:pid:tid [dev]" stood in front
  bool kernel = false;      // dmesg or syslog
  std::int64_t t_ns = -1;
  bool dated = false;
  std::int32_t zone_s = INT32_MIN;  // of the stamp, as in timestamps.hpp
};

/// Never fails: an unknown prefix simply stays in `text`. Views point into `line`.
Peeled peel(std::string_view line);

/// The rank that a program names as the author at the start of its own line: "rank 3: …", "[rank 3] …",
/// "[r03] …",
/// "[batching] rank 2: …", "worker 5: …", "rank5 micro-step …". -1 if there is none. `after` is set behind
/// it.
int leading_rank(std::string_view text, std::string_view& after);

}  // namespace ringside::backend
