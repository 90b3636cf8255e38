#include "sim/model/time_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ringside::sim {
namespace {

constexpr std::int32_t kMaxNodes = 1 << 20;
constexpr std::int32_t kMaxGpusPerNode = 1024;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

/// NVLS inside one domain, in busbw: the switch's rate, which a tree of two nodes reaches as well.
double nvls_inside_GBps(const Preset& preset, std::int32_t gpus_per_node) {
  const TunerJob one = tuner_job(preset, 1, gpus_per_node);
  const double efficiency = preset.arch == GpuArch::Blackwell ? 0.74 : 0.85;
  return one.nvls.intra_GBps * efficiency * (one.nvls.channels - 1) * 2;
}

double nic_total_GBps(const Preset& preset, const TunerJob& job, std::int32_t gpus_per_node) {
  const std::int32_t nodes_per_domain = std::max(1, job.gpus_per_node / gpus_per_node);
  return static_cast<double>(preset.links.inter_bytes_per_s) / 1e9 * nics_in_use(preset, gpus_per_node) *
         nodes_per_domain;
}

/// Across nodes NICs may set the speed. A double tree sends the buffer once through a node's NICs on two
/// nodes (half of it up, half down), and twice on more; a ring as often as NCCL's busbw says.
void set_wire_across(const Preset& preset, const TunerJob& job, const TunerRow& row,
                     std::int32_t gpus_per_node, std::int64_t bytes, ModelTerm& term) {
  const double size = static_cast<double>(bytes) / 1000;
  const double nics = nic_total_GBps(preset, job, gpus_per_node);
  const double ranks = static_cast<double>(job.nodes) * job.gpus_per_node;
  const double tree_limit = job.nodes == 2 ? nics : nics / 2;
  const bool narrow = nics <= 1.25 * static_cast<double>(preset.links.intra_bytes_per_s) / 1e9;
  if (row.algorithm == NcclAlgorithm::NvlsTree) {
    term.in_switch = true;
    term.wire_us = size / (nvls_inside_GBps(preset, gpus_per_node) * ranks / (2 * (ranks - 1)));
    term.nic_wire_us = size / tree_limit;
  } else if (row.algorithm == NcclAlgorithm::Tree && job.nodes == 2 &&
             job.tree.intra_GBps > job.tree.inter_GBps) {
    term.wire_us = size / row.algbw_GBps;  // raised: bound by the links
    term.nic_wire_us = size / tree_limit;
  } else if (narrow || job.gpus_per_node == 1) {
    term.nic_wire_us = size / (row.algbw_GBps * nics / (job.ring.channels * job.ring.inter_GBps));
  } else {
    term.wire_us = size / row.algbw_GBps;
  }
}

/// Bandwidth as the hardware gives it. NCCL rounds a NIC's rate down to its list (48 for 50 GB/s), caps
/// NVLSTree by a table, and takes 8 % off a tree, which measured trees of long messages do not lose.
void set_wire(const Preset& preset, const TunerJob& job, const TunerRow& row, std::int32_t gpus_per_node,
              std::int64_t bytes, ModelTerm& term) {
  if (job.nodes > 1) {
    set_wire_across(preset, job, row, gpus_per_node, bytes, term);
  } else {
    term.wire_us = static_cast<double>(bytes) / (1000 * row.algbw_GBps);
    term.in_switch = row.algorithm == NcclAlgorithm::Nvls;
  }
  if (row.protocol == NcclProtocol::Simple) term.wire_us /= row.without_share;
}

Error range_error(const char* what, std::int64_t value, const char* legal) {
  Error error;
  error.what = what;
  error.text = std::to_string(value);
  error.legal = legal;
  return error;
}

std::optional<Error> problem_of(const PredictRequest& request, std::int32_t gpus_per_node) {
  if (request.nodes < 1 || request.nodes > kMaxNodes)
    return range_error("number of nodes out of range", request.nodes, "1 … 1048576");
  if (gpus_per_node < 1 || gpus_per_node > kMaxGpusPerNode)
    return range_error("GPUs per node out of range", gpus_per_node, "1 … 1024");
  if (request.bytes < 1 || request.bytes > kMaxBytes)
    return range_error("size out of range", request.bytes, "1 byte … 1 PiB");
  if (std::int64_t{request.nodes} * gpus_per_node < 2)
    return range_error("a collective needs at least two GPUs", gpus_per_node, "nodes x GPUs per node >= 2");
  return std::nullopt;
}

}  // namespace

LinkClass link_class(const Preset& preset) {
  switch (preset.intra) {
    case IntraKind::PciePeer:
      return LinkClass::Pcie;
    case IntraKind::HostMemory:
      return LinkClass::HostMemory;
    case IntraKind::InfinityFabric:
      return LinkClass::InfinityFabric;
    case IntraKind::NvLinkMesh:
    case IntraKind::NvSwitch:
      break;
  }
  switch (preset.nvlink_generation) {
    case 2:
      return LinkClass::NvLink2;
    case 3:
      return LinkClass::NvLink3;
    case 4:
      return LinkClass::NvLink4;
    default:
      return LinkClass::NvLink5;
  }
}

NicClass nic_class(const Preset& preset) {
  switch (preset.nic) {
    case NicKind::InfiniBand:
    case NicKind::Roce:
      return NicClass::Verbs;
    case NicKind::Efa:
      return NicClass::Efa;
    case NicKind::Tcp:
      return NicClass::Tcp;
  }
  return NicClass::Verbs;
}

