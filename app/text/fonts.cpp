#include "app/text/fonts.hpp"

#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "app/text/utf8.hpp"

namespace ringside::app {
namespace {

constexpr char32_t kKoreanProbe = 0xD55C;  // 한

struct FoundFile {
  std::string path;
  int index = 0;
};

/// The best file for a pattern; the family is a wish, not a must.
FoundFile match_font(FcConfig* config, const char* pattern_text, char32_t must_have) {
  FcPattern* pattern = FcNameParse(reinterpret_cast<const FcChar8*>(pattern_text));
  if (must_have != 0) {
    FcCharSet* set = FcCharSetCreate();
    FcCharSetAddChar(set, must_have);
    FcPatternAddCharSet(pattern, FC_CHARSET, set);
    FcCharSetDestroy(set);
  }
  FcPatternAddBool(pattern, FC_SCALABLE, FcTrue);
  FcConfigSubstitute(config, pattern, FcMatchPattern);
  FcDefaultSubstitute(pattern);
  FcResult result{};
  FoundFile found;
  if (FcPattern* match = FcFontMatch(config, pattern, &result)) {
    FcChar8* file = nullptr;
    if (FcPatternGetString(match, FC_FILE, 0, &file) == FcResultMatch) {
      found.path = reinterpret_cast<const char*>(file);
      FcPatternGetInteger(match, FC_INDEX, 0, &found.index);
    }
    FcPatternDestroy(match);
  }
  FcPatternDestroy(pattern);
  return found;
}

// The design's fonts first; what fontconfig finds best otherwise.
constexpr const char* kPatterns[kFaceCount] = {
    "NanumSquare,NanumGothic,Noto Sans CJK KR,Noto Sans,DejaVu Sans,sans:regular:lang=ko",
    "NanumSquare,NanumGothic,Noto Sans CJK KR,Noto Sans,DejaVu Sans,sans:bold:lang=ko",
    "NanumGothicCoding,D2Coding,Noto Sans Mono CJK KR,DejaVu Sans Mono,monospace:regular",
    "NanumGothicCoding,D2Coding,Noto Sans Mono CJK KR,DejaVu Sans Mono,monospace:bold",
};

}  // namespace

struct Fonts::Library {
  FT_Library freetype = nullptr;
  FcConfig* fontconfig = nullptr;
  ~Library() {
    if (freetype != nullptr) FT_Done_FreeType(freetype);
    if (fontconfig != nullptr) FcConfigDestroy(fontconfig);
    FcFini();
  }
};

struct Fonts::Font {
  FT_Face face = nullptr;
  std::string path;
  ~Font() {
    if (face != nullptr) FT_Done_Face(face);
  }
  float advance_per_em(char32_t code_point) const {
    float advance = 0;
    const FT_UInt index = FT_Get_Char_Index(face, code_point);
    if (FT_Load_Glyph(face, index, FT_LOAD_NO_SCALE | FT_LOAD_NO_BITMAP) == 0)
      advance = static_cast<float>(face->glyph->metrics.horiAdvance) / static_cast<float>(face->units_per_EM);
    return advance;
  }
};

/// A frame asks for thousands of advances and glyphs: both are found by index, in pages that are made when one of
/// their characters is first seen.
struct Fonts::Tables {
  static constexpr float kUnknown = -1;
  using Advances = std::array<float, 256>;  // per em
  static constexpr std::size_t kPages = 0x200000 / 256;  // what four bytes of UTF-8 can say
  std::array<std::vector<std::unique_ptr<Advances>>, kFaceCount> advances;

  float& advance(Face face, char32_t code_point) {
    auto& pages = advances[static_cast<std::size_t>(face)];
    if (pages.empty()) pages.resize(kPages);
    auto& page = pages[code_point / 256];
    if (!page) {
      page = std::make_unique<Advances>();
      page->fill(kUnknown);
    }
    return (*page)[code_point % 256];
  }

