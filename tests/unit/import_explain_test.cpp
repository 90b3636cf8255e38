// `explain`: one line at a time, of every layer, and the lines of the lesson.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backend/import/explain.hpp"
#include "backend/import/explain_table.hpp"
#include "backend/import/messages.hpp"

namespace ringside::backend {
namespace {

struct Row {
  const char* line;
  Layer layer;
  Role role;
};

TEST(Explain, LayersAndRoles) {
  const Row rows[] = {
      {"RuntimeError: NCCL error in: ...", Layer::Torch, Role::Victim},
      {"Async operation timed out", Layer::Torch, Role::Victim},
      {"[rank3]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective "
       "operation timeout: "
       "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600044 "
       "milliseconds before timing out.",
       Layer::Torch, Role::Victim},
      {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
       "[192.0.2.11]:23217",
       Layer::Gloo, Role::Victim},
      {"NVRM: Xid (PCI:0000:4e:00): 79, pid=2536569, name=python3.12, GPU has fallen off the bus.",
       Layer::Kernel, Role::Root},
      {"NVRM: Xid (PCI:0018:01:00): 45, pid=2191618, name=python3, Ch 00000003 caused by previous Xid 145",
       Layer::Kernel, Role::Consequence},
      {"h1:1:2 [0] transport/net_ib.cc:2449 NCCL WARN NET/IB: Got completion from peer 192.0.2.13<41876> "
       "with status=5 opcode=0 len=0 vendor err 249 (Send)",
       Layer::Ib, Role::Consequence},
      {"srun: error: Node failure on cn306", Layer::Slurm, Role::Root},
      {"slurmstepd: error: *** STEP 2290417.0 ON cn301 CANCELLED AT 2024-09-30T03:22:34 DUE TO NODE FAILURE, "
       "SEE SLURMCTLD LOG FOR DETAILS ***",
       Layer::Slurm, Role::Consequence},
      {"mpirun noticed that process rank 2 with PID 0 on node node01 exited on signal 9 (Killed).",
       Layer::Mpi, Role::Root},
      {"[rank6]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 6 has a total "
       "capacity of 79.10 GiB",
       Layer::Cuda, Role::Root},
      {"Root Cause (first observed failure):", Layer::Elastic, Role::Names},
      {"node14:2556640:2557766 [1] NCCL INFO proxy.cc:991 -> 6", Layer::Nccl, Role::Consequence},
      {"W0306 [rank1]: frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233", Layer::Unknown,
       Role::Context},
  };
  for (const Row& row : rows) {
    const Explanation explanation = explain_line(row.line);
    EXPECT_EQ(to_word(explanation.layer), to_word(row.layer)) << row.line;
    EXPECT_EQ(to_word(explanation.role), to_word(row.role)) << row.line;
    EXPECT_FALSE(explanation.meaning_en.empty()) << row.line;
    EXPECT_FALSE(explanation.meaning_ko.empty()) << row.line;
  }
}

TEST(Explain, SaysWhoWrote) {
  EXPECT_EQ(explain_line("[rank4]:[E1103 04:05:06.789012345 ProcessGroupNCCL.cpp:1664] [PG 5 Rank 0] "
                         "Exception (either an error or timeout) detected by "
                         "watchdog at work: 7, last enqueued NCCL work: 7, last completed NCCL work: 6.")
                .who,
            "rank 4 (global), rank 0 of its process group");
  EXPECT_EQ(explain_line("[1,12]<stdout>:step 3").who, "rank 12 (global)");
  EXPECT_EQ(explain_line("[default0]:step 3").who, "local rank 0");
  EXPECT_EQ(explain_line("11: step 3").who, "task 11");
}

TEST(Explain, EveryFormHasItsSentencesInBothLanguages) {
  for (const auto table : {torch_messages(), connection_messages(), nccl_messages(), device_messages(),
                           launcher_messages(), program_messages()})
    for (const MessageForm& form : table) {
      if (form.kind == FactKind::RankNote) continue;
      const KindText* text = kind_text(form.kind);
      ASSERT_NE(text, nullptr) << form.literal;
      EXPECT_NE(std::string(text->meaning_en), "");
      EXPECT_NE(std::string(text->meaning_ko), "");
    }
}

TEST(Explain, HostileLines) {
  for (const std::string& line : {std::string(), std::string("\x1b[31m\x01\x02"), std::string(200'000, '['),
                                  std::string(100'000, '\xff'), std::string("[rank99999999999999999]: x"),
                                  std::string("[PG ID Rank "), std::string("host:1:2 [")}) {
    const Explanation explanation = explain_line(line);
    std::string json;
    append_json(json, explanation);
    EXPECT_FALSE(nlohmann::json::parse(json).is_discarded());
    EXPECT_EQ(to_text(explanation, "en").find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace ringside::backend
