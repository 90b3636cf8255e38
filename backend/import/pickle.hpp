// Python pickles of plain data: dicts, lists, tuples, texts, numbers. What PyTorch's Flight Recorder writes
// (protocol 2, torch's own pickler) and what Python writes for the same data (protocols 0 to 5).
#pragma once

#include <string_view>

#include "backend/import/plain_data.hpp"

namespace ringside::backend {

/// Reads one pickle. Never executes anything: an opcode that would load a class, call a function or refer to
/// something outside is an error that names it and its byte. So are truncated data, lengths beyond the end, a
/// reference to what was never stored, and data beyond `limits`. Bytes after STOP are ignored. Integers
/// beyond 64 bits become Kind::Other.
sim::Result<PlainData> parse_pickle(std::string_view bytes, std::string_view name,
                                    const PlainLimits& limits = {});

}  // namespace ringside::backend
