#include "backend/import/pickle.hpp"

#include <gtest/gtest.h>

#include "pickle_writer.hpp"

namespace ringside::backend {
namespace {

using test::PickleWriter;
using namespace std::string_literals;

std::string error_of(std::string_view bytes, const PlainLimits& limits = {}) {
  const auto result = parse_pickle(bytes, "dump_3", limits);
  return result ? "" : result.error().message();
}

void expect_error(std::string_view bytes, std::string_view words) {
  const std::string message = error_of(bytes);
  EXPECT_NE(message.find(words), std::string::npos) << "got: " << message << "\nwant: " << words;
}

TEST(Pickle, ReadsWhatTorchWrites) {
  PickleWriter w;
  w.dict([](PickleWriter& p) {
    p.text("version").text("2.10");
    p.text("sizes").list(
        [](PickleWriter& q) { q.integer(4096).integer(-1).integer(1758610505592849034).integer(70'000); });
    p.text("flags").list([](PickleWriter& q) { q.boolean(true).boolean(false).none().text("version"); });
    p.text("pair").text("a").text("b").op('\x86');
  });
  const auto data = parse_pickle(w.done(), "dump");
  ASSERT_TRUE(data) << data.error().message();
  const auto root = data->root();
  EXPECT_EQ(root.size(), 4u);
  EXPECT_EQ(root.find("version").text(), "2.10");
  EXPECT_EQ(root.find("sizes").at(0).integer(), 4096);
  EXPECT_EQ(root.find("sizes").at(1).integer(), -1);
  EXPECT_EQ(root.find("sizes").at(2).integer(), 1758610505592849034);
  EXPECT_EQ(root.find("sizes").at(3).integer(), 70'000);
  EXPECT_EQ(root.find("flags").at(0).boolean(), true);
  EXPECT_EQ(root.find("flags").at(1).boolean(), false);
  EXPECT_TRUE(root.find("flags").at(2).is_null());
  EXPECT_EQ(root.find("flags").at(3).text(), "version");
  EXPECT_EQ(root.find("pair").at(1).text(), "b");
  EXPECT_TRUE(root.find("missing").find("deeper").at(7).is_null());
}

// Made by Python 3.11: pickle.dumps({"a": [1, 2.5, None, True, "é", 2**40, -5, 2**70], "b": (1, {})},
// protocol) for protocol 0 to 5.
TEST(Pickle, ReadsEveryProtocolOfPlainData) {
  const std::string dumps[] = {
      "\x28\x64\x70\x30\x0a\x56\x61\x0a\x70\x31\x0a\x28\x6c\x70\x32\x0a\x49\x31\x0a\x61\x46\x32\x2e\x35"s +
          "\x0a\x61\x4e\x61\x49\x30\x31\x0a\x61\x56\xe9\x0a\x70\x33\x0a\x61\x4c\x31\x30\x39\x39\x35\x31\x31"s +
          "\x36\x32\x37\x37\x37\x36\x4c\x0a\x61\x49\x2d\x35\x0a\x61\x4c\x31\x31\x38\x30\x35\x39\x31\x36\x32"s +
          "\x30\x37\x31\x37\x34\x31\x31\x33\x30\x33\x34\x32\x34\x4c\x0a\x61\x73\x56\x62\x0a\x70\x34\x0a\x28"s +
          "\x49\x31\x0a\x28\x64\x70\x35\x0a\x74\x70\x36\x0a\x73\x2e"s,
      "\x7d\x71\x00\x28\x58\x01\x00\x00\x00\x61\x71\x01\x5d\x71\x02\x28\x4b\x01\x47\x40\x04\x00\x00\x00"s +
          "\x00\x00\x00\x4e\x49\x30\x31\x0a\x58\x02\x00\x00\x00\xc3\xa9\x71\x03\x4c\x31\x30\x39\x39\x35\x31"s +
          "\x31\x36\x32\x37\x37\x37\x36\x4c\x0a\x4a\xfb\xff\xff\xff\x4c\x31\x31\x38\x30\x35\x39\x31\x36\x32"s +
          "\x30\x37\x31\x37\x34\x31\x31\x33\x30\x33\x34\x32\x34\x4c\x0a\x65\x58\x01\x00\x00\x00\x62\x71\x04"s +
          "\x28\x4b\x01\x7d\x71\x05\x74\x71\x06\x75\x2e"s,
      "\x80\x02\x7d\x71\x00\x28\x58\x01\x00\x00\x00\x61\x71\x01\x5d\x71\x02\x28\x4b\x01\x47\x40\x04\x00"s +
          "\x00\x00\x00\x00\x00\x4e\x88\x58\x02\x00\x00\x00\xc3\xa9\x71\x03\x8a\x06\x00\x00\x00\x00\x00\x01"s +
          "\x4a\xfb\xff\xff\xff\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40\x65\x58\x01\x00\x00\x00\x62\x71"s +
          "\x04\x4b\x01\x7d\x71\x05\x86\x71\x06\x75\x2e"s,
      "\x80\x03\x7d\x71\x00\x28\x58\x01\x00\x00\x00\x61\x71\x01\x5d\x71\x02\x28\x4b\x01\x47\x40\x04\x00"s +
          "\x00\x00\x00\x00\x00\x4e\x88\x58\x02\x00\x00\x00\xc3\xa9\x71\x03\x8a\x06\x00\x00\x00\x00\x00\x01"s +
          "\x4a\xfb\xff\xff\xff\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40\x65\x58\x01\x00\x00\x00\x62\x71"s +
          "\x04\x4b\x01\x7d\x71\x05\x86\x71\x06\x75\x2e"s,
      "\x80\x04\x95\x41\x00\x00\x00\x00\x00\x00\x00\x7d\x94\x28\x8c\x01\x61\x94\x5d\x94\x28\x4b\x01\x47"s +
          "\x40\x04\x00\x00\x00\x00\x00\x00\x4e\x88\x8c\x02\xc3\xa9\x94\x8a\x06\x00\x00\x00\x00\x00\x01\x4a"s +
          "\xfb\xff\xff\xff\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40\x65\x8c\x01\x62\x94\x4b\x01\x7d\x94"s +
          "\x86\x94\x75\x2e"s,
      "\x80\x05\x95\x41\x00\x00\x00\x00\x00\x00\x00\x7d\x94\x28\x8c\x01\x61\x94\x5d\x94\x28\x4b\x01\x47"s +
          "\x40\x04\x00\x00\x00\x00\x00\x00\x4e\x88\x8c\x02\xc3\xa9\x94\x8a\x06\x00\x00\x00\x00\x00\x01\x4a"s +
          "\xfb\xff\xff\xff\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40\x65\x8c\x01\x62\x94\x4b\x01\x7d\x94"s +
          "\x86\x94\x75\x2e"s,
  };
  for (const auto& bytes : dumps) {
    const auto data = parse_pickle(bytes, "dump");
    ASSERT_TRUE(data) << data.error().message();
    const auto a = data->root().find("a");
    ASSERT_EQ(a.size(), 8u);
    EXPECT_EQ(a.at(0).integer(), 1);
    EXPECT_EQ(a.at(1).real(), 2.5);
    EXPECT_TRUE(a.at(2).is_null());
    EXPECT_EQ(a.at(3).boolean(), true);
    EXPECT_EQ(a.at(5).integer(), std::int64_t{1} << 40);
    EXPECT_EQ(a.at(6).integer(), -5);
    EXPECT_FALSE(a.at(7).integer());  // beyond 64 bits
    EXPECT_EQ(data->root().find("b").at(0).integer(), 1);
    EXPECT_TRUE(data->root().find("b").at(1).is_dict());
  }
}

TEST(Pickle, RefusesEverythingThatCouldExecute) {
  expect_error("\x80\x02"s + "cos\nsystem\nX\x02\x00\x00\x00"s + "id\x85R.",
               "opcode GLOBAL, which would load a class or function (byte 2)");
  expect_error("\x80\x04\x8c\x02os\x8c\x06system\x93."s, "STACK_GLOBAL");
  const std::pair<char, const char*> refused[] = {
      {'R', "REDUCE"}, {'b', "BUILD"},  {'i', "INST"},   {'o', "OBJ"},          {'\x81', "NEWOBJ"},
      {'P', "PERSID"}, {'Q', "PERSID"}, {'\x82', "EXT"}, {'\x92', "NEWOBJ_EX"}, {'\x97', "BUFFER"}};
  for (const auto& [code, word] : refused) expect_error("\x80\x02}"s + code + "rest\n.", word);
  EXPECT_NE(error_of("\x80\x02"s + "cos\nsystem\n.").find("nothing is ever executed"), std::string::npos);
}

TEST(Pickle, LiesAreErrors) {
  expect_error(""s, "cut off");
  expect_error("\x80\x02}", "cut off");
  expect_error("\x80\x02X\xff\xff\xff\x7f"s + "abc.", "says that 2147483647 bytes follow, but only 4 do");
  expect_error("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s + "abc.", "bytes follow");
  expect_error("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f}."s, "frame that is longer than the file");
  expect_error("\x80\x02h\x07.", "memo entry 7, which was never stored");
  expect_error("\x80\x02}r\xff\xff\xff\xff."s, "impossible memo index 4294967295");
  expect_error("\x80\x02(u.", "extends a container that is not there");
  expect_error(
      "\x80\x02K\x01(K\x02"
      "e.",
      "another kind");
  expect_error("\x80\x02}(K\x01u.", "key without value");
  expect_error("\x80\x02.", "empty stack");
  expect_error(
      "\x80\x02"
      "e.",
      "MARK that is not there");
  expect_error("\x80\x09}.", "protocol");
  expect_error("\x80\x02\xff.", "no opcode");
  expect_error("\x80\x02(\x86.", "empty stack");  // may not take from below a MARK
  expect_error("\x80\x02](0.", "empty stack");
}

TEST(Pickle, BombsStayWithinTheBudget) {
  // Each list holds the one before it ten times: 10^100 items when written out, a few hundred nodes here.
  std::string laughs = "\x80\x02]q" + std::string(1, '\0');
  for (int level = 1; level <= 100; ++level) {
    laughs += "](";
    for (int i = 0; i < 10; ++i) laughs += std::string("h") + static_cast<char>(level - 1);
    laughs += std::string("eq") + static_cast<char>(level);
  }
  const auto data = parse_pickle(laughs + ".", "laughs");
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_LT(data->nodes(), 300u);

  // A list in itself.
  const auto cycle = parse_pickle("\x80\x02]q\x00h\x00"s + "a.", "cycle");
  ASSERT_TRUE(cycle);
  EXPECT_EQ(cycle->root().at(0).at(0).at(0).size(), 1u);

  // Ten million nested lists: no recursion anywhere.
  const std::string deep = "\x80\x02" + std::string(3'000'000, ']') + std::string(2'999'999, 'a') + ".";
  EXPECT_TRUE(parse_pickle(deep, "deep"));
  expect_error("\x80\x02" + std::string(10'000'000, ']') + ".", "more values than this reader takes");
  expect_error("\x80\x02" + std::string(20'000'000, '('), "too many values on its stack");
  expect_error("\x80\x02N" + std::string(20'000'000, '2'), "too many values on its stack");
}

TEST(PlainJson, ValuesAndErrorsWithPlaces) {
  const auto data = parse_json(R"({"a":[1,2.5,"x",null,true,18446744073709551615],"b":{"c":"7"}})", "x.json");
  ASSERT_TRUE(data);
  EXPECT_EQ(data->root().find("a").at(1).real(), 2.5);
  EXPECT_FALSE(data->root().find("a").at(5).integer());
  EXPECT_EQ(data->root().find("b").find("c").integer(), 7);
  const auto bad = parse_json("{\"a\": 1,\n  oops}", "x.json");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message().substr(0, 9), "x.json:2:");
  const auto deep = parse_json(std::string(1'000'000, '['), "deep.json");
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().what.find("nested deeper than 200"), std::string::npos);
  PlainLimits small;
  small.max_nodes = 100;
  std::string wide = "[0";
  for (int i = 0; i < 200; ++i) wide += ",1";
  const auto many = parse_json(wide + "]", "wide.json", small);
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().what.find("more values"), std::string::npos);
}

}  // namespace
}  // namespace ringside::backend
