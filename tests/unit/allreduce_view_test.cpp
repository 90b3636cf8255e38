// What the AllReduce scene shows at a time, and where: numbers, contributions, flights half way at half time,
// nothing outside, nothing overlapping. Without a window.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_edit.hpp"
#include "app/scenes/allreduce_layout.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::app {
namespace {

using sim::CellState;

const Fonts& fonts() {
  static const auto opened = Fonts::open();
  return **opened;
}

sim::Sample sample_of_values(std::vector<double> values) {
  sim::Tensor tensor(sim::DType::Float32, sim::Shape{{static_cast<std::int64_t>(values.size())}});
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<std::int64_t>(i), sim::make_scalar(sim::DType::Float32, values[i]));
  return sim::sample_of(tensor);
}

/// The trace of a picture: four ranks, four numbers each, ring steps in NCCL's order; links 0-1 and 2-3
/// take 3.4 μs, the others 5.7 μs, one chunk at a time; an addition takes 0.3 μs.
struct Picture {
  static constexpr int kRanks = 4;
  std::vector<std::vector<double>> values{{2, 1, 10, 4}, {4, 3, 20, 0}, {6, 5, 30, -1}, {8, 7, 40, 9}};
  sim::Trace trace;
  std::uint32_t coll = 0;
  bool ends_known = true;

  explicit Picture(bool with_ends = true) : ends_known(with_ends) {
    trace.header.world_size = kRanks;
    trace.header.gpus_per_node = kRanks;
    sim::CollectiveInfo info;
    info.comm = trace.intern("world");
    info.seq = 1;
    info.op = sim::ReduceOp::SumThenDivide;
    info.count = 4;
    info.world_size = kRanks;
    info.chunks = sim::even_chunks(4, kRanks);
    info.steps = 6;
    info.reduce_steps = 3;
    info.transfers = 24;
    coll = trace.add_collective(info);
    for (int r = 0; r < kRanks; ++r) {
      sim::Event tensor = event(r, sim::EventType::TensorValues, 0);
      tensor.tensor = {trace.intern("input"),
                       trace.add_shape(sim::Shape{{4}}),
                       trace.add_sample(sample_of_values(values[static_cast<std::size_t>(r)])),
                       sim::DType::Float32,
                       {}};
      trace.emit(tensor);
      sim::Event enqueued = event(r, sim::EventType::CollectiveEnqueued, 0);
      enqueued.collective = sim::CollectivePayload{};
      enqueued.collective.coll = coll;
      enqueued.collective.shape = sim::kNone;
      trace.emit(enqueued);
    }
    run();
  }

  static sim::Event event(int rank, sim::EventType type, std::int64_t t) {
    sim::Event e;
    e.t = t;
    e.set_source(sim::Source::rank(rank));
    e.type = type;
    return e;
  }

  void ring_event(int rank, sim::EventType type, std::int64_t t, std::uint32_t step, std::uint32_t chunk,
                  int peer, double value) {
    sim::Event e = event(rank, type, t);
    e.ring = {coll, 0, 0, step, chunk, peer, trace.add_sample(sample_of_values({value}))};
    trace.emit(e);
  }

  void run() {
    auto now = values;
    std::int64_t free[kRanks] = {}, ready[kRanks][kRanks] = {};
    const std::int64_t link[kRanks] = {3400, 5700, 3400, 5700};
    for (std::uint32_t step = 1; step <= 6; ++step) {
      struct Move {
        int src, dst;
        std::uint32_t chunk;
        double value;
        std::int64_t done;
      };
      std::vector<Move> moves;
      for (int r = 0; r < kRanks; ++r) {
        const int s = static_cast<int>(step) - 1, shift = step <= 3 ? r - 1 - s : r - (s - 3);
        const auto chunk = static_cast<std::uint32_t>(((shift % kRanks) + kRanks) % kRanks);
        const int dst = (r + 1) % kRanks;
        const std::int64_t start = std::max(free[r], ready[r][chunk]), arrive = start + link[r],
                           done = arrive + (step <= 3 ? 300 : 0);
        const double travels = now[static_cast<std::size_t>(r)][chunk];
        const double after = step <= 3 ? travels + now[static_cast<std::size_t>(dst)][chunk] : travels;
        ring_event(r, sim::EventType::RingStepBegin, start, step, chunk, dst, travels);
        if (ends_known) {
          if (step <= 3) ring_event(dst, sim::EventType::RingStepArrive, arrive, step, chunk, r, travels);
          ring_event(dst, sim::EventType::RingStepEnd, done, step, chunk, r, after);
        }
        free[r] = arrive;
        moves.push_back({r, dst, chunk, after, done});
      }
      for (const Move& m : moves) {
        now[static_cast<std::size_t>(m.dst)][m.chunk] = m.value;
        ready[m.dst][m.chunk] = m.done;
      }
    }
  }

