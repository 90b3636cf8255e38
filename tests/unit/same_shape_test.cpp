// The same-shape scene without a window: every outcome of the table comes out of the simulator, and is the
// one that the project's contract states; the pictures' arithmetic.
#include <gtest/gtest.h>

#include "app/scenes/same_shape_model.hpp"

namespace ringside::app {
namespace {

struct Cell {
  Mismatch mismatch;
  Ending nccl, detail, gloo, mpi;
};

TEST(SameShape, TheTableIsTheContractsOwn) {
  using enum Mismatch;
  using enum Ending;
  // "What a mismatch does": hang (NCCL's watchdog ends it), silent, an error; `order` and `skip` over Gloo
  // end when a rank that is through closes its connections.
  const Cell rows[] = {
      {OtherCount, TimesOut, Says, Says, Says},  {Tail, Silent, Says, Says, Says},
      {SameCount, Silent, Says, Silent, Silent}, {SameWidth, Silent, Says, Silent, Silent},
      {OtherWidth, TimesOut, Says, Says, Says},    {Op, Silent, Silent, Silent, Silent},
      {Order, TimesOut, Says, Says, Waits},      {Skip, TimesOut, TimesOut, Says, Waits},
  };
  VerdictTable table;
  for (const Cell& row : rows) {
    EXPECT_EQ(table.at(row.mismatch, Stack::Nccl).ending, row.nccl) << to_word(row.mismatch);
    EXPECT_EQ(table.at(row.mismatch, Stack::NcclDetail).ending, row.detail) << to_word(row.mismatch);
    EXPECT_EQ(table.at(row.mismatch, Stack::Gloo).ending, row.gloo) << to_word(row.mismatch);
    EXPECT_EQ(table.at(row.mismatch, Stack::Mpi).ending, row.mpi) << to_word(row.mismatch);
    if (row.detail == Says) {
      EXPECT_EQ(table.at(row.mismatch, Stack::NcclDetail).saying, Saying::Fingerprint);
    }
  }
  for (const Stack stack : {Stack::Nccl, Stack::NcclDetail, Stack::Gloo}) {
    EXPECT_EQ(table.at(Construction, stack).saying, Saying::Construction);
    EXPECT_EQ(table.at(Construction, stack).collectives_done, 0);
  }
  EXPECT_FALSE(VerdictTable::applies(Construction, Stack::Mpi));
  for (const Stack stack : kStacks) EXPECT_EQ(table.at(None, stack).ending, Fine) << to_word(stack);
}

TEST(SameShape, AnotherCountHangsOrIsSilentAsTheTransfersAgree) {
  VerdictTable table;
  EXPECT_EQ(table.at(Mismatch::OtherCount, Stack::Nccl).ending, Ending::TimesOut);
  EXPECT_NE(table.at(Mismatch::OtherCount, Stack::Nccl).line.find("Watchdog caught collective"),
            std::string::npos);
  Shapes lesson;
  lesson.all = sim::Shape{{1024, 1024}};
  lesson.odd = sim::Shape{{512, 512}};
  table.set_shapes(lesson);
  EXPECT_EQ(table.at(Mismatch::OtherCount, Stack::Nccl).ending, Ending::Silent);
  EXPECT_EQ(table.at(Mismatch::OtherCount, Stack::Gloo).saying, Saying::Size);
}

TEST(SameShape, TheChosenPairIsWhatIsSimulated) {
  Shapes shapes;
  shapes.all = sim::Shape{{4, 4}};
  shapes.odd = sim::Shape{{2, 8}};
  const sim::Scenario same = scenario_of(Mismatch::SameCount, Stack::Nccl, shapes);
  EXPECT_EQ(same.tensor.shape, shapes.all);
  ASSERT_EQ(same.faults.size(), 1u);
  EXPECT_EQ(same.faults[0].shape, shapes.odd);
  EXPECT_EQ(same.faults[0].rank, 2);
  EXPECT_EQ(same.tensor.values, sim::ValueSource::Index);
  // A row whose condition the pair does not fulfil takes a pair of its own.
  EXPECT_NE(odd_shape_of(Mismatch::OtherCount, shapes).count(), shapes.all.count());
  shapes.odd = sim::Shape{{4, 5}};
  EXPECT_EQ(odd_shape_of(Mismatch::SameCount, shapes).count(),
            all_shape_of(Mismatch::SameCount, shapes).count());
  shapes.world = 2;
  EXPECT_EQ(scenario_of(Mismatch::OtherCount, Stack::Mpi, shapes).faults[0].rank, 1);
}

TEST(SameShape, SkippedCallsPairStepsThatAreNotTheSame) {
  VerdictTable table;
  const auto& calls = table.at(Mismatch::Skip, Stack::Nccl).calls;
  ASSERT_EQ(calls.size(), 4u);
  ASSERT_EQ(calls[0].size(), 4u);
  ASSERT_EQ(calls[2].size(), 3u);
  EXPECT_TRUE(calls[0][0].agrees);
  EXPECT_FALSE(calls[0][1].agrees);
  EXPECT_EQ(calls[0][1].step, 2);
  EXPECT_EQ(calls[2][1].step, 3);
  EXPECT_TRUE(calls[0][2].done);   // nobody noticed
  EXPECT_FALSE(calls[0][3].done);  // the last call has no partner
}

TEST(SameShape, GradientsAddElementByElement) {
  for (const int world : {2, 4}) {
    const sim::Tensor sum = sum_of_gradients(world);
    for (std::int64_t i = 0; i < 9; ++i) {
      double wanted = 0;
      for (int r = 0; r < world; ++r) wanted += sim::to_double(example_gradient(r).at(i));
      EXPECT_EQ(sim::to_double(sum.at(i)), wanted);
    }
  }
  EXPECT_EQ(sim::to_double(sum_of_gradients(2).at(4)), 13);
}

TEST(SameShape, TilesAreToScale) {
  const Overlay half = overlay_of(sim::Shape{{4096, 4096}}, sim::Shape{{2048, 4096}});
  EXPECT_EQ(half.tile, 1024);
  EXPECT_EQ(half.all_rows, 4);
  EXPECT_EQ(half.odd_rows, 2);
  EXPECT_EQ(half.common_rows() * half.common_columns() * 2, half.all_rows * half.all_columns);
  const Overlay lesson = overlay_of(sim::Shape{{1024, 1024}}, sim::Shape{{512, 512}});
  EXPECT_EQ(lesson.common_rows() * lesson.common_columns() * 4, lesson.all_rows * lesson.all_columns);
  const Overlay wide = overlay_of(sim::Shape{{4096, 4096}}, sim::Shape{{2048, 8192}});
  EXPECT_EQ(wide.odd_columns, 2 * wide.all_columns);
  const Overlay odd = overlay_of(sim::Shape{{1000}}, sim::Shape{{7, 3}});
  EXPECT_EQ(odd.tile, 0);  // no common measure: only about to scale
  EXPECT_LE(odd.all_columns, 8);
  EXPECT_GE(odd.odd_columns, 1);
  const Overlay scalar = overlay_of(sim::Shape{}, sim::Shape{});
  EXPECT_EQ(scalar.all_rows * scalar.all_columns, 1);
}

TEST(SameShape, ThePaperStoryEndsAsTheLessonSays) {
  EXPECT_EQ(paper_at(Paper::All, 0).added, 0);
  EXPECT_EQ(paper_at(Paper::All, 1).added, 4);
  const PaperStory half = paper_at(Paper::Half, 1);
  EXPECT_EQ(half.added, 2);
  EXPECT_EQ(half.stuck_at, 50);
  const PaperStory absent = paper_at(Paper::Absent, 1);
  EXPECT_EQ(absent.added, 2);
  EXPECT_TRUE(absent.waiting);
  EXPECT_EQ(absent.stuck_at, -1);
  for (const Paper paper : {Paper::All, Paper::Half, Paper::Absent}) {
    int before = 0;
    for (double share = 0; share <= 1; share += .01) {
      EXPECT_GE(paper_at(paper, share).added, before);
      before = paper_at(paper, share).added;
    }
  }
}

}  // namespace
}  // namespace ringside::app
