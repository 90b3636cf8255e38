// EGL without a display or a surface: our own framebuffer, read back as an image.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <backends/imgui_impl_opengl3.h>

#include <chrono>
#include <utility>

#include "app/platform/gl.hpp"
#include "app/platform/platform.hpp"

namespace ringside::app {
namespace {

class Offscreen final : public Platform {
 public:
  sim::Status start(const PlatformOptions& options) {
    width_ = options.width;
    height_ = options.height;
    const auto get_display =
        reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
    if (get_display != nullptr)
      display_ = get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
    if (display_ == EGL_NO_DISPLAY) display_ = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    if (display_ == EGL_NO_DISPLAY || eglInitialize(display_, nullptr, nullptr) == EGL_FALSE)
      return sim::Error{.what = "EGL has no display for drawing off-screen",
                        .hint = "install libegl1 and libgl1-mesa-dri"};
    eglBindAPI(EGL_OPENGL_API);
    const EGLint config_attributes[] = {EGL_SURFACE_TYPE, EGL_DONT_CARE, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                        EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    eglChooseConfig(display_, config_attributes, &config, 1, &count);
    const EGLint context_attributes[] = {EGL_CONTEXT_MAJOR_VERSION,
                                         3,
                                         EGL_CONTEXT_MINOR_VERSION,
                                         3,
                                         EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                         EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                         EGL_NONE};
    context_ = eglCreateContext(display_, count > 0 ? config : nullptr, EGL_NO_CONTEXT, context_attributes);
    if (context_ == EGL_NO_CONTEXT ||
        eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_) == EGL_FALSE)
      return sim::Error{.what = "EGL gives no OpenGL 3.3 context", .hint = "install libgl1-mesa-dri"};
    glGenTextures(1, &color_);
    glBindTexture(GL_TEXTURE_2D, color_);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width_, height_, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glGenFramebuffers(1, &frame_);
    glBindFramebuffer(GL_FRAMEBUFFER, frame_);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, color_, 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      return sim::Error{.what = "this size cannot be drawn off-screen"};
    ImGui_ImplOpenGL3_Init("#version 330 core");
    started_ = true;
    return sim::ok();
  }

  ~Offscreen() override {
    if (started_) ImGui_ImplOpenGL3_Shutdown();
    if (context_ != EGL_NO_CONTEXT) {
      eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
      eglDestroyContext(display_, context_);
    }
    if (display_ != EGL_NO_DISPLAY) eglTerminate(display_);
  }

  bool open() const override { return true; }
  void poll(double) override {}
  void wake() override {}
  bool begin_frame() override {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = ImVec2(static_cast<float>(width_), static_cast<float>(height_));
    io.DeltaTime = 1.0f / 60.0f;
    ImGui_ImplOpenGL3_NewFrame();
    ImGui::NewFrame();
    return false;
  }
  void end_frame(Color background, Image* capture) override {
    ImGui::Render();
    glBindFramebuffer(GL_FRAMEBUFFER, frame_);
    glViewport(0, 0, width_, height_);
    glClearColor(background.r / 255.0f, background.g / 255.0f, background.b / 255.0f, 1.0f);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    if (capture == nullptr) return;
    *capture = {width_, height_, std::vector<std::uint8_t>(static_cast<std::size_t>(width_) * height_ * 4)};
    read_framebuffer(width_, height_, capture->rgba.data());
  }
  void set_title(const std::string&) override {}
  void toggle_full_screen() override {}
  compat::TextureUpload texture_upload() const override { return upload_texture; }
  double now() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  int width_ = 0, height_ = 0;
  bool started_ = false;
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
  GLuint color_ = 0, frame_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

sim::Result<std::unique_ptr<Platform>> open_offscreen(const PlatformOptions& options) {
  auto platform = std::make_unique<Offscreen>();
  if (const sim::Status status = platform->start(options); !status) return status.error();
  return std::unique_ptr<Platform>(std::move(platform));
}

}  // namespace ringside::app