  RingView at(std::int64_t t, const ViewOptions& options = {}) {
    sim::FrameSource source(trace);
    const sim::Frame& frame = source.frame_at(t);
    TransferTable table;
    table.update(trace, frame.collective.coll, 1);
    return make_view(trace, frame, table, options);
  }
};

double number(const Numbers& n, std::size_t i = 0) {
  return n.values.size() > i ? sim::to_double(n.values[i]) : std::numeric_limits<double>::quiet_NaN();
}

const SumView* sum_into(const RingView& view, int rank) {
  for (const SumView& s : view.sums)
    if (s.dst == rank) return &s;
  return nullptr;
}

TEST(AllReduceView, ThePictureAtNineAndAHalf) {
  Picture picture;
  const RingView view = picture.at(9500);
  EXPECT_EQ(view.ring_step, 2u);
  EXPECT_TRUE(view.reducing);
  ASSERT_EQ(view.sums.size(), 2u);
  const SumView *one = sum_into(view, 1), *three = sum_into(view, 3);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(three, nullptr);
  EXPECT_TRUE(one->hot);
  EXPECT_EQ(number(one->arrived), 50);
  EXPECT_EQ(number(one->own), 20);
  EXPECT_EQ(number(one->result), 70);
  EXPECT_EQ(one->arrived_from, 0b1001u);
  EXPECT_EQ(one->own_from, 0b0010u);
  EXPECT_EQ(number(three->arrived), 10);
  EXPECT_EQ(number(three->own), 8);
  EXPECT_EQ(number(three->result), 18);
  ASSERT_EQ(view.flights.size(), 2u);
  for (const FlightView& f : view.flights) EXPECT_NEAR(f.progress, .667f, .005f);
  EXPECT_EQ(number(view.cell(1, 2).numbers), 70) << "the number changes when it arrives";
  EXPECT_EQ(view.cell(1, 2).state, CellState::Adding);
  EXPECT_EQ(view.cell(0, 2).state, CellState::PassedOn);
  EXPECT_EQ(view.cell(2, 3).state, CellState::Arriving);
  EXPECT_EQ(number(view.cell(2, 3).numbers), -1);
  EXPECT_EQ(view.transfers_done, 4u);
  EXPECT_EQ(view.transfers_total, 24u);
  ASSERT_EQ(view.goal_sum.values.size(), 4u);
  EXPECT_EQ(number(view.goal_sum, 2), 100);
  EXPECT_EQ(number(view.goal_result, 2), 25);
}

TEST(AllReduceView, TheTensorKeepsItsOwnNumbersUntilTheSumIsFinished) {
  Picture picture;
  const RingView view = picture.at(9500, {.tensor = true, .element = {}});
  EXPECT_EQ(number(view.cell(1, 2).numbers), 20);
  EXPECT_EQ(view.cell(1, 2).contribution_count, 1);
  const RingView end = picture.at(1'000'000, {.tensor = true, .element = {}});
  EXPECT_EQ(number(end.cell(1, 2).numbers), 100);
}

