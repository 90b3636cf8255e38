// Reads the CollectiveFingerPrint texts of PyTorch's debug wrapper.
#pragma once

#include <string_view>

#include "backend/import/evidence.hpp"

namespace ringside::backend {

/// Fills `fact.mine` and `fact.theirs` from a wrapper line of any version (1.8 to main). Missing parts stay
/// empty.
void read_fingerprints(std::string_view text, Fact& fact);

/// True if a fingerprint was deserialised from foreign data: a tensor operation without shapes or with an
/// empty shape and type, or only a length shown as an operation. It is a sign of a lost step, not a real
/// operation.
bool is_foreign(const CallPrint& print);

}  // namespace ringside::backend
