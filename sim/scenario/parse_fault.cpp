// [[fault]] in a file, and "crash:rank=2,step=5" on a command line: the same keys, the same checks.
#include <cmath>

#include "sim/base/nearest.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/fault_rules.hpp"
#include "sim/scenario/parse_sections.hpp"
#include "sim/scenario/words.hpp"

namespace ringside::sim {
namespace {

std::vector<std::string_view> kind_words() {
  std::vector<std::string_view> words;
  for (const FaultRule& rule : fault_rules()) words.push_back(rule.word);
  return words;
}

/// Refuses keys that exist but mean nothing for this kind.
void refuse_foreign_keys(TableReader& table, const toml::table& node, const FaultRule& rule) {
  const auto legal = legal_fields(rule);
  for (auto&& [key, value] : node) {
    if (std::find(legal.begin(), legal.end(), key.str()) != legal.end()) continue;
    if (table.context().error) return;
    Error error;
    error.what =
        "the key " + std::string(key.str()) + " means nothing for the fault " + std::string(rule.word);
    error.text = table.context().quote(value.source());
    error.legal = join_words(legal);
    table.context().fail(std::move(error), key.source());
  }
}

void read_when(TableReader& table, Fault& fault) {
  constexpr std::int64_t kMaxSteps = 1'000'000;
  if (table.has("time") && (table.has("step") || table.has("at")))
    return table.fail("time", "a fault strikes at a time, or at a place in a step, not both",
                      "time, or step and at");
  if (const auto value = table.integer("step", 1, kMaxSteps)) fault.step = *value;
  if (const auto value = table.word("at", kFaultPhaseWords)) fault.at = *value;
  fault.at_ns = table.duration("time");
}

void read_how(TableReader& table, Fault& fault) {
  if (const auto value = table.duration("duration")) {
    if (*value == 0) table.fail("duration", "a fault of no duration changes nothing", "above 0ns");
    fault.duration_ns = *value;
  }
  if (const auto value = table.number("factor", 0.000001, 0.999999))
    fault.factor_ppm = static_cast<std::int64_t>(*value * 1e6 + 0.5);
  if (const auto value = table.integer("element", 0, std::int64_t{1} << 62)) fault.element = *value;
  if (const auto value = table.integer("bit", 0, 63)) fault.bit = static_cast<std::int32_t>(*value);
  fault.shape = read_shape(table, "shape");
  fault.dtype = table.word("dtype", kDTypeWords);
  fault.op = table.word("op", kOpWords);
}

void require_keys(TableReader& table, const FaultRule& rule) {
  constexpr std::pair<std::uint32_t, std::string_view> kFields[] = {
      {kFieldDuration, "duration"}, {kFieldFactor, "factor"}, {kFieldBit, "bit"},
      {kFieldShape, "shape"},       {kFieldDType, "dtype"},   {kFieldOp, "op"}};
  for (const auto& [bit, key] : kFields) {
    if ((rule.required & bit) == 0 || table.has(key)) continue;
    table.fail("", "the fault " + std::string(rule.word) + " needs the key " + std::string(key));
  }
}

std::optional<Fault> read_fault(TableReader& table, const toml::table& node) {
  if (table.context().error) return std::nullopt;
  const auto index = table.word_index("kind", kind_words());
  if (!index) {
    if (!table.has("kind")) table.fail("", "a fault needs a kind", join_words(kind_words()));
    return std::nullopt;
  }
  const FaultRule& rule = fault_rules()[*index];
  Fault fault;
  fault.kind = rule.kind;
  fault.line = static_cast<int>(node.source().begin.line);
  refuse_foreign_keys(table, node, rule);
  const auto place = [&](std::string_view key, std::int32_t& target) {
    if (const auto value = table.integer(key, 0, kMaxRanksTimeOnly - 1))
      target = static_cast<std::int32_t>(*value);
  };
  place("rank", fault.rank);
  place("node", fault.node);
  place("from", fault.from);
  place("to", fault.to);
  read_when(table, fault);
  read_how(table, fault);
  require_keys(table, rule);
  if (table.context().error) return std::nullopt;
  return fault;
}

/// Faults that can meet: those that strike the same place are compared with each other.
void check_contradictions(ReadContext& context, const Scenario& scenario, const toml::table& node) {
  const Fault& latest = scenario.faults.back();
  for (std::size_t i = 0; i + 1 < scenario.faults.size(); ++i) {
    if (auto error = contradiction(scenario.faults[i], latest))
      return context.fail(std::move(*error), node.source());
  }
}

}  // namespace

void read_faults(TableReader& root, Scenario& scenario) {
  constexpr std::size_t kMostFaults = 4'096;
  const auto tables = root.tables("fault");
  if (tables.size() > kMostFaults)
    return root.fail("fault", "there are " + std::to_string(tables.size()) + " faults", "up to 4096");
  for (const toml::table* node : tables) {
    TableReader table(root.context(), node, "fault");
    auto fault = read_fault(table, *node);
    if (!fault) return;
    if (auto problem = check_fault(*fault, scenario)) {
      problem->error.text = root.context().quote(table.where(problem->key));
      return root.context().fail(std::move(problem->error), table.where(problem->key));
    }
    scenario.faults.push_back(std::move(*fault));
    check_contradictions(root.context(), scenario, *node);
    if (root.context().error) return;
  }
}

Result<Fault> parse_fault(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::string toml = "kind = \"";
  const auto refuse = [&](std::string what) {
    Error error;
    error.text = escape_for_display(text.substr(0, 80));
    error.what = std::move(what);
    error.legal = "KIND:key=value,…, such as crash:rank=2,step=5";
    return error;
  };
  // The words of a command line hold no TOML syntax of their own: anything else could smuggle in keys.
  for (const char c : text) {
    const bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == ':' || c == '=' || c == ',' || c == '_' || c == '.' || c == '-' || c == '[' ||
                       c == ']' || c == 'x';
    if (!legal) return refuse("a character that no fault has");
  }
  toml += text.substr(0, colon);
  toml += "\"\n";
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  while (!rest.empty()) {
    std::size_t end = 0;
    for (int depth = 0; end < rest.size() && (rest[end] != ',' || depth > 0); ++end)
      depth += rest[end] == '[' ? 1 : rest[end] == ']' ? -1 : 0;
    const std::string_view pair = rest.substr(0, end);
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == pair.size())
      return refuse("\"" + std::string(pair) + "\" is no key=value");
    const std::string_view key = pair.substr(0, equals), value = pair.substr(equals + 1);
    const bool word = key == "at" || key == "time" || key == "duration" || key == "dtype" || key == "op";
    toml += key;
    toml += word ? " = \"" : " = ";
    toml += value;
    toml += word ? "\"\n" : "\n";
  }
  const auto parsed = parse_toml(toml, "");
  if (!parsed) return refuse(parsed.error().what);
  ReadContext context{toml, "", std::nullopt};
  TableReader table(context, &*parsed, "fault");
  auto fault = read_fault(table, *parsed);
  if (!fault) {
    Error error = *context.error;
    error.line = error.column = 0;
    error.text = escape_for_display(text.substr(0, 80));
    return error;
  }
  fault->line = 0;
  return std::move(*fault);
}