TEST(AllReduceView, HalfItsTimeIsHalfItsWay) {
  Picture picture;
  const RingView view = picture.at(2850);  // the slow links are at 50 %
  const RingLayout layout = make_layout(view, {0, 0, 880, 588}, fonts(), {});
  for (std::size_t i = 0; i < view.flights.size(); ++i) {
    const FlightView& f = view.flights[i];
    const Path path = transfer_path(layout, f.src, f.dst, view.shown(f.chunk));
    if (f.src % 2 == 0) continue;
    EXPECT_NEAR(f.progress, .5f, 1e-4f);
    const Vec2 middle = path.at(.5f), at = layout.tiles[i].box.center();
    EXPECT_NEAR(at.x, middle.x, .01f);
    EXPECT_NEAR(at.y, middle.y, .01f);
  }
}

TEST(AllReduceView, WhatStartsNowHasNotLeft) {
  Picture picture;
  const RingView start = picture.at(0);
  EXPECT_TRUE(start.flights.empty());
  EXPECT_EQ(start.ring_step, 0u);
  for (const CellView& cell : start.cells) EXPECT_EQ(cell.state, CellState::Own);
}

TEST(AllReduceView, ALiveFlightMakesNoClaimOfItsPlace) {
  Picture picture(false);
  const RingView view = picture.at(1000);
  ASSERT_FALSE(view.flights.empty());
  for (const FlightView& f : view.flights) EXPECT_LT(f.progress, 0);
  EXPECT_TRUE(view.goal_sum.values.empty());
}

// --- simulated worlds ---

sim::Scenario scenario_of(int world, std::int64_t count, std::string_view more = {},
                          std::string_view values = "\"index\"") {
  const std::string text =
      "title = \"test\"\n[cluster]\nnodes = 1\ngpus_per_node = " + std::to_string(world) +
      "\n[tensor]\nshape = [" + std::to_string(count) +
      "]\ndtype = \"float32\"\nvalues = " + std::string(values) + "\n[collective]\nreduce = \"300ns\"\n" +
      std::string(more);
  auto parsed = sim::parse_scenario(text, "test.toml");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return *parsed;
}

struct Shown {
  sim::Simulation simulation;
  sim::FrameSource source;
  TransferTable table;
  explicit Shown(const sim::Scenario& scenario)
      : simulation(sim::simulate(scenario)), source(simulation.trace) {}
  RingView at(double share) {
    const auto t = static_cast<std::int64_t>(share * static_cast<double>(simulation.trace.end_time()));
    const sim::Frame& frame = source.frame_at(t);
    table.update(simulation.trace, frame.collective.coll, 1);
    return make_view(simulation.trace, frame, table, {});
  }
};

TEST(AllReduceView, EmptyChunksAreNotShown) {
  Shown shown(scenario_of(4, 2));
  const RingView view = shown.at(.3);
  EXPECT_EQ(view.chunks.size(), 2u);
  EXPECT_EQ(view.hidden_empty, 2u);
  for (const FlightView& f : view.flights) EXPECT_LT(f.chunk, 2u);
  EXPECT_EQ(view.transfers_total, 12u);
}

TEST(AllReduceView, OneGpuHasNothingToDo) {
  Shown shown(scenario_of(1, 3));
  const RingView view = shown.at(1);
  EXPECT_EQ(view.kind, ViewKind::Single);
  ASSERT_FALSE(view.now.empty());
  EXPECT_EQ(view.now[0].key, "allreduce.now.single");
  ASSERT_EQ(view.cells.size(), 1u);
  EXPECT_EQ(view.cells[0].numbers.count, 3);
}

TEST(AllReduceView, AtTheEndEveryCellIsComplete) {
  for (const int world : {2, 3, 8, 16, 64}) {
    Shown shown(scenario_of(world, world));
    const RingView view = shown.at(1);
    EXPECT_TRUE(view.done) << world;
    EXPECT_TRUE(view.flights.empty());
    for (const CellView& cell : view.cells) EXPECT_EQ(cell.contribution_count, world);
    for (const RankView& rank : view.ranks) EXPECT_DOUBLE_EQ(rank.share, 1.0);
    EXPECT_EQ(view.transfers_done, view.transfers_total);
  }
}

Rect text_box(const PlacedText& text) {
  const float w = fonts().width(text.text, text.size, Face::Bold);
  return {text.middle.x - w / 2, text.middle.y - .4f * text.size, w, .82f * text.size};
}

