#include "app/cli/command.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "backend/files.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {

int report(const sim::Error& error, bool json, int code) {
  fmt::print(stderr, "ringside-cli: {}\n", sim::escape_for_display(error.message()));
  if (!json) return code;
  std::string out;
  sim::JsonWriter writer(out);
  writer.begin_object().key("error").begin_object();
  writer.field("what", error.what).field("file", error.file).field("line", error.line);
  writer.field("column", error.column).field("text", error.text).field("legal", error.legal);
  writer.field("hint", error.hint).end_object().end_object();
  print(out + "\n");
  return code;
}

sim::Result<sim::MeasuredMachine> load_machine(const std::string& path) {
  constexpr std::int64_t kMaxBytes = 1 << 20;
  const auto text = backend::read_file(path, kMaxBytes);
  if (!text) return text.error();
  return sim::parse_measured_machine(*text, path);
}

bool print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0;
}

}  // namespace ringside::app
