#include "app/scenes/same_shape_model.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kNumbersUpTo = 4'096;  // larger tensors are simulated without their numbers

std::string list_of(const sim::Shape& shape) {
  std::string out = "[";
  for (const std::int64_t extent : shape.extents)
    out += (out.size() > 1 ? ", " : "") + std::to_string(extent);
  return out + "]";
}

std::string stack_toml(Stack stack) {
  switch (stack) {
    case Stack::Nccl:
      return "library = \"nccl\"\ntransport = \"nvlink\"\nlauncher = \"torchrun\"\n";
    case Stack::NcclDetail:
      return "library = \"nccl\"\ntransport = \"nvlink\"\nlauncher = \"torchrun\"\ndebug = \"detail\"\n";
    case Stack::Gloo:
      return "library = \"gloo\"\ntransport = \"tcp\"\nlauncher = \"torchrun\"\n";
    case Stack::Mpi:
      break;
  }
  return "library = \"mpi\"\ntransport = \"tcp\"\nlauncher = \"mpirun\"\n";
}

bool about_shapes(Mismatch m) {
  return m == Mismatch::None || m == Mismatch::OtherCount || m == Mismatch::SameCount;
}

std::string fault_toml(Mismatch m, const Shapes& shapes) {
  const std::string rank = "rank = " + std::to_string(m == Mismatch::Tail ? 0 : shapes.odd_rank()) + "\n";
  const auto fault = [&](const std::string& body, int step) {
    return "[[fault]]\n" + rank + "step = " + std::to_string(step) + "\n" + body + "\n";
  };
  switch (m) {
    case Mismatch::None:
      return "";
    case Mismatch::OtherCount:
    case Mismatch::Tail:
    case Mismatch::SameCount:
      return fault("kind = \"shape\"\nshape = " + list_of(odd_shape_of(m, shapes)), 1);
    case Mismatch::SameWidth:
      return fault("kind = \"dtype\"\ndtype = \"int32\"", 1);
    case Mismatch::OtherWidth:
      return fault("kind = \"dtype\"\ndtype = \"float64\"", 1);
    case Mismatch::Op:
      return fault("kind = \"op\"\nop = \"max\"", 1);
    case Mismatch::Order:
      return fault("kind = \"wrong_order\"", 2);
    case Mismatch::Skip:
      return fault("kind = \"skip_step\"", 2);
    case Mismatch::Construction:
      break;
  }
  return fault("kind = \"shape\"\nshape = " + list_of(odd_shape_of(m, shapes)), 1);
}

Saying saying_of(std::string_view line) {
  const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
  if (has("Detected mismatch between collectives")) return Saying::Fingerprint;
  if (has("appears not to match")) return Saying::Construction;
  if (has("op.preamble.length") || has("MPI_ERR_TRUNCATE")) return Saying::Size;
  if (has("Connection closed")) return Saying::Closed;
  return Saying::Other;
}

/// Every rank's calls in its own order, and where they do not agree.
std::vector<std::vector<CallBox>> calls_of(const sim::Trace& trace) {
  std::vector<std::vector<CallBox>> out(static_cast<std::size_t>(std::max(0, trace.header.world_size)));
  std::vector<std::vector<std::uint32_t>> ids(out.size());
  std::vector<std::int64_t> step(out.size(), 0);
  for (const std::uint32_t i : trace.order()) {
    const sim::Event& e = trace.events()[i];
    if (e.rank() < 0 || static_cast<std::size_t>(e.rank()) >= out.size()) continue;
    const auto r = static_cast<std::size_t>(e.rank());
    if (e.type == sim::EventType::PhaseBegin) step[r] = e.phase.step;
    if (e.type == sim::EventType::CollectiveEnqueued) {
      out[r].push_back({step[r], e.collective.collective});
      ids[r].push_back(e.collective.coll);
    } else if (e.type == sim::EventType::CollectiveFinished) {
      for (std::size_t k = 0; k < ids[r].size(); ++k)
        if (ids[r][k] == e.collective.coll) out[r][k].done = true;
    }
  }
  std::size_t most = 0;
  for (const auto& calls : out) most = std::max(most, calls.size());
  for (std::size_t k = 0; k < most; ++k) {
    bool agrees = true;
    for (const auto& calls : out)
      agrees = agrees && k < calls.size() && k < out.front().size() && calls[k].step == out.front()[k].step &&
               calls[k].collective == out.front()[k].collective;
    for (auto& calls : out)
      if (k < calls.size()) calls[k].agrees = agrees;
  }
  return out;
}

}  // namespace

