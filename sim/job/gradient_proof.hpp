// "N ranks with a batch of b are one process with a batch of N · b", as numbers: both gradients are computed
// for real, and their difference is held against a bound that rounding alone explains.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/training.hpp"

namespace ringside::sim {

struct GradientProof {
  std::vector<double> one_process;  // one backward pass over all N · b samples
  std::vector<double> ranks;        // N backward passes over b samples, then this job's AllReduce
  std::vector<double> same_order;  // one process: the N parts, added in the order in which the AllReduce adds
  std::vector<double> bound;       // most that |ranks - one_process| can be by rounding; infinity: no bound

  double largest_difference = 0;         // of ranks and one_process; NaN if one of the two is not a number
  std::size_t where = 0;                 // its element
  std::size_t equal = 0;                 // elements that are equal to the bit
  bool within_bound = false;             // every element
  std::size_t same_order_different = 0;  // elements of same_order that are not equal to ranks: 0
  double largest_bound = 0;
};

/// Why there is nothing to prove in this job, as a word for the views, or nothing: "alone" (the ranks do not
/// share their gradients), "op" (not a mean), "dtype" (gradients cut to whole numbers), "collective" (no
/// AllReduce).
std::optional<std::string> proof_problem(const Scenario& scenario);

/// In training step `step` (1 … history.known()), from the weights that rank 0 has before it.
///
/// The bound. Forward is the same in both: sample by sample, the same operations on the same numbers. What
/// follows is one sum of products of the same factors, evaluated twice with other roundings. A sum of
/// products in which no term meets more than m roundings is off by at most gamma_m · (the same sum with every
/// product taken absolute), gamma_m = m·u / (1 - m·u) (Higham, Accuracy and Stability of Numerical
/// Algorithms, §3.1). m counts: the scale of the loss and its product, one product and at most `out`
/// additions a layer below the last, the product with the input, one addition a sample; on the ranks' side
/// also the conversion to the job's dtype, the product with 1/N or the division, and N - 1 additions, all in
/// that dtype. Underflow of float16 is added; in float32 there is none worth mentioning.
GradientProof prove_gradient(const TrainingHistory& history, std::int64_t step);

}  // namespace ringside::sim
