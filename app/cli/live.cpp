// `ringside-cli live` starts a real run and says what came of it; `ringside-cli hub` is the hub it starts
// beside the ranks.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "app/cli/command.hpp"
#include "backend/files.hpp"
#include "backend/live/compare.hpp"
#include "backend/live/host_clocks.hpp"
#include "backend/live/hub.hpp"
#include "backend/live/launcher.hpp"
#include "backend/live/recording.hpp"
#include "backend/trace_file.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/diagnosis/from_trace.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::app {
namespace {

struct LiveOptions {
  int ranks = 4;
  std::int64_t steps = 20, elements = 0;
  std::string scenario, dtype = "float32", op = "avg", watchdog = "30s", device = "auto";
  std::vector<std::string> faults;
  backend::LaunchOptions launch;
  bool json = false;
};

std::atomic<bool> g_stop{false};
extern "C" void ask_to_stop(int) {
  g_stop.store(true);
}

/// Elements of a wrong call when --fault shape says no shape: more than the small network has.
constexpr int kWrongCount = 4096;

/// "crash:rank=2,step=5" as a [[fault]] table; the scenario parser then checks it like any other.
sim::Result<std::string> fault_table(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  std::string out = "\n[[fault]]\nkind = \"" + spec.substr(0, colon) + "\"\n";
  std::string_view rest =
      colon == std::string::npos ? std::string_view() : std::string_view(spec).substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const bool plain =
        !key.empty() && key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
    if (equals == std::string_view::npos || !plain || pair.find_first_of("\"\\\n") != std::string_view::npos)
      return sim::Error{.what = "not a fault",
                        .text = spec,
                        .legal = "KIND:rank=N,step=N",
                        .hint = "For example --fault crash:rank=2,step=5"};
    const std::string_view value = pair.substr(equals + 1);
    const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
    if (key == "shape") {  // "shape=64" or "shape=8x8"
      std::string extents(value);
      std::replace(extents.begin(), extents.end(), 'x', ',');
      out += "shape = [" + extents + "]\n";
    } else {
      out +=
          std::string(key) + " = " + (number ? std::string(value) : "\"" + std::string(value) + "\"") + "\n";
    }
  }
  const bool needs_shape = spec.starts_with("shape") && out.find("\nshape = ") == std::string::npos;
  if (needs_shape) out += "shape = [" + std::to_string(kWrongCount) + "]\n";
  return out;
}

/// The scenario of a live run: a file, or a small network (or a gradient of --elements numbers) on this many
/// ranks.
sim::Result<std::string> scenario_text(const LiveOptions& options) {
  std::string text;
  if (!options.scenario.empty()) {
    auto read = backend::read_file(options.scenario, std::int64_t{16} << 20);
    if (!read) return read.error();
    text = *read;
  } else {
    text = "title = \"Live: " + std::to_string(options.ranks) +
           " ranks\"\n[cluster]\nnodes = 1\ngpus_per_node = " + std::to_string(options.ranks) +
           "\n[tensor]\ndtype = \"" + options.dtype + "\"\n";
    if (options.elements > 0)
      text += "shape = [" + std::to_string(options.elements) + "]\nvalues = \"index\"\n";
    text += "[training]\nsteps = " + std::to_string(options.steps) + "\n";
    // One collective a step has no order that could be wrong.
    const bool order = std::any_of(options.faults.begin(), options.faults.end(),
                                   [](const std::string& fault) { return fault.starts_with("wrong_order"); });
    if (order) text += "buckets = 2\n";
    if (options.elements == 0) text += "[training.network]\nenabled = true\nlayers = [2, 8, 8, 1]\n";
    text += "[collective]\nop = \"" + options.op + "\"\n[stack]\nlibrary = \"" +
            (options.launch.device == "gpu" ? "nccl" : "mpi") +
            "\"\nlauncher = \"mpirun --enable-recovery\"\nwatchdog = \"" + options.watchdog + "\"\n";
  }
  for (const std::string& spec : options.faults) {
    const auto table = fault_table(spec);
    if (!table) return table.error();
    text += *table;
  }
  return text;
}

/// A person ended the run, and nothing was wrong until then.
bool just_stopped(const sim::Diagnosis& diagnosis) {
  return g_stop.load() && diagnosis.kind == sim::DiagnosisKind::None;
}

