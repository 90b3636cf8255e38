// How processes end, who notices, and what they do then.
#include "sim/job/rules.hpp"

namespace ringside::sim {

void end_process(Simulator& sim, int r, EndReason reason) {
  Rank& rank = sim.rank(r);
  rank.life = Life::Exited;
  rank.end_reason = reason;
  rank.exited_at = sim.now;
  ++rank.epoch;
  Event e;
  e.text = {kNone, kNone, rank.exit_code, 0};
  e.aux8 = rank.by_signal ? 1 : 0;
  sim.emit(Source::rank(r), EventType::Exit, e);
  sim.last_thing = sim.now;
}

}  // namespace ringside::sim
