// Makes Flight Recorder dumps for tests: a small job whose ranks make calls, written as torch writes them
// (pickle with the memo, or JSON).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/import/fr_diagnosis.hpp"
#include "pickle_writer.hpp"
#include "sim/base/json_writer.hpp"

namespace ringside::test {

struct FrCall {
  std::string group, op;
  std::int64_t seq = 0;
  std::vector<std::int64_t> shape = {1024};
  std::string dtype = "Float";
  std::string state = "completed";
  bool p2p = false;
  std::int64_t p2p_seq = 0;
  bool retired = false;
  std::string file = "loop.py";
  std::vector<std::int64_t> output = {};  // shape of the output; empty: as `shape`
};

class FrJob {
 public:
  explicit FrJob(int world) {
    std::vector<int> all;
    for (int r = 0; r < world; ++r) all.push_back(r);
    group("0", "default_pg", all);
    for (int r = 0; r < world; ++r) ranks_[r] = {};
  }
  FrJob& group(const std::string& name, const std::string& desc, const std::vector<int>& ranks) {
    groups_.push_back({name, desc, ranks});
    return *this;
  }
  /// Appends a call to each of `ranks`; its sequence number is the next one of that rank in the group.
  FrJob& call(const std::vector<int>& ranks, const std::string& op, FrCall call = {}) {
    call.op = op;
    if (call.group.empty()) call.group = "0";
    for (const int r : ranks) {
      FrCall mine = call;
      auto& counter = counters_[{r, call.group}];
      mine.seq = call.p2p ? counter.first : ++counter.first;
      mine.p2p_seq = call.p2p ? ++counter.second : 0;
      ranks_.at(r).push_back(mine);
    }
    return *this;
  }
  FrJob& send(int from, int to, const std::string& state = "scheduled") {
    return p2p(from, "send", "->", to, state);
  }
  FrJob& recv(int to, int from, const std::string& state = "scheduled") {
    return p2p(to, "recv", "<-", from, state);
  }
  FrJob& lose_dump(int rank) {
    ranks_.erase(rank);
    return *this;
  }
  FrJob& only_active(int rank) {
    std::erase_if(ranks_.at(rank), [](const FrCall& call) { return call.state == "completed"; });
    return *this;
  }
  std::string version = "2.10";
  bool json = false;

  std::string dump(int rank) const { return json ? json_dump(rank) : pickle_dump(rank); }
  backend::FlightRecorder read() const {
    backend::FrReader reader;
    for (const auto& [rank, calls] : ranks_) {
      const auto kind =
          json ? backend::InputKind::FlightRecorderJson : backend::InputKind::FlightRecorderPickle;
      const std::string name = "nccl_trace_rank_" + std::to_string(rank) + (json ? ".json" : "");
      const auto added = reader.add(name, dump(rank), kind);
      if (!added) problems.push_back(added.error().message());
    }
    return reader.finish();
  }
  sim::Diagnosis diagnose() const { return backend::diagnose(read()); }
  mutable std::vector<std::string> problems;

 private:
  struct Group {
    std::string name, desc;
    std::vector<int> ranks;
    std::string text() const {
      std::string out = "[";
      for (const int r : ranks) out += (out.size() > 1 ? ", " : "") + std::to_string(r);
      return out + "]";
    }
    bool has(int rank) const { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); }
  };

