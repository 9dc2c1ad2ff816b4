#include "src/runtime/debug_flags.h"

#include <fstream>

#include "gtest/gtest.h"

namespace kiln::runtime {
namespace {

DebugFlags Read(absl::string_view text, std::string* warnings = nullptr) {
  DebugFlags flags;
  testing::internal::CaptureStderr();
  ReadFlags(text, "TEST", &flags);
  const std::string said = testing::internal::GetCapturedStderr();
  if (warnings != nullptr) *warnings = said;
  if (warnings == nullptr) EXPECT_EQ(said, "");
  return flags;
}

TEST(DebugFlagsTest, WordsAndQuotes) {
  const DebugFlags flags = Read(
      " --xla_dump_to='/tmp/a folder'  --xla_dump_hlo_as_text --xla_dump_hlo_as_html=false\n"
      "--xla_disable_hlo_passes=cse,,dce --xla_dump_max_hlo_modules=3 -xla_hlo_profile=1 ");
  EXPECT_EQ(flags.dump_to, "/tmp/a folder");
  EXPECT_TRUE(flags.dump_text);
  EXPECT_FALSE(flags.dump_html);
  EXPECT_TRUE(flags.profile);
  EXPECT_EQ(flags.dump_max_modules, 3);
  EXPECT_EQ(flags.disabled_passes, (std::vector<std::string>{"cse", "dce"}));
}

TEST(DebugFlagsTest, FileOfFlags) {
  const std::string path = testing::TempDir() + "/flags.txt";
  std::ofstream(path) << "--xla_dump_hlo_pass_re=fusion\n--xla_dump_hlo_as_dot\n";
  const DebugFlags flags = Read(path);
  EXPECT_EQ(flags.dump_pass_re, "fusion");
  EXPECT_TRUE(flags.dump_dot);
  std::string warnings;
  Read("/no/such/file", &warnings);
  EXPECT_NE(warnings.find("/no/such/file is neither a flag nor a file"), std::string::npos) << warnings;
}

TEST(DebugFlagsTest, WhatIsUnknownWarnsOnce) {
  std::string warnings;
  const DebugFlags flags =
      Read("--xla_dmup_to=x --xla_gpu_autotune_level=2 --xla_dump_max_hlo_modules=many", &warnings);
  EXPECT_NE(warnings.find("--xla_dmup_to is no flag: did you mean --xla_dump_to?"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("--xla_gpu_autotune_level has no effect on Kiln"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("xla_dump_max_hlo_modules, 'many' is not a valid int64 value"), std::string::npos)
      << warnings;
  EXPECT_EQ(flags.dump_to, "");
  EXPECT_EQ(flags.dump_max_modules, -1);
  Read("--xla_dmup_to=y", &warnings);
  EXPECT_EQ(warnings, "");
}

TEST(DebugFlagsTest, WhatFollowsFromLittle) {
  DebugFlags place;
  place.dump_to = "folder";
  place.Complete();
  EXPECT_TRUE(place.dump_text);
  DebugFlags format;
  format.dump_proto = true;
  format.Complete();
  EXPECT_EQ(format.dump_to, "-");
  DebugFlags none;
  none.dump_long_text = true;
  none.Complete();
  EXPECT_FALSE(none.Dumps());
}

TEST(DebugFlagsTest, DebugOptions) {
  // xla_dump_to, xla_dump_hlo_as_html, xla_disable_hlo_passes twice, and a field of another flag.
  DebugFlags flags;
  const std::string proto("\xea\x06\x01x\xa0\x07\x01\xf2\x01\x01p\xf2\x01\x01q\x98\x02\x01", 18);
  ASSERT_TRUE(ReadAllFlags(proto, &flags).ok());
  EXPECT_EQ(flags.dump_to, "x");
  EXPECT_TRUE(flags.dump_html);
  EXPECT_EQ(flags.disabled_passes, (std::vector<std::string>{"p", "q"}));
  EXPECT_FALSE(ReadAllFlags(proto.substr(0, 3), &flags).ok());
  EXPECT_FALSE(ReadAllFlags(std::string("\xe8\x06\x01", 3), &flags).ok());  // a number where a text should be
}

TEST(DebugFlagsTest, PassesByEitherName) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(PassesToDisable({"algsimp", "row_fusion", "simplification", "no-such-pass"}),
            (std::vector<std::string>{"algebraic-simplifier", "row-fusion", "simplification"}));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no pass 'no-such-pass'"), std::string::npos);
}

TEST(DebugFlagsTest, WhatHoldsForTheProcessIsNoProgramsOwn) {
  cpu::CompileOptions options;
  const DebugFlags flags = Read("--xla_cpu_max_isa=AVX2 --kiln_tuning=avx2");
  EXPECT_EQ(flags.max_isa, "AVX2");
  EXPECT_EQ(flags.tuning, "avx2");
  EXPECT_EQ(Read("--kiln_emulated_isa=AVX512").emulated_isa, "AVX512");
  testing::internal::CaptureStderr();
  ApplyFlags(flags, &options);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("for a whole process"), std::string::npos);
}

TEST(DebugFlagsTest, ExcessPrecisionIsAPass) {
  cpu::CompileOptions usual, rounded;
  ApplyFlags(Read("--xla_allow_excess_precision"), &usual);
  ApplyFlags(Read("--xla_allow_excess_precision=false"), &rounded);
  EXPECT_TRUE(usual.disabled_passes.empty());
  EXPECT_EQ(rounded.disabled_passes, std::vector<std::string>{"float-normalization"});
}

}  // namespace
}  // namespace kiln::runtime
