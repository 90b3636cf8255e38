// Reading traces: what the writer wrote comes back byte for byte; damaged and hostile files end with a line
// number and keep what stood before.
#include "backend/trace_reader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "backend/files.hpp"
#include "backend/trace_file.hpp"
#include "sim/diagnosis/from_trace.hpp"
#include "sim/job/simulate.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::backend {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const sim::Trace& trace) {
  std::string out;
  const auto done = write_trace(trace, [&](std::string_view piece) {
    out += piece;
    return sim::ok();
  });
  EXPECT_TRUE(done);
  return out;
}

sim::Trace simulated(std::string_view toml) {
  const auto scenario = sim::parse_scenario(toml, "test.toml");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return sim::simulate(*scenario).trace;
}

ReadTrace read_back(std::string_view bytes, std::size_t piece = SIZE_MAX) {
  TraceReader reader("t.jsonl");
  for (std::size_t at = 0; at < bytes.size(); at += std::min(piece, bytes.size() - at))
    reader.feed(bytes.substr(at, piece));
  reader.finish();
  return {std::move(reader.trace()), reader.problem(), reader.lines()};
}

const char* const kScenarios[] = {
    "[tensor]\nshape = [5]\n",
    "[tensor]\nshape = [6]\ndtype = \"float16\"\nvalues = [[nan, inf, -inf, -0.0, 0.1, 65504], [1, 2, 3, "
    "-0.0, 5, 6], "
    "[1, 2, 3, -0.0, 5, 6], [1, 2, 3, -0.0, 5, 6]]\n[collective]\nop = \"sum\"\n",
    "[tensor]\nshape = [300]\ndtype = \"int64\"\n[collective]\nop = \"sum\"\nreduce = \"200ns\"\n",
    "[tensor]\nshape = [70]\ndtype = \"bfloat16\"\nvalues = { random = \"normal\" }\n[collective]\nchunking "
    "= "
    "\"nccl\"\nchannels = 2\n",
    "[cluster]\nnodes = 4\n[tensor]\nshape = [\"1M\"]\nvalues = \"none\"\n[training]\nsteps = 3\nforward = "
    "\"3ms\"\nbackward = \"6ms\"\njitter = 0.1\n",
};

TEST(TraceReader, GivesBackWhatTheWriterWrote) {
  for (const char* toml : kScenarios) {
    const sim::Trace first = simulated(toml);
    const std::string bytes = bytes_of(first);
    const ReadTrace read = read_back(bytes);
    ASSERT_FALSE(read.problem) << read.problem->message();
    EXPECT_EQ(read.trace.size(), first.size());
    EXPECT_EQ(bytes_of(read.trace), bytes) << toml;
    EXPECT_EQ(trace_hash(read.trace), trace_hash(first));
  }
}

TEST(TraceReader, PiecesOfAnySizeAreTheSame) {
  const std::string bytes = bytes_of(simulated(kScenarios[0]));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100}, bytes.size() - 1})
    EXPECT_EQ(bytes_of(read_back(bytes, piece).trace), bytes) << piece;
}

TEST(TraceReader, SamplesOfChunksKnowTheirExtremes) {
  const ReadTrace read = read_back(bytes_of(simulated(kScenarios[1])));
  for (const sim::Event& e : read.trace.events()) {
    if (e.type != sim::EventType::TensorValues || e.rank() != 0) continue;
    const sim::Sample& sample = read.trace.sample(e.tensor.sample);
    EXPECT_EQ(sample.nan_count, 1);
    EXPECT_EQ(sample.inf_count, 2);
    EXPECT_EQ(sim::to_double(sample.max), std::numeric_limits<double>::infinity());
    return;
  }
  FAIL() << "no tensor event of rank 0";
}

TEST(TraceReader, FramesAreThoseOfTheLiveTrace) {
  const sim::Trace first = simulated(kScenarios[2]);
  const ReadTrace read = read_back(bytes_of(first));
  sim::FrameSource a(first), b(read.trace);
  for (std::int64_t i = 0; i <= 20; ++i) {
    const std::int64_t t = first.end_time() * i / 20;
    const sim::Frame &x = a.frame_at(t), &y = b.frame_at(t);
    ASSERT_EQ(x.collective.cells.size(), y.collective.cells.size());
    for (std::size_t c = 0; c < x.collective.cells.size(); ++c) {
      EXPECT_EQ(x.collective.cells[c].contributions, y.collective.cells[c].contributions);
      EXPECT_EQ(x.collective.cells[c].state, y.collective.cells[c].state);
    }
    EXPECT_EQ(x.collective.transfers_done, y.collective.transfers_done);
  }
}

