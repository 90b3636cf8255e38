// What is true now, for the conditions of lessons.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/lesson/lesson.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::sim {

/// Where facts come from. Null pointers make their facts unknown.
struct LessonWorld {
  const Trace* trace = nullptr;
  const Frame* frame = nullptr;
  const Scenario* scenario = nullptr;
  std::int64_t end_time = 0;
  std::string scene;
  std::int64_t selected_rank = -1, selected_chunk = -1, selected_element = -1;
  /// Facts that only a scene knows: the tensor scene's "tensor_shape", the story's "papers_added" …
  std::map<std::string, FactValue> of_scene;
};

/// The value of a fact now; nothing when it is unknown.
std::optional<FactValue> fact_now(const Condition& condition, const LessonWorld& world);
/// True when the fact is known and compares as the condition says.
bool holds(const Condition& condition, const LessonWorld& world);
bool all_hold(const std::vector<Condition>& conditions, const LessonWorld& world);

}  // namespace ringside::sim
