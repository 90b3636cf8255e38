// All algorithms and collectives: the oracle matrix, what each promises of itself, NCCL's trees.
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "collective_oracle.hpp"
#include "sim/collective/tree_shape.hpp"

namespace ringside::sim {
namespace {

using oracle::Inputs;
using oracle::random_inputs;

std::vector<Algorithm> all_algorithms() {
  std::vector<Algorithm> out;
  for (int i = 0; i < kAlgorithmCount; ++i) out.push_back(static_cast<Algorithm>(i));
  return out;
}

/// AllReduce requests of every algorithm in its variants for a world: nodes of 1, 2, 3, 4, 8 and all GPUs.
std::vector<ScheduleRequest> all_reduces(int world, std::int64_t count) {
  std::vector<ScheduleRequest> out;
  for (const Algorithm algorithm : all_algorithms()) {
    std::set<int> nodes{0};
    if (algorithm == Algorithm::NcclTree || algorithm == Algorithm::Hierarchical ||
        algorithm == Algorithm::Nvls) {
      nodes = {1, 2, 3, 4, 8, world};
    }
    for (const int gpus : nodes) {
      for (const int variant : {0, 1}) {
        ScheduleRequest request{
            .algorithm = algorithm, .count = count, .world_size = world, .gpus_per_node = gpus};
        request.inter_tree = variant == 1;
        if (variant == 1 && algorithm == Algorithm::Ring) request.order = RingOrder::Textbook;
        if (variant == 1 && algorithm == Algorithm::NcclTree) request.channels = 4;
        const bool varies = algorithm == Algorithm::Hierarchical || algorithm == Algorithm::Ring ||
                            algorithm == Algorithm::NcclTree;
        if (variant == 1 && !varies) continue;
        if (!schedule_problem(request)) out.push_back(request);
      }
    }
  }
  return out;
}

std::string name_of(const ScheduleRequest& request) {
  return std::string(to_word(request.collective)) + " " + std::string(to_word(request.algorithm)) +
         " world " + std::to_string(request.world_size) + " nodes of " +
         std::to_string(request.gpus_per_node) + " count " + std::to_string(request.count) +
         (request.inter_tree ? " inter tree" : "") + " channels " + std::to_string(request.channels);
}

std::vector<int> worlds() {
  std::vector<int> out;
  for (int n = 1; n <= 17; ++n) out.push_back(n);
  out.push_back(24);
  out.push_back(32);
  return out;
}

/// The rules of a schedule: order, one receive per step and place, chunks of equal size at both ends, an
/// index that is right.
void check_rules(const Schedule& s) {
  std::set<std::tuple<std::uint32_t, int, std::uint32_t>> received;
  std::uint32_t step = 1;
  for (const Transfer& x : s.transfers) {
    EXPECT_GE(x.step, step);
    step = x.step;
    EXPECT_TRUE(x.src != x.dst && x.src >= 0 && x.dst >= 0 && x.src < s.world_size && x.dst < s.world_size);
    EXPECT_TRUE(received.insert({x.step, x.dst, x.to_chunk}).second) << "received twice in a step";
    EXPECT_EQ(s.chunks.chunks[x.chunk].count, s.chunks.chunks[x.to_chunk].count);
    EXPECT_TRUE(x.action == Action::Copy || x.step <= s.reduce_steps);
  }
  EXPECT_EQ(step, std::max(s.steps, 1u));
  std::size_t indexed = 0;
  for (std::uint32_t c = 0; c < s.chunks.chunks.size(); ++c) {
    for (const std::uint32_t t : s.transfers_into(c)) EXPECT_EQ(s.transfers[t].to_chunk, c);
    indexed += s.transfers_into(c).size();
  }
  EXPECT_EQ(indexed, s.transfers.size());
}

// Rank r brings a one in its own two bits: the sum shows whose contribution came in how often. 32 ranks take
// 64 bits.
TEST(AllReduce, EveryContributionExactlyOnce) {
  for (const int world : worlds()) {
    Inputs inputs;
    for (int r = 0; r < world; ++r) {
      auto tensor = std::make_shared<Tensor>(DType::Int64, Shape{{37}});
      for (std::int64_t i = 0; i < 37; ++i) tensor->set(i, {DType::Int64, std::uint64_t{1} << (2 * r)});
      inputs.push_back(tensor);
    }
    const std::uint64_t want =
        0x5555555555555555ULL & (world == 32 ? ~0ULL : (std::uint64_t{1} << (2 * world)) - 1);
    for (ScheduleRequest request : all_reduces(world, 37)) {
      SCOPED_TRACE(name_of(request));
      request.dtype = DType::Int64;
      const Schedule schedule = make_schedule(request);
      check_rules(schedule);
      const Numbers numbers = execute_numbers(schedule, ReduceOp::Sum, inputs);
      for (const auto& result : numbers.result) {
        ASSERT_EQ(result, numbers.result[0]) << "all ranks end with the same bits, and share them";
        for (std::int64_t i = 0; i < 37; ++i) ASSERT_EQ(result->at(i).bits, want);
      }
    }
  }
}

RC_GTEST_PROP(Schedules, TransfersAreCountedWithoutMakingThem, ()) {
  ScheduleRequest request{.collective = static_cast<Collective>(*rc::gen::inRange(0, 6)),
                          .algorithm = static_cast<Algorithm>(*rc::gen::inRange(0, kAlgorithmCount)),
                          .chunking = *rc::gen::element(Chunking::Even, Chunking::Nccl),
                          .count = *rc::gen::element<std::int64_t>(1, 720, 4'000'000),
                          .world_size = *rc::gen::inRange(1, 20),
                          .channels = *rc::gen::inRange(1, 4),
                          .gpus_per_node = *rc::gen::inRange(0, 9)};
  request.inter_tree = *rc::gen::arbitrary<bool>();
  if (schedule_problem(request)) return;
  const Schedule schedule = make_schedule(request);
  RC_ASSERT(transfer_count(request) == static_cast<std::int64_t>(schedule.transfers.size()));
  std::int64_t bytes = 0, transfers = 0;
  for (const LinkLoad& load : link_loads(schedule, DType::Float32)) {
    bytes += load.bytes;
    transfers += load.transfers;
  }
  RC_ASSERT(transfers == transfer_count(request));
  for (int r = 0; r < request.world_size; ++r) bytes -= bytes_sent(schedule, DType::Float32, r);
  RC_ASSERT(bytes == 0);
}

// Bits against the interpreter, for every dtype and op.
TEST(AllReduce, OracleMatrix) {
  for (const int world : worlds()) {
    for (const std::int64_t count : {1, 5, 34}) {
      for (const DType dtype : kAllDTypes) {
        const Inputs inputs = random_inputs(dtype, world, count, 77);
        for (ScheduleRequest request : all_reduces(world, count)) {
          request.dtype = dtype;
          const Schedule schedule = make_schedule(request);
          for (const ReduceOp op : kAllOps) {
            if (count != 5 && op != ReduceOp::Sum && op != ReduceOp::Avg) continue;
            const Numbers numbers = execute_numbers(schedule, op, inputs);
            const auto want = oracle::finished(schedule, op, inputs);
            for (std::size_t r : {std::size_t{0}, inputs.size() - 1}) {
              for (std::int64_t i = 0; i < count; ++i) {
                ASSERT_EQ(numbers.result[r]->at(i), want[r][static_cast<std::size_t>(i)])
                    << name_of(request) << " " << to_word(dtype) << " " << to_word(op) << " rank " << r
                    << " at " << i;
              }
            }
          }
        }
      }
    }
  }
}

// Sums of floats are near the exact sum whatever the order; min and max are it.
TEST(AllReduce, AlgorithmsDifferInTheLastBitsOnly) {
  const int world = 24;
  Inputs inputs;
  double exact = 0;
  for (int r = 0; r < world; ++r) {
    auto tensor = std::make_shared<Tensor>(DType::Float32, Shape{{1}});
    const double value = 1.0 / (3 + r);
    tensor->set(0, make_scalar(DType::Float32, value));
    exact += to_double(tensor->at(0));
    inputs.push_back(tensor);
  }
  std::set<std::uint64_t> results;
  for (const ScheduleRequest& request : all_reduces(world, 1)) {
    const Scalar sum = execute_numbers(make_schedule(request), ReduceOp::Sum, inputs).result[0]->at(0);
    EXPECT_NEAR(to_double(sum), exact, 24 * 2e-7) << name_of(request);
    results.insert(sum.bits);
  }
  EXPECT_GT(results.size(), 1u) << "orders show";
}

RC_GTEST_PROP(AllReduce, AllWaysToTheNumbersAgree, ()) {
  const auto requests = all_reduces(*rc::gen::inRange(1, 14), *rc::gen::inRange<std::int64_t>(1, 40));
  ScheduleRequest request = *rc::gen::elementOf(requests);
  request.dtype = *rc::gen::elementOf(kAllDTypes);
  request.channels = *rc::gen::inRange(1, 4);
  request.chunking = *rc::gen::element(Chunking::Even, Chunking::Nccl);
  const ReduceOp op = *rc::gen::elementOf(kAllOps);
  const Schedule schedule = make_schedule(request);
  const Inputs inputs = random_inputs(request.dtype, request.world_size, request.count, 5);
  const Numbers by_values = execute_numbers_with_digests(schedule, op, inputs);
  const Numbers by_transfers = execute_numbers(
      schedule, op, inputs, [&](std::size_t t, std::span<const std::byte> arrived, auto, auto after) {
        RC_ASSERT(by_values.digests[t] == digest_of(request.dtype, arrived));
        const Transfer& x = schedule.transfers[t];
        const Chunk& to = schedule.chunks.chunks[x.to_chunk];
        if (to.count == 0) return;
        Tensor shown(request.dtype, Shape{{to.count}});
        std::copy(after.begin(), after.end(), shown.data.begin());
        RC_ASSERT(element_after(schedule, op, inputs, x.dst, to.offset, t + 1) == shown.at(0));
      });
  for (std::size_t r = 0; r < inputs.size(); ++r)
    RC_ASSERT(by_values.result[r]->data == by_transfers.result[r]->data);
}

// --- what each promises: steps and bytes
// -------------------------------------------------------------------------------

Schedule schedule_of(Algorithm algorithm, int world, std::int64_t count, int gpus_per_node = 0) {
  return make_schedule(
      {.algorithm = algorithm, .count = count, .world_size = world, .gpus_per_node = gpus_per_node});
}

TEST(Promises, StepsAndBytes) {
  for (const int n : {2, 4, 8, 16, 32}) {
    const int log = std::countr_zero(static_cast<unsigned>(n));
    const std::int64_t count = 64 * n, bytes = 4 * count;
    const Schedule doubling = schedule_of(Algorithm::RecursiveDoubling, n, count);
    EXPECT_EQ(doubling.steps, static_cast<unsigned>(log));
    const Schedule halving = schedule_of(Algorithm::Rabenseifner, n, count);
    EXPECT_EQ(halving.steps, static_cast<unsigned>(2 * log));
    const Schedule binomial = schedule_of(Algorithm::BinomialTree, n, count);
    EXPECT_EQ(binomial.steps, static_cast<unsigned>(2 * log));
    for (int r = 0; r < n; ++r) {
      EXPECT_EQ(bytes_sent(doubling, DType::Float32, r), log * bytes);
      EXPECT_EQ(bytes_sent(halving, DType::Float32, r), 2 * (n - 1) * bytes / n);
    }
    EXPECT_EQ(bytes_sent(binomial, DType::Float32, 0), log * bytes);
    EXPECT_EQ(bytes_sent(binomial, DType::Float32, n - 1), bytes);
  }
  EXPECT_EQ(schedule_of(Algorithm::RecursiveDoubling, 12, 8).steps, 3u + 2);
  EXPECT_EQ(schedule_of(Algorithm::Rabenseifner, 12, 8).steps, 2u * 3 + 2);
  EXPECT_EQ(schedule_of(Algorithm::BinomialTree, 12, 8).steps, 2u * 4);
}

TEST(Promises, HierarchicalCarriesEachNumberOncePerNode) {
  const int local = 4, nodes = 3, n = local * nodes;
  const Schedule s = schedule_of(Algorithm::Hierarchical, n, 120, local);
  EXPECT_EQ(s.steps, 2u * (local - 1) + 2u * (nodes - 1));
  std::int64_t inside = 0, between = 0;
  for (const Transfer& x : s.transfers) {
    const bool same_node = x.src / local == x.dst / local;
    (same_node ? inside : between) += s.chunks.chunks[x.chunk].count;
    EXPECT_TRUE(same_node || x.src % local == x.dst % local) << "each GPU through its own NIC";
  }
  EXPECT_EQ(inside, n * 2 * (local - 1) * 120 / local);
  EXPECT_EQ(between, n * 2 * (nodes - 1) * 120 / (nodes * local));
}

TEST(Promises, NvlsPortsCarryTheBufferOnce) {
  const Schedule s = schedule_of(Algorithm::Nvls, 8, 800);
  std::vector<std::int64_t> out(8, 0), in(8, 0);
  for (const Transfer& x : s.transfers) {
    const std::int64_t count = s.chunks.chunks[x.chunk].count;
    if (!(x.in_switch && x.action == Action::Copy)) out[static_cast<std::size_t>(x.src)] += count;
    if (!(x.in_switch && x.action == Action::Reduce)) in[static_cast<std::size_t>(x.dst)] += count;
  }
  for (std::size_t r = 0; r < 8; ++r) {
    EXPECT_EQ(out[r], 700 + 100) << "its part of all others' sums, and its own sum once";
    EXPECT_EQ(in[r], 100 + 700);
  }
}

// --- NCCL's trees
// ------------------------------------------------------------------------------------------------------

int depth_of(const TreeShape& tree, int x) {
  int depth = 0;
  for (; x != tree.root && depth <= 64; ++depth) x = tree.nodes[static_cast<std::size_t>(x)].parent;
  return depth;
}

TEST(DoubleBinaryTree, ParentsAndChildrenAgree) {
  for (int n = 2; n <= 64; ++n) {
    int interior_in_both = 0;
    for (const bool second : {false, true}) {
      const TreeShape tree(n, second);
      int edges = 0, deepest = 0;
      for (int x = 0; x < n; ++x) {
        const TreeNode& node = tree.nodes[static_cast<std::size_t>(x)];
        EXPECT_EQ(node.parent == kNoNode, x == tree.root);
        for (const int child : node.children) {
          if (child == kNoNode) continue;
          ++edges;
          EXPECT_EQ(tree.nodes[static_cast<std::size_t>(child)].parent, x) << "n " << n << " tree " << second;
        }
        deepest = std::max(deepest, depth_of(tree, x));
        EXPECT_LE(depth_of(tree, x), 64) << "everybody hangs below the root";
      }
      EXPECT_EQ(edges, n - 1);
      EXPECT_LE(deepest, 1 + static_cast<int>(std::log2(n))) << "n " << n;
      EXPECT_EQ(tree.root, second ? (n % 2 == 0 ? n - 1 : 1) : 0);
    }
    for (int x = 0; x < n; ++x) {
      const auto interior = [&](const TreeNode& node) {
        return node.children[0] != kNoNode || node.children[1] != kNoNode;
      };
      interior_in_both += interior(binary_tree_node(n, x)) && interior(second_tree_node(n, x));
    }
    EXPECT_LE(interior_in_both, n % 2) << "n " << n << ": none for even n, at most one for odd";
  }
}

// The construction by hand for 14 nodes: parent = (x ^ b) | 2b, or x ^ b beyond the end.
TEST(DoubleBinaryTree, Fourteen) {
  const int parent[14] = {-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12};
  for (int x = 0; x < 14; ++x) {
    EXPECT_EQ(binary_tree_node(14, x).parent, parent[x]) << x;
    const int mirrored = parent[13 - x] == -1 ? -1 : 13 - parent[13 - x];
    EXPECT_EQ(second_tree_node(14, x).parent, mirrored) << x;
  }
  EXPECT_EQ(binary_tree_node(14, 0).children[1], 8)
      << "the root's only child: the largest power of two below n";
  EXPECT_EQ(binary_tree_node(14, 12).children[0], 10);
  EXPECT_EQ(binary_tree_node(14, 12).children[1], 13) << "14 is beyond the end: half of the step";
  const int seven[7] = {-1, 2, 4, 2, 0, 6, 4};
  for (int x = 0; x < 7; ++x) {
    const int shifted = seven[(x + 6) % 7];
    EXPECT_EQ(second_tree_node(7, x).parent, shifted == -1 ? -1 : (shifted + 1) % 7) << x;
  }
}

TEST(NcclTree, ChainsInNodesAndTreesBetweenHeads) {
  const Schedule s = make_schedule(
      {.algorithm = Algorithm::NcclTree, .count = 640, .world_size = 32, .channels = 4, .gpus_per_node = 8});
  for (const Transfer& x : s.transfers) {
    if (x.action != Action::Reduce) continue;
    const int channel = s.chunks.chunks[x.chunk].channel, head = channel % 2;
    const bool second = channel >= 2;
    if (x.src / 8 == x.dst / 8) {
      EXPECT_EQ((x.src - x.dst + 8) % 8, 1) << "along the chain, towards the head";
      EXPECT_NE(x.src % 8, head);
    } else {
      EXPECT_EQ(x.src % 8, head);
      EXPECT_EQ(x.dst % 8, head);
      const TreeNode node = second ? second_tree_node(4, x.src / 8) : binary_tree_node(4, x.src / 8);
      EXPECT_EQ(x.dst / 8, node.parent);
    }
  }
}

// --- rings of several channels
// -----------------------------------------------------------------------------------------

TEST(MultiChannelRing, EachChannelHasItsOwnOrderAndNic) {
  // Two nodes of four; channel c leaves its node by GPU c.
  ScheduleRequest request{.count = 64, .world_size = 8, .channels = 4, .gpus_per_node = 4};
  for (int c = 0; c < 4; ++c) {
    std::vector<int> ring;
    for (int node = 0; node < 2; ++node) {
      for (int place = 1; place <= 4; ++place) ring.push_back(node * 4 + (c + place) % 4);
    }
    request.rings.push_back(ring);
  }
  const Schedule s = make_schedule(request);
  std::map<int, std::set<int>> exits;
  for (const Transfer& x : s.transfers) {
    if (x.src / 4 != x.dst / 4) exits[s.chunks.chunks[x.chunk].channel].insert(x.src % 4);
  }
  for (int c = 0; c < 4; ++c) EXPECT_EQ(exits[c], std::set<int>{c});
  const Inputs inputs = random_inputs(DType::Float32, 8, 64, 1);
  const Numbers numbers = execute_numbers(s, ReduceOp::Avg, inputs);
  for (std::int64_t i = 0; i < 64; ++i) {
    // 16 elements a channel, 2 a slot; slot c of a channel starts at ring position c+1.
    const auto& ring = request.rings[static_cast<std::size_t>(i / 16)];
    const int slot = static_cast<int>(i % 16 / 2);
    Scalar sum =
        prepare(ReduceOp::Avg, 8,
                inputs[static_cast<std::size_t>(ring[static_cast<std::size_t>((slot + 1) % 8)])]->at(i));
    for (int hop = 2; hop <= 8; ++hop) {
      const int rank = ring[static_cast<std::size_t>((slot + hop) % 8)];
      sum = reduce(ReduceOp::Avg, sum,
                   prepare(ReduceOp::Avg, 8, inputs[static_cast<std::size_t>(rank)]->at(i)));
    }
    ASSERT_EQ(numbers.result[5]->at(i), sum);
  }
  request.rings[1] = {0, 1, 2, 3, 4, 5, 6, 6};
  EXPECT_TRUE(schedule_problem(request));
}

// --- the other collectives
// ---------------------------------------------------------------------------------------------

std::vector<Algorithm> algorithms_of(Collective collective, int world) {
  std::vector<Algorithm> out;
  for (const Algorithm algorithm : all_algorithms()) {
    if (!schedule_problem(
            {.collective = collective, .algorithm = algorithm, .count = 6 * world, .world_size = world})) {
      out.push_back(algorithm);
    }
  }
  return out;
}

TEST(OtherCollectives, WhoHasThem) {
  EXPECT_EQ(algorithms_of(Collective::AllReduce, 4).size(), 8u);
  EXPECT_EQ(algorithms_of(Collective::ReduceScatter, 4), std::vector{Algorithm::Ring});
  EXPECT_EQ(algorithms_of(Collective::Broadcast, 4),
            (std::vector{Algorithm::Ring, Algorithm::Naive, Algorithm::BinomialTree}));
  EXPECT_EQ(
      schedule_problem({.collective = Collective::AllGather, .algorithm = Algorithm::Nvls, .world_size = 4}),
      "nvls has no all_gather");
  EXPECT_TRUE(schedule_problem({.collective = Collective::AllToAll, .count = 10, .world_size = 4}));
  EXPECT_TRUE(schedule_problem(
      {.algorithm = Algorithm::Hierarchical, .count = 10, .world_size = 10, .gpus_per_node = 4}));
}

TEST(OtherCollectives, GiveWhatTheyPromise) {
  for (const int world : worlds()) {
    for (const std::int64_t count :
         {std::int64_t{world}, std::int64_t{6} * world, std::int64_t{6} * world + 1}) {
      const Inputs inputs = random_inputs(DType::Float32, world, count, 21);
      for (const Collective collective : {Collective::ReduceScatter, Collective::AllGather,
                                          Collective::Broadcast, Collective::Reduce, Collective::AllToAll}) {
        for (const Algorithm algorithm : algorithms_of(collective, world)) {
          const ScheduleRequest request{.collective = collective,
                                        .algorithm = algorithm,
                                        .count = count,
                                        .world_size = world,
                                        .root = world / 3};
          if (schedule_problem(request)) continue;
          SCOPED_TRACE(name_of(request));
          const Schedule s = make_schedule(request);
          check_rules(s);
          const Numbers numbers = execute_numbers(s, ReduceOp::Avg, inputs);
          const auto before =
              oracle::interpret(s, ReduceOp::Max, inputs);  // max: no prepare, no finish, no order
          const Numbers highest = execute_numbers(s, ReduceOp::Max, inputs);
          for (int r = 0; r < world; ++r) {
            const auto& got = *numbers.result[static_cast<std::size_t>(r)];
            for (std::int64_t i = 0; i < count; ++i) {
              const std::uint32_t slot = s.chunks.chunks[s.chunks.chunk_of(i)].slot;
              const auto of = [&](int rank, std::int64_t at) {
                return inputs[static_cast<std::size_t>(rank)]->at(at);
              };
              ASSERT_EQ(highest.result[static_cast<std::size_t>(r)]->at(i),
                        before[static_cast<std::size_t>(r)][static_cast<std::size_t>(i)]);
              switch (collective) {
                case Collective::AllGather:
                  ASSERT_EQ(got.at(i), of(static_cast<int>(slot), i));
                  break;
                case Collective::Broadcast:
                  ASSERT_EQ(got.at(i), of(request.root, i));
                  break;
                case Collective::AllToAll: {
                  const std::int64_t block = count / world;
                  ASSERT_EQ(got.at(i), of(static_cast<int>(i / block), r * block + i % block));
                  break;
                }
                default: {
                  const bool holds =
                      collective == Collective::Reduce ? r == request.root : static_cast<int>(slot) == r;
                  ASSERT_EQ(s.holds_result(r, s.chunks.chunk_of(i)), holds);
                  if (!holds) break;
                  Scalar most = of(0, i);
                  for (int other = 1; other < world; ++other)
                    most = reduce(ReduceOp::Max, most, of(other, i));
                  ASSERT_EQ(highest.result[static_cast<std::size_t>(r)]->at(i), most);
                }
              }
            }
          }
        }
      }
    }
  }
}

// reduce_scatter and the first half of an all_reduce are the same walk: bit for bit where both are finished.
TEST(OtherCollectives, ReduceScatterIsHalfAnAllReduce) {
  const Inputs inputs = random_inputs(DType::Float16, 7, 40, 4);
  for (const ReduceOp op : {ReduceOp::Avg, ReduceOp::SumThenDivide}) {
    const Schedule half = make_schedule(
        {.collective = Collective::ReduceScatter, .dtype = DType::Float16, .count = 40, .world_size = 7});
    const Numbers scattered = execute_numbers(half, op, inputs);
    const Numbers whole =
        execute_numbers(make_schedule({.dtype = DType::Float16, .count = 40, .world_size = 7}), op, inputs);
    for (std::int64_t i = 0; i < 40; ++i) {
      const std::uint32_t owner = half.chunks.chunks[half.chunks.chunk_of(i)].slot;
      EXPECT_EQ(scattered.result[owner]->at(i), whole.result[0]->at(i));
    }
    EXPECT_EQ(half.steps, 6u);
  }
}

// A chain of chunks: N-1 hops for the first, one more step for each of the others.
TEST(OtherCollectives, BroadcastIsAPipeline) {
  const Schedule s =
      make_schedule({.collective = Collective::Broadcast, .count = 80, .world_size = 8, .root = 5});
  EXPECT_EQ(s.steps, 7u + 7u);
  EXPECT_EQ(bytes_sent(s, DType::Float32, 5), 320);
  EXPECT_EQ(bytes_sent(s, DType::Float32, 4), 0) << "the end of the chain";
}

}  // namespace
}  // namespace ringside::sim
