// Files: only regular ones, only so big, only below the scenario's folder; output appears whole or not at
// all.
#include "backend/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backend/sha256.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::backend {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("ringside files " + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "job/grads");
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  void put(const char* name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  fs::path folder_;
};

TEST_F(Files, RegularFilesUpToTheLimit) {
  put("a", "hello");
  put("empty", "");
  EXPECT_EQ(*read_file(path("a"), 5), "hello");
  EXPECT_EQ(*read_file(path("empty"), 5), "");
  EXPECT_NE(read_file(path("a"), 4).error().message().find("too big"), std::string::npos);
  EXPECT_NE(read_file(path("none"), 4).error().message().find("cannot be opened"), std::string::npos);
  EXPECT_NE(read_file(path("job"), 4).error().message().find("is a folder"), std::string::npos);
  EXPECT_NE(read_file("/dev/zero", 4).error().message().find("not a regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(read_file(path("pipe"), 4).error().message().find("not a regular file"), std::string::npos);
  EXPECT_FALSE(read_file(std::string("a\0b", 3), 4));
}

TEST_F(Files, ScenariosNameFilesBelowTheirFolder) {
  put("secret.npy", "secret");
  put("job/grads/r0.npy", "zero");
  fs::create_symlink(folder_ / "secret.npy", folder_ / "job/grads/link.npy");
  fs::create_symlink(folder_ / "job/grads/r0.npy", folder_ / "job/inside.npy");
  const auto load = scenario_loader(path("job/s.toml"), false);
  EXPECT_EQ(*load("grads/r0.npy"), "zero");
  EXPECT_EQ(*load("grads/../grads/r0.npy"), "zero");
  EXPECT_EQ(*load("inside.npy"), "zero");
  EXPECT_EQ(*load(path("job/grads/r0.npy")), "zero");  // an absolute path that leads inside
  for (const std::string& outside : {std::string("../secret.npy"), std::string("grads/link.npy"),
                                     path("secret.npy"), std::string("/etc/passwd")}) {
    const auto bytes = load(outside);
    ASSERT_FALSE(bytes) << outside;
    EXPECT_NE(bytes.error().message().find("outside the scenario's folder"), std::string::npos) << outside;
    EXPECT_NE(bytes.error().message().find("--allow-outside"), std::string::npos);
  }
  const auto free = scenario_loader(path("job/s.toml"), true);
  EXPECT_EQ(*free("../secret.npy"), "secret");
  EXPECT_EQ(*free("grads/link.npy"), "secret");
  EXPECT_FALSE(free("none.npy"));
}

TEST_F(Files, AFolderWithTheSameBeginningIsOutside) {
  fs::create_directories(folder_ / "job-secret");
  put("job-secret/x.npy", "x");
  EXPECT_FALSE(scenario_loader(path("job/s.toml"), false)("../job-secret/x.npy"));
}

TEST_F(Files, ScenarioWithFiles) {
  for (int r = 0; r < 4; ++r) {
    sim::Tensor tensor(sim::DType::Float32, sim::Shape{{2}});
    tensor.set(0, sim::make_scalar(sim::DType::Float32, r));
    put(("job/grads/rank" + std::to_string(r) + ".npy").c_str(), sim::write_npy(tensor));
  }
  put("job/s.toml", "[tensor]\nvalues = { file = \"grads/rank{rank}.npy\" }\n");
  const auto scenario = load_scenario(path("job/s.toml"));
  ASSERT_TRUE(scenario) << scenario.error().message();
  EXPECT_EQ(sim::to_double(scenario->tensor.list[3]->at(0)), 3.0);
  put("job/grads/rank2.npy", "\x93NUMPY");
  const auto broken = load_scenario(path("job/s.toml"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().file, "grads/rank2.npy");
}

TEST_F(Files, OutputAppearsByCommitOnly) {
  put("out", "before");
  {
    auto file = AtomicFile::create(path("out"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
    EXPECT_EQ(*read_file(path("out"), 99), "before");
  }
  EXPECT_EQ(*read_file(path("out"), 99), "before");  // given up: as it was
  ASSERT_TRUE(write_file(path("out"), "after"));
  EXPECT_EQ(*read_file(path("out"), 99), "after");
  EXPECT_FALSE(write_file(path("none/out"), "x"));
  EXPECT_FALSE(write_file(path("job"), "x"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(Files, OutputGoesThroughLinksAndNeverReplacesADevice) {
  put("real", "old");
  fs::create_symlink(folder_ / "real", folder_ / "link");
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(*read_file(path("real"), 99), "new");
  ASSERT_TRUE(write_file("/dev/null", "gone"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, RecordingsBelongToTheirOwner) {
  ASSERT_TRUE(write_file(path("secret"), "x", true));
  EXPECT_EQ(fs::status(path("secret")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace ringside::backend
