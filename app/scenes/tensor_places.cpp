// "Where tensors live in a model": every tensor of one training step through fully connected layers, drawn to
// scale, forward from left to right and the gradients below their weights. A click opens one as the box.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/scenes/tensor_scene.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr int kLinearWidth = 4096, kLinearBatch = 8;

bool is_gradient(std::string_view role) {
  return role.ends_with("_grad");
}
bool is_bias(std::string_view role) {
  return role.starts_with("bias");
}

/// A tensor as a small grid (or a plain box where cells would be too small), rows down, columns right; a
/// vector stands.
void draw_grid(Canvas& c, Rect box, const sim::Shape& shape, std::string_view role, bool hot) {
  const Theme& t = c.theme();
  const std::int64_t rows = shape.extents.empty() ? 1 : shape.extents[0];
  const std::int64_t columns = shape.extents.size() < 2 ? 1 : shape.extents[1];
  const bool weight = role == "weight" || role == "bias", gradient = is_gradient(role);
  const Color fill = hot ? t.accent : weight ? mix(t.card, t.t1, .42f) : gradient ? t.card : t.raised;
  const Color stroke = gradient ? (hot ? t.accent : t.t1) : t.edge;
  const float kx = box.w / static_cast<float>(columns), ky = box.h / static_cast<float>(rows);
  if (kx < 5 || ky < 5) {
    c.rect(box, {.fill = fill, .stroke = stroke, .radius = 2, .width = gradient ? 1.75f : 1.0f});
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t k = 0; k < columns; ++k)
      c.rect({box.x + static_cast<float>(k) * kx, box.y + static_cast<float>(r) * ky, kx - 1.5f, ky - 1.5f},
             {.fill = fill, .stroke = stroke, .radius = 2});
}

/// The network of the open scenario, if it trains one that fits; else the classroom's 2-8-8-1.
std::pair<std::vector<int>, int> small_network(const sim::Scenario* open) {
  if (open != nullptr && open->training.network.enabled && open->training.network.layers.size() >= 2 &&
      open->training.network.layers.size() <= 5)
    return {open->training.network.layers, open->training.network.batch};
  return {{2, 8, 8, 1}, 4};
}

/// A model's numbers are floats: the chosen dtype, or float32 while an integer is chosen.
sim::DType floating(sim::DType dtype) {
  return sim::is_floating(dtype) ? dtype : sim::DType::Float32;
}

struct Placed {
  PlacedTensor tensor;
  Rect box;
};

}  // namespace

/// The same tensors as a list: name, shape, bytes.
void TensorScene::tensor_table(View& view, Rect box) const {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  auto [layers, batch] = small_network(view.ctx.scenario);
  if (linear_ == 1) {
    layers = {kLinearWidth, kLinearWidth};
    batch = kLinearBatch;
  }
  const sim::DType dtype = floating(model_.state().dtype);
  const auto tensors = tensors_of_layers(layers, batch);
  const float pitch = std::min(27.0f, (box.h - 30) / static_cast<float>(tensors.size() + 1));
  float y = box.y + 14;
  c.text({box.x, y}, tr("tensor.table.tensor"), {.size = 13, .color = t.t3});
  c.text({box.x + box.w * .66f, y}, "shape", {.size = 13, .color = t.t3, .align = Align::Right});
  c.text({box.right(), y}, std::string(sim::to_word(dtype)),
         {.size = 13, .color = t.t3, .align = Align::Right});
  y += pitch;
  bool backward = false;
  for (const PlacedTensor& p : tensors) {
    if (is_gradient(p.role) && !backward) {
      backward = true;
      c.line({box.x, y - pitch / 2}, {box.right(), y - pitch / 2}, t.line);
    }
    std::string name = tr_word("tensor.role_short", p.role);
    if (p.layer > 0 && layers.size() > 2) name += " " + std::to_string(p.layer);
    const bool learned = p.role == "weight" || p.role == "weight_grad";
    const Face face = learned ? Face::Bold : Face::Regular;
    c.text({box.x, y}, name, {.size = 14, .color = learned ? t.t1 : t.t2, .face = face});
    c.text({box.x + box.w * .66f, y}, p.shape.text(), {.size = 14, .face = face, .align = Align::Right});
    c.text({box.right(), y}, sim::format_bytes(p.shape.count() * sim::size_of(dtype)),
           {.size = 14, .color = t.t2, .align = Align::Right});
    y += pitch;
  }
}

