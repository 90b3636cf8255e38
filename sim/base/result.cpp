#include "sim/base/result.hpp"

namespace ringside::sim {

std::string Error::message() const {
  std::string out;
  if (!file.empty()) out += file + ":";
  if (line > 0) out += std::to_string(line) + ":";
  if (column > 0) out += std::to_string(column) + ":";
  if (!out.empty()) out += " ";
  out += what;
  if (!text.empty() && what.find(text) == std::string::npos) out += ": " + text;
  if (!legal.empty()) out += " (legal: " + legal + ")";
  if (!hint.empty()) out += ". " + hint;
  return out;
}

}  // namespace ringside::sim
