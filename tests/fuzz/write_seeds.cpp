// Writes the seeds of every entry to DIR/ENTRY/N, where libFuzzer takes them from, and the words that the
// readers look for to DIR/ENTRY.dict. TEXTS: a folder of logs, whose pieces are seeds of the entries that
// read logs.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backend/import/hints.hpp"
#include "backend/import/messages.hpp"
#include "fuzz_entry.hpp"

namespace {

constexpr std::size_t kPiece = 384;  // a few lines; longer ones are cut by scripts/fuzz

/// libFuzzer's form of a dictionary: one quoted word a line.
void write_words(const std::filesystem::path& path, const std::vector<std::string>& words) {
  std::ofstream out(path);
  for (const auto& word : words) {
    if (word.size() > 60) continue;  // libFuzzer takes 64 bytes
    out << '"';
    for (const char c : word) {
      char escaped[8];
      const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
      std::snprintf(escaped, sizeof escaped, plain ? "%c" : "\\x%02X", static_cast<unsigned char>(c));
      out << escaped;
    }
    out << "\"\n";
  }
}

/// Pieces of whole lines of all files under `texts`.
void write_pieces(const std::filesystem::path& folder, const std::filesystem::path& texts) {
  int number = 0;
  const auto write = [&](const std::string& piece) {
    if (!piece.empty())
      std::ofstream(folder / ("piece_" + std::to_string(number++)), std::ios::binary) << piece;
  };
  for (const auto& entry : std::filesystem::recursive_directory_iterator(texts)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string piece;
    for (std::string line; std::getline(file, line);) {
      if (piece.size() + line.size() > kPiece) {
        write(piece);
        piece.clear();
      }
      piece += line + "\n";
    }
    write(piece);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s DIR [TEXTS]\n", argv[0]);
    return 2;
  }
  const std::filesystem::path out = argv[1];
  std::vector<std::string> words = ringside::backend::MessageTable::get().literal_list();
  const auto& hints = ringside::backend::hint_words();
  words.insert(words.end(), hints.begin(), hints.end());
  for (const auto& entry : ringside::fuzz::kEntries) {
    const std::string name = entry.name;
    const auto folder = out / name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const auto& seed : ringside::fuzz::seeds(name))
      std::ofstream(folder / ("seed_" + std::to_string(number++)), std::ios::binary) << seed;
    if (name != "log_lines" && name != "diagnose_texts") continue;
    write_words(out / (name + ".dict"), words);
    if (argc == 3) write_pieces(folder, argv[2]);
  }
  return 0;
}
