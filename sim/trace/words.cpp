// The words of events in files and on screen.
#include <array>

#include "sim/trace/event.hpp"
#include "sim/trace/frame.hpp"
#include "sim/trace/playhead.hpp"

namespace ringside::sim {
namespace {

constexpr std::array<std::string_view, kEventTypeCount> kEventWords{"hello",
                                                                    "left",
                                                                    "comm_init",
                                                                    "comm_finalize",
                                                                    "comm_abort",
                                                                    "phase_begin",
                                                                    "phase_end",
                                                                    "collective_enqueued",
                                                                    "collective_started",
                                                                    "collective_finished",
                                                                    "ring_step_begin",
                                                                    "ring_step_wait",
                                                                    "ring_step_arrive",
                                                                    "ring_step_end",
                                                                    "tensor",
                                                                    "weights",
                                                                    "nan_found",
                                                                    "heartbeat",
                                                                    "watchdog_warned",
                                                                    "watchdog_expired",
                                                                    "error",
                                                                    "device_sample",
                                                                    "nic_state",
                                                                    "log",
                                                                    "events_dropped",
                                                                    "exit",
                                                                    "command",
                                                                    "node_state"};

}  // namespace

std::string_view to_word(EventType type) {
  return kEventWords[static_cast<std::size_t>(type)];
}

std::optional<EventType> event_type_from(std::string_view word) {
  for (std::size_t i = 0; i < kEventWords.size(); ++i)
    if (kEventWords[i] == word) return static_cast<EventType>(i);
  return std::nullopt;
}

std::string_view to_word(WaitsFor waits) {
  constexpr std::array<std::string_view, 3> kWords{"gpu", "peer", "network"};
  return kWords[static_cast<std::size_t>(waits)];
}

std::string_view to_word(Detail detail) {
  constexpr std::array<std::string_view, 3> kWords{"chunks", "ranks", "groups"};
  return kWords[static_cast<std::size_t>(detail)];
}

std::string_view to_word(RankStatus status) {
  constexpr std::array<std::string_view, 10> kWords{"idle",      "working",    "waiting", "silent", "stalled",
                                                    "timed_out", "terminated", "aborted", "dead",   "exited"};
  return kWords[static_cast<std::size_t>(status)];
}

std::string_view to_word(StepUnit unit) {
  constexpr std::array<std::string_view, 5> kWords{"event", "transfer", "ring_step", "phase",
                                                   "training_step"};
  return kWords[static_cast<std::size_t>(unit)];
}

}  // namespace ringside::sim
