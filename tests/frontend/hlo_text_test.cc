// Reading and printing HLO text: every sample and program, the shorthand, constants, and the places and words of errors.
#include "src/frontend/hlo_text/parser.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/stablehlo/importer.h"
#include "src/hlo/printer.h"
#include "src/hlo/verifier.h"
#include "tests/frontend/test_files.h"
#include "tests/hlo_test_util.h"

namespace kiln::hlo_text {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Printing reads back to a module that prints the same.
void ExpectRoundTrip(const hlo::Module& module) {
  const std::string printed = hlo::ToString(module);
  auto again = ParseHloText(printed, "printed");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(hlo::ToString(**again), printed);
}

TEST(HloTextTest, FilesReadPrintAndReadAgainToTheSameText) {
  const auto files = DataFiles(".hlo.txt");
  EXPECT_GE(files.size(), 75u);
  for (const auto& file : files) {
    SCOPED_TRACE(file);
    ElidedConstants elided;
    auto module = ParseHloText(ReadFile(file), file.filename().string(), {.elided = &elided});
    ASSERT_TRUE(module.ok()) << module.status();
    ExpectRoundTrip(**module);
  }
}

TEST(HloTextTest, ImportedProgramsReadPrintAndReadAgain) {
  int checked = 0;
  for (const auto& file : DataFiles(".mlirbc")) {
    SCOPED_TRACE(file);
    auto source = mlir::ReadBytecode(ReadFile(file));
    ASSERT_TRUE(source.ok()) << source.status();
    auto module = stablehlo::Import(**source);
    if (absl::IsUnimplemented(module.status())) continue;
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(hlo::Verify(**module), absl::OkStatus());
    ExpectRoundTrip(**module);
    ++checked;
  }
  EXPECT_GE(checked, 100);
}

// The canonical printout of another printer, instruction by instruction. Names, and where order is free, order differ.
TEST(HloTextTest, PrintsInstructionsAsOthersDo) {
  const std::string expected = ReadFile(KILN_TEST_DATA "/samples/h01_all_ops.printed.hlo.txt");
  auto module = ParseOrDie(expected);
  const std::string printed = hlo::ToString(*module);
  int differing = 0;
  for (absl::string_view line : absl::StrSplit(expected, '\n')) {
    if (absl::StrContains(printed, absl::StrCat(line, "\n"))) continue;
    // Forms that Kiln writes out: iota groups and the operation inside an asynchronous pair.
    const bool rewritten = absl::StrContains(line, "<=[4], dimensions") || absl::StrContains(line, "T(1,0), dim") ||
                           absl::StrContains(line, "custom-call-");
    EXPECT_TRUE(rewritten) << line;
    ++differing;
  }
  EXPECT_EQ(differing, 4);
}

std::string Normalized(absl::string_view text) { return hlo::ToString(*ParseOrDie(text)); }

TEST(HloTextTest, ShorthandMeansTheFullForm) {
  const std::string full = R"(HloModule module

%plus (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

ENTRY %main (x: f32[2,3]) -> f32[2] {
  %x = f32[2,3]{1,0} parameter(0)
  %y = f32[2,3]{1,0} abs(%x)
  %z = f32[] constant(0)
  ROOT %r = f32[2]{0} reduce(%y, %z), dimensions={1}, to_apply=%plus
}
)";
  // Without marks, shapes, ROOT and header; the callee after its caller.
  const std::string brief = R"(
ENTRY main {
  x = f32[2,3] parameter(0)  // the input
  y = abs(x)
  z = f32[] constant(0)
  r = reduce(y, z), dimensions={1}, to_apply=plus
}
plus { a = f32[] parameter(0) b = f32[] parameter(1) s = add(a, /* the other */ b) }
)";
  EXPECT_EQ(Normalized(brief), Normalized(full));
}

TEST(HloTextTest, OperationsMayStandAsOperands) {
  auto module = ParseOrDie(R"(
    x = f32[4] parameter(0)
    r = select(compare(x, abs(x)), direction=LT, f32[4]{0} negate(x), add(x, multiply(x, x)))
  )");
  EXPECT_EQ(module->entry()->name(), "main");
  EXPECT_EQ(module->entry()->root()->opcode(), hlo::Opcode::kSelect);
  EXPECT_EQ(module->entry()->root()->shape().ToString(), "f32[4]{0}");
  EXPECT_EQ(module->entry()->instruction_count(), 7);
  ExpectRoundTrip(*module);
}

