// Every program of the test data imports to HLO, or says why it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/stablehlo/importer.h"
#include "tests/frontend/test_files.h"

namespace kiln::stablehlo {
namespace {

using ::testing::HasSubstr;

TEST(StablehloImport, ImportsEveryProgramOfOnePartition) {
  int imported = 0;
  int sharded = 0;
  for (const auto& file : DataFiles(".mlirbc")) {
    auto source = mlir::ReadBytecode(ReadFile(file));
    ASSERT_TRUE(source.ok()) << file << ": " << source.status();
    auto module = Import(**source);
    const auto partitions = mlir::AsInteger((*source)->root->Get("mhlo.num_partitions"));
    if (partitions.value_or(1) > 1) {
      EXPECT_EQ(module.status().code(), absl::StatusCode::kUnimplemented) << file;
      EXPECT_THAT(std::string(module.status().message()), HasSubstr("partitions"));
      ++sharded;
      continue;
    }
    EXPECT_TRUE(module.ok()) << file << ": " << module.status();
    ++imported;
  }
  EXPECT_GE(imported, 120);
  EXPECT_GE(sharded, 8);
}

}  // namespace
}  // namespace kiln::stablehlo
