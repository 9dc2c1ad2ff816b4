// The language of rewrite rules.
#include "src/passes/simplify/rule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/module.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;

absl::StatusOr<RuleSet> CompileOne(const Rule& rule) {
  const absl::Span<const Rule> group(&rule, 1);
  return RuleSet::Compile({&group, 1});
}

class RuleTest : public testing::Test {
 protected:
  RuleTest() : module_("m"), computation_(module_.AddComputation("c")), builder_(computation_, nullptr) {
    x_ = computation_->AddParameter(0, shape_);
    y_ = computation_->AddParameter(1, shape_);
    module_.set_entry(computation_);
  }

  hlo::Instruction* Apply(const Rule& rule, hlo::Instruction* instruction) {
    absl::StatusOr<RuleSet> rules = CompileOne(rule);
    EXPECT_EQ(rules.status(), absl::OkStatus());
    return rules->Apply(instruction, builder_);
  }

  const hlo::Shape shape_{PrimitiveType::kF32, {2, 3}};
  hlo::Module module_;
  hlo::Computation* computation_;
  hlo::Builder builder_;
  hlo::Instruction* x_;
  hlo::Instruction* y_;
};

TEST_F(RuleTest, CommutativeOpsMatchInEitherOrder) {
  const Rule rule("add(x, 0)", "x");
  hlo::Instruction* zero = builder_.Splat(shape_, 0);
  EXPECT_EQ(Apply(rule, builder_.Binary(Opcode::kAdd, x_, zero)), x_);
  EXPECT_EQ(Apply(rule, builder_.Binary(Opcode::kAdd, zero, x_)), x_);
  EXPECT_EQ(Apply(rule, builder_.Binary(Opcode::kAdd, x_, y_)), nullptr);
  const Rule ordered("subtract(x, 0)", "x");
  EXPECT_EQ(Apply(ordered, builder_.Binary(Opcode::kSubtract, zero, x_)), nullptr);
}

TEST_F(RuleTest, OneLetterIsOneInstruction) {
  const Rule rule("maximum(x, x)", "x");
  EXPECT_EQ(Apply(rule, builder_.Binary(Opcode::kMaximum, x_, x_)), x_);
  EXPECT_EQ(Apply(rule, builder_.Binary(Opcode::kMaximum, x_, y_)), nullptr);
}

TEST_F(RuleTest, MarkedOpsHaveOneUser) {
  const Rule rule("negate(negate'(x))", "x");
  hlo::Instruction* inner = builder_.Unary(Opcode::kNegate, x_);
  hlo::Instruction* outer = builder_.Unary(Opcode::kNegate, inner);
  EXPECT_EQ(Apply(rule, outer), x_);
  builder_.Unary(Opcode::kAbs, inner);
  EXPECT_EQ(Apply(rule, outer), nullptr);
}

TEST_F(RuleTest, NumbersOnTheRightTakeTheShapeBesideThem) {
  hlo::Instruction* result =
      Apply(Rule("power(x, -1)", "divide(1, x)"), builder_.Binary(Opcode::kPower, x_, builder_.Splat(shape_, -1)));
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->opcode(), Opcode::kDivide);
  EXPECT_EQ(result->operand(0)->shape(), shape_);
  EXPECT_TRUE(hlo::IsSplatOf(*SplatValue(*result->operand(0)), 1));
}

TEST_F(RuleTest, ReplacementsOfAnotherShapeAreRefused) {
  hlo::Instruction* reduced = builder_.Reduce(x_, builder_.Scalar(PrimitiveType::kF32, 0), {0}, Opcode::kAdd);
  EXPECT_EQ(Apply(Rule("reduce(x, _)", "x"), reduced), nullptr);
}

TEST_F(RuleTest, GuardsLookAtTheType) {
  hlo::Instruction* difference = builder_.Binary(Opcode::kSubtract, x_, x_);
  EXPECT_EQ(Apply(Rule("subtract(x, x)", "0", Integral), difference), nullptr);
  EXPECT_NE(Apply(Rule("subtract(x, x)", "0", Floating), difference), nullptr);
}

TEST(RuleSet, RefusesWhatDoesNotParse) {
  for (const char* pattern : {"add(x)", "no-such-op(x)", "add(x, y", "add(x, y) z", "x", "add(x, yy)", "t:x"}) {
    EXPECT_FALSE(CompileOne(Rule(pattern, "x")).ok()) << pattern;
  }
  EXPECT_FALSE(CompileOne(Rule("negate(x)", "transpose(x)")).ok());
}

TEST(RuleSet, AllRulesCompile) {
  const absl::Span<const Rule> groups[] = {ArithmeticRules(),  LogicRules(),     CompareSelectRules(), ConvertRules(),
                                           ReshapeRules(),     BroadcastRules(), TransposeRules(),     SliceRules(),
                                           ConcatenateRules(), ReduceRules(),    DotRules(),           ControlRules()};
  absl::StatusOr<RuleSet> rules = RuleSet::Compile(groups);
  ASSERT_EQ(rules.status(), absl::OkStatus());
  EXPECT_GT(rules->size(), 100);
}

}  // namespace
}  // namespace kiln::passes::simplify
