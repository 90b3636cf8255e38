// From evidence to verdict: tries the rules in the order of their evidence class and writes the one
// Diagnosis.
#pragma once

#include "backend/import/case.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::backend {

struct Reasoning {
  sim::Diagnosis diagnosis;
  std::string rule;         // which rule gave the verdict
  std::string explanation;  // why, in sentences
};

Reasoning reason(const Case& c);

/// What to do next, in order: text or a command to run. Host names enter a command only when they are safe.
std::vector<std::string> next_steps(const Case& c, const sim::Diagnosis& diagnosis);
/// What single tools say about this case, and whether that points the right way.
std::vector<sim::ToolSays> tools_would_say(const Case& c, const sim::Diagnosis& diagnosis);

}  // namespace ringside::backend
