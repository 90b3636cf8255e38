#include "app/session/moment.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/session/branch.hpp"
#include "sim/base/text.hpp"
#include "sim/base/toml.hpp"

namespace ringside::app {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string to_base64url(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kAlphabet[(bits >> (count - 6)) & 63u];
  }
  if (count > 0) out += kAlphabet[(bits << (6 - count)) & 63u];
  return out;
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

sim::Error damaged(std::string what) {
  return {.what = std::move(what), .hint = "copy the whole text, from ringside1. to its end"};
}

sim::Result<std::string> from_base64url(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos)
      return damaged("the text of the moment has a character that it cannot have: \"" +
                     sim::escape_for_display(std::string_view(&c, 1)) + "\"");
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>((bits >> count) & 255u);
  }
  return out;
}

std::string pack(const std::string& text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string out(size, '\0');
  const int done = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(text.data()), static_cast<uLong>(text.size()), 9);
  RINGSIDE_CHECK_EQ(done, Z_OK);
  out.resize(size);
  return out;
}

/// At most kMaxMomentBytes: a small text cannot unpack into all memory.
sim::Result<std::string> unpack(const std::string& packed) {
  z_stream stream{};
  RINGSIDE_CHECK_EQ(inflateInit(&stream), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::array<char, 1 << 14> part{};
  int state = Z_OK;
  while (state == Z_OK && out.size() <= kMaxMomentBytes) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > kMaxMomentBytes)
    return sim::Error{.what = "the moment is too large",
                      .legal = std::to_string(kMaxMomentBytes) + " bytes unpacked"};
  if (state != Z_STREAM_END) return damaged("the text of the moment is damaged or cut off");
  return out;
}

std::string_view unit_word(sim::StepUnit unit) {
  return sim::to_word(unit);
}

/// Integers and words of the table, each with its range; the first problem stays.
class Fields {
 public:
  explicit Fields(const toml::table& table) : table_(table) {}
  std::string text(std::string_view key, std::size_t most) {
    const auto value = table_[key].value<std::string>();
    if (!value || value->size() > most) return fail(key), std::string();
    return *value;
  }
  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most) {
    const auto value = table_[key].value<std::int64_t>();
    if (!value || *value < least || *value > most) return fail(key), least;
    return *value;
  }
  double number(std::string_view key, double least, double most) {
    const auto value = table_[key].value<double>();
    if (!value || !(*value >= least && *value <= most)) return fail(key), least;
    return *value;
  }
  bool flag(std::string_view key) {
    const auto value = table_[key].value<bool>();
    if (!value) fail(key);
    return value.value_or(false);
  }
  std::vector<std::int64_t> integers(std::string_view key, std::size_t count) {
    std::vector<std::int64_t> out(count, -1);
    const toml::array* list = table_[key].as_array();
    if (list == nullptr || list->size() != count) return fail(key), out;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = (*list)[i].value<std::int64_t>();
      if (!value || *value < -1 || *value > (std::int64_t{1} << 40)) return fail(key), out;
      out[i] = *value;
    }
    return out;
  }
  void fail(std::string_view key) {
    if (!problem_) problem_ = damaged("the moment has no legal \"" + std::string(key) + "\"");
  }
  const std::optional<sim::Error>& problem() const { return problem_; }

 private:
  const toml::table& table_;
  std::optional<sim::Error> problem_;
};

sim::Playhead read_playhead(Fields& fields) {
  sim::Playhead out;
  out.t = fields.integer("t", 0, INT64_MAX);
  out.speed = fields.number("speed", 1e-12, 1e12);
  out.loop = fields.flag("loop");
  const std::string unit = fields.text("unit", 32);
  bool known = false;
  for (int i = 0; i <= static_cast<int>(sim::StepUnit::TrainingStep); ++i)
    if (unit_word(static_cast<sim::StepUnit>(i)) == unit) {
      out.unit = static_cast<sim::StepUnit>(i);
      known = true;
    }
  if (!known) fields.fail("unit");
  return out;
}

