#include "app/scenes/cluster_chain.hpp"

#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

using sim::Event;
using sim::EventType;

constexpr int kSigAbrt = 6, kSigTerm = 15;

/// Collects the first event of each kind and counts the ranks after it.
class Links {
 public:
  explicit Links(const sim::Diagnosis& verdict) : verdict_(verdict) {}

  void add(LinkKind kind, const Event& e, std::uint32_t index) {
    for (ChainLink& link : links_)
      if (link.kind == kind) {
        ++link.count;
        return;
      }
    links_.push_back({kind, e.t, e.rank(), 1, index});
  }

  void read(const Event& e, std::uint32_t index) {
    const bool guilty = std::binary_search(verdict_.culprits.begin(), verdict_.culprits.end(), e.rank());
    switch (e.type) {
      case EventType::Error:
        add(guilty ? LinkKind::Raise : LinkKind::Network, e, index);
        break;
      case EventType::Exit:
        if (guilty) {
          add(LinkKind::Gone, e, index);
        } else if (e.aux8 != 0 && e.text.code == kSigTerm) {
          add(LinkKind::Launcher, e, index);
        } else if (e.aux8 != 0 && e.text.code == kSigAbrt) {
          add(LinkKind::Abort, e, index);
        }
        break;
      case EventType::Left:
        add(LinkKind::Gone, e, index);
        break;
      case EventType::WatchdogExpired:
        add(LinkKind::Timeout, e, index);
        break;
      default:
        break;
    }
  }

  std::vector<ChainLink> take() { return std::move(links_); }

 private:
  const sim::Diagnosis& verdict_;
  std::vector<ChainLink> links_;
};

}  // namespace

std::vector<ChainLink> make_chain(const sim::Trace& trace, const ClusterStory& story,
                                  const ClusterView& cluster, const sim::Diagnosis& verdict, std::int64_t t) {
  if (verdict.kind == sim::DiagnosisKind::None) return {};
  const Episode* stop = story.episode_at(t);
  std::int64_t cause = verdict.first_cause.t_ns.value_or(stop != nullptr ? stop->failed : -1);
  if (cause < 0) return {};
  Links links(verdict);
  for (const std::uint32_t i : story.trouble_events()) {
    const Event& e = trace.events()[i];
    if (e.t > t) break;
    if (e.t >= cause) links.read(e, i);
  }
  std::vector<ChainLink> chain = links.take();
  const std::int64_t event = verdict.evidence.empty() ? -1 : verdict.evidence.front().event.value_or(-1);
  const auto cause_event = event < 0 ? sim::kNone : static_cast<std::uint32_t>(event);
  // The end of the guilty rank is the cause itself where nothing came before it.
  std::erase_if(chain, [&](const ChainLink& link) {
    return (link.kind == LinkKind::Gone || link.kind == LinkKind::Raise) && link.t == cause &&
           link.event == cause_event;
  });
  chain.push_back({LinkKind::Cause, cause, verdict.first_cause.rank.value_or(-1), 1, cause_event});
  const LatestCall call = story.last_call(t);
  const bool never_ended = call.coll != sim::kNone && call.finished == 0;
  if (never_ended && call.last >= cause && (cluster.waiting() > 0 || call.ranks > 0))
    chain.push_back({LinkKind::Wait, std::max(call.last, cause), -1, std::max(cluster.waiting(), call.ranks),
                     sim::kNone});
  if (stop == nullptr && !story.episodes().empty())
    for (const Episode& e : story.episodes())
      if (e.over >= cause && e.over <= t)
        chain.push_back({LinkKind::Restart, e.over, -1, cluster.world, sim::kNone});
  std::stable_sort(chain.begin(), chain.end(), [](const ChainLink& a, const ChainLink& b) {
    return std::pair(a.t, a.kind) < std::pair(b.t, b.kind);
  });
  return chain;
}

std::string chain_text(const ChainLink& link, const sim::Diagnosis& verdict, const ClusterView& cluster) {
  const std::string count = sim::with_commas(link.count);
  const std::string who =
      link.rank >= 0 ? parts::rank_name(link.rank) : verdict.first_cause.node.value_or("");
  switch (link.kind) {
    case LinkKind::Cause:
      return who.empty() ? std::string(tr_word("cluster.kind", sim::to_word(verdict.kind)))
                         : who + ": " + tr_word("cluster.kind", sim::to_word(verdict.kind));
    case LinkKind::Raise:
      return tr("cluster.chain.raise", {who});
    case LinkKind::Gone:
      return tr(link.count == 1 ? "cluster.chain.gone" : "cluster.chain.gone_many", {who, count});
    case LinkKind::Launcher:
      return tr("cluster.chain.launcher", {count});
    case LinkKind::Wait:
      return tr("cluster.chain.wait", {count});
    case LinkKind::Network:
      return tr(link.count == 1 ? "cluster.chain.network_one" : "cluster.chain.network", {who, count});
    case LinkKind::Timeout:
      return tr("cluster.chain.timeout", {count});
    case LinkKind::Abort:
      return tr("cluster.chain.abort", {count});
    case LinkKind::Restart:
      return tr("cluster.chain.restart", {sim::with_commas(cluster.world)});
  }
  return {};
}

}  // namespace ringside::app
