#include "backend/import/flight_recorder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "backend/import/pickle.hpp"

namespace ringside::backend {
namespace {

using Ref = PlainData::Ref;

// A hostile dump may refer to one shared value very often, so what is kept of each is bounded.
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxEntries = 400'000;   // read of one dump
constexpr std::size_t kKeepCompleted = 2'000;  // the recorder's own default size
constexpr std::size_t kMaxGroups = 200'000;
constexpr std::size_t kMaxMembers = 16'000'000;  // over all groups
constexpr std::size_t kMaxTexts = 2'000'000;
constexpr std::size_t kShownTensors = 8;
constexpr std::size_t kMaxTensors = 4'096;
constexpr std::size_t kMaxDims = 64;
constexpr std::size_t kMaxFrames = 64;
constexpr std::size_t kMaxFields = 64;  // keys of one entry, frame or group
constexpr std::uint32_t kUnknownGroup = 0xFFFFFFFFu;

std::vector<int> parse_ranks(std::string_view text) {
  std::vector<int> ranks;
  for (std::size_t at = 0; at < text.size();) {
    int value = 0;
    const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code == std::errc() && value >= 0) ranks.push_back(value);
    const auto next = static_cast<std::size_t>(end - text.data());
    at = next > at ? next : at + 1;
  }
  return ranks;
}

/// "[0, 1, 2]", whether the dump holds it as text or as a list.
std::string ranks_text(const Ref& ranks) {
  if (ranks.is_text()) return std::string(ranks.text());
  std::string out;
  if (!ranks.is_list()) return out;
  for (std::size_t i = 0; i < ranks.size() && i < 1'000'000; ++i)
    out += std::to_string(ranks.at(i).integer_or(-1)) + ", ";
  return out;
}

/// Shapes as torchfrtrace prints them. A long list shows its first tensors and a digest of all, so that it
/// still compares.
std::string sizes_text(const Ref& sizes) {
  std::string out = "[";
  std::uint64_t digest = 0xcbf29ce484222325ULL;
  const std::size_t tensors = std::min(sizes.size(), kMaxTensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    const Ref dims = sizes.at(i);
    const bool shown = i < kShownTensors;
    if (shown) out += i > 0 ? ", [" : "[";
    for (std::size_t d = 0; d < std::min(dims.size(), kMaxDims); ++d) {
      const std::int64_t extent = dims.at(d).integer_or(-1);
      digest = (digest ^ static_cast<std::uint64_t>(extent)) * 0x100000001b3ULL;
      if (shown) out += (d > 0 ? ", " : "") + std::to_string(extent);
    }
    digest = (digest ^ 0x5D) * 0x100000001b3ULL;
    if (shown) out += "]";
  }
  if (sizes.size() > kShownTensors)
    out += ", … " + std::to_string(sizes.size()) + " tensors #" + std::to_string(digest % 100'000'000);
  return out + "]";
}

std::string dtypes_text(const Ref& dtypes) {
  std::string out;
  std::string_view last;
  for (std::size_t i = 0; i < std::min(dtypes.size(), kMaxTensors) && out.size() < kMaxText; ++i) {
    const std::string_view dtype = dtypes.at(i).text().substr(0, 32);
    if (i > 0 && dtype == last) continue;  // a list of tensors is almost always of one dtype
    out += (out.empty() ? "" : ", ") + std::string(dtype);
    last = dtype;
  }
  return out;
}

/// The innermost frame outside torch, where the program made the call; else the innermost one.
std::string site_text(const Ref& frames) {
  std::string innermost;
  for (std::size_t i = 0; i < std::min(frames.size(), kMaxFrames); ++i) {
    const Ref frame = frames.at(i);
    if (frame.size() > kMaxFields) continue;
    std::string_view file = frame.find("filename").text();
    if (file.empty()) continue;
    const bool torch = file.find("torch/") != std::string_view::npos;
    file = file.substr(file.rfind('/') + 1).substr(0, 100);
    std::string text = std::string(frame.find("name").text().substr(0, 100)) + " (" + std::string(file) +
                       ":" + std::to_string(frame.find("line").integer_or(0)) + ")";
    if (!torch) return text;
    if (innermost.empty()) innermost = std::move(text);
  }
  return innermost;
}

/// "nccl:send 1->2", "nccl:recv 3<-0", "nccl:all_reduce": the call, and for p2p the peer's group rank.
std::pair<std::string_view, int> parse_name(std::string_view name) {
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  const std::size_t space = name.find(' ');
  const std::string_view op = name.substr(0, space);
  if (space == std::string_view::npos) return {op, -1};
  const std::size_t digits = name.find_last_not_of("0123456789");
  int peer = -1;
  if (digits != std::string_view::npos && digits + 1 < name.size())
    std::from_chars(name.data() + digits + 1, name.data() + name.size(), peer);
  return {op, peer};
}

FrState state_of(std::string_view word) {
  if (word == "completed") return FrState::Completed;
  return word == "started" ? FrState::Started : FrState::Scheduled;
}

/// Calls inside a batch get no state of their own (torch only tracks the batch, an entry "coalesced" that
/// ends it and shares its sequence number), so they would look unfinished forever.
void apply_batches(std::vector<FrEntry>& entries, std::uint32_t coalesced) {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::size_t>> open[2];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    FrEntry& entry = entries[i];
    auto& batches = open[entry.p2p ? 1 : 0];
    const std::pair key{entry.group, entry.p2p ? entry.p2p_seq : entry.seq};
    if (entry.op != coalesced) {
      if (entry.state != FrState::Completed) batches[key].push_back(i);
      continue;
    }
    const auto found = batches.find(key);
    if (found == batches.end()) continue;
    for (const std::size_t member : found->second) {
      entries[member].state = entry.state;
      entries[member].retired = entry.retired;
    }
    batches.erase(found);
  }
}