TEST(TraceReader, TruncatedFilesKeepWhatStandsBefore) {
  const std::string bytes = bytes_of(simulated(kScenarios[0]));
  const std::size_t cut = bytes.find('\n', bytes.size() / 2) + 20;
  const ReadTrace read = read_back(bytes.substr(0, cut));
  ASSERT_TRUE(read.problem);
  const auto lines = std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut), '\n');
  EXPECT_EQ(read.problem->line, lines + 1);
  EXPECT_NE(read.problem->message().find("ends in the middle of a line"), std::string::npos);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(read.trace.size()), lines - 1);  // one line is the header
  // Cut at a line's end nothing is known to be missing; without the last line feed neither.
  EXPECT_FALSE(read_back(bytes.substr(0, bytes.find('\n', bytes.size() / 2) + 1)).problem);
  EXPECT_FALSE(read_back(bytes.substr(0, bytes.size() - 1)).problem);
}

TEST(TraceReader, ReorderedLinesGiveTheSameFrames) {
  const sim::Trace first = simulated(kScenarios[0]);
  const std::string bytes = bytes_of(first);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find('\n', at);
    lines.push_back(bytes.substr(at, end - at + 1));
    at = end + 1;
  }
  std::reverse(lines.begin() + 1, lines.end());
  std::string turned;
  for (const auto& line : lines) turned += line;
  const ReadTrace read = read_back(turned);
  ASSERT_FALSE(read.problem) << read.problem->message();
  sim::FrameSource a(first), b(read.trace);
  const sim::Frame &x = a.frame_at(first.end_time()), &y = b.frame_at(first.end_time());
  EXPECT_EQ(x.collective.transfers_done, y.collective.transfers_done);
  EXPECT_EQ(x.collective.cells.size(), y.collective.cells.size());
}

const std::string kHeader =
    R"({"magic":"ringside-trace","version":1,"source":"simulator","world_size":4,"gpus_per_node":4,"clock":"virtual",)"
    R"("origin_unix_ns":0,"title":"","seed":1,"detail":"chunks"})"
    "\n";

struct BadLine {
  const char* line;
  const char* part;
};

TEST(TraceReader, HostileLinesAreNamed) {
  const BadLine bad[] = {
      {"", "an object is needed"},
      {"{", "a string is needed"},
      {"[]", "an object is needed"},
      {R"({"t":1})", "\"src\" is missing"},
      {R"({"t":1.5,"src":"r0","n":0,"type":"hello"})", "\"t\" must be an integer"},
      {R"({"t":99999999999999999999,"src":"r0","n":0,"type":"hello"})", "\"t\" must be an integer"},
      {R"({"t":9223372036854775807,"src":"r0","n":0,"type":"hello"})", "out of range"},
      {R"({"t":1,"src":"r4","n":0,"type":"weights"})", "no rank or node"},
      {R"({"t":1,"src":"r-1","n":0,"type":"weights"})", "unknown word"},
      {R"({"t":1,"src":"r9999999999","n":0,"type":"weights"})", "unknown word"},
      {R"({"t":1,"src":"r0","n":-1,"type":"weights"})", "out of range"},
      {R"({"t":1,"src":"r0","n":4294967295,"type":"weights"})", "out of range"},
      {R"({"t":1,"src":"r0","n":0,"type":"wights"})", "unknown word"},
      {R"({"t":1,"src":"r0","n":0,"type":"weights","step":1,"digest":"xyz"})", "16 hex digits"},
      {R"({"t":1,"src":"r0","n":0,"type":"exit"})", "\"code\" is missing"},
      {R"({"t":1,"src":"r0","n":0,"type":"log","text":5})", "must be a string"},
      {R"({"t":1,"src":"r0","n":0,"type":"log","text":"\q"})", "bad escape"},
      {R"({"t":1,"src":"r0","n":0,"type":"log","text":"a)", "does not end"},
      {R"({"t":1,"src":"r0","n":0,"type":"weights","step":1,"digest":"0123456789abcdef"} x)",
       "after the end"},
      {R"({"t":1,"src":"r0","n":0,"type":"tensor","name":"a","shape":[0],"dtype":"float32"})", "no shape"},
      {R"({"t":1,"src":"r0","n":0,"type":"tensor","name":"a","shape":[1],"dtype":"float32","values":{"dtype":"float32","count":2,"all":[1],"digest":"0123456789abcdef"}})",
       "as many numbers"},
      {R"({"t":1,"src":"r0","n":0,"type":"tensor","name":"a","shape":[1],"dtype":"int32","values":{"dtype":"int32","count":1,"all":[1.5],"digest":"0123456789abcdef"}})",
       "numbers of type int32"},
      {R"({"t":1,"src":"r0","n":0,"type":"ring_step_begin","comm":"w","seq":1,"channel":0,"loop":0,"step":1,"chunk":0,"peer":-2,"bytes":4,"primitive":"send"})",
       "out of range"},
  };
  const std::string good =
      R"({"t":0,"src":"r0","n":0,"type":"weights","step":1,"digest":"0123456789abcdef"})";
  for (const BadLine& line : bad) {
    const ReadTrace read = read_back(kHeader + good + "\n" + line.line + "\n" + good + "\n");
    ASSERT_TRUE(read.problem) << line.line;
    EXPECT_EQ(read.problem->line, 3) << line.line;
    EXPECT_NE(read.problem->message().find(line.part), std::string::npos) << read.problem->message();
    EXPECT_EQ(read.trace.size(), 1u) << line.line;
  }
}

