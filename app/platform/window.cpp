// The GLFW window. It sleeps when nothing moves and nobody touches it.
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include <cmath>
#include <utility>
#include <vector>

#include "app/platform/gl.hpp"
#include "app/platform/platform.hpp"

namespace ringside::app {
namespace {

/// The logo as pixels: a ring, one chunk crossing it. 4 × 4 samples a pixel.
std::vector<std::uint8_t> icon_pixels(int size) {
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(size) * static_cast<std::size_t>(size) * 4);
  const auto inside = [](float x, float y) {  // in units of the icon, -0.5 … 0.5
    const float chunk_x = x - .26f, chunk_y = y + .26f, r = std::hypot(x, y);
    const bool chunk = std::fabs(chunk_x) < .2f && std::fabs(chunk_y) < .2f;
    const bool gap = std::fabs(chunk_x) < .25f && std::fabs(chunk_y) < .25f;
    return chunk || (!gap && std::fabs(r - .36f) < .05f);
  };
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      int hits = 0;
      for (int s = 0; s < 16; ++s)
        hits += inside(
            (static_cast<float>(x) + (static_cast<float>(s % 4) + .5f) / 4) / static_cast<float>(size) - .5f,
            (static_cast<float>(y) + (static_cast<float>(s / 4) + .5f) / 4) / static_cast<float>(size) - .5f);
      const Color c = mix(dark_theme().panel, dark_theme().t1, static_cast<float>(hits) / 16);
      std::uint8_t* p =
          rgba.data() +
          (static_cast<std::size_t>(y) * static_cast<std::size_t>(size) + static_cast<std::size_t>(x)) * 4;
      p[0] = c.r;
      p[1] = c.g;
      p[2] = c.b;
      p[3] = 255;
    }
  return rgba;
}

class Window final : public Platform {
 public:
  sim::Status start(const PlatformOptions& options) {
    if (glfwInit() == GLFW_FALSE)
      return sim::Error{.what = "no display can be opened",
                        .hint = "ringside --render out.png FILE draws the same without a display"};
    initialised_ = true;
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_VISIBLE, options.visible ? GLFW_TRUE : GLFW_FALSE);
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "ringside");
    window_ = glfwCreateWindow(options.width, options.height, options.title.c_str(), nullptr, nullptr);
    if (window_ == nullptr) return sim::Error{.what = "no window with OpenGL 3.3 can be opened"};
    glfwSetWindowSizeLimits(window_, 800, 450, GLFW_DONT_CARE, GLFW_DONT_CARE);
    std::vector<std::uint8_t> small = icon_pixels(32), large = icon_pixels(64);
    const GLFWimage icons[2] = {{32, 32, small.data()}, {64, 64, large.data()}};
    glfwSetWindowIcon(window_, 2, icons);
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(window_, this);
    install_callbacks();
    ImGui_ImplGlfw_InitForOpenGL(window_, true);  // chains our callbacks
    ImGui_ImplOpenGL3_Init("#version 330 core");
    started_ = true;
    compat::use_glfw_key_codes();
    return sim::ok();
  }

  ~Window() override {
    if (started_) {
      ImGui_ImplOpenGL3_Shutdown();
      ImGui_ImplGlfw_Shutdown();
    }
    if (window_ != nullptr) glfwDestroyWindow(window_);
    if (initialised_) glfwTerminate();
  }

  bool open() const override { return glfwWindowShouldClose(window_) == GLFW_FALSE; }
  void poll(double seconds) override {
    if (seconds <= 0) {
      glfwPollEvents();
    } else if (seconds > 1e6) {
      glfwWaitEvents();
    } else {
      glfwWaitEventsTimeout(seconds);
    }
  }
  void wake() override { glfwPostEmptyEvent(); }

  bool begin_frame() override {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    // Everything is laid out in framebuffer pixels, also where a window pixel is more than one of them.
    ImGuiIO& io = ImGui::GetIO();
    int window_w = 1, window_h = 1, w = 1, h = 1;
    glfwGetWindowSize(window_, &window_w, &window_h);
    glfwGetFramebufferSize(window_, &w, &h);
    if (w > 0 && window_w > 0 && w != window_w) {
      const float k = static_cast<float>(w) / static_cast<float>(window_w);
      compat::inject_mouse_position({io.MousePos.x * k, io.MousePos.y * k});
    }
    io.DisplaySize = ImVec2(static_cast<float>(w), static_cast<float>(h));
    io.DisplayFramebufferScale = ImVec2(1, 1);
    width_ = w;
    height_ = h;
    ImGui::NewFrame();
    return std::exchange(input_, false);
  }
  void end_frame(Color background, Image* capture) override {
    ImGui::Render();
    glViewport(0, 0, width_, height_);
    glClearColor(background.r / 255.0f, background.g / 255.0f, background.b / 255.0f, 1.0f);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    if (capture != nullptr) {
      *capture = {width_, height_, std::vector<std::uint8_t>(static_cast<std::size_t>(width_) * height_ * 4)};
      read_framebuffer(width_, height_, capture->rgba.data());  // the back buffer, before it is shown
    }
    glfwSwapBuffers(window_);
  }
  void set_title(const std::string& title) override { glfwSetWindowTitle(window_, title.c_str()); }
  void toggle_full_screen() override {
    if (glfwGetWindowMonitor(window_) != nullptr) {
      glfwSetWindowMonitor(window_, nullptr, x_, y_, w_, h_, GLFW_DONT_CARE);
      return;
    }
    GLFWmonitor* monitor = glfwGetPrimaryMonitor();
    if (monitor == nullptr) return;
    glfwGetWindowPos(window_, &x_, &y_);
    glfwGetWindowSize(window_, &w_, &h_);
    const GLFWvidmode* mode = glfwGetVideoMode(monitor);
    glfwSetWindowMonitor(window_, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
  }
  compat::TextureUpload texture_upload() const override { return upload_texture; }
  double now() const override { return glfwGetTime(); }

 private:
  static Window& self(GLFWwindow* window) { return *static_cast<Window*>(glfwGetWindowUserPointer(window)); }
  void install_callbacks() {
    glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double, double) { self(w).input_ = true; });
    glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int, int, int) { self(w).input_ = true; });
    glfwSetScrollCallback(window_, [](GLFWwindow* w, double, double) { self(w).input_ = true; });
    glfwSetKeyCallback(window_, [](GLFWwindow* w, int, int, int, int) { self(w).input_ = true; });
    glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned) { self(w).input_ = true; });
    glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* w, int, int) { self(w).input_ = true; });
    glfwSetWindowRefreshCallback(window_, [](GLFWwindow* w) { self(w).input_ = true; });
    glfwSetWindowFocusCallback(window_, [](GLFWwindow* w, int) { self(w).input_ = true; });
    glfwSetDropCallback(window_, [](GLFWwindow* w, int count, const char** paths) {
      self(w).input_ = true;
      for (int i = 0; i < count; ++i) self(w).dropped_.emplace_back(paths[i]);
    });
  }

  GLFWwindow* window_ = nullptr;
  bool initialised_ = false, started_ = false, input_ = true;
  int width_ = 0, height_ = 0;
  int x_ = 0, y_ = 0, w_ = 1280, h_ = 720;
};

}  // namespace

sim::Result<std::unique_ptr<Platform>> open_window(const PlatformOptions& options) {
  auto window = std::make_unique<Window>();
  if (const sim::Status status = window->start(options); !status) return status.error();
  return std::unique_ptr<Platform>(std::move(window));
}

}  // namespace ringside::app
