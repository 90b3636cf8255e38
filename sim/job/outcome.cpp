// What ended a job and each of its collectives.
#include "sim/job/rules.hpp"

namespace ringside::sim {

void judge(Simulator& sim) {
  (void)sim;
}

}  // namespace ringside::sim
