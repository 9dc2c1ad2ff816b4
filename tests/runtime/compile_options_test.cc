#include "src/runtime/compile_options.h"

#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace kiln::runtime {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file(std::string(KILN_TEST_DATA) + "/compile_options/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Field(char number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

TEST(CompileOptionsTest, Defaults) {
  auto options = ParseCompileOptions("");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->num_replicas, 1);
  EXPECT_EQ(options->num_partitions, 1);
  EXPECT_EQ(options->device_ordinal, -1);
}

TEST(CompileOptionsTest, FromJaxOnOneDevice) {
  auto options = ParseCompileOptions(Read("jax_one_device.pb"));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->num_replicas, 1);
  EXPECT_EQ(options->num_partitions, 1);
  EXPECT_EQ(options->device_assignment, (std::vector<int64_t>{0}));
  EXPECT_FALSE(options->portable);
  EXPECT_TRUE(options->argument_layouts.empty());
}

TEST(CompileOptionsTest, FromJaxOnEightDevices) {
  auto options = ParseCompileOptions(Read("jax_eight_devices.pb"));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->num_replicas * options->num_partitions, 8);
  EXPECT_EQ(options->device_assignment, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  const std::string assignment =
      SerializeDeviceAssignment(options->num_replicas, options->num_partitions, options->device_assignment);
  auto again = ParseCompileOptions(Field(3, std::string("\x20\x01\x28\x08", 4) + Field(9, assignment)));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->device_assignment, options->device_assignment);
}

TEST(CompileOptionsTest, NamedOptions) {
  const auto with = [](const std::string& name, const std::string& value) {
    return ParseCompileOptions(Field(7, Field(1, name) + Field(2, value)));
  };
  auto options = with("kiln_max_parallelism", std::string("\x18\x03", 2));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->max_parallelism, 3);
  options = with("kiln_disable_passes", Field(1, "fusion,cse"));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->disabled_passes, (std::vector<std::string>{"fusion", "cse"}));
  EXPECT_FALSE(with("kiln_max_parallelism", Field(1, "many")).ok());
  const absl::Status unknown = with("no_such_option", Field(1, "x")).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.message().find("no_such_option"), absl::string_view::npos);
  EXPECT_TRUE(with("xla_some_flag", std::string("\x10\x01", 2)).ok());
}

// Damaged bytes give an error or other options, and never more than that.
TEST(CompileOptionsTest, SurvivesDamage) {
  const std::string good = Read("jax_eight_devices.pb");
  int refused = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    if (!ParseCompileOptions(good.substr(0, i)).ok()) ++refused;
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      if (!ParseCompileOptions(bad).ok()) ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  std::string deep;
  for (int i = 0; i < 100 && deep.size() < 100; ++i) deep = Field(4, deep);
  EXPECT_FALSE(ParseCompileOptions(Field(1, deep)).ok());
}

}  // namespace
}  // namespace kiln::runtime
