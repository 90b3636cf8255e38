#include "app/imgui_compat.hpp"

#include <backends/imgui_impl_opengl3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "app/text/utf8.hpp"

namespace ringside::app::compat {
namespace {

#if IMGUI_VERSION_NUM >= 19198
#define RINGSIDE_IMGUI_DYNAMIC_FONTS 1
#else
#define RINGSIDE_IMGUI_DYNAMIC_FONTS 0
#endif

constexpr float kFieldTextSize = 16.0f;  // em size of text in ImGui's own text fields

ImVec2 im(Vec2 v) {
  return {v.x, v.y};
}

}  // namespace

// ImGui 1.92.8 swapped (flags, thickness) into (thickness, flags); the four-argument prefix is the same.
void add_rect(ImDrawList& list, Vec2 a, Vec2 b, ImU32 color, float rounding, float thickness) {
#if IMGUI_VERSION_NUM >= 19280
  list.AddRect(im(a), im(b), color, rounding, thickness, ImDrawFlags_None);
#else
  list.AddRect(im(a), im(b), color, rounding, ImDrawFlags_None, thickness);
#endif
}

void add_polyline(ImDrawList& list, const ImVec2* points, int count, ImU32 color, bool closed,
                  float thickness) {
  const ImDrawFlags flags = closed ? ImDrawFlags_Closed : ImDrawFlags_None;
#if IMGUI_VERSION_NUM >= 19280
  list.AddPolyline(points, count, color, thickness, flags);
#else
  list.AddPolyline(points, count, color, flags, thickness);
#endif
}

void stroke_path(ImDrawList& list, ImU32 color, bool closed, float thickness) {
  const ImDrawFlags flags = closed ? ImDrawFlags_Closed : ImDrawFlags_None;
#if IMGUI_VERSION_NUM >= 19280
  list.PathStroke(color, thickness, flags);
#else
  list.PathStroke(color, flags, thickness);
#endif
}

#if RINGSIDE_IMGUI_DYNAMIC_FONTS

void build_fonts(Fonts& fonts, float ui_scale) {
  ImGuiIO& io = ImGui::GetIO();
  if (io.Fonts->Fonts.empty())
    for (int i = 0; i < kFaceCount; ++i)
      io.Fonts->AddFontFromFileTTF(fonts.path(static_cast<Face>(i)).c_str());
  ImGui::GetStyle().FontSizeBase = kFieldTextSize * ui_scale * fonts.line_per_em(Face::Regular);
}

float draw_text(ImDrawList& list, Fonts& fonts, Face face, float pixel_size, float x, float baseline,
                ImU32 color, std::string_view text) {
  ImFont* font = ImGui::GetIO().Fonts->Fonts[static_cast<int>(face)];
  const float size = pixel_size * fonts.line_per_em(face);
  ImFontBaked* baked = font->GetFontBaked(size);
  list.AddText(font, size, ImVec2(x, std::round(baseline - baked->Ascent)), color, text.data(),
               text.data() + text.size());
  return x + fonts.width(text, pixel_size, face);
}

void upload_glyphs(Fonts&, TextureUpload) {}

void font_texture_changed() {}

void pretend_renderer() {
  ImGui::GetIO().BackendFlags |=
      ImGuiBackendFlags_RendererHasTextures | ImGuiBackendFlags_RendererHasVtxOffset;
}

void acknowledge_textures() {
  for (ImTextureData* texture : ImGui::GetPlatformIO().Textures)
    if (texture->Status != ImTextureStatus_OK) {
      texture->SetTexID(1);
      texture->SetStatus(ImTextureStatus_OK);
    }
}

#else

void build_fonts(Fonts& fonts, float ui_scale) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  static const ImWchar kAscii[] = {0x20, 0x7E, 0};
  ImFontConfig config;
  config.OversampleH = 1;
  config.GlyphRanges = kAscii;
  atlas.AddFontFromFileTTF(fonts.path(Face::Regular).c_str(),
                           std::round(kFieldTextSize * ui_scale * fonts.line_per_em(Face::Regular)), &config);
  // Room for our own glyphs inside ImGui's texture, so that shapes and text share one draw call.
  atlas.TexDesiredWidth = 2048;
  const int w = 2040, h = 1900;
  const int rect = atlas.AddCustomRectRegular(w, h);
  atlas.Build();
  fonts.reset_atlas(w, h);
  fonts.atlas().region_x = atlas.GetCustomRectByIndex(rect)->X;
  fonts.atlas().region_y = atlas.GetCustomRectByIndex(rect)->Y;
  fonts.atlas().dirty_y0 = fonts.atlas().dirty_y1 = 0;  // ImGui uploads the empty region itself
}

