// The number that a person follows through the ring: on every rank, with whose contributions are in it.
#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_column.hpp"
#include "app/scenes/allreduce_figure.hpp"
#include "app/text/layout.hpp"

namespace ringside::app::inspector {

void draw_followed(Column& k) {
  const std::int64_t element = k.view.ctx.selection.element;
  const std::uint32_t chunk = k.ring.info.chunks.chunk_of(element);
  const std::size_t shown = k.ring.shown(chunk);
  const std::string title = tr("allreduce.followed.title", {std::to_string(element), chunk_name(chunk)});
  const Vec2 corner{k.x + k.w - 8, k.y + 8};
  heading(k, fit(k.c.fonts(), title, k.w - 30, 14, Face::Bold));
  if (k.view.ui.icon_button("allreduce.followed.close", corner, Glyph::Cross, 12,
                            tr("allreduce.numbers.close"))) {
    Selection none = k.view.ctx.selection;
    none.chunk = none.element = -1;
    k.view.emit(action::Select{none});
  }
  if (shown >= k.ring.chunks.size()) return;
  constexpr float kPitch = 34;
  const int fits = std::max(1, static_cast<int>((k.bottom - k.y) / kPitch));
  const int rows = std::min(k.ring.world, fits);
  for (int r = 0; r < rows; ++r) {
    if (r + 1 == rows && rows < k.ring.world) {
      k.c.text({k.x, k.y + 4}, tr("step.more_ranks", {std::to_string(k.ring.world - r)}),
               {.size = 14, .color = k.t.t3});
      break;
    }
    const CellView& cell = k.ring.cell(r, shown);
    const bool sent = cell.state == sim::CellState::PassedOn && !k.state.tensor;
    parts::rank_tag(k.c, {k.x, k.y + 4}, r, {.height = 22, .neutral = k.ring.world > kRankColors});
    const Rect bar{k.x + 46, k.y, 72, 8};
    if (k.ring.world <= kRankColors)
      parts::contributions(k.c, bar, cell.contributions, k.ring.world, sent ? .45f : 1);
    else
      parts::share_bar(k.c, bar, cell.contribution_count, k.ring.world);
    const auto& values = cell.numbers.values;
    const std::string text = values.size() == 1 ? number_text(values[0]) : tr("allreduce.not_known");
    const bool known = values.size() == 1 && !sent;
    k.c.text({k.x + k.w, k.y + 4}, fit(k.c.fonts(), text, k.w - 130, 17, Face::Bold),
             {.size = 17,
              .color = known ? k.t.t1 : k.t.t3,
              .face = known ? Face::Bold : Face::Regular,
              .align = Align::Right});
    k.y += kPitch;
  }
}

}  // namespace ringside::app::inspector
