#include "src/base/isa_level.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(IsaLevel, NamesAreInOrder) {
  const std::vector<std::string> names = absl::StrSplit(IsaLevelNames(), ", ");
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(ParseIsaLevel(names[i]), static_cast<IsaLevel>(i)) << names[i];
  EXPECT_EQ(ParseIsaLevel("avx2"), IsaLevel::kAvx2);
  EXPECT_EQ(ParseIsaLevel("AVX3"), std::nullopt);
  EXPECT_EQ(ParseIsaLevel(""), std::nullopt);
}

TEST(IsaLevel, FeaturesComeWithTheirLevel) {
  const std::pair<const char*, IsaLevel> features[] = {
      {"avx", IsaLevel::kAvx},
      {"f16c", IsaLevel::kAvx},
      {"avx2", IsaLevel::kAvx2},
      {"fma", IsaLevel::kAvx2},
      {"avx512f", IsaLevel::kAvx512},
      {"evex512", IsaLevel::kAvx512},
      {"avx512vnni", IsaLevel::kAvx512Vnni},
      {"avxvnni", IsaLevel::kAvx512Vnni},
      {"avx512bf16", IsaLevel::kAvx512Bf16},
      {"amx-tile", IsaLevel::kAmx},
      {"amx-fp16", IsaLevel::kAmxFp16},
  };
  for (int limit = 0; limit <= static_cast<int>(IsaLevel::kAmxFp16); ++limit) {
    LimitIsa(static_cast<IsaLevel>(limit));
    for (const auto& [feature, level] : features) {
      EXPECT_EQ(IsFeatureAllowed(feature), limit >= static_cast<int>(level)) << feature << " at " << limit;
    }
    EXPECT_TRUE(IsFeatureAllowed("sse4.2"));
    EXPECT_TRUE(limit >= static_cast<int>(IsaLevel::kAvx512) || !HasAvx512());
  }
}

}  // namespace
}  // namespace kiln
