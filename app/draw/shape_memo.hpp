// A cluster draws the same rounded square thousands of times a frame. Its corners and soft edges are worked out once
// a frame and copied from then on: the shapes of ImGui's draw lists do not depend on where they are.
#pragma once

#include <imgui.h>

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace ringside::app {

/// What a shape is made from, apart from its place.
struct ShapeKey {
  enum class Kind : std::uint8_t { None, Filled, Outlined, Disc, Line } kind = Kind::None;
  float w = 0, h = 0, radius = 0, width = 0;  // in pixels
  ImU32 color = 0;
  bool operator==(const ShapeKey&) const = default;
};

class ShapeMemo {
 public:
  /// Forgets all: at the start of a frame, since the font texture (whose white pixel shapes are drawn with) may have
  /// moved.
  void clear() {
    for (Slot& slot : slots_) slot.key = {};
  }
  /// Draws what `make` would draw, moved to `at`. What comes once is not kept.
  template <class Make>
  void draw(ImDrawList& list, const ShapeKey& key, ImVec2 at, Make&& make) {
    Slot& slot = slots_[hash(key) % slots_.size()];
    if (slot.key != key) {
      slot.key = key;
      slot.known = false;
      make();
    } else if (!slot.known) {
      const int before = list.VtxBuffer.Size, indices_before = list.IdxBuffer.Size;
      make();
      keep(slot, list, before, indices_before, at);
    } else {
      copy(slot, list, at);
    }
  }

 private:
  struct Slot {
    ShapeKey key;
    bool known = false;
    std::vector<ImDrawVert> vertices = {};  // relative to the place
    std::vector<ImDrawIdx> indices = {};    // relative to the first vertex
  };
  static std::size_t hash(const ShapeKey& key) {
    std::uint64_t h = key.color ^ static_cast<std::uint64_t>(key.kind) << 32;
    for (const float f : {key.w, key.h, key.radius, key.width})
      h = (h ^ std::bit_cast<std::uint32_t>(f)) * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(h >> 40);
  }
  static void keep(Slot& slot, const ImDrawList& list, int vertex, int index, ImVec2 at);
  static void copy(const Slot& slot, ImDrawList& list, ImVec2 at);

  std::array<Slot, 64> slots_;
};

}  // namespace ringside::app
