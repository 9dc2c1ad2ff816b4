#include "src/runtime/serialization.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/build_id.h"
#include "src/cpu/executable_image.h"
#include "src/hlo/primitive_type.h"

namespace kiln::runtime {
namespace {

using ::testing::HasSubstr;

constexpr int kMutations = 1000;
constexpr uint32_t kSeed = 20240229;

std::string SomeImage() {
  cpu::ExecutableImage image;
  hlo::Shape matrix(hlo::PrimitiveType::kF32, {300, 7});
  matrix.set_layout({0, 1});
  image.parameter_leaves = {matrix, hlo::Shape::Token(), hlo::Shape::Scalar(hlo::PrimitiveType::kBF16)};
  image.output_leaves = {matrix};
  image.output_aliases = {{0, true}};
  image.arena_bytes = 4096;
  image.estimated_nanoseconds = 12345;
  const auto object = [](const char* bytes) { return std::make_shared<const std::string>(bytes); };
  return cpu::WriteImage(image, {object("machine code"), object("more of it")}, {"constant", std::string(200, 'c')});
}

SerializedExecutable Some() { return {"jit_f", "options", "0123", "program", "text", {{0, 1}, {2}}, SomeImage()}; }

// One of: bits flipped, bytes overwritten, a piece cut out, a piece doubled, an end cut off, bytes appended.
std::string Mutate(std::string bytes, std::mt19937& random) {
  const std::string before = bytes;
  while (bytes == before) {
    const size_t at = random() % bytes.size();
    const size_t size = 1 + random() % std::min<size_t>(16, bytes.size() - at);
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(random());
        break;
      case 2:
        bytes.erase(at, size);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, size));
        break;
      case 4:
        bytes.resize(at);
        break;
      case 5:
        bytes.append(size, static_cast<char>(random()));
        break;
    }
  }
  return bytes;
}

TEST(SerializationTest, GivesBackWhatWasSealed) {
  absl::StatusOr<SerializedExecutable> back = Unseal(Seal(Some()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->name, "jit_f");
  EXPECT_EQ(back->options, "options");
  EXPECT_EQ(back->fingerprint, "0123");
  EXPECT_EQ(back->optimized_program, "program");
  EXPECT_EQ(back->memory_kinds.outputs, std::vector<int64_t>{2});
  EXPECT_EQ(back->image, SomeImage());
}

TEST(SerializationTest, EveryDamageIsFound) {
  const std::string sealed = Seal(Some());
  std::mt19937 random(kSeed);
  for (int i = 0; i < kMutations; ++i) {
    EXPECT_FALSE(Unseal(Mutate(sealed, random)).ok()) << "mutation " << i << " of seed " << kSeed;
  }
  EXPECT_THAT(Unseal("").status().message(), HasSubstr("no executable that Kiln wrote"));
  EXPECT_THAT(Unseal("KILNEXE2").status().message(), HasSubstr("damaged"));
}

TEST(SerializationTest, BuildIsKnown) { EXPECT_EQ(BuildId().size() % 2, 0u) << BuildId(); }

TEST(ImageTest, GivesBackWhatWasWritten) {
  const std::string bytes = SomeImage();
  absl::StatusOr<cpu::ReadImage> read = cpu::ReadImageFrom(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->objects.size(), 2u);
  EXPECT_EQ(*read->objects[0], "machine code");
  EXPECT_EQ(*read->objects[1], "more of it");
  ASSERT_EQ(read->constants.size(), 2u);
  EXPECT_EQ(read->constants[0], "constant");
  ASSERT_EQ(read->image.parameter_leaves.size(), 3u);
  EXPECT_EQ(read->image.parameter_leaves[0].ToString(), "f32[300,7]{0,1}");
  EXPECT_TRUE(read->image.parameter_leaves[1].IsToken());
  EXPECT_EQ(read->image.output_aliases[0].aliased_parameter, 0);
  EXPECT_TRUE(read->image.output_aliases[0].must_alias);
  EXPECT_EQ(read->image.arena_bytes, 4096);
}

// Whatever the bytes are, reading them ends well, and what it accepts is in bounds.
TEST(ImageTest, HostileBytesAreReadSafely) {
  const std::string bytes = SomeImage();
  std::mt19937 random(kSeed);
  for (int i = 0; i < kMutations; ++i) {
    const std::string damaged = Mutate(bytes, random);
    absl::StatusOr<cpu::ReadImage> read = cpu::ReadImageFrom(damaged);
    if (!read.ok()) continue;
    EXPECT_GE(read->image.arena_bytes, 0);
    ASSERT_EQ(read->image.output_aliases.size(), read->image.output_leaves.size());
    for (const cpu::OutputLeaf& leaf : read->image.output_aliases) {
      if (!leaf.aliased_parameter.has_value()) continue;
      EXPECT_LT(*leaf.aliased_parameter, static_cast<int64_t>(read->image.parameter_leaves.size())) << i;
    }
  }
}

}  // namespace
}  // namespace kiln::runtime