TEST(HloTextTest, TheLastComputationIsTheEntryWhenNoneSaysSo) {
  auto module = ParseOrDie("one { a = f32[] constant(1) } two { b = f32[] constant(2) }");
  EXPECT_EQ(module->entry()->name(), "two");
}

TEST(HloTextTest, NamesOfDifferentComputationsAreApart) {
  auto module = ParseOrDie(R"(
    f { x = f32[] parameter(0) r = negate(x) }
    ENTRY e { x = f32[] parameter(0) r = call(x), to_apply=f })");
  ExpectRoundTrip(*module);
}

TEST(HloTextTest, AsynchronousFormsWrapAnyOperation) {
  auto module = ParseOrDie(R"(
    x = f32[4] parameter(0)
    s = ((f32[4]), f32[4], u32[]) negate-start(x)
    u = negate-update(s)
    r = negate-done(u))");
  const hlo::Instruction* start = module->entry()->root()->operand(0)->operand(0);
  EXPECT_EQ(start->opcode(), hlo::Opcode::kAsyncStart);
  EXPECT_EQ(start->called_computation()->root()->opcode(), hlo::Opcode::kNegate);
  ExpectRoundTrip(*module);
}

TEST(HloTextTest, StackFramesBecomeSourceLines) {
  auto module = ParseOrDie(ReadFile(KILN_TEST_DATA "/samples/s05_while.opt.hlo.txt"));
  EXPECT_TRUE(module->is_scheduled());
  for (const hlo::Instruction* instruction : module->entry()->instructions()) {
    if (instruction->opcode() != hlo::Opcode::kCall) continue;
    EXPECT_EQ(instruction->metadata().source_file, "samples.py");
    EXPECT_EQ(instruction->metadata().source_line, 23);
    EXPECT_EQ(instruction->metadata().source_column, 27);
  }
}

