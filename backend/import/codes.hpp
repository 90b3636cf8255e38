// What the numbers in messages mean: NVIDIA's Xid, work completion status of InfiniBand verbs, NCCL results,
// exit codes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ringside::backend {

enum class XidClass : std::uint8_t {
  Program,      // mostly an error of the program; hardware if it stays on one GPU
  Hardware,     // the GPU, its memory or its firmware
  Link,         // NVLink or NVSwitch
  Contained,    // an uncorrectable memory error that killed only its application
  Consequence,  // look for an earlier Xid
  Info,         // a record or a warning, nothing failed by it
};

struct XidMeaning {
  int code;
  XidClass of;
  const char* meaning_en;
  const char* meaning_ko;
  const char* next_en;
  const char* next_ko;
};
std::span<const XidMeaning> xid_table();
/// Never null: unknown codes give a row with code 0 and class Hardware.
const XidMeaning& xid_meaning(int code);

struct CodeMeaning {
  int code;
  const char* name;
  const char* meaning_en;
  const char* meaning_ko;
};
/// ibv_wc_status. Never null.
const CodeMeaning& wc_meaning(int status);
/// ncclResult_t. Never null.
const CodeMeaning& nccl_meaning(int result);
/// Signal numbers that end processes (positive), as in exit codes -9, 137, "signal 9". Never null; code 0 if
/// unknown.
const CodeMeaning& signal_meaning(int signal);
/// 9 for -9, 137 and (when `signal_field`) 9; 0 if the code is no signal.
int signal_of_exit(int code);

}  // namespace ringside::backend
