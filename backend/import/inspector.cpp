#include "backend/import/inspector.hpp"

#include <algorithm>

#include "backend/import/plain_data.hpp"
#include "sim/base/random.hpp"

namespace ringside::backend {
namespace {

using Ref = PlainData::Ref;
using sim::Confidence;
using sim::Diagnosis;
using sim::DiagnosisKind;

constexpr std::size_t kMaxCollectives = 2'000'000;
constexpr std::size_t kMaxComms = 100'000;
constexpr std::size_t kMaxRanks = 1'000'000;  // of a communicator
constexpr std::int64_t kEnough = 20;          // fewer collectives say nothing about a habit

/// Late "clearly": the second shortest time is at least a tenth longer, and by more than what a kernel launch
/// varies.
bool clearly(double shortest_us, double second_us) {
  return second_us > shortest_us * 1.1 && second_us - shortest_us > 20;
}

const InspectorComm* largest(const std::vector<InspectorComm>& comms) {
  const InspectorComm* best = nullptr;
  for (const auto& comm : comms)
    if (best == nullptr || comm.size > best->size) best = &comm;
  return best;
}

/// The rank that is last in more than half of the collectives that were compared.
const InspectorRank* straggler(const InspectorComm& comm) {
  for (const auto& rank : comm.ranks)
    if (rank.compared >= kEnough && rank.last_in * 2 > rank.compared) return &rank;
  return nullptr;
}

/// Ranks with a smaller last sequence number than the others', while more than half have the largest.
std::vector<const InspectorRank*> behind(const InspectorComm& comm) {
  std::int64_t most = 0;
  std::size_t there = 0;
  for (const auto& rank : comm.ranks) most = std::max(most, rank.last_sn);
  std::vector<const InspectorRank*> out;
  for (const auto& rank : comm.ranks) {
    if (rank.last_sn == most) {
      ++there;
    } else {
      out.push_back(&rank);
    }
  }
  return there > out.size() ? out : std::vector<const InspectorRank*>();
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return std::to_string(part * 100 / std::max<std::int64_t>(whole, 1)) + " %";
}

std::string late_text(const InspectorRank& rank) {
  std::string out = "rank " + std::to_string(rank.rank) + " is in the collective for the shortest time in " +
                    std::to_string(rank.last_in) + " of " + std::to_string(rank.compared) + " collectives (" +
                    percent(rank.last_in, rank.compared) + "): the others wait for it, " +
                    std::to_string(rank.waited_us / 1'000) + " ms in all";
  if (rank.started > 0)
    out += "; it starts last in " + percent(rank.latest_start, rank.started) + " by the clocks of the hosts";
  return out;
}

}  // namespace

std::size_t InspectorReader::KeyHash::operator()(const Key& key) const {
  return static_cast<std::size_t>(
      sim::mix64(static_cast<std::uint64_t>(key.sn) * 0x9E3779B97F4A7C15ULL ^ key.comm));
}

bool InspectorReader::line(std::string_view text) {
  PlainLimits limits;
  limits.max_nodes = 20'000;  // 64 channels with three times each, and room
  limits.max_children = 40'000;
  limits.max_depth = 16;
  const auto data = parse_json(text, "", limits);
  if (!data) return false;
  const Ref root = data->root();
  const Ref header = root.find("header");
  const Ref perf = root.find("coll_perf");
  if (!header.is_dict() || (!perf && !root.find("p2p_perf"))) return false;
  if (!perf) return true;  // point to point has no common number

  const std::string id(header.find("id").is_text()
                           ? header.find("id").text().substr(0, 64)
                           : std::string_view(std::to_string(header.find("id").integer_or(0))));
  const auto [found, fresh] = comm_ids_.try_emplace(id, comms_.size());
  if (fresh) {
    if (comms_.size() >= kMaxComms) {
      comm_ids_.erase(found);
      left_out_ = true;
      return true;
    }
    InspectorComm comm;
    comm.id = id;
    comm.name = header.find("comm_name").text().substr(0, 64);
    comms_.push_back(std::move(comm));
  }
  InspectorComm& comm = comms_[found->second];
  comm.size = std::max(comm.size, header.find("n_ranks").integer_or(0));
  const std::int64_t rank = header.find("rank").integer_or(-1);
  const std::int64_t sn = perf.find("coll_sn").integer_or(-1);
  const double time_us = perf.find("coll_exec_time_us").real().value_or(-1);
  if (rank < 0 || sn < 0) return false;

  // A file is one process, so the rank is almost always the one of the line before: look from the end.
  auto place = std::find_if(comm.ranks.rbegin(), comm.ranks.rend(),
                            [&](const InspectorRank& one) { return one.rank == rank; });
  if (place == comm.ranks.rend()) {
    if (comm.ranks.size() >= kMaxRanks) {
      left_out_ = true;
      return true;
    }
    InspectorRank one;
    one.rank = rank;
    one.host = root.find("metadata").find("hostname").text().substr(0, 255);
    one.pid = root.find("metadata").find("pid").integer_or(-1);
    one.file = file_;
    comm.ranks.push_back(std::move(one));
    place = comm.ranks.rbegin();
  }
  const auto index = static_cast<std::int32_t>(comm.ranks.rend() - place - 1);
  ++place->collectives;
  if (sn >= place->last_sn) {
    place->last_sn = sn;
    place->last_op = perf.find("coll").text().substr(0, 32);
  }
  if (time_us < 0) return true;

  const Key key{static_cast<std::uint32_t>(found->second), sn};
  if (collectives_.size() >= kMaxCollectives && collectives_.find(key) == collectives_.end()) {
    left_out_ = true;
    return true;
  }
  Times& times = collectives_[key];
  const auto us = static_cast<float>(std::min(time_us, 1e15));
  if (times.ranks == 0 || us < times.shortest_us) {
    times.second_us = times.ranks == 0 ? us : times.shortest_us;
    times.shortest_us = us;
    times.shortest = index;
  } else if (times.ranks == 1 || us < times.second_us) {
    times.second_us = us;
  }
  ++times.ranks;
  const auto start = perf.find("event_trace_ts").find("coll_start_ts").real();
  if (start && *start > 0) {
    if (times.starts == 0 || *start > times.latest_us) {
      times.before_us = times.starts == 0 ? *start : times.latest_us;
      times.latest_us = *start;
      times.latest = index;
    }
    ++times.starts;
  }
  return true;
}

std::vector<InspectorComm> InspectorReader::finish() {
  for (const auto& [key, times] : collectives_) {
    if (times.ranks < 2) continue;
    InspectorComm& comm = comms_[key.comm];
    ++comm.collectives;
    if (clearly(times.shortest_us, times.second_us)) {
      InspectorRank& late = comm.ranks[static_cast<std::size_t>(times.shortest)];
      ++late.last_in;
      late.waited_us +=
          static_cast<std::int64_t>(std::min<double>(times.second_us - times.shortest_us, 1e12));
    }
    if (times.starts >= 2) ++comm.ranks[static_cast<std::size_t>(times.latest)].latest_start;
  }
  // Sums, so that the order of the table above does not matter.
  for (const auto& [key, times] : collectives_) {
    if (times.ranks < 2) continue;
    if (times.starts >= 2) ++comms_[key.comm].ranks.front().started;
  }
  for (auto& comm : comms_) {
    const std::int64_t started = comm.ranks.empty() ? 0 : comm.ranks.front().started;
    for (auto& rank : comm.ranks) {
      rank.compared = comm.collectives;
      rank.started = started;
    }
    std::sort(comm.ranks.begin(), comm.ranks.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
  }
  std::vector<InspectorComm> out = std::move(comms_);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  *this = InspectorReader();
  return out;
}

Diagnosis diagnose(const std::vector<InspectorComm>& comms, const Facts& files) {
  Diagnosis out;
  out.kind = DiagnosisKind::Unknown;
  out.confidence = Confidence::Unknown;
  out.first_cause.what = "The Inspector's records do not show a rank that differs from the others.";
  const InspectorComm* comm = largest(comms);
  if (comm == nullptr) return out;
  out.world_size = comm->size;
  const auto note = [&](const InspectorRank& rank, std::string text) {
    sim::Evidence line;
    if (rank.file < files.files.size()) line.file = files.files[rank.file];
    line.text = std::move(text);
    out.evidence.push_back(std::move(line));
  };
  const auto blame = [&](const InspectorRank& rank) {
    out.culprits.push_back(static_cast<int>(rank.rank));
    if (!rank.host.empty() &&
        std::find(out.culprit_nodes.begin(), out.culprit_nodes.end(), rank.host) == out.culprit_nodes.end())
      out.culprit_nodes.push_back(rank.host);
  };
  const auto late = behind(*comm);
  if (!late.empty()) {
    out.kind = DiagnosisKind::HangRankMissing;
    out.confidence = Confidence::Likely;
    for (const auto* rank : late) {
      blame(*rank);
      note(*rank, "rank " + std::to_string(rank->rank) + " has finished " + std::to_string(rank->last_sn) +
                      " collectives, its last is " + rank->last_op);
    }
    out.first_cause.what = "The records of some ranks end before those of the others.";
    out.alternatives.push_back(
        {DiagnosisKind::None,
         {},
         "possible: the Inspector writes at intervals, and the last ones may be lost"});
    out.next_steps.push_back("Read the host stacks of these ranks: py-spy dump --native --pid <pid>");
  } else if (const InspectorRank* rank = straggler(*comm)) {
    out.kind = DiagnosisKind::Straggler;
    out.confidence = Confidence::Likely;
    blame(*rank);
    note(*rank, late_text(*rank));
    out.first_cause.what = "Rank " + std::to_string(rank->rank) + " comes last to most collectives.";
    out.next_steps.push_back(
        "Compare clocks, power and temperature of its GPU with its neighbours: nvidia-smi -q -d "
        "CLOCK,PERFORMANCE");
    out.next_steps.push_back("Compare its data loading time and its CPU load");
  } else {
    const bool enough = comm->collectives >= kEnough && comm->ranks.size() >= 2;
    if (enough) {
      out.kind = DiagnosisKind::None;
      out.confidence = Confidence::Likely;
      out.first_cause.what = "No rank is late in more than half of the collectives.";
    }
  }
  if (out.culprits.size() == 1) out.first_cause.rank = out.culprits.front();
  for (const auto& rank : comm->ranks) {
    const bool culprit = std::find(out.culprits.begin(), out.culprits.end(), static_cast<int>(rank.rank)) !=
                         out.culprits.end();
    if (!out.culprits.empty() && !culprit) out.victims.push_back(static_cast<int>(rank.rank));
  }
  return out;
}

void append_facts(const std::vector<InspectorComm>& comms, Facts& facts) {
  const InspectorComm* comm = largest(comms);
  if (comm == nullptr) return;
  facts.world_size = std::max(facts.world_size, comm->size);
  const auto add = [&](FactKind kind, const InspectorRank& rank, std::string text) -> Fact& {
    Fact fact;
    fact.kind = kind;
    fact.role = Role::Names;
    fact.layer = Layer::Inspector;
    fact.file = rank.file;
    fact.who.rank = static_cast<int>(rank.rank);
    fact.who.host = rank.host;
    fact.who.pid = rank.pid;
    fact.pg = comm->id;
    fact.pg_name = comm->name;
    fact.seq = rank.last_sn;
    fact.named = {static_cast<int>(rank.rank)};
    fact.text = std::move(text);
    facts.facts.push_back(std::move(fact));
    return facts.facts.back();
  };
  for (const auto* rank : behind(*comm))
    add(FactKind::InspectorBehind, *rank,
        "rank " + std::to_string(rank->rank) + " has finished fewer collectives than the others");
  if (const InspectorRank* rank = straggler(*comm)) {
    Fact& fact = add(FactKind::InspectorLate, *rank, late_text(*rank));
    fact.value = rank->last_in;
    fact.limit = rank->compared;
    fact.x = static_cast<double>(rank->waited_us) / 1'000.0 /
             static_cast<double>(std::max<std::int64_t>(rank->last_in, 1));
  }
}

}  // namespace ringside::backend
