// What building a frame costs: CPU time of NewFrame, the whole window and Render (without a GPU), in turn with
// one loop of plain filled rectangles in the same process. Two counts of rectangles:
//   drawn things: as many as the frame draws lines, boxes, circles, polygons and letters (DrawRecord::things);
//   vertices:     as many as have the vertices of the frame (four each). Smooth edges and round corners cost more
//                 vertices than a plain box has, so this one asks what is lost beside writing them.
// And the frame of every scene at ordinary sizes, in milliseconds.
//   draw_bench [pairs = 200] [words of a row's name, or nothing for all]
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/app.hpp"
#include "app/imgui_compat.hpp"
#include "app/session/files.hpp"
#include "app/options.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/bench/paired.hpp"

namespace {

using namespace ringside;
using namespace ringside::app;

double cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

/// One picture that is measured.
struct Row {
  std::string name = {}, scene = {};
  std::string file = {};                   // in assets/scenarios
  std::string text = {};                   // or a scenario
  std::string lesson = {};                 // or a lesson
  std::string from = "start", to = "end";  // what is played
  int aim = 0;                             // the most that the ratio by vertices may be; 0: none
};

class Window {
 public:
  Window(int width, int height) : width_(width), height_(height) {
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DeltaTime = 1.0f / 60.0f;
    io.DisplaySize = ImVec2(static_cast<float>(width), static_cast<float>(height));
    compat::pretend_renderer();
    compat::use_test_key_codes();
    auto fonts = Fonts::open();
    if (!fonts || !load_languages(std::string(RINGSIDE_SOURCE_DIR) + "/assets/lang")) std::abort();
    Settings settings = parse_settings("");
    settings.lang = Lang::En;
    app_ = std::make_unique<App>(std::move(*fonts), settings, std::string(RINGSIDE_SOURCE_DIR) + "/assets");
    app_->keep_settings = false;
    app_->program.clear();
    compat::inject_mouse_position({-1, -1});
    frame();
  }
  ~Window() {
    app_.reset();
    ImGui::DestroyContext();
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void open(const Row& row) {
    Session& session = app_->session();
    if (!row.lesson.empty()) {
      session.lessons.start(session, row.lesson, 0);
    } else if (!row.text.empty()) {
      auto scenario = sim::parse_scenario(row.text, row.name);
      if (!scenario) std::abort();
      session.open_scenario(std::move(*scenario), row.name);
    } else if (!row.file.empty()) {
      app_->drop_files({std::string(RINGSIDE_SOURCE_DIR) + "/assets/scenarios/" + row.file});
    }
    session.finish_simulation();
    if (row.lesson.empty()) session.scene_id = row.scene;
  }

  void frame(DrawRecord* record = nullptr) {
    app_->prepare_fonts(width_, height_);
    ImGui::NewFrame();
    now_ += 1.0 / 60;
    app_->frame(width_, height_, 0, now_, record);
    ImGui::Render();
    compat::acknowledge_textures();
  }
  /// Shows a time as a playing window does.
  void play(std::int64_t t) {
    app_->session().playhead().mode = sim::PlayMode::Playing;
    app_->session().playhead().t = t;
    frame();
  }
  Session& session() { return app_->session(); }

 private:
  int width_, height_;
  double now_ = 1;
  std::unique_ptr<App> app_;
};

/// Plain filled rectangles of 12 × 12, side by side.
void rectangles(ImDrawList& list, int count) {
  list._ResetForNewFrame();
  list.PushClipRectFullScreen();
  constexpr int kColumns = 100;
  for (int i = 0; i < count; ++i) {
    const ImVec2 at(static_cast<float>(i % kColumns * 12), static_cast<float>(i / kColumns * 12 % 700));
    list.AddRectFilled(at, ImVec2(at.x + 11, at.y + 11), IM_COL32(200, 120, 40, 255));
  }
  list.PopClipRect();
}

template <class F>
double timed(int times, F&& f) {
  const double began = cpu_us();
  for (int i = 0; i < times; ++i) f();
  return (cpu_us() - began) / times;
}

struct Measured {
  std::vector<double> still, playing, by_things, by_vertices;
};

void measure(Window& window, const Row& row, int pairs) {
  window.open(row);
  Session& session = window.session();
  std::int64_t from = 0, to = 0;
  if (session.has_trace() && row.lesson.empty()) {
    from = parse_at(row.from, session.trace()).value();
    to = parse_at(row.to, session.trace()).value();
  }
  const auto time_of = [&](int i, int all) { return from + (to - from) * (i % all) / all; };
  constexpr int kTimes = 10;
  const int all = pairs * kTimes;
  const bool plays = row.lesson.empty() && session.has_trace();
  for (int i = 0; i < 60; ++i) plays ? window.play(time_of(i * all / 60, all)) : window.frame();
  DrawRecord record;
  window.frame(&record);
  const ImDrawData& drawn = *ImGui::GetDrawData();
  const int things = record.things, quads = (drawn.TotalVtxCount + 3) / 4;
  ImDrawList list(ImGui::GetDrawListSharedData());
  Measured m;
  int shown = 0;
  for (int pair = -5; pair < pairs; ++pair) {
    double times[3] = {};
    for (int turn = 0; turn < 2; ++turn) {
      if ((turn == 0) == (pair % 2 == 0)) {  // each goes first in every other pair
        times[0] = timed(kTimes, [&] { plays ? window.play(time_of(shown++, all)) : window.frame(); });
      } else {
        times[1] = timed(kTimes, [&] { rectangles(list, things); });
        times[2] = timed(kTimes, [&] { rectangles(list, quads); });
      }
    }
    if (pair < 0) continue;
    m.playing.push_back(times[0]);
    m.by_things.push_back(times[1]);
    m.by_vertices.push_back(times[2]);
  }
  session.playhead().mode = sim::PlayMode::Paused;
  for (int i = 0; i < pairs; ++i) m.still.push_back(timed(1, [&] { window.frame(); }));
  const bench::Interval playing = bench::median_interval(m.playing), still = bench::median_interval(m.still),
                        things_ratio = bench::ratio_interval(m.playing, m.by_things),
                        vertices_ratio = bench::ratio_interval(m.playing, m.by_vertices);
  std::printf("%-44s %7.3f ms (still %7.3f)  %6d things: x%6.2f (%.2f to %.2f)  %6d quads: x%5.2f (%.2f to %.2f)%s\n",
              row.name.c_str(), playing.median / 1e3, still.median / 1e3, things, things_ratio.median,
              things_ratio.low, things_ratio.high, quads, vertices_ratio.median, vertices_ratio.low,
              vertices_ratio.high, row.aim > 0 ? (" aim " + std::to_string(row.aim)).c_str() : "");
  std::fflush(stdout);
}

std::string ring_of(int nodes) {
  return "title = \"ring\"\n[cluster]\npreset = \"dgx-h100\"\nnodes = " + std::to_string(nodes) +
         "\n[tensor]\nshape = [4096]\nvalues = \"index\"\n[collective]\nalgorithm = \"ring\"\n";
}

std::vector<Row> rows() {
  const std::string crash = "cluster-64x8-crash.toml", failures = "cluster-16384-failures.toml";
  return {
      {.name = "cluster, 512 ranks at work", .scene = "cluster", .file = crash, .from = "step:600", .to = "step:602", .aim = 3},
      {.name = "cluster, 512 ranks, one dies, all wait", .scene = "cluster", .file = crash, .from = "step:700", .aim = 3},
      {.name = "cluster, 16,384 ranks, aggregated", .scene = "cluster", .file = failures, .aim = 2},
      {.name = "allreduce, 64 ranks (its most)", .scene = "allreduce", .text = ring_of(8)},
      {.name = "step, 512 ranks", .scene = "step", .file = crash, .from = "step:600", .to = "step:602"},
      {.name = "home", .scene = "home"},
      {.name = "lesson", .lesson = "ring-reduce-scatter"},
      {.name = "tensor", .scene = "tensor"},
      {.name = "same-shape", .scene = "same-shape"},
      {.name = "allreduce, 4 ranks", .scene = "allreduce", .file = "four-gpus.toml"},
      {.name = "allreduce, 8 ranks", .scene = "allreduce", .file = "eight-gpus-16.toml"},
      {.name = "step, 4 ranks", .scene = "step", .file = "training-step.toml"},
      {.name = "step, each rank alone", .scene = "step", .file = "training-alone.toml"},
      {.name = "nan, 8 ranks", .scene = "nan", .file = "nan-eight-gpus.toml"},
      {.name = "nan, 64 ranks", .scene = "nan", .file = "cluster-nan-chain.toml"},
      {.name = "cluster, one of a few dies", .scene = "cluster", .file = "crash-one-rank.toml"},
      {.name = "detective", .scene = "detective"},
      {.name = "duel", .scene = "duel", .file = "four-gpus.toml"},
      {.name = "live, not connected", .scene = "live"},
      {.name = "incident, nothing read", .scene = "incident"},
  };
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  std::string words;
  for (int i = 2; i < argc; ++i) words += (i > 2 ? " " : "") + std::string(argv[i]);
  for (const auto& [width, height] : {std::pair{1280, 720}, std::pair{2560, 1440}}) {
    std::printf("%d x %d, %d pairs of 10 frames; median and its 95 %% interval\n", width, height, pairs);
    for (const Row& row : rows()) {
      if (row.name.find(words) == std::string::npos) continue;
      Window window(width, height);
      measure(window, row, pairs);
    }
  }
  return 0;
}
