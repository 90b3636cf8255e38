// Families of failures with random numbers: world size, culprit, host names, launcher prefix, order of lines.
// The rules must follow from what messages mean, so none of these may matter.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "backend/import/diagnose.hpp"

namespace ringside::backend {
namespace {

using sim::DiagnosisKind;

/// Deterministic numbers for one case.
struct Dice {
  std::uint64_t state;
  int below(int limit) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(limit));
  }
};

struct Job {
  Dice dice;
  int per_node;
  int world;
  int culprit;
  std::string host_stem;
  int style;

  explicit Job(std::uint64_t seed) : dice{seed * 7919 + 17} {
    for (int warm = 0; warm < 8; ++warm) dice.below(2);
    static constexpr int kPer[] = {2, 4, 8};
    static constexpr const char* kStems[] = {"cn", "node-", "gpu", "rack3-h", "worker-node"};
    per_node = kPer[dice.below(3)];
    world = std::max(4, per_node * (1 + dice.below(4)));
    culprit = dice.below(world);
    host_stem = kStems[dice.below(5)];
    style = dice.below(5);
  }
  std::string host(int rank) const { return host_stem + std::to_string(10 + rank / per_node); }
  std::string prefix(int rank) const {
    const std::string r = std::to_string(rank);
    switch (style) {
      case 0:
        return "[rank" + r + "]:";
      case 1:
        return r + ": ";
      case 2:
        return "[1," + r + "]<stdout>:";
      case 3:
        return "[default" + std::to_string(rank % per_node) + "]:[rank" + r + "]:";
      default:
        return "2025-01-02T03:04:05.678 | [rank" + r + "]:";
    }
  }
  std::string hello() const {
    std::string text;
    for (int rank = 0; rank < world; ++rank)
      text += prefix(rank) + "init: rank " + std::to_string(rank) + "/" + std::to_string(world) + " on " +
              host(rank) + " local " + std::to_string(rank % per_node) + "\n";
    return text;
  }
  std::vector<int> others() {
    std::vector<int> ranks;
    for (int rank = 0; rank < world; ++rank)
      if (rank != culprit) ranks.push_back(rank);
    for (std::size_t i = ranks.size(); i > 1; --i)
      std::swap(ranks[i - 1], ranks[static_cast<std::size_t>(dice.below(static_cast<int>(i)))]);
    return ranks;
  }
  std::string timeout(int rank, int seq = 500, const char* op = "ALLREDUCE", int numel = 1024) const {
    const std::string r = std::to_string(rank);
    const std::string n = std::to_string(numel);
    return prefix(rank) + "[E1103 04:05:06.789012345 ProcessGroupNCCL.cpp:629] [Rank " + r +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(seq) +
           ", OpType=" + op + ", NumelIn=" + n + ", NumelOut=" + n +
           ", Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n";
  }
  std::string closed(int rank) const {
    return prefix(rank) +
           "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
           "[192.0.2.11]:23217\n";
  }
};

struct Family {
  const char* name;
  std::vector<DiagnosisKind> kinds;
  std::function<std::string(Job&)> write;
};

std::string wrapper_line(const Job& job, int rank, const std::string& usual, const std::string& odd) {
  const int named = rank == job.culprit ? (job.culprit == 0 ? 1 : 0) : job.culprit;
  const std::string& mine = rank == job.culprit ? odd : usual;
  const std::string& theirs = rank == job.culprit ? usual : odd;
  return job.prefix(rank) + "RuntimeError: Detected mismatch between collectives on ranks. Rank " +
         std::to_string(rank) + " is running collective: " + mine + ", but Rank " + std::to_string(named) +
         " is running collective: " + theirs + ".\n";
}

std::string print(const char* op, const char* shape, const char* dtype, int seq) {
  return "CollectiveFingerPrint(SequenceNumber=" + std::to_string(seq) + ", OpType=" + op +
         ", TensorShape=" + shape + ", TensorDtypes=" + dtype +
         ", TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default)))";
}

