// One line of a log, explained: which layer printed it, what it means, whether its author is usually a victim
// or the cause, and what to do. The same message table as the readers use, in English and Korean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/import/evidence.hpp"

namespace ringside::backend {

struct Explanation {
  bool known = false;
  Layer layer = Layer::Unknown;
  Role role = Role::Context;
  Fact fact;        // what was read from the line: who, seq, op, code …; kind RankNote if unknown
  std::string who;  // "rank 3 (global)", "rank 0 of its process group", "node12, pid 4711"; empty if the line
                    // does not say
  std::string meaning_en, meaning_ko;
  std::string author_en, author_ko;  // victim or cause
  std::string next_en, next_ko;
};

/// Never fails. The strongest message of the line is explained: a cause before a report, a report before a
/// consequence.
Explanation explain_line(std::string_view line);

/// For people, in "en" or "ko"; text from the line is escaped.
std::string to_text(const Explanation& explanation, std::string_view language);
/// {"known":…,"layer":…,"role":…,"kind":…,"who":…,"meaning":{"en":…,"ko":…},"author":{…},"next":{…}}
void append_json(std::string& out, const Explanation& explanation);

}  // namespace ringside::backend
