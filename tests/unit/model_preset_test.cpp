// The built-in presets: every name of the documentation, sane link parameters, a helpful error.
#include <gtest/gtest.h>

#include <set>

#include "sim/model/preset.hpp"

namespace ringside::sim {
namespace {

TEST(Presets, AllNamesAreThere) {
  for (const char* name :
       {"dgx-v100", "dgx2-v100", "dgx-a100", "a100-hdr", "a100-roce", "dgx-h100", "h100-efa", "h100-roce",
        "hgx-h200", "b200", "gb200-nvl72", "mi300x", "pcie-a100", "pcie-t4", "ethernet-100g"}) {
    const auto preset = find_preset(name);
    ASSERT_TRUE(preset) << name;
    EXPECT_EQ(preset->name, name);
  }
  EXPECT_EQ(builtin_presets().size(), 15U);
}

TEST(Presets, LinksAreUsable) {
  std::set<std::string> names;
  for (const Preset& preset : builtin_presets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    const LinkParams& links = preset.links;
    EXPECT_GT(links.intra_latency_ns, 0) << preset.name;
    EXPECT_GT(links.inter_latency_ns, links.intra_latency_ns) << preset.name;
    EXPECT_GT(links.intra_bytes_per_s, 1'000'000'000) << preset.name;
    EXPECT_GT(links.inter_bytes_per_s, 1'000'000'000) << preset.name;
    EXPECT_GE(links.gpus_per_node, 1) << preset.name;
    EXPECT_GE(links.nics, 1) << preset.name;
  }
}

TEST(Presets, ADgxH100IsWhatTheNameSays) {
  const Preset preset = find_preset("dgx-h100").value();
  EXPECT_EQ(preset.links.gpus_per_node, 8);
  EXPECT_EQ(preset.links.nics, 8);
  EXPECT_EQ(preset.links.inter_bytes_per_s, 50'000'000'000);   // NDR: 400 Gb/s
  EXPECT_EQ(preset.links.intra_bytes_per_s, 370'800'000'000);  // 18 links of 20.6 GB/s
}

TEST(Presets, AnUnknownNameIsExplained) {
  const auto preset = find_preset("dgx-h10");
  ASSERT_FALSE(preset);
  EXPECT_NE(preset.error().message().find("did you mean dgx-h100?"), std::string::npos)
      << preset.error().message();
  EXPECT_NE(preset.error().legal.find("gb200-nvl72"), std::string::npos);
  EXPECT_TRUE(find_preset("zzzzzzzzzz").error().hint.empty());
}

}  // namespace
}  // namespace ringside::sim
