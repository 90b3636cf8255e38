#include "app/scenes/step_view.hpp"

#include <algorithm>
#include <numeric>

#include "sim/job/buckets.hpp"
#include "sim/job/network.hpp"

namespace ringside::app {
namespace {

using sim::Phase;

bool is_work(Phase phase) {
  return phase == Phase::Forward || phase == Phase::Loss || phase == Phase::Backward;
}

/// The calls of a step, and of those after it, by its begin.
std::vector<CallSpan>::const_iterator first_call(const StepIndex::RankTimes& times, std::int64_t from) {
  const auto less = [](const CallSpan& call, std::int64_t t) { return call.called < t; };
  return std::lower_bound(times.calls.begin(), times.calls.end(), from, less);
}

/// Backward in its layers' parts.
void add_backward(StepLane& lane, const PhaseSpan& span, std::int64_t to,
                  const std::vector<sim::BackwardPart>& parts) {
  const auto at = [&](std::int64_t ppm) {
    return span.from + static_cast<std::int64_t>(static_cast<__int128>(to - span.from) * ppm / 1'000'000);
  };
  for (const sim::BackwardPart& part : parts)
    lane.work.push_back({Phase::Backward, part.layer, span.step, at(part.from_ppm), at(part.to_ppm)});
}

StepLane make_lane(const StepIndex& index, int r, const StepView& view,
                   const std::vector<std::uint32_t>& colls, const std::vector<sim::BackwardPart>& parts,
                   std::int64_t end) {
  const StepIndex::RankTimes& times = index.ranks()[static_cast<std::size_t>(r)];
  StepLane lane;
  lane.rank = r;
  lane.ended = times.ended;
  lane.failed = times.failed;
  const auto less = [](const PhaseSpan& span, std::int64_t t) { return span.to >= 0 && span.to < t; };
  const auto first = std::lower_bound(times.phases.begin(), times.phases.end(), view.from, less);
  const bool calls = !colls.empty();
  for (auto span = first; span != times.phases.end() && span->from <= view.to; ++span) {
    if (view.together && span->step != view.step) continue;
    const std::int64_t to = span->to >= 0 ? span->to : times.ended >= 0 ? times.ended : end;
    if (span->phase == Phase::AllReduce && calls) continue;  // the collectives show it
    if (span->phase == Phase::Backward && !parts.empty() && span->to >= 0)
      add_backward(lane, *span, to, parts);
    else
      lane.work.push_back({span->phase, -1, span->step, span->from, to});
  }
  std::size_t met = 0;  // all of the step's collectives, and the later calls are of no interest
  for (auto at = first_call(times, view.from); at != times.calls.end() && met < colls.size(); ++at) {
    const CallSpan& call = *at;
    const auto place = std::find(colls.begin(), colls.end(), call.coll);
    if (place == colls.end()) continue;
    ++met;
    const std::int64_t entered = index.entered(call.coll, r), there = index.all_there(call.coll);
    CommPiece piece{call.coll, static_cast<int>(place - colls.begin()), entered, end, end, false};
    if (entered < 0) continue;  // it stands behind another one that is not over
    const std::int64_t last = lane.ended >= 0 ? lane.ended : end;
    piece.never = call.finished < 0;
    piece.to = piece.never ? last : call.finished;
    piece.moves = there < 0 ? piece.to : std::min(std::max(there, piece.from), piece.to);
    lane.comm.push_back(piece);
  }
  return lane;
}

/// Whether the step is over everywhere, and how long the slowest rank takes for it.
void set_extent(StepView& view, const StepIndex& index) {
  for (const StepIndex::RankTimes& times : index.ranks()) {
    const auto less = [](const PhaseSpan& span, std::int32_t step) { return span.step < step; };
    const auto first = std::lower_bound(times.phases.begin(), times.phases.end(), view.step, less);
    std::int64_t last = -1;
    auto at = first;
    for (; at != times.phases.end() && at->step == view.step; ++at) {
      if (at->to < 0) view.open = true;
      last = std::max(last, at->to);
    }
    if (at != first) view.longest_ns = std::max(view.longest_ns, last - first->from);
  }
}

/// Which ranks get a lane: all, or the slowest and some at equal distances.
std::vector<int> lanes_of(const std::vector<std::int64_t>& working, int most) {
  const int world = static_cast<int>(working.size());
  std::vector<int> all(static_cast<std::size_t>(world));
  std::iota(all.begin(), all.end(), 0);
  if (world <= most) return all;
  std::vector<int> by_work = all;
  std::stable_sort(by_work.begin(), by_work.end(), [&](int a, int b) {
    return working[static_cast<std::size_t>(a)] > working[static_cast<std::size_t>(b)];
  });
  std::vector<int> chosen(by_work.begin(), by_work.begin() + most / 4);
  for (int i = 0; i < most && std::ssize(chosen) < most; ++i) {
    const int r = static_cast<int>(std::int64_t{i} * world / most);
    if (std::find(chosen.begin(), chosen.end(), r) == chosen.end()) chosen.push_back(r);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Time in forward, loss and backward of this step, per rank.
std::vector<std::int64_t> working_times(const StepIndex& index, const StepView& view) {
  std::vector<std::int64_t> out;
  for (const StepIndex::RankTimes& times : index.ranks()) {
    std::int64_t sum = 0;
    // By step and not by time: a rank that nobody waits for may do this step much later.
    const auto less = [](const PhaseSpan& span, std::int32_t step) { return span.step < step; };
    auto span = std::lower_bound(times.phases.begin(), times.phases.end(), view.step, less);
    for (; span != times.phases.end() && span->step == view.step; ++span)
      if (is_work(span->phase) && span->to >= 0) sum += span->to - span->from;
    out.push_back(sum);
  }
  return out;
}

std::optional<SlowLane> slow_lane(const std::vector<std::int64_t>& working) {
  constexpr int kLeastPercent = 5;
  if (working.size() < 2) return std::nullopt;
  const auto slowest = std::max_element(working.begin(), working.end());
  std::vector<std::int64_t> others;
  for (auto at = working.begin(); at != working.end(); ++at)
    if (at != slowest && *at > 0) others.push_back(*at);
  if (others.empty()) return std::nullopt;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  const std::int64_t percent = ((*slowest - *middle) * 100 + *middle / 2) / *middle;
  if (percent < kLeastPercent) return std::nullopt;
  return SlowLane{static_cast<int>(slowest - working.begin()),
                  static_cast<int>(std::min<std::int64_t>(percent, 1'000'000))};
}

/// Layers that have numbers in [offset, offset + count).
void set_layers(BucketView& bucket, const sim::NetworkSpec& network) {
  const auto spans = sim::layer_spans(network);
  for (std::size_t l = 0; l < spans.size(); ++l) {
    const auto begin = static_cast<std::int64_t>(spans[l].weights);
    const auto end = static_cast<std::int64_t>(spans[l].biases) + spans[l].out;
    if (end <= bucket.offset || begin >= bucket.offset + bucket.count) continue;
    if (bucket.first_layer < 0) bucket.first_layer = static_cast<int>(l);
    bucket.last_layer = static_cast<int>(l);
  }
}

void set_progress(BucketView& bucket, const StepIndex& index, const StepView& view) {
  const auto world = index.ranks().size();
  bucket.ready.assign(world, 0);
  std::size_t over = 0;
  for (std::size_t r = 0; r < world; ++r)
    for (auto call = first_call(index.ranks()[r], view.from); call != index.ranks()[r].calls.end(); ++call) {
      if (call->coll != bucket.coll) continue;
      if (call->called <= view.t) bucket.ready[r] = 1, ++bucket.ready_count;
      if (call->finished >= 0 && call->finished <= view.t) ++over;
      break;
    }
  const std::int64_t there = bucket.coll == sim::kNone ? -1 : index.all_there(bucket.coll);
  if (world > 0 && over == world)
    bucket.state = BucketState::Done;
  else if (there >= 0 && there <= view.t)
    bucket.state = BucketState::Moving;
  else if (bucket.ready_count > 0)
    bucket.state = BucketState::Waiting;
  if (bucket.state != BucketState::Waiting) return;
  const std::vector<int> missing = index.missing(bucket.coll, view.t, 2);
  if (missing.size() == 1) bucket.waits_for = missing[0];
}

void set_buckets(StepView& view, const StepIndex& index, const sim::Trace& trace,
                 const sim::Scenario* scenario, const std::vector<std::uint32_t>& colls) {
  std::vector<sim::Bucket> plan;
  const bool known =
      scenario != nullptr && scenario->training.network.enabled && scenario->training.network.all_reduce;
  if (known) plan = sim::bucket_plan(scenario->training, scenario->tensor.shape.count());
  const std::size_t count = std::max(plan.size(), colls.size());
  std::int64_t offset = 0;
  for (std::size_t b = 0; b < count; ++b) {
    BucketView bucket;
    bucket.bucket = static_cast<int>(b);
    if (b < colls.size()) {
      bucket.coll = colls[b];
      bucket.count = trace.collective(colls[b]).count;
      bucket.offset = offset;
    }
    if (b < plan.size()) {
      bucket.offset = plan[b].offset;
      bucket.count = plan[b].count;
      set_layers(bucket, scenario->training.network);
    }
    offset += bucket.count;
    set_progress(bucket, index, view);
    view.buckets.push_back(std::move(bucket));
  }
}

/// Length of [a, b) without what `work` covers. `work` is ordered and disjoint.
std::int64_t uncovered(std::int64_t a, std::int64_t b, const std::vector<WorkPiece>& work) {
  std::int64_t left = b - a;
  for (const WorkPiece& piece : work) {
    if (!is_work(piece.phase)) continue;
    left -= std::max<std::int64_t>(0, std::min(b, piece.to) - std::max(a, piece.from));
  }
  return std::max<std::int64_t>(0, left);
}

}  // namespace

StepView make_step_view(const StepIndex& index, const sim::Trace& trace, const sim::Frame& frame,
                        const sim::Scenario* scenario, int most_lanes) {
  StepView view;
  view.world = trace.header.world_size;
  view.grouped = index.grouped();
  view.t = frame.t;
  for (const StepSpan& span : index.steps()) view.step_begins.push_back(span.from);
  if (index.steps().empty()) return view;
  view.empty = false;
  view.last_step = index.steps().back().step;
  const StepSpan* span = index.find(frame.step);
  if (span == nullptr) span = &index.steps().front();
  view.step = span->step;
  view.from = span->from;
  const std::int64_t end = trace.end_time();
  const std::vector<std::uint32_t> colls = index.collectives(trace, view.step);
  view.together = !colls.empty() || view.grouped;
  view.to = std::max(span->to, span->from + 1);
  set_extent(view, index);
  if (view.open) view.to = std::max(view.to, end);  // a step that hangs lasts as long as the job
  // Ranks that nobody holds together drift apart: as much time is shown as one of them needs for a step.
  if (!view.together && !view.open)
    view.to = std::max(view.from + 1, std::min(view.to, view.from + view.longest_ns));
  std::vector<sim::BackwardPart> parts;
  if (scenario != nullptr) parts = sim::backward_parts(scenario->training.network);
  const std::vector<std::int64_t> working = working_times(index, view);
  if (!view.grouped) view.slow = slow_lane(working);
  for (const int r : lanes_of(working, most_lanes))
    view.lanes.push_back(make_lane(index, r, view, colls, parts, view.to));
  view.hidden_lanes = static_cast<int>(index.ranks().size() - view.lanes.size());
  set_buckets(view, index, trace, scenario, colls);
  return view;
}

std::optional<Exposure> exposure_of(const StepView& view, int rank) {
  for (const StepLane& lane : view.lanes) {
    if (lane.rank != rank || lane.comm.empty()) continue;
    Exposure out;
    for (const CommPiece& piece : lane.comm) {
      out.total += piece.to - piece.moves;
      out.exposed += uncovered(piece.moves, piece.to, lane.work);
      out.waiting += uncovered(piece.from, piece.moves, lane.work);
    }
    return out;
  }
  return std::nullopt;
}

std::string layer_name(int layer) {
  return "fc" + std::to_string(layer + 1);
}

std::string element_name(const sim::NetworkSpec& network, std::int64_t element) {
  const auto spans = sim::layer_spans(network);
  for (std::size_t l = spans.size(); l-- > 0;) {
    const auto weights = static_cast<std::int64_t>(spans[l].weights);
    const auto biases = static_cast<std::int64_t>(spans[l].biases);
    const std::string name = layer_name(static_cast<int>(l));
    if (element >= biases) return name + ".bias.grad[" + std::to_string(element - biases) + "]";
    if (element < weights) continue;
    const std::int64_t row = (element - weights) / spans[l].in, column = (element - weights) % spans[l].in;
    return name + ".weight.grad[" + std::to_string(row) + ", " + std::to_string(column) + "]";
  }
  return {};
}

}  // namespace ringside::app
