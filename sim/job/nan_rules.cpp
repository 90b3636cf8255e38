// Numbers that are not finite, and what the training program does about them (on_nan): nothing, raise, or
// skip the step: alone, before the collective (the others wait or pair with its next one), or together, after
// it, as a gradient scaler does.
#include <limits>

#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

struct Found {
  std::int64_t first = -1, nan = 0, inf = 0;
};

Found look(const Tensor& tensor) {
  Found found;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const Scalar value = tensor.at(i);
    const bool nan = is_nan(value);
    if (!nan && !is_inf(value)) continue;
    if (found.first < 0) found.first = i;
    ++(nan ? found.nan : found.inf);
  }
  return found;
}

void emit_nan(Simulator& sim, int r, const Found& found) {
  Event e;
  e.nan = {sim.trace.intern("grad"), sim.rank(r).step, found.first, found.nan};
  sim.emit(Source::rank(r), EventType::NanFound, e);
}

/// A floating number whose exponent bits are all set is an infinity or a NaN.
template <class Word>
bool finite_words(const Tensor& tensor, Word exponent) {
  bool bad = false;
  for (const Word word : tensor.as<Word>()) bad |= (word & exponent) == exponent;
  return !bad;
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::Float64:
      return finite_words<std::uint64_t>(tensor, 0x7FF0000000000000ULL);
    case DType::Float32:
      return finite_words<std::uint32_t>(tensor, 0x7F800000U);
    case DType::Float16:
      return finite_words<std::uint16_t>(tensor, 0x7C00U);
    case DType::BFloat16:
      return finite_words<std::uint16_t>(tensor, 0x7F80U);
    default:
      return true;
  }
}

void spread_bad_weights(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (!rank.weights_bad || sim.network.enabled() || !sim.with_numbers || !is_floating(rank.grad->dtype))
    return;
  auto spread = std::make_shared<Tensor>(*rank.grad);
  const Scalar nan = make_scalar(spread->dtype, std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t i = 0; i < spread->count(); ++i) spread->set(i, nan);
  rank.grad = std::move(spread);
  rank.grad_changed = true;
}

bool nan_stops_rank(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (!sim.with_numbers || rank.grad == nullptr || all_finite(*rank.grad)) return false;
  const Found found = look(*rank.grad);
  if (found.nan > 0) emit_nan(sim, r, found);
  switch (sim.scenario->training.on_nan) {
    case OnNan::Raise:
      raise_exception(sim, r, "check_grads(model)", nan_assertion(printer(sim, r)), "python");
      return true;
    case OnNan::SkipHere:
      log_rank(sim, r,
               "[rank " + std::to_string(r) + "] skipping step " + std::to_string(rank.step) +
                   " (gradient is not finite)");
      next_step(sim, r);
      return true;
    default:
      return false;
  }
}

bool nan_skips_update(Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  if (!sim.with_numbers || rank.grad == nullptr || sim.scenario->training.on_nan != OnNan::SkipAll)
    return false;
  if (all_finite(*rank.grad)) return false;
  if (r == 0) log_rank(sim, r, loss_scale_skip(r, rank.step));
  return true;
}

}  // namespace ringside::sim
