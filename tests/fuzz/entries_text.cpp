// Fuzz entries of the readers of text: input layer, RAS, Inspector, log lines.
#include <algorithm>

#include "backend/import/diagnose.hpp"
#include "backend/import/input.hpp"
#include "backend/import/inspector.hpp"
#include "backend/import/ras.hpp"
#include "backend/import/scan.hpp"
#include "fuzz_entry.hpp"

namespace ringside::fuzz {

using namespace ringside::backend;

void ras(std::string_view input) {
  Facts facts;
  RasTextReader reader;
  const auto text = text_from_memory("fuzz", input);
  const std::uint32_t file = facts.add_file("events");
  for (Line line; text->next(line);) {
    reader.line(line.text, line.number);
    append_ras_event(line.text, line.number, file, facts);
  }
  append_facts(reader.finish(), "fuzz", facts);
  if (const auto report = parse_ras_json(input, "fuzz")) append_facts(*report, "fuzz", facts);
  for (const auto& fact : facts.facts) {
    require(fact.file < facts.files.size(), "a Fact of no file");
    require(fact.text.size() <= kMaxFactText, "a Fact with too much text");
    for (const int rank : fact.named) require(rank >= 0, "a negative rank");
  }
}

void inspector(std::string_view input) {
  Facts facts;
  InspectorReader reader;
  const auto text = text_from_memory("fuzz", input);
  reader.begin_file(facts.add_file("fuzz"));
  for (Line line; text->next(line);) reader.line(line.text);
  const auto comms = reader.finish();
  (void)diagnose(comms, facts);
  append_facts(comms, facts);
}

/// Lines and blocks of the same bytes say the same, packed or not.
void input_layer(std::string_view input) {
  (void)classify(input, true);
  InputLimits limits;
  limits.max_line = 64;
  limits.max_unpacked = 1 << 20;
  limits.max_window_log = 20;
  const auto lines = text_from_memory("fuzz", input, limits);
  std::int64_t count = 0;
  std::size_t bytes = 0;
  for (Line line; lines->next(line);) {
    require(line.number == ++count, "line numbers have a gap");
    require(line.text.size() <= limits.max_line, "a line is longer than the limit");
    require(line.text.find('\n') == std::string_view::npos, "a line holds a line end");
    bytes += line.text.size();
  }
  const auto blocks = text_from_memory("fuzz", input, limits);
  std::int64_t blocks_lines = 0;
  for (TextFile::Block block; blocks->next_block(block);) {
    require(block.first_line == blocks_lines + 1, "blocks have a gap");
    require(!block.text.empty(), "an empty block");
    const auto ends = std::count(block.text.begin(), block.text.end(), '\n');
    blocks_lines += ends + (block.text.back() != '\n' ? 1 : 0);
  }
  require(blocks_lines == count, "blocks and lines disagree");
  require(lines->bytes() == blocks->bytes(), "bytes disagree");
  require(bytes <= static_cast<std::size_t>(lines->bytes()), "more bytes in lines than in the file");
}

void log_lines(std::string_view input) {
  Facts facts;
  LogScanner scanner(facts);
  const auto text = text_from_memory("fuzz", input);
  scanner.begin_file("fuzz");
  for (Line line; text->next(line);) scanner.line(line);
  scanner.end_file();
  scanner.finish();
  for (const auto& fact : facts.facts) {
    require(fact.file < facts.files.size(), "a Fact of no file");
    require(fact.text.size() <= kMaxFactText, "a Fact with too much text");
  }
}

/// Text to verdict, and the verdict as text and JSON: up to three files, separated by a line of its own.
void diagnose_texts(std::string_view input) {
  constexpr std::string_view kCut = "\n----\n";
  static constexpr const char* kNames[] = {"rank_0.log", "rank_1.log", "node1.dmesg"};
  std::vector<NamedText> files;
  for (const char* name : kNames) {
    const std::size_t cut = input.find(kCut);
    files.push_back({name, input.substr(0, cut)});
    if (cut == std::string_view::npos) break;
    input.remove_prefix(cut + kCut.size());
  }
  const Incident incident = backend::diagnose_texts(files);
  const auto& verdict = incident.diagnosis;
  for (const int victim : verdict.victims)
    require(std::find(verdict.culprits.begin(), verdict.culprits.end(), victim) == verdict.culprits.end(),
            "a rank that is culprit and victim");
  const std::string text = to_text(incident);
  for (const char c : text)
    require(c == '\n' || static_cast<unsigned char>(c) >= 0x20, "a control character in the report");
  std::string json;
  append_json(json, incident);
}

}  // namespace ringside::fuzz
