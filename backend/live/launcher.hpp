// One live run from one command: hub, mpirun and ranks, and what came of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::backend {

struct LaunchOptions {
  int ranks = 4;
  std::string scenario_toml;          // complete: cluster of `ranks`, steps, faults
  std::string recording;              // path; empty = in the run's folder, removed with it
  std::string program_folder;         // where ringside-cli and ringside-rank are
  std::string hostfile, hosts;        // for several machines
  std::string address = "127.0.0.1";  // of the hub
  std::uint16_t port = 4710;
  std::string tls_certificate, tls_key;
  bool self_signed = false;  // make both for this run
  bool insecure = false;
  bool fused = false, both = false, guard = false;  // both: stepped, then fused on the same data, compared
  std::string device = "auto";                      // auto, gpu, cpu: as ringside-rank takes it
  std::string pace = "0ns";                         // least time of a training step
  std::int64_t watchdog_ns = 0;                     // 0 = off
  std::string dump_folder;                          // where ranks' dumps go; empty = the current folder
  std::string log_folder;                           // for rank_<R>.log of each rank; empty = none
  std::int64_t ring_steps_per_second = -1;          // that all ranks together tell; 0 = all, -1 = the usual
};

struct LaunchNotes {
  std::string url;        // with #token: for ringside --watch
  std::string recording;  // where the events are
  int mpirun_exit = 0;
  int hub_restarts = 0;  // the hub ended in the middle of the run and was started anew
};

/// What `ringside-rank --devices` in this folder says of this machine.
struct LocalDevices {
  int gpus = 0;
  std::string text;  // the name of the first, or why there is none
};
LocalDevices local_devices(const std::string& program_folder);

/// Called when the URL is known, before the ranks start.
using UrlKnown = void (*)(const std::string& url, void* context);

/// Starts all, waits until the ranks are done or `stop` becomes true, ends all. Nothing is left running,
/// whatever happens. Errors: mpirun missing, port in use, recording exists …
sim::Result<LaunchNotes> launch(const LaunchOptions& options, const sim::Scenario& scenario,
                                const std::atomic<bool>& stop, UrlKnown url_known, void* context);

/// What the hub process is told (a 0600 file): JSON with tokens, header fields, recording, address. Written
/// by launch, read by `ringside-cli hub --run FILE`.
struct HubRunFile {
  std::string rank_token, viewer_token, controller_token;
  std::string hub_name;  // whose count of events it is; empty = a new one
  std::string address, recording, title, scenario_toml, tls_certificate, tls_key;
  std::int64_t origin_unix_ns = 0;
  std::uint64_t seed = 0;
  int port = 0, world_size = 0, gpus_per_node = 0;
  bool insecure = false;
  bool resume = false;  // go on with the recording on exactly this port
};
sim::Status write_run_file(const std::string& path, const HubRunFile& run);
sim::Result<HubRunFile> read_run_file(const std::string& path);

/// Called when the hub listens: its URL without a token, and the fingerprint of its certificate if it has
/// one.
using HubListens = std::function<void(const std::string& url, const std::string& fingerprint)>;

/// Serves a run file until SIGTERM or SIGINT; prints "port N" on stdout when it listens, or calls `listens`
/// instead. Returns the exit status.
int serve_hub(const HubRunFile& run, const HubListens& listens = {});

/// Three new tokens, and a name for the hub.
sim::Status make_tokens(HubRunFile& run);

}  // namespace ringside::backend