TEST(TraceReader, HeadersAreChecked) {
  const auto problem = [](const std::string& text) {
    const ReadTrace read = read_back(text);
    return read.problem ? read.problem->message() : std::string("none");
  };
  EXPECT_NE(problem("").find("the file is empty"), std::string::npos);
  EXPECT_NE(problem("hello\n").find("not a Ringside trace"), std::string::npos);
  EXPECT_NE(problem("{\"magic\":\"other\"}\n").find("not a Ringside trace"), std::string::npos);
  std::string newer = kHeader;
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_NE(problem(newer).find("newer Ringside"), std::string::npos);
  std::string huge = kHeader;
  huge.replace(huge.find("\"world_size\":4"), 14, "\"world_size\":4000000000");
  EXPECT_NE(problem(huge).find("\"world_size\" is out of range"), std::string::npos);
  EXPECT_EQ(problem(kHeader), "none");
}

TEST(TraceReader, LimitsHold) {
  const std::string line = R"({"t":0,"src":"r0","n":0,"type":"weights","step":1,"digest":"0123456789abcdef"})"
                           "\n";
  TraceLimits limits;
  limits.max_events = 3;
  limits.max_line = 200;
  TraceReader events("t", limits);
  events.feed(kHeader + line + line + line + line);
  ASSERT_TRUE(events.problem());
  EXPECT_EQ(events.trace().size(), 3u);
  TraceReader lines("t", limits);
  lines.feed(kHeader + std::string(300, ' '));
  ASSERT_TRUE(lines.problem());
  EXPECT_NE(lines.problem()->message().find("the line is too long"), std::string::npos);
  limits.max_memory = 300;
  TraceReader memory("t", limits);
  memory.feed(kHeader + line + line + line);
  ASSERT_TRUE(memory.problem());
  EXPECT_NE(memory.problem()->message().find("too big"), std::string::npos);
}

TEST(TraceReader, ChunkTablesOfHostileCollectivesStaySmall) {
  // 2^40 elements in NCCL's loops would be two million chunks, and 64 times as many transfers.
  const ReadTrace read = read_back(
      kHeader +
      R"({"t":0,"src":"r0","n":0,"type":"collective_enqueued","comm":"w","seq":1,"step":1,"collective":"all_reduce","op":"sum","root":0,"dtype":"float32","count":1099511627776,"shape":[1099511627776],"algorithm":"ring","order":"nccl","chunking":"nccl","channels":1,"world_size":4,"ring_steps":126,"reduce_steps":63,"transfers":8064})"
      "\n");
  ASSERT_EQ(read.trace.size(), 1u) << read.problem->message();
  EXPECT_TRUE(read.trace.collective(0).chunks.chunks.empty());
}

TEST(TraceFile, IsWrittenReadAndHashed) {
  const fs::path folder = fs::path(testing::TempDir()) / "ringside trace file";
  fs::create_directories(folder);
  const std::string path = (folder / "a b.jsonl").string();
  const sim::Trace trace = simulated(kScenarios[0]);
  ASSERT_TRUE(write_trace_file(trace, path));
  const auto read = read_trace_file(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(read->problem);
  EXPECT_EQ(trace_hash(read->trace), trace_hash(trace));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()),
            1);  // no temporary stays
  EXPECT_FALSE(read_trace_file((folder / "none").string()));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ringside::backend