bool overlap(Rect a, Rect b) {
  return std::min(a.right(), b.right()) - std::max(a.x, b.x) > 1 &&
         std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y) > 1;
}

bool inside(Rect outer, Rect inner) {
  return inner.x >= outer.x - 1 && inner.y >= outer.y - 1 && inner.right() <= outer.right() + 1 &&
         inner.bottom() <= outer.bottom() + 1;
}

void check_cells(const std::vector<CellBox>& cells, Rect card, const std::string& where) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_TRUE(inside(card, cells[i].box)) << where << ", cell " << i;
    for (std::size_t j = i + 1; j < cells.size(); ++j)
      EXPECT_FALSE(overlap(cells[i].box, cells[j].box)) << where;
    const auto& texts = cells[i].content.texts;
    for (std::size_t a = 0; a < texts.size(); ++a) {
      EXPECT_TRUE(inside(cells[i].box, text_box(texts[a])))
          << where << ": \"" << texts[a].text << "\" of size " << texts[a].size;
      for (std::size_t b = a + 1; b < texts.size(); ++b)
        EXPECT_FALSE(overlap(text_box(texts[a]), text_box(texts[b]))) << where;
    }
  }
}

void check_layout(const RingView& view, Rect stage, bool row, const std::string& where) {
  const RingLayout layout = make_layout(view, stage, fonts(), {.row = row});
  const Rect all{0, 0, layout.size.x, layout.size.y};
  ASSERT_EQ(layout.tiles.size(), view.flights.size());
  ASSERT_EQ(layout.sums.size(), view.sums.size());
  const float least = 13 / layout.k - .01f;
  for (const CardBox& card : layout.cards) {
    EXPECT_TRUE(inside(all, card.box)) << where << ", R" << card.rank;
    check_cells(card.cells, card.box, where + ", R" + std::to_string(card.rank));
    for (const CardBox& other : layout.cards)
      if (other.rank > card.rank) {
        EXPECT_FALSE(overlap(card.box, other.box)) << where;
      }
    for (const CellBox& cell : card.cells)
      for (const PlacedText& text : cell.content.texts) EXPECT_GE(text.size, least) << where;
  }
  check_cells(layout.close_up_cells, layout.close_up, where + ", close-up");
  for (std::size_t i = 0; i < layout.sums.size(); ++i) {
    const Rect box = layout.sums[i].box;
    if (box.w <= 0) continue;
    EXPECT_TRUE(inside(all, box)) << where;
    EXPECT_GE(layout.sums[i].size, least) << where;
    for (std::size_t j = i + 1; j < layout.sums.size(); ++j)
      EXPECT_FALSE(layout.sums[j].box.w > 0 && overlap(box, layout.sums[j].box)) << where;
    if (layout.form == Form::Squares) continue;
    for (const CardBox& card : layout.cards)
      EXPECT_FALSE(overlap(box, card.box)) << where << ": a sum lies on R" << card.rank;
  }
  if (layout.form != Form::Cards && layout.form != Form::OneNumber) return;
  for (const TileBox& tile : layout.tiles)
    for (const CardBox& card : layout.cards)
      EXPECT_FALSE(overlap(tile.box, card.box)) << where << ": a tile lies on R" << card.rank;
}

TEST(AllReduceLayout, NothingOutsideNothingOverlapping) {
  for (const int world : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 64})
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{world}, std::int64_t{3 * world + 1}}) {
      Shown shown(scenario_of(world, count));
      for (const double share : {0.0, 0.2, 0.37, 0.5, 0.81, 1.0})
        for (const bool row : {false, true}) {
          const RingView view = shown.at(share);
          const std::string where = std::to_string(world) + " GPUs, " + std::to_string(count) +
                                    " numbers, at " + std::to_string(share) + (row ? ", row" : "");
          check_layout(view, {0, 0, 880, 588}, row, where);
          check_layout(view, {0, 0, 1250, 828}, row, where + ", large");
        }
    }
}

