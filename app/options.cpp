#include "app/options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <utility>

#include "sim/trace/playhead.hpp"

namespace ringside::app {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> duration_ns(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"μs", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"h", 3600e9}, {"s", 1e9}};
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || value < 0 || !(value < 1e12)) return std::nullopt;
  const std::string_view unit(read.ptr, static_cast<std::size_t>(text.data() + text.size() - read.ptr));
  for (const auto& [name, ns] : kUnits)
    if (unit == name && value * ns < 9e18) return static_cast<std::int64_t>(value * ns + 0.5);
  return std::nullopt;
}

}  // namespace

sim::Result<std::int64_t> parse_at(std::string_view text, const sim::Trace& trace) {
  const auto bad = [&](std::string what, std::string legal) {
    return sim::Error{.what = std::move(what), .text = std::string(text), .legal = std::move(legal)};
  };
  if (text == "start") return std::int64_t{0};
  if (text == "end") return trace.end_time();
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    const auto ns = duration_ns(text);
    if (!ns)
      return bad("--at \"" + std::string(text) + "\" is not a time",
                 "1.5ms, step:3, ring:2, event:40, start, end");
    return std::min(*ns, trace.end_time());
  }
  const std::string_view kind = text.substr(0, colon);
  const auto number = whole_number(text.substr(colon + 1));
  if (!number || (kind != "step" && kind != "ring" && kind != "event"))
    return bad("--at \"" + std::string(text) + "\" is not a time",
               "1.5ms, step:3, ring:2, event:40, start, end");
  if (kind == "event") {
    if (*number < 1 || *number > static_cast<std::int64_t>(trace.size()))
      return bad("there is no event " + std::to_string(*number), "1 … " + std::to_string(trace.size()));
    return trace.events()[trace.order()[static_cast<std::size_t>(*number - 1)]].t;
  }
  if (kind == "ring") {
    if (*number == 0) return std::int64_t{0};
    const std::int64_t t =
        trace.collective_count() > 0 ? sim::ring_step_end(trace, 0, static_cast<std::uint32_t>(*number)) : -1;
    if (t < 0)
      return bad("there is no ring step " + std::to_string(*number),
                 "the ring steps of the first collective");
    return t;
  }
  std::int64_t last = 0;
  for (const std::uint32_t index : trace.order()) {
    const sim::Event& event = trace.events()[index];
    if (event.type != sim::EventType::PhaseBegin) continue;
    if (event.phase.step == *number) return event.t;
    last = std::max<std::int64_t>(last, event.phase.step);
  }
  return bad("there is no training step " + std::to_string(*number), "1 … " + std::to_string(last));
}

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions out;
  Options& o = out.options;
  CLI::App cli{
      "A ringside seat at distributed training.\n\nExamples:\n"
      "  ringside assets/scenarios/four-gpus.toml\n"
      "  ringside --render out.png --at ring:2 --size 2560x1440 --lang ko assets/scenarios/four-gpus.toml\n"
      "  ringside --watch 'http://127.0.0.1:4710/#token=…'\n"
      "  ringside --render out.mp4 --from ring:1 --to end --fps 30 --seconds 10 "
      "assets/scenarios/four-gpus.toml",
      "ringside"};
  std::string size, lang, theme;
  float scale = 1;
  cli.add_option(
      "FILE", o.files,
      "a scenario (.toml), one .npy file a rank, a recording, or logs and folders of a stopped job");
  cli.add_option("--render", o.render,
                 "draw off-screen into this PNG, or a range of time into this MP4, and leave");
  cli.add_option("--scene", o.scene, "what to show: home, allreduce …");
  cli.add_option(
      "--at", o.at,
      "the moment: 1.5ms, step:3 (training step), ring:2 (end of a ring step), event:40, start, end");
  cli.add_option("--lesson", o.lesson, "a lesson: its id, and perhaps a step: why-allreduce:2");
  cli.add_option("--watch", o.watch,
                 "the hub of a running job: the URL that ringside-cli live prints, or - to read it from standard "
                 "input");
  cli.add_option("--watch-for", o.watch_for, "with --watch and --render: so many seconds, then the picture")
      ->check(CLI::Range(0.1, 3600.0));
  cli.add_option("--moment", o.moment, "a copied moment (ringside1. …), or - to read it from standard input");
  cli.add_option("--from", o.from, "a video's first moment, as --at (default: start)");
  cli.add_option("--to", o.to, "a video's last moment, as --at (default: end)");
  cli.add_option("--fps", o.fps, "a video's frames a second")->check(CLI::Range(1, 120));
  double seconds = 0;
  CLI::Option* seconds_option =
      cli.add_option("--seconds", seconds, "a video's length (default: as the window plays it)")
          ->check(CLI::Range(0.04, 3600.0));
  cli.add_flag("--progress", o.progress, "with --render: count frames on standard output");
  cli.add_option("--size", size, "pixels of the window or image, WIDTHxHEIGHT");
  cli.add_option("--lang", lang, "en or ko")->check(CLI::IsMember({"en", "ko"}));
  cli.add_option("--theme", theme, "dark or light")->check(CLI::IsMember({"dark", "light"}));
  CLI::Option* scale_option =
      cli.add_option("--scale", scale, "size of everything, 0.8 to 2.5")->check(CLI::Range(0.8, 2.5));
  cli.add_option("--assets", o.assets, "the folder with lang/ and scenarios/");
  cli.add_flag("--presenter", o.presenter, "start as a presenter");
  cli.add_option("--smoke", o.smoke, "leave after so many frames (for tests)")
      ->check(CLI::Range(1, 1'000'000));
  cli.add_option("--screenshot", o.screenshot, "with --smoke: write the last frame into this PNG");
  cli.add_flag("--timing", o.timing, "say how long the start took (for tests)");
  cli.set_version_flag("--version", std::string("ringside ") + RINGSIDE_VERSION);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream text, error;
    const int code = cli.exit(e, text, error);
    out.exit_code = code == 0 ? 0 : 2;
    out.text = text.str() + error.str();
    return out;
  }
  if (!lang.empty()) o.lang = lang == "ko" ? Lang::Ko : Lang::En;
  if (!theme.empty()) o.theme = theme == "light" ? ThemeChoice::Light : ThemeChoice::Dark;
  if (scale_option->count() > 0) o.scale = scale;
  if (seconds_option->count() > 0) o.seconds = seconds;
  if (!size.empty()) {
    const std::size_t x = size.find('x');
    const auto w = whole_number(std::string_view(size).substr(0, x));
    const auto h = x == std::string::npos ? std::nullopt : whole_number(std::string_view(size).substr(x + 1));
    if (!w || !h || *w < 320 || *h < 180 || *w > 7680 || *h > 4320) {
      out.exit_code = 2;
      out.text = "ringside: --size \"" + size + "\" is not a size (possible: 320x180 … 7680x4320)\n";
      return out;
    }
    o.size_given = true;
    o.width = static_cast<int>(*w);
    o.height = static_cast<int>(*h);
  }
  return out;
}

}  // namespace ringside::app
