// The parts of the training-step scene, and what they share. Each draws into its box and emits Actions.
#pragma once

#include <cstdint>
#include <string>

#include "app/scenes/step_numbers.hpp"
#include "app/scenes/step_view.hpp"

namespace ringside::app::step {

enum class Mode : std::uint8_t { Time, Number, Proof };

/// State of the view.
struct State {
  Mode mode = Mode::Time;
  std::int64_t element = -1;  // of the flat gradient: the chosen number; -1 = none yet
};

struct Paint {
  View& view;
  Canvas& c;
  const Theme& t;
  const StepView& step;
  StepNumbers& numbers;
  State& state;

  Paint(View& v, const StepView& s, StepNumbers& n, State& st)
      : view(v), c(v.canvas), t(v.canvas.theme()), step(s), numbers(n), state(st) {}
  std::int64_t now() const { return view.ctx.playhead.t; }
  bool presenter() const { return view.ctx.presenter; }
};

/// Lanes of all ranks over the time of one step (axis, bars, waits, playhead, legend).
void draw_lanes(Paint& p, Rect box);
/// The most height that the lanes have a use for.
float lanes_height(const Paint& p);
/// Who has filled which bucket; without AllReduce, what becomes of the models instead.
void draw_buckets(Paint& p, Rect box);
/// The course of the losses over all steps.
void draw_loss(Paint& p, Rect box);
/// The way of one number: gradient tensors, flat vector, bucket, chunks, the order of its sum, the ring.
void draw_number(Paint& p, Rect box);
/// N ranks against one process.
void draw_proof(Paint& p, Rect box);
void draw_inspector(Paint& p);

/// The row above the stage: which view, AllReduce on or off. Returns its height.
float draw_controls(Paint& p, Rect box);

// --- words and numbers

/// What happens now, in one or two sentences; `brief`: in one short one.
std::string now_text(const StepView& view, const sim::Trace& trace, bool brief = false);
/// "103.6 ms": at most one decimal, none where it is 0.
std::string time_text(std::int64_t ns);
/// Four decimals; far from 1 with an exponent. NaN and infinities by name.
std::string value_text(double value);
/// "R0, R1 and R3", at most `most` names, then "13 ranks".
std::string ranks_text(const std::vector<int>& ranks, std::size_t most = 3);
/// "8f3a12": the first digits of a digest.
std::string short_digest(std::uint64_t digest);
/// "fc2", "fc1, fc2": the layers of a bucket; empty if not known.
std::string layers_text(const BucketView& bucket);
/// The choice of the person, or the last parameter: where backward begins.
std::int64_t chosen_element(const Paint& p);
/// An edit of [training], with what it does for the log.
void edit(Paint& p, std::string what, std::function<void(sim::Scenario&)> change);
/// Why the scenario cannot be edited here; empty if it can.
std::string why_not_edit(const Paint& p);

}  // namespace ringside::app::step
