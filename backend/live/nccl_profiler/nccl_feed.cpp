// ringside-nccl-feed: stands beside one process of an NCCL job, turns the records that the plugin left in
// shared memory into lines for the hub, and says when the process is gone or stopped. Started by the plugin.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/live/hub_connection.hpp"
#include "backend/live/line_maker.hpp"
#include "backend/live/nccl_profiler/feed_block.hpp"

namespace {

using namespace ringside;
using namespace std::chrono_literals;

constexpr int kBlockFd = 3;
constexpr auto kTick = 10ms, kHeartbeat = 250ms;
constexpr std::size_t kBatchBytes = 128 * 1024;

backend::FeedBlock* open_block() {
  struct stat file {};
  if (::fstat(kBlockFd, &file) != 0 || file.st_size != sizeof(backend::FeedBlock)) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(backend::FeedBlock), PROT_READ | PROT_WRITE, MAP_SHARED, kBlockFd, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* block = static_cast<backend::FeedBlock*>(memory);
  return block->magic == backend::FeedBlock::kMagic && block->size == sizeof(backend::FeedBlock) ? block
                                                                                                 : nullptr;
}

/// The letter of /proc/PID/stat: R, S, D … T stopped, Z zombie.
char state_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
}

class Feed {
 public:
  Feed(backend::FeedBlock& block, int job, backend::HubAddress address)
      : shared_(block.rank), job_(job), connection_(std::move(address), callbacks()) {}

  /// Serves until the job's process is gone and what it said is sent.
  void run() {
    auto last_beat = std::chrono::steady_clock::now();
    while (::getppid() == job_) {
      std::this_thread::sleep_for(kTick);
      if (origin_.load() == 0) continue;  // the hub has not answered yet; the queues are bounded
      begin();
      pump();
      const auto now = std::chrono::steady_clock::now();
      if (now - last_beat >= kHeartbeat) {
        last_beat = now;
        const char state = state_of(job_);
        if (state != 'T' && state != 't' && state != 'Z') lines_->add_heartbeat();
      }
      flush();
    }
    if (origin_.load() == 0) return;
    begin();
    for (int i = 0; i < 100 && !(shared_.main.empty() && shared_.side.empty() && kept_.empty()); ++i) {
      pump();
      flush();
      if (!kept_.empty()) std::this_thread::sleep_for(kTick);
    }
    lines_->add_left("the process is gone");
    flush();
    connection_.drain(2000);
  }

 private:
  backend::HubConnection::Callbacks callbacks() {
    backend::HubConnection::Callbacks out;
    out.hello = [this] {
      backend::ClientHello hello;
      hello.role = backend::ClientRole::Rank;
      hello.agent = "ringside-nccl-feed";
      hello.rank = shared_.rank.load();
      hello.world_size = shared_.world_size.load();
      return hello;
    };
    out.welcomed = [this](const backend::ServerAnswer& welcome) {
      const auto json = nlohmann::json::parse(welcome.header_json, nullptr, /*allow_exceptions=*/false);
      if (json.is_object() && json.contains("origin_unix_ns") && json["origin_unix_ns"].is_number_integer())
        origin_.store(json["origin_unix_ns"].get<std::int64_t>());
    };
    out.state_changed = [](backend::LinkState state, const std::string& text) {
      if (state == backend::LinkState::Refused)
        std::fprintf(stderr, "ringside-nccl-feed: the hub refuses: %s\n", text.c_str());
    };
    return out;
  }

  void begin() {
    if (lines_) return;
    lines_ = std::make_unique<backend::LineMaker>(shared_, origin_.load());
    lines_->add_hello();
  }
  void pump() {
    backend::Record record;
    for (backend::RecordQueue* queue : {&shared_.main, &shared_.side}) {
      while (kept_.empty() && queue->pop(record)) {
        record.event.t -= origin_.load();
        lines_->add(record);
        if (lines_->size() > kBatchBytes) flush();
      }
      if (const std::uint64_t dropped = queue->take_dropped()) lines_->add_dropped(dropped);
    }
    lines_->tick();
  }
  /// While the connection is full nothing more is read: what is too much is dropped in the queues, where it
  /// is counted, network steps before collectives.
  void flush() {
    if (kept_.empty() && !lines_->empty()) kept_ = lines_->take();
    if (!kept_.empty() && connection_.send(kept_)) kept_.clear();
  }

  backend::SharedRank& shared_;
  int job_;
  std::atomic<std::int64_t> origin_{0};
  std::unique_ptr<backend::LineMaker> lines_;
  std::string kept_;  // lines that the connection did not take
  backend::HubConnection connection_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--job") != 0) {
    std::fprintf(
        stderr,
        "ringside-nccl-feed is started by the NCCL profiler plugin of Ringside (docs/nccl-profiler.md)\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);  // it ends with the job, after the job's last words
  backend::FeedBlock* block = open_block();
  const char* url = std::getenv("RINGSIDE_HUB");
  if (block == nullptr || url == nullptr) {
    std::fprintf(stderr, "ringside-nccl-feed: %s\n",
                 url == nullptr ? "RINGSIDE_HUB is not set" : "the plugin is of another build");
    return 1;
  }
  auto address = backend::parse_hub_url(url);
  if (!address) {
    std::fprintf(stderr, "ringside-nccl-feed: RINGSIDE_HUB: %s\n", address.error().message().c_str());
    return 1;
  }
  if (const char* token = std::getenv("RINGSIDE_RANK_TOKEN")) address->token = token;
  Feed(*block, std::atoi(argv[2]), std::move(*address)).run();
  return 0;
}
