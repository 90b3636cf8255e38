#include "tests/gui/harness.hpp"

#include "app/session/files.hpp"
#include "app/session/live_desk.hpp"

#ifdef __SANITIZE_ADDRESS__
/// The GL driver keeps memory to its end and unloads itself before leaks are looked for, so they cannot be
/// told apart by name.
extern "C" int __lsan_is_turned_off() {
  return 1;
}
#endif

namespace ringside::app::test {

std::string source_path(std::string_view relative) {
  return std::string(RINGSIDE_SOURCE_DIR) + "/" + std::string(relative);
}

Harness::Harness(const HarnessOptions& options) : options_(options) {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DeltaTime = 1.0f / 60.0f;
  if (!options.offscreen) compat::pretend_renderer();
  compat::use_test_key_codes();
  if (options.offscreen) {
    auto platform = open_offscreen({.width = options.width, .height = options.height});
    EXPECT_TRUE(platform);
    platform_ = std::move(*platform);
  }
  const sim::Status languages = load_languages(source_path("assets/lang"));
  EXPECT_TRUE(languages) << languages.error().message();
  auto fonts = Fonts::open();
  EXPECT_TRUE(fonts);
  Settings settings = parse_settings("");
  settings.lang = options.lang;
  settings.theme = options.theme;
  settings.user_scale = options.user_scale;
  app = std::make_unique<App>(std::move(*fonts), settings, source_path("assets"));
  app->keep_settings = false;
  app->program.clear();  // a test is not to be started again as its own export
  app->session().live().program_folder.clear();  // and starts no ranks unless it says so
  compat::inject_mouse_position({-1, -1});
  frames(3);
}

Harness::~Harness() {
  app.reset();
  platform_.reset();
  ImGui::DestroyContext();
}

float Harness::scale() const {
  return ui_scale_for(options_.width, options_.height, app->settings().user_scale);
}

void Harness::resize(int width, int height) {
  options_.width = width;
  options_.height = height;
  frames(3);
}

void Harness::frames(int count) {
  for (int i = 0; i < count; ++i) {
    ImGui::GetIO().DisplaySize =
        ImVec2(static_cast<float>(options_.width), static_cast<float>(options_.height));
    const bool rebuilt = app->prepare_fonts(options_.width, options_.height);
    if (rebuilt && platform_ && !image_.rgba.empty()) compat::font_texture_changed();
    if (platform_) {
      platform_->begin_frame();
    } else {
      ImGui::NewFrame();
    }
    record_.clear();
    now_ += 1.0 / 60;
    app->frame(options_.width, options_.height, 16'666'667, now_, &record_);
    for (const Action& action : app->actions()) log_.push_back(action);
    if (platform_ && i == count - 1) {  // software rendering is slow: only the frame that is looked at
      compat::upload_glyphs(app->fonts(), platform_->texture_upload());
      platform_->end_frame(app->background(), &image_);
    } else {
      ImGui::Render();
      compat::acknowledge_textures();
    }
  }
}

std::string Harness::problems() const {
  const float k = scale();
  std::string out;
  for (const std::string& problem : check_record(
           record_, {static_cast<float>(options_.width) / k, static_cast<float>(options_.height) / k}))
    out += problem + "\n";
  return out;
}

bool Harness::shows(std::string_view text) const {
  return std::any_of(record_.texts.begin(), record_.texts.end(),
                     [&](const DrawnText& t) { return t.text == text; });
}

void Harness::move_to(std::string_view id) {
  const auto box = app->ui().probe(id);
  ASSERT_TRUE(box) << "no widget " << id;
  compat::inject_mouse_position(box->center() * scale());
  frames(1);
}

void Harness::click(std::string_view id) {
  move_to(id);
  frames(1);
  compat::inject_mouse_button(0, true);
  frames(1);
  compat::inject_mouse_button(0, false);
  frames(2);
}

void Harness::drag(std::string_view id, float from_share, float to_share) {
  const auto box = app->ui().probe(id);
  ASSERT_TRUE(box) << "no widget " << id;
  const auto at = [&](float share) { return Vec2{box->x + box->w * share, box->center().y} * scale(); };
  compat::inject_mouse_position(at(from_share));
  frames(2);
  compat::inject_mouse_button(0, true);
  frames(1);
  compat::inject_mouse_position(at(to_share));
  frames(2);
  compat::inject_mouse_button(0, false);
  frames(2);
}

void Harness::press(Key key) {
  compat::inject_key(key, true);
  frames(1);
  compat::inject_key(key, false);
  frames(2);
}

void Harness::press_with_ctrl(Key key) {
  compat::inject_ctrl(true);
  frames(1);
  press(key);
  compat::inject_ctrl(false);
  frames(1);
}

void Harness::type(std::string_view text) {
  compat::inject_text(text);
  frames(2);
}

void Harness::open(std::string_view file) {
  app->drop_files({source_path("assets/scenarios/" + std::string(file))});
  session().finish_simulation();
  frames(2);
}

}  // namespace ringside::app::test
