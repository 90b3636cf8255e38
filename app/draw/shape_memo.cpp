#include "app/draw/shape_memo.hpp"

namespace ringside::app {

void ShapeMemo::keep(Slot& slot, const ImDrawList& list, int vertex, int index, ImVec2 at) {
  slot.vertices.assign(list.VtxBuffer.begin() + vertex, list.VtxBuffer.end());
  slot.indices.assign(list.IdxBuffer.begin() + index, list.IdxBuffer.end());
  for (ImDrawVert& v : slot.vertices) v.pos = ImVec2(v.pos.x - at.x, v.pos.y - at.y);
  const auto base =
      static_cast<ImDrawIdx>(list._VtxCurrentIdx - static_cast<unsigned>(list.VtxBuffer.Size - vertex));
  for (ImDrawIdx& i : slot.indices) i = static_cast<ImDrawIdx>(i - base);
  slot.known = !slot.vertices.empty();
}

void ShapeMemo::copy(const Slot& slot, ImDrawList& list, ImVec2 at) {
  const auto vertices = static_cast<int>(slot.vertices.size()), indices = static_cast<int>(slot.indices.size());
  list.PrimReserve(indices, vertices);
  const auto base = static_cast<ImDrawIdx>(list._VtxCurrentIdx);  // after PrimReserve, which may start a new range
  ImDrawIdx* index = list._IdxWritePtr;
  for (const ImDrawIdx i : slot.indices) *index++ = static_cast<ImDrawIdx>(base + i);
  ImDrawVert* out = list._VtxWritePtr;
  for (const ImDrawVert& v : slot.vertices) {
    *out = v;
    out->pos.x += at.x;
    out->pos.y += at.y;
    ++out;
  }
  list._IdxWritePtr = index;
  list._VtxWritePtr = out;
  list._VtxCurrentIdx += static_cast<unsigned>(vertices);
}

}  // namespace ringside::app
