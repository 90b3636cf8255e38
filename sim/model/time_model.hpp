// How long a collective takes: NCCL's structure (nccl_tuner.hpp) with a few measured constants per kind of
// link and NIC.
//
//   time = latency + hop·(hops inside) + nic_hop·(hops outside) + 2·√(ramp·wire) + wire,   wire = bytes /
//   (efficiency·bandwidth)
//
// `latency` is NCCL's. `hop` is what a real hop costs on top of it. The root is pipeline fill: k pieces over
// a pipeline whose stages cost `ramp` each take wire·(1 + 1/k) + k·ramp, least at k = √(wire/ramp). The
// fastest algorithm × protocol wins. Fitted by ringside-fit, which measures the error on machines that it did
// not see (docs/time-model.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/model/nccl_tuner.hpp"

namespace ringside::sim {

/// Constants are shared where the hardware is: by NVLink generation or kind of path, and by kind of NIC.
enum class LinkClass : std::uint8_t { NvLink2, NvLink3, NvLink4, NvLink5, HostMemory, Pcie, InfinityFabric };
enum class NicClass : std::uint8_t { Verbs, Efa, Tcp };  // verbs: InfiniBand and RoCE
inline constexpr std::size_t kLinkClasses = 7, kNicClasses = 3;
std::string_view to_word(LinkClass link);
std::string_view to_word(NicClass nic);
LinkClass link_class(const Preset& preset);
NicClass nic_class(const Preset& preset);

struct LinkConstants {
  double hop_us = 0.3;           // on top of NCCL's hop
  double efficiency = 1;         // of NCCL's link constant
  double switch_efficiency = 1;  // of NCCL's NVLS bandwidth (reduction in the NVLink switch)
};
struct NicConstants {
  double hop_us = 5;         // on top of NCCL's hop
  double ramp_us = 3;        // what the network adds to a stage of the pipeline
  double efficiency = 0.96;  // of the wire rate
};
struct ModelConstants {
  std::array<LinkConstants, kLinkClasses> links;
  std::array<NicConstants, kNicClasses> nics;
  double link_ramp_us = 4;  // one stage of the pipeline inside a node
};

/// Size bands in which errors are given: < 64 KiB, < 16 MiB, < 1 GiB, from 1 GiB.
inline constexpr std::size_t kSizeBands = 4;
std::size_t size_band(std::int64_t bytes);
std::string_view size_band_name(std::size_t band);
using BandErrors = std::array<std::optional<double>, kSizeBands>;  // median absolute error in percent

/// What is known of a preset from measured tables.
struct FittedPreset {
  std::string name;
  std::vector<std::string> tables;
  BandErrors error;  // of the model fitted without these machines
};

struct TimeModel {
  ModelConstants constants;
  std::vector<FittedPreset> presets;  // those with data
  BandErrors error;                   // all held-out machines together
  BandErrors tuner_error;             // NCCL's formula alone on the same tables

  const FittedPreset* find(std::string_view preset) const;
  /// What to expect of a prediction in a size band, in percent: the larger of this preset's held-out error
  /// and that of all machines, since one machine may have been lucky. Nothing for a preset without data.
  std::optional<double> expected_error(std::string_view preset, std::size_t band) const;
};

/// Reads what `time_model_toml` writes (assets/presets.toml). Errors name the place.
Result<TimeModel> parse_time_model(std::string_view text, std::string_view file_name);
/// The file, ready to write; the same model gives the same bytes.
std::string time_model_toml(const TimeModel& model);

/// What a predicted time is made of, in microseconds.
struct TimeParts {
  double latency_us = 0;  // NCCL's latency: launch and its hops
  double hops_us = 0;     // what the hops cost on top of it
  double fill_us = 0;     // filling the pipeline
  double wire_us = 0;     // the bytes
  double total() const { return latency_us + hops_us + fill_us + wire_us; }
};

/// One curve of a duel: an algorithm × protocol at this size.
struct PredictedRow {
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  NcclProtocol protocol = NcclProtocol::Simple;
  std::int32_t channels = 1;
  double time_us = 0;
  double tuner_us = 0;    // NCCL's own estimate
  TimeParts parts = {};   // of time_us
  std::int32_t hops = 0;  // one after the other, inside nodes and between them
};

struct Prediction {
  std::int64_t time_ns = 0;
  double time_us = 0;
  double algbw_GBps = 0, busbw_GBps = 0;
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;  // the fastest row of this model
  NcclProtocol protocol = NcclProtocol::Simple;
  std::int32_t channels = 1;
  PredictedRow nccl_choice;             // what NCCL's formula would take, which may differ near a crossing
  bool fitted = false;                  // false: no measured table of this preset; the time is structure only
  std::optional<double> error_percent;  // expected error: measured on held-out machines; only when fitted
  std::vector<PredictedRow> rows;       // every algorithm × protocol, in a fixed order
};

struct PredictRequest {
  std::int32_t nodes = 1;
  std::int32_t gpus_per_node = 0;  // 0: the preset's
  std::int64_t bytes = 0;          // as nccl-tests counts: the whole buffer
  Collective collective = Collective::AllReduce;
};

/// Error: fewer than two ranks, or numbers out of range.
Result<Prediction> predict(const TimeModel& model, const Preset& preset, const PredictRequest& request);

/// One row as the formula sees it; the fitting tool evaluates the same formula with its own constants.
struct ModelTerm {
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  NcclProtocol protocol = NcclProtocol::Simple;
  double latency_us = 0, link_hops = 0, nic_hops = 0;
  double wire_us = 0;  // bytes over the bandwidth inside the node, at efficiency 1; 0 where it is no limit
  double nic_wire_us = 0;  // the same for the NICs; the longer of the two counts
  bool in_switch = false;  // wire_us is that of NVLS
  bool network = false;    // more than one node: the NIC's part of the ramp counts
};
std::vector<ModelTerm> model_terms(const Preset& preset, const TunerJob& job,
                                   const std::vector<TunerRow>& rows, std::int32_t gpus_per_node,
                                   std::int64_t bytes);
TimeParts model_time_parts(const ModelTerm& term, const ModelConstants& constants, LinkClass link,
                           NicClass nic);
/// Their sum.
double model_time_us(const ModelTerm& term, const ModelConstants& constants, LinkClass link, NicClass nic);

}  // namespace ringside::sim
