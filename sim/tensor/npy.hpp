// Reading of NumPy's .npy files from bytes (NumPy Enhancement Proposal 1, formats 1.0, 2.0 and 3.0).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::sim {

/// C or Fortran order, little or big endian, every dtype of DType (bfloat16 is not a NumPy type: "<V2" with
/// `as_bfloat16` reads as one). The tensor is always row-major and native-endian. Errors name the file and
/// what is legal: bad magic, version or header, object or other dtype, truncated or trailing data, a shape
/// that overflows or holds 0.
Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view file_name,
                        bool as_bfloat16 = false);

/// A v1.0 file of the tensor (float16 as <f2, bfloat16 as <V2).
std::string write_npy(const Tensor& tensor);

}  // namespace ringside::sim
