// The language of rewrite rules.
#include "src/passes/simplify/rule.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/module.h"
#include "src/passes/simplify/guards.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;

// `rule` must outlive the set.
RuleSet SetOf(const Rule& rule) {
  const RuleGroup group{"one", {&rule, 1}};
  return RuleSet({&group, 1});
}

class RuleTest : public testing::Test {
 protected:
  RuleTest() : module_("m"), computation_(module_.AddComputation("c")), builder_(computation_, nullptr) {
    x_ = computation_->AddParameter(0, shape_);
    y_ = computation_->AddParameter(1, shape_);
    module_.set_entry(computation_);
  }

  hlo::Instruction* Apply(const Rule& rule, hlo::Instruction* instruction) {
    Facts facts;
    const absl::StatusOr<hlo::Instruction*> replacement = SetOf(rule).Apply(instruction, builder_, facts);
    EXPECT_EQ(replacement.status(), absl::OkStatus());
    return replacement.value_or(nullptr);
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

TEST_F(RuleTest, BothOrdersOfNestedOpsAreTried) {
  const Rule rule("add(multiply(x, y), multiply(x, z))", "multiply(x, add(y, z))");
  hlo::Instruction* z = computation_->AddParameter(2, shape_);
  auto product = [&](hlo::Instruction* a, hlo::Instruction* b) { return builder_.Binary(Opcode::kMultiply, a, b); };
  for (const auto& [a, b] : {std::pair(product(x_, y_), product(x_, z)), std::pair(product(y_, x_), product(x_, z)),
                             std::pair(product(x_, y_), product(z, x_)), std::pair(product(y_, x_), product(z, x_))}) {
    hlo::Instruction* result = Apply(rule, builder_.Binary(Opcode::kAdd, a, b));
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->operand(0), x_);
    EXPECT_EQ(result->operand(1)->operand(0), y_);
  }
  EXPECT_EQ(Apply(rule, builder_.Binary(Opcode::kAdd, product(x_, x_), product(y_, z))), nullptr);
}

TEST_F(RuleTest, ComparisonsMatchWithOperandsSwapped) {
  const Rule rule("compare.lt(x, y)", "compare.ge(y, x)");
  hlo::Instruction* less = builder_.Compare(hlo::ComparisonDirection::kLt, x_, y_);
  hlo::Instruction* greater = builder_.Compare(hlo::ComparisonDirection::kGt, x_, y_);
  EXPECT_EQ(Apply(rule, less)->operand(0), y_);
  EXPECT_EQ(Apply(rule, greater)->operand(0), x_);
  EXPECT_EQ(Apply(rule, builder_.Compare(hlo::ComparisonDirection::kLe, x_, y_)), nullptr);
  const auto total = hlo::CompareAttributes{hlo::ComparisonDirection::kLt, hlo::ComparisonType::kTotalOrder};
  EXPECT_EQ(Apply(rule, builder_.Add(Opcode::kCompare, less->shape(), {x_, y_}, total)), nullptr);
}

TEST_F(RuleTest, OpsOverConstantsAreComputed) {
  hlo::Instruction* three = builder_.Splat(shape_, 3);
  hlo::Instruction* sum = builder_.Binary(Opcode::kMultiply, builder_.Binary(Opcode::kMultiply, x_, three), three);
  const Rule rule("multiply(multiply(v, c), c)", "multiply(v, add(c, multiply(c, 2)))");
  hlo::Instruction* result = Apply(rule, sum);
  ASSERT_NE(result, nullptr);
  EXPECT_TRUE(hlo::IsSplatOf(*SplatValue(*result->operand(1)), 9));
  const Rule no_constant("multiply(v, _)", "v");
  EXPECT_EQ(Apply(no_constant, builder_.Binary(Opcode::kMultiply, three, three)), nullptr);
}

TEST_F(RuleTest, TaggedOpsAreMadeAnew) {
  hlo::Instruction* zero = builder_.Scalar(PrimitiveType::kF32, 0);
  hlo::Instruction* sum = builder_.Reduce(builder_.Unary(Opcode::kNegate, x_), zero, {1}, Opcode::kAdd);
  const Rule rule("t:reduce.add(negate'(x), 0)", "negate(t(x, 0))");
  hlo::Instruction* result = Apply(rule, sum);
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->operand(0)->opcode(), Opcode::kReduce);
  EXPECT_EQ(result->operand(0)->operand(0), x_);
  EXPECT_EQ(result->operand(0)->dimensions(), sum->dimensions());
  const Rule maximum("t:reduce.maximum(x, y)", "t(x, y)");
  EXPECT_EQ(Apply(maximum, sum), nullptr);
}

TEST(RuleSet, RefusesWhatDoesNotParse) {
  for (const char* pattern : {"add(x)", "no-such-op(x)", "add(x, y", "add(x, y) z", "x", "add(x, yy)", "t:x",
                              "compare.less(x, y)", "add.lt(x, y)", "add(..., x)"}) {
    const Rule rule(pattern, "x");
    EXPECT_FALSE(SetOf(rule).ParseAll().ok()) << pattern;
  }
  for (const char* right : {"transpose(x)", "abs'(x)", "t:abs(x)", "compare(x, x)", "add(x, ...)", "elementwise(x)"}) {
    const Rule rule("negate(x)", right);
    EXPECT_FALSE(SetOf(rule).ParseAll().ok()) << right;
  }
}

// Found where an instruction of the opcode is met, and nowhere else.
TEST_F(RuleTest, WhatDoesNotParseFailsForItsOpcode) {
  const Rule rule("negate(1x)", "x");
  const RuleSet rules = SetOf(rule);
  Facts facts;
  EXPECT_EQ(rules.Apply(builder_.Unary(Opcode::kAbs, x_), builder_, facts).value(), nullptr);
  EXPECT_THAT(std::string(rules.Apply(builder_.Unary(Opcode::kNegate, x_), builder_, facts).status().message()),
              testing::HasSubstr("rule 'negate(1x)'"));
}

TEST(RuleSet, AllRulesParseAndAreListed) {
  ASSERT_EQ(RuleSet(AllRules()).ParseAll(), absl::OkStatus());
  size_t count = 0;
  for (const RuleGroup& group : AllRules()) count += group.rules.size();
  EXPECT_GT(count, 300);
  EXPECT_THAT(FormatRules(), testing::EndsWith(std::to_string(count) + " rules\n"));
}

}  // namespace
}  // namespace kiln::passes::simplify
