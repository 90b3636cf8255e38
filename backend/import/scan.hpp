// Reads log lines into Facts: peels prefixes, matches the message table, keeps the few constructs that span
// lines (torchrun's table, desync reports, tracebacks, launcher blocks), and a bounded summary of what each
// rank was doing.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend/import/evidence.hpp"
#include "backend/import/messages.hpp"
#include "backend/import/prefix.hpp"

namespace ringside::backend {

/// Memory is bounded by the number of authors and by caps for each kind of Fact, not by the length of the
/// input.
class LogScanner {
 public:
  explicit LogScanner(Facts& out);
  ~LogScanner();
  LogScanner(const LogScanner&) = delete;
  LogScanner& operator=(const LogScanner&) = delete;

  void begin_file(std::string_view name);
  void line(const Line& line);
  void end_file();
  /// Writes the summaries (Progress, StepTime, NcclColl) as Facts. Call once, after the last file.
  void finish();

 private:
  struct Stream;                                        // what is open in one stream of lines
  struct Summary;                                       // last words of one author
  struct Step;                                          // step times of one step
  using AuthorKey = std::tuple<int, int, std::string>;  // kind of number, number, host or file

  void part(std::string_view text, const Line& line);
  void one_author(std::string_view text, const Line& line);
  Stream& stream_of(const Peeled& peeled);
  std::uint32_t file_of(const Peeled& peeled);
  void name_odd_exception(const Stream& stream, std::string_view text);
  void drop_half_messages(std::string_view text);
  void watch_loss(Stream& stream, std::string_view text, const Fact& base);
  void report_finite_losses();
  void take_matches(Stream& stream, const Peeled& peeled, std::string_view text, const Fact& base);
  Fact make_base(const Peeled& peeled, int rank, std::string_view text, const Line& line);
  bool in_table(Stream& stream, std::string_view text, const Fact& base);
  void close_entry(Stream& stream);
  void follow_traceback(Stream& stream, std::string_view text);
  void emit(Stream& stream, std::string_view text, Fact&& fact);
  bool merge_blocks(Stream& stream, Fact& fact);
  void add(Fact&& fact);
  void notice(const Peeled& peeled, int rank, std::string_view text, std::string_view whole, const Line& line,
              std::uint64_t hints);
  void identities(std::string_view text, const Fact& base);
  void numbers(Summary& summary, std::string_view text, std::int64_t line, std::uint64_t hints);
  void horovod_all(std::string_view text, const Fact& base);

  Facts& out_;
  const MessageTable& table_;
  std::uint32_t file_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> grep_files_;  // names that grep put in front
  std::string file_name_;
  std::unordered_map<std::uint64_t, Stream> streams_;  // by a hash of the prefix; losses are told sorted
  std::set<std::tuple<std::uint32_t, int, int>> told_locals_;  // file, local rank, rank
  std::unordered_map<std::uint64_t, Summary> authors_;  // by a hash of the AuthorKey that stands inside
  std::map<std::int64_t, Step> steps_;
  std::map<std::pair<std::string, std::string>, std::deque<Fact>>
      calls_;                        // COLL lines: the last of each communicator
  std::vector<std::size_t> counts_;  // Facts of each kind
  std::vector<std::uint16_t> scratch_;
  std::vector<Fact> matched_;
  std::string clean_;      // a line without colours
  std::string unwrapped_;  // the message of a line of JSON
  std::int64_t file_lines_ = 0;
  std::size_t step_times_ = 0;
};

}  // namespace ringside::backend