std::string_view to_word(Mismatch mismatch) {
  constexpr std::string_view kWords[] = {"none",        "other_count", "tail",  "same_count", "same_width",
                                         "other_width", "op",          "order", "skip",       "construction"};
  return kWords[static_cast<std::size_t>(mismatch)];
}

std::string_view to_word(Stack stack) {
  constexpr std::string_view kWords[] = {"nccl", "detail", "gloo", "mpi"};
  return kWords[static_cast<std::size_t>(stack)];
}

sim::Shape all_shape_of(Mismatch m, const Shapes& shapes) {
  if (m == Mismatch::Tail) return sim::Shape{{409'598}};
  if (m == Mismatch::Construction) return sim::Shape{{105}};  // the parameters of 2-8-8-1
  const bool same = shapes.all.count() == shapes.odd.count();
  if (m == Mismatch::SameCount && (!same || shapes.all == shapes.odd)) return sim::Shape{{4096, 4096}};
  if (about_shapes(m)) return shapes.all;
  return sim::Shape{{8}};
}

sim::Shape odd_shape_of(Mismatch m, const Shapes& shapes) {
  if (m == Mismatch::Tail) return sim::Shape{{409'600}};
  if (m == Mismatch::Construction) return sim::Shape{{55}};  // of 2-8-3-1
  const bool same = shapes.all.count() == shapes.odd.count();
  if (m == Mismatch::SameCount && (!same || shapes.all == shapes.odd)) return sim::Shape{{2048, 8192}};
  if (m == Mismatch::OtherCount && same) return sim::Shape{{512, 512}};
  if (m == Mismatch::None) return shapes.all;
  if (about_shapes(m)) return shapes.odd;
  return sim::Shape{{8}};
}

sim::Scenario scenario_of(Mismatch m, Stack stack, const Shapes& shapes) {
  RINGSIDE_CHECK(VerdictTable::applies(m, stack));
  const sim::Shape all = all_shape_of(m, shapes);
  const bool tail = m == Mismatch::Tail, network = m == Mismatch::Construction;
  const bool steps = m == Mismatch::Order || m == Mismatch::Skip || network;
  const bool numbers = all.count() <= kNumbersUpTo && odd_shape_of(m, shapes).count() <= kNumbersUpTo;
  std::string text =
      "seed = 1\n[cluster]\nnodes = 1\ngpus_per_node = " + std::to_string(tail ? 8 : shapes.world);
  text += "\n[tensor]\ndtype = \"float32\"\n";
  if (!network)
    text += "shape = " + list_of(all) + "\nvalues = " + (numbers ? "\"index\"" : "\"none\"") + "\n";
  text += "[training]\nsteps = " + std::string(steps ? "4" : "1") +
          "\nforward = \"30ms\"\nloss = \"1ms\"\nbackward = \"60ms\"\noptimizer = \"5ms\"\n";
  if (network) text += "[training.network]\nenabled = true\nlayers = [2, 8, 8, 1]\n";
  // NCCL cuts by its own rule: whether two counts need the same number of transfers depends on it.
  const bool nccl = (stack == Stack::Nccl || stack == Stack::NcclDetail) && (about_shapes(m) || tail);
  text += "[collective]\nop = \"sum\"\nchunking = \"" + std::string(nccl ? "nccl" : "even") +
          "\"\n[stack]\n" + stack_toml(stack) + fault_toml(m, shapes);
  auto scenario = sim::parse_scenario(text, "same-shape");
  RINGSIDE_CHECK(static_cast<bool>(scenario));
  return std::move(*scenario);
}

Verdict verdict_of(const sim::Simulation& simulation) {
  Verdict out;
  const sim::Trace& trace = simulation.trace;
  bool timed_out = false;
  for (const std::uint32_t i : trace.order()) {
    const sim::Event& e = trace.events()[i];
    timed_out = timed_out || e.type == sim::EventType::WatchdogExpired;
    if (out.who >= 0) continue;
    if (e.type == sim::EventType::Error) {
      out.who = e.rank();
      out.line = trace.string(e.text.text);
      out.t_ns = e.t;
    } else if (e.type == sim::EventType::WatchdogExpired) {
      out.who = e.rank();
      out.line = trace.string(e.watchdog.text);
      out.t_ns = e.t;
    }
  }
  for (const sim::CollectiveOutcome& one : simulation.collectives)
    out.collectives_done +=
        one.outcome == sim::Outcome::Completed || one.outcome == sim::Outcome::WrongResult ? 1 : 0;
  switch (simulation.outcome) {
    case sim::Outcome::Completed:
    case sim::Outcome::Nan:
      out.ending = Ending::Fine;
      break;
    case sim::Outcome::WrongResult:
      out.ending = Ending::Silent;
      break;
    case sim::Outcome::Error:
      out.ending = timed_out ? Ending::TimesOut : Ending::Says;
      out.saying = saying_of(out.line);
      break;
    case sim::Outcome::Timeout:
      out.ending = Ending::TimesOut;
      break;
    case sim::Outcome::Hang:
      out.ending = Ending::Waits;
      out.t_ns = simulation.time_ns;
      break;
  }
  if (!simulation.collectives.empty())
    for (const auto& result : simulation.collectives.back().result)
      if (result) out.first.push_back(sim::to_double(result->at(0)));
  out.calls = calls_of(trace);
  return out;
}

void VerdictTable::set_shapes(const Shapes& shapes) {
  if (shapes == shapes_) return;
  shapes_ = shapes;
  cells_ = {};
}

const Verdict& VerdictTable::at(Mismatch mismatch, Stack stack) {
  auto& cell = cells_[static_cast<std::size_t>(mismatch)][static_cast<std::size_t>(stack)];
  if (!cell) cell = verdict_of(sim::simulate(scenario_of(mismatch, stack, shapes_)));
  return *cell;
}

sim::Tensor example_gradient(int rank) {
  constexpr int kValues[4][9] = {{3, -1, 4, 1, 5, 2, 0, 2, -3},
                                 {2, 6, -2, 3, 8, 1, 4, -1, 3},
                                 {1, 0, 2, -2, 4, 3, 1, 1, 0},
                                 {-1, 2, 1, 2, 3, -4, 2, 0, 5}};
  sim::Tensor out(sim::DType::Float32, sim::Shape{{3, 3}});
  for (int i = 0; i < 9; ++i) out.set(i, sim::make_scalar(sim::DType::Float32, kValues[rank % 4][i]));
  return out;
}

sim::Tensor sum_of_gradients(int world) {
  sim::Tensor sum = example_gradient(0);
  for (int r = 1; r < world; ++r) {
    const sim::Tensor next = example_gradient(r);
    sim::reduce_into(sim::DType::Float32, sim::ReduceOp::Sum, next.data, sum.data);
  }
  return sum;
}

Overlay overlay_of(const sim::Shape& all, const sim::Shape& odd) {
  constexpr std::int64_t kMost = 8;
  const auto flat = [](const sim::Shape& s) {
    const std::int64_t columns = s.extents.empty() ? 1 : s.extents.back();
    return std::array<std::int64_t, 2>{s.count() / columns, columns};
  };
  const auto a = flat(all), b = flat(odd);
  const std::int64_t most = std::max({a[0], a[1], b[0], b[1]});
  const std::int64_t tile = std::gcd(std::gcd(a[0], a[1]), std::gcd(b[0], b[1]));
  const auto tiles = [](std::int64_t extent, std::int64_t size) {
    return static_cast<int>(std::max<std::int64_t>(1, (extent + size / 2) / size));
  };
  Overlay out;
  const bool exact = most / tile <= kMost;
  std::int64_t size = exact ? tile : std::max<std::int64_t>(1, (most + kMost - 1) / kMost);
  // Four tiles along the common shape tell more than one.
  while (exact && std::max(a[0], a[1]) / size < 4 && size % 2 == 0 && most / (size / 2) <= kMost) size /= 2;
  out.tile = exact ? size : 0;
  out.all_rows = tiles(a[0], size);
  out.all_columns = tiles(a[1], size);
  out.odd_rows = tiles(b[0], size);
  out.odd_columns = tiles(b[1], size);
  return out;
}

/// Everybody adds in the order of the seats. Number k of a sheet needs number k of all others.
PaperStory paper_at(Paper paper, double share) {
  PaperStory out;
  share = std::clamp(share, 0.0, 1.0);
  constexpr int kPeople = PaperStory::kPeople, kNumbers = PaperStory::kNumbers;
  if (paper == Paper::All) {
    out.added = std::min(kPeople, static_cast<int>(share * (kPeople + .25)));
    return out;
  }
  // R2's sheet is the short one, or the missing one: two sheets go in before it is its turn.
  out.added = std::min(2, static_cast<int>(share * 4));
  if (paper == Paper::Half && share >= .75) out.stuck_at = kNumbers / 2;
  if (paper == Paper::Absent && share >= .55) out.waiting = true;
  return out;
}

}  // namespace ringside::app