/// What ended the run, first that applies (CONTRACTS): error > timeout > hang > wrong-result > nan >
/// completed. Who was stopped by a person while nothing was wrong did not fail.
sim::Outcome outcome_of(const sim::Trace& trace, const sim::Diagnosis& diagnosis) {
  std::vector<bool> timed_out(static_cast<std::size_t>(std::max(0, trace.header.world_size)));
  std::vector<bool> ended(timed_out.size());
  bool error = false, timeout = false;
  for (const sim::Event& e : trace.events()) {
    if (e.rank() < 0 || e.rank() >= static_cast<int>(timed_out.size())) continue;
    const auto rank = static_cast<std::size_t>(e.rank());
    if (e.type == sim::EventType::WatchdogExpired) timeout = timed_out[rank] = true;
    if (e.type == sim::EventType::Exit) {
      ended[rank] = true;
      const bool well = e.aux8 == 0 && e.text.code == 0;
      const bool was_stopped = trace.string(e.text.text).starts_with("stopped for longer");
      error = error || (!well && !timed_out[rank] && !was_stopped);
    }
  }
  if (error) return sim::Outcome::Error;
  if (timeout) return sim::Outcome::Timeout;
  for (const bool rank_ended : ended)
    if (!rank_ended && !just_stopped(diagnosis)) return sim::Outcome::Hang;
  if (diagnosis.kind == sim::DiagnosisKind::SilentCorruption) return sim::Outcome::WrongResult;
  return diagnosis.kind == sim::DiagnosisKind::Nan ? sim::Outcome::Nan : sim::Outcome::Completed;
}

/// The first rank's hello, nullptr if none came.
const sim::Hello* first_hello(const sim::Trace& trace) {
  for (const sim::Event& e : trace.events())
    if (e.type == sim::EventType::Hello) return &trace.hello(e.hello.hello);
  return nullptr;
}
bool ran_on_gpu(const sim::Trace& trace) {
  const sim::Hello* hello = first_hello(trace);
  return hello != nullptr && !hello->pci.empty();
}

/// What the ranks said of stepped against fused.
struct Comparisons {
  std::int64_t count = 0, equal = 0;
  std::string first;  // the first difference, with its rank
};
Comparisons comparisons(const sim::Trace& trace) {
  Comparisons out;
  for (const sim::Event& e : trace.events()) {
    if (e.type != sim::EventType::LogLine || e.rank() < 0 || e.text.channel == sim::kNone ||
        trace.string(e.text.channel) != backend::kCompareStream)
      continue;
    const std::string& text = trace.string(e.text.text);
    ++out.count;
    if (backend::says_equal(text))
      ++out.equal;
    else if (out.first.empty())
      out.first = "rank " + std::to_string(e.rank()) + ", " + text;
  }
  return out;
}

std::string live_json(const sim::Trace& trace, const sim::Diagnosis& diagnosis, const LiveOptions& options,
                      const backend::LaunchNotes& notes, const std::vector<backend::HostOffset>& clocks) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("title", trace.header.title).field("seed", trace.header.seed);
  json.field("world_size", trace.header.world_size).field("outcome", to_word(outcome_of(trace, diagnosis)));
  if (g_stop.load()) json.field("stopped", true);
  json.field("time_ns", trace.end_time()).field("trace_hash", backend::trace_hash(trace));
  json.field("device", ran_on_gpu(trace) ? "gpu" : "cpu");
  json.field("mode", options.launch.both ? "both" : options.launch.fused ? "fused" : "stepped");
  if (options.launch.both) {
    const Comparisons found = comparisons(trace);
    json.key("comparison").begin_object().field("collectives", found.count).field("equal", found.equal);
    if (!found.first.empty()) json.field("first_difference", found.first);
    json.end_object();
  }
  json.field("events", static_cast<std::int64_t>(trace.size()))
      .field("collectives", static_cast<std::int64_t>(trace.collective_count()));
  if (!options.launch.recording.empty()) json.field("recording", notes.recording);
  if (notes.hub_restarts > 0) json.field("hub_restarts", notes.hub_restarts);
  if (!clocks.empty()) {
    json.key("clocks").begin_array();
    for (const backend::HostOffset& clock : clocks)
      json.begin_object()
          .field("host", clock.host)
          .field("reference", clock.reference)
          .field("offset_ns", clock.offset_ns)
          .field("error_ns", clock.error_ns)
          .field("events", clock.events)
          .field("resets", clock.resets)
          .end_object();
    json.end_array();
  }
  json.key("diagnosis");
  std::string verdict;
  sim::append_diagnosis_json(verdict, diagnosis);
  json.raw(verdict).end_object();
  return out + "\n";
}

