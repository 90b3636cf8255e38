// What mpirun starts: `ringside-rank --scenario FILE [--hub URL] …`. Forks the worker before anything else is
// set up, then supervises it.
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "backend/live/gpu_calls.hpp"
#include "backend/live/measure.hpp"
#include "backend/live/supervisor.hpp"
#include "backend/live/worker.hpp"
#include "sim/base/quantity.hpp"

namespace {

using namespace ringside;

struct Arguments {
  backend::WorkerOptions worker;
  std::int64_t ring_steps = backend::DetailSampler::kPerSecond;
  std::string hub, mode = "stepped", device = "auto", pace = "0ns", silent = "0ns", log_folder;
  bool list_devices = false;
  std::vector<std::int64_t> measure;  // from, to
};

/// One line for `ringside-cli live`: "gpus N", or "gpus 0 REASON". A process of its own, so that nobody else
/// holds the driver.
int list_devices() {
  const auto calls = backend::make_gpu_calls();
  int count = 0;
  std::string reason = calls ? "no GPU was found" : "this build has no CUDA and NCCL";
  if (calls != nullptr) {
    if (const backend::CudaError code = calls->device_count(count); code != backend::kCudaSuccess) {
      count = 0;
      reason = "no GPU was found (CUDA says: " + calls->cuda_text(code) + ")";
    }
  }
  std::printf("gpus %d %s\n", count, count > 0 ? calls->device_name(0).c_str() : reason.c_str());
  return 0;
}

int run(Arguments& arguments, int argc, char** argv) {
  if (arguments.list_devices) return list_devices();
  if (!arguments.measure.empty())
    return backend::measure_ranks(arguments.measure[0], arguments.measure[1], &argc, &argv);
  if (arguments.worker.scenario_path.empty()) {
    std::fprintf(stderr, "ringside-rank: --scenario FILE is required\n");
    return 2;
  }
  backend::SupervisorOptions supervisor;
  supervisor.origin_unix_ns = arguments.worker.origin_unix_ns;
  if (!arguments.hub.empty()) {
    const auto address = backend::parse_hub_url(arguments.hub);
    if (!address) {
      std::fprintf(stderr, "ringside-rank: %s\n", address.error().message().c_str());
      return 2;
    }
    supervisor.has_hub = true;
    supervisor.hub = *address;
    if (const char* token = std::getenv("RINGSIDE_RANK_TOKEN")) supervisor.hub.token = token;
    if (const char* pin = std::getenv("RINGSIDE_HUB_FINGERPRINT")) supervisor.hub.fingerprint = pin;
  }
  const auto pace = sim::parse_duration(arguments.pace);
  const auto silent = sim::parse_duration(arguments.silent);
  if (!pace || !silent) {
    std::fprintf(stderr, "ringside-rank: %s\n", (!pace ? pace : silent).error().message().c_str());
    return 2;
  }
  arguments.worker.step_ns = *pace;
  supervisor.silent_limit_ns = *silent;
  supervisor.log_folder = arguments.log_folder;
  supervisor.ring_steps_per_second = arguments.ring_steps;
  arguments.worker.mode = arguments.mode == "fused"  ? backend::CollectiveMode::Fused
                          : arguments.mode == "both" ? backend::CollectiveMode::Both
                                                     : backend::CollectiveMode::Stepped;
  arguments.worker.device = arguments.device == "cpu"   ? backend::DeviceWish::Cpu
                            : arguments.device == "gpu" ? backend::DeviceWish::Gpu
                                                        : backend::DeviceWish::Auto;

  backend::SharedRank* shared = backend::make_shared_rank();
  if (shared == nullptr) {
    std::fprintf(stderr, "ringside-rank: no memory to share with the worker\n");
    return 1;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // mpirun is gone: nobody must stay behind
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    std::perror("ringside-rank: fork");
    return 1;
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // the supervisor died before the line above
    return backend::run_worker(*shared, arguments.worker, &argc, &argv);
  }
  return backend::supervise(*shared, pid, supervisor);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"One rank of a live run. Started by mpirun, usually through `ringside-cli live`."};
  Arguments arguments;
  app.add_option("--scenario", arguments.worker.scenario_path, "scenario file; rank 0 reads it for all");
  app.add_flag("--devices", arguments.list_devices, "say how many GPUs this build and machine can use");
  app.add_option("--measure", arguments.measure,
                 "time messages, reductions and AllReduces of FROM to TO bytes")
      ->expected(2)
      ->check(CLI::Range(std::int64_t{64}, std::int64_t{1} << 30));
  app.add_option("--device", arguments.device,
                 "gpu: CUDA and NCCL, one GPU for each rank; cpu: MPI; auto: gpu if every rank has one")
      ->check(CLI::IsMember({"auto", "gpu", "cpu"}));
  app.add_option("--hub", arguments.hub, "address of the hub; the token comes from RINGSIDE_RANK_TOKEN");
  app.add_option("--mode", arguments.mode,
                 "stepped: our schedule, every ring step visible; fused: MPI_Iallreduce or ncclAllReduce; "
                 "both: one after the other, compared")
      ->check(CLI::IsMember({"stepped", "fused", "both"}));
  app.add_flag("--guard", arguments.worker.guard, "compare every call before it runs");
  app.add_option("--dump-dir", arguments.worker.dump_folder, "where the watchdog writes nccl_trace_rank_<R>");
  app.add_option("--log-dir", arguments.log_folder, "what this rank prints goes to rank_<R>.log there");
  app.add_option("--ring-steps-per-second", arguments.ring_steps,
                 "what all ranks together tell of ring steps; 0 = all of them")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--origin", arguments.worker.origin_unix_ns, "start of the job, ns since 1970");
  app.add_option("--pace", arguments.pace, "least time of a training step, for example 500ms");
  app.add_option("--kill-silent", arguments.silent, "end a worker that is stopped for longer than this");
  app.add_flag("--tell-in-turn", arguments.worker.tell_in_turn,
               "for measurements: tell nothing in every other training step");
  app.add_option("--times", arguments.worker.times_path,
                 "for measurements: rank 0 writes what each collective took to this file");
  app.footer("Example: mpirun -n 4 ringside-rank --scenario assets/scenarios/live.toml");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(arguments, argc, argv);
}
