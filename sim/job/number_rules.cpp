// Faults that change numbers: NaN, infinity, a flipped bit; in the data, the gradient, the weights, or in the
// middle of a collective.
#include <algorithm>
#include <limits>

#include "sim/base/random.hpp"
#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

Scalar spoiled(const Fault& fault, Scalar value) {
  if (fault.kind == FaultKind::Nan) return make_scalar(value.dtype, std::numeric_limits<double>::quiet_NaN());
  if (fault.kind == FaultKind::InfOverflow)
    return make_scalar(value.dtype, std::numeric_limits<double>::infinity());
  value.bits ^= std::uint64_t{1} << fault.bit;
  return value;
}

void spoil(const Fault& fault, Tensor& tensor) {
  const std::int64_t element = std::min(fault.element, tensor.count() - 1);
  tensor.set(element, spoiled(fault, tensor.at(element)));
}

/// One weight of the network changes (any dtype fault counts bits in float32 here).
void flip_weight(Simulator& sim, int r, const Fault& fault) {
  std::vector<float>& weights = sim.network.weights(r);
  const auto at = static_cast<std::size_t>(std::min<std::int64_t>(fault.element, std::ssize(weights) - 1));
  Scalar value = make_scalar(DType::Float32, static_cast<double>(weights[at]));
  Fault here = fault;
  here.bit = fault.bit % 32;
  value = spoiled(here, value);
  weights[at] = static_cast<float>(to_double(value));
}

/// Calls f for every armed number fault of this rank and step that `wanted` accepts, announced.
template <class Wanted, class Apply>
void each_number_fault(Simulator& sim, int r, Wanted wanted, Apply apply) {
  const std::vector<std::uint32_t> indices = sim.faults_of[static_cast<std::size_t>(r)];
  for (const std::uint32_t index : indices) {
    ArmedFault& armed = sim.faults[index];
    if (!is_number(armed.fault.kind) || armed.fault.step != sim.rank(r).step || !wanted(armed.fault))
      continue;
    announce(sim, armed);
    apply(armed.fault);
  }
}

bool in_forward(const Fault& fault) {
  return fault.at == Phase::Forward || fault.at == Phase::Loss;
}

}  // namespace

bool is_number(FaultKind kind) {
  return kind == FaultKind::Nan || kind == FaultKind::InfOverflow || kind == FaultKind::BitFlip;
}

/// In the middle of a collective: the buffer that the collective works in.
void strike_number(Simulator& sim, const Fault& fault) {
  const int r = fault.rank;
  if (!sim.with_numbers || !sim.mover.busy(r)) return;
  const OpenCall& call = sim.rank(r).open.front();
  const std::int64_t whole = sim.rank(r).grad->count();
  const Chunk range = bucket_range(sim, whole, call.bucket);
  Fault here = fault;
  here.element = std::clamp<std::int64_t>(fault.element - range.offset, 0, range.count - 1);
  spoil(here, sim.mover.buffer(r));
  sim.suspect[call.coll] |= kChanged;
}

void spoil_forward(Simulator& sim, int r) {
  each_number_fault(sim, r, in_forward, [&](const Fault& fault) {
    Rank& rank = sim.rank(r);
    if (fault.kind == FaultKind::BitFlip) {
      if (sim.network.enabled()) flip_weight(sim, r, fault);
      return;  // without a network it shows in the gradient
    }
    const double bad = fault.kind == FaultKind::Nan ? std::numeric_limits<double>::quiet_NaN()
                                                    : std::numeric_limits<double>::infinity();
    if (sim.network.enabled()) return sim.network.spoil(r, rank.step, static_cast<float>(bad));
    rank.loss = bad;
    rank.has_loss = true;
  });
}

void spoil_gradient(Simulator& sim, int r) {
  const auto wanted = [&](const Fault& fault) {
    return fault.at == Phase::Backward || (in_forward(fault) && !sim.network.enabled());
  };
  each_number_fault(sim, r, wanted, [&](const Fault& fault) { spoil_gradient_once(sim, fault); });
}

void spoil_gradient_once(Simulator& sim, const Fault& fault) {
  Rank& rank = sim.rank(fault.rank);
  auto changed = std::make_shared<Tensor>(*rank.grad);
  if (fault.kind == FaultKind::BitFlip || fault.at == Phase::Backward) {
    spoil(fault, *changed);
  } else {  // it went through the whole network: no number of the gradient is left
    for (std::int64_t i = 0; i < changed->count(); ++i) changed->set(i, spoiled(fault, changed->at(i)));
  }
  rank.grad = std::move(changed);
  rank.grad_changed = true;
}

void spoil_weights(Simulator& sim, int r) {
  const auto wanted = [](const Fault& fault) { return fault.at == Phase::Optimizer; };
  each_number_fault(sim, r, wanted, [&](const Fault& fault) {
    Rank& rank = sim.rank(r);
    if (sim.network.enabled()) return flip_weight(sim, r, fault);
    rank.updates = mix64(rank.updates ^ static_cast<std::uint64_t>(fault.element + 1));
    if (fault.kind != FaultKind::BitFlip) spoil_all_weights(rank);
  });
}

}  // namespace ringside::sim
