// The log panel: what ranks, kernels and launcher had printed by the playhead, in their real formats. Merged
// as an operator sees it (lines that differ only in numbers are folded), or one source alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/scenes/cluster_story.hpp"
#include "app/scenes/cluster_view.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

enum class LogFilter : std::uint8_t { Merged, Launcher, Kernel, Rank };

/// One row: a line, and how many like it came at about the same time.
struct LogRow {
  std::uint32_t event = 0;
  int count = 1;    // folded lines, this one included
  int more = 0;     // lines of the same message after it (a table, a traceback)
};

/// The last `most` rows of what had been printed by t. Folded rows keep the place of their first line.
std::vector<LogRow> log_rows(const sim::Trace& trace, const ClusterStory& story, std::int64_t t,
                             LogFilter filter, int rank, std::size_t most);

/// "kernel n17", "rank137", "torchrun": who printed it, as a column.
std::string log_source(const sim::Trace& trace, const sim::Event& event, std::string_view launcher);
/// Wall clock of the job: "09:15:58.361".
std::string log_clock(const sim::Trace& trace, std::int64_t t);

/// One file of logs: its name and its text.
struct LogFile {
  std::string name, text;
};
/// Everything printed by t, one file per rank, node and launcher, and all of it merged.
std::vector<LogFile> log_files(const sim::Trace& trace, const ClusterStory& story, std::int64_t t);

class LogPanel {
 public:
  void draw(View& view, const ClusterView& cluster, const ClusterStory& story, const sim::Diagnosis* verdict,
            Rect box);

 private:
  void header(View& view, Rect box, int rank);
  void row(View& view, const LogRow& row, const sim::Diagnosis* verdict, Rect box);
  void save(View& view, const ClusterStory& story);

  LogFilter filter_ = LogFilter::Merged;
  bool save_wanted_ = false;
  float scroll_ = 0;
  // What the rows below were made for.
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::size_t until_ = 0;
  int rank_ = -1;
  LogFilter shown_ = LogFilter::Merged;
  bool verdict_ = false;
  std::vector<LogRow> rows_;
  std::uint32_t cause_ = sim::kNone;  // the line that stays on top
  std::size_t silent_ = 0;            // ranks that wait and have printed nothing
};

}  // namespace ringside::app
