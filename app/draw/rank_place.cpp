#include "app/draw/rank_place.hpp"

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/i18n/on_cpu.hpp"

namespace ringside::app::parts {

std::string rank_place(int rank, int local_rank, std::string_view node) {
  if (ranks_on_cpu() && node.empty()) return tr("rank.long_name", {std::to_string(rank)});
  std::string out = rank_name(rank);
  if (!node.empty()) (out += " · ") += node;
  return ranks_on_cpu() ? out : out + " · GPU " + std::to_string(local_rank);
}

}  // namespace ringside::app::parts
