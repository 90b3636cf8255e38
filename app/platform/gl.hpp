// The few OpenGL 3.3 calls that we make ourselves; ImGui's backend makes the rest.
#pragma once

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>

#include <cstdint>

namespace ringside::app {

/// Copies RGBA pixels into a part of a texture.
inline void upload_texture(std::uintptr_t texture, int x, int y, int w, int h, const std::uint8_t* rgba) {
  GLint bound = 0;
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &bound);
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(texture));
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  glTexSubImage2D(GL_TEXTURE_2D, 0, x, y, w, h, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(bound));
}

/// Reads the bound framebuffer, rows from the top.
inline void read_framebuffer(int width, int height, std::uint8_t* rgba) {
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
  glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
  const auto row = static_cast<std::size_t>(width) * 4;
  for (int top = 0, bottom = height - 1; top < bottom; ++top, --bottom)
    for (std::size_t i = 0; i < row; ++i)
      std::swap(rgba[static_cast<std::size_t>(top) * row + i],
                rgba[static_cast<std::size_t>(bottom) * row + i]);
  for (std::size_t i = 3; i < row * static_cast<std::size_t>(height); i += 4) rgba[i] = 255;
}

}  // namespace ringside::app
