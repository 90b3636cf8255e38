#include "backend/import/explain.hpp"

#include <fmt/format.h>

#include "backend/import/codes.hpp"
#include "backend/import/explain_table.hpp"
#include "backend/import/messages.hpp"
#include "backend/import/prefix.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"

namespace ringside::backend {
namespace {

/// A cause before a report about others, that before a victim's line, that before an echo.
int weight(const Fact& fact) {
  switch (fact.role) {
    case Role::Root:
      return 4;
    case Role::Names:
      return 3;
    case Role::Victim:
      return 2;
    case Role::Consequence:
      return 1;
    case Role::Context:
      return 0;
  }
  return 0;
}

std::string who_of(const Peeled& peeled, const Fact& fact) {
  std::string who;
  const auto say = [&who](std::string text) { who += (who.empty() ? "" : ", ") + text; };
  if (fact.who.rank >= 0) say(fmt::format("rank {} (global)", fact.who.rank));
  if (fact.who.group_rank >= 0 && fact.who.group_rank != fact.who.rank)
    say(fmt::format("rank {} of its process group", fact.who.group_rank));
  if (fact.who.local_rank >= 0) say(fmt::format("local rank {}", fact.who.local_rank));
  if (peeled.task >= 0) say(fmt::format("task {}", peeled.task));
  if (!fact.who.host.empty()) say("host " + fact.who.host);
  if (fact.who.pid >= 0) say(fmt::format("pid {}", fact.who.pid));
  if (fact.who.device >= 0) say(fmt::format("device {}", fact.who.device));
  return who;
}

/// What the number in the line means, behind the sentence about its kind.
void add_code(Explanation& out) {
  const Fact& fact = out.fact;
  const auto add = [&out](const std::string& en, const std::string& ko) {
    out.meaning_en += ". " + en;
    out.meaning_ko += ". " + ko;
  };
  if (fact.kind == FactKind::Xid) {
    const XidMeaning& xid = xid_meaning(fact.code);
    add(fmt::format("Xid {}: {}", fact.code, xid.meaning_en),
        fmt::format("Xid {}: {}", fact.code, xid.meaning_ko));
    out.next_en = xid.next_en;
    out.next_ko = xid.next_ko;
    if (xid.of == XidClass::Consequence) out.role = Role::Consequence;
    if (xid.of == XidClass::Info) out.role = Role::Context;
  } else if (fact.kind == FactKind::IbCompletion) {
    const CodeMeaning& status = wc_meaning(fact.code);
    add(fmt::format("Status {} {}: {}", fact.code, status.name, status.meaning_en),
        fmt::format("상태 {} {}: {}", fact.code, status.name, status.meaning_ko));
    if (fact.code == 5) out.role = Role::Consequence;
  } else if (fact.kind == FactKind::NcclReturn) {
    const int code = fact.code != 0 ? fact.code : static_cast<int>(fact.limit);
    const CodeMeaning& result = nccl_meaning(code);
    add(fmt::format("{} {}: {}", code, result.name, result.meaning_en),
        fmt::format("{} {}: {}", code, result.name, result.meaning_ko));
  } else if (fact.kind == FactKind::NcclErrorText) {
    for (int code = 1; code <= 8; ++code)
      if (fact.text.find(nccl_meaning(code).name) != std::string::npos ||
          (code == 6 && fact.text.find("remote process exited") != std::string::npos) ||
          (code == 3 && fact.text.find("internal error") != std::string::npos)) {
        add(fmt::format("{}: {}", nccl_meaning(code).name, nccl_meaning(code).meaning_en),
            fmt::format("{}: {}", nccl_meaning(code).name, nccl_meaning(code).meaning_ko));
        break;
      }
  } else if (fact.kind == FactKind::ElasticFailed || fact.kind == FactKind::MpiSignal) {
    const int signal = fact.kind == FactKind::MpiSignal ? fact.code : signal_of_exit(fact.code);
    if (const CodeMeaning& meaning = signal_meaning(signal); meaning.code != 0) {
      add(fmt::format("{}: {}", meaning.name, meaning.meaning_en),
          fmt::format("{}: {}", meaning.name, meaning.meaning_ko));
      if (signal == 15) out.role = Role::Victim;
    }
  }
}

void add_author(Explanation& out) {
  switch (out.role) {
    case Role::Root:
      out.author_en = "the author, or what the line names, is often the cause";
      out.author_ko = "이 줄의 주인이나 줄이 말하는 대상이 원인인 경우가 많습니다";
      break;
    case Role::Names:
      out.author_en = "the author reports somebody else: look at whom it names";
      out.author_ko = "다른 쪽을 알리는 줄입니다. 누구를 지목하는지 보세요";
      break;
    case Role::Victim:
      out.author_en = "the author is usually a victim: it waited for, or lost, somebody else";
      out.author_ko = "이 줄의 주인은 대개 피해자입니다. 다른 쪽을 기다렸거나 잃었습니다";
      break;
    case Role::Consequence:
      out.author_en = "a consequence of something earlier, never a cause";
      out.author_ko = "앞선 일의 결과이며 원인이 아닙니다";
      break;
    case Role::Context:
      out.author_en = "no failure by itself";
      out.author_ko = "그 자체로는 실패가 아닙니다";
      break;
  }
}

/// Lines of torchrun's table, which have a meaning of their own.
bool explain_table_line(std::string_view text, Explanation& out) {
  const auto has = [&text](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (has("Root Cause (first observed failure)"))
    out.fact.kind = FactKind::ElasticRoot;
  else if (has("exitcode  :") || has("local_rank: "))
    out.fact.kind = FactKind::ElasticEntry;
  else
    return false;
  out.layer = Layer::Elastic;
  out.role = Role::Names;
  if (const std::size_t at = text.find("exitcode  : "); at != std::string_view::npos) {
    out.fact.kind = FactKind::ElasticFailed;
    out.fact.code = std::atoi(std::string(text.substr(at + 12, 8)).c_str());
    out.role = Role::Root;
  }
  return true;
}

}  // namespace

Explanation explain_line(std::string_view line) {
  Explanation out;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  const Peeled peeled = peel(line);
  std::vector<std::uint16_t> scratch;
  std::vector<Fact> facts;
  MessageTable::get().match(peeled.text, scratch, facts);
  const Fact* best = nullptr;
  for (const Fact& fact : facts)
    if (best == nullptr || weight(fact) > weight(*best)) best = &fact;
  out.fact.kind = FactKind::RankNote;
  if (best != nullptr) {
    out.fact = *best;
    out.layer = best->layer;
    out.role = best->role;
    out.known = true;
  } else if (explain_table_line(peeled.text, out)) {
    out.known = true;
  }
  std::string_view after;
  Author& who = out.fact.who;
  if (who.rank < 0) who.rank = peeled.rank >= 0 ? peeled.rank : leading_rank(peeled.text, after);
  if (who.group_rank < 0) who.group_rank = peeled.group_rank;
  if (who.local_rank < 0) who.local_rank = peeled.local_rank;
  if (who.pid < 0) who.pid = peeled.pid;
  if (who.device < 0) who.device = peeled.device;
  if (who.host.empty()) who.host = std::string(peeled.host);
  out.fact.text = std::string(line.substr(0, kMaxFactText));
  out.who = who_of(peeled, out.fact);
  const KindText* text = out.known ? kind_text(out.fact.kind) : nullptr;
  if (text != nullptr) {
    out.meaning_en = text->meaning_en;
    out.meaning_ko = text->meaning_ko;
    out.next_en = text->next_en;
    out.next_ko = text->next_ko;
    add_code(out);
  } else if (out.known) {
    out.meaning_en = "noise of a launcher or of the end of a process";
    out.meaning_ko = "실행기나 프로세스가 끝날 때의 잡음입니다";
  } else if (peeled.text.substr(0, 7) == "frame #" ||
             line.find("Exception raised from ") != std::string_view::npos) {
    out.layer = Layer::Torch;
    out.role = Role::Consequence;
    out.meaning_en = "part of a C++ stack trace; the message stands above it";
    out.meaning_ko = "C++ 스택의 일부입니다. 메시지는 그 위에 있습니다";
  } else if (peeled.nccl) {
    out.layer = Layer::Nccl;
    out.meaning_en = "information of NCCL about its set-up";
    out.meaning_ko = "NCCL의 설정 정보입니다";
  } else if (peeled.text.substr(0, 9) == "Traceback" || peeled.text.find("  File \"") == 0) {
    out.layer = Layer::Python;
    out.meaning_en = "part of a Python traceback; the last line of it says what happened";
    out.meaning_ko = "Python traceback의 일부입니다. 마지막 줄이 무슨 일인지 말합니다";
  } else {
    out.meaning_en = "not a message of PyTorch, NCCL, MPI, a scheduler or the kernel that this program knows";
    out.meaning_ko = "이 프로그램이 아는 PyTorch, NCCL, MPI, 스케줄러, 커널의 메시지가 아닙니다";
  }
  add_author(out);
  if (!out.known && out.layer == Layer::Unknown) {
    out.author_en.clear();
    out.author_ko.clear();
  }
  return out;
}

std::string to_text(const Explanation& explanation, std::string_view language) {
  const bool korean = language == "ko";
  const auto row = [korean](const char* en, const char* ko, const std::string& value) {
    return value.empty() ? std::string()
                         : fmt::format("{}: {}\n", korean ? ko : en, sim::escape_for_display(value));
  };
  std::string out;
  out += row("printed by", "찍은 곳", std::string(to_word(explanation.layer)));
  out += row("who", "누구", explanation.who);
  out += row("meaning", "뜻", korean ? explanation.meaning_ko : explanation.meaning_en);
  out += row("author", "주인", korean ? explanation.author_ko : explanation.author_en);
  out += row("next", "할 일", korean ? explanation.next_ko : explanation.next_en);
  return out;
}

void append_json(std::string& out, const Explanation& explanation) {
  sim::JsonWriter json(out);
  const auto pair = [&json](std::string_view key, const std::string& en, const std::string& ko) {
    json.key(key).begin_object().field("en", en).field("ko", ko).end_object();
  };
  json.begin_object()
      .field("known", explanation.known)
      .field("layer", to_word(explanation.layer))
      .field("role", to_word(explanation.role));
  json.field("who", explanation.who);
  pair("meaning", explanation.meaning_en, explanation.meaning_ko);
  pair("author", explanation.author_en, explanation.author_ko);
  pair("next", explanation.next_en, explanation.next_ko);
  json.end_object();
}

}  // namespace ringside::backend
