// Every program of the test data imports to HLO whose shapes follow from its operands, or says why it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/stablehlo/importer.h"
#include "src/hlo/printer.h"
#include "src/hlo/shape_inference.h"
#include "tests/frontend/test_files.h"

namespace kiln::stablehlo {
namespace {

using ::testing::HasSubstr;

void ExpectInferredShapes(const hlo::Module& module, const std::string& file) {
  for (const hlo::Computation* computation : module.computations()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      std::vector<const hlo::Shape*> operands;
      for (const hlo::Instruction* operand : instruction->operands()) operands.push_back(&operand->shape());
      const auto shape = hlo::InferShape(instruction->opcode(), operands, instruction->attributes(),
                                         instruction->called_computations(), &instruction->shape());
      EXPECT_TRUE(shape.ok()) << file << ": " << hlo::ToString(*instruction) << ": " << shape.status();
    }
  }
}

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
    ASSERT_TRUE(module.ok()) << file << ": " << module.status();
    ExpectInferredShapes(**module, file);
    ++imported;
  }
  EXPECT_GE(imported, 120);
  EXPECT_GE(sharded, 8);
}

}  // namespace
}  // namespace kiln::stablehlo