  struct Known {
    AtlasGlyph glyph;
    bool known = false;
  };
  using Page = std::array<Known, 64 * 4>;  // by character and phase
  /// A face at one size.
  struct Strike {
    std::array<std::unique_ptr<Page>, 4> latin;
    std::unordered_map<char32_t, std::unique_ptr<Page>> others;
  };
  std::unordered_map<std::uint32_t, Strike> strikes;
  Strike* last = nullptr;  // the one of last_id: a text asks for many of one strike
  std::uint32_t last_id = 0;

  Known& glyph(Face face, std::uint16_t size64, char32_t code_point, int phase) {
    const std::uint32_t id = static_cast<std::uint32_t>(face) << 16 | size64;
    if (last == nullptr || last_id != id) {
      last = &strikes[id];
      last_id = id;
    }
    const char32_t number = code_point / 64;
    auto& page = number < last->latin.size() ? last->latin[number] : last->others[number];
    if (!page) page = std::make_unique<Page>();
    return (*page)[code_point % 64 * 4 + static_cast<std::size_t>(phase)];
  }
  void forget_glyphs() {
    last = nullptr;
    strikes.clear();
  }
};

Fonts::Fonts() : library_(std::make_unique<Library>()), paths_(kFaceCount), tables_(std::make_unique<Tables>()) {}

Fonts::~Fonts() {
  fonts_.clear();  // faces before the library
}

sim::Result<std::unique_ptr<Fonts>> Fonts::open() {
  std::unique_ptr<Fonts> fonts(new Fonts());
  Library& library = *fonts->library_;
  library.fontconfig = FcInitLoadConfigAndFonts();
  if (library.fontconfig == nullptr || FT_Init_FreeType(&library.freetype) != 0)
    return sim::Error{.what = "fontconfig or FreeType could not start"};
  for (int i = 0; i < kFaceCount; ++i) {
    const FoundFile found = match_font(library.fontconfig, kPatterns[i], 0);
    auto font = std::make_unique<Font>();
    if (found.path.empty() ||
        FT_New_Face(library.freetype, found.path.c_str(), found.index, &font->face) != 0)
      return sim::Error{.what = "no usable font was found", .hint = "install one, for example fonts-nanum"};
    font->path = found.path;
    fonts->paths_[static_cast<std::size_t>(i)] = found.path;
    fonts->fonts_.push_back(std::move(font));
  }
  fonts->has_korean_ = fonts->has_glyph(Face::Regular, kKoreanProbe);
  return fonts;
}

float Fonts::line_per_em(Face face) const {
  const FT_Face f = fonts_[static_cast<std::size_t>(face)]->face;
  return static_cast<float>(f->ascender - f->descender) / static_cast<float>(f->units_per_EM);
}

bool Fonts::has_glyph(Face face, char32_t code_point) const {
  return FT_Get_Char_Index(fonts_[static_cast<std::size_t>(face)]->face, code_point) != 0;
}

bool Fonts::can_show(Face face, char32_t code_point) const {
  return FT_Get_Char_Index(font_for(face, code_point).face, code_point) != 0;
}

const Fonts::Font& Fonts::font_for(Face face, char32_t code_point) const {
  if (has_glyph(face, code_point)) return *fonts_[static_cast<std::size_t>(face)];
  const auto key = std::make_pair(static_cast<std::uint8_t>(face), code_point);
  const auto known = fallback_.find(key);
  if (known != fallback_.end()) return *fonts_[known->second];
  std::size_t index = static_cast<std::size_t>(face);
  const bool bold = face == Face::Bold || face == Face::MonoBold;
  const FoundFile found = match_font(library_->fontconfig, bold ? "sans:bold" : "sans", code_point);
  if (!found.path.empty()) {
    auto font = std::make_unique<Font>();
    if (FT_New_Face(library_->freetype, found.path.c_str(), found.index, &font->face) == 0 &&
        FT_Get_Char_Index(font->face, code_point) != 0) {
      font->path = found.path;
      index = fonts_.size();
      fonts_.push_back(std::move(font));
    }
  }
  fallback_.emplace(key, index);
  return *fonts_[index];
}

float Fonts::advance(Face face, float pixel_size, char32_t code_point) const {
  float& per_em = tables_->advance(face, code_point);
  if (per_em == Tables::kUnknown) per_em = font_for(face, code_point).advance_per_em(code_point);
  return per_em * pixel_size;
}

float Fonts::width(std::string_view text, float size, Face face) const {
  float sum = 0;
  for (std::size_t at = 0; at < text.size();) sum += advance(face, size, next_code_point(text, at));
  return sum;
}

void Fonts::reset_atlas(int width, int height) {
  tables_->forget_glyphs();
  const int region_x = atlas_.region_x, region_y = atlas_.region_y;
  atlas_ = GlyphAtlas{};
  atlas_.region_x = region_x;
  atlas_.region_y = region_y;
  atlas_.width = width;
  atlas_.height = height;
  atlas_.pixels.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0);
  atlas_.dirty_y1 = height;
}

