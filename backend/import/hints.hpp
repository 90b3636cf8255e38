// Common words whose presence tells whether a line is worth a closer look: steps and times, who is who, the
// beginnings of constructs that span lines. They ride along with the literals of the message table, in the
// same pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringside::backend {

enum class Hint : std::uint8_t {
  Step,
  StepCapital,
  Iteration,
  IterationCapital,
  Iter,
  Update,
  It,  // names of a training step
  Compute,
  FwdBwd,
  Wait,
  Comm,
  Reduce,
  Total,
  Elapsed,
  StepTime,
  StepTime2,
  IterTime,  // labels of a time
  PerStep,
  PerIter,
  PerIt,
  PerStepWords,
  Ms,
  SecondsBlank,
  SecondsBar,
  SecondsComma,
  Sec,  // units
  Cuda,
  Rank,
  RankCapitals,
  World,
  WorldCapitals,
  Pid,
  Host,
  Task,
  Worker,
  Process,
  Member,  // who is who
  Failures,
  RootCause,
  Traceback,
  Exception,
  SpawnedProcess,
  C10d,  // constructs
  ErrorCapitals,
  ExceptionWord,  // a line that says that something failed
  Count,
};

/// In the order of Hint.
const std::vector<std::string>& hint_words();

constexpr std::uint64_t bit(Hint hint) {
  return std::uint64_t{1} << static_cast<unsigned>(hint);
}
constexpr std::uint64_t bits(Hint first, Hint last) {
  return ((bit(last) << 1) - 1) & ~(bit(first) - 1);
}
inline constexpr std::uint64_t kStepHints = bits(Hint::Step, Hint::It);
inline constexpr std::uint64_t kTimeHints = bits(Hint::Compute, Hint::Sec);
inline constexpr std::uint64_t kWhoHints = bits(Hint::Rank, Hint::Member);
inline constexpr std::uint64_t kBlockHints = bits(Hint::Failures, Hint::C10d);
inline constexpr std::uint64_t kErrorHints = bits(Hint::ErrorCapitals, Hint::ExceptionWord);

}  // namespace ringside::backend