void TensorScene::draw_model(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  auto [layers, batch] = small_network(view.ctx.scenario);
  std::string sizes;
  for (const int width : layers) sizes += (sizes.empty() ? "" : "-") + std::to_string(width);
  const std::vector<std::string> models{tr("tensor.model.small", {sizes}), tr("tensor.model.linear")};
  float toggle_width = 0;
  if (const auto chosen = view.ui.toggle("tensor.model", {box.x, box.y + 22}, models, linear_, Align::Left,
                                         &toggle_width, 34))
    linear_ = *chosen;
  if (linear_ == 1) {
    layers = {kLinearWidth, kLinearWidth};
    batch = kLinearBatch;
  }
  const sim::DType dtype = floating(model_.state().dtype);
  std::vector<std::string> dtypes;
  int current = 0;
  constexpr sim::DType kDTypes[] = {sim::DType::Float32, sim::DType::BFloat16, sim::DType::Float16,
                                    sim::DType::Float64};
  for (int i = 0; i < 4; ++i) {
    dtypes.emplace_back(sim::to_word(kDTypes[i]));
    if (kDTypes[i] == dtype) current = i;
  }
  if (const auto chosen = view.ui.toggle("tensor.model_dtype", {box.right(), box.y + 22}, dtypes, current,
                                         Align::Right, nullptr, 34))
    model_.set_dtype(kDTypes[*chosen]);

  // To scale: the widest chain of the forward pass fills the box.
  const auto tensors = tensors_of_layers(layers, batch);
  const bool tiny = linear_ == 1;
  const float gap = tiny ? 96 : 34;
  float units = 0;
  std::int64_t tallest = 1;
  int pieces = 0;
  for (const PlacedTensor& p : tensors) {
    if (is_gradient(p.role)) continue;
    const auto& e = p.shape.extents;
    units += static_cast<float>(e.size() < 2 ? 1 : e[1]);
    tallest = std::max(tallest, e.empty() ? 1 : e[0]);
    pieces += is_bias(p.role) ? 0 : 1;
  }
  const float room_y = (box.h - 62 - 62 - 2 * 26 - 2 * (tiny ? 62 : 42)) / 2;
  const float unit = std::min({13.0f, (box.w - 20 - gap * static_cast<float>(pieces - 1) - 8 * 6) / units,
                               room_y / static_cast<float>(tallest)});
  const auto size_of = [&](const sim::Shape& s) {
    const float least = tiny ? 3.0f : 8.0f;
    return Vec2{std::max(least, unit * static_cast<float>(s.extents.size() < 2 ? 1 : s.extents[1])),
                std::max(least, unit * static_cast<float>(s.extents.empty() ? 1 : s.extents[0]))};
  };
  float chain = 0;
  for (const PlacedTensor& p : tensors)
    if (!is_gradient(p.role)) chain += size_of(p.shape).x + (is_bias(p.role) ? 5 : 0);
  chain += gap * static_cast<float>(pieces - 1);
  const float row1 = box.y + 80 + room_y / 2, row2 = row1 + room_y + 26 + (tiny ? 62 : 42);
  float x = box.x + std::max(10.0f, (box.w - chain) / 2);
  std::vector<Placed> placed;
  std::map<int, float> weight_x;
  for (const PlacedTensor& p : tensors) {
    const Vec2 size = size_of(p.shape);
    if (is_gradient(p.role)) {
      const float gx = weight_x[p.layer * 2 + (is_bias(p.role) ? 1 : 0)];
      placed.push_back({p, {gx, row2 - size.y / 2, size.x, size.y}});
      continue;
    }
    if (is_bias(p.role)) {
      x += 5 - gap;
    }
    placed.push_back({p, {x, row1 - size.y / 2, size.x, size.y}});
    if (p.role == "weight") weight_x[p.layer * 2] = x;
    if (is_bias(p.role)) weight_x[p.layer * 2 + 1] = x;
    x += size.x + gap;
  }

  // Words: name and shape, under the grid; the direction of both passes.
  std::int64_t parameters = 0;
  for (const PlacedTensor& p : tensors)
    if (is_gradient(p.role)) parameters += p.shape.count();
  const PlacedTensor* hovered = nullptr;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const Placed& p = placed[i];
    const std::string id =
        "tensor.place." + std::string(p.tensor.role) + "." + std::to_string(p.tensor.layer);
    const Hit h = view.ui.hit(id, p.box, {.least = is_bias(p.tensor.role) ? 0.0f : 28.0f});
    draw_grid(c, p.box, p.tensor.shape, p.tensor.role, h.hovered || h.focused);
    if (h.hovered || h.focused) hovered = &p.tensor;
    if (h.clicked) {
      refuse(view, model_.set_shape(p.tensor.shape.extents));
      page_ = Page::Box;
      pictures_ = false;
    }
    if (is_bias(p.tensor.role)) continue;
    const bool gradient = is_gradient(p.tensor.role);
    const float y = (gradient ? row2 : row1) + room_y / 2 + 14;
    const std::string name = tr_word("tensor.role", p.tensor.role);
    const float half = p.box.center().x;
    c.text({half, y}, name,
           {.size = 13,
            .color = gradient ? t.t1 : t.t2,
            .face = gradient ? Face::Bold : Face::Regular,
            .align = Align::Center});
    c.text({half, y + 19}, p.tensor.shape.text(), {.size = 14, .align = Align::Center});
    if (tiny)
      c.text({half, y + 38}, sim::format_bytes(p.tensor.shape.count() * sim::size_of(dtype)),
             {.size = 13, .color = t.t2, .align = Align::Center});
    if (!gradient && i + 1 < placed.size() && p.tensor.role != "loss") {
      const float right = p.tensor.role == "weight" ? p.box.right() + 5 + placed[i + 1].box.w : p.box.right();
      c.glyph(Glyph::Right, {right + gap / 2, row1}, 12, t.t3, 2);
    }
  }
  c.text({box.x, row1 - room_y / 2 - 8}, tr("tensor.model.forward"),
         {.size = 13, .color = t.t3, .face = Face::Bold});
  c.text({box.x, row2 - room_y / 2 - 8}, tr("tensor.model.backward"),
         {.size = 13, .color = t.t3, .face = Face::Bold});

  const Rect foot{box.x, box.bottom() - 62, box.w, 62};
  parts::card(c, foot);
  if (hovered != nullptr) {
    c.text({foot.x + 16, foot.y + 20}, tr_word("tensor.role_is", hovered->role),
           {.size = 15, .max_width = foot.w - 32});
    c.text({foot.x + 16, foot.y + 43},
           hovered->shape.text() + " · " + tr("tensor.numbers", {sim::with_commas(hovered->shape.count())}) +
               " · " +
               tr("tensor.bytes", {std::string(sim::to_word(dtype)),
                                   sim::format_bytes(hovered->shape.count() * sim::size_of(dtype))}),
           {.size = 14, .color = t.t2});
  } else {
    c.text({foot.x + 16, foot.y + 20},
           tr("tensor.model.sum",
              {sim::with_commas(parameters), sim::format_bytes(parameters * sim::size_of(dtype)),
               std::string(sim::to_word(dtype))}),
           {.size = 15, .face = Face::Bold, .max_width = foot.w - 32});
    c.text({foot.x + 16, foot.y + 43}, tr("tensor.model.hint"),
           {.size = 14, .color = t.t2, .max_width = foot.w - 32});
  }
}

}  // namespace ringside::app
