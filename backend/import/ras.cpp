// RAS STATUS as JSON, MONITOR events, and what both mean as Facts.
#include "backend/import/ras.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "backend/import/plain_data.hpp"
#include "backend/import/timestamps.hpp"

namespace ringside::backend {
namespace {

using Ref = PlainData::Ref;

constexpr std::array<std::string_view, 8> kErrors = {"",
                                                     "Unhandled CUDA error",
                                                     "System error",
                                                     "Internal error",
                                                     "Invalid argument",
                                                     "Invalid usage",
                                                     "Remote process error",
                                                     ""};

RasRank read_rank(const Ref& value) {
  RasRank out;
  out.rank = static_cast<int>(std::clamp<std::int64_t>(value.find("rank").integer_or(-1), -1, 1 << 24));
  out.host = value.find("host").text().substr(0, 255);
  out.pid = value.find("pid").integer_or(-1);
  out.device = static_cast<int>(std::clamp<std::int64_t>(value.find("cuda_dev").integer_or(-1), -1, 1 << 24));
  return out;
}

std::string state_of(const Ref& status) {
  if (status.find("abort_flag").boolean().value_or(false)) return "ABORT";
  if (status.find("finalize_called").boolean().value_or(false) ||
      status.find("destroy_flag").boolean().value_or(false))
    return "FINALIZE";
  return status.find("init_state").integer_or(0) == 0 ? "RUNNING" : "INIT";
}

/// Ranks grouped by something, largest group first.
template <class Key>
std::vector<RasClass> classes_of(const std::map<Key, std::vector<RasRank>>& groups) {
  std::vector<RasClass> out;
  for (const auto& [key, ranks] : groups) {
    RasClass one;
    if constexpr (std::is_same_v<Key, std::string>) {
      one.word = key;
    } else {
      one.value = key;
    }
    one.ranks = static_cast<std::int64_t>(ranks.size());
    one.named = ranks;
    out.push_back(std::move(one));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const RasClass& a, const RasClass& b) { return a.ranks > b.ranks; });
  return out;
}

RasComm read_comm(const Ref& value, std::vector<RasRank>& members, RasReport& report) {
  RasComm out;
  std::string_view hash = value.find("hash").text();
  if (hash.substr(0, 2) == "0x") hash.remove_prefix(2);
  out.hash = hash.substr(0, 32);
  out.size = value.find("size").integer_or(0);
  std::map<std::string, std::map<std::int64_t, std::vector<RasRank>>> counts;
  std::map<std::string, std::vector<RasRank>> states;
  std::map<std::string, std::vector<RasRank>> errors;
  const Ref ranks = value.find("ranks");
  for (std::size_t i = 0; i < ranks.size() && i < 1'000'000; ++i) {
    const Ref rank = ranks.at(i);
    if (!rank.is_dict() || rank.size() > 64) continue;
    const RasRank who = read_rank(rank);
    members.push_back(who);
    const Ref status = rank.find("status");
    states[state_of(status)].push_back(who);
    for (const char* key : {"async_error", "init_state"}) {
      const std::int64_t code = status.find(key).integer_or(0);
      const bool failed = code > 0 && code != 7;  // 7: in progress
      if (failed)
        errors[code < 7 ? std::string(kErrors[static_cast<std::size_t>(code)]) : "Unexpected error"]
            .push_back(who);
    }
    const Ref ops = rank.find("collective_counts");
    for (std::size_t op = 0; op < std::min<std::size_t>(ops.size(), 16); ++op)
      counts[std::string(ops.key_at(op).text().substr(0, 32))][ops.at(op).integer_or(0)].push_back(who);
  }
  const Ref missing = value.find("missing_ranks");
  for (std::size_t i = 0; i < missing.size() && i < 1'000'000; ++i) {
    const Ref rank = missing.at(i);
    if (!rank.is_dict() || rank.size() > 64) continue;
    const RasRank who = read_rank(rank);
    members.push_back(who);
    ++out.missing;
    out.missing_named.push_back(who);
    if (rank.find("status").find("considered_dead").boolean().value_or(false)) {
      const bool known =
          std::any_of(report.dead_named.begin(), report.dead_named.end(), [&](const RasRank& other) {
            return other.pid == who.pid && other.host == who.host && other.device == who.device;
          });
      if (!known && report.dead_named.size() < 4'096) report.dead_named.push_back(who);
    }
  }
  for (const auto& [op, groups] : counts)
    if (groups.size() > 1) out.counts.emplace_back(op, classes_of(groups));
  if (states.size() > 1) out.states = classes_of(states);
  if (!errors.empty()) out.errors = classes_of(errors);
  return out;
}

}  // namespace

sim::Result<RasReport> parse_ras_json(std::string_view document, std::string_view name) {
  auto data = parse_json(document, name);
  if (!data) return data.error();
  const Ref root = data->root();
  const Ref comms = root.find("communicators");
  if (!comms.is_list())
    return sim::Error{.what = "is no answer of NCCL RAS: it has no communicators", .file = std::string(name)};
  RasReport out;
  out.version = root.find("nccl_version").text().substr(0, 64);
  out.timeouts = root.find("ras").find("timeouts_count").integer_or(0);
  for (std::size_t i = 0; i < comms.size() && i < 100'000; ++i) {
    if (!comms.at(i).is_dict() || comms.at(i).size() > 64) continue;
    std::vector<RasRank> members;
    RasComm comm = read_comm(comms.at(i), members, out);
    if (comm.size > out.gpus) {
      out.gpus = comm.size;
      out.world = std::move(members);
    }
    if (comm.missing > 0 || !comm.counts.empty() || !comm.states.empty() || !comm.errors.empty())
      out.comms.push_back(std::move(comm));
  }
  out.dead = static_cast<std::int64_t>(out.dead_named.size());
  return out;
}

namespace {

/// Writes the Facts of one report.
class FactWriter {
 public:
  FactWriter(const RasReport& report, std::string_view name, Facts& facts)
      : report_(report), facts_(facts), file_(facts.add_file(std::string(name))) {
    for (const auto& rank : report.world) learn(rank);
    for (const auto& comm : report.comms) {
      if (!is_world(comm)) continue;
      for (const auto& rank : comm.missing_named) learn(rank);
      for (const auto& [op, classes] : comm.counts)
        for (const auto& one : classes)
          for (const auto& rank : one.named) learn(rank);
      for (const auto* classes : {&comm.errors, &comm.states})
        for (const auto& one : *classes)
          for (const auto& rank : one.named) learn(rank);
    }
  }

