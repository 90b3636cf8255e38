#include "backend/import/who.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "backend/import/natural_order.hpp"

namespace ringside::backend {
namespace {

constexpr std::int64_t kMaxWorld = 4'194'304;

bool is_host_like(const std::string& word) {
  static const re2::RE2 kNotHost(
      R"((?i)(?:cuda|gpu|dev|device|rank|step|epoch|port|tcp|udp|eth|ib|mlx|bond|ens|eno|worker|task|stage|layer|shard|head|bf|fp|int|float|nccl|torch|python)[\W_]?\d+[a-z]?|(?:[vha]100|g?h200|[bg]b?200|l40s?|rtx\d+|t4)s?)");
  return !word.empty() && !re2::RE2::FullMatch(word, kNotHost) && word.find('.') != 0;
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

Who::Who(const Facts& facts) {
  world_ = facts.world_size > 0 && facts.world_size <= kMaxWorld ? facts.world_size : 0;
  world_stated_ = world_ > 0;
  for (const Fact& fact : facts.facts)
    if (fact.kind == FactKind::NcclInit && fact.name != "topology")
      largest_comm_ = std::max(largest_comm_, fact.value);
  collect_hosts(facts);
  read_file_names(facts);
  decide_tasks(facts);
  learn(facts);
  int largest = -1;
  for (const int rank : seen_) largest = std::max(largest, rank);
  for (const Fact& fact : facts.facts)  // ranks that others name exist as well
    if (fact.kind == FactKind::HorovodStall || fact.kind == FactKind::BarrierMissing ||
        fact.kind == FactKind::FrMissing)
      for (const int rank : fact.named) largest = std::max(largest, rank);
  if (largest + 1 > world_) {
    world_ = largest + 1;
    world_stated_ = false;
  }
  infer_hosts();
  std::set<std::string> all(sure_hosts_.begin(), sure_hosts_.end());
  for (const auto& [rank, info] : ranks_)
    if (!info.host.empty()) all.insert(info.host);
  hosts_.assign(all.begin(), all.end());
  std::sort(hosts_.begin(), hosts_.end(), natural_less);
}

void Who::note_conflict(std::string text) {
  if (conflicts_.size() < 64) conflicts_.push_back(std::move(text));
}

void Who::collect_hosts(const Facts& facts) {
  for (const Fact& fact : facts.facts)
    if (!fact.who.host.empty()) sure_hosts_.insert(fact.who.host);
  // "rank 3 on gpu2" may mean a device. It is a host if neighbouring ranks share it, which devices of one
  // host do not.
  std::map<std::string, std::set<int>> guesses;
  for (const Fact& fact : facts.facts)
    if (fact.kind == FactKind::Identity && !fact.name.empty() && !is_host_like(fact.name))
      if (const int rank = fact.who.rank >= 0 ? fact.who.rank : fact.who.task; rank >= 0)
        guesses[fact.name].insert(rank);
  for (const auto& [name, ranks] : guesses)
    if (ranks.size() >= 2 && *ranks.rbegin() - *ranks.begin() + 1 == static_cast<int>(ranks.size()))
      sure_hosts_.insert(name);
  const auto stem = [](const std::string& name) {
    return name.substr(0, name.find_last_not_of("0123456789") + 1);
  };
  std::set<std::string> stems;
  for (const auto& [name, ranks] : guesses)
    if (sure_hosts_.count(name) != 0) stems.insert(stem(name));
  for (const auto& [name, ranks] : guesses)
    if (stems.count(stem(name)) != 0) sure_hosts_.insert(name);
}

namespace {

/// "job-991-0.out" … "job-991-3.out": one file for each rank of a job of four. Empty if the files are not so.
std::vector<int> numbered_ranks(const Facts& facts) {
  static const re2::RE2 kNumbered(R"(^(.*[^\d])(\d{1,6})((?:\.[A-Za-z]{2,8})+)$)");
  static const re2::RE2 kMachine(R"((?i)node|host|gpu|pod|machine|server|trainer)");
  const std::size_t count = facts.files.size();
  if (count < 2 || facts.world_size != static_cast<std::int64_t>(count)) return {};
  std::vector<int> ranks;
  std::set<int> numbers;
  std::string stem;
  for (const std::string& file : facts.files) {
    std::string before, after;
    int number = -1;
    if (!re2::RE2::FullMatch(base_name(file), kNumbered, &before, &number, &after)) return {};
    if (re2::RE2::PartialMatch(before, kMachine)) return {};
    if (stem.empty()) stem = before + after;
    if (stem != before + after || number < 0 || number >= static_cast<int>(count)) return {};
    ranks.push_back(number);
    numbers.insert(number);
  }
  return numbers.size() == count ? ranks : std::vector<int>{};
}

}  // namespace

/// "rank3.log", "rank_000300.log", "gpu-v03-dmesg.txt", "attempt_0/3/stderr.log".
void Who::read_file_names(const Facts& facts) {
  static const re2::RE2 kRank(R"((?i)(?:^|[^a-z])(?:global_?)?rank[_.-]?0*(\d{1,7})(?:[^\d]|$))");
  static const re2::RE2 kNumber(
      R"((?i)^(?:(?:log|out|err|stdout|stderr|output|train|worker|task|proc|process|job)[_.-]?)?0*(\d{1,6})(?:\.(?:log|txt|out|err|gz|zst|stdout|stderr))*$|^(?:log|out|err|stdout|stderr)\.0*(\d{1,6})$)");
  static const re2::RE2 kElastic(R"(attempt_\d+/(\d+)/std(?:err|out)\.log)");
  static const re2::RE2 kKernelLog(
      R"((?i)^([a-z][\w-]*?\d[\w-]*?)[-_.](?:dmesg|kern|kernel|journal|syslog|messages)(?:[-_.]|$)|^(?:dmesg|kern|kernel|journal|syslog|messages)[-_.]([a-z][\w-]*\d[\w-]*)(?:\.\w+)*$)");
  std::vector<bool> kernel(facts.files.size(), false);
  for (const Fact& fact : facts.facts)
    if (fact.layer == Layer::Kernel && fact.who.host.empty() && fact.file < kernel.size())
      kernel[fact.file] = true;
  file_hosts_.resize(facts.files.size());
  file_ranks_.assign(facts.files.size(), -1);
  file_locals_.assign(facts.files.size(), -1);
  std::size_t weak = 0;
  std::vector<int> weak_ranks(facts.files.size(), -1);
  for (std::size_t file = 0; file < facts.files.size(); ++file) {
    const std::string name = base_name(facts.files[file]);
    int number = -1;
    std::string one, two;
    if (re2::RE2::PartialMatch(name, kRank, &number)) {
      file_ranks_[file] = number;
    } else if (re2::RE2::PartialMatch(facts.files[file], kElastic, &number)) {
      file_locals_[file] = number;
    } else if (re2::RE2::PartialMatch(name, kNumber, &one, &two)) {
      weak_ranks[file] = std::atoi(one.empty() ? two.c_str() : one.c_str());
      ++weak;
    }
    for (const std::string& host : sure_hosts_) {
      const std::size_t at = name.find(host);
      if (at == std::string::npos || host.size() <= file_hosts_[file].size()) continue;
      const bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(name[at - 1]));
      const std::size_t end = at + host.size();
      const bool ends = end >= name.size() || !std::isalnum(static_cast<unsigned char>(name[end]));
      if (starts && ends) file_hosts_[file] = host;
    }
    // "n1-dmesg.txt" is about n1, also if nothing else is said of n1.
    if (kernel[file] && file_hosts_[file].empty() && re2::RE2::PartialMatch(name, kKernelLog, &one, &two)) {
      const std::string& host = one.empty() ? two : one;
      if (is_host_like(host)) {
        file_hosts_[file] = host;
        sure_hosts_.insert(host);
      }
    }
  }
  // Bare numbers are ranks only if every file is named so (and no line says otherwise, below).
  if (weak > 1 && weak == facts.files.size()) file_ranks_ = weak_ranks;
  if (const std::vector<int> numbered = numbered_ranks(facts); !numbered.empty()) file_ranks_ = numbered;
  // A file whose lines name other ranks is not one rank's file.
  std::vector<std::set<int>> stated(facts.files.size());
  for (const Fact& fact : facts.facts)
    if (fact.who.rank >= 0 && fact.kind != FactKind::ElasticEntry && fact.kind != FactKind::ElasticRoot &&
        fact.kind != FactKind::DdpUnused && fact.kind != FactKind::NanLocal &&
        fact.kind != FactKind::Identity)
      stated[fact.file].insert(fact.who.rank);
  for (std::size_t file = 0; file < facts.files.size(); ++file)
    if (stated[file].size() > 1 ||
        (stated[file].size() == 1 && file_ranks_[file] >= 0 && *stated[file].begin() != file_ranks_[file]))
      file_ranks_[file] = -1;
}

/// A task number is a rank where one task runs one rank. torchrun under srun is one task a node.
void Who::decide_tasks(const Facts& facts) {
  std::size_t agree = 0;
  std::size_t differ = 0;
  bool agent = false;
  for (const Fact& fact : facts.facts) {
    agent = agent || fact.layer == Layer::Elastic;
    if (fact.who.task < 0 || fact.who.rank < 0) continue;
    if (fact.kind == FactKind::Progress || fact.kind == FactKind::Identity || fact.layer == Layer::Torch)
      ++(fact.who.task == fact.who.rank ? agree : differ);
  }
  if (agree + differ > 0)
    task_is_rank_ = agree > differ;
  else
    task_is_rank_ = !agent;
}

void Who::set_host(int rank, const std::string& host) {
  if (rank < 0 || host.empty()) return;
  RankInfo& info = ranks_[rank];
  if (info.host.empty())
    info.host = host;
  else if (info.host != host)
    note_conflict("rank " + std::to_string(rank) + " is on " + info.host + " and on " + host);
}

void Who::learn_one(const Fact& fact) {
  int rank = fact.who.rank;
  if (rank < 0 && fact.who.task >= 0 && task_is_rank_) rank = fact.who.task;
  if (fact.kind == FactKind::NcclInit) {
    if (fact.name == "address") {
      if (!fact.who.host.empty() && !fact.peer.empty()) by_address_.emplace(fact.peer, fact.who.host);
      if (rank < 0) return;
    } else if (fact.value > 0 && fact.value < std::max(largest_comm_, world_)) {
      return;  // a rank inside a smaller communicator
    }
  }
  std::string host = fact.who.host;
  if (host.empty() && fact.kind == FactKind::Identity &&
      (sure_hosts_.count(fact.name) != 0 || is_host_like(fact.name)))
    host = fact.name;
  if (host.empty() && fact.file < file_hosts_.size() && fact.kind != FactKind::ElasticEntry)
    host = file_hosts_[fact.file];
  if (fact.kind == FactKind::Identity && !fact.named.empty())
    for (const int one : fact.named) set_host(one, host);
  if (fact.kind == FactKind::TaskEnded && task_is_rank_)
    for (const int task : fact.named) {
      set_host(task, fact.who.host);
      seen_.insert(task);
    }
  if (rank < 0 && fact.file < file_ranks_.size() && fact.kind != FactKind::TaskEnded)
    rank = file_ranks_[fact.file];
  if (rank < 0 || rank >= kMaxWorld) return;
  if (fact.kind != FactKind::DdpUnused && fact.kind != FactKind::Overflow) seen_.insert(rank);
  if (fact.kind == FactKind::MpiError || fact.kind == FactKind::Overflow) return;
  RankInfo& info = ranks_[rank];
  set_host(rank, host);
  if (fact.who.pid > 0 && fact.layer != Layer::Kernel) {
    const auto [found, fresh] = by_pid_.try_emplace({host, fact.who.pid}, rank);
    if (fresh) {
      const auto [bare, first] = by_bare_pid_.try_emplace(fact.who.pid, rank);
      if (!first && bare->second != rank) bare->second = -2;
    }
    if (info.pid < 0) info.pid = fact.who.pid;
  }
  if (fact.who.local_rank >= 0 && fact.kind != FactKind::ElasticEntry && fact.kind != FactKind::ElasticRoot) {
    const auto [in_file, fresh] = by_file_local_.try_emplace({fact.file, fact.who.local_rank}, rank);
    if (!fresh && in_file->second != rank) in_file->second = -2;  // several nodes in one file
  }
  if (fact.who.local_rank >= 0) {
    if (info.local_rank < 0) info.local_rank = fact.who.local_rank;
    by_local_.emplace(std::make_pair(host.empty() ? info.host : host, fact.who.local_rank), rank);
  }
  if (fact.who.device >= 0 && info.device < 0) info.device = fact.who.device;
  if (!fact.bus.empty() && (fact.kind == FactKind::NcclInit || fact.kind == FactKind::Identity)) {
    std::string bus = fact.bus;
    if (bus.find(':') == std::string::npos && bus.size() <= 4)
      bus = "0000:" + bus.substr(bus.rfind('x') == std::string::npos ? 0 : bus.rfind('x') + 1) +
            ":00";  // nccl-tests
    if (info.bus.empty()) info.bus = bus;
    by_bus_.emplace(std::make_pair(host.empty() ? info.host : host, bus), rank);
  }
  if (!fact.peer.empty() && fact.kind == FactKind::Identity && !host.empty())
    by_address_.emplace(fact.peer, host);
}

void Who::learn(const Facts& facts) {
  // Files in which the same local rank speaks are of different nodes; a device number is no rank then.
  std::map<int, std::uint32_t> file_of_local;
  for (const Fact& fact : facts.facts)
    if (fact.kind == FactKind::Progress && fact.who.rank < 0 && fact.who.local_rank >= 0 &&
        fact.who.host.empty()) {
      const auto [found, fresh] = file_of_local.try_emplace(fact.who.local_rank, fact.file);
      several_nodes_ = several_nodes_ || (!fresh && found->second != fact.file);
    }
  // What is stated together with a rank first; the launcher's table last, since it may be of a later attempt.
  for (const Fact& fact : facts.facts) {
    if (fact.kind == FactKind::ElasticEntry || fact.kind == FactKind::ElasticRoot) continue;
    if (fact.kind == FactKind::RasOutlier || fact.kind == FactKind::FrMissing) continue;
    learn_one(fact);
  }
  for (const Fact& fact : facts.facts)
    if (fact.kind == FactKind::ElasticEntry || fact.kind == FactKind::ElasticRoot) learn_one(fact);
}

/// Ranks are numbered node by node: a rank between two ranks of one host is on that host.
void Who::infer_hosts() {
  std::map<int, std::string> known;
  for (const auto& [rank, info] : ranks_)
    if (!info.host.empty()) known[rank] = info.host;
  std::set<std::string> names;
  for (const auto& [rank, host] : known) names.insert(host);
  if (known.empty() && sure_hosts_.size() > 1 && world_ > 0 &&
      world_ % static_cast<std::int64_t>(sure_hosts_.size()) == 0) {
    // Nothing but the names of the hosts: ranks are given out in their order.
    std::vector<std::string> order(sure_hosts_.begin(), sure_hosts_.end());
    std::sort(order.begin(), order.end(), natural_less);
    const std::int64_t each = world_ / static_cast<std::int64_t>(order.size());
    for (const int rank : seen_) {
      const std::size_t node = static_cast<std::size_t>(rank / each);
      if (node < order.size()) {
        ranks_[rank].host = order[node];
        ranks_[rank].host_inferred = true;
      }
    }
    return;
  }
  for (auto& [rank, info] : ranks_) {
    if (!info.host.empty() || known.empty()) continue;
    const auto above = known.upper_bound(rank);
    if (above != known.end() && above != known.begin() && std::prev(above)->second == above->second) {
      info.host = above->second;
      info.host_inferred = true;
    }
  }
}

const RankInfo* Who::info(int rank) const {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : &found->second;
}

int Who::rank_of_pid(const std::string& host, std::int64_t pid) const {
  if (pid <= 0) return -1;
  if (const auto found = by_pid_.find({host, pid}); found != by_pid_.end()) return found->second;
  if (const auto found = by_bare_pid_.find(pid); found != by_bare_pid_.end() && found->second >= 0)
    return found->second;
  return -1;
}

int Who::rank_of_local(const std::string& host, int local_rank) const {
  if (local_rank < 0) return -1;
  if (const auto found = by_local_.find({host, local_rank}); found != by_local_.end()) return found->second;
  if (!host.empty()) return -1;
  // Without a host, the local rank is only unique when there is one host.
  int only = -1;
  for (const auto& [key, rank] : by_local_)
    if (key.second == local_rank) {
      if (only >= 0 && only != rank) return -1;
      only = rank;
    }
  if (only < 0 && sure_hosts_.size() <= 1 && (world_ == 0 || local_rank < world_)) return local_rank;
  return only;
}

int Who::rank_at_bus(const std::string& host, const std::string& bus) const {
  if (bus.empty()) return -1;
  if (const auto found = by_bus_.find({host, bus}); found != by_bus_.end()) return found->second;
  int only = -1;
  for (const auto& [key, rank] : by_bus_) {
    if (key.second != bus || (!host.empty() && !key.first.empty() && key.first != host)) continue;
    if (only >= 0 && only != rank) return -1;
    only = rank;
  }
  return only;
}

int Who::rank_of(const Fact& fact) const {
  if (fact.who.rank >= 0) return fact.who.rank;
  if (fact.who.task >= 0 && task_is_rank_) return fact.who.task;
  const std::string& host = fact.who.host.empty() ? file_host(fact.file) : fact.who.host;
  if (const int rank = rank_of_pid(host, fact.who.pid); rank >= 0) return rank;
  if (const int rank = file_rank(fact.file); rank >= 0) return rank;
  // A file of one node says which rank its local ranks are, where no host is named.
  if (const auto found = by_file_local_.find({fact.file, fact.who.local_rank});
      found != by_file_local_.end() && fact.who.host.empty() && found->second >= 0)
    return found->second;
  if (const int rank = rank_of_local(host, fact.who.local_rank); rank >= 0) return rank;
  if (fact.file < file_locals_.size() && file_locals_[fact.file] >= 0)
    return rank_of_local(host, file_locals_[fact.file]);
  if (fact.kind == FactKind::Xid || fact.kind == FactKind::GpuLost || fact.kind == FactKind::DeviceFault)
    return rank_at_bus(host.empty() && hosts_.size() == 1 ? hosts_.front() : host, fact.bus);
  if ((fact.kind == FactKind::Progress || fact.kind == FactKind::StepTime || fact.kind == FactKind::CudaOom ||
       fact.kind == FactKind::NanLocal) &&
      fact.who.device >= 0 && fact.who.pid < 0 && sure_hosts_.size() <= 1 && hosts_.size() <= 1 &&
      !several_nodes_)
    return rank_of_local(sure_hosts_.empty() ? std::string() : *sure_hosts_.begin(), fact.who.device) >= 0
               ? rank_of_local(sure_hosts_.empty() ? std::string() : *sure_hosts_.begin(), fact.who.device)
               : fact.who.device;
  return -1;
}

std::string Who::host_of_rank(int rank) const {
  const RankInfo* known = info(rank);
  if (known != nullptr && !known->host.empty()) return known->host;
  if (rank < 0 || hosts_.empty()) return {};
  if (hosts_.size() == 1) return hosts_.front();
  // Between two ranks of one host, or in the block that its host's local ranks span.
  std::string below;
  std::string above;
  int below_base = -1;
  for (const auto& [other, other_info] : ranks_) {
    if (other_info.host.empty()) continue;
    if (other < rank) {
      below = other_info.host;
      below_base = other_info.local_rank >= 0 ? other - other_info.local_rank : -1;
    } else if (other > rank) {
      above = other_info.host;
      break;
    }
  }
  if (!below.empty() && below == above) return below;
  int widest = -1;
  for (const auto& [key, other] : by_local_) widest = std::max(widest, key.second);
  if (below_base >= 0 && rank - below_base <= widest) return below;
  return {};
}

std::string Who::host_of(const Fact& fact) const {
  if (!fact.who.host.empty()) return fact.who.host;
  if (!file_host(fact.file).empty()) return file_host(fact.file);
  if (fact.layer == Layer::Kernel) {
    if (const int rank = rank_of_pid({}, fact.who.pid); rank >= 0) return host_of_rank(rank);
    return hosts_.size() == 1 ? hosts_.front() : std::string();
  }
  if (fact.kind == FactKind::NodeFailed) return {};
  return host_of_rank(rank_of(fact));
}

std::string Who::host_of_address(const std::string& address) const {
  if (sure_hosts_.count(address) != 0) return address;
  const auto found = by_address_.find(address);
  if (found != by_address_.end()) return found->second;
  const std::size_t dot = address.find('.');  // "gpu-x02.cluster.local"
  if (dot != std::string::npos && sure_hosts_.count(address.substr(0, dot)) != 0)
    return address.substr(0, dot);
  return {};
}

const std::string& Who::file_host(std::uint32_t file) const {
  static const std::string kNone;
  return file < file_hosts_.size() ? file_hosts_[file] : kNone;
}

int Who::file_rank(std::uint32_t file) const {
  return file < file_ranks_.size() ? file_ranks_[file] : -1;
}

}  // namespace ringside::backend
