// Where the parts of the AllReduce figure are that a lesson may point at.
#include <algorithm>
#include <charconv>

#include "app/scenes/allreduce_layout.hpp"

namespace ringside::app {
namespace {

/// "rank:2" → 2 for the prefix "rank:"; -1 if it is something else.
int number_after(std::string_view what, std::string_view prefix) {
  if (!what.starts_with(prefix)) return -1;
  int value = -1;
  const char* begin = what.data() + prefix.size();
  const char* end = what.data() + what.size();
  const auto read = std::from_chars(begin, end, value);
  return read.ec == std::errc{} && read.ptr == end ? value : -1;
}

std::vector<Rect> box_of_path(const Path& path) {
  if (path.points.empty()) return {};
  Vec2 least = path.points.front(), most = least;
  for (const Vec2 p : path.points) {
    least = {std::min(least.x, p.x), std::min(least.y, p.y)};
    most = {std::max(most.x, p.x), std::max(most.y, p.y)};
  }
  return {Rect{least.x, least.y, most.x - least.x, most.y - least.y}.inset(-10)};
}

/// "link:0-1".
std::vector<Rect> link_place(const RingLayout& layout, std::string_view what) {
  const std::size_t dash = what.find('-');
  if (dash == std::string_view::npos) return {};
  const int src = number_after(what.substr(0, dash), "link:"), dst = number_after(what.substr(dash + 1), "");
  if (src < 0 || dst < 0) return {};
  const LinkBox* link = layout.link(src, dst);
  return link != nullptr ? box_of_path(link->path) : std::vector<Rect>();
}

}  // namespace

std::vector<Rect> places_in_figure(const RingLayout& layout, const RingView& view, std::string_view what) {
  std::vector<Rect> out;
  if (what == "dial") {
    const float r = layout.dial_radius + 8;
    if (layout.dial_radius > 0)
      out.push_back({layout.dial.x - r, layout.dial.y - r, 2 * r, 2 * r});
    else if (layout.progress.w > 0)
      out.push_back(layout.progress);
  } else if (what == "legend") {
    if (layout.legend_y > 0) out.push_back({20, layout.legend_y - 14, layout.size.x * .58f, 28});
  } else if (const int rank = number_after(what, "rank:"); rank >= 0) {
    for (const CardBox& card : layout.cards)
      if (card.rank == rank) out.push_back(card.box);
  } else if (const int chunk = number_after(what, "chunk:"); chunk >= 0) {
    const auto shown = std::find(view.chunks.begin(), view.chunks.end(), static_cast<std::uint32_t>(chunk));
    const auto at = static_cast<std::size_t>(shown - view.chunks.begin());
    for (const CardBox& card : layout.cards)
      if (shown != view.chunks.end() && at < card.cells.size()) out.push_back(card.cells[at].box);
  } else if (what.starts_with("link:")) {
    out = link_place(layout, what);
  }
  return out;
}

}  // namespace ringside::app
