// The fonts: found by fontconfig, measured and rasterised by FreeType. Measuring needs no ImGui and no
// window, so that scenes can be laid out in tests. Glyphs are rasterised when they are first drawn, at
// exactly the size that is drawn, into one atlas that the renderer uploads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::app {

enum class Face : std::uint8_t { Regular, Bold, Mono, MonoBold };
inline constexpr int kFaceCount = 4;

/// What layout needs: widths in logical pixels of text at an em size. Advances are linear, so a width at
/// another scale is the same width times the scale.
class TextMeasurer {
 public:
  virtual ~TextMeasurer() = default;
  virtual float width(std::string_view text, float size, Face face = Face::Regular) const = 0;
};

/// A glyph in the atlas: where its pixels are and how they lie around the pen.
struct AtlasGlyph {
  std::uint16_t x = 0, y = 0, w = 0, h = 0;
  std::int16_t left = 0, top = 0;  // from the pen on the baseline to the first column and row
  bool drawn = false;              // false: no pixels (a space)
};

/// Alpha pixels with a dirty region; the renderer copies them into its texture.
struct GlyphAtlas {
  int width = 0, height = 0;
  int region_x = 0, region_y = 0;  // where it lies in the renderer's texture
  std::vector<std::uint8_t> pixels;
  int dirty_y0 = 0, dirty_y1 = 0;  // rows that changed since the last upload; empty if equal
  int shelf_x = 0, shelf_y = 0, shelf_h = 0;
  bool full = false;  // a glyph did not fit: reset before the next frame
};

class Fonts : public TextMeasurer {
 public:
  /// Finds and opens the fonts. Fails only if the machine has no font at all.
  static sim::Result<std::unique_ptr<Fonts>> open();
  ~Fonts() override;

  /// True if the regular face can show Korean. If not, the window speaks English and says why.
  bool has_korean() const { return has_korean_; }
  const std::string& path(Face face) const { return paths_[static_cast<std::size_t>(face)]; }
  /// Height of a line (ascender minus descender) for em size 1: what ImGui calls the size of a font.
  float line_per_em(Face face) const;
  float width(std::string_view text, float size, Face face = Face::Regular) const override;
  /// True if this face itself (not a fallback) has the character.
  bool has_glyph(Face face, char32_t code_point) const;
  /// True if any font of this machine that we can fall back to has it.
  bool can_show(Face face, char32_t code_point) const;

  /// The atlas is `width` × `height` alpha pixels; also empties it.
  void reset_atlas(int width, int height);
  GlyphAtlas& atlas() { return atlas_; }
  /// The glyph at an em size in device pixels; `phase` 0 … 3 = quarter pixels to the right.
  const AtlasGlyph& glyph(Face face, float pixel_size, char32_t code_point, int phase);
  float advance(Face face, float pixel_size, char32_t code_point) const;

 private:
  struct Library;
  struct Font;
  struct Tables;  // what was measured and drawn before
  Fonts();
  const Font& font_for(Face face, char32_t code_point) const;
  AtlasGlyph rasterise(const Font& font, std::uint16_t size64, char32_t code_point, int phase);

  std::unique_ptr<Library> library_;
  mutable std::vector<std::unique_ptr<Font>> fonts_;  // the four faces, then fallbacks
  mutable std::map<std::pair<std::uint8_t, char32_t>, std::size_t> fallback_;
  std::vector<std::string> paths_;
  std::unique_ptr<Tables> tables_;
  GlyphAtlas atlas_;
  bool has_korean_ = false;
};

}  // namespace ringside::app
