// Where a lesson's step, or a word of the glossary, leads.
#pragma once

#include <string>

namespace ringside::app {

/// A scene, a scenario of assets/scenarios, and a moment ("start", "end", "ring:2", "step:1", "event:4" or a
/// duration). What is empty stays as it is.
struct Place {
  std::string scene, scenario, at;
  bool operator==(const Place&) const = default;
};

}  // namespace ringside::app
