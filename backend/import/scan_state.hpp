// Inside of LogScanner: what is open in a stream of lines, and the summary of an author.
#pragma once

#include <map>
#include <string>

#include "backend/import/scan.hpp"

namespace ringside::backend {

/// The training step that a line names ("step 12", "iteration 3", "it 300"); -1 if none.
std::int64_t step_of(std::string_view text, std::uint64_t hints = ~std::uint64_t{0});

struct LogScanner::Stream {
  // torchrun's failure table
  bool table = false;
  bool root = false;
  bool entry_open = false;
  bool in_traceback_text = false;
  Fact entry;
  // an author's message that goes on in lines without a prefix: NCCL error, desync report, C++ exception
  Author last_author;
  std::string last_pg, last_pg_name;
  int author_lines = 0;
  // Python traceback
  bool traceback = false;
  bool ignored = false;  // "Exception ignored in": what follows is noise of the exit
  bool frame = false;    // the last line was an indented one of a traceback
  std::string call;      // the collective whose frame was seen last
  int traceback_lines = 0;
  int error_rank = -1;  // who said in the line before that it failed: an unprefixed traceback may follow
  std::int64_t error_line = 0;
  int spawned = -1;         // "-- Process 2 terminated with the following error:" of torch.multiprocessing
  std::string gpu_address;  // "NVRM: The NVIDIA GPU 0000:02:00.0", whose sentence goes on in the next lines
  std::string pod;          // "Name:  trainer-2" of kubectl describe
  std::int64_t pid_hint = -1;
  int pid_lines = 0;
  // launcher blocks
  std::int64_t open_block = -1;  // index of the Fact that waits for its code or name
  FactKind open_kind = FactKind::RankNote;
  int block_lines = 0;
  // the loss after one that was NaN or infinite, or after a skipped step
  bool loss_watched = false;
  std::int64_t finite_losses = 0;
  Fact finite;
  bool horovod_missing = false;
  std::int64_t fr_seq = -1;
};

struct LogScanner::Summary {
  AuthorKey key;
  Author who;
  std::uint32_t file = 0;
  std::int64_t first_line = 0;
  std::int64_t last_line = 0;
  std::int64_t t_ns = -1;
  bool dated = false;
  std::string last_text;
  std::int64_t lines = 0;
  std::int64_t step = -1;
  std::int64_t step_line = 0, step_t_ns = -1;  // where the step grew last
};

struct LogScanner::Step {
  std::map<AuthorKey, std::pair<double, double>> times;  // compute or total, wait (-1 unknown)
  std::map<AuthorKey, Author> who;
  std::uint32_t file = 0;
  std::map<AuthorKey, std::pair<std::int64_t, std::string>> lines;
};

}  // namespace ringside::backend
