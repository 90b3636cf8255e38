// The sentences of `explain` by kind of Fact.
#pragma once

#include "backend/import/evidence.hpp"

namespace ringside::backend {

struct KindText {
  FactKind kind;
  const char* meaning_en;
  const char* meaning_ko;
  const char* next_en;
  const char* next_ko;
};
/// Null for kinds that no line of a log has (entries of dumps).
const KindText* kind_text(FactKind kind);

}  // namespace ringside::backend