std::vector<Family> families() {
  const auto everybody = [](Job& job, const std::function<std::string(int)>& line) {
    std::string text = job.hello();
    std::vector<int> ranks = job.others();
    ranks.insert(ranks.begin() + job.dice.below(static_cast<int>(ranks.size())), job.culprit);
    for (const int rank : ranks) text += line(rank);
    return text;
  };
  const auto all_but_culprit = [](Job& job, const std::string& first,
                                  const std::function<std::string(int)>& line) {
    std::string text = job.hello() + first;
    for (const int rank : job.others()) text += line(rank);
    return text;
  };
  std::vector<Family> list;
  list.push_back({"hang", {DiagnosisKind::HangRankMissing}, [=](Job& job) {
                    return all_but_culprit(job, "", [&](int r) { return job.timeout(r); });
                  }});
  list.push_back({"behind", {DiagnosisKind::SequenceMismatch}, [=](Job& job) {
                    return everybody(job,
                                     [&](int r) { return job.timeout(r, r == job.culprit ? 311 : 500); });
                  }});
  list.push_back({"ahead", {DiagnosisKind::SequenceMismatch}, [=](Job& job) {
                    return everybody(job,
                                     [&](int r) { return job.timeout(r, r == job.culprit ? 501 : 500); });
                  }});
  list.push_back({"order", {DiagnosisKind::CollectiveOrder}, [=](Job& job) {
                    return everybody(job, [&](int r) {
                      return job.timeout(r, 500, r == job.culprit ? "BROADCAST" : "ALLREDUCE");
                    });
                  }});
  list.push_back({"shape", {DiagnosisKind::ShapeMismatch}, [=](Job& job) {
                    return everybody(job, [&](int r) {
                      return job.timeout(r, 500, "ALLREDUCE", r == job.culprit ? 1025 : 1024);
                    });
                  }});
  struct Odd {
    const char* name;
    DiagnosisKind kind;
    std::string print;
  };
  for (const Odd& odd :
       {Odd{"wrapper op", DiagnosisKind::CollectiveOrder, print("BROADCAST", "[64]", "Float", 9)},
        Odd{"wrapper shape", DiagnosisKind::ShapeMismatch, print("ALLREDUCE", "[65]", "Float", 9)},
        Odd{"wrapper dtype", DiagnosisKind::DtypeMismatch, print("ALLREDUCE", "[64]", "Half", 9)},
        Odd{"wrapper seq", DiagnosisKind::SequenceMismatch, print("ALLREDUCE", "[64]", "Float", 8)}})
    list.push_back({odd.name, {odd.kind}, [=](Job& job) {
                      return everybody(job, [&](int r) {
                        return wrapper_line(job, r, print("ALLREDUCE", "[64]", "Float", 9), odd.print);
                      });
                    }});
  list.push_back({"exception", {DiagnosisKind::RankCrash}, [=](Job& job) {
                    return all_but_culprit(
                        job,
                        job.prefix(job.culprit) + "Traceback (most recent call last):\n" +
                            job.prefix(job.culprit) + "KeyError: 'labels'\n",
                        [&](int r) { return r % 2 == 0 ? job.timeout(r) : job.closed(r); });
                  }});
  list.push_back({"GPU memory", {DiagnosisKind::GpuOom}, [=](Job& job) {
                    return all_but_culprit(
                        job,
                        job.prefix(job.culprit) +
                            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU " +
                            std::to_string(job.culprit % job.per_node) +
                            " has a total capacity of 79.10 GiB\n",
                        [&](int r) { return job.closed(r); });
                  }});
  list.push_back({"left early", {DiagnosisKind::RankExitEarly, DiagnosisKind::UnevenData}, [=](Job& job) {
                    return all_but_culprit(job,
                                           job.prefix(job.culprit) + "rank " + std::to_string(job.culprit) +
                                               ": no more batches, leaving\n",
                                           [&](int r) { return job.timeout(r); });
                  }});
  list.push_back({"died silently", {DiagnosisKind::RankCrash}, [=](Job& job) {
                    return all_but_culprit(job, "", [&](int r) { return job.closed(r); });
                  }});
  list.push_back({"Gloo hang", {DiagnosisKind::HangRankMissing}, [=](Job& job) {
                    return all_but_culprit(job, "", [&](int r) {
                      return job.prefix(r) +
                             "RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
                             "1800000ms for recv operation to complete\n";
                    });
                  }});
  return list;
}

TEST(Families, NumbersDoNotMatter) {
  for (const Family& family : families())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Job job(seed);
      const std::string text = family.write(job);
      const sim::Diagnosis d = diagnose_texts({{"all.log", text}}).diagnosis;
      const std::string about = std::string(family.name) + ", seed " + std::to_string(seed) + ", " +
                                std::to_string(job.world) + " ranks, style " + std::to_string(job.style) +
                                ": " + std::string(sim::to_word(d.kind)) + ", " + d.first_cause.what;
      EXPECT_NE(std::find(family.kinds.begin(), family.kinds.end(), d.kind), family.kinds.end()) << about;
      EXPECT_EQ(d.culprits, std::vector<int>{job.culprit}) << about;
      EXPECT_EQ(d.culprit_nodes, std::vector<std::string>{job.host(job.culprit)}) << about;
      EXPECT_EQ(std::count(d.victims.begin(), d.victims.end(), job.culprit), 0) << about;
    }
}

/// Two ranks that differ: never a culprit.
TEST(Families, TwoRanksAreUndecided) {
  for (const char* op : {"BROADCAST", "_ALLGATHER_BASE"}) {
    Job job(3);
    job.world = 2;
    job.culprit = 1;
    const std::string text = job.hello() + job.timeout(0) + job.timeout(1, 500, op);
    const sim::Diagnosis d = diagnose_texts({{"all.log", text}}).diagnosis;
    EXPECT_EQ(d.kind, DiagnosisKind::CollectiveOrder);
    EXPECT_TRUE(d.culprits.empty());
    EXPECT_EQ(d.confidence, sim::Confidence::Unknown);
    EXPECT_FALSE(d.alternatives.empty());
  }
}

/// A log that ends anywhere never accuses an innocent with certainty.
TEST(Families, CutAnywhere) {
  for (const Family& family : families()) {
    Job job(5);
    const std::string text = family.write(job);
    for (int tenth = 1; tenth < 10; ++tenth) {
      const std::string cut = text.substr(0, text.size() * static_cast<std::size_t>(tenth) / 10);
      const sim::Diagnosis d = diagnose_texts({{"all.log", cut}}).diagnosis;
      if (d.confidence != sim::Confidence::Certain) continue;
      for (const int rank : d.culprits)
        EXPECT_EQ(rank, job.culprit) << family.name << " cut at " << tenth << "/10: " << d.first_cause.what;
    }
  }
}

}  // namespace
}  // namespace ringside::backend
