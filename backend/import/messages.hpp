// The forms in which the stack prints its messages, version by version: one row a form, one table a layer.
// Readers match them, `explain` describes them, the benchmark greps their literals: there is no second list.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/import/evidence.hpp"
#include "backend/import/literal_scanner.hpp"

namespace re2 {
class RE2;
}

namespace ringside::backend {

struct MessageForm {
  FactKind kind;
  Layer layer;
  Role role;
  const char* literal;         // occurs in every line of this form; chosen to be rare in training chatter
  const char* pattern;         // RE2; named groups fill the Fact's fields of the same name
  const char* name = nullptr;  // Fact::name when the pattern captures none
  bool generic = false;        // only when no specific form matched the line
};

// One table a layer, in the order in which forms are tried.
std::span<const MessageForm> torch_messages();
std::span<const MessageForm> connection_messages();
std::span<const MessageForm> nccl_messages();
std::span<const MessageForm> device_messages();    // IB, CUDA, kernel
std::span<const MessageForm> launcher_messages();  // torchrun, Slurm, MPI
std::span<const MessageForm> program_messages();   // Horovod, numbers, Python, notes of the job

/// All forms, compiled. Built once; const and safe to share between threads afterwards.
class MessageTable {
 public:
  static const MessageTable& get();

  /// Appends a Fact for each form that `text` (a line without prefixes) matches; who, file and line are left
  /// to the caller. `scratch` is reused between calls.
  /// Returns the hints (hints.hpp) that occur.
  std::uint64_t match(std::string_view text, std::vector<std::uint16_t>& scratch,
                      std::vector<Fact>& facts) const;
  const LiteralScanner& literals() const { return *literals_; }
  const std::vector<std::string>& literal_list() const { return literal_list_; }
  std::size_t size() const { return forms_.size(); }

 private:
  MessageTable();
  struct Compiled {
    const MessageForm* form;
    std::shared_ptr<const re2::RE2> pattern;
    std::vector<void (*)(Fact&, std::string_view)>
        groups;  // by index of the group - 1; null for one without a name
  };
  std::vector<Compiled> forms_;
  std::vector<std::string> literal_list_;
  std::unique_ptr<LiteralScanner> literals_;
};

/// "0,2-5, 7" -> {0, 2, 3, 4, 5, 7}; at most 4,096 numbers.
std::vector<int> read_rank_list(std::string_view text);
/// NCCL's busId (hex without separators), "PCI:0000:4e:00", "0000:4E:00.0", "00000000:41:00.0" ->
/// "0000:4e:00".
std::string normal_bus(std::string_view text);

}  // namespace ringside::backend
