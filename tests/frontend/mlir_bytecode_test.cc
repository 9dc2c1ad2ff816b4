// Portable artifacts of every container version read, and their trees say what the programs say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/printer.h"
#include "src/frontend/mlir/vhlo_ops.h"
#include "tests/frontend/bytecode_writer.h"
#include "tests/frontend/test_files.h"

namespace kiln::mlir {
namespace {

using ::testing::HasSubstr;

std::string DataFile(const std::string& name) { return ReadFile(std::filesystem::path(KILN_TEST_DATA) / name); }

std::string TreeText(const std::string& name, bool locations = false) {
  auto module = ReadBytecode(DataFile(name));
  if (!module.ok()) return module.status().ToString();
  PrintOptions options;
  options.locations = locations;
  return Print(**module, options);
}

std::string ErrorOf(const std::string& bytes) {
  auto module = ReadBytecode(bytes);
  return module.ok() ? "no error" : module.status().ToString();
}

TEST(MlirBytecode, ReadsEveryArtifact) {
  const auto files = DataFiles(".mlirbc");
  ASSERT_GE(files.size(), 155u);
  for (const auto& file : files) {
    auto module = ReadBytecode(ReadFile(file));
    ASSERT_TRUE(module.ok()) << file << ": " << module.status();
    EXPECT_EQ((*module)->root->name, "builtin.module") << file;
    const Operation* main = (*module)->FindFunction("main");
    ASSERT_NE(main, nullptr) << file;
    ASSERT_EQ(main->regions.size(), 1u);
    EXPECT_EQ(main->regions[0]->blocks[0]->operations.back()->name, "func.return") << file;
    EXPECT_THAT(Print(**module), Not(HasSubstr("vhlo"))) << file;
  }
}

TEST(MlirBytecode, PrintsAllOps) {
  EXPECT_EQ(TreeText("stablehlo/all_ops_1_17_0.mlirbc"), DataFile("stablehlo/all_ops_1_17_0.tree.txt"));
}

TEST(MlirBytecode, OldContainersGiveTheSameTree) {
  // Containers 1, 3, 4 and 6: attributes in dictionaries, then in properties.
  const std::string first = TreeText("stablehlo/all_ops_old_0_9_0.mlirbc");
  EXPECT_THAT(first, HasSubstr("stablehlo.dynamic_conv"));
  for (const char* version : {"0_11_0", "0_13_0", "0_14_0", "0_19_0", "1_0_0"}) {
    EXPECT_EQ(TreeText(absl::StrCat("stablehlo/all_ops_old_", version, ".mlirbc")), first) << version;
  }
}

TEST(MlirBytecode, ConstantsKeepTheirValues) {
  const std::string text = TreeText("stablehlo/all_ops_1_17_0.mlirbc");
  for (const char* value :
       {"dense<[[1.000000e+00, -2.500000e+00], [0x7F800000, 3.000000e-03]]> : tensor<2x2xf32>",
        "dense<7> : tensor<3xi32>", "dense<[true, false]> : tensor<2xi1>",
        "dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>", "dense<> : tensor<0xi32>",
        "dense<[1.500000e+00, 0xFF80, 0x7FC0]> : tensor<3xbf16>", "dense<[-8, 7]> : tensor<2xi4>",
        "dense<[1, 2, 255]> : tensor<3xui8>", "dense<true> : tensor<20xi1>",
        "dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>",
        "dense<[0x3C, 0xB0]> : tensor<2xf8E4M3FN>", "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>",
        "dense<[[(1.000000e+00,0.000000e+00), (0x7F800000,2.000000e+00)]]> : tensor<1x2xcomplex<f32>>",
        "dense<1.000000e+00> : tensor<f64>", "dense<true> : tensor<3xi1>", "dense<[-300, 300]> : tensor<2xi16>",
        "backend_config = {alpha = 2.000000e+00 : f32, n = 3 : i64}", "epsilon = 1.000000e-03 : f32",
        "#stablehlo.output_operand_alias<output_tuple_indices = array<i64>, operand_index = 0 : i64"}) {
    EXPECT_THAT(text, HasSubstr(value));
  }
}

TEST(MlirBytecode, LocationsNameTheOpAndTheFile) {
  const std::string text = TreeText("samples/c03_sharded_mixed.mlirbc", /*locations=*/true);
  EXPECT_THAT(text, HasSubstr(R"(loc("jit(<lambda>)/sharding_constraint" at t.py:16:20))"));
}

TEST(MlirBytecode, RefusesVersionsItDoesNotKnow) {
  const std::string bytes = DataFile("samples/s01_elementwise.mlirbc");
  ASSERT_THAT(bytes, HasSubstr("StableHLO_v1.17.0"));
  for (const char* version : {"1.25.0", "2.17.0", "0.8.00", "1.24.1"}) {
    auto module = ReadBytecode(absl::StrReplaceAll(bytes, {{"v1.17.0", absl::StrCat("v", version)}}));
    EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument) << version;
    EXPECT_THAT(std::string(module.status().message()), HasSubstr(version));
  }
  EXPECT_TRUE(ReadBytecode(absl::StrReplaceAll(bytes, {{"v1.17.0", "v1.24.0"}})).ok());
  std::string newer = bytes;
  newer[4] = static_cast<char>(7 << 1 | 1);
  EXPECT_THAT(ErrorOf(newer), HasSubstr("version 7"));
  EXPECT_THAT(ErrorOf("module {}"), HasSubstr("not MLIR bytecode"));
}

TEST(MlirBytecode, TheOpTableIsSorted) {
  EXPECT_EQ(VhloOps().size(), 148u);
  for (const VhloOp& op : VhloOps()) EXPECT_EQ(FindVhloOp(op.name), &op) << op.name;
}

TEST(MlirBytecode, HandMadeModule) {
  BytecodeWriter writer;
  writer.ir = BytecodeWriter::ModuleOp(Varint(1) + Varint(0) + Varint(0));
  EXPECT_EQ(ErrorOf(writer.File()), "no error");
}

TEST(MlirBytecode, AttributesThatContainThemselves) {
  BytecodeWriter writer;
  writer.attributes[0] = Varint(12) + Varint(1) + Varint(1);  // Fused of attribute 1, which is fused of attribute 0.
  writer.attributes.push_back(Varint(12) + Varint(1) + Varint(0));
  writer.ir = BytecodeWriter::ModuleOp(Varint(1) + Varint(0) + Varint(0));
  EXPECT_THAT(ErrorOf(writer.File()), HasSubstr("contains itself"));
}

TEST(MlirBytecode, AttributesThatNestTooDeep) {
  BytecodeWriter writer;
  writer.attributes.clear();
  for (int i = 0; i < 100000; ++i) writer.attributes.push_back(Varint(12) + Varint(1) + Varint(i + 1));
  writer.attributes.push_back(Varint(15));
  writer.ir = BytecodeWriter::ModuleOp(Varint(1) + Varint(0) + Varint(0));
  EXPECT_THAT(ErrorOf(writer.File()), HasSubstr("nest deeper"));
}

TEST(MlirBytecode, TypesThatExpandTooFar) {
  BytecodeWriter writer;
  // Type i is a tuple of type i + 1 twice: 2^60 leaves. Attribute 1 names type 0, and the op's location is no location.
  for (int i = 0; i < 60; ++i) writer.types.push_back(Varint(15) + Varint(2) + Varint(i + 1) + Varint(i + 1));
  writer.types.push_back(Varint(5));
  writer.attributes[0] = Varint(6) + Varint(0);
  writer.ir = BytecodeWriter::ModuleOp(Varint(1) + Varint(0) + Varint(0));
  EXPECT_THAT(ErrorOf(writer.File()), HasSubstr("is too large"));
}

TEST(MlirBytecode, CountsThatExceedTheFile) {
  BytecodeWriter writer;
  writer.ir = BytecodeWriter::ModuleOp(Varint(1) + Varint(uint64_t{1} << 60) + Varint(0));
  EXPECT_THAT(ErrorOf(writer.File()), HasSubstr("announces 1152921504606846976 values"));
  writer.ir = BytecodeWriter::ModuleOp(Varint(uint64_t{1} << 60));
  EXPECT_THAT(ErrorOf(writer.File()), HasSubstr("exceeds the data left"));
  writer.ir = BytecodeWriter::ModuleOp(Varint(1) + Varint(3) + Varint(0));
  EXPECT_THAT(ErrorOf(writer.File()), HasSubstr("announces 3 values and defines 0"));
}

TEST(MlirBytecode, RegionsThatNestTooDeep) {
  BytecodeWriter writer;
  std::string op = BytecodeWriter::ModuleOp(Varint(1) + Varint(0) + Varint(0));
  for (int i = 0; i < 5000; ++i) op = BytecodeWriter::ModuleOp(Varint(1) + Varint(0) + Varint(1 << 1) + op);
  writer.ir = op;
  EXPECT_THAT(ErrorOf(writer.File()), HasSubstr("regions nest deeper"));
}

}  // namespace
}  // namespace kiln::mlir
