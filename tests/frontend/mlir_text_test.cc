// StableHLO text gives the program that the bytecode of it gives, in every form, and errors that say where and what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/printer.h"
#include "src/frontend/mlir/text_reader.h"
#include "src/frontend/stablehlo/importer.h"
#include "src/hlo/printer.h"
#include "tests/frontend/test_files.h"

namespace kiln::mlir {
namespace {

using ::testing::HasSubstr;

std::string Imported(const absl::StatusOr<std::unique_ptr<Module>>& source) {
  if (!source.ok()) return absl::StrCat("unread: ", source.status().message());
  const auto module = stablehlo::Import(**source);
  if (!module.ok()) return "refused";
  hlo::PrintOptions options;
  options.metadata = false;
  return hlo::ToString(**module, options);
}

TEST(MlirText, ProgramsAreThoseOfTheirBytecode) {
  int compared = 0;
  for (const auto& file : DataFiles(".mlir")) {
    const std::string name = file.filename().string();
    std::string artifact = file.string() + "bc";
    if (name == "all_ops.mlir") artifact = absl::StrReplaceAll(artifact, {{"all_ops", "all_ops_1_17_0"}});
    if (name == "all_ops_old.mlir") artifact = absl::StrReplaceAll(artifact, {{"ops_old", "ops_old_1_13_0"}});
    const std::string text = ReadFile(file);
    // Programs whose printer left elements out are read by no one.
    if (text.find("__elided__") != std::string::npos || text.find("0x...") != std::string::npos) {
      EXPECT_THAT(Imported(ReadText(text, name)), HasSubstr("unread: " + name)) << name;
      continue;
    }
    ASSERT_TRUE(std::filesystem::exists(artifact)) << artifact;
    EXPECT_EQ(Imported(ReadText(text, name)), Imported(ReadBytecode(ReadFile(artifact)))) << name;
    ++compared;
  }
  EXPECT_GT(compared, 80);
}

// The text of the attribute `a` of an op, as the printer has it.
std::string Attribute(const std::string& text) {
  const auto module = ReadText("\"x.op\"() {a = " + text + "} : () -> ()", "t");
  if (!module.ok()) return std::string(module.status().message());
  const Operation& op = *(*module)->root->regions[0]->blocks[0]->operations[0];
  return Print(*op.Get("a"));
}

TEST(MlirText, Attributes) {
  const std::pair<const char*, const char*> kCases[] = {
      {"3", "3 : i64"},
      {"-3 : i8", "-3 : i8"},
      {"0xFF : i8", "-1 : i8"},
      {"255 : ui8", "255 : ui8"},
      {"18446744073709551615 : ui64", "18446744073709551615 : ui64"},
      {"1 : i1", "true"},
      {"1.5", "1.500000e+00 : f64"},
      {"1.5 : bf16", "1.500000e+00 : bf16"},
      {"0x7F800000 : f32", "0x7F800000 : f32"},
      {"\"a\\22\\\\\\n\\41\"", "\"a\\\"\\\\\\0AA\""},
      {"@f::@\"a b\"", "@f::@\"a b\""},
      {"[1, unit, {b, a = 2 : i32}]", "[1 : i64, unit, {a = 2 : i32, b}]"},
      {"array<i1: true, false>", "array<i1: true, false>"},
      {"array<i64>", "array<i64>"},
      {"array<f32: 1.0, -2.5>", "array<f32: 1.000000e+00, -2.500000e+00>"},
      {"dense<7> : tensor<3xi32>", "dense<7> : tensor<3xi32>"},
      {"dense<[[1], [2]]> : tensor<2x1xi4>", "dense<[[1], [2]]> : tensor<2x1xi4>"},
      {"dense<> : tensor<0x2xf32>", "dense<> : tensor<0x2xf32>"},
      {"dense<(1.0,-2.0)> : tensor<complex<f32>>", "dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>"},
      {"dense<\"0x0000803F000000C0\"> : tensor<2xf32>", "dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>"},
      {"dense<\"0x05\"> : tensor<3xi1>", "dense<[true, false, true]> : tensor<3xi1>"},
      {"dense<[\"a\", \"b\"]> : tensor<2x!tf.string>", "dense<[\"a\", \"b\"]> : tensor<2x!tf.string>"},
      {"#stablehlo<precision HIGH>", "#stablehlo<precision HIGH>"},
      {"#stablehlo.result_accuracy_mode<HIGHEST>", "#stablehlo<result_accuracy_mode HIGHEST>"},
      {"#other.thing<\"x>\", {1 -> 2}>", "#other.thing<\"x>\", {1 -> 2}>"},
      {"affine_map<(d0) -> (d0)>", "affine_map<(d0) -> (d0)>"},
      {"tensor<?x3xf32, #stablehlo.bounds<4, ?>>", "tensor<?x3xf32, #stablehlo.bounds<4, ?>>"},
      {"tensor<?xf32, #stablehlo.type_extensions<bounds = [4]>>", "tensor<?xf32, #stablehlo.bounds<4>>"},
      {"tensor<*xf32>", "tensor<*xf32>"},
      {"(tensor<f32>, !stablehlo.token) -> (i1, tuple<index, none>)",
       "(tensor<f32>, !stablehlo.token) -> (i1, tuple<index, none>)"},
      {"!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8<-128:127>:f32, 0.5:3>"},
      {"!quant.uniform<u8:f32, 2.0>", "!quant.uniform<u8<0:255>:f32, 2:0>"},
      {"!quant.uniform<i8<-127:127>:f32:1, {0.25:-30, 0.5:2}>",
       "!quant.uniform<i8<-127:127>:f32:1, {0.25:-30, 0.5:2}>"},
      {"!stablehlo.future<tensor<f32>>", "!stablehlo.future<tensor<f32>>"},
      {"memref<2x?xi8>", "memref<2x?xi8>"},
      {"vector<4xf16>", "vector<4xf16>"},
  };
  for (const auto& [text, printed] : kCases) EXPECT_EQ(Attribute(text), printed) << text;
}

TEST(MlirText, AliasesAndResources) {
  const auto module = ReadText(R"(#loc = loc("f.py":3:4)
!t = tensor<2xf32>
#later = [#first, #first]
#first = dense_resource<blob> : tensor<2xf32>
module @m {
  func.func @main() -> !t {
    %c = stablehlo.constant {a = #later} dense_resource<"blob"> : !t loc(#loc2)
    return %c : !t
  }
}
#loc2 = loc("jit(f)/add"(callsite("g"(#loc) at #loc)))
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F00000040",
      other: "0x04000000"
    }
  }
#-}
)",
                               "t");
  ASSERT_TRUE(module.ok()) << module.status();
  const Operation& constant = *(*module)->FindFunction("main")->regions[0]->blocks[0]->operations[0];
  EXPECT_EQ(Print(*constant.Get("value")), "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>");
  EXPECT_EQ(
      Print(*constant.Get("a")),
      "[dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>, dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>]");
  EXPECT_EQ(ToString(*constant.location), "\"jit(f)/add\" at f.py:3:4");
  EXPECT_EQ(constant.location->function, "g");
}

