// Edits of a scenario that the AllReduce scene offers: each a small function from scenario to scenario, so
// that they are tested without a window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/session/actions.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::app::edit {

inline constexpr int kMaxGpus = 64;
/// Numbers that may be written out into an edited scenario.
inline constexpr std::int64_t kMaxWrittenNumbers = std::int64_t{1} << 22;

/// The number that a person typed, in the dtype: "3", "-0.5", "1e30", "NaN", "inf", "-inf". Nothing if it is
/// not one.
std::optional<sim::Scalar> read_number(std::string_view text, sim::DType dtype);

/// Changes the number of GPUs (1 … 64). Written values of new ranks go on as the ranks before them did (2, 4,
/// 6, 8 → 10) where all are whole numbers, else they repeat. Faults and links of ranks that are gone go too.
void set_world(sim::Scenario& scenario, int world);
/// One element of one rank's own tensor; the values are written out if they were not.
void set_value(sim::Scenario& scenario, int rank, std::int64_t element, sim::Scalar value);
/// Every rank's values are converted.
void set_dtype(sim::Scenario& scenario, sim::DType dtype);
/// All links (rank = -1), or the one from -> to.
void set_latency(sim::Scenario& scenario, int from, int to, std::int64_t latency_ns);
void set_bandwidth(sim::Scenario& scenario, int from, int to, std::int64_t bytes_per_s);

/// As an action, with what it does for the log: "world=8".
action::EditScenario action_for(std::string what, std::function<void(sim::Scenario&)> change,
                                std::string merge = {});

}  // namespace ringside::app::edit
