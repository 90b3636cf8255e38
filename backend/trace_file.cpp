#include "backend/trace_file.hpp"

#include <array>
#include <future>
#include <string>

#include "backend/files.hpp"
#include "backend/sha256.hpp"

namespace ringside::backend {

sim::Status write_event_lines(const sim::Trace& trace, const ByteSink& sink) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string piece;
  piece.reserve(kPiece + 65'536);
  for (const sim::Event& event : trace.events()) {
    sim::append_event_json(piece, trace, event);
    piece += '\n';
    if (piece.size() < kPiece) continue;
    if (auto done = sink(piece); !done) return done;
    piece.clear();
  }
  return sink(piece);
}

std::string trace_hash(const sim::Trace& trace) {
  // Writing the lines and hashing them take about as long: a piece is hashed while the next one is written.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  Sha256 hash;
  std::array<std::string, 2> pieces;
  std::future<void> hashing;
  std::size_t now = 0;
  const auto hand_over = [&] {
    if (hashing.valid()) hashing.get();
    hashing = std::async(std::launch::async, [&hash, &piece = pieces[now]] { hash.update(piece); });
    now = 1 - now;
    pieces[now].clear();
  };
  for (const sim::Event& event : trace.events()) {
    sim::append_event_json(pieces[now], trace, event);
    pieces[now] += '\n';
    if (pieces[now].size() >= kPiece) hand_over();
  }
  if (hashing.valid()) hashing.get();
  hash.update(pieces[now]);
  return hash.hex();
}

sim::Status write_trace(const sim::Trace& trace, const ByteSink& sink) {
  std::string header;
  sim::append_header_json(header, trace.header);
  header += '\n';
  if (auto done = sink(header); !done) return done;
  return write_event_lines(trace, sink);
}

sim::Status write_trace_file(const sim::Trace& trace, const std::string& path) {
  auto file = AtomicFile::create(path);
  if (!file) return file.error();
  if (auto done = write_trace(trace, [&](std::string_view bytes) { return file->write(bytes); }); !done)
    return done;
  return file->commit();
}

}  // namespace ringside::backend