std::string live_text(const sim::Trace& trace, const sim::Diagnosis& diagnosis, const LiveOptions& options,
                      const backend::LaunchNotes& notes, const std::vector<backend::HostOffset>& clocks) {
  const sim::Hello* hello = first_hello(trace);
  std::string out = (just_stopped(diagnosis) ? "stopped, and nothing was wrong until then:"
                                  : std::string(to_word(outcome_of(trace, diagnosis)))) +
                    (hello != nullptr ? " on " + sim::escape_for_display(hello->device) : "") + " after " +
                    sim::format_duration(trace.end_time()) + ", " +
                    sim::with_commas(static_cast<std::int64_t>(trace.collective_count())) + " collectives, " +
                    sim::with_commas(static_cast<std::int64_t>(trace.size())) + " events\n";
  if (options.launch.both) {
    const Comparisons found = comparisons(trace);
    out += "stepped and fused: " + std::to_string(found.equal) + " of " + std::to_string(found.count) +
           " results equal bit for bit\n";
    if (!found.first.empty()) out += "  first difference: " + sim::escape_for_display(found.first) + "\n";
  }
  if (diagnosis.kind != sim::DiagnosisKind::None) {
    out += "diagnosis: " + std::string(to_word(diagnosis.kind)) + " (" +
           std::string(to_word(diagnosis.confidence)) + ")\n  " +
           sim::escape_for_display(diagnosis.first_cause.what) + "\n";
    for (const auto& step : diagnosis.next_steps) out += "  next: " + sim::escape_for_display(step) + "\n";
  }
  for (const backend::HostOffset& clock : clocks) out += backend::offset_text(clock) + "\n";
  if (notes.hub_restarts > 0)
    out += "the hub ended and was started anew " + std::to_string(notes.hub_restarts) +
           " times; gaps in a rank's event numbers show what was lost\n";
  if (!options.launch.recording.empty())
    out += "recording: " + sim::escape_for_display(notes.recording) + "\n";
  return out;
}

std::string folder_of_this_program() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
}

void say_url(const std::string& url, void*) {
  std::fprintf(stderr, "Watch it: ringside --watch '%s'\n", url.c_str());
}

/// What the ranks are asked for. On this machine alone it can be said before anything starts; other machines
/// speak for themselves, and all ranks decide together.
sim::Result<std::string> choose_device(const LiveOptions& options, int ranks) {
  const bool elsewhere = !options.launch.hostfile.empty() || !options.launch.hosts.empty();
  if (options.device == "cpu" || elsewhere) return options.device;
  const backend::LocalDevices devices = backend::local_devices(options.launch.program_folder);
  if (devices.gpus >= ranks) return std::string("gpu");
  if (options.device == "auto") return std::string("cpu");
  sim::Error error;
  error.what = devices.gpus == 0 ? devices.text
                                 : std::to_string(ranks) + " ranks and " + std::to_string(devices.gpus) +
                                       " GPUs: NCCL wants one for each rank";
  error.hint = devices.gpus == 0
                   ? "Use --device cpu: the same schedule over MPI. --device auto takes it here."
                   : "Use -n " + std::to_string(devices.gpus) + ", or --device cpu.";
  return error;
}