TEST(AllReduceLayout, LongNumbersShrinkAndThenSayThatTheyAreCut) {
  const auto n = [](double v) {
    return numbers_of(std::vector<sim::Scalar>{sim::make_scalar(sim::DType::Float64, v)});
  };
  const CellContent whole = fit_numbers(n(7), {0, 0, 60, 40}, 30, 13, fonts());
  ASSERT_EQ(whole.texts.size(), 1u);
  EXPECT_FLOAT_EQ(whole.texts[0].size, 30);
  const CellContent two = fit_numbers(n(0.1234567), {0, 0, 60, 40}, 30, 13, fonts());
  std::string joined;
  for (const PlacedText& t : two.texts) {
    EXPECT_GE(t.size, 13);
    EXPECT_FALSE(t.cut);
    joined += t.text;
  }
  EXPECT_EQ(joined, "0.1234567");
  const CellContent cut = fit_numbers(n(0.12345678901234567), {0, 0, 40, 16}, 30, 13, fonts());
  ASSERT_EQ(cut.texts.size(), 1u);
  EXPECT_TRUE(cut.texts[0].cut);
  EXPECT_LE(fonts().width(cut.texts[0].text, cut.texts[0].size, Face::Bold), 40);
}

TEST(AllReduceNumbers, TextOfNumbers) {
  const auto text = [](sim::DType dtype, double v) { return number_text(sim::make_scalar(dtype, v)); };
  EXPECT_EQ(text(sim::DType::Float32, 9999), "9999");
  EXPECT_EQ(text(sim::DType::Float32, 12345), "12,345");
  EXPECT_EQ(text(sim::DType::Int32, -1234567), "-1,234,567");
  EXPECT_EQ(text(sim::DType::Float32, 0.1), "0.1");
  EXPECT_EQ(text(sim::DType::Float16, 65520), "∞");
  EXPECT_EQ(text(sim::DType::Float32, std::nan("")), "NaN");
  EXPECT_EQ(operand_text(sim::make_scalar(sim::DType::Float32, -1)), "(-1)");
}

// --- edits ---

TEST(AllReduceEdit, NewRanksGoOnAsTheOthersDid) {
  sim::Scenario s = scenario_of(4, 1, {}, "[[2], [4], [6], [8]]");
  edit::set_world(s, 6);
  ASSERT_EQ(s.tensor.list.size(), 6u);
  EXPECT_EQ(sim::to_double(s.tensor.list[4]->at(0)), 10);
  EXPECT_EQ(sim::to_double(s.tensor.list[5]->at(0)), 12);
  EXPECT_EQ(s.world_size(), 6);
  EXPECT_EQ(s.cluster.topology.world_size, 6);
  edit::set_world(s, 2);
  EXPECT_EQ(s.tensor.list.size(), 2u);
  const auto again = sim::parse_scenario(sim::to_toml(s), "edited.toml");
  EXPECT_TRUE(again) << again.error().message();
}

TEST(AllReduceEdit, AValueTypedIntoGeneratedNumbers) {
  sim::Scenario s = scenario_of(3, 2);
  edit::set_value(s, 1, 1, sim::make_scalar(sim::DType::Float32, 99));
  ASSERT_EQ(s.tensor.list.size(), 3u);
  EXPECT_EQ(sim::to_double(s.tensor.list[1]->at(1)), 99);
  EXPECT_EQ(sim::to_double(s.tensor.list[2]->at(0)), 4) << "the others stay as they were generated";
}

TEST(AllReduceEdit, NumbersThatPeopleType) {
  EXPECT_EQ(sim::to_double(*edit::read_number(" +3 ", sim::DType::Int32)), 3);
  EXPECT_TRUE(sim::is_nan(*edit::read_number("NaN", sim::DType::Float16)));
  EXPECT_TRUE(sim::is_inf(*edit::read_number("-inf", sim::DType::Float32)));
  EXPECT_FALSE(edit::read_number("nan", sim::DType::Int32));
  EXPECT_FALSE(edit::read_number("3x", sim::DType::Float32));
  EXPECT_FALSE(edit::read_number("", sim::DType::Float32));
  EXPECT_EQ(sim::to_int64(*edit::read_number("9007199254740993", sim::DType::Int64)), 9007199254740993);
}

}  // namespace
}  // namespace ringside::app
