// Widgets that react: they draw through the Canvas, register a hit area by a language-neutral id, and tell
// what happened. Hit areas are painter's order: what is drawn later lies on top. Focus, hover explanations
// and menus are kept here. Nothing here knows about simulations.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/canvas.hpp"
#include "app/ui/key.hpp"

namespace ringside::app {

struct Hit {
  bool hovered = false, held = false, clicked = false, double_clicked = false, focused = false;
  bool pressed = false;   // the button went down here in this frame
  bool released = false;  // a hold ended in this frame, wherever the mouse is
  bool menu = false;      // right-clicked in this frame, or the menu key while focused
  Vec2 mouse{};           // in the canvas' current units, while hovered or held
};

struct HitStyle {
  bool focusable = true;
  float least = 0;                // the hit area is at least so wide and high
  bool takes_arrows = false;      // while focused, left/right belong to it
  std::string_view explain = {};  // one sentence, shown on hover
};

struct ButtonStyle {
  bool primary = false;
  Glyph icon = Glyph::None;
  float size = 15;
  bool enabled = true;
  std::string_view explain = {};  // what it does; when disabled: why it cannot be used
};

struct SliderStyle {
  bool logarithmic = false;
  std::string_view explain = {};
};

struct MenuItem {
  std::string label;
  std::string detail = {};  // quieter, at the right
  bool enabled = true;
};

class Ui {
 public:
  // --- one frame
  // -----------------------------------------------------------------------------------------------------
  /// `now` = wall seconds (0 in --render); reads ImGui's input.
  void begin(Canvas& canvas, double now);
  /// Draws open menus, popups and the hover explanation on top.
  void end();
  Canvas& canvas() { return *canvas_; }
  double now() const { return now_; }

  // --- areas
  // ---------------------------------------------------------------------------------------------------------
  /// Registers an area and tells what the mouse and the keyboard do with it. Draw first, or draw with the
  /// answer.
  Hit hit(std::string_view id, Rect box, const HitStyle& style = {});
  /// A sentence that is shown while the mouse rests on the box (areas on top win). No click, no focus.
  void explain(Rect box, std::string_view sentence);

  /// Until it ends, areas neither react nor register: for a picture of a scene beside the one that reacts.
  /// Popups of what is drawn are not opened, keys are not seen. Explanations stay.
  void begin_passive() { ++passive_; }
  void end_passive() { --passive_; }
  /// The left button is somebody else's until this is taken back (a presenter's spotlight); the right one
  /// still works.
  void set_left_button(bool on) { left_button_ = on; }
  /// The mouse, in logical pixels of the window, and its buttons in this frame.
  Vec2 mouse() const { return mouse_; }
  bool mouse_pressed() const { return mouse_pressed_; }
  bool mouse_down() const { return mouse_down_; }

  // --- widgets
  // -------------------------------------------------------------------------------------------------------
  bool button(std::string_view id, Rect box, std::string_view label, const ButtonStyle& style = {});
  /// A glyph without a frame; hit area at least 36 × 36.
  bool icon_button(std::string_view id, Vec2 center, Glyph glyph, float size, std::string_view explain,
                   bool enabled = true);
  /// Two or more choices in one frame, the chosen one is ink; `at` = left (or right), middle. Returns the
  /// index that was chosen now.
  std::optional<int> toggle(std::string_view id, Vec2 at, std::span<const std::string> labels, int current,
                            Align align = Align::Left, float* width = nullptr, float height = 36);
  /// True if the value changed. Arrow keys move it by 1/20 when focused.
  bool slider(std::string_view id, Rect box, double& value, double least, double most,
              const SliderStyle& style = {});
  /// A number to click and type (also "NaN", "inf"); up and down arrows change it by `step` when focused.
  /// True once, when a new value is committed.
  bool number_field(std::string_view id, Rect box, double& value, double least, double most, double step = 1,
                    std::string_view unit = {}, std::string_view explain = {});
  /// Any short text (a cell's value). True when committed.
  bool text_field(std::string_view id, Rect box, std::string& value, float size = 16,
                  std::string_view explain = {});
  /// Puts the caret into a text field, as a click would.
  void start_typing(std::string_view id, std::string_view text);
  /// What stands in a text field while it is typed into, before it is committed.
  std::optional<std::string> typed(std::string_view id) const;
  bool checkbox(std::string_view id, Vec2 at, std::string_view label, bool& value,
                std::string_view explain = {});
  /// A field that shows the current choice and opens a list. Returns the index that was chosen now.
  std::optional<int> select(std::string_view id, Rect box, std::span<const MenuItem> items, int current,
                            std::string_view explain = {});

