// Two thousand frames of seeded random clicks, keys, drags and typing: nothing asserts, nothing is cut, ids
// never clash.
#include <array>
#include <random>
#include <set>

#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

TEST(RandomInput, SurvivesTwoThousandFrames) {
  Harness h;
  h.open("four-gpus-vector.toml");
  std::mt19937 random(20);  // the raw engine is the same on every machine; distributions are not
  const auto below = [&](std::uint32_t n) { return random() % n; };
  bool down = false;
  for (int frame = 0; frame < 2000; ++frame) {
    switch (below(8)) {
      case 0:
      case 1: {
        const auto ids = h.app->ui().probe_ids();
        if (ids.empty()) break;
        const auto box = h.app->ui().probe(ids[below(static_cast<std::uint32_t>(ids.size()))]);
        if (box)
          compat::inject_mouse_position(box->center() *
                                        ui_scale_for(1280, 720, h.app->settings().user_scale));
        break;
      }
      case 2:
        compat::inject_mouse_position({static_cast<float>(below(1280)), static_cast<float>(below(720))});
        break;
      case 3:
      case 4:
        down = !down;
        compat::inject_mouse_button(0, down);
        break;
      case 5: {
        const Key key = static_cast<Key>(below(kKeyCount));
        compat::inject_key(key, true);
        h.frames(1);
        compat::inject_key(key, false);
        break;
      }
      case 6:
        compat::inject_text("-4.5e1");
        break;
      default:
        compat::inject_mouse_wheel(below(2) == 0 ? 1.0f : -1.0f);
        break;
    }
    h.frames(1);
    const auto ids = h.app->ui().probe_ids();
    ASSERT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size()) << "two widgets share an id";
  }
}

}  // namespace
}  // namespace ringside::app::test