std::string fault_text(const Fault& fault) {
  std::string out(to_word(fault.kind));
  char separator = ':';
  const auto field = [&](std::string_view key, const std::string& value) {
    out += separator;
    out += key;
    out += '=';
    out += value;
    separator = ',';
  };
  for (const auto& [key, value] : fault_fields(fault)) {
    std::string bare = value;
    std::erase(bare, '"');
    std::erase(bare, ' ');
    field(key, bare);
  }
  return out;
}

std::vector<std::pair<std::string_view, std::string>> fault_fields(const Fault& fault) {
  const FaultRule& rule = rule_of(fault.kind);
  std::vector<std::pair<std::string_view, std::string>> fields;
  const auto integer = [&](std::string_view key, std::int64_t value) {
    std::string text;
    append_int(text, value);
    fields.emplace_back(key, std::move(text));
  };
  const auto quoted = [&](std::string_view key, std::string_view value) {
    fields.emplace_back(key, '"' + std::string(value) + '"');
  };
  const auto may = [&](std::uint32_t bit) { return (rule.allowed & bit) != 0; };
  if (fault.rank >= 0) integer("rank", fault.rank);
  if (fault.node >= 0) integer("node", fault.node);
  if (fault.from >= 0) integer("from", fault.from);
  if (fault.to >= 0) integer("to", fault.to);
  if (fault.at_ns) {
    quoted("time", duration_text(*fault.at_ns));
  } else {
    integer("step", fault.step);
    if (may(kFieldAt)) quoted("at", to_word(fault.at));
  }
  if (fault.duration_ns > 0) quoted("duration", duration_text(fault.duration_ns));
  if (fault.factor_ppm > 0) {
    std::string text;
    append_double(text, static_cast<double>(fault.factor_ppm) / 1e6);
    fields.emplace_back("factor", std::move(text));
  }
  if (may(kFieldElement)) integer("element", fault.element);
  if (may(kFieldBit)) integer("bit", fault.bit);
  if (fault.shape) {
    std::string text = "[";
    for (const std::int64_t extent : fault.shape->extents) {
      if (text.size() > 1) text += ", ";
      append_int(text, extent);
    }
    fields.emplace_back("shape", text + "]");
  }
  if (fault.dtype) quoted("dtype", to_word(*fault.dtype));
  if (fault.op) quoted("op", to_word(*fault.op));
  return fields;
}

std::string_view to_word(Phase phase) {
  constexpr std::string_view kWords[] = {"init",   "forward",   "loss",       "backward", "all_reduce",
                                         "divide", "optimizer", "checkpoint", "restart",  "done"};
  return kWords[static_cast<std::size_t>(phase)];
}

std::optional<Phase> phase_from(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(Phase::Done); ++i) {
    if (to_word(static_cast<Phase>(i)) == word) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

}  // namespace ringside::sim