  FrJob& p2p(int rank, const std::string& op, const std::string& arrow, int peer, const std::string& state) {
    FrCall mine;
    mine.state = state;
    mine.p2p = true;
    return call({rank}, op + " " + std::to_string(rank) + arrow + std::to_string(peer), mine);
  }
  struct Member {
    const Group* group;
    int id;  // local, counts from 0 on each rank
  };
  std::vector<Member> groups_of(int rank) const {  // with local ids, which count from 0 on each rank
    std::vector<Member> out;
    for (const auto& group : groups_)
      if (group.has(rank)) out.push_back({&group, static_cast<int>(out.size())});
    return out;
  }
  std::int64_t counter(int rank, const std::string& group, bool completed) const {
    std::int64_t last = completed                        ? 0
                        : counters_.count({rank, group}) ? counters_.at({rank, group}).first
                                                         : 0;
    if (completed) {
      const auto lost = ranks_.at(rank);
      last = counters_.count({rank, group}) ? counters_.at({rank, group}).first : 0;
      for (const auto& call : lost)
        if (call.group == group && !call.p2p && call.state != "completed")
          last = std::min(last, call.seq - 1);
    }
    return last;
  }
  std::string pickle_dump(int rank) const {
    PickleWriter w;
    const auto groups = groups_of(rank);
    w.dict([&](PickleWriter& p) {
      p.text("version").text(version);
      p.text("pg_config").dict([&](PickleWriter& q) {
        for (const Member& one : groups)
          q.text(one.group->name).dict([&](PickleWriter& g) {
            g.text("name")
                .text(one.group->name)
                .text("desc")
                .text(one.group->desc)
                .text("ranks")
                .text(one.group->text());
          });
      });
      p.text("nccl_version").text("2.27.3");
      p.text("pg_status").dict([&](PickleWriter& q) {
        for (const Member& one : groups)
          q.text(std::to_string(one.id)).dict([&](PickleWriter& g) {
            g.text("last_enqueued_collective").integer(counter(rank, one.group->name, false));
            g.text("last_started_collective").integer(-1);
            g.text("last_completed_collective").integer(counter(rank, one.group->name, true));
          });
      });
      p.text("entries").list([&](PickleWriter& q) {
        std::int64_t record = 0;
        for (const auto& call : ranks_.at(rank)) pickle_entry(q, rank, call, record++);
      });
    });
    return w.done();
  }
  void pickle_entry(PickleWriter& q, int rank, const FrCall& call, std::int64_t record) const {
    const auto groups = groups_of(rank);
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& g) { return g.group->name == call.group; });
    const auto sizes_of = [](const std::vector<std::int64_t>& shape) {
      return [&shape](PickleWriter& s) {
        s.list([&](PickleWriter& dims) {
          for (const auto extent : shape) dims.integer(extent);
        });
      };
    };
    const auto& output = call.output.empty() ? call.shape : call.output;
    q.dict([&](PickleWriter& e) {
      e.text("record_id").integer(record).text("pg_id").integer(found->id);
      e.text("process_group").text(call.group).text(found->group->desc).op('\x86');
      e.text(version == "2.2" ? "seq_id" : "collective_seq_id")
          .integer(call.seq)
          .text("p2p_seq_id")
          .integer(call.p2p_seq);
      e.text("op_id").integer(call.seq + call.p2p_seq).text("profiling_name").text("nccl:" + call.op);
      e.text("time_created_ns").integer(1758610505592849034 + record);
      e.text("input_sizes").list(sizes_of(call.shape)).text("output_sizes").list(sizes_of(output));
      if (version != "2.2") {
        e.text("input_dtypes").list([&](PickleWriter& s) { s.text(call.dtype); });
        e.text("output_dtypes").list([&](PickleWriter& s) { s.text(call.dtype); });
      }
      e.text("state").text(call.state).text("time_discovered_started_ns").none();
      e.text("retired")
          .boolean(call.retired)
          .text("timeout_ms")
          .integer(600'000)
          .text("is_p2p")
          .boolean(call.p2p);
      e.text("frames").list([&](PickleWriter& frames) {
        for (const char* file :
             {"/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
              call.file.c_str()})
          frames.dict([&](PickleWriter& f) {
            f.text("name").text("train_step").text("filename").text(file).text("line").integer(131);
          });
      });
    });
  }
  std::string json_dump(int rank) const {
    std::string out;
    sim::JsonWriter j(out);
    j.begin_object().field("version", version).field("comm_lib_version", "2.28.3");
    j.key("pg_config").begin_object();
    const auto groups = groups_of(rank);
    for (const Member& one : groups)
      j.key(one.group->name)
          .begin_object()
          .field("name", one.group->name)
          .field("desc", one.group->desc)
          .field("ranks", one.group->text())
          .end_object();
    j.end_object().key("pg_status").begin_object();
    for (const Member& one : groups)
      j.key(std::to_string(one.id))
          .begin_object()
          .field("last_enqueued_collective", std::to_string(counter(rank, one.group->name, false)))
          .field("last_started_collective", "-1")
          .field("last_completed_collective", std::to_string(counter(rank, one.group->name, true)))
          .end_object();
    j.end_object().key("entries").begin_array();
    std::int64_t record = 0;
    for (const auto& call : ranks_.at(rank)) json_entry(j, rank, call, record++);
    j.end_array().end_object();
    return out;
  }
  void json_entry(sim::JsonWriter& j, int rank, const FrCall& call, std::int64_t record) const {
    const auto groups = groups_of(rank);
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& g) { return g.group->name == call.group; });
    j.begin_object().field("record_id", record).field("pg_id", found->id);
    j.key("process_group").begin_array().string(call.group).string(found->group->desc).end_array();
    j.field("collective_seq_id", call.seq)
        .field("p2p_seq_id", call.p2p_seq)
        .field("profiling_name", "nccl:" + call.op);
    for (const char* key : {"input_sizes", "output_sizes"}) {
      j.key(key).begin_array().begin_array();
      for (const auto extent : call.shape) j.integer(extent);
      j.end_array().end_array();
    }
    for (const char* key : {"input_dtypes", "output_dtypes"})
      j.key(key).begin_array().string(call.dtype).end_array();
    j.field("state", call.state).field("time_created_ns", std::int64_t{1758610505592849034} + record);
    j.field("time_discovered_completed_ns", std::int64_t{0}).field("retired", call.retired);
    j.field("timeout_ms", std::int64_t{600'000}).field("is_p2p", call.p2p).end_object();
  }

  std::vector<Group> groups_;
  std::map<int, std::vector<FrCall>> ranks_;
  std::map<std::pair<int, std::string>, std::pair<std::int64_t, std::int64_t>> counters_;
};

}  // namespace ringside::test