float draw_text(ImDrawList& list, Fonts& fonts, Face face, float pixel_size, float x, float baseline,
                ImU32 color, std::string_view text) {
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  const float u = 1.0f / static_cast<float>(atlas.TexWidth), v = 1.0f / static_cast<float>(atlas.TexHeight);
  const int phases = pixel_size < 32.0f ? 4 : 1;
  const float y = std::round(baseline);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t code_point = next_code_point(text, at);
    const float quarter = std::round(x * static_cast<float>(phases)) / static_cast<float>(phases);
    const float column = std::floor(quarter);
    const int phase = static_cast<int>((quarter - column) * 4.0f);
    const AtlasGlyph& glyph = fonts.glyph(face, pixel_size, code_point, phase);
    if (glyph.drawn) {
      const ImVec2 a(column + glyph.left, y + glyph.top);
      const ImVec2 b(a.x + glyph.w, a.y + glyph.h);
      const auto gx = static_cast<float>(fonts.atlas().region_x + glyph.x),
                 gy = static_cast<float>(fonts.atlas().region_y + glyph.y);
      list.PrimReserve(6, 4);
      list.PrimRectUV(a, b, ImVec2(gx * u, gy * v), ImVec2((gx + glyph.w) * u, (gy + glyph.h) * v), color);
    }
    x += fonts.advance(face, pixel_size, code_point);
  }
  return x;
}

void upload_glyphs(Fonts& fonts, TextureUpload upload) {
  GlyphAtlas& atlas = fonts.atlas();
  if (atlas.dirty_y0 >= atlas.dirty_y1) return;
  const int rows = atlas.dirty_y1 - atlas.dirty_y0;
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(rows) * static_cast<std::size_t>(atlas.width) * 4,
                                 255);
  const std::uint8_t* from = atlas.pixels.data() + static_cast<std::ptrdiff_t>(atlas.dirty_y0) * atlas.width;
  for (std::size_t i = 0; i < rgba.size() / 4; ++i) rgba[i * 4 + 3] = from[i];
  upload(reinterpret_cast<std::uintptr_t>(ImGui::GetIO().Fonts->TexID), atlas.region_x,
         atlas.region_y + atlas.dirty_y0, atlas.width, rows, rgba.data());
  atlas.dirty_y0 = atlas.dirty_y1 = 0;
}

void font_texture_changed() {
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
}

void pretend_renderer() {
  ImGui::GetIO().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;  // more than 65,536 vertices a list
}

void acknowledge_textures() {}

#endif

#if IMGUI_VERSION_NUM >= 18700

namespace {
ImGuiKey to_imgui(Key key) {
  static constexpr std::array<ImGuiKey, kKeyCount> kMap = {
      ImGuiKey_Space,  ImGuiKey_LeftArrow, ImGuiKey_RightArrow, ImGuiKey_UpArrow,  ImGuiKey_DownArrow,
      ImGuiKey_Home,   ImGuiKey_End,       ImGuiKey_PageUp,     ImGuiKey_PageDown, ImGuiKey_Enter,
      ImGuiKey_Delete, ImGuiKey_Insert,    ImGuiKey_Tab,        ImGuiKey_Escape,   ImGuiKey_Backspace,
      ImGuiKey_F1,     ImGuiKey_F2,        ImGuiKey_F11,        ImGuiKey_Z,        ImGuiKey_Y,
      ImGuiKey_C,      ImGuiKey_A,         ImGuiKey_V,          ImGuiKey_S,        ImGuiKey_W,
      ImGuiKey_Menu};
  return kMap[static_cast<std::size_t>(key)];
}
}  // namespace