  void write() {
    facts_.world_size = std::max(facts_.world_size, report_.gpus);
    write_who();
    for (const auto& process : report_.dead_named)
      write_named(FactKind::RasDead, "", {process}, true, report_.dead_line,
                  "considered dead (unreachable via the RAS network)");
    for (const auto& process : report_.silent_named)
      write_named(FactKind::RasMissing, "", {process}, true, report_.silent_line, "gave no data");
    for (const auto& comm : report_.comms) write_comm(comm);
  }

 private:
  using Process = std::tuple<std::string, std::int64_t, int>;

  bool is_world(const RasComm& comm) const { return comm.size > 0 && comm.size >= report_.gpus; }
  void learn(const RasRank& rank) {
    if (rank.pid < 0 || rank.rank < 0) return;
    if (global_.try_emplace({rank.host, rank.pid, rank.device}, rank.rank).second) who_.push_back(rank);
  }
  int global(const RasRank& rank, bool world) const {
    if (world && rank.rank >= 0) return rank.rank;
    const auto found = global_.find({rank.host, rank.pid, rank.device});
    return found == global_.end() ? -1 : found->second;
  }

  void write_who() {
    for (const auto& rank : who_) {
      Fact fact;
      fact.kind = FactKind::NcclInit;
      fact.layer = Layer::Ras;
      fact.file = file_;
      fact.who.rank = rank.rank;
      fact.who.host = rank.host;
      fact.who.pid = rank.pid;
      fact.who.device = rank.device;
      fact.value = report_.gpus;
      fact.text = "Rank " + std::to_string(rank.rank) + " -- GPU " + std::to_string(rank.device) +
                  " managed by process " + std::to_string(rank.pid) + " on node " + rank.host;
      facts_.facts.push_back(std::move(fact));
    }
  }

  Fact& write_named(FactKind kind, const std::string& comm, const std::vector<RasRank>& ranks, bool world,
                    std::int64_t line, const std::string& text) {
    Fact fact;
    fact.kind = kind;
    fact.role = Role::Names;
    fact.layer = Layer::Ras;
    fact.file = file_;
    fact.line = line;
    fact.pg = comm;
    for (const auto& rank : ranks)
      if (const int number = global(rank, world); number >= 0) fact.named.push_back(number);
    std::sort(fact.named.begin(), fact.named.end());
    if (ranks.size() == 1) {  // the process that is spoken of
      fact.who.rank = fact.named.empty() ? -1 : fact.named.front();
      fact.who.host = ranks.front().host;
      fact.who.pid = ranks.front().pid;
      fact.who.device = ranks.front().device;
    }
    std::string subject;
    for (const int rank : fact.named)
      if (subject.size() < 200) subject += (subject.empty() ? "rank " : ", ") + std::to_string(rank);
    if (subject.empty() && ranks.size() == 1)
      subject = "process " + std::to_string(ranks.front().pid) + " on node " + ranks.front().host;
    fact.text = (subject.empty() ? std::to_string(ranks.size()) + " ranks" : subject) + ": " + text;
    if (!comm.empty()) fact.text += ", communicator " + comm;
    fact.text.resize(std::min(fact.text.size(), kMaxFactText));
    facts_.facts.push_back(std::move(fact));
    return facts_.facts.back();
  }