int run_live(LiveOptions& options) {
  options.launch.program_folder = folder_of_this_program();
  const std::string name = options.scenario.empty() ? "the command line's scenario" : options.scenario;
  auto text = scenario_text(options);
  if (!text) return report(text.error(), options.json, kBadInput);
  auto scenario = sim::parse_scenario(*text, name);
  if (!scenario) return report(scenario.error(), options.json, kBadInput);
  for (const sim::Fault& fault : scenario->faults)
    if (!sim::supported_live(fault.kind)) {
      sim::Error error;
      error.what = "a live run cannot do \"" + std::string(to_word(fault.kind)) + "\" to itself";
      error.legal = "nan, crash, hang, slow, shape, skip_step, early_exit, wrong_order";
      return report(error, options.json, kBadInput);
    }
  const auto device = choose_device(options, scenario->world_size());
  if (!device) return report(device.error(), options.json, kCouldNot);
  options.launch.device = *device;
  if (*device == "gpu" && options.scenario.empty()) {  // the command line's scenario is that of NCCL then
    text = scenario_text(options);
    scenario = sim::parse_scenario(*text, name);
  }
  options.launch.ranks = scenario->world_size();
  options.launch.scenario_toml = *text;
  options.launch.watchdog_ns = scenario->stack.watchdog_ns;
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  const auto notes = backend::launch(options.launch, *scenario, g_stop, say_url, nullptr);
  if (!notes) return report(notes.error(), options.json, kCouldNot);
  auto trace = backend::read_recording(notes->recording);
  if (options.launch.recording.empty()) ::unlink(notes->recording.c_str());
  if (!trace) return report(trace.error(), options.json, kCouldNot);
  const std::vector<backend::HostOffset> clocks = backend::host_clocks(*trace);
  const sim::Diagnosis diagnosis = backend::diagnose_with_clocks(*trace, clocks);
  return print(options.json ? live_json(*trace, diagnosis, options, *notes, clocks)
                            : live_text(*trace, diagnosis, options, *notes, clocks))
             ? kDone
             : kCouldNot;
}

}  // namespace

void add_live(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand(
      "live", "Start a real run: hub, mpirun and ranks; watch it, break it, get the verdict");
  const auto options = std::make_shared<LiveOptions>();
  command->add_option("-n,--ranks", options->ranks, "Number of ranks")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--steps", options->steps, "Training steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--device", options->device, "auto, cpu (MPI) or gpu (NCCL)")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}));
  command->add_option("--elements", options->elements,
                      "A gradient of so many numbers instead of the small network");
  command->add_option("--dtype", options->dtype, "float32, float16 …")->capture_default_str();
  command->add_option("--op", options->op, "sum, avg …")->capture_default_str();
  command->add_option("--scenario", options->scenario,
                      "Take cluster, tensor, steps and faults from this scenario file");
  command->add_option("--fault", options->faults,
                      "KIND:rank=N,step=N, for example crash:rank=2,step=5; may be given again");
  command->add_option("--watchdog", options->watchdog, "How long a rank waits in a collective")
      ->capture_default_str();
  command->add_option("--record", options->launch.recording, "Keep the events in this file (.rsr)");
  auto* fused = command->add_flag("--fused", options->launch.fused,
                                  "MPI_Iallreduce (ncclAllReduce on GPUs) instead of the visible ring steps");
  command
      ->add_flag("--both", options->launch.both,
                 "Each collective twice on the same data, stepped and fused, and the results compared")
      ->excludes(fused);
  command->add_flag("--guard", options->launch.guard,
                    "Compare every call before it runs, as debug detail does");
  command
      ->add_option("--pace", options->launch.pace, "Least time of a training step, so that eyes can follow")
      ->capture_default_str();
  command->add_option("--hostfile", options->launch.hostfile, "Machines for mpirun");
  command->add_option("--hosts", options->launch.hosts, "Machines for mpirun, as --host takes them");
  command->add_option("--address", options->launch.address, "Address of the hub")->capture_default_str();
  command->add_option("--port", options->launch.port, "Port of the hub; the next ones if it is taken")
      ->capture_default_str();
  command->add_option("--tls-cert", options->launch.tls_certificate,
                      "Certificate (PEM) for an address that others reach");
  command->add_option("--tls-key", options->launch.tls_key, "Its key (PEM)");
  command->add_flag("--self-signed", options->launch.self_signed,
                    "Make a certificate for this run; the printed URL pins it")
      ->excludes("--tls-cert");
  command->add_flag("--insecure", options->launch.insecure, "No TLS on such an address all the same");
  command->add_option("--dump-dir", options->launch.dump_folder,
                      "Where ranks leave nccl_trace_rank_<R> when they time out");
  command->add_option("--log-dir", options->launch.log_folder,
                      "Where each rank leaves rank_<R>.log: its steps, errors and end, for `diagnose`");
  command->add_option("--ring-steps-per-second", options->launch.ring_steps_per_second,
                      "What all ranks together tell of ring steps (4000); faster jobs tell those of every 2nd, 4th "
                      "… training step; 0 = all of them")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "Print one JSON object on stdout and nothing else");
  command->footer("Example:\n  ringside-cli live -n 4 --steps 20 --fault crash:rank=2,step=5 --watchdog 5s");
  command->callback([options, &exit] { exit.value = run_live(*options); });
}

