// The diagnosis at the playhead: what could be known by then. Diagnosing a big job takes a tenth of a second,
// so it is done on another thread and kept; between two moments at which something went wrong it cannot
// change. A live run is judged as the live scene does: a hung rank has its verdict there within two seconds.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <vector>

#include "app/scenes/cluster_story.hpp"
#include "app/scenes/live_judge.hpp"
#include "app/scenes/scene.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::app {

class Verdicts {
 public:
  ~Verdicts();
  struct Answer {
    const sim::Diagnosis* diagnosis = nullptr;  // nullptr: none yet (also kind none is a diagnosis)
    bool pending = false;                       // being worked out: ask again
  };
  /// The diagnosis at the playhead of ctx. Without a clock (ctx.now = 0: --render) it is worked out at once.
  Answer at(const SceneContext& ctx, const ClusterStory& story);
  /// The diagnosis at the end of the trace, if it is known already.
  const sim::Diagnosis* whole() const;
  /// Waits for what is being worked out (tests).
  void finish();

 private:
  void forget(std::uint64_t generation);
  void collect();
  const sim::Diagnosis* ask(const SceneContext& ctx, std::int64_t t, bool& pending);
  std::int64_t moment(const SceneContext& ctx, const ClusterStory& story, bool& pending);

  LiveJudge live_;
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::size_t size_ = 0;
  std::int64_t end_ = 0;
  std::map<std::int64_t, sim::Diagnosis> known_;
  std::future<sim::Diagnosis> running_;
  std::int64_t running_t_ = -1;
  std::vector<std::future<sim::Diagnosis>> old_;  // of another trace: their answers are not wanted any more
};

}  // namespace ringside::app
