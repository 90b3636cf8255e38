// Labelled cases: every kind of fault in worlds of several sizes, at several places, steps and seeds, each
// with what a trace can tell. Where it can, the right rank (or both ends of the link, or the node) is named;
// where it cannot, nobody is, and the true one is among the candidates if there are any.
#include <functional>

#include "diagnosis_labels.hpp"

namespace ringside::sim::test {
namespace {

struct World {
  int nodes, gpus_per_node;
  int size() const { return nodes * gpus_per_node; }
};

/// Where the trace shows it.
enum class Shows : std::uint8_t {
  Rank,   // the rank is the culprit
  Node,   // its node is
  Link,   // both ends are the candidates
  Never,  // nothing in the trace tells
};

struct Recipe {
  const char* name;
  const char* body;                      // of [[fault]]; RANK, NEXT, NODE and STEP are filled in
  std::vector<DiagnosisKind> also = {};  // kinds beside those that the fault may lead to
  Shows shows = Shows::Rank;
  std::function<void(JobText&)> change = {};
  bool needs_majority = false;  // two ranks stand against each other: undecided
  bool middle_steps_only = false;
};

void gloo(JobText& t) {
  t.library = "gloo", t.transport = "tcp", t.launcher = "srun";
}
void mpi(JobText& t) {
  t.library = "mpi", t.transport = "shm", t.launcher = "mpirun";
}
void over_ib(JobText& t) {
  t.transport = "ib", t.launcher = "srun";
}
void timed(JobText& t) {
  t.values = "\"none\"", t.transport = "ib", t.launcher = "srun";
}

std::vector<Recipe> recipes() {
  using K = DiagnosisKind;
  const auto on_nan = [](const char* word) { return [word](JobText& t) { t.on_nan = word; }; };
  const auto op = [](const char* word) { return [word](JobText& t) { t.op = word; }; };
  const auto large = [](JobText& t) { t.shape = "[20000]"; };
  const auto large_timed = [](JobText& t) { timed(t), t.shape = "[20000000]"; };
  std::vector<Recipe> all{
      {"nan", "kind=\"nan\";rank=RANK;step=STEP;element=3", {}},
      {"nan, raise", "kind=\"nan\";rank=RANK;step=STEP", {}, Shows::Rank, on_nan("raise")},
      {"nan, skip-here", "kind=\"nan\";rank=RANK;step=STEP", {}, Shows::Rank, on_nan("skip-here"), true},
      {"nan, skip-all", "kind=\"nan\";rank=RANK;step=STEP", {}, Shows::Rank, on_nan("skip-all")},
      {"nan, max", "kind=\"nan\";rank=RANK;step=STEP;element=2", {}, Shows::Rank, op("max")},
      {"inf", "kind=\"inf_overflow\";rank=RANK;step=STEP", {}},
      {"crash", "kind=\"crash\";rank=RANK;step=STEP", {}},
      {"crash, gloo", "kind=\"crash\";rank=RANK;step=STEP", {}, Shows::Rank, gloo},
      {"crash, mpi", "kind=\"crash\";rank=RANK;step=STEP;at=\"forward\"", {}, Shows::Rank, mpi},
      {"crash in the call", "kind=\"crash\";rank=RANK;step=STEP;at=\"all_reduce\"", {}, Shows::Rank, over_ib},
      {"crash, timed", "kind=\"crash\";rank=RANK;step=STEP", {}, Shows::Rank, timed},
      {"hang", "kind=\"hang\";rank=RANK;step=STEP", {}},
      {"hang, gloo", "kind=\"hang\";rank=RANK;step=STEP", {}, Shows::Rank, gloo},
      {"hang, mpi", "kind=\"hang\";rank=RANK;step=STEP", {}, Shows::Rank, mpi},
      {"hang in the call", "kind=\"hang\";rank=RANK;step=STEP;at=\"all_reduce\"", {}, Shows::Rank, large},
      {"hang, timed", "kind=\"hang\";rank=RANK;step=STEP", {}, Shows::Rank, timed},
      {"slow", "kind=\"slow\";rank=RANK;step=STEP;factor=0.3", {}, Shows::Rank, {}, true},
      {"slow, timed", "kind=\"slow\";rank=RANK;step=STEP;duration=\"300ms\"", {}, Shows::Rank, timed, true},
      {"late",
       "kind=\"slow\";rank=RANK;step=STEP;duration=\"40s\"",
       {K::HangRankMissing},
       Shows::Rank,
       [](JobText& t) { t.launcher = "srun"; },
       true},
      {"shape", "kind=\"shape\";rank=RANK;step=STEP;shape=[24]", {}, Shows::Rank, {}, true},
      {"shape, gloo", "kind=\"shape\";rank=RANK;step=STEP;shape=[24]", {}, Shows::Rank, gloo, true},
      {"shape, mpi", "kind=\"shape\";rank=RANK;step=STEP;shape=[4]", {}, Shows::Rank, mpi, true},
      {"shape, detail",
       "kind=\"shape\";rank=RANK;step=STEP;shape=[24]",
       {},
       Shows::Rank,
       [](JobText& t) { t.debug = "detail"; },
       true},
      {"shape, same count", "kind=\"shape\";rank=RANK;step=STEP;shape=[2,4]", {}, Shows::Rank, {}, true},
      {"shape, timed", "kind=\"shape\";rank=RANK;step=STEP;shape=[24]", {}, Shows::Rank, timed, true},
      {"dtype", "kind=\"dtype\";rank=RANK;step=STEP;dtype=\"int32\"", {}, Shows::Rank, {}, true},
      {"dtype, gloo", "kind=\"dtype\";rank=RANK;step=STEP;dtype=\"float64\"", {}, Shows::Rank, gloo, true},
      {"dtype, mpi", "kind=\"dtype\";rank=RANK;step=STEP;dtype=\"float16\"", {}, Shows::Rank, mpi, true},
      {"op", "kind=\"op\";rank=RANK;step=STEP;op=\"max\"", {}, Shows::Rank, {}, true},
      {"op, timed", "kind=\"op\";rank=RANK;step=STEP;op=\"min\"", {}, Shows::Rank, timed, true},
      {"skip_step", "kind=\"skip_step\";rank=RANK;step=STEP", {K::RankExitEarly}, Shows::Rank, {}, true},
      {"skip_step, gloo",
       "kind=\"skip_step\";rank=RANK;step=STEP",
       {K::RankExitEarly},
       Shows::Rank,
       gloo,
       true},
      {"skip_step, timed",
       "kind=\"skip_step\";rank=RANK;step=STEP",
       {K::RankExitEarly},
       Shows::Rank,
       timed,
       true},
      {"skip_collective", "kind=\"skip_collective\";rank=RANK;step=STEP", {}, Shows::Rank, {}, true},
      {"skip_collective, timed", "kind=\"skip_collective\";rank=RANK;step=STEP", {}, Shows::Never, timed},
      {"extra_step", "kind=\"extra_step\";rank=RANK;step=STEP", {}, Shows::Rank, {}, true},
      {"extra_step, mpi", "kind=\"extra_step\";rank=RANK;step=STEP", {}, Shows::Rank, mpi, true},
      {"early_exit", "kind=\"early_exit\";rank=RANK;step=STEP", {}},
      {"early_exit, gloo", "kind=\"early_exit\";rank=RANK;step=STEP", {}, Shows::Rank, gloo},
      {"wrong_order", "kind=\"wrong_order\";rank=RANK;step=STEP", {}, Shows::Rank, {}, true},
      {"wrong_order, mpi", "kind=\"wrong_order\";rank=RANK;step=STEP", {}, Shows::Rank, mpi, true},
      {"flip of a weight",
       "kind=\"bit_flip\";rank=RANK;step=STEP;at=\"optimizer\";element=2;bit=7",
       {},
       Shows::Rank,
       {},
       true},
      {"flip before", "kind=\"bit_flip\";rank=RANK;step=STEP;element=2;bit=20", {}, Shows::Never},
      {"flip before, network",
       "kind=\"bit_flip\";rank=RANK;step=STEP;element=2;bit=10",
       {},
       Shows::Never,
       [](JobText& t) { t.more_training = "[training.network]\nenabled = true\nlayers = [2, 4, 1]"; }},
      {"link_down, ib",
       "kind=\"link_down\";from=RANK;to=NEXT;step=STEP",
       {},
       Shows::Link,
       [](JobText& t) { over_ib(t), t.nodes *= t.gpus_per_node, t.gpus_per_node = 1; }},
      {"link_down, nvlink",
       "kind=\"link_down\";from=RANK;to=NEXT;step=STEP",
       {},
       Shows::Rank,
       [](JobText& t) { t.gpus_per_node *= t.nodes, t.nodes = 1; }},
      {"link_down, shm",
       "kind=\"link_down\";from=RANK;to=NEXT;step=STEP",
       {},
       Shows::Link,
       [](JobText& t) { t.transport = "shm", t.gpus_per_node *= t.nodes, t.nodes = 1; }},
      {"link_slow",
       "kind=\"link_slow\";from=RANK;to=NEXT;step=STEP;factor=0.002",
       {},
       Shows::Link,
       [large](JobText& t) { large(t), t.gpus_per_node *= t.nodes, t.nodes = 1; }},
      {"link_slow, timed",
       "kind=\"link_slow\";from=RANK;to=NEXT;step=STEP;factor=0.02",
       {},
       Shows::Link,
       large_timed,
       true,
       true},
      {"link_flap",
       "kind=\"link_flap\";from=RANK;to=NEXT;step=STEP;at=\"all_reduce\";duration=\"3s\"",
       {},
       Shows::Link,
       [large](JobText& t) { large(t), over_ib(t); }},
      {"gpu_reset", "kind=\"gpu_reset\";rank=RANK;step=STEP", {}},
      {"gpu_reset of a node", "kind=\"gpu_reset\";node=NODE;step=STEP", {}, Shows::Node, over_ib},
      {"gpu_reset, timed", "kind=\"gpu_reset\";rank=RANK;step=STEP", {}, Shows::Rank, timed},
      {"pcie_power", "kind=\"pcie_power\";rank=RANK;step=STEP", {}, Shows::Rank, over_ib},
      {"pcie_power, timed", "kind=\"pcie_power\";rank=RANK;step=STEP", {}, Shows::Rank, timed},
      {"ib_flap", "kind=\"ib_flap\";rank=RANK;step=STEP;duration=\"2s\"", {}, Shows::Node, over_ib},
      {"ib_flap, long", "kind=\"ib_flap\";rank=RANK;step=STEP;duration=\"50s\"", {}, Shows::Node, timed},
      {"oom", "kind=\"oom\";rank=RANK;step=STEP", {}, Shows::Rank, over_ib},
      {"oom, timed", "kind=\"oom\";rank=RANK;step=STEP", {}, Shows::Rank, timed},
  };
  return all;
}

struct Case {
  std::string name;
  Scenario job;
  Recipe recipe;
  bool can_tell = true;
};

std::string filled(std::string body, const std::map<std::string, std::int64_t>& values) {
  for (const auto& [word, value] : values)
    for (std::size_t at = body.find(word); at != std::string::npos; at = body.find(word))
      body.replace(at, word.size(), std::to_string(value));
  return body;
}

/// One case: the k-th of a recipe. Places and steps go round so that first, middle and last ones come.
Case make_case(const Recipe& recipe, int k) {
  constexpr int kSteps = 6;
  constexpr World kWorlds[] = {{1, 4}, {2, 2}, {1, 3}, {2, 4}, {1, 2}, {3, 2}};
  const World world = kWorlds[k % 6];
  JobText text;
  text.nodes = world.nodes;
  text.gpus_per_node = world.gpus_per_node;
  text.steps = kSteps;
  text.watchdog = "20s";
  if (recipe.change) recipe.change(text);
  const int size = world.size();
  const int places[] = {size - 1, 0, size / 2, 1};
  const int steps[] = {2, 1, kSteps, 4};
  const int rank = places[(k + k / 4) % 4];
  const int step = recipe.middle_steps_only ? 2 + k % 3 : steps[(k + k / 3) % 4];
  const std::int64_t node = rank / text.gpus_per_node;
  const std::string body =
      filled(recipe.body, {{"RANK", rank}, {"NEXT", (rank + 1) % size}, {"NODE", node}, {"STEP", step}});
  text.faults = fault(body);
  Case out;
  out.recipe = recipe;
  out.name = std::string(recipe.name) + ", " + std::to_string(text.nodes) + " x " +
             std::to_string(text.gpus_per_node) + ", " + body;
  out.can_tell = recipe.shows != Shows::Never && !(recipe.needs_majority && size == 2);
  out.job = scenario_of(text);
  out.job.seed = static_cast<std::uint64_t>(k + 1);
  return out;
}

std::vector<int> sorted(const std::set<int>& ranks) {
  return {ranks.begin(), ranks.end()};
}

void expect_named(const Case& one, const Diagnosis& d, const std::set<int>& guilty) {
  switch (one.recipe.shows) {
    case Shows::Rank: {
      const Fault& fault = one.job.faults.front();
      const int who = fault.rank >= 0 ? fault.rank : fault.from;
      EXPECT_EQ(d.culprits, std::vector<int>{who}) << describe(d);
      return;
    }
    case Shows::Node:
      EXPECT_EQ(d.culprit_nodes, std::vector<std::string>{Scenario::node_name(*guilty.begin() /
                                                                              one.job.cluster.gpus_per_node)})
          << describe(d);
      return;
    case Shows::Link:
      EXPECT_TRUE(d.culprits.empty());
      EXPECT_EQ(candidates_of(d), sorted(guilty)) << describe(d);
      return;
    case Shows::Never:
      return;
  }
}

bool right_kind(const Case& one, DiagnosisKind kind) {
  const auto& leads = may_lead_to(one.job.faults.front().kind);
  const auto& also = one.recipe.also;
  return std::find(leads.begin(), leads.end(), kind) != leads.end() ||
         std::find(also.begin(), also.end(), kind) != also.end();
}

/// Nobody is named; if anything is said at all, the true one is among the candidates.
void expect_undecided(const Case& one, const Diagnosis& d, const std::set<int>& guilty) {
  EXPECT_TRUE(d.culprits.empty()) << describe(d);
  if (d.kind == DiagnosisKind::None) {
    EXPECT_EQ(one.recipe.shows, Shows::Never) << "two ranks that differ are worth a word";
    return;
  }
  EXPECT_EQ(to_word(d.confidence), "unknown") << describe(d);
  const std::vector<int> candidates = candidates_of(d);
  EXPECT_TRUE(std::includes(candidates.begin(), candidates.end(), guilty.begin(), guilty.end()))
      << describe(d);
}

class LabelledCases : public testing::TestWithParam<int> {};

TEST_P(LabelledCases, NamesWhoDidItOrNobody) {
  const std::vector<Recipe> all = recipes();
  for (const Recipe& recipe : all) {
    const Case one = make_case(recipe, GetParam());
    SCOPED_TRACE(one.name);
    const Simulation result = simulate(one.job);
    const Diagnosis d = diagnose(result.trace);
    const std::set<int> guilty = struck(one.job.faults.front(), one.job);
    expect_nobody_innocent_accused(d, guilty, one.job.cluster.gpus_per_node);
    if (!one.can_tell) {
      expect_undecided(one, d, guilty);
      continue;
    }
    EXPECT_TRUE(right_kind(one, d.kind)) << describe(d);
    expect_named(one, d, guilty);
  }
}

constexpr int kRounds = 6;
INSTANTIATE_TEST_SUITE_P(Rounds, LabelledCases, testing::Range(0, kRounds));

TEST(LabelledCases, AreMoreThanAHundredAndOfEveryKind) {
  std::set<FaultKind> kinds;
  for (const Recipe& recipe : recipes()) kinds.insert(make_case(recipe, 0).job.faults.front().kind);
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kFaultKindCount));
  EXPECT_GE(recipes().size() * kRounds, 100u);
}