std::string_view to_word(LinkClass link) {
  constexpr std::array<std::string_view, kLinkClasses> kWords = {
      "nvlink2", "nvlink3", "nvlink4", "nvlink5", "host-memory", "pcie", "infinity-fabric"};
  return kWords[static_cast<std::size_t>(link)];
}

std::string_view to_word(NicClass nic) {
  constexpr std::array<std::string_view, kNicClasses> kWords = {"verbs", "efa", "tcp"};
  return kWords[static_cast<std::size_t>(nic)];
}

std::size_t size_band(std::int64_t bytes) {
  if (bytes < (std::int64_t{64} << 10)) return 0;
  if (bytes < (std::int64_t{16} << 20)) return 1;
  return bytes < (std::int64_t{1} << 30) ? 2 : 3;
}

std::string_view size_band_name(std::size_t band) {
  constexpr std::array<std::string_view, kSizeBands> kNames = {"< 64 KiB", "64 KiB - 16 MiB",
                                                               "16 MiB - 1 GiB", ">= 1 GiB"};
  return kNames[band];
}

const FittedPreset* TimeModel::find(std::string_view preset) const {
  for (const FittedPreset& fitted : presets)
    if (fitted.name == preset) return &fitted;
  return nullptr;
}

std::optional<double> TimeModel::expected_error(std::string_view preset, std::size_t band) const {
  const FittedPreset* fitted = find(preset);
  if (fitted == nullptr) return std::nullopt;
  if (!fitted->error[band] || !error[band]) return fitted->error[band] ? fitted->error[band] : error[band];
  return std::max(*fitted->error[band], *error[band]);
}

std::vector<ModelTerm> model_terms(const Preset& preset, const TunerJob& job,
                                   const std::vector<TunerRow>& rows, std::int32_t gpus_per_node,
                                   std::int64_t bytes) {
  std::vector<ModelTerm> terms;
  terms.reserve(rows.size());
  for (const TunerRow& row : rows) {
    ModelTerm term;
    term.algorithm = row.algorithm;
    term.protocol = row.protocol;
    term.latency_us = row.latency_us;
    term.link_hops = row.link_hops;
    term.nic_hops = row.nic_hops;
    term.network = job.nodes > 1;
    set_wire(preset, job, row, gpus_per_node, bytes, term);
    terms.push_back(term);
  }
  return terms;
}

TimeParts model_time_parts(const ModelTerm& term, const ModelConstants& constants, LinkClass link,
                           NicClass nic) {
  const LinkConstants& of_link = constants.links[static_cast<std::size_t>(link)];
  const NicConstants& of_nic = constants.nics[static_cast<std::size_t>(nic)];
  const double efficiency = term.in_switch ? of_link.switch_efficiency : of_link.efficiency;
  const double wire = std::max(term.wire_us / efficiency, term.nic_wire_us / of_nic.efficiency);
  const double ramp = constants.link_ramp_us + (term.network ? of_nic.ramp_us : 0);
  // std::sqrt is exact to the last bit everywhere (IEEE 754), unlike exp, log or pow.
  return {.latency_us = term.latency_us,
          .hops_us = of_link.hop_us * term.link_hops + of_nic.hop_us * term.nic_hops,
          .fill_us = 2 * std::sqrt(ramp * wire),
          .wire_us = wire};
}

double model_time_us(const ModelTerm& term, const ModelConstants& constants, LinkClass link, NicClass nic) {
  return model_time_parts(term, constants, link, nic).total();
}

Result<Prediction> predict(const TimeModel& model, const Preset& preset, const PredictRequest& request) {
  const std::int32_t gpus = request.gpus_per_node == 0 ? preset.links.gpus_per_node : request.gpus_per_node;
  if (const auto problem = problem_of(request, gpus)) return *problem;
  const TunerJob job = tuner_job(preset, request.nodes, gpus);
  const std::vector<TunerRow> rows = tuner_rows(job, request.collective, request.bytes);
  const std::vector<ModelTerm> terms = model_terms(preset, job, rows, gpus, request.bytes);
  const TunerRow* choice = tuner_choice(rows);

  Prediction prediction;
  std::size_t best = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PredictedRow row = {rows[i].algorithm, rows[i].protocol, rows[i].channels, 0, rows[i].tuner_us};
    row.parts = model_time_parts(terms[i], model.constants, link_class(preset), nic_class(preset));
    row.time_us = row.parts.total();
    row.hops = rows[i].link_hops + rows[i].nic_hops;
    prediction.rows.push_back(row);
    if (row.time_us < prediction.rows[best].time_us) best = i;
    if (&rows[i] == choice) prediction.nccl_choice = row;
  }
  const PredictedRow& fastest = prediction.rows[best];
  prediction.algorithm = fastest.algorithm;
  prediction.protocol = fastest.protocol;
  prediction.channels = fastest.channels;
  prediction.time_us = fastest.time_us;
  prediction.time_ns = static_cast<std::int64_t>(fastest.time_us * 1000 + 0.5);
  prediction.algbw_GBps = static_cast<double>(request.bytes) / (1000 * fastest.time_us);
  prediction.busbw_GBps =
      prediction.algbw_GBps * bus_factor(request.collective, std::int64_t{request.nodes} * gpus);
  prediction.fitted = model.find(preset.name) != nullptr;
  if (request.collective == Collective::AllReduce)  // no table measured another
    prediction.error_percent = model.expected_error(preset.name, size_band(request.bytes));
  return prediction;
}

}  // namespace ringside::sim
