// Every portable artifact of the test data reads, and its tree says what the program says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/printer.h"
#include "tests/frontend/test_files.h"

namespace kiln::mlir {
namespace {

using ::testing::HasSubstr;

std::string Sample(const std::string& name) {
  return ReadFile(std::filesystem::path(KILN_TEST_DATA) / "samples" / name);
}

TEST(MlirBytecode, ReadsEveryArtifact) {
  const auto files = DataFiles(".mlirbc");
  ASSERT_GE(files.size(), 140u);
  for (const auto& file : files) {
    auto module = ReadBytecode(ReadFile(file));
    EXPECT_TRUE(module.ok()) << file << ": " << module.status();
    if (!module.ok()) continue;
    EXPECT_EQ((*module)->root->name, "builtin.module") << file;
    const Operation* main = (*module)->FindFunction("main");
    ASSERT_NE(main, nullptr) << file;
    ASSERT_EQ(main->regions.size(), 1u);
    EXPECT_EQ(main->regions[0]->blocks[0]->operations.back()->name, "func.return") << file;
    const std::string text = Print(**module);
    EXPECT_THAT(text, Not(HasSubstr("vhlo"))) << file;
  }
}

}  // namespace
}  // namespace kiln::mlir
