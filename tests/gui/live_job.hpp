// A hub in this process and ranks that only talk: what a real job would say, without a process for each.
#pragma once

#include <gtest/gtest.h>

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/live/hub.hpp"
#include "backend/live/hub_connection.hpp"

namespace ringside::app::test {

/// Lines of one rank, numbered as it sends them.
class TalkingRank {
 public:
  TalkingRank(const backend::HubAddress& hub, int rank, int world) : rank_(rank) {
    backend::HubConnection::Callbacks callbacks;
    callbacks.hello = [rank, world] {
      backend::ClientHello hello;
      hello.role = backend::ClientRole::Rank;
      hello.rank = rank;
      hello.world_size = world;
      return hello;
    };
    callbacks.received = [this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      orders_ += text;
    };
    connection_ = std::make_unique<backend::HubConnection>(hub, std::move(callbacks));
  }
  bool connected() const { return connection_->connected(); }
  std::string orders() {
    const std::lock_guard lock(mutex_);
    return orders_;
  }
  /// `rest`: the keys after the type, without the closing brace.
  void say(std::int64_t t_ms, const std::string& type, const std::string& rest) {
    connection_->send("{\"t\":" + std::to_string(t_ms * 1'000'000) + ",\"src\":\"r" + std::to_string(rank_) +
                      "\",\"n\":" + std::to_string(n_++) + ",\"type\":\"" + type + "\"" + (rest.empty() ? "" : ",") +
                      rest + "}\n");
  }
  /// As if so many events were lost on the way.
  void lose(int events) { n_ += events; }
  void hello(std::int64_t t, const std::string& host) {
    say(t, "hello",
        "\"host\":\"" + host + "\",\"pid\":" + std::to_string(4000 + rank_) +
            ",\"local_rank\":0,\"device\":\"CPU\",\"mpi\":\"Open MPI\"");
  }
  void heartbeat(std::int64_t t, int step, int seq) {
    say(t, "heartbeat",
        "\"comm\":\"default_pg\",\"step\":" + std::to_string(step) +
            ",\"phase\":\"forward\",\"enqueued\":" + std::to_string(seq) + ",\"started\":" + std::to_string(seq) +
            ",\"completed\":" + std::to_string(seq));
  }
  void phase(std::int64_t from, std::int64_t to, const std::string& phase, int step) {
    const std::string keys = "\"phase\":\"" + phase + "\",\"step\":" + std::to_string(step);
    say(from, "phase_begin", keys);
    say(to, "phase_end", keys + (phase == "loss" ? ",\"loss\":0.25" : ""));
  }
  void call(std::int64_t t, int seq, int step) {
    say(t, "collective_enqueued",
        key(seq, step) +
            ",\"collective\":\"all_reduce\",\"op\":\"avg\",\"root\":0,\"dtype\":\"float32\",\"count\":1024,"
            "\"algorithm\":\"ring\",\"order\":\"nccl\",\"chunking\":\"even\",\"channels\":1,\"world_size\":4,"
            "\"ring_steps\":0,\"reduce_steps\":0,\"transfers\":0");
  }
  void start(std::int64_t t, int seq, int step) { say(t, "collective_started", key(seq, step)); }
  void finish(std::int64_t t, int seq, int step) { say(t, "collective_finished", key(seq, step)); }
  /// One training step of 100 ms that ends with an AllReduce of 10 ms.
  void train(std::int64_t t, int step) {
    phase(t, t + 30, "forward", step);
    phase(t + 30, t + 31, "loss", step);
    phase(t + 31, t + 80, "backward", step);
    call(t + 80, step, step);
    start(t + 80, step, step);
    finish(t + 90, step, step);
    heartbeat(t + 95, step, step);
  }

 private:
  static std::string key(int seq, int step) {
    return "\"comm\":\"default_pg\",\"seq\":" + std::to_string(seq) + ",\"step\":" + std::to_string(step);
  }
  int rank_, n_ = 0;
  std::mutex mutex_;
  std::string orders_;
  std::unique_ptr<backend::HubConnection> connection_;  // last: its thread uses the others
};

class TalkingJob {
 public:
  static constexpr int kWorld = 4;
  /// `tls`: with a certificate of its own, which url() pins.
  explicit TalkingJob(std::uint16_t port = 0, bool tls = false) {
    backend::HubOptions options;
    options.tokens = {"rank-token", "viewer-token", "controller-token"};
    options.header.source = "live";
    options.header.clock = "hub";
    options.header.world_size = kWorld;
    options.header.gpus_per_node = kWorld;
    options.header.title = "lab-cluster";
    static const std::int64_t origin = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                           std::chrono::system_clock::now().time_since_epoch())
                                           .count();
    options.header.origin_unix_ns = origin;  // the hub's own lines carry its clock; a restart keeps the job
    options.header.scenario_toml =
        "title = \"lab-cluster\"\n[cluster]\nnodes = 1\ngpus_per_node = 4\n[tensor]\nshape = [1024]\n"
        "[training]\nsteps = 3\n";
    if (tls) {
      std::string pattern = (std::filesystem::temp_directory_path() / "ringside-tls-XXXXXX").string();
      folder_ = ::mkdtemp(pattern.data());
      options.tls_certificate = folder_ + "/certificate.pem";
      options.tls_key = folder_ + "/key.pem";
      EXPECT_TRUE(backend::write_self_signed(options.tls_certificate, options.tls_key, "ringside-hub"));
    }
    options.port = port;
    options.port_tries = 1;
    auto created = backend::Hub::create(std::move(options));
    EXPECT_TRUE(created) << created.error().message();
    hub_ = std::move(*created);
    thread_ = std::thread([this] { hub_->run(); });
  }
  ~TalkingJob() {
    ranks.clear();
    hub_->stop();
    thread_.join();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  void add_ranks() {
    backend::HubAddress address = *backend::parse_hub_url(hub_->url());
    address.token = "rank-token";
    address.fingerprint = hub_->fingerprint();
    for (int r = 0; r < kWorld; ++r) ranks.push_back(std::make_unique<TalkingRank>(address, r, kWorld));
  }
  bool all_connected() const {
    for (const auto& rank : ranks)
      if (!rank->connected()) return false;
    return true;
  }
  std::string url(const std::string& token) const { return url(token, hub_->fingerprint()); }
  std::string url(const std::string& token, const std::string& fingerprint) const {
    return hub_->url() + "/#token=" + token + (fingerprint.empty() ? "" : "&cert=" + fingerprint);
  }
  std::uint16_t port() const { return hub_->port(); }
  std::vector<std::unique_ptr<TalkingRank>> ranks;

 private:
  std::string folder_;
  std::unique_ptr<backend::Hub> hub_;
  std::thread thread_;
};

}  // namespace ringside::app::test
