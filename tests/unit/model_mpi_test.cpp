// Open MPI's decision, row by row of its table, and the cost formulas against numbers worked by hand.
#include <gtest/gtest.h>

#include "sim/model/mpi_machine.hpp"
#include "sim/model/mpi_model.hpp"

namespace ringside::sim {
namespace {

TEST(MpiModel, OpenMpiDecision) {
  struct Case {
    std::int64_t ranks, bytes;
    int algorithm;
  };
  const Case cases[] = {
      {2, 4, 4},          {2, 8, 3},        {3, 4096, 4},     {3, 8192, 3},     {2, 16384, 4},
      {2, 65536, 5},      {2, 262144, 6},   {4, 15, 4},       {4, 16, 3},       {7, 8191, 3},
      {7, 8192, 6},       {8, 1, 3},        {15, 8192, 6},    {16, 63, 5},      {16, 64, 3},
      {31, 4096, 6},      {32, 127, 5},     {63, 128, 6},     {64, 262143, 3},  {127, 262144, 6},
      {128, 131071, 2},   {255, 131072, 3}, {255, 262144, 6}, {256, 4095, 2},   {511, 4096, 6},
      {512, 2047, 2},     {512, 2048, 3},   {2047, 16384, 6}, {2048, 2047, 2},  {2048, 2048, 5},
      {4095, 4096, 3},    {4095, 16384, 6}, {4096, 2047, 2},  {4096, 16383, 5}, {4096, 16384, 3},
      {100000, 32768, 6},
  };
  for (const Case& c : cases)
    EXPECT_EQ(static_cast<int>(open_mpi_choice(c.ranks, c.bytes)), c.algorithm) << c.ranks << " " << c.bytes;
}

TEST(MpiModel, OtherDecisions) {
  EXPECT_EQ(open_mpi_old_choice(4, 9'999, true), MpiAlgorithm::RecursiveDoubling);
  EXPECT_EQ(open_mpi_old_choice(4, 4 << 20, true), MpiAlgorithm::Ring);
  EXPECT_EQ(open_mpi_old_choice(4, (4 << 20) + 1, true), MpiAlgorithm::SegmentedRing);
  EXPECT_EQ(open_mpi_old_choice(4, 1 << 20, false), MpiAlgorithm::NonOverlapping);
  EXPECT_EQ(mpich_choice(8, 2048, 512, false), MpiAlgorithm::RecursiveDoubling);
  EXPECT_EQ(mpich_choice(8, 4096, 1024, false), MpiAlgorithm::Rabenseifner);
  EXPECT_EQ(mpich_choice(1000, 4096, 511, false), MpiAlgorithm::RecursiveDoubling);
  EXPECT_EQ(mpich_choice(8, 4096, 1024, true), MpiAlgorithm::RecursiveDoubling);
}

TEST(MpiModel, Costs) {
  const MpiMachine machine = {2, 1000, 4000, 1 << 20};  // α 2 µs, β 1 ns, γ 0.25 ns a byte
  const auto us = [&](MpiAlgorithm algorithm, std::int64_t ranks, std::int64_t bytes) {
    return mpi_allreduce_us(algorithm, machine, ranks, bytes);
  };
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::RecursiveDoubling, 8, 1000), 3 * (2 + 1 + 0.25));
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::Rabenseifner, 8, 8000), 6 * 2 + 14.0 / 8 * 8 + 7.0 / 8 * 2);
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::Rabenseifner, 6, 6000), 6 * 2 + (10.0 / 6 + 2) * 6 + (1 + 5.0 / 6) * 1.5);
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::Ring, 8, 8000), 14 * 2 + 14 + 1.75);
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::NonOverlapping, 8, 1000), 6 * 3 + 3 * .25);
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::SegmentedRing, 8, 8000), us(MpiAlgorithm::Ring, 8, 8000));
  EXPECT_EQ(us(MpiAlgorithm::Ring, 1, 8000), 0);
  EXPECT_EQ(mpi_rows(machine, 8, 1000).size(), 7U);
  // Short messages go by latency, long ones by bandwidth: the two must cross.
  EXPECT_LT(us(MpiAlgorithm::RecursiveDoubling, 64, 64), us(MpiAlgorithm::Ring, 64, 64));
  EXPECT_GT(us(MpiAlgorithm::RecursiveDoubling, 64, 64 << 20), us(MpiAlgorithm::Ring, 64, 64 << 20));
}

TEST(MeasuredMachine, IsReadAsItWasWritten) {
  MeasuredMachine machine;
  machine.name = "box \"7\"";
  machine.library = "Open MPI v4.1.4";
  machine.ranks = 4;
  machine.cores = 8;
  machine.machine = {1.2345, 5432.1, 0.5, 1 << 20};
  machine.library_reduce_per_us = 9'999;
  machine.error_percent = {12.5, std::nullopt, 0.0};
  const std::string text = write_measured_machine(machine);
  const auto again = parse_measured_machine(text, "here.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->name, machine.name);
  EXPECT_EQ(again->library, machine.library);
  EXPECT_EQ(again->ranks, 4);
  EXPECT_EQ(again->cores, 8);
  EXPECT_EQ(again->machine.alpha_us, 1.2345);
  EXPECT_EQ(again->machine.bytes_per_us, 5432.1);
  EXPECT_EQ(again->machine.reduce_per_us, 0.5);
  EXPECT_EQ(again->library_reduce_per_us, 9'999);
  EXPECT_EQ(again->error_percent, machine.error_percent);
  EXPECT_EQ(write_measured_machine(*again), text);
}

TEST(MeasuredMachine, SaysWhatIsWrongWithAFile) {
  const auto what = [](std::string_view text) {
    const auto read = parse_measured_machine(text, "here.toml");
    return read ? std::string() : read.error().message();
  };
  EXPECT_NE(what("").find("format"), std::string::npos);
  EXPECT_NE(what("format = 1\n").find("machine"), std::string::npos);
  EXPECT_NE(what("format = 1\n[machine]\nname = 3\n").find("here.toml:3"), std::string::npos);
  EXPECT_NE(what("format = 1\n[machine]\nname = \"a\"\nlibrary = \"b\"\nranks = 1\n").find("2 to"),
            std::string::npos);
  EXPECT_NE(what("format = [").find("here.toml"), std::string::npos);
}

TEST(MeasuredMachine, PutsAScenarioOnItself) {
  auto scenario = parse_scenario(
      "[cluster]\npreset = \"dgx-a100\"\ngpus_per_node = 4\n[tensor]\nshape = [1000]\nvalues = \"none\"\n",
      "s.toml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  put_on_machine(*scenario, {2, 1000, 4000, 1 << 20});
  EXPECT_EQ(scenario->cluster.topology.intra, (LinkSpec{2'000, 1'000'000'000}));
  EXPECT_EQ(scenario->collective.reduce_ns, 250) << "250 elements of 4 bytes at 4 bytes a ns";
  const auto again = parse_scenario(to_toml(*scenario), "again.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->cluster.topology, scenario->cluster.topology);
}

}  // namespace
}  // namespace ringside::sim
