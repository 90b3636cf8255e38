// Seeded random clicks (left and right), keys, drags and typing over every scene: nothing asserts, ids never
// clash, and memory does not grow once what was opened is closed. RINGSIDE_RANDOM_FRAMES=5000 for a long run.
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>

#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

int frames_wanted() {
  int frames = 2'000;
  if (const char* given = std::getenv("RINGSIDE_RANDOM_FRAMES"))
    std::from_chars(given, given + std::strlen(given), frames);
  return frames;
}

/// What a person with a bad day does.
class Monkey {
 public:
  Monkey(Harness& h, std::uint32_t seed) : h_(h), random_(seed) {}

  void act() {
    switch (below(10)) {
      case 0:
      case 1: {
        const auto ids = h_.app->ui().probe_ids();
        if (ids.empty()) break;
        const auto box = h_.app->ui().probe(ids[below(static_cast<std::uint32_t>(ids.size()))]);
        if (box)
          compat::inject_mouse_position(box->center() *
                                        ui_scale_for(1280, 720, h_.app->settings().user_scale));
        break;
      }
      case 2:
        compat::inject_mouse_position({static_cast<float>(below(1280)), static_cast<float>(below(720))});
        break;
      case 3:
      case 4:
        down_ = !down_;
        compat::inject_mouse_button(0, down_);
        break;
      case 5: {
        const Key key = static_cast<Key>(below(kKeyCount));
        const bool ctrl = below(4) == 0;
        if (ctrl) compat::inject_ctrl(true);
        compat::inject_key(key, true);
        h_.frames(1);
        compat::inject_key(key, false);
        if (ctrl) compat::inject_ctrl(false);
        break;
      }
      case 6:
        compat::inject_text("-4.5e1");
        break;
      case 7:
        menu_ = !menu_;
        compat::inject_mouse_button(1, menu_);
        break;
      default:
        compat::inject_mouse_wheel(below(2) == 0 ? 1.0f : -1.0f);
        break;
    }
    h_.frames(1);
  }
  void let_go() {
    compat::inject_mouse_button(0, down_ = false);
    compat::inject_mouse_button(1, menu_ = false);
    h_.frames(2);
  }

 private:
  // The raw engine is the same on every machine; distributions are not.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_()) % n; }
  Harness& h_;
  std::mt19937 random_;
  bool down_ = false, menu_ = false;
};

/// Every scene for its share of the frames, then everything is closed.
void tour(Harness& h, Monkey& monkey, int frames) {
  const int share = std::max(1, frames / static_cast<int>(scene_table().size()));
  for (const SceneEntry& entry : scene_table()) {
    if (!h.session().has_trace()) h.open("four-gpus-vector.toml");
    h.session().scene_id = entry.id;
    for (int i = 0; i < share; ++i) {
      monkey.act();
      const auto ids = h.app->ui().probe_ids();
      ASSERT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size())
          << "two widgets share an id on " << entry.id;
    }
  }
  monkey.let_go();
  h.app->ui().close_popup();
  h.session().apply(action::CancelSimulation{});
  h.session().finish_simulation();
  while (h.session().has_trace()) h.session().apply(action::CloseTab{h.session().tab()});
  h.session().notices.clear();
  h.session().scene_id = "home";
  h.frames(3);
}

TEST(RandomInput, SurvivesAndLetsMemoryGo) {
  // Whatever it saves goes here.
  const auto folder =
      std::filesystem::temp_directory_path() / ("ringside_monkey_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  setenv("XDG_DOCUMENTS_DIR", folder.c_str(), 1);
  setenv("HOME", folder.c_str(), 1);
  {
    Harness h;
    Monkey monkey(h, 20);
    // Each scene keeps buffers of the size that it has once seen, so the first tour is not measured.
    const int frames = frames_wanted() / 3;
    tour(h, monkey, frames);
    tour(h, monkey, frames);
    const std::size_t before = mallinfo2().uordblks;
    tour(h, monkey, frames);
    const std::size_t after = mallinfo2().uordblks;
#ifndef __SANITIZE_ADDRESS__
    EXPECT_LT(static_cast<double>(after), static_cast<double>(before) + 12e6)
        << before << " → " << after << " bytes";
#endif
    if (HasFailure()) return;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ringside::app::test
