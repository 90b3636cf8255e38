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
  // Six ranks: four exchange 3000, 1500, 1500, 3000; before, all bring halves of 3000 together in two
  // messages, and afterwards two get all 6000. Reduced: 3000 before, 3000, 1500.
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::Rabenseifner, 6, 6000), 7 * 2 + (9 + 6 + 6) + 7500 * 0.25 / 1000);
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::Ring, 8, 8000), 14 * 2 + 14 + 1.75);
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::NonOverlapping, 8, 1000), 6 * 3 + 3 * .25);
  EXPECT_DOUBLE_EQ(us(MpiAlgorithm::SegmentedRing, 8, 8000), us(MpiAlgorithm::Ring, 8, 8000));
  EXPECT_EQ(us(MpiAlgorithm::Ring, 1, 8000), 0);
  EXPECT_EQ(mpi_rows(machine, 8, 1000).size(), 7U);
  // Short messages go by latency, long ones by bandwidth: the two must cross.
  EXPECT_LT(us(MpiAlgorithm::RecursiveDoubling, 64, 64), us(MpiAlgorithm::Ring, 64, 64));
  EXPECT_GT(us(MpiAlgorithm::RecursiveDoubling, 64, 64 << 20), us(MpiAlgorithm::Ring, 64, 64 << 20));
}

