#include "app/render.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/imgui_compat.hpp"
#include "app/platform/video.hpp"

namespace ringside::app {
namespace {

/// As long as the window would play it.
double natural_seconds(const Session& session, std::int64_t from, std::int64_t to) {
  const double ns = session.axis().place(to) - session.axis().place(from);
  return std::clamp(ns / 1e9 / session.playhead().speed, 0.2, 600.0);
}

}  // namespace

void draw_frame(App& app, Platform& platform, std::int64_t wall_ns, double now) {
  const auto size = ImGui::GetIO().DisplaySize;
  const int w = static_cast<int>(size.x), h = static_cast<int>(size.y);
  app.frame(w, h, wall_ns, now);
  compat::upload_glyphs(app.fonts(), platform.texture_upload());
}

Image render_image(App& app, Platform& platform, int width, int height) {
  Image image;
  for (int i = 0; i < 2; ++i) {
    app.prepare_fonts(width, height);
    platform.begin_frame();
    draw_frame(app, platform, 0, 0);
    platform.end_frame(app.background(), &image);
  }
  return image;
}

std::vector<std::int64_t> video_times(const TimeAxis& axis, std::int64_t from, std::int64_t to, int count) {
  const double a = axis.place(from), b = axis.place(to);
  std::vector<std::int64_t> out;
  for (int i = 0; i < count; ++i) {
    const double share = count > 1 ? static_cast<double>(i) / (count - 1) : 1.0;
    out.push_back(std::clamp(axis.time(a + share * (b - a)), from, to));
  }
  out.back() = to;
  return out;
}

sim::Status render_video(App& app, Platform& platform, const Options& options,
                         const std::function<bool()>& stop) {
  Session& session = app.session();
  if (!session.has_trace())
    return sim::Error{.what = "a video needs something to show", .hint = "name a scenario file or a moment"};
  const auto from = parse_at(options.from.empty() ? "start" : options.from, session.trace());
  if (!from) return from.error();
  const auto to = parse_at(options.to.empty() ? "end" : options.to, session.trace());
  if (!to) return to.error();
  if (*to < *from) return sim::Error{.what = "--to is before --from"};
  const double seconds = options.seconds.value_or(natural_seconds(session, *from, *to));
  const double wanted = std::round(seconds * options.fps);
  if (wanted > kMaxVideoFrames)
    return sim::Error{
        .what = "a video of " + std::to_string(static_cast<std::int64_t>(wanted)) + " frames is too long",
        .legal = "at most " + std::to_string(kMaxVideoFrames)};
  const int count = std::max(1, static_cast<int>(wanted));
  auto writer = VideoWriter::open(options.render, options.width, options.height, options.fps);
  if (!writer) return writer.error();
  session.playhead().mode = sim::PlayMode::Paused;
  session.playhead().t = *from;
  Image image = render_image(app, platform, options.width, options.height);  // fonts and layout settle
  int done = 0;
  for (const std::int64_t t : video_times(session.axis(), *from, *to, count)) {
    if (stop()) return sim::Error{.what = "stopped; nothing was written", .file = options.render};
    session.playhead().t = t;
    app.prepare_fonts(options.width, options.height);
    platform.begin_frame();
    // Nothing but the playhead moves: a tween of the window's own clock would not belong to the range.
    draw_frame(app, platform, 0, 0);
    platform.end_frame(app.background(), &image);
    if (const sim::Status added = (*writer)->add(image); !added) return added.error();
    if (options.progress) {
      std::printf("frame %d %d\n", ++done, count);
      std::fflush(stdout);
    }
  }
  return (*writer)->finish();
}

}  // namespace ringside::app