namespace {

struct HubArguments {
  std::string run_file;
  bool self_signed = false;
  backend::HubRunFile run;
};

/// Where certificate and key of one run are, until it is over.
struct PrivateFolder {
  std::string path;
  explicit PrivateFolder(bool wanted) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringside-tls-XXXXXX").string();
    if (wanted && ::mkdtemp(pattern.data()) != nullptr) path = pattern;
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

/// A hub for ranks that somebody else starts: an NCCL job with the profiler plugin.
int run_hub(HubArguments& arguments) {
  if (!arguments.run_file.empty()) {
    const auto run = backend::read_run_file(arguments.run_file);
    return run ? backend::serve_hub(*run) : report(run.error(), false, kBadInput);
  }
  backend::HubRunFile& run = arguments.run;
  if (run.world_size == 0) {
    sim::Error error;
    error.what = "a hub needs --ranks N (or --run FILE)";
    return report(error, false, kBadInput);
  }
  if (const auto made = backend::make_tokens(run); !made) return report(made.error(), false, kCouldNot);
  const PrivateFolder folder(arguments.self_signed);
  if (arguments.self_signed) {
    run.tls_certificate = folder.path + "/certificate.pem";
    run.tls_key = folder.path + "/key.pem";
    const auto made = backend::write_self_signed(run.tls_certificate, run.tls_key, "ringside-hub");
    if (!made) return report(made.error(), false, kCouldNot);
  }
  run.gpus_per_node = 1;
  run.origin_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  const std::string plugin = folder_of_this_program() + "/libnccl-profiler-ringside.so";
  return backend::serve_hub(run, [&](const std::string& url, const std::string& fingerprint) {
    const std::string pin = fingerprint.empty() ? "" : "&cert=" + fingerprint;
    std::fprintf(stderr,
                 "Watch it:        ringside --watch '%s/#token=%s%s'\n"
                 "In each process: export RINGSIDE_HUB='%s/#token=%s%s'\n"
                 "                 export NCCL_PROFILER_PLUGIN=%s\n"
                 "Ctrl-C ends the hub.\n",
                 url.c_str(), run.viewer_token.c_str(), pin.c_str(), url.c_str(), run.rank_token.c_str(),
                 pin.c_str(), plugin.c_str());
  });
}

}  // namespace

void add_hub(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand("hub", "The hub alone: ranks write to it, viewers read");
  const auto arguments = std::make_shared<HubArguments>();
  backend::HubRunFile& run = arguments->run;
  run.address = "127.0.0.1";
  run.port = 4710;
  run.title = "NCCL job";
  auto* run_file = command->add_option("--run", arguments->run_file,
                                       "Run file (mode 0600) with tokens, address and recording");
  command->add_option("--ranks", run.world_size, "For an NCCL job with the profiler plugin: its processes")
      ->check(CLI::Range(1, 1'000'000))
      ->excludes(run_file);
  command->add_option("--title", run.title, "Name of the run")->capture_default_str();
  command->add_option("--record", run.recording, "Keep the events in this file (.rsr)");
  command->add_option("--address", run.address, "Address to listen on")->capture_default_str();
  command->add_option("--port", run.port, "Port; the next ones if it is taken")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  command->add_option("--tls-cert", run.tls_certificate,
                      "Certificate (PEM) for an address that others reach");
  command->add_option("--tls-key", run.tls_key, "Its key (PEM)");
  command->add_flag("--self-signed", arguments->self_signed,
                    "Make a certificate for this run; the printed addresses pin it")
      ->excludes("--tls-cert");
  command->add_flag("--insecure", run.insecure, "No TLS on such an address all the same");
  command->footer(
      "Example:\n  ringside-cli hub --ranks 8 --record job.rsr\n\n`ringside-cli live` starts a hub by "
      "itself.");
  command->callback([arguments, &exit] { exit.value = run_hub(*arguments); });
}

}  // namespace ringside::app
