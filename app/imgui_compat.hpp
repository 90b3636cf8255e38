// Every difference between Dear ImGui 1.86 (Debian 12) and 1.92+ lives behind these functions. Nothing else
// looks at IMGUI_VERSION_NUM.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "app/draw/geometry.hpp"
#include "app/draw/theme.hpp"
#include "app/text/fonts.hpp"
#include "app/ui/key.hpp"

namespace ringside::app {

namespace compat {

/// Pixels of a draw list, in device pixels. The order of arguments differs between versions, hence here.
void add_rect(ImDrawList& list, Vec2 a, Vec2 b, ImU32 color, float rounding, float thickness);
void add_polyline(ImDrawList& list, const ImVec2* points, int count, ImU32 color, bool closed,
                  float thickness);
void stroke_path(ImDrawList& list, ImU32 color, bool closed, float thickness);

/// Starts the atlas: a small font for text fields, room for our glyphs, the white pixel. Call after
/// CreateContext, and again when the scale changes (before a new frame).
void build_fonts(Fonts& fonts, float ui_scale);
/// Text at device pixels; `pos` = pen on the baseline. Returns the pen after it.
float draw_text(ImDrawList& list, Fonts& fonts, Face face, float pixel_size, float x, float baseline,
                ImU32 color, std::string_view text);
/// Copies new glyphs into the renderer's texture through `upload(x, y, w, h, rgba)`; call once after a frame
/// is built and before it is rendered. No-op where the renderer does it by itself.
using TextureUpload = void (*)(std::uintptr_t texture, int x, int y, int w, int h, const std::uint8_t* rgba);
void upload_glyphs(Fonts& fonts, TextureUpload upload);
/// After build_fonts while an OpenGL renderer runs: its texture is made anew (where it does not do so itself).
void font_texture_changed();
/// "1.86"
const char* imgui_version();
/// For tests without a renderer: what a renderer would say it can do, and then that it has uploaded all textures.
void pretend_renderer();
void acknowledge_textures();

/// Input, as the platform or a test gives it.
void inject_mouse_position(Vec2 pixels);
void inject_mouse_button(int button, bool down);
void inject_mouse_wheel(float delta);
void inject_key(Key key, bool down);
void inject_text(std::string_view utf8);
void inject_ctrl(bool down);
void inject_shift(bool down);
/// True in the frame in which the key went down (and on repeats, if asked).
bool key_pressed(Key key, bool repeat = true);
/// Maps our keys to the platform's codes where the version needs a table (1.86 with GLFW: its codes; in
/// tests: n).
void use_glfw_key_codes();
void use_test_key_codes();

}  // namespace compat
}  // namespace ringside::app