Selection read_selection(Fields& fields) {
  const auto n = fields.integers("selection", 6);
  Selection out;
  const auto small = [](std::int64_t value) {
    return static_cast<int>(std::min<std::int64_t>(value, INT32_MAX));
  };
  out.rank = small(n[0]);
  out.node = small(n[1]);
  out.link_from = small(n[2]);
  out.link_to = small(n[3]);
  out.chunk = n[4];
  out.element = n[5];
  return out;
}

/// The scenario, whose last `count` faults were commands.
sim::Status take_commands(Moment& moment, std::int64_t count) {
  auto& faults = moment.scenario.faults;
  if (count > static_cast<std::int64_t>(faults.size()))
    return damaged("the moment has no legal \"commands\"");
  const auto first = faults.end() - static_cast<std::ptrdiff_t>(count);
  for (auto fault = first; fault != faults.end(); ++fault) {
    if (!fault->at_ns) return damaged("a fault by hand has no time");
    sim::Command command{*fault->at_ns, *fault};
    command.fault.line = 0;
    moment.commands.push_back(std::move(command));
  }
  faults.erase(first, faults.end());
  return sim::ok();
}

}  // namespace

sim::Scenario without_files(sim::Scenario scenario) {
  if (scenario.tensor.values == sim::ValueSource::File) {
    scenario.tensor.values = sim::ValueSource::List;
    scenario.tensor.file_pattern.clear();
  }
  return scenario;
}

sim::Result<std::string> write_moment(const Moment& moment) {
  const sim::Scenario scenario = with_commands(without_files(moment.scenario), moment.commands);
  const std::int64_t numbers =
      scenario.tensor.list.empty() ? 0 : scenario.tensor.shape.count() * scenario.world_size();
  if (numbers > kMaxMomentNumbers)
    return sim::Error{.what = sim::with_commas(numbers) + " numbers are too many for a text",
                      .legal = "at most " + sim::with_commas(kMaxMomentNumbers),
                      .hint = "save the scenario as a file instead"};
  const Selection& s = moment.selection;
  toml::table table;
  table.insert("name", moment.name);
  table.insert("scene", moment.scene_id);
  table.insert("view", moment.view);
  table.insert("t", moment.playhead.t);
  table.insert("speed", moment.playhead.speed);
  table.insert("unit", std::string(unit_word(moment.playhead.unit)));
  table.insert("loop", moment.playhead.loop);
  table.insert("selection", toml::array{s.rank, s.node, s.link_from, s.link_to, s.chunk, s.element});
  table.insert("commands", static_cast<std::int64_t>(moment.commands.size()));
  table.insert("scenario", sim::to_toml(scenario));
  std::ostringstream text;
  text << table;
  return std::string(kMomentPrefix) + to_base64url(pack(text.str()));
}

sim::Result<Moment> read_moment(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  if (text.size() > kMaxMomentText)
    return sim::Error{.what = "the text is too long for a moment",
                      .legal = "at most " + sim::with_commas(kMaxMomentText) + " characters"};
  if (!text.starts_with(kMomentPrefix))
    return sim::Error{.what = "this text is no moment of Ringside",
                      .legal = "a text that begins with ringside1."};
  const auto packed = from_base64url(text.substr(kMomentPrefix.size()));
  if (!packed) return packed.error();
  const auto plain = unpack(*packed);
  if (!plain) return plain.error();
  const auto table = sim::parse_toml(*plain, "moment");
  if (!table) return damaged("the moment cannot be read: " + table.error().what);
  Moment out;
  Fields fields(*table);
  out.name = fields.text("name", 1'000);
  out.scene_id = fields.text("scene", 64);
  out.view = fields.text("view", 4'000);
  out.playhead = read_playhead(fields);
  out.selection = read_selection(fields);
  const std::int64_t commands = fields.integer("commands", 0, 10'000);
  const std::string scenario = fields.text("scenario", kMaxMomentBytes);
  if (fields.problem()) return *fields.problem();
  auto parsed = sim::parse_scenario(scenario, "moment");
  if (!parsed) return parsed.error();
  out.scenario = std::move(*parsed);
  if (const sim::Status taken = take_commands(out, commands); !taken) return taken.error();
  return out;
}

}  // namespace ringside::app
