// Every program of the test data imports to HLO whose shapes follow from its operands and whose text reads back, or
// says why it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/frontend/hlo_text/parser.h"
#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/vhlo_ops.h"
#include "src/frontend/stablehlo/importer.h"
#include "src/frontend/stablehlo/op_import.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/printer.h"
#include "src/hlo/shape_inference.h"
#include "tests/frontend/test_files.h"

namespace kiln::stablehlo {
namespace {

using ::testing::HasSubstr;

std::string DataFile(const std::string& name) {
  return ReadFile(std::filesystem::path(KILN_TEST_DATA) / "stablehlo" / name);
}

absl::StatusOr<std::unique_ptr<hlo::Module>> ImportFile(const std::string& name) {
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<mlir::Module> source, mlir::ReadBytecode(DataFile(name)));
  return Import(*source);
}

std::string TextOf(const std::string& name) {
  const auto module = ImportFile(name);
  if (!module.ok()) return module.status().ToString();
  hlo::PrintOptions options;
  options.metadata = false;
  return hlo::ToString(**module, options);
}

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

void ExpectTextReadsBack(const hlo::Module& module, const std::string& file) {
  const std::string text = hlo::ToString(module);
  const auto parsed = hlo_text::ParseHloText(text, "imported");
  ASSERT_TRUE(parsed.ok()) << file << ": " << parsed.status();
  EXPECT_EQ(hlo::ToString(**parsed), text) << file;
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
    ExpectTextReadsBack(**module, file);
    ++imported;
  }
  EXPECT_GE(imported, 120);
  EXPECT_GE(sharded, 8);
}

TEST(StablehloImport, AllOps) { EXPECT_EQ(TextOf("all_ops_1_17_0.mlirbc"), DataFile("all_ops_1_17_0.hlo.txt")); }

TEST(StablehloImport, QuantizedTensorsAreIntegersAndFloats) {
  EXPECT_EQ(TextOf("quantized.mlirbc"), DataFile("quantized.hlo.txt"));
}

TEST(StablehloImport, OpenShapesBecomeStatic) {
  EXPECT_EQ(TextOf("open_shapes.mlirbc"), DataFile("open_shapes.hlo.txt"));
}

TEST(StablehloImport, OldVersionsImportToTheSame) {
  const std::string newest = TextOf("all_ops_old_1_13_0.mlirbc");
  EXPECT_THAT(newest, HasSubstr("ENTRY"));
  for (const char* version : {"0_9_0", "0_11_0", "0_13_0", "0_14_0", "0_19_0", "1_0_0", "1_8_0"}) {
    EXPECT_EQ(TextOf(absl::StrCat("all_ops_old_", version, ".mlirbc")), newest) << version;
  }
}

TEST(StablehloImport, EveryOpHasARow) {
  for (const mlir::VhloOp& op : mlir::VhloOps()) {
    // Functions are read by the importer itself, returns by the bodies that they end.
    if (op.tree_name == "func.func" || op.tree_name == "stablehlo.return") continue;
    EXPECT_NE(FindOp(op.tree_name), nullptr) << op.tree_name;
  }
}

TEST(StablehloImport, EntryAttributes) {
  const auto module = ImportFile("entry.mlirbc");
  ASSERT_TRUE(module.ok()) << module.status();
  const hlo::Module& program = **module;
  ASSERT_EQ(program.aliases().size(), 1u);
  EXPECT_EQ(program.aliases()[0], (hlo::InputOutputAlias{{1}, 0, {}, false}));
  ASSERT_EQ(program.donors().size(), 1u);
  EXPECT_EQ(program.donors()[0], (hlo::BufferDonor{1, {}}));
  ASSERT_TRUE(program.has_entry_layout());
  EXPECT_EQ(program.entry_parameter_layouts()[0].ToString(), "f32[2,3]{1,0}");
  EXPECT_EQ(program.entry_parameter_layouts()[1].ToString(), "f32[2,3]{0,1}");
  EXPECT_EQ(program.entry_result_layout().ToString(), "(f32[2,3]{0,1}, f32[2,3]{1,0})");
  EXPECT_EQ(program.entry()->parameter(2)->frontend_attributes().at("mhlo.memory_kind"), "pinned_host");
  EXPECT_EQ(program.frontend_attributes().at("kiln.result_memory_kinds"), ",device");
  EXPECT_EQ(program.frontend_attributes().at("jax.result_info"), "sum, ['x']");
}

// The loop of nested_loops.mlir: its bodies take values of both enclosing scopes and a constant too large to clone.
TEST(StablehloImport, NestedLoopsPassOuterValues) {
  const auto module = ImportFile("nested_loops.mlirbc");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto result =
      hlo::Evaluate(*(*module)->entry(), {hlo::Literal::Scalar<int32_t>(4), hlo::Literal::Scalar<float>(0.5f)});
  ASSERT_TRUE(result.ok()) << result.status();
  float expected = 0.5f;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) expected = (expected + (1.0f + 0.5f * static_cast<float>(j))) * 0.5f;
  }
  EXPECT_EQ(result->data<float>()[0], expected);
}

TEST(StablehloImport, ManualComputationStandsInPlace) {
  const std::string text = TextOf("manual_computation.mlirbc");
  EXPECT_THAT(text, HasSubstr("multiply(%parameter, %parameter.1)"));
}

TEST(StablehloImport, ErrorsNameTheOpAndItsLocation) {
  struct Case {
    const char* file;
    absl::StatusCode code;
    std::vector<const char*> parts;
  };
  const Case cases[] = {
      {"recursion", absl::StatusCode::kInvalidArgument, {"func.func", "@f calls itself"}},
      {"capture",
       absl::StatusCode::kUnimplemented,
       {"stablehlo.multiply (\"scaled\" at model.py:8:5)", "outside its region"}},
      {"open_dimension", absl::StatusCode::kUnimplemented, {"argument 0 of @main", "tensor<?xf32>", "dimension 0"}},
  };
  for (const Case& expected : cases) {
    const auto module = ImportFile(absl::StrCat("refused/", expected.file, ".mlirbc"));
    EXPECT_EQ(module.status().code(), expected.code) << expected.file;
    for (const char* part : expected.parts) EXPECT_THAT(std::string(module.status().message()), HasSubstr(part));
  }
}

}  // namespace
}  // namespace kiln::stablehlo