void keep_newest(std::vector<FrEntry>& entries) {
  std::size_t completed = 0;
  for (const auto& entry : entries) completed += entry.state == FrState::Completed;
  if (completed <= kKeepCompleted) return;
  std::size_t drop = completed - kKeepCompleted;
  std::erase_if(entries, [&](const FrEntry& entry) {
    if (drop == 0 || entry.state != FrState::Completed) return false;
    --drop;
    return true;
  });
}

}  // namespace

std::string_view to_word(FrState state) {
  static constexpr std::array<std::string_view, 3> kWords = {"scheduled", "started", "completed"};
  return kWords[static_cast<std::size_t>(state)];
}

int rank_from_dump_name(std::string_view name) {
  for (bool stripped = true; stripped;) {
    stripped = false;
    for (const std::string_view end : {".json", ".pickle", ".pkl", ".gz", ".zst"}) {
      if (name.size() <= end.size() || name.substr(name.size() - end.size()) != end) continue;
      name.remove_suffix(end.size());
      stripped = true;
    }
  }
  const std::size_t before = name.find_last_not_of("0123456789");
  const std::string_view digits = before == std::string_view::npos ? name : name.substr(before + 1);
  int rank = -1;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return code == std::errc() && end == digits.data() + digits.size() && !digits.empty() && rank < (1 << 24)
             ? rank
             : -1;
}

const FrDump* FlightRecorder::dump_of(int rank) const {
  const auto found = std::lower_bound(dumps.begin(), dumps.end(), rank,
                                      [](const FrDump& dump, int value) { return dump.rank < value; });
  return found != dumps.end() && found->rank == rank ? &*found : nullptr;
}

std::vector<int> FlightRecorder::expected_ranks() const {
  std::set<int> ranks;
  for (const auto& group : groups)
    if (group.certain) ranks.insert(group.ranks.begin(), group.ranks.end());
  for (const auto& dump : dumps) ranks.insert(dump.rank);
  return {ranks.begin(), ranks.end()};
}

struct FrReader::Config {
  std::map<std::string, std::uint32_t, std::less<>> by_name;
  std::map<std::int64_t, std::uint32_t> by_local_id;
  // Texts made of shared values: made once, so that work stays in proportion to the size of the dump.
  std::unordered_map<PlainData::Id, std::uint32_t> sizes, dtypes, sites;
};

std::uint32_t FrReader::text_id(std::string_view text) {
  if (text.empty()) return 0;
  text = text.substr(0, kMaxText);
  const auto [found, fresh] =
      text_ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(recorder_.texts.size()));
  if (!fresh) return found->second;
  if (recorder_.texts.size() >= kMaxTexts) {
    text_ids_.erase(found);
    return 0;
  }
  recorder_.texts.emplace_back(text);
  return found->second;
}

std::uint32_t FrReader::group_id(std::string_view name, std::string_view desc, const std::string& ranks) {
  name = name.substr(0, kMaxText);
  const std::string key = std::string(name) + '\n' + ranks;
  if (const auto found = group_ids_.find(key); found != group_ids_.end()) return found->second;
  std::vector<int> members = parse_ranks(ranks);
  if (recorder_.groups.size() >= kMaxGroups || members.size() > kMaxMembers - members_) return kUnknownGroup;
  members_ += members.size();
  const auto id = static_cast<std::uint32_t>(recorder_.groups.size());
  const bool certain = !members.empty();
  recorder_.groups.push_back(
      {std::string(name), std::string(desc.substr(0, kMaxText)), std::move(members), certain});
  group_ids_.emplace(key, id);
  return id;
}

