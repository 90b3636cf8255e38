// What every reader of zstd data must ask before a frame.
#pragma once

namespace ringside::backend {

/// Whether a frame is of a format from before zstd 0.8, by the first byte of its magic number: 0x22 to 0x27
/// (0x28 since then, 0x50 to 0x5F if it is to be skipped; zstd_compression_format.md). The library's decoders
/// of those formats give bytes that nobody wrote (found by fuzzing), so such frames are refused.
inline bool is_legacy_zstd(char first) {
  return first >= 0x22 && first <= 0x27;
}

}  // namespace ringside::backend
