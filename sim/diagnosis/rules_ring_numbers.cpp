// A number that changed inside a rank in the middle of a collective. Everybody downstream has it, so a
// comparison of results would accuse the wrong ones. The ring steps show it exactly: a rank sends on what it
// holds, it holds what it received or reduced, and it began with its input. Where one of the three does not
// hold, that rank did it.
//
// What can be checked depends on what the trace carries: a chunk is compared with what its rank held by
// digest; with the input, and through a reduction, only where all numbers are there (up to 64) - else by the
// count of NaN alone, which no sum of finite numbers gives.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/diagnosis/rules.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

struct RankNumbers {
  std::uint32_t shown = kNone;                    // the latest "input" that no call has taken yet
  std::map<std::uint32_t, std::uint32_t> inputs;  // open calls: collective, sample of its input
  std::uint32_t prepared = kNone;  // of the call under way
  std::uint32_t coll = kNone;
  std::map<std::uint32_t, std::uint32_t> held;  // chunk of coll: the sample of what it holds since it came
};

struct Changed {
  std::uint32_t event = kNone;  // that shows it
  int rank = -1;
  bool not_finite = false;
  std::string how;
};

class Checker {
 public:
  explicit Checker(const Case& c) : c_(c), ranks_(static_cast<std::size_t>(c.survey.world())) {}

  std::optional<Changed> run() {
    for (const std::uint32_t i : c_.trace.order()) {
      const Event& e = c_.trace.events()[i];
      if (!c_.seen(e)) break;
      if (e.rank() < 0 || e.rank() >= c_.survey.world()) continue;
      RankNumbers& rank = ranks_[static_cast<std::size_t>(e.rank())];
      if (c_.trace.lost_before(i) > 0) return std::nullopt;  // an event was lost: what a rank holds is not known
      if (e.type == EventType::TensorValues) on_tensor(rank, e);
      if (e.type == EventType::CollectiveEnqueued)
        rank.inputs[e.collective.coll] = std::exchange(rank.shown, kNone);
      if (e.type == EventType::CollectiveFinished) {
        rank.prepared = kNone;
        rank.inputs.erase(e.collective.coll);
      }
      if (e.type != EventType::RingStepBegin && e.type != EventType::RingStepEnd) continue;
      if (e.ring.sample == kNone || !enter(rank, e)) continue;
      auto found = e.type == EventType::RingStepBegin ? on_begin(rank, e) : on_end(rank, e);
      if (!found) continue;
      found->event = i;
      found->rank = e.rank();
      return found;
    }
    return std::nullopt;
  }

 private:
  void on_tensor(RankNumbers& rank, const Event& e) {
    const std::string& name = c_.trace.string(e.tensor.name);
    if (name == "input") rank.shown = e.tensor.sample;
    if (name == "prepared") rank.prepared = e.tensor.sample;
  }

  /// False where the chunks of the event are not known.
  bool enter(RankNumbers& rank, const Event& e) {
    const std::size_t chunks = c_.trace.collective(e.ring.coll).chunks.chunks.size();
    if (e.ring.chunk >= chunks) return false;
    if (rank.coll != e.ring.coll) {
      rank.coll = e.ring.coll;
      rank.held.clear();
    }
    return true;
  }

  /// The sample of what the rank brought into a collective; kNone if the trace does not have it.
  static std::uint32_t input_of(const RankNumbers& rank, std::uint32_t coll) {
    if (rank.prepared != kNone) return rank.prepared;
    const auto found = rank.inputs.find(coll);
    return found == rank.inputs.end() ? kNone : found->second;
  }

  static std::uint32_t held_by(const RankNumbers& rank, std::uint32_t chunk) {
    const auto found = rank.held.find(chunk);
    return found == rank.held.end() ? kNone : found->second;
  }

  /// All numbers of a chunk before this moment; nothing if the trace does not carry them.
  std::optional<std::vector<Scalar>> numbers(const RankNumbers& rank, const RingStepPayload& x) const {
    if (const std::uint32_t id = held_by(rank, x.chunk); id != kNone) {
      const Sample& held = c_.trace.sample(id);
      if (held.complete()) return held.values;
      return std::nullopt;
    }
    const std::uint32_t id = input_of(rank, x.coll);
    if (id == kNone) return std::nullopt;
    const CollectiveInfo& info = c_.trace.collective(x.coll);
    const Sample& input = c_.trace.sample(id);
    const Chunk& chunk = info.chunks.chunks[x.chunk];
    const bool other = chunk.offset < 0 || chunk.offset + chunk.count > std::ssize(input.values) ||
                       !input.complete() || input.count != info.count || input.dtype != info.dtype ||
                       (has_prepare(info.dtype, info.op) && rank.prepared == kNone);
    if (other) return std::nullopt;
    return std::vector<Scalar>(input.values.begin() + chunk.offset,
                               input.values.begin() + chunk.offset + chunk.count);
  }