  // --- overlays
  // ------------------------------------------------------------------------------------------------------
  void open_popup(std::string_view id);
  void close_popup();
  bool popup_open(std::string_view id) const { return open_popup_ == id; }
  bool any_popup_open() const { return !open_popup_.empty(); }
  /// While `id` is open: draws a panel of this size near the anchor, on top, at the end of this frame. What
  /// `content` captures must live until then.
  void popup(std::string_view id, Rect anchor, Vec2 size, std::function<void(Rect)> content);
  /// A list near the anchor while `id` is open; the choice is returned in the frame after the click.
  std::optional<int> menu(std::string_view id, Rect anchor, std::span<const MenuItem> items, int current);

  // --- keyboard
  // ------------------------------------------------------------------------------------------------------
  /// True if the key went down and no widget has taken it.
  bool key(Key key);
  /// A widget took the key: nobody else sees it in this frame.
  void take(Key key);
  bool typing() const { return !editing_.empty(); }
  bool focused_takes_arrows() const { return focused_takes_arrows_; }
  void focus(std::string_view id);
  void clear_focus() { focused_.clear(); }
  const std::string& focused() const { return focused_; }
  bool ctrl() const;
  bool shift() const;
  /// Wheel movement over the box in this frame, if nothing on top wants it.
  float wheel(Rect box) const;
  /// What the clipboard holds as text.
  std::string clipboard() const;

  // --- the frame loop
  // ------------------------------------------------------------------------------------------------
  /// Something moves: draw another frame without waiting for input.
  void keep_moving() { moving_ = true; }
  bool moving() const { return moving_; }
  /// Wake up again after so many seconds at the latest.
  void wake_in(double seconds);
  double next_wake() const { return next_wake_; }

  // --- tests
  // ---------------------------------------------------------------------------------------------------------
  /// Where the widget was in the last finished frame, in logical window pixels.
  std::optional<Rect> probe(std::string_view id) const;
  std::vector<std::string> probe_ids() const;
  bool reduced_motion = false;

 private:
  struct Area {
    std::string id;
    Rect box;  // window
    int layer = 0;
    bool focusable = false, takes_arrows = false;
  };
  struct Popup {
    std::string id;
    Rect anchor;
    Vec2 size;
    std::function<void(Rect)> content = {};
  };
  void find_hot();
  void move_focus();
  void draw_focus(Rect box, float radius);
  void draw_popup(const Popup& popup);
  void draw_explanation();
  bool commit_editor(std::string_view id, Rect box, std::string& value);
  Rect place_popup(const Popup& popup) const;

  Canvas* canvas_ = nullptr;
  double now_ = 0;
  Vec2 mouse_{};
  bool mouse_down_ = false, mouse_pressed_ = false, mouse_released_ = false, mouse_double_ = false;
  bool mouse_moved_ = false, mouse_menu_ = false, left_button_ = true;
  int passive_ = 0;
  std::vector<Area> areas_, last_areas_;
  std::string hot_, active_, focused_;
  bool focus_visible_ = false, focused_takes_arrows_ = false, focused_takes_arrows_next_ = false;
  std::uint64_t taken_keys_ = 0;
  int layer_ = 0;
  std::string open_popup_;
  std::optional<Popup> popup_;
  Rect last_popup_box_{};
  std::string chosen_menu_;
  int chosen_index_ = -1;
  std::string editing_, edit_text_;
  int edit_frames_ = 0;
  std::string explanation_;
  Rect explanation_box_{};
  std::string shown_explanation_;
  double explanation_since_ = 0;
  bool moving_ = false;
  double next_wake_ = 1e9;
};

}  // namespace ringside::app
