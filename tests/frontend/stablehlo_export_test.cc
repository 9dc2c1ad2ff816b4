// What is exported as StableHLO reads back to the same program.
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/text_reader.h"
#include "src/frontend/stablehlo/exporter.h"
#include "src/frontend/stablehlo/importer.h"
#include "src/hlo/printer.h"
#include "tests/frontend/test_files.h"

namespace kiln::stablehlo {
namespace {

// How often each opcode stands in a program, without what takes tuples apart and puts them together.
std::map<absl::string_view, int> Opcodes(const hlo::Module& module) {
  std::map<absl::string_view, int> counts;
  for (const hlo::Computation* computation : module.PostOrder()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      ++counts[hlo::OpcodeName(instruction->opcode())];
    }
  }
  for (absl::string_view name : {"tuple", "get-tuple-element", "parameter", "copy", "bitcast", "reshape"}) {
    counts.erase(name);
  }
  return counts;
}

std::string Text(const hlo::Module& module) {
  hlo::PrintOptions options;
  options.metadata = false;
  return hlo::ToString(module, options);
}

// The export leaves out what nothing needs.
void RemoveDead(hlo::Module& module) {
  for (hlo::Computation* computation : module.computations()) computation->RemoveDeadInstructions();
}

// Null when StableHLO has no form for the program.
std::unique_ptr<hlo::Module> ThereAndBack(const hlo::Module& module, const std::string& file,
                                          const TextOptions& options = {}) {
  const auto text = ExportText(module, options);
  if (!text.ok()) {
    EXPECT_NE(text.status().message().find("no form in StableHLO"), std::string::npos) << file << text.status();
    return nullptr;
  }
  const auto tree = mlir::ReadText(*text, file);
  EXPECT_TRUE(tree.ok()) << tree.status();
  if (!tree.ok()) return nullptr;
  auto back = Import(**tree);
  EXPECT_TRUE(back.ok()) << file << ": " << back.status();
  if (!back.ok()) return nullptr;
  RemoveDead(**back);
  return *std::move(back);
}

// The second time nothing changes any more.
void CheckFixedPoint(const hlo::Module& module, const std::string& file) {
  const std::unique_ptr<hlo::Module> twice = ThereAndBack(module, file);
  ASSERT_NE(twice, nullptr) << file;
  EXPECT_EQ(Text(*twice), Text(module)) << file;
  const std::unique_ptr<hlo::Module> generic = ThereAndBack(module, file, {/*generic=*/true, /*locations=*/true});
  ASSERT_NE(generic, nullptr) << file;
  EXPECT_EQ(Text(*generic), Text(module)) << file;
}

TEST(StablehloExport, ProgramsOfJaxComeBack) {
  int exported = 0;
  for (const auto& file : DataFiles(".mlirbc")) {
    const auto tree = mlir::ReadBytecode(ReadFile(file));
    ASSERT_TRUE(tree.ok()) << tree.status();
    const auto module = Import(**tree);
    if (!module.ok()) continue;  // Of several devices.
    RemoveDead(**module);
    const std::unique_ptr<hlo::Module> back = ThereAndBack(**module, file.filename().string());
    if (back == nullptr) continue;
    EXPECT_EQ(Opcodes(*back), Opcodes(**module)) << file;
    CheckFixedPoint(*back, file.filename().string());
    ++exported;
  }
  EXPECT_GT(exported, 100);
}

TEST(StablehloExport, ProgramsOfOtherFrameworksComeBack) {
  int exported = 0;
  for (const auto& file : DataFiles(".hlo.txt")) {
    const auto module = hlo_text::ParseHloText(ReadFile(file), file.filename().string());
    ASSERT_TRUE(module.ok()) << module.status();
    if ((*module)->partition_count() > 1) continue;
    const std::unique_ptr<hlo::Module> back = ThereAndBack(**module, file.filename().string());
    if (back == nullptr) continue;
    // The import cuts an array down to the size that is set, each time anew.
    if (Opcodes(**module).contains("set-dimension-size")) continue;
    CheckFixedPoint(*back, file.filename().string());
    ++exported;
  }
  EXPECT_GT(exported, 50);
}

// Every elementwise function comes back as itself, whichever dialect has it.
TEST(StablehloExport, ElementwiseFunctionsKeepTheirOpcodes) {
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const auto opcode = static_cast<hlo::Opcode>(i);
    const absl::string_view name = hlo::OpcodeName(opcode);
    if (hlo::KindOf(opcode) != hlo::OpKind::kElementwiseUnary || OpName(opcode).empty()) continue;
    for (absl::string_view type : {"f32", "c64", "s32", "pred"}) {
      const auto module = hlo_text::ParseHloText(absl::StrCat("x = ", type, "[4] parameter(0) r = ", name, "(x)"), "f");
      if (!module.ok()) continue;
      const auto back = ThereAndBack(**module, std::string(name));
      ASSERT_NE(back, nullptr) << name;
      EXPECT_EQ(Opcodes(*back), Opcodes(**module)) << name << " of " << type;
    }
  }
}

}  // namespace
}  // namespace kiln::stablehlo