  std::optional<Changed> on_begin(const RankNumbers& rank, const Event& e) const {
    const Sample& sent = c_.trace.sample(e.ring.sample);
    const std::uint32_t held = held_by(rank, e.ring.chunk);
    if (held != kNone) {
      const Sample& before = c_.trace.sample(held);
      if (before.count != sent.count || before.dtype != sent.dtype || before.digest == sent.digest)
        return std::nullopt;
      return change(before, sent, "received one thing and sent on another");
    }
    const auto own = numbers(rank, e.ring);
    const std::uint32_t id = input_of(rank, e.ring.coll);
    if (own && std::ssize(*own) == sent.count && sent.complete() && *own != sent.values)
      return change(c_.trace.sample(id), sent, "sent other numbers than its input holds");
    if (own || id == kNone) return std::nullopt;
    const Sample& input = c_.trace.sample(id);
    if (input.nan_count + input.inf_count == 0 && sent.nan_count + sent.inf_count > 0)
      return change(input, sent, "sent NaN or infinity although its input has none");
    return std::nullopt;
  }

  std::optional<Changed> on_end(RankNumbers& rank, const Event& e) const {
    const Sample& after = c_.trace.sample(e.ring.sample);
    const CollectiveInfo& info = c_.trace.collective(e.ring.coll);
    const bool reduces = info.collective == Collective::AllReduce && info.algorithm == Algorithm::Ring &&
                         e.ring.step <= info.reduce_steps;
    std::optional<Changed> found;
    if (reduces) found = check_reduction(rank, e, after, info);
    rank.held[e.ring.chunk] = e.ring.sample;
    return found;
  }

  /// NaN or infinity in a sum of two finite chunks that are too small to overflow.
  std::optional<Changed> born_from_nothing(const RankNumbers& rank, const RankNumbers& sender, const Event& e,
                                           const Sample& after, const CollectiveInfo& info) const {
    if (after.nan_count + after.inf_count == 0 || sender.coll != e.ring.coll) return std::nullopt;
    if (info.op == ReduceOp::Prod) return std::nullopt;
    const auto before = [&](const RankNumbers& who) {
      const std::uint32_t held = held_by(who, e.ring.chunk);
      return held != kNone ? held : input_of(who, e.ring.coll);
    };
    const std::uint32_t own = before(rank), arrived = before(sender);
    if (own == kNone || arrived == kNone) return std::nullopt;
    const Sample &a = c_.trace.sample(own), &b = c_.trace.sample(arrived);
    const bool finite = a.nan_count + a.inf_count + b.nan_count + b.inf_count == 0;
    if (!finite || a.dtype != after.dtype || b.dtype != after.dtype) return std::nullopt;
    if (is_inf(make_scalar(after.dtype, magnitude(a) + magnitude(b)))) return std::nullopt;
    return change(b, after, "made NaN or infinity of two finite chunks");
  }

  std::optional<Changed> check_reduction(const RankNumbers& rank, const Event& e, const Sample& after,
                                         const CollectiveInfo& info) const {
    const RankNumbers& sender = ranks_[static_cast<std::size_t>(e.ring.peer)];
    if (auto born = born_from_nothing(rank, sender, e, after, info)) return born;
    const auto own = numbers(rank, e.ring);
    if (sender.coll != e.ring.coll || !own || !after.complete()) return std::nullopt;
    const auto arrived = numbers(sender, e.ring);
    if (!arrived || arrived->size() != own->size() || own->size() != after.values.size()) return std::nullopt;
    for (std::size_t i = 0; i < own->size(); ++i) {
      if ((*arrived)[i].dtype != (*own)[i].dtype || (*own)[i].dtype != after.values[i].dtype)
        return std::nullopt;
      const Scalar right = reduce(info.op, (*arrived)[i], (*own)[i]);
      if (right.bits == after.values[i].bits) continue;
      Changed changed;
      changed.not_finite = is_nan(after.values[i]) || is_inf(after.values[i]);
      changed.how = "added a number that is not in its input";
      return changed;
    }
    return std::nullopt;
  }

  static Changed change(const Sample& before, const Sample& after, std::string how) {
    Changed changed;
    changed.not_finite = after.nan_count + after.inf_count > 0 && before.nan_count + before.inf_count == 0;
    changed.how = std::move(how);
    return changed;
  }

  const Case& c_;
  std::vector<RankNumbers> ranks_;
};

Verdict judge_numbers(const Case& c) {
  const auto found = Checker(c).run();
  if (!found) return std::nullopt;
  const Event& e = c.trace.events()[found->event];
  const CollectiveInfo& info = c.trace.collective(e.ring.coll);
  Diagnosis d = blame_rank(c, found->not_finite ? DiagnosisKind::Nan : DiagnosisKind::SilentCorruption,
                           found->rank, found->event,
                           rank_name(found->rank) + " " + found->how + " in seq " + std::to_string(info.seq) +
                               ", ring step " + std::to_string(e.ring.step) + ", chunk " +
                               std::to_string(e.ring.chunk) + ": the number changed inside it.");
  d.first_cause.step = info.step;
  d.first_cause.seq = info.seq;
  return d;
}

}  // namespace

Verdict rule_number_changed(const Case& c) {
  if (!c.number_changed) c.number_changed = judge_numbers(c);
  return *c.number_changed;
}

}  // namespace ringside::sim
