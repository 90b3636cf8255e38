#include <array>

#include "sim/base/check.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::sim {

std::string write_npy(const Tensor& tensor) {
  constexpr std::array<std::string_view, 6> kDescr{"<f8", "<f4", "<f2", "<V2", "<i4", "<i8"};  // by DType
  constexpr std::size_t kAlign = 64, kPrefix = 10;  // magic, version, two bytes of length
  std::string header = "{'descr': '";
  header += kDescr.at(static_cast<std::size_t>(tensor.dtype));
  header += "', 'fortran_order': False, 'shape': " + tensor.shape.text() + ", }";
  header.append((kAlign - (kPrefix + header.size() + 1) % kAlign) % kAlign, ' ');
  header += '\n';
  RINGSIDE_CHECK_LT(header.size(), std::size_t{65536});

  std::string out = "\x93NUMPY";
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return out;
}

}  // namespace ringside::sim
