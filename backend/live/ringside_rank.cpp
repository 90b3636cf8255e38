// What mpirun starts: `ringside-rank --scenario FILE [--hub URL] …`. Forks the worker before anything else is
// set up, then supervises it.
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "backend/live/supervisor.hpp"
#include "backend/live/worker.hpp"
#include "sim/base/quantity.hpp"

namespace {

using namespace ringside;

struct Arguments {
  backend::WorkerOptions worker;
  std::string hub, mode = "stepped", pace = "0ns", silent = "0ns";
};

int run(Arguments& arguments, int argc, char** argv) {
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
  arguments.worker.mode =
      arguments.mode == "fused" ? backend::CollectiveMode::Fused : backend::CollectiveMode::Stepped;

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
  app.add_option("--scenario", arguments.worker.scenario_path, "scenario file; rank 0 reads it for all")
      ->required();
  app.add_option("--hub", arguments.hub, "address of the hub; the token comes from RINGSIDE_RANK_TOKEN");
  app.add_option("--mode", arguments.mode,
                 "stepped: our schedule, every ring step visible; fused: MPI_Allreduce")
      ->check(CLI::IsMember({"stepped", "fused"}));
  app.add_flag("--guard", arguments.worker.guard, "compare every call before it runs");
  app.add_option("--dump-dir", arguments.worker.dump_folder, "where the watchdog writes nccl_trace_rank_<R>");
  app.add_option("--origin", arguments.worker.origin_unix_ns, "start of the job, ns since 1970");
  app.add_option("--pace", arguments.pace, "least time of a training step, for example 500ms");
  app.add_option("--kill-silent", arguments.silent, "end a worker that is stopped for longer than this");
  app.footer("Example: mpirun -n 4 ringside-rank --scenario assets/scenarios/live.toml");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(arguments, argc, argv);
}