const AtlasGlyph& Fonts::glyph(Face face, float pixel_size, char32_t code_point, int phase) {
  const auto size64 = static_cast<std::uint16_t>(std::lround(pixel_size * 64.0f));
  Tables::Known& known = tables_->glyph(face, size64, code_point, phase);
  if (!known.known) known = {rasterise(font_for(face, code_point), size64, code_point, phase), true};
  return known.glyph;
}

AtlasGlyph Fonts::rasterise(const Font& font, std::uint16_t size64, char32_t code_point, int phase) {
  AtlasGlyph out;
  FT_Set_Char_Size(font.face, 0, size64, 72, 72);
  const FT_UInt index = FT_Get_Char_Index(font.face, code_point);
  // Light hinting snaps heights to pixels and leaves widths alone, so that linear advances stay right.
  if (FT_Load_Glyph(font.face, index, FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP) != 0) return out;
  FT_GlyphSlot slot = font.face->glyph;
  FT_Outline_Translate(&slot->outline, phase * 16, 0);
  if (FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) != 0) return out;
  const FT_Bitmap& bitmap = slot->bitmap;
  const int w = static_cast<int>(bitmap.width), h = static_cast<int>(bitmap.rows);
  if (w == 0 || h == 0) return out;
  if (atlas_.shelf_x + w + 1 > atlas_.width) {
    atlas_.shelf_y += atlas_.shelf_h + 1;
    atlas_.shelf_x = atlas_.shelf_h = 0;
  }
  if (w + 1 > atlas_.width || atlas_.shelf_y + h + 1 > atlas_.height) {
    atlas_.full = true;
    return out;
  }
  out = {static_cast<std::uint16_t>(atlas_.shelf_x),
         static_cast<std::uint16_t>(atlas_.shelf_y),
         static_cast<std::uint16_t>(w),
         static_cast<std::uint16_t>(h),
         static_cast<std::int16_t>(slot->bitmap_left),
         static_cast<std::int16_t>(-slot->bitmap_top),
         true};
  for (int row = 0; row < h; ++row)
    std::copy_n(bitmap.buffer + row * bitmap.pitch, w,
                atlas_.pixels.begin() + (atlas_.shelf_y + row) * atlas_.width + atlas_.shelf_x);
  if (atlas_.dirty_y0 == atlas_.dirty_y1) {
    atlas_.dirty_y0 = atlas_.shelf_y;
    atlas_.dirty_y1 = atlas_.shelf_y + h;
  } else {
    atlas_.dirty_y0 = std::min(atlas_.dirty_y0, atlas_.shelf_y);
    atlas_.dirty_y1 = std::max(atlas_.dirty_y1, atlas_.shelf_y + h);
  }
  atlas_.shelf_x += w + 1;
  atlas_.shelf_h = std::max(atlas_.shelf_h, h);
  return out;
}

}  // namespace ringside::app