void FrReader::read_config(const Ref& root, Config& config) {
  const Ref groups = root.find("pg_config");
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxGroups); ++i) {
    const Ref group = groups.at(i);
    const std::string_view key = groups.key_at(i).text();
    const std::string_view name = group.find("name").is_text() ? group.find("name").text() : key;
    const std::uint32_t id = group_id(name, group.find("desc").text(), ranks_text(group.find("ranks")));
    if (id != kUnknownGroup) config.by_name[std::string(name.substr(0, kMaxText))] = id;
  }
  // Counters are kept by local id, groups by name. Both are given in the order of creation, so sorted by
  // number they pair up; entries, which carry both, correct this where they disagree.
  const Ref status = root.find("pg_status");
  if (status.size() != groups.size() || config.by_name.size() != groups.size()) return;
  std::map<std::int64_t, std::uint32_t> names;
  std::vector<std::int64_t> ids;
  for (const auto& [name, id] : config.by_name) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (code != std::errc() || end != name.data() + name.size()) return;
    names[number] = id;
  }
  for (std::size_t i = 0; i < status.size(); ++i) ids.push_back(status.key_at(i).integer_or(-1));
  std::sort(ids.begin(), ids.end());
  if (names.size() != ids.size() || ids.empty() || ids.front() < 0) return;
  auto name = names.begin();
  for (const std::int64_t id : ids) config.by_local_id[id] = (name++)->second;
}

std::uint32_t FrReader::group_of(const Ref& entry, Config& config) {
  const std::int64_t local = entry.find("pg_id").integer_or(-1);
  const Ref pair = entry.find("process_group");
  if (pair.size() == 0) {  // before 2.1
    const auto found = config.by_local_id.find(local);
    if (found != config.by_local_id.end()) return found->second;
    return group_id("#" + std::to_string(local), "", "");
  }
  const std::string_view name = pair.at(0).text().substr(0, kMaxText);
  const auto found = config.by_name.find(name);
  const std::uint32_t id =
      found != config.by_name.end() ? found->second : group_id(name, pair.at(1).text(), "");
  if (local >= 0 && id != kUnknownGroup && config.by_local_id.size() < kMaxGroups)
    config.by_local_id[local] = id;
  return id;
}

FrEntry FrReader::read_entry(const Ref& entry, Config& config) {
  FrEntry out;
  out.group = group_of(entry, config);
  out.record_id = entry.find("record_id").integer_or(-1);
  const Ref seq = entry.find("collective_seq_id");
  out.seq = (seq ? seq : entry.find("seq_id")).integer_or(-1);
  out.p2p_seq = entry.find("p2p_seq_id").integer_or(0);
  out.created_ns = entry.find("time_created_ns").integer_or(0);
  out.completed_ns = entry.find("time_discovered_completed_ns").integer_or(0);
  const auto [op, peer] = parse_name(entry.find("profiling_name").text());
  out.op = text_id(op);
  out.peer = peer;
  const bool named_p2p = op == "send" || op == "recv";
  out.p2p = entry.find("is_p2p").boolean().value_or(named_p2p);
  const auto once = [&](auto& made, std::string_view key, auto make) -> std::uint32_t {
    const Ref value = entry.find(key);
    if (!value.is_list()) return 0;
    const auto [found, fresh] = made.try_emplace(value.id(), 0);
    if (fresh) found->second = text_id(make(value));
    return found->second;
  };
  out.input_sizes = once(config.sizes, "input_sizes", sizes_text);
  out.output_sizes = once(config.sizes, "output_sizes", sizes_text);
  out.input_dtypes = once(config.dtypes, "input_dtypes", dtypes_text);
  out.output_dtypes = once(config.dtypes, "output_dtypes", dtypes_text);
  out.site = once(config.sites, "frames", site_text);
  const std::int64_t timeout = entry.find("timeout_ms").integer_or(0);
  out.timeout_ms = static_cast<std::int32_t>(std::clamp<std::int64_t>(timeout, 0, INT32_MAX));
  out.state = state_of(entry.find("state").text());
  out.retired = entry.find("retired").boolean().value_or(false);
  return out;
}

void FrReader::read_status(const Ref& root, const Config& config, FrDump& dump) {
  const Ref status = root.find("pg_status");
  for (std::size_t i = 0; i < std::min(status.size(), kMaxGroups); ++i) {
    const auto group = config.by_local_id.find(status.key_at(i).integer_or(-1));
    if (group == config.by_local_id.end()) continue;
    const Ref one = status.at(i);
    dump.status[group->second] = {one.find("last_enqueued_collective").integer_or(-1),
                                  one.find("last_started_collective").integer_or(-1),
                                  one.find("last_completed_collective").integer_or(-1)};
  }
}

