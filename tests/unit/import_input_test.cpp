#include "backend/import/input.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "backend/import/natural_order.hpp"
#include "sim/base/random.hpp"

namespace ringside::backend {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ringside_input_XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, std::string_view bytes) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
  fs::path path;
};

std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (window_log > 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  std::string out(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  if (window_log > 0) {  // unknown size, so that the window is not shrunk to the content
    ZSTD_inBuffer none{text.data(), 0, 0};
    ZSTD_compressStream2(context, &to, &none, ZSTD_e_flush);
  }
  ZSTD_compressStream2(context, &to, &in, ZSTD_e_end);
  out.resize(to.pos);
  ZSTD_freeCCtx(context);
  return out;
}

std::vector<std::string> lines_of(LineSource& source) {
  std::vector<std::string> lines;
  for (Line line; source.next(line);) {
    EXPECT_EQ(line.number, static_cast<std::int64_t>(lines.size()) + 1);
    lines.emplace_back(line.text);
  }
  return lines;
}

std::vector<std::string> lines_of(std::string_view bytes) {
  return lines_of(*text_from_memory("memory", bytes));
}

TEST(ImportInput, LinesKeepNumbersEndsAndInvalidText) {
  EXPECT_EQ(lines_of("a\nb\r\n\nd"), (std::vector<std::string>{"a", "b", "", "d"}));
  EXPECT_EQ(lines_of("\xEF\xBB\xBFx\n"), (std::vector<std::string>{"x"}));
  EXPECT_EQ(lines_of("\xFF\xFE \x80\n"), (std::vector<std::string>{"\xFF\xFE \x80"}));
  EXPECT_TRUE(lines_of("").empty());
  Line line;
  const auto file = text_from_memory("memory", "whole\nhalf");
  ASSERT_TRUE(file->next(line));
  EXPECT_FALSE(line.cut);
  ASSERT_TRUE(file->next(line));
  EXPECT_TRUE(line.cut);
}

TEST(ImportInput, LongLinesAreCutAndTheNextLineIsWhole) {
  for (const std::size_t size : {65'536u, 65'537u, 262'143u, 262'144u, 262'145u, 1'000'000u}) {
    const std::string text = "first\n" + std::string(size, 'x') + "\nlast\n";
    const auto file = text_from_memory("memory", text);
    const auto lines = lines_of(*file);
    ASSERT_EQ(lines.size(), 3u) << size;
    EXPECT_EQ(lines[1].size(), std::min<std::size_t>(size, 65'536)) << size;
    EXPECT_EQ(lines[2], "last");
    EXPECT_EQ(file->cut_lines(), size > 65'536 ? 1 : 0) << size;
    EXPECT_EQ(file->bytes(), static_cast<std::int64_t>(text.size()));
  }
}

TEST(ImportInput, HundredMegabytesWithoutANewline) {
  const std::string text(100'000'000, 'x');
  const auto file = text_from_memory("memory", text);
  const auto lines = lines_of(*file);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].size(), 65'536u);
  EXPECT_EQ(file->cut_lines(), 1);
}

TEST(ImportInput, BlocksAndLinesSeeTheSame) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i) + (i % 7 == 0 ? "\r\n" : "\n");
  text += "tail";
  const auto file = text_from_memory("memory", text);
  std::string joined;
  TextFile::Block block;
  std::int64_t next_line = 1;
  while (file->next_block(block)) {
    EXPECT_EQ(block.first_line, next_line);
    next_line += std::count(block.text.begin(), block.text.end(), '\n');
    joined += block.text;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(file->lines(), 100'001);
  EXPECT_EQ(lines_of(text).size(), 100'001u);
}

TEST(ImportInput, PackedFilesByMagicNotByName) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "step " + std::to_string(i) + "\n";
  const Folder folder;
  folder.write("a.log", gzip(text) + gzip("second member\n"));
  folder.write("b.log", zstd(text) + zstd("second frame\n"));
  folder.write("c.log.gz", text);  // a wrong name
  const std::vector<std::string> paths{folder.path.string()};
  const InputSet set = find_inputs(paths);
  ASSERT_EQ(set.files.size(), 3u);
  EXPECT_TRUE(set.problems.empty());
  for (const auto& file : set.files) {
    EXPECT_EQ(file.kind, InputKind::TextLog) << file.name;
    auto opened = open_text(file);
    ASSERT_TRUE(opened);
    EXPECT_EQ(lines_of(**opened).size(), file.name == "c.log.gz" ? 50'000u : 50'001u) << file.name;
    EXPECT_FALSE((*opened)->problem());
  }
}

TEST(ImportInput, BrokenPackedFilesKeepWhatWasRead) {
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += "step " + std::to_string(sim::mix64(static_cast<std::uint64_t>(i))) + "\n";
  const std::string packed[] = {gzip(text), zstd(text)};
  for (const std::string& whole : packed) {
    const std::string half = whole.substr(0, whole.size() / 2);
    const auto file = text_from_memory("half", half);
    EXPECT_GT(lines_of(*file).size(), 100u);
    ASSERT_TRUE(file->problem());
    EXPECT_NE(file->problem()->what.find("in the middle"), std::string::npos);
    std::string broken = whole;
    for (std::size_t i = broken.size() / 2; i < broken.size() / 2 + 200; ++i) broken[i] = '\x5A';
    const auto other = text_from_memory("broken", broken);
    lines_of(*other);
    EXPECT_TRUE(other->problem());
  }
}

/// The library's decoders of formats from before 0.8 give bytes that nobody wrote.
TEST(ImportInput, AnOldZstdFrameBehindANewOneIsRefused) {
  const std::string bytes = zstd("one\n") + std::string("\x26\xB5\x2F\xFD\x00\x01\x09\x00\x00\x32", 10);
  const auto file = text_from_memory("old", bytes);
  EXPECT_EQ(lines_of(*file).size(), 1u);
  ASSERT_TRUE(file->problem());
  EXPECT_NE(file->problem()->what.find("before zstd 0.8"), std::string::npos);
}

TEST(ImportInput, BombsAndGreatWindowsAreRefused) {
  InputLimits limits;
  limits.max_unpacked = 1'000'000;
  const std::string bombs[] = {gzip(std::string(20'000'000, '\n')), zstd(std::string(20'000'000, '\n'))};
  for (const std::string& bomb : bombs) {
    const auto file = text_from_memory("bomb", bomb, limits);
    EXPECT_EQ(lines_of(*file).size(), 1'000'000u);
    ASSERT_TRUE(file->problem());
    EXPECT_NE(file->problem()->what.find("limit"), std::string::npos);
  }
  const std::string wide_bytes = zstd("hello\n", 28),
                    fitting = zstd("hello\n", 27);  // they outlive their readers
  const auto wide = text_from_memory("wide", wide_bytes);
  EXPECT_TRUE(lines_of(*wide).empty());
  ASSERT_TRUE(wide->problem());
  EXPECT_EQ(lines_of(*text_from_memory("fits", fitting)).size(), 1u);
}

TEST(ImportInput, FoldersGiveEachRegularFileOnceInNaturalOrder) {
  const Folder folder;
  folder.write("rank_10.log", "a\n");
  folder.write("rank_2.log", "b\n");
  folder.write("sub/deep/x.log", "c\n");
  folder.write(".hidden", "d\n");
  folder.write("weights.bin", std::string(5'000, '\x01'));
  fs::create_hard_link(folder.path / "rank_2.log", folder.path / "rank_2_again.log");
  fs::create_symlink(folder.path / "rank_2.log", folder.path / "link.log");
  fs::create_directory_symlink(folder.path, folder.path / "loop");
  ASSERT_EQ(::mkfifo((folder.path / "pipe").c_str(), 0600), 0);
  const std::vector<std::string> paths{folder.path.string(), folder.path.string() + "/rank_10.log"};
  const InputSet set = find_inputs(paths);
  std::vector<std::string> names;
  for (const auto& file : set.files) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"link.log", "rank_10.log", "sub/deep/x.log"}));
  ASSERT_EQ(set.problems.size(), 2u);
  EXPECT_NE(set.problems[0].message().find("pipe: is not a regular file"), std::string::npos)
      << set.problems[0].message();
  EXPECT_NE(set.problems[1].message().find("weights.bin"), std::string::npos);
}

TEST(ImportInput, ClearWordsForWhatCannotBeRead) {
  const Folder folder;
  const std::string closed = folder.write("closed.log", "x\n");
  folder.write("open.log", "y\n");
  fs::create_directory(folder.path / "empty");
  fs::create_directory(folder.path / "shut");
  fs::permissions(closed, fs::perms::none);
  fs::permissions(folder.path / "shut", fs::perms::none);
  const std::vector<std::string> paths{folder.path.string(), (folder.path / "empty").string(),
                                       "/nonexistent/file"};
  const InputSet set = find_inputs(paths);
  std::string all;
  for (const auto& problem : set.problems) all += problem.message() + "\n";
  EXPECT_NE(all.find("the folder holds no files"), std::string::npos) << all;
  EXPECT_NE(all.find("/nonexistent/file: no such file or folder"), std::string::npos) << all;
  if (::geteuid() != 0) {  // root reads everything
    EXPECT_NE(all.find("closed.log: cannot be opened: Permission denied"), std::string::npos) << all;
    EXPECT_NE(all.find("shut: the folder cannot be read: Permission denied"), std::string::npos) << all;
    ASSERT_EQ(set.files.size(), 1u);
    EXPECT_EQ(set.files[0].name, "open.log");
  }
  fs::permissions(folder.path / "shut", fs::perms::owner_all);
}

TEST(ImportInput, ProgressAndCancel) {
  const Folder folder;
  folder.write("a.log", std::string(5 << 20, '\n'));
  folder.write("b.log", "x\n");
  const std::vector<std::string> paths{folder.path.string()};
  std::atomic<bool> cancel = false;
  std::vector<InputProgress> seen;
  InputControl control{
      .limits = {}, .progress = [&](const InputProgress& p) { seen.push_back(p); }, .cancel = &cancel};
  const InputSet set = find_inputs(paths, control);
  {
    InputMeter meter(set, control);
    for (const auto& file : set.files) {
      auto opened = open_text(file, &meter);
      ASSERT_TRUE(opened);
      for (Line line; (*opened)->next(line);) {
      }
      meter.file_done();
    }
  }
  ASSERT_GE(seen.size(), 5u);
  EXPECT_EQ(seen.back().bytes_done, set.bytes);
  EXPECT_EQ(seen.back().files_done, 2);
  cancel = true;
  InputMeter meter(set, control);
  auto opened = open_text(set.files[0], &meter);
  ASSERT_TRUE(opened);
  std::int64_t lines = 0;
  for (Line line; (*opened)->next(line);) ++lines;
  EXPECT_LT(lines, 1 << 20);
  ASSERT_TRUE((*opened)->problem());
  EXPECT_NE((*opened)->problem()->what.find("cancelled"), std::string::npos);
}

TEST(ImportInput, Classifies) {
  const auto kind = [](std::string_view head) { return classify(head, true); };
  EXPECT_EQ(kind(""), InputKind::Empty);
  EXPECT_EQ(kind("step 1 loss 2.5\n"), InputKind::TextLog);
  EXPECT_EQ(kind("\x80\x02}."), InputKind::FlightRecorderPickle);
  EXPECT_EQ(kind("{\"version\":\"2.10\",\"pg_config\":{}}"), InputKind::FlightRecorderJson);
  EXPECT_EQ(kind("{\"nccl_version\":\"2.28.7\",\"communicators_count\":1}"), InputKind::RasJson);
  EXPECT_EQ(kind("{\"timestamp\":\"x\",\"group\":\"LIFECYCLE\",\"event\":\"PEER_DEAD\"}\n"),
            InputKind::RasEvents);
  EXPECT_EQ(kind("NCCL version 2.24.3 compiled with CUDA 12.6\nJob summary\n"), InputKind::RasText);
  EXPECT_EQ(kind("{\"header\":{},\"metadata\":{\"inspector_output_format_version\":\"v4.0\"}}\n"),
            InputKind::InspectorJsonl);
  EXPECT_EQ(kind("{\"loss\": 2.5, \"step\": 3}\n"), InputKind::TextLog);
  std::string noise;
  for (int i = 0; i < 4'000; ++i) noise += static_cast<char>(i * 131 % 251);
  EXPECT_EQ(kind(noise), InputKind::Binary);
  EXPECT_EQ(kind("\x1b[32mcolours\x1b[0m and a \xB0\xA1\xB3\xAA of another code page\n"), InputKind::TextLog);
  EXPECT_EQ(kind(std::string("a log that a crash left with ") + std::string(1, '\0') + std::string(200, '.')),
            InputKind::TextLog);
}

TEST(ImportInput, NaturalOrderIsTotal) {
  EXPECT_TRUE(natural_less("rank_2", "rank_10"));
  EXPECT_TRUE(natural_less("a", "b"));
  EXPECT_FALSE(natural_less("a1", "a1"));
  EXPECT_NE(natural_less("a01", "a1"), natural_less("a1", "a01"));
  EXPECT_TRUE(natural_less("a99999999999999999999", "a100000000000000000000"));
}

}  // namespace
}  // namespace ringside::backend