TEST(CostCurve, IsStraightBetweenKnots) {
  const CostCurve curve({{8, 2}, {1'000, 4}, {5'000, 24}});
  EXPECT_EQ(curve.us(0), 2);
  EXPECT_EQ(curve.us(8), 2);
  EXPECT_DOUBLE_EQ(curve.us(504), 3);
  EXPECT_DOUBLE_EQ(curve.us(3'000), 14);
  EXPECT_DOUBLE_EQ(curve.us(9'000), 44) << "goes on with the last bandwidth";
  EXPECT_EQ(CostCurve().us(100), 0);
  EXPECT_EQ(CostCurve({{100, 7}}).us(1e9), 7);
  EXPECT_DOUBLE_EQ(CostCurve::straight(2, 1000).us(64e6), 64'002);
}

/// Every part has its own price, so that a wrong part, size or count shows.
MeasuredMachine priced_machine() {
  MeasuredMachine machine;
  machine.name = "box \"7\"";
  machine.library = "Open MPI v4.1.4";
  machine.ranks = 4;
  machine.cores = 8;
  double price = 1;
  for (CostCurve& part : machine.parts) {
    part = CostCurve({{8, price}, {1'000, price * 2}, {100'000, price * 1000}});
    price *= 3;
  }
  machine.errors[0] = {12.5, 3.0, std::nullopt, std::nullopt};
  machine.errors[2] = {std::nullopt, 0.0, 7.25, std::nullopt};
  machine.unsteady_percent = 4.5;
  return machine;
}

TEST(MeasuredMachine, PricesEachWayByItsOwnParts) {
  const MeasuredMachine machine = priced_machine();
  const auto part = [&](MpiPart which, double bytes) { return machine.part(which).us(bytes); };
  EXPECT_DOUBLE_EQ(predict_us(machine, MpiWay::Stepped, 4, 8'000),
                   3 * (part(MpiPart::ReduceStep, 2'000) + part(MpiPart::CopyStep, 2'000)));
  EXPECT_DOUBLE_EQ(predict_us(machine, MpiWay::Fused, 4, 8'000),
                   2 * part(MpiPart::TreeStep, 8'000) + part(MpiPart::Buffer, 8'000));
  EXPECT_DOUBLE_EQ(
      predict_us(machine, MpiWay::Fused, 2, 8'000),
      part(MpiPart::TreeStep, 8'000) + part(MpiPart::Copy, 8'000) + part(MpiPart::Buffer, 8'000));
  ASSERT_EQ(algorithm_of(MpiWay::Library, 4, 8'000), MpiAlgorithm::RecursiveDoubling);
  EXPECT_DOUBLE_EQ(predict_us(machine, MpiWay::Library, 4, 8'000),
                   2 * (part(MpiPart::LibraryReduceStep, 8'000) + part(MpiPart::Copy, 8'000) +
                        part(MpiPart::Buffer, 8'000)));
  ASSERT_EQ(algorithm_of(MpiWay::Library, 4, 80'000), MpiAlgorithm::Rabenseifner);
  EXPECT_DOUBLE_EQ(predict_us(machine, MpiWay::Library, 4, 80'000),
                   part(MpiPart::LibraryReduceStep, 40'000) + part(MpiPart::LibraryReduceStep, 20'000) +
                       part(MpiPart::LibraryPassStep, 40'000) + part(MpiPart::LibraryPassStep, 20'000) +
                       part(MpiPart::Copy, 80'000) + part(MpiPart::Buffer, 80'000) / 2);
  EXPECT_EQ(predict_us(machine, MpiWay::Stepped, 1, 8'000), 0);
  MeasuredMachine crowded = machine;
  crowded.cores = 1;
  EXPECT_DOUBLE_EQ(predict_us(crowded, MpiWay::Library, 4, 8'000),
                   2 * (part(MpiPart::LibraryReduceStep, 8'000) + 4 * part(MpiPart::Copy, 8'000) +
                        4 * part(MpiPart::Buffer, 8'000)))
      << "four copies one after the other; steps were measured with their waiting";
}

TEST(MeasuredMachine, IsReadAsItWasWritten) {
  const MeasuredMachine machine = priced_machine();
  const std::string text = write_measured_machine(machine);
  const auto again = parse_measured_machine(text, "here.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->name, machine.name);
  EXPECT_EQ(again->library, machine.library);
  EXPECT_EQ(again->ranks, 4);
  EXPECT_EQ(again->cores, 8);
  for (std::size_t part = 0; part < kMpiParts; ++part)
    for (const double bytes : {1.0, 500.0, 4'000.0, 1e6})
      EXPECT_DOUBLE_EQ(again->parts[part].us(bytes), machine.parts[part].us(bytes));
  EXPECT_EQ(again->errors, machine.errors);
  EXPECT_EQ(again->unsteady_percent, machine.unsteady_percent);
  EXPECT_EQ(write_measured_machine(*again), text);
  EXPECT_EQ(expected_error(*again, MpiWay::Stepped, 1'000), 12.5);
  EXPECT_EQ(expected_error(*again, MpiWay::Library, 64 << 20), 7.25);
  EXPECT_FALSE(expected_error(*again, MpiWay::Stepped, 64 << 20)) << "was not checked there";
}

constexpr std::string_view kFormatOne =
    "format = 1\n[machine]\nname = \"a\"\nlibrary = \"b\"\nranks = 4\ncores = 2\nalpha_us = 2\n"
    "bytes_per_us = 1000\nreduce_per_us = 4000\nlibrary_reduce_per_us = 8000\n[error]\nstepped = 40\n";

TEST(MeasuredMachine, ReadsFilesOfThreeConstants) {
  const auto machine = parse_measured_machine(kFormatOne, "old.toml");
  ASSERT_TRUE(machine) << machine.error().message();
  EXPECT_NEAR(predict_us(*machine, MpiWay::Stepped, 4, 8'000), 6 * (2 + 2) + 3 * .5, 1e-3);
  EXPECT_NEAR(predict_us(*machine, MpiWay::Library, 4, 8'000), 2 * (2 + 8 + 1), 1e-3);
  EXPECT_EQ(expected_error(*machine, MpiWay::Stepped, 64 << 20), 40);
  EXPECT_FALSE(expected_error(*machine, MpiWay::Library, 1'000));
}

TEST(MeasuredMachine, SaysWhatIsWrongWithAFile) {
  const auto what = [](std::string_view text) {
    const auto read = parse_measured_machine(text, "here.toml");
    return read ? std::string() : read.error().message();
  };
  EXPECT_NE(what("").find("format"), std::string::npos);
  EXPECT_NE(what("format = 3\n").find("1 to 2"), std::string::npos);
  EXPECT_NE(what("format = 1\n").find("machine"), std::string::npos);
  EXPECT_NE(what("format = 1\n[machine]\nname = 3\n").find("here.toml:3"), std::string::npos);
  EXPECT_NE(what("format = 1\n[machine]\nname = \"a\"\nlibrary = \"b\"\nranks = 1\n").find("2 to"),
            std::string::npos);
  EXPECT_NE(what("format = [").find("here.toml"), std::string::npos);
  const std::string good = write_measured_machine(priced_machine());
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return what(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(what(good), "");
  EXPECT_NE(changed("[costs]", "[prices]").find("\"costs\""), std::string::npos);
  EXPECT_NE(changed("[8, 1000, 100000]", "[8, 1000, 1000]").find("must rise"), std::string::npos);
  EXPECT_NE(changed("[8, 1000, 100000]", "[]").find("\"bytes\""), std::string::npos);
  EXPECT_NE(changed("copy_us = [243, ", "copy_us = [").find("\"copy_us\""), std::string::npos);
  EXPECT_NE(changed("copy_us = [243, ", "copy_us = [-1, ").find("\"copy_us\""), std::string::npos);
  EXPECT_NE(changed("\ntree_step_us = ", "\nstep_us = ").find("\"tree_step_us\""), std::string::npos);
}

TEST(MeasuredMachine, PutsAScenarioOnItself) {
  auto scenario = parse_scenario(
      "[cluster]\npreset = \"dgx-a100\"\ngpus_per_node = 4\n[tensor]\nshape = [1000]\nvalues = \"none\"\n",
      "s.toml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  const auto constants = parse_measured_machine(kFormatOne, "old.toml");
  ASSERT_TRUE(constants);
  put_on_machine(*scenario, *constants);
  EXPECT_EQ(scenario->cluster.topology.intra.latency_ns, 2'000);
  EXPECT_NEAR(static_cast<double>(scenario->cluster.topology.intra.bytes_per_s), 1e9, 1e4);
  EXPECT_EQ(scenario->collective.reduce_ns, 250) << "250 elements of 4 bytes at 4 bytes a ns";
  const auto again = parse_scenario(to_toml(*scenario), "again.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->cluster.topology, scenario->cluster.topology);

  // A step there and a step back take as long as on the machine: exchange, and what is done with a chunk.
  const MeasuredMachine measured = priced_machine();
  MeasuredMachine slow_reduce = measured;
  slow_reduce.part(MpiPart::ReduceStep) = CostCurve({{8, 5'000}});
  put_on_machine(*scenario, slow_reduce);
  const auto& link = scenario->cluster.topology.intra;
  const double step_us =
      static_cast<double>(link.latency_ns) / 1e3 + 1000.0 / static_cast<double>(link.bytes_per_s) * 1e6;
  EXPECT_NEAR(2 * step_us + static_cast<double>(scenario->collective.reduce_ns) / 1e3,
              measured.part(MpiPart::CopyStep).us(1000) + 5'000, 0.1);
}

}  // namespace
}  // namespace ringside::sim
