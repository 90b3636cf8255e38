#include "backend/import/codes.hpp"

namespace ringside::backend {
namespace {

constexpr XidMeaning kXids[] = {
    {0, XidClass::Hardware, "an Xid that this table does not know", "이 표에 없는 Xid입니다",
     "read NVIDIA's Xid catalogue for this number", "NVIDIA Xid 목록에서 이 번호를 찾아보세요"},
    {13, XidClass::Program, "graphics engine exception: illegal instruction or address, mostly the program",
     "그래픽 엔진 예외: 잘못된 명령이나 주소로, 대개 프로그램의 잘못입니다",
     "run the program under compute-sanitizer; if it stays on one GPU, test that GPU",
     "compute-sanitizer로 실행하고, 한 GPU에서만 나면 그 GPU를 시험하세요"},
    {31, XidClass::Program, "MMU fault: the program touched an address that is not mapped",
     "MMU 오류: 프로그램이 매핑되지 않은 주소를 건드렸습니다", "run the program under compute-sanitizer",
     "compute-sanitizer로 실행하세요"},
    {43, XidClass::Program, "channel reset after a verification error of the program",
     "프로그램의 검증 오류로 채널이 초기화되었습니다", "run the program under compute-sanitizer",
     "compute-sanitizer로 실행하세요"},
    {45, XidClass::Consequence, "channels were removed because something else failed before",
     "앞서 다른 것이 실패해서 채널이 제거되었습니다", "look for the earlier Xid", "더 앞선 Xid를 찾으세요"},
    {48, XidClass::Hardware, "double-bit ECC error in GPU memory", "GPU 메모리의 2비트 ECC 오류",
     "drain the node, reset the GPU; RMA if it comes back",
     "노드를 비우고 GPU를 초기화하세요. 반복되면 교체하세요"},
    {61, XidClass::Hardware, "breakpoint or warning of the GPU's microcontroller", "GPU 내부 제어기의 중단",
     "reset the GPU", "GPU를 초기화하세요"},
    {62, XidClass::Hardware, "the GPU's microcontroller halted", "GPU 내부 제어기가 멈췄습니다",
     "reset the GPU", "GPU를 초기화하세요"},
    {63, XidClass::Info, "a memory row was remapped or a page retired",
     "메모리 행이 재배치되었거나 페이지가 폐기되었습니다", "reset the GPU at the next opportunity",
     "다음 기회에 GPU를 초기화하세요"},
    {64, XidClass::Hardware, "remapping a memory row failed", "메모리 행 재배치에 실패했습니다",
     "drain the node; RMA if it repeats after a reboot", "노드를 비우고, 재부팅 뒤에도 반복되면 교체하세요"},
    {74, XidClass::Link, "NVLink error", "NVLink 오류",
     "drain the node, reset the GPUs, run the field diagnostic",
     "노드를 비우고 GPU를 초기화한 뒤 진단을 실행하세요"},
    {79, XidClass::Hardware, "the GPU has fallen off the bus", "GPU가 버스에서 떨어졌습니다",
     "drain the node, power cycle, check the PCIe slot and the power",
     "노드를 비우고 전원을 껐다 켠 뒤 PCIe 슬롯과 전원을 확인하세요"},
    {92, XidClass::Info, "many corrected single-bit ECC errors", "교정된 1비트 ECC 오류가 많습니다",
     "run dcgmi diag", "dcgmi diag를 실행하세요"},
    {94, XidClass::Contained, "contained uncorrectable ECC error: it killed the application only",
     "격리된 교정 불가 ECC 오류: 응용 프로그램만 종료되었습니다", "restart the job, drain the node later",
     "작업을 다시 시작하고 나중에 노드를 비우세요"},
    {95, XidClass::Hardware, "uncontained uncorrectable ECC error", "격리되지 않은 교정 불가 ECC 오류",
     "reset the GPU or reboot the node", "GPU를 초기화하거나 노드를 재부팅하세요"},
    {119, XidClass::Hardware, "the GPU's system processor (GSP) did not answer",
     "GPU 시스템 프로세서(GSP)가 응답하지 않았습니다", "reset the GPU, check the driver version",
     "GPU를 초기화하고 드라이버 버전을 확인하세요"},
    {120, XidClass::Hardware, "error of the GPU's system processor (GSP)", "GPU 시스템 프로세서(GSP) 오류",
     "reset the GPU, check the driver version", "GPU를 초기화하고 드라이버 버전을 확인하세요"},
    {121, XidClass::Hardware, "error of the chip-to-chip link", "칩 간 연결(C2C) 오류",
     "run the field diagnostic", "현장 진단을 실행하세요"},
    {144, XidClass::Link, "NVLink 5 error (SAW)", "NVLink 5 오류 (SAW)", "reset the GPUs, check the switch",
     "GPU를 초기화하고 스위치를 확인하세요"},
    {145, XidClass::Link, "NVLink 5 error (RLW)", "NVLink 5 오류 (RLW)", "reset the GPUs, check the switch",
     "GPU를 초기화하고 스위치를 확인하세요"},
    {146, XidClass::Link, "NVLink 5 error (TLW)", "NVLink 5 오류 (TLW)", "reset the GPUs, check the switch",
     "GPU를 초기화하고 스위치를 확인하세요"},
    {147, XidClass::Link, "NVLink 5 error (TREX)", "NVLink 5 오류 (TREX)", "reset the GPUs, check the switch",
     "GPU를 초기화하고 스위치를 확인하세요"},
    {148, XidClass::Link, "NVLink 5 error (NVLPW_CTRL)", "NVLink 5 오류 (NVLPW_CTRL)",
     "reset the GPUs, check the switch", "GPU를 초기화하고 스위치를 확인하세요"},
    {149, XidClass::Link, "NVLink 5 error (NETIR)", "NVLink 5 오류 (NETIR)",
     "reset the GPUs, check the switch", "GPU를 초기화하고 스위치를 확인하세요"},
    {150, XidClass::Link, "NVLink 5 error (MSE)", "NVLink 5 오류 (MSE)", "reset the GPUs, check the switch",
     "GPU를 초기화하고 스위치를 확인하세요"},
    {154, XidClass::Info, "the recovery action of the GPU changed", "GPU의 복구 조치가 바뀌었습니다",
     "do what the line names", "그 줄이 말하는 조치를 하세요"},
};

constexpr CodeMeaning kCompletions[] = {
    {0, "?", "a status that this table does not know", "이 표에 없는 상태입니다"},
    {1, "LOC_LEN_ERR", "a local buffer was too short", "로컬 버퍼가 너무 짧았습니다"},
    {4, "LOC_PROT_ERR",
     "local protection error: GPUDirect memory could not be reached, often PCIe access control (ACS)",
     "로컬 보호 오류: GPUDirect 메모리에 닿지 못했습니다. 흔히 PCIe ACS 때문입니다"},
    {5, "WR_FLUSH_ERR", "the request was thrown away after an earlier error: a consequence",
     "앞선 오류 뒤에 버려진 요청으로, 결과일 뿐입니다"},
    {9, "REM_INV_REQ_ERR", "the other end refused the request", "상대가 요청을 거부했습니다"},
    {10, "REM_ACCESS_ERR", "the other end's memory may not be accessed",
     "상대의 메모리에 접근할 수 없습니다"},
    {12, "RETRY_EXC_ERR",
     "no acknowledgement after all retries: link, cable, switch, wrong GID, or a dead peer",
     "재시도가 모두 끝나도 응답이 없습니다: 링크, 케이블, 스위치, 잘못된 GID, 또는 죽은 상대"},
    {13, "RNR_RETRY_EXC_ERR", "the other end was not ready to receive", "상대가 받을 준비가 되지 않았습니다"},
};

constexpr CodeMeaning kNcclResults[] = {
    {0, "?", "a result that this table does not know", "이 표에 없는 결과입니다"},
    {1, "ncclUnhandledCudaError", "a CUDA function failed on this rank",
     "이 rank에서 CUDA 함수가 실패했습니다"},
    {2, "ncclSystemError", "a system call or a library failed on this rank",
     "이 rank에서 시스템 호출이나 라이브러리가 실패했습니다"},
    {3, "ncclInternalError",
     "an internal check failed; a remote error (6) may have become this on the way up",
     "내부 검사가 실패했습니다. 원격 오류(6)가 올라오면서 이것으로 바뀌었을 수 있습니다"},
    {4, "ncclInvalidArgument", "an argument was wrong", "인자가 잘못되었습니다"},
    {5, "ncclInvalidUsage", "NCCL was used wrongly", "NCCL을 잘못 사용했습니다"},
    {6, "ncclRemoteError", "another process ended or the network failed: this rank is a victim",
     "다른 프로세스가 끝났거나 네트워크가 실패했습니다. 이 rank는 피해자입니다"},
    {7, "ncclInProgress", "the operation is still running", "아직 진행 중입니다"},
    {8, "ncclTimeout", "the operation timed out", "시간이 초과되었습니다"},
};

constexpr CodeMeaning kSignals[] = {
    {0, "?", "no signal that ends processes", "프로세스를 끝내는 신호가 아닙니다"},
    {2, "SIGINT", "interrupted from the keyboard or by the launcher", "키보드나 실행기가 중단했습니다"},
    {4, "SIGILL", "illegal instruction", "잘못된 명령"},
    {6, "SIGABRT", "aborted by a C++ exception or a watchdog: the text before it tells why",
     "C++ 예외나 watchdog이 중단했습니다. 앞의 글이 이유입니다"},
    {7, "SIGBUS", "bus error, often /dev/shm that is too small", "버스 오류. 흔히 /dev/shm이 작아서입니다"},
    {8, "SIGFPE", "arithmetic error", "산술 오류"},
    {9, "SIGKILL", "killed from outside: out-of-memory killer, scheduler or a person",
     "밖에서 강제로 종료되었습니다: OOM killer, 스케줄러, 또는 사람"},
    {11, "SIGSEGV", "segmentation fault", "메모리 접근 오류"},
    {15, "SIGTERM", "asked to end by the launcher or the scheduler: a victim",
     "실행기나 스케줄러가 끝내라고 했습니다. 피해자입니다"},
};

template <class Row, std::size_t N>
const Row& find(const Row (&table)[N], int code) {
  for (const Row& row : table)
    if (row.code == code) return row;
  return table[0];
}

}  // namespace

std::span<const XidMeaning> xid_table() {
  return kXids;
}
const XidMeaning& xid_meaning(int code) {
  return find(kXids, code);
}
const CodeMeaning& wc_meaning(int status) {
  return find(kCompletions, status);
}
const CodeMeaning& nccl_meaning(int result) {
  return find(kNcclResults, result);
}
const CodeMeaning& signal_meaning(int signal) {
  return find(kSignals, signal);
}

int signal_of_exit(int code) {
  if (code < 0 && code > -65) return -code;
  if (code > 128 && code < 193) return code - 128;
  return 0;
}

}  // namespace ringside::backend
