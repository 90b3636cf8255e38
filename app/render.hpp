// Off-screen output of one Ringside: a picture of a moment, a video of a range.
#pragma once

#include "app/app.hpp"
#include "app/options.hpp"
#include "app/platform/platform.hpp"

namespace ringside::app {

/// One frame of the app as pixels.
void draw_frame(App& app, Platform& platform, std::int64_t wall_ns, double now);
/// The picture of the app's moment. Two frames: the second knows the first one's layout.
Image render_image(App& app, Platform& platform, int width, int height);

/// The moments that the frames of a video show: `count` of them from `from` to `to`, both shown, evenly along
/// the axis.
std::vector<std::int64_t> video_times(const TimeAxis& axis, std::int64_t from, std::int64_t to, int count);
inline constexpr int kMaxVideoFrames = 100'000;

/// Writes options.render as a video. `stop` is asked before each frame (Ctrl+C); a stopped video leaves no
/// file.
sim::Status render_video(App& app, Platform& platform, const Options& options,
                         const std::function<bool()>& stop);

}  // namespace ringside::app