TEST(MlirText, Errors) {
  const auto function = [](const std::string& body) {
    return "func.func @main(%a: tensor<2xf32>, %b: tensor<f32>) -> tensor<2xf32> {\n" + body + "\n}";
  };
  const std::pair<std::string, const char*> kCases[] = {
      {function("  %0 = stablehlo.add %a, %c : tensor<2xf32>"), "t:2:26: the value %c is not defined before"},
      {function("  %0 = stablehlo.adder %a : tensor<2xf32>"),
       "t:2:8: no short form of the op 'stablehlo.adder' is known"},
      {function("  %0 = stablehlo.add %a %a : tensor<2xf32>"), "t:2:25: expected ':', found '"},
      {function("  %0 = stablehlo.abs %a : tensor<2xq32>"), "t:2:36: expected a type, found 'q32'"},
      {function("  %0:2 = stablehlo.abs %a : tensor<2xf32>"), "t:2:3: stablehlo.abs has 1 results, found names for 2"},
      {function("  %a = stablehlo.abs %a : tensor<2xf32>"), "the value %a is defined twice"},
      {function("  %0 = stablehlo.convert %b : (tensor<2xf32>) -> tensor<2xf64>"),
       "the type of operand 0 differs from that of its definition"},
      {function("  %0 = stablehlo.constant dense<[1.0]> : tensor<2xf32>"),
       "expected 2 elements along dimension 0, found 1"},
      {function("  %0 = stablehlo.constant dense<300> : tensor<2xi8>"), "t:2:33: 300 does not fit 8 bits"},
      {function("  %0 = stablehlo.constant dense<1.0> : tensor<?xf32>"), "dense elements need a static shape"},
      {function("  %0 = stablehlo.constant dense<\"0x00\"> : tensor<2xf32>"), "2 elements of 4 bytes in 1 bytes"},
      {function("  %0 = \"stablehlo.sort\"(%a) : (tensor<2xf32>) -> tensor<2xf32>"),
       "stablehlo.sort has 0 regions, expected 1"},
      {function("  return %a : tensor<2xf32>") + " }", "expected an operation, found '}'"},
      {"#a = [#b]\n#b = [#a]\nmodule {}", "is part of its own definition"},
      {"module attributes {a = #nothing} {}", "no attribute is named #nothing"},
      {"module @m {", "expected an operation, found the end of the text"},
      {"module {\n  func.func @f(%a: tensor<f32> {x = \"y}) {}\n}", "t:2:37: unterminated string"},
      {"", "the text has no function"},
  };
  for (const auto& [text, message] : kCases) {
    const auto module = ReadText(text, "t");
    ASSERT_FALSE(module.ok()) << text;
    EXPECT_THAT(std::string(module.status().message()), HasSubstr(message)) << text;
  }
}

// Nesting and sharing that a small text can ask for end in an error, not in the stack or memory.
TEST(MlirText, Limits) {
  const auto repeat = [](absl::string_view piece, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) absl::StrAppend(&text, piece);
    return text;
  };
  std::string doubling = "#a0 = [1]\n";
  for (int i = 1; i < 64; ++i) absl::StrAppend(&doubling, "#a", i, " = [#a", i - 1, ", #a", i - 1, "]\n");
  const std::string kCases[] = {
      "module attributes {a = " + repeat("[", 100000),
      "module attributes {a = " + repeat("tuple<", 100000),
      "module attributes {a = dense<" + repeat("[", 100000) + "> : tensor<" + repeat("1x", 100000) + "f32>} {}",
      "module {} loc(" + repeat("callsite(", 100000),
      repeat("module {", 100000),
      doubling + "module attributes {a = #a63} {}",
      "module attributes {a = dense<1> : tensor<99999999999x99999999999xi8>} {}",
      "%0:9223372036854775807 = \"a.b\"() : () -> ()",
  };
  for (const std::string& text : kCases) {
    EXPECT_FALSE(ReadText(text, "t").ok()) << text.substr(0, 100);
  }
}

}  // namespace
}  // namespace kiln::mlir