TEST(HloTextTest, ReplicaGroupsInAllForms) {
  auto groups = [](const std::string& text) {
    auto module = ParseOrDie(absl::StrCat("a { x = f32[] parameter(0) y = f32[] parameter(1) r = add(x, y) } ENTRY e {",
                                          "x = f32[8] parameter(0) r = all-reduce(x), to_apply=a, replica_groups=", text,
                                          "}"));
    return module->entry()->root()->Get<hlo::CollectiveAttributes>().replica_groups;
  };
  using Groups = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(groups("{}"), Groups{});
  EXPECT_EQ(groups("{{0,1},{2,3}}"), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(groups("[2,4]<=[8]"), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(groups("[2,2]<=[2,2]T(1,0)"), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups("[3,4]<=[2,3,2]T(1,2,0)"), (Groups{{0, 6, 1, 7}, {2, 8, 3, 9}, {4, 10, 5, 11}}));
  EXPECT_EQ(groups("mesh['a'=2,'b'=2] {'a'}"), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups("mesh['a'=2,'b'=2] {'b'}"), (Groups{{0, 1}, {2, 3}}));
}

TEST(HloTextTest, LayoutsKeepWhatTheySay) {
  for (absl::string_view shape :
       {"f32[2,3]{0,1}", "f32[2,3]{1,0:T(8,128)(2,1)E(4)S(5)}", "f32[2,3]{1,0:T(*,128)L(8)#(s32)*(u8)S(1)SC(0:1,2)M(512)}",
        "f32[<=8,3]{1,0}", "f32[]{:T(256)}", "(f32[2]{0}, (), (token[], s4[3]{0}))"}) {
    auto module = ParseOrDie(absl::StrCat("x = ", shape, " parameter(0)"));
    EXPECT_EQ(module->entry()->root()->shape().ToString(), shape);
    ExpectRoundTrip(*module);
  }
}

// What a constant of `shape` written as `text` prints.
std::string Constant(absl::string_view shape, absl::string_view text) {
  auto module = ParseOrDie(absl::StrCat("c = ", shape, " constant(", text, ")"));
  const hlo::Literal& literal = module->entry()->root()->Get<hlo::ConstantAttributes>().literal;
  const std::string printed = hlo::ToString(literal);
  auto again = ParseOrDie(absl::StrCat("c = ", shape, " constant(", printed, ")"));
  EXPECT_EQ(again->entry()->root()->Get<hlo::ConstantAttributes>().literal, literal) << shape << " " << text;
  return printed;
}

TEST(HloTextTest, ConstantsPrintShortAndReadBackToTheSameBits) {
  EXPECT_EQ(Constant("f32[]", "0.1"), "0.1");
  EXPECT_EQ(Constant("f32[]", "1e-05"), "1e-05");
  EXPECT_EQ(Constant("f32[]", "100000"), "100000");
  EXPECT_EQ(Constant("f32[]", "3.40282347e+38"), "3.4028235e+38");
  EXPECT_EQ(Constant("f32[]", "16777217"), "16777216");
  EXPECT_EQ(Constant("f32[]", "-12.5"), "-12.5");
  EXPECT_EQ(Constant("f32[]", "1e-45"), "1e-45");
  EXPECT_EQ(Constant("f32[]", "1e-60"), "0");
  EXPECT_EQ(Constant("f64[]", "-1e-400"), "-0");
  EXPECT_EQ(Constant("f64[]", "1e-9999"), "0");
  EXPECT_EQ(Constant("f32[]", "-0"), "-0");
  EXPECT_EQ(Constant("f32[3]", "{inf, -inf, nan}"), "{inf, -inf, nan}");
  EXPECT_EQ(Constant("f32[]", "-nan"), "-nan");
  EXPECT_EQ(Constant("f32[]", "nan(0x400001)"), "nan(0x400001)");
  EXPECT_EQ(Constant("f64[]", "0.1"), "0.1");
  EXPECT_EQ(Constant("f64[]", "nan(0x8000000000001)"), "nan(0x8000000000001)");
  EXPECT_EQ(Constant("f64[]", "2.2250738585072014e-308"), "2.2250738585072014e-308");
  EXPECT_EQ(Constant("bf16[4]", "{0.1, 3.39e38, -0, nan(0x41)}"), "{0.1, 3.39e+38, -0, nan(0x41)}");
  EXPECT_EQ(Constant("f16[3]", "{65504, 6e-08, 0.333}"), "{65504, 6e-08, 0.333}");
  EXPECT_EQ(Constant("f8e4m3fn[3]", "{448, nan, -nan}"), "{448, nan, -nan}");
  EXPECT_EQ(Constant("f8e5m2[2]", "{57344, inf}"), "{57344, inf}");
  EXPECT_EQ(Constant("s4[2]", "{-8, 7}"), "{-8, 7}");
  EXPECT_EQ(Constant("u64[]", "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(Constant("s64[]", "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Constant("pred[]", "1"), "true");
  EXPECT_EQ(Constant("pred[2]", "{true, 0}"), "{1, 0}");
  EXPECT_EQ(Constant("c64[2]", "{(1, -1), (0.5, nan)}"), "{(1, -1), (0.5, nan)}");
  EXPECT_EQ(Constant("c128[]", "(-0, inf)"), "(-0, inf)");
  EXPECT_EQ(Constant("s32[2,2]", "{{1,2},{3,4}}"), "{ { 1, 2 }, { 3, 4 } }");
  EXPECT_EQ(Constant("s32[2,1,2]", "{{{1,2}},{{3,4}}}"), "{ { { 1, 2 } }, { { 3, 4 } } }");
  EXPECT_EQ(Constant("s32[2,0]", "{{},{}}"), "{ {}, {} }");
  EXPECT_EQ(Constant("s32[0]", "{}"), "{}");
  EXPECT_EQ(Constant("s32[1000000000,0]", "{}"), "{}");
  EXPECT_EQ(Constant("(f32[], (s32[2], pred[]))", "(1.5, ({1, 2}, false))"), "( 1.5, ( {1, 2}, false ) )");
  // Every code of the formats that are small enough to try.
  for (absl::string_view type : {"f8e4m3fn", "f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz",
                                 "f8e8m0fnu", "f16", "bf16"}) {
    const hlo::PrimitiveType element = *hlo::ParsePrimitiveType(type);
    const int64_t codes = int64_t{1} << hlo::BitWidth(element);
    hlo::Literal literal(hlo::Shape(element, {codes}));
    for (int64_t code = 0; code < codes; ++code) {
      std::memcpy(literal.mutable_bytes().data() + code * hlo::ByteWidth(element), &code, hlo::ByteWidth(element));
    }
    auto module =
        ParseOrDie(absl::StrCat("c = ", literal.shape().ToString(), " constant(", hlo::ToString(literal), ")"));
    EXPECT_EQ(module->entry()->root()->Get<hlo::ConstantAttributes>().literal, literal) << type;
  }
}

absl::Status ParseError(absl::string_view text) { return ParseHloText(text, "f.hlo").status(); }

TEST(HloTextTest, ErrorsNameThePlaceAndWhatWasExpected) {
  absl::Status status = ParseError("x = f32[2] parameter(0)\nr = add(x, y)\n");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "f.hlo:2:12: no instruction named 'y' stands before this one\n  r = add(x, y)\n             ^");
  struct Case {
    absl::string_view text, place, words;
  };
  const Case cases[] = {
      {"", "f.hlo:1:1: ", "the module has no computation"},
      {"HloModule m, color=1\n", "f.hlo:1:14: ", "unknown module attribute 'color'"},
      {"ENTRY e {\n  x = f32[2] parameter(0)\n", "f.hlo:3:1: ", "expected '}', found the end of the text"},
      {"x = f99[2] parameter(0)", "f.hlo:1:5: ", "unknown type 'f99'"},
      {"x = f32[2] parameter(0) r = frobnicate(x)", "f.hlo:1:29: ", "unknown opcode 'frobnicate'"},
      {"x = f32[2] parameter(0) r = abs(x), color=1", "f.hlo:1:37: ",
       "unknown attribute 'color' of abs; it takes none of its own"},
      {"x = f32[2] parameter(0) r = transpose(x), direction=LT", "f.hlo:1:43: ", "it takes dimensions"},
      {"x = f32[2] parameter(0) r = transpose(x)", "f.hlo:1:25: ", "transpose needs the attribute 'dimensions'"},
      {"x = f32[2] parameter(0) r = abs(x, x)", "f.hlo:1:25: ", "abs: takes 1 operand, got 2"},
      {"x = f32[2] parameter(0) r = f32[3] abs(x)", "f.hlo:1:25: ", "result shape is f32[2], declared as f32[3]"},
      {"x = f32[2] parameter(0) r = reshape(x)", "f.hlo:1:25: ", "it must be given"},
      {"x = f32[2] parameter(0) r = compare(x, x), direction=LESS", "f.hlo:1:44: ", "EQ, NE, GE, GT, LE, LT"},
      {"x = f32[2] parameter(0) x = abs(x)", "f.hlo:1:25: ", "'x' is defined twice"},
      {"x = f32[2] parameter(1)", "f.hlo:1:1: ", "parameter number 1"},
      {"x = f32[?] parameter(0)", "f.hlo:1:9: ", "unbounded"},
      {"x = f32[2]{0,1} parameter(0)", "f.hlo:1:5: ", "layout"},
      {"x = f32[1000000000,1000000000] parameter(0)", "f.hlo:1:5: ", "larger than"},
      {"x = f32[2] constant({1, 2, 3})", "f.hlo:1:28: ", "expected 2 entries in dimension 0"},
      {"x = f32[2] constant({1})", "f.hlo:1:21: ", "found 1"},
      {"x = f32[1000000000] constant({...})", "f.hlo:1:30: ", "left out"},
      {"x = s8[] constant(128)", "f.hlo:1:19: ", "out of range for s8"},
      {"x = u8[] constant(-1)", "f.hlo:1:19: ", "u8"},
      {"x = f32[] constant(1e39)", "f.hlo:1:20: ", "out of range for f32"},
      {"x = f64[] constant(1e400)", "f.hlo:1:20: ", "out of range for f64"},
      {"x = f16[] constant(1e5)", "f.hlo:1:20: ", "out of range for f16"},
      {"x = f32[] constant(nan(0x800000))", "f.hlo:1:20: ", "wider than the mantissa"},
      {"e { r = f32[] call(), to_apply=e }", "f.hlo:1:32: ", "in a cycle"},
      {"e { r = f32[] call(), to_apply=g }", "f.hlo:1:32: ", "no computation is named 'g'"},
      {"e { r = f32[] constant(1) } e { r = f32[] constant(1) }", "f.hlo:1:29: ", "defined twice"},
      {"ENTRY e { r = f32[] constant(1) } ENTRY g { r = f32[] constant(1) }", "f.hlo:1:41: ", "second ENTRY"},
      {"e { ROOT r = f32[] constant(1) ROOT s = f32[] constant(1) }", "f.hlo:1:37: ", "second ROOT"},
      {"e { }", "f.hlo:1:1: ", "has no instructions"},
      {"HloModule m, entry_computation_layout={(f32[2])->f32[2]} e { r = f32[] constant(1) }", "f.hlo:1:39: ",
       "has 1 parameters, the entry has 0"},
      {"x = f32[] constant(1), metadata={op_nome=\"a\"}", "f.hlo:1:34: ", "unknown metadata field"},
      {"x = f32[] constant(1), backend_config={\"a\": {", "f.hlo:1:39: ", "unbalanced"},
      {"x = f32[] constant(1), metadata={op_name=\"a", "f.hlo:1:42: ", "unterminated string"},
      {"x = f32[8] parameter(0) r = all-gather(x), dimensions={0}, replica_groups=[100000,100000]<=[10000000000]",
       "f.hlo:1:75: ", "too large"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    absl::Status error = ParseError(c.text);
    ASSERT_FALSE(error.ok());
    EXPECT_THAT(std::string(error.message()), StartsWith(std::string(c.place)));
    EXPECT_THAT(std::string(error.message()), HasSubstr(std::string(c.words)));
  }
}

TEST(HloTextTest, LongLinesShowOnlyTheirMiddle) {
  std::string text = "x = f32[100000] constant({";
  for (int i = 0; i < 99999; ++i) text += "1, ";
  absl::Status status = ParseError(text + "oops})");
  EXPECT_THAT(std::string(status.message()), HasSubstr("expected a number of type f32, found 'oops'"));
  EXPECT_LT(status.message().size(), 500u);
}

TEST(HloTextTest, ElidedConstantsAreMadeUpWhenAllowed) {
  ElidedConstants elided;
  auto module = ParseHloText("a = f32[3] constant({...}) b = s32[5] constant({...}) ROOT t = tuple(a, b)", "f",
                             {.elided = &elided});
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(elided.count, 2);
  EXPECT_EQ(elided.bytes, 32);
  const hlo::Instruction* root = (*module)->entry()->root();
  EXPECT_EQ(hlo::ToString(root->operand(0)->literal()), "{-1, -0.125, 0.75}");
  EXPECT_EQ(hlo::ToString(root->operand(1)->literal()), "{3, 2, 1, 0, 3}");
  EXPECT_THAT(std::string(ParseError("c = f32[3] constant({...})").message()), HasSubstr("were left out"));
  const std::string half = "f32[150000000] constant({...})";  // of a gigabyte, and more
  for (const std::string& text : {std::string("c = f32[1000000000] constant({...})"), "a = " + half + " b = " + half}) {
    EXPECT_EQ(ParseHloText(text, "f", {.elided = &elided}).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(HloTextTest, HostileSizesEndInErrors) {
  std::string nested = "x = f32[] parameter(0) r = ";
  for (int i = 0; i < 100000; ++i) nested += "abs(";
  EXPECT_THAT(std::string(ParseError(nested).message()), HasSubstr("nested deeper"));
  EXPECT_THAT(std::string(ParseError("x = " + std::string(100000, '(')).message()), HasSubstr("nested deeper"));
  std::string doubling = "x = f32[] parameter(0) t0 = tuple(x)\n";
  for (int i = 1; i < 60; ++i) absl::StrAppend(&doubling, "t", i, " = tuple(t", i - 1, ", t", i - 1, ")\n");
  EXPECT_FALSE(ParseError(doubling).ok());
  std::string deep = "x = f32[] parameter(0) t0 = tuple(x)\n";
  for (int i = 1; i < 100; ++i) absl::StrAppend(&deep, "t", i, " = tuple(t", i - 1, ")\n");
  EXPECT_THAT(std::string(ParseError(deep).message()), HasSubstr("nested deeper"));
  std::string calls = "f0 { x = f32[] parameter(0) r = abs(x) }\n";
  for (int i = 1; i < 2000; ++i) {
    absl::StrAppend(&calls, "f", i, " { x = f32[] parameter(0) y = call(x), to_apply=f", i - 1,
                    " r = call(y), to_apply=f", i - 1, " }\n");
  }
  EXPECT_THAT(std::string(ParseError(calls).message()), HasSubstr("rule 6"));
}

TEST(HloTextTest, LargeModulesReadInLinearTime) {
  // One value with very many users, and very many names.
  std::string text = "x = f32[] parameter(0)\nv0 = abs(x)\n";
  constexpr int kCount = 200000;
  for (int i = 1; i < kCount; ++i) absl::StrAppend(&text, "v", i, " = add(x, v", i - 1, ")\n");
  auto module = ParseHloText(text, "f");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->entry()->parameter(0)->users().size(), static_cast<size_t>(kCount));
}

}  // namespace
}  // namespace kiln::hlo_text
