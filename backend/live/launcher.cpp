#include "backend/live/launcher.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/live/clock.hpp"
#include "backend/live/hub.hpp"
#include "backend/live/hub_connection.hpp"
#include "backend/live/process.hpp"
#include "backend/live/protocol.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/quantity.hpp"

namespace ringside::backend {
namespace {

using namespace std::chrono_literals;

sim::Status write_private(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool wrote = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) ::close(fd);
  if (!wrote) return sim::Error{.what = std::strerror(errno), .file = path};
  return sim::ok();
}

/// A folder of our own for tokens and scenario, removed with everything in it when the run is over.
class RunFolder {
 public:
  RunFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringside-run-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~RunFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (::access((std::string(rest.substr(0, end)) + "/" + program).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::vector<std::string> mpirun_arguments(const LaunchOptions& o, const std::string& scenario_path,
                                          const std::string& hub_url, std::int64_t origin) {
  std::vector<std::string> argv{"mpirun", "-n", std::to_string(o.ranks), "--oversubscribe",
                                "--enable-recovery"};
  const auto add = [&](std::initializer_list<std::string> more) { argv.insert(argv.end(), more); };
  if (::geteuid() == 0) add({"--allow-run-as-root"});
  if (!o.hostfile.empty()) add({"--hostfile", o.hostfile});
  if (!o.hosts.empty()) add({"--host", o.hosts});
  add({"-x", "RINGSIDE_RANK_TOKEN", "-x", "RINGSIDE_HUB_FINGERPRINT", "-x", "RINGSIDE_SCENARIO"});
  add({o.program_folder + "/ringside-rank", "--scenario", scenario_path, "--hub", hub_url, "--origin",
       std::to_string(origin)});
  add({"--mode", o.both ? "both" : o.fused ? "fused" : "stepped", "--device", o.device});
  add({"--pace", o.pace, "--dump-dir", o.dump_folder.empty() ? "." : o.dump_folder});
  if (!o.log_folder.empty()) add({"--log-dir", o.log_folder});
  if (o.ring_steps_per_second >= 0) add({"--ring-steps-per-second", std::to_string(o.ring_steps_per_second)});
  if (o.guard) add({"--guard"});
  // A stopped worker is ended after every watchdog has had its say.
  if (o.watchdog_ns > 0) add({"--kill-silent", sim::duration_text(o.watchdog_ns + 5'000'000'000)});
  return argv;
}

/// The hub's process: started, and started anew when it ends in the middle of the run. The ranks go on
/// training meanwhile and find it again on its port.
class HubProcess {
 public:
  HubProcess(std::string program_folder, std::string run_folder, HubRunFile run)
      : program_folder_(std::move(program_folder)), run_folder_(std::move(run_folder)), run_(std::move(run)) {}

  sim::Status start() {
    const std::string run_path = run_folder_ + "/run-" + std::to_string(starts_++) + ".json";
    if (const auto wrote = write_run_file(run_path, run_); !wrote) return wrote.error();
    auto child = Child::start({program_folder_ + "/ringside-cli", "hub", "--run", run_path}, {}, true);
    if (!child) return child.error();
    const auto said = child->read_line(10'000);
    if (!said || !said->starts_with("port "))
      return sim::Error{
          .what = "the hub did not start: " +
                  (said ? said->substr(std::min<std::size_t>(6, said->size())) : said.error().message())};
    const std::size_t space = std::min(said->find(' ', 5), said->size());
    run_.port = std::atoi(said->substr(5, space - 5).c_str());
    fingerprint_ = said->substr(std::min(space + 1, said->size()));
    child_ = std::move(*child);
    return sim::ok();
  }

  /// Call often. A hub that does not stay is given up after some tries: the run goes on without it.
  void keep_up() {
    constexpr int kMostRestarts = 20;
    const auto now = std::chrono::steady_clock::now();
    if (child_.running() || restarts_ >= kMostRestarts || now < next_try_) return;
    ++restarts_;
    const int ended_with = child_.exit_code();
    next_try_ = now + 500ms;
    run_.resume = true;
    const auto started = start();
    if (!started)
      std::fprintf(stderr, "ringside-cli: %s\n", started.error().message().c_str());
    else
      std::fprintf(stderr, "ringside-cli: the hub had ended (status %d) and was started anew on port %d\n",
                   ended_with, run_.port);
  }
  void end() { child_.end(3'000); }
  int port() const { return run_.port; }
  const std::string& fingerprint() const { return fingerprint_; }
  int restarts() const { return restarts_; }

 private:
  std::string program_folder_, run_folder_;
  HubRunFile run_;
  Child child_;
  std::string fingerprint_;
  int starts_ = 0, restarts_ = 0;
  std::chrono::steady_clock::time_point next_try_{};
};

/// Ranks that have ended, as the hub hears it. For jobs on several hosts, where mpirun's children are not the
/// ranks but what starts them.
class EndsHeard {
 public:
  EndsHeard(const HubAddress& hub, int ranks) : ended_(static_cast<std::size_t>(ranks)) {
    HubConnection::Callbacks callbacks;
    callbacks.hello = [] {
      ClientHello hello;
      hello.agent = "ringside-cli live";
      return hello;
    };
    callbacks.received = [this](std::string_view lines) { look_at(lines); };
    connection_ = std::make_unique<HubConnection>(hub, std::move(callbacks));
  }
  bool all() const { return count_.load() == ended_.size(); }
  std::int64_t bytes() const { return bytes_.load(); }

 private:
  void look_at(std::string_view lines) {
    bytes_ += static_cast<std::int64_t>(lines.size());
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      const std::string_view line = lines.substr(0, end);
      lines.remove_prefix(std::min(end + 1, lines.size()));
      constexpr std::string_view kRank = "\"src\":\"r";
      const std::size_t source = line.find(kRank);
      if (source == std::string_view::npos || line.find("\"type\":\"exit\"") == std::string_view::npos) continue;
      std::size_t rank = ended_.size();
      std::from_chars(line.data() + source + kRank.size(), line.data() + line.size(), rank);
      if (rank >= ended_.size() || ended_[rank]) continue;
      ended_[rank] = true;
      ++count_;
    }
  }
  std::vector<bool> ended_;  // of the connection's thread
  std::atomic<std::size_t> count_{0};
  std::atomic<std::int64_t> bytes_{0};
  std::unique_ptr<HubConnection> connection_;
};

/// Whether a batch system tells mpirun its hosts: Slurm, PBS, LSF, Grid Engine.
bool in_an_allocation() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

/// Until mpirun has ended, somebody asks to stop, or mpirun stays behind: all that it started (ranks, agents
/// on other hosts) has ended and it has not, or, on several hosts, all ranks have and it and its agents have not.
/// Open MPI 4.1 does that now and then (seen: locked in a futex, two ranks not reaped) when a rank leaves through
/// MPI_Finalize while others abort, and under Slurm when ranks abort.
void wait_for(Child& mpirun, HubProcess& hub, const EndsHeard* ends, const std::atomic<bool>& stop) {
  constexpr auto kStaysBehind = 4s;
  auto last_with_children = std::chrono::steady_clock::now();
  bool had_children = false;
  while (mpirun.running() && !stop.load()) {
    std::this_thread::sleep_for(20ms);
    hub.keep_up();
    const auto now = std::chrono::steady_clock::now();
    if (mpirun.has_running_children() && !(ends != nullptr && ends->all())) {
      had_children = true;
      last_with_children = now;
    }
    if (had_children && now - last_with_children > kStaysBehind) return;
  }
}

/// Until the hub has every rank's end, which is the last that a rank says: on a busy machine it is behind by
/// seconds. Ranks that never came say nothing: then until nothing has come for a while.
void wait_for_last_lines(const EndsHeard& ends, HubProcess& hub, const std::atomic<bool>& stop) {
  constexpr auto kQuiet = 3s, kMost = 30s;
  const auto began = std::chrono::steady_clock::now();
  auto last_news = began;
  std::int64_t bytes = 0;
  while (!ends.all() && !stop.load()) {
    std::this_thread::sleep_for(20ms);
    hub.keep_up();
    const auto now = std::chrono::steady_clock::now();
    if (ends.bytes() != bytes) {
      bytes = ends.bytes();
      last_news = now;
    }
    if (now - last_news > kQuiet || now - began > kMost) return;
  }
}

}  // namespace

LocalDevices local_devices(const std::string& program_folder) {
  auto child = Child::start({program_folder + "/ringside-rank", "--devices"}, {}, true);
  if (!child) return {0, child.error().message()};
  const auto line = child->read_line(20'000);
  if (!line || !line->starts_with("gpus ")) return {0, "ringside-rank does not say what devices there are"};
  const std::string_view rest = std::string_view(*line).substr(5);
  const std::size_t space = std::min(rest.find(' '), rest.size());
  LocalDevices devices;
  std::from_chars(rest.data(), rest.data() + space, devices.gpus);
  devices.text = rest.substr(std::min(space + 1, rest.size()));
  return devices;
}

sim::Status make_tokens(HubRunFile& run) {
  for (std::string* token : {&run.rank_token, &run.viewer_token, &run.controller_token, &run.hub_name}) {
    auto made = make_token();
    if (!made) return made.error();
    *token = *made;
  }
  return sim::ok();
}

sim::Status write_run_file(const std::string& path, const HubRunFile& run) {
  std::string text;
  sim::JsonWriter json(text);
  json.begin_object().field("rank_token", run.rank_token).field("viewer_token", run.viewer_token);
  json.field("controller_token", run.controller_token).field("address", run.address).field("port", run.port);
  json.field("recording", run.recording).field("title", run.title).field("scenario", run.scenario_toml);
  json.field("origin_unix_ns", run.origin_unix_ns)
      .field("seed", run.seed)
      .field("world_size", run.world_size);
  json.field("gpus_per_node", run.gpus_per_node).field("tls_certificate", run.tls_certificate);
  json.field("tls_key", run.tls_key).field("insecure", run.insecure).field("resume", run.resume);
  json.field("hub_name", run.hub_name).end_object();
  return write_private(path, text);
}

sim::Result<HubRunFile> read_run_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return sim::Error{.what = "not a run file", .file = path};
  HubRunFile run;
  const auto text = [&](const char* key, std::string& out) {
    if (const auto found = json.find(key); found != json.end() && found->is_string())
      out = found->get<std::string>();
  };
  const auto number = [&](const char* key, auto& out) {
    if (const auto found = json.find(key); found != json.end() && found->is_number_integer())
      out = found->get<std::remove_reference_t<decltype(out)>>();
  };
  text("rank_token", run.rank_token);
  text("viewer_token", run.viewer_token);
  text("controller_token", run.controller_token);
  text("hub_name", run.hub_name);
  text("address", run.address);
  text("recording", run.recording);
  text("title", run.title);
  text("scenario", run.scenario_toml);
  text("tls_certificate", run.tls_certificate);
  text("tls_key", run.tls_key);
  number("port", run.port);
  number("origin_unix_ns", run.origin_unix_ns);
  number("seed", run.seed);
  number("world_size", run.world_size);
  number("gpus_per_node", run.gpus_per_node);
  const auto flag = [&](const char* key, bool& out) {
    if (const auto found = json.find(key); found != json.end() && found->is_boolean())
      out = found->get<bool>();
  };
  flag("insecure", run.insecure);
  flag("resume", run.resume);
  if (run.rank_token.empty() || run.viewer_token.empty() || run.controller_token.empty())
    return sim::Error{.what = "a run file holds three tokens", .file = path};
  return run;
}

namespace {
Hub* g_serving = nullptr;  // for the signal handler only
extern "C" void stop_serving(int) {
  if (g_serving != nullptr) g_serving->stop();
}
}  // namespace

int serve_hub(const HubRunFile& run, const HubListens& listens) {
  HubOptions options;
  options.address = run.address;
  options.port = static_cast<std::uint16_t>(run.port);
  options.tokens = {run.rank_token, run.viewer_token, run.controller_token};
  options.recording = run.recording;
  options.tls_certificate = run.tls_certificate;
  options.tls_key = run.tls_key;
  options.insecure = run.insecure;
  options.resume = run.resume;
  options.name = run.hub_name;
  options.header.source = "live";
  options.header.clock = "hub";
  options.header.world_size = run.world_size;
  options.header.gpus_per_node = run.gpus_per_node;
  options.header.origin_unix_ns = run.origin_unix_ns;
  options.header.title = run.title;
  options.header.seed = run.seed;
  options.header.scenario_toml = run.scenario_toml;
  auto hub = Hub::create(std::move(options));
  if (!hub) {
    if (listens)
      std::fprintf(stderr, "ringside-cli: %s\n", hub.error().message().c_str());
    else
      std::printf("error %s\n", hub.error().message().c_str());
    std::fflush(stdout);
    return 1;
  }
  g_serving = hub->get();
  struct sigaction action {};
  action.sa_handler = stop_serving;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  if (listens)
    listens((*hub)->url(), (*hub)->fingerprint());
  else
    std::printf("port %u %s\n", static_cast<unsigned>((*hub)->port()), (*hub)->fingerprint().c_str());
  std::fflush(stdout);
  (*hub)->run();
  g_serving = nullptr;
  return 0;
}

sim::Result<LaunchNotes> launch(const LaunchOptions& options, const sim::Scenario& scenario,
                                const std::atomic<bool>& stop, UrlKnown url_known, void* context) {
  if (!in_path("mpirun"))
    return sim::Error{.what = "mpirun was not found", .hint = "Install it: apt-get install openmpi-bin"};
  const std::string rank_program = options.program_folder + "/ringside-rank";
  if (::access(rank_program.c_str(), X_OK) != 0)  // mpirun itself would take long to say so, and say it badly
    return sim::Error{.what = rank_program + " was not found: this build has no live ranks",
                      .hint = "Install MPI (apt-get install libopenmpi-dev openmpi-bin), then configure and build again"};
  const RunFolder folder;
  if (folder.path().empty()) return sim::Error{.what = "cannot create a folder for the run"};
  const std::string scenario_path = folder.path() + "/scenario.toml";
  // Rank 0 may be on a machine that does not see this folder: the scenario goes along in the environment, unless
  // it is larger than Linux takes there (128 KiB).
  constexpr std::size_t kMostInEnvironment = 100'000;
  const bool in_environment = options.scenario_toml.size() < kMostInEnvironment;
  if (!in_environment)
    if (const auto wrote = write_private(scenario_path, options.scenario_toml); !wrote) return wrote.error();

  HubRunFile run;
  if (const auto made = make_tokens(run); !made) return made.error();
  LaunchNotes notes;
  notes.recording = options.recording.empty() ? folder.path() + "/run.rsr" : options.recording;
  run.address = options.address;
  run.port = options.port;
  run.recording = notes.recording;
  run.title = scenario.title;
  run.scenario_toml = options.scenario_toml;
  run.origin_unix_ns = unix_ns();
  run.seed = scenario.seed;
  run.world_size = options.ranks;
  run.gpus_per_node = scenario.cluster.gpus_per_node;
  run.tls_certificate = options.tls_certificate;
  run.tls_key = options.tls_key;
  run.insecure = options.insecure;
  if (options.self_signed) {
    run.tls_certificate = folder.path() + "/certificate.pem";
    run.tls_key = folder.path() + "/key.pem";
    const auto made = write_self_signed(run.tls_certificate, run.tls_key, "ringside-hub");
    if (!made) return made.error();
  }
  HubProcess hub(options.program_folder, folder.path(), run);
  if (const auto started = hub.start(); !started) return started.error();
  const std::string& fingerprint = hub.fingerprint();
  const std::string base =
      (run.tls_certificate.empty() ? "http://" : "https://") + options.address + ":" + std::to_string(hub.port());
  notes.url = base + "/#token=" + run.controller_token + (fingerprint.empty() ? "" : "&cert=" + fingerprint);
  if (url_known != nullptr) url_known(notes.url, context);

  auto mpirun = Child::start(
      mpirun_arguments(options, scenario_path, base, run.origin_unix_ns),
      {"RINGSIDE_RANK_TOKEN=" + run.rank_token, "RINGSIDE_HUB_FINGERPRINT=" + fingerprint,
       "RINGSIDE_SCENARIO=" + (in_environment ? options.scenario_toml : std::string())},
      false);
  if (!mpirun) return mpirun.error();
  auto address = parse_hub_url(base);
  if (!address) return address.error();
  address->token = run.viewer_token;
  address->fingerprint = fingerprint;
  std::unique_ptr<EndsHeard> ends;
  if (!options.hosts.empty() || !options.hostfile.empty() || in_an_allocation())
    ends = std::make_unique<EndsHeard>(*address, options.ranks);
  wait_for(*mpirun, hub, ends.get(), stop);
  mpirun->end(2'000);
  notes.mpirun_exit = mpirun->exit_code();
  if (!stop.load()) {
    if (!ends) ends = std::make_unique<EndsHeard>(*address, options.ranks);
    wait_for_last_lines(*ends, hub, stop);
  }
  std::this_thread::sleep_for(150ms);  // the hub's next tick writes what is still on its way
  hub.end();
  notes.hub_restarts = hub.restarts();
  if (options.recording.empty()) {
    // The folder goes away with the tokens: keep what was recorded where the caller can read it once.
    const std::string kept = folder.path() + ".rsr";
    std::error_code failed;
    std::filesystem::rename(notes.recording, kept, failed);
    notes.recording = failed ? "" : kept;
  }
  return notes;
}

}  // namespace ringside::backend