sim::Status FrReader::add(std::string_view name, std::string_view document, InputKind kind) {
  const std::string file(name);
  const int rank = rank_from_dump_name(name);
  if (rank < 0)
    return sim::Error{.what = "its name does not end with a rank, so it is not known whose dump it is",
                      .file = file,
                      .hint = "Name the dumps as nccl_trace_rank_<rank>"};
  if (has_rank(rank))
    return sim::Error{.what = "is a second dump of rank " + std::to_string(rank) + ": left out",
                      .file = file};
  auto data =
      kind == InputKind::FlightRecorderPickle ? parse_pickle(document, name) : parse_json(document, name);
  if (!data) return data.error();
  const Ref root = data->root();
  if (!root.is_dict() || (!root.find("entries") && !root.find("pg_config") && !root.find("pg_status")))
    return sim::Error{.what = "is no Flight Recorder dump: it has neither entries nor process groups",
                      .file = file};

  if (recorder_.texts.empty()) recorder_.texts.emplace_back();
  FrDump dump;
  dump.rank = rank;
  dump.file = file;
  dump.version = root.find("version").text().substr(0, 32);
  const Ref library = root.find("comm_lib_version");
  dump.library = (library ? library : root.find("nccl_version")).text().substr(0, 32);
  Config config;
  read_config(root, config);
  const Ref entries = root.find("entries");
  const std::size_t first =
      entries.size() > kMaxEntries ? entries.size() - kMaxEntries : 0;  // the newest stand last
  for (std::size_t i = first; i < entries.size(); ++i) {
    if (!entries.at(i).is_dict() || entries.at(i).size() > kMaxFields) continue;
    const FrEntry entry = read_entry(entries.at(i), config);
    if (entry.group != kUnknownGroup) dump.entries.push_back(entry);
  }
  std::stable_sort(dump.entries.begin(), dump.entries.end(),
                   [](const FrEntry& a, const FrEntry& b) { return a.record_id < b.record_id; });
  apply_batches(dump.entries, text_id("coalesced"));
  keep_newest(dump.entries);
  dump.entries.shrink_to_fit();
  read_status(root, config, dump);
  ranks_[rank] = recorder_.dumps.size();
  recorder_.dumps.push_back(std::move(dump));
  return sim::ok();
}

FlightRecorder FrReader::finish() {
  std::map<std::uint32_t, std::set<int>> users;
  for (const auto& dump : recorder_.dumps) {
    for (const auto& entry : dump.entries)
      if (!recorder_.groups[entry.group].certain) users[entry.group].insert(dump.rank);
    for (const auto& [group, status] : dump.status)
      if (!recorder_.groups[group].certain) users[group].insert(dump.rank);
  }
  for (const auto& [group, ranks] : users) recorder_.groups[group].ranks.assign(ranks.begin(), ranks.end());
  std::sort(recorder_.dumps.begin(), recorder_.dumps.end(),
            [](const FrDump& a, const FrDump& b) { return a.rank < b.rank; });
  if (recorder_.texts.empty()) recorder_.texts.emplace_back();
  FlightRecorder out = std::move(recorder_);
  *this = FrReader();
  return out;
}

std::vector<FlightRecorder> read_flight_recorders(const InputSet& set, InputMeter* meter) {
  const auto folder_of = [](const InputFile& file) { return file.path.substr(0, file.path.rfind('/') + 1); };
  std::vector<const InputFile*> files;
  std::set<int> ranks;
  bool again = false;
  for (const auto& file : set.files) {
    if (file.kind != InputKind::FlightRecorderPickle && file.kind != InputKind::FlightRecorderJson) continue;
    files.push_back(&file);
    again = !ranks.insert(rank_from_dump_name(file.name)).second || again;
  }
  std::map<std::string, std::pair<FrReader, std::vector<sim::Error>>> jobs;
  for (const auto* file : files) {
    auto& [reader, problems] = jobs[again ? folder_of(*file) : ""];
    const auto document = read_document(*file, meter);
    const sim::Status added =
        document ? reader.add(file->name, *document, file->kind) : sim::Status(document.error());
    if (!added) problems.push_back(added.error());
    if (meter != nullptr) meter->file_done();
    if (meter != nullptr && meter->cancelled()) break;
  }
  std::vector<FlightRecorder> out;
  for (auto& [folder, job] : jobs) {
    out.push_back(job.first.finish());
    out.back().problems = std::move(job.second);
  }
  return out;
}

}  // namespace ringside::backend
