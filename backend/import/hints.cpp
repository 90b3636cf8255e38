#include "backend/import/hints.hpp"

#include "sim/base/check.hpp"

namespace ringside::backend {

const std::vector<std::string>& hint_words() {
  static const std::vector<std::string> kWords = {"step",
                                                  "Step",
                                                  "iteration",
                                                  "Iteration",
                                                  "iter",
                                                  "update",
                                                  "it ",
                                                  "compute",
                                                  "fwd+bwd",
                                                  "wait",
                                                  "comm",
                                                  "reduce",
                                                  "total",
                                                  "elapsed",
                                                  "step_time",
                                                  "step time",
                                                  "iter_time",
                                                  "/step",
                                                  "/iter",
                                                  "/it",
                                                  "per step",
                                                  " ms",
                                                  " s ",
                                                  " s|",
                                                  " s,",
                                                  " sec",
                                                  "cuda:",
                                                  "ank",
                                                  "ANK",
                                                  "orld",
                                                  "ORLD",
                                                  "pid",
                                                  "ost",
                                                  "task",
                                                  "worker",
                                                  "rocess",
                                                  "MEMBER",
                                                  "Failures:",
                                                  "Root Cause (",
                                                  "Traceback (",
                                                  "EXCEPTION",
                                                  "-- Process ",
                                                  "distributed_c10d.py",
                                                  "ERROR",
                                                  "xception"};
  RINGSIDE_CHECK_EQ(kWords.size(), static_cast<std::size_t>(Hint::Count));
  return kWords;
}

}  // namespace ringside::backend
