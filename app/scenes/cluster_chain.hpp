// The chain of a failure, cause by cause: NaN, exception, absence, waiting, timeout, abort. Only what had
// happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/scenes/cluster_story.hpp"
#include "app/scenes/cluster_view.hpp"
#include "app/scenes/scene.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::app {

enum class LinkKind : std::uint8_t { Cause, Raise, Gone, Launcher, Wait, Network, Timeout, Abort, Restart };

struct ChainLink {
  LinkKind kind = LinkKind::Cause;
  std::int64_t t = 0;
  int rank = -1;  // the first one
  int count = 0;  // how many ranks by now
  std::uint32_t event = sim::kNone;
};

/// The links by t, in order of time. Empty without a cause.
std::vector<ChainLink> make_chain(const sim::Trace& trace, const ClusterStory& story,
                                  const ClusterView& cluster, const sim::Diagnosis& verdict, std::int64_t t);

/// "R137 gone", "504 wait", "watchdog: 92 time out".
std::string chain_text(const ChainLink& link, const sim::Diagnosis& verdict, const ClusterView& cluster);

}  // namespace ringside::app