/// The large world: 64 nodes of 8, time only.
TEST(LabelledCases, SixtyFourNodes) {
  const char* const bodies[] = {"kind=\"crash\";rank=77;step=3",
                                "kind=\"hang\";rank=0;step=3",
                                "kind=\"slow\";rank=511;step=2;factor=0.5",
                                "kind=\"gpu_reset\";rank=200;step=4",
                                "kind=\"pcie_power\";rank=300;step=2",
                                "kind=\"oom\";rank=129;step=3",
                                "kind=\"early_exit\";rank=5;step=4",
                                "kind=\"skip_step\";rank=64;step=2",
                                "kind=\"shape\";rank=400;step=2;shape=[25000001]"};
  for (const char* body : bodies) {
    SCOPED_TRACE(body);
    JobText text;
    text.nodes = 64;
    text.gpus_per_node = 8;
    text.steps = 5;
    text.values = "\"none\"";
    text.shape = "[25000000]";
    text.transport = "ib";
    text.launcher = "srun";
    text.faults = fault(body);
    const Scenario job = scenario_of(text);
    const Diagnosis d = diagnose(simulate(job).trace);
    EXPECT_EQ(d.culprits, std::vector<int>{job.faults.front().rank}) << describe(d);
    expect_nobody_innocent_accused(d, struck(job.faults.front(), job), 8);
  }
}

}  // namespace
}  // namespace ringside::sim::test
