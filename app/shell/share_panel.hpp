// What can leave the window: a moment as text, the scenario as a file, a picture, a video.
#pragma once

#include <string>

#include "app/scenes/scene.hpp"
#include "app/session/session.hpp"

namespace ringside::app {

class SharePanel {
 public:
  enum class Page : std::uint8_t { List, Save, Picture, Video };
  void open(const Session& session, Page page);
  /// Call every frame, with the button that it hangs on.
  void frame(View& view, const Session& session, Rect anchor);

 private:
  void draw_list(View& view, const Session& session, Rect box);
  void draw_file(View& view, const Session& session, Rect box);
  float draw_sizes(View& view, Rect box, float y);
  float draw_range(View& view, const Session& session, Rect box, float y);
  void go(View& view, const Session& session);
  std::string path() const;
  void propose_name(const Session& session);

  bool wanted_ = false;  // opened between two frames of its own
  Page page_ = Page::List;
  std::string folder_, name_;
  int size_ = 1, fps_ = 1, range_ = 0;
  double seconds_ = 10;
  bool presenter_ = false;
};

}  // namespace ringside::app
