// "Copy this moment": a short text that restores scenario, edits, faults by hand, scene, playhead and
// selection on another machine.
//
// Format, version 1: "ringside1." and then base64url (RFC 4648 §5, no padding) of a zlib stream (RFC 1950) of
// a TOML text:
//   name, scene, view      what was open, the scene's id, and what only that scene knows
//   t, speed, unit, loop   the playhead: ns, simulated ns a wall ns, the arrow keys' step
//   selection              rank, node, link from, link to, chunk, element; -1 = nothing
//   commands               how many of the scenario's last faults were given by hand
//   scenario               a scenario file, values written out
// White space in the text does not count, so it may be wrapped in a mail. zlib's own checksum finds typing
// errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/session/actions.hpp"
#include "sim/base/result.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::app {

struct Moment {
  std::string name, scene_id, view;
  sim::Scenario scenario;
  std::vector<sim::Command> commands;
  sim::Playhead playhead;  // mode is not kept: it opens paused
  Selection selection;
};

inline constexpr std::string_view kMomentPrefix = "ringside1.";
inline constexpr std::size_t kMaxMomentText = std::size_t{1} << 20;   // characters
inline constexpr std::size_t kMaxMomentBytes = std::size_t{8} << 20;  // unpacked
inline constexpr std::int64_t kMaxMomentNumbers = 65'536;             // of all ranks

/// Error: more numbers than a text can carry.
sim::Result<std::string> write_moment(const Moment& moment);
/// Text from anywhere: every part is bounded and checked; the scenario by its parser.
sim::Result<Moment> read_moment(std::string_view text);

/// The scenario with its values written out, if they came from files: it no longer needs those.
sim::Scenario without_files(sim::Scenario scenario);

}  // namespace ringside::app
