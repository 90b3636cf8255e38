// Where a rank is, in words.
#pragma once

#include <string>
#include <string_view>

namespace ringside::app::parts {

/// For a title: "R3 · GPU 1", "R3 · node-0 · GPU 1" with its node; a process on a CPU is "rank 3", "R3 · node-0".
std::string rank_place(int rank, int local_rank, std::string_view node = {});

}  // namespace ringside::app::parts
