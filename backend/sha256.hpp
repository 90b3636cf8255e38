// SHA-256 (OpenSSL), of texts and of a trace.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ringside::backend {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::string_view bytes);
  /// 64 lower-case hex digits. Ends the computation.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace ringside::backend