void inject_mouse_position(Vec2 p) {
  ImGui::GetIO().AddMousePosEvent(p.x, p.y);
}
void inject_mouse_button(int button, bool down) {
  ImGui::GetIO().AddMouseButtonEvent(button, down);
}
void inject_mouse_wheel(float delta) {
  ImGui::GetIO().AddMouseWheelEvent(0.0f, delta);
}
void inject_key(Key key, bool down) {
  ImGui::GetIO().AddKeyEvent(to_imgui(key), down);
}
void inject_ctrl(bool down) {
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, down);
}
void inject_shift(bool down) {
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Shift, down);
}
bool key_pressed(Key key, bool repeat) {
  return ImGui::IsKeyPressed(to_imgui(key), repeat);
}
void use_glfw_key_codes() {}
void use_test_key_codes() {}

#else

namespace {
// Index into io.KeysDown: with GLFW its key codes, in tests 256 + our own number.
std::array<int, kKeyCount> g_codes{};
constexpr std::array<int, kKeyCount> kGlfwCodes = {32,  263, 262, 265, 264, 268, 269, 266, 267, 257, 261,
                                                   260, 258, 256, 259, 290, 291, 300, 90,  89,  67,  65,
                                                   86,  83,  87,  348};
constexpr std::array<int, kKeyCount> kNamed = {ImGuiKey_Space,
                                               ImGuiKey_LeftArrow,
                                               ImGuiKey_RightArrow,
                                               ImGuiKey_UpArrow,
                                               ImGuiKey_DownArrow,
                                               ImGuiKey_Home,
                                               ImGuiKey_End,
                                               ImGuiKey_PageUp,
                                               ImGuiKey_PageDown,
                                               ImGuiKey_Enter,
                                               ImGuiKey_Delete,
                                               ImGuiKey_Insert,
                                               ImGuiKey_Tab,
                                               ImGuiKey_Escape,
                                               ImGuiKey_Backspace,
                                               -1,
                                               -1,
                                               -1,
                                               ImGuiKey_Z,
                                               ImGuiKey_Y,
                                               ImGuiKey_C,
                                               ImGuiKey_A,
                                               ImGuiKey_V,
                                               -1,
                                               -1,
                                               -1};
}  // namespace

void inject_mouse_position(Vec2 p) {
  ImGui::GetIO().MousePos = ImVec2(p.x, p.y);
}
void inject_mouse_button(int button, bool down) {
  ImGui::GetIO().MouseDown[button] = down;
}
void inject_mouse_wheel(float delta) {
  ImGui::GetIO().MouseWheel += delta;
}
void inject_key(Key key, bool down) {
  ImGui::GetIO().KeysDown[g_codes[static_cast<std::size_t>(key)]] = down;
}
void inject_ctrl(bool down) {
  ImGuiIO& io = ImGui::GetIO();
  io.KeyCtrl = down;
  io.KeyMods = (io.KeyMods & ~ImGuiKeyModFlags_Ctrl) | (down ? ImGuiKeyModFlags_Ctrl : 0);
}
void inject_shift(bool down) {
  ImGuiIO& io = ImGui::GetIO();
  io.KeyShift = down;
  io.KeyMods = (io.KeyMods & ~ImGuiKeyModFlags_Shift) | (down ? ImGuiKeyModFlags_Shift : 0);
}
bool key_pressed(Key key, bool repeat) {
  return ImGui::IsKeyPressed(g_codes[static_cast<std::size_t>(key)], repeat);
}
void use_glfw_key_codes() {
  g_codes = kGlfwCodes;
}
void use_test_key_codes() {
  ImGuiIO& io = ImGui::GetIO();
  for (int i = 0; i < kKeyCount; ++i) {
    g_codes[static_cast<std::size_t>(i)] = 256 + i;
    if (kNamed[static_cast<std::size_t>(i)] >= 0) io.KeyMap[kNamed[static_cast<std::size_t>(i)]] = 256 + i;
  }
}

#endif

const char* imgui_version() {
  return ImGui::GetVersion();
}

void inject_text(std::string_view utf8) {
  ImGui::GetIO().AddInputCharactersUTF8(std::string(utf8).c_str());
}

}  // namespace ringside::app::compat
