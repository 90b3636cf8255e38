// The table of scenes. Adding a scene: declare its factory, add its row.
#include <array>

#include "app/scenes/scene.hpp"

namespace ringside::app {

std::unique_ptr<Scene> make_allreduce_scene();
std::unique_ptr<Scene> make_duel_scene();
std::unique_ptr<Scene> make_cluster_scene();
std::unique_ptr<Scene> make_detective_scene();
std::unique_ptr<Scene> make_home_scene();
std::unique_ptr<Scene> make_live_scene();
std::unique_ptr<Scene> make_nan_scene();
std::unique_ptr<Scene> make_same_shape_scene();
std::unique_ptr<Scene> make_step_scene();
std::unique_ptr<Scene> make_tensor_scene();
std::unique_ptr<Scene> make_lesson_scene();
std::unique_ptr<Scene> make_incident_scene();

std::span<const SceneEntry> scene_table() {
  static const std::array kTable = {
      SceneEntry{.id = "home",
                 .title_key = "scene.home",
                 .icon = Glyph::Home,
                 .rule_after = true,
                 .inspector_width = 0,
                 .transport = false,
                 .needs_trace = false,
                 .make = make_home_scene},
      SceneEntry{.id = "tensor",
                 .title_key = "scene.tensor",
                 .icon = Glyph::Tensor,
                 .transport = false,
                 .needs_trace = false,
                 .make = make_tensor_scene},
      SceneEntry{.id = "same-shape",
                 .title_key = "scene.same_shape",
                 .icon = Glyph::SameShape,
                 .transport = false,
                 .needs_trace = false,
                 .make = make_same_shape_scene},
      SceneEntry{.id = "allreduce",
                 .title_key = "scene.allreduce",
                 .icon = Glyph::Ring,
                 .make = make_allreduce_scene},
      SceneEntry{.id = "step", .title_key = "scene.step", .icon = Glyph::Lanes, .make = make_step_scene},
      SceneEntry{.id = "nan", .title_key = "scene.nan", .icon = Glyph::Poison, .make = make_nan_scene},
      SceneEntry{.id = "cluster",
                 .title_key = "scene.cluster",
                 .icon = Glyph::Failures,
                 .inspector_width = 332,
                 .make = make_cluster_scene},
      SceneEntry{.id = "detective",
                 .title_key = "scene.detective",
                 .icon = Glyph::Flag,
                 .rule_after = true,
                 .inspector_width = 0,
                 .transport = false,
                 .needs_trace = false,
                 .make = make_detective_scene},
      SceneEntry{.id = "duel",
                 .title_key = "scene.duel",
                 .icon = Glyph::Duel,
                 .rule_after = true,
                 .transport = false,
                 .needs_trace = false,
                 .make = make_duel_scene},
      SceneEntry{.id = "live",
                 .title_key = "live.title",
                 .icon = Glyph::Live,
                 .inspector_width = 332,
                 .needs_trace = false,
                 .make = make_live_scene},
      SceneEntry{.id = "incident",
                 .title_key = "scene_incident.title",
                 .icon = Glyph::Logs,
                 .inspector_width = 332,
                 .needs_trace = false,
                 .make = make_incident_scene},
      SceneEntry{.id = "lesson",
                 .title_key = "scene.lesson",
                 .icon = Glyph::Lesson,
                 .in_rail = false,
                 .inspector_width = 0,
                 .needs_trace = false,
                 .make = make_lesson_scene},
  };
  return kTable;
}

const SceneEntry* find_scene(std::string_view id) {
  for (const SceneEntry& entry : scene_table())
    if (entry.id == id) return &entry;
  return nullptr;
}

}  // namespace ringside::app