  void write_comm(const RasComm& comm) {
    const bool world = is_world(comm);
    if (!comm.missing_named.empty())
      write_named(FactKind::RasMissing, comm.hash, comm.missing_named, world, comm.line,
                  "no data in the RAS report");
    for (const auto& [op, classes] : comm.counts) {
      for (std::size_t i = 0; i < classes.size(); ++i) {
        // The largest class is the reference; when RAS names it as well (JSON), it is still not the outlier.
        const RasClass& one = classes[i];
        if (i == 0 || one.named.empty()) continue;
        Fact& fact = write_named(FactKind::RasOutlier, comm.hash, one.named, world, one.line,
                                 "launched " + std::to_string(one.value) + " " + op + " operations, " +
                                     std::to_string(classes[0].ranks) + " ranks launched " +
                                     std::to_string(classes[0].value));
        fact.op = op;
        for (char& c : fact.op)
          if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        fact.value = one.value;
        fact.limit = classes[0].value;
      }
    }
    for (const auto& one : comm.errors)
      if (!one.named.empty())
        write_named(FactKind::RasError, comm.hash, one.named, world, one.line, "reported " + one.word).name =
            one.word;
  }

  const RasReport& report_;
  Facts& facts_;
  std::uint32_t file_;
  std::map<Process, int> global_;
  std::vector<RasRank> who_;
};

struct EventRow {
  std::string_view word;
  FactKind kind;
  Role role;
};
constexpr EventRow kEvents[] = {
    {"PEER_TIMEOUT_DEAD", FactKind::RasDead, Role::Names},
    {"PEER_DEAD", FactKind::RasDead, Role::Names},
    {"PEER_UNRESPONSIVE", FactKind::RasMissing, Role::Names},
    {"PEER_SEND_STUCK", FactKind::RasMissing, Role::Names},
    {"PEER_KEEPALIVE_TIMEOUT", FactKind::RasMissing, Role::Names},
    {"PEER_INIT_TIMEOUT", FactKind::RasMissing, Role::Names},
};

bool add_event(std::string_view word, const RasRank& peer, std::string_view time, std::string_view line,
               std::int64_t number, std::uint32_t file, Facts& facts) {
  const auto row = std::find_if(std::begin(kEvents), std::end(kEvents),
                                [&](const EventRow& one) { return one.word == word; });
  if (row == std::end(kEvents)) return word.substr(0, 5) == "PEER_";  // coming and going: nothing to report
  Fact fact;
  fact.kind = row->kind;
  fact.role = row->role;
  fact.layer = Layer::Ras;
  fact.file = file;
  fact.line = number;
  fact.who.host = peer.host;
  fact.who.pid = peer.pid;
  fact.who.device = peer.device;
  fact.name = word;
  fact.text = line.substr(0, kMaxFactText);
  fact.t_ns = read_date_clock(time).t_ns;
  facts.facts.push_back(std::move(fact));
  return true;
}

std::int64_t number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return -1;
  std::int64_t value = -1;
  for (std::size_t i = at + word.size();
       i < text.size() && text[i] >= '0' && text[i] <= '9' && value < 100'000'000; ++i)
    value = std::max<std::int64_t>(value, 0) * 10 + (text[i] - '0');
  return value;
}

}  // namespace

void append_facts(const RasReport& report, std::string_view name, Facts& facts) {
  FactWriter(report, name, facts).write();
}

bool append_ras_event(std::string_view line, std::int64_t number, std::uint32_t file, Facts& facts) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) return false;
  line.remove_prefix(start);
  if (line.front() == '{') {
    PlainLimits limits;
    limits.max_nodes = 1'000;
    limits.max_depth = 16;
    const auto data = parse_json(line, "", limits);
    if (!data) return false;
    const Ref peer = data->root().find("peer");
    RasRank who = read_rank(peer);
    who.device =
        static_cast<int>(std::clamp<std::int64_t>(peer.find("cuda_devs").at(0).integer_or(-1), -1, 1 << 24));
    return add_event(data->root().find("event").text(), who, data->root().find("timestamp").text(), line,
                     number, file, facts);
  }
  if (line.front() != '[') return false;
  const std::size_t close = line.find("] ");
  if (close == std::string_view::npos) return false;
  const std::string_view rest = line.substr(close + 2);
  const std::string_view word = rest.substr(0, rest.find(':'));
  RasRank who;
  who.pid = number_after(rest, "Process ");
  who.device = static_cast<int>(number_after(rest, "GPU "));
  if (const std::size_t at = rest.find(" on node "); at != std::string_view::npos) {
    const std::string_view host = rest.substr(at + 9);
    who.host = host.substr(0, std::min<std::size_t>(host.find(' '), 255));
  }
  return add_event(word, who, line.substr(1, close - 1), line, number, file, facts);
}

}  // namespace ringside::backend
