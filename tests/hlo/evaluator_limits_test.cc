// Bounds, errors and structure of the evaluator, on modules built by hand.
#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/evaluator.h"

namespace kiln::hlo {
namespace {

const Shape kF32 = Shape::Scalar(PrimitiveType::kF32);
const Shape kS32 = Shape::Scalar(PrimitiveType::kS32);
const Shape kPredicate = Shape::Scalar(PrimitiveType::kPred);

// while (i < limit) { array[i % 4] = i; ++i }, or for ever when limit is negative.
Computation* CountingLoop(Module* module, int32_t limit) {
  const Shape array(PrimitiveType::kS32, {4});
  const Shape state = Shape::Tuple({kS32, array});
  Computation* condition = module->AddComputation("condition");
  Instruction* p = condition->AddParameter(0, state);
  Instruction* i = condition->Add(Opcode::kGetTupleElement, kS32, {p}, TupleIndexAttributes{0});
  Instruction* bound = condition->AddConstant(Literal::Scalar<int32_t>(limit));
  const auto direction = limit < 0 ? ComparisonDirection::kNe : ComparisonDirection::kLt;
  condition->set_root(condition->Add(Opcode::kCompare, kPredicate, {i, bound}, CompareAttributes{direction}));
  Computation* body = module->AddComputation("body");
  p = body->AddParameter(0, state);
  i = body->Add(Opcode::kGetTupleElement, kS32, {p}, TupleIndexAttributes{0});
  Instruction* values = body->Add(Opcode::kGetTupleElement, array, {p}, TupleIndexAttributes{1});
  Instruction* four = body->AddConstant(Literal::Scalar<int32_t>(4));
  Instruction* at = body->Add(Opcode::kRemainder, kS32, {i, four});
  Instruction* update = body->Add(Opcode::kReshape, Shape(PrimitiveType::kS32, {1}), {i});
  Instruction* updated = body->Add(Opcode::kDynamicUpdateSlice, array, {values, update, at});
  Instruction* one = body->AddConstant(Literal::Scalar<int32_t>(1));
  Instruction* next = body->Add(Opcode::kAdd, kS32, {i, one});
  body->set_root(body->Add(Opcode::kTuple, state, {next, updated}));
  Computation* entry = module->AddComputation("entry");
  Instruction* zero = entry->AddConstant(Literal::Scalar<int32_t>(0));
  Instruction* start = entry->Add(Opcode::kTuple, state, {zero, entry->AddParameter(0, array)});
  entry->set_root(entry->Add(Opcode::kWhile, state, {start}, {}, {body, condition}));
  return entry;
}

TEST(EvaluatorLimitsTest, LoopUpdatesItsArrayAndLeavesTheArgumentAlone) {
  Module module("m");
  const Literal argument = Literal::Vector<int32_t>({7, 7, 7, 7});
  absl::StatusOr<Literal> value = Evaluate(*CountingLoop(&module, 6), {argument});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->elements()[1], Literal::Vector<int32_t>({4, 5, 2, 3}));
  EXPECT_EQ(argument, Literal::Vector<int32_t>({7, 7, 7, 7}));
}

TEST(EvaluatorLimitsTest, EndlessLoopMeetsTheOperationLimit) {
  Module module("m");
  EvaluatorOptions options;
  options.max_operations = 10000;
  absl::StatusOr<Literal> value =
      Evaluate(*CountingLoop(&module, -1), {Literal::Vector<int32_t>({0, 0, 0, 0})}, options);
  EXPECT_EQ(value.status().code(), absl::StatusCode::kDeadlineExceeded) << value.status();
}

TEST(EvaluatorLimitsTest, RefusesArraysPastMemory) {
  Module module("m");
  Computation* entry = module.AddComputation("entry");
  Instruction* one = entry->AddConstant(Literal::Scalar<float>(1));
  const Shape huge(PrimitiveType::kF32, {1 << 20, 1 << 20});
  entry->set_root(entry->Add(Opcode::kBroadcast, huge, {one}, DimensionsAttributes{}));
  EXPECT_EQ(Evaluate(*entry, {}).status().code(), absl::StatusCode::kResourceExhausted);
  const Shape absurd(PrimitiveType::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  entry->set_root(entry->Add(Opcode::kBroadcast, absurd, {one}, DimensionsAttributes{}));
  EXPECT_EQ(Evaluate(*entry, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

Computation* NestedCalls(Module* module, int depth) {
  Computation* inner = module->AddComputation("leaf");
  inner->set_root(inner->Add(Opcode::kNegate, kF32, {inner->AddParameter(0, kF32)}));
  for (int i = 0; i < depth; ++i) {
    Computation* outer = module->AddComputation("level");
    outer->set_root(outer->Add(Opcode::kCall, kF32, {outer->AddParameter(0, kF32)}, CallAttributes{}, {inner}));
    inner = outer;
  }
  return inner;
}

TEST(EvaluatorLimitsTest, CallsNestAThousandDeepAndNoDeeper) {
  Module module("m");
  absl::StatusOr<Literal> value = Evaluate(*NestedCalls(&module, 900), {Literal::Scalar<float>(2)});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, Literal::Scalar<float>(-2));
  EXPECT_EQ(Evaluate(*NestedCalls(&module, 1001), {Literal::Scalar<float>(2)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(EvaluatorLimitsTest, WrongArgumentsAreErrors) {
  Module module("m");
  Computation* entry = NestedCalls(&module, 1);
  EXPECT_EQ(Evaluate(*entry, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Evaluate(*entry, {Literal::Scalar<int32_t>(1)}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(EvaluateInstruction(*entry->parameter(0), {}).status().message()),
              testing::HasSubstr("parameter"));
}

TEST(EvaluatorLimitsTest, MalformedInstructionsAreErrorsNotCrashes) {
  Module module("m");
  Computation* entry = module.AddComputation("entry");
  Instruction* x = entry->AddParameter(0, Shape(PrimitiveType::kF32, {3, 2}));
  const std::vector<Literal> values = {Literal(x->shape())};
  const Shape bad(PrimitiveType::kF32, {5, 7});
  const std::vector<Instruction*> malformed = {
      entry->Add(Opcode::kTranspose, bad, {x}, DimensionsAttributes{{1, 0}}),
      entry->Add(Opcode::kTranspose, bad, {x}, DimensionsAttributes{{5, -1}}),
      entry->Add(Opcode::kTranspose, bad, {x}),
      entry->Add(Opcode::kBroadcast, bad, {x}, DimensionsAttributes{{0, 9}}),
      entry->Add(Opcode::kReverse, bad, {x}, DimensionsAttributes{{0}}),
      entry->Add(Opcode::kSlice, bad, {x}, SliceAttributes{{0, 0}, {9, 9}, {1, 1}}),
      entry->Add(Opcode::kSlice, bad, {x}, SliceAttributes{{0, 0}, {3, 2}, {0, 0}}),
      entry->Add(Opcode::kReshape, bad, {x}),
      entry->Add(Opcode::kNegate, bad, {x}),
      entry->Add(Opcode::kNot, x->shape(), {x}),
      entry->Add(Opcode::kReduce, bad, {x}, DimensionsAttributes{{0}}),
      entry->Add(Opcode::kCall, bad, {x}),
      entry->Add(Opcode::kSort, bad, {x}, SortAttributes{7}),
      entry->Add(Opcode::kFft, bad, {x}, FftAttributes{FftType::kFft, {2}}),
      entry->Add(Opcode::kCholesky, x->shape(), {x}, CholeskyAttributes{}),
      entry->Add(Opcode::kTopK, bad, {x}, TopKAttributes{9}),
      entry->Add(Opcode::kRngBitGenerator, bad, {x}, RngAttributes{}),
      entry->Add(Opcode::kCustomCall, bad, {x}, CustomCallAttributes{"anything"}),
      entry->Add(Opcode::kAllGather, bad, {x}, CollectiveAttributes{}),
      entry->Add(Opcode::kScan, bad, {x}, ScanAttributes{}),
      entry->Add(Opcode::kBitcast, bad, {x}),
      entry->Add(Opcode::kBitcastConvert, bad, {x}),
  };
  for (const Instruction* instruction : malformed) {
    absl::StatusOr<Literal> value = EvaluateInstruction(*instruction, values);
    EXPECT_FALSE(value.ok()) << instruction->Describe();
    EXPECT_FALSE(value.status().message().empty());
  }
}

TEST(EvaluatorLimitsTest, EveryOpcodeAnswersWithoutOperandsOrAttributes) {
  Module module("m");
  Computation* entry = module.AddComputation("entry");
  for (int i = 0; i < kOpcodeCount; ++i) {
    const Opcode opcode = static_cast<Opcode>(i);
    if (opcode == Opcode::kParameter || opcode == Opcode::kConstant || opcode == Opcode::kGetTupleElement) continue;
    Instruction* instruction = entry->Add(opcode, kF32, {});
    absl::StatusOr<Literal> value = EvaluateInstruction(*instruction, {});
    if (value.ok()) EXPECT_TRUE(Shape::Compatible(value->shape(), kF32)) << OpcodeName(opcode);
  }
}

TEST(EvaluatorLimitsTest, BitcastReadsTheBufferThroughBothLayouts) {
  Module module("m");
  Computation* entry = module.AddComputation("entry");
  Shape from(PrimitiveType::kS32, {2, 3}), to(PrimitiveType::kS32, {3, 2});
  to.set_layout({0, 1});  // column-major: the same buffer is the transpose
  Instruction* x = entry->AddParameter(0, from);
  Instruction* y = entry->Add(Opcode::kBitcast, to, {x});
  Literal value(from);
  std::iota(value.mutable_data<int32_t>().begin(), value.mutable_data<int32_t>().end(), 0);
  absl::StatusOr<Literal> result = EvaluateInstruction(*y, {value});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->data<int32_t>(), testing::ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(EvaluatorLimitsTest, ReducesThroughComputationsThatCall) {
  Module module("m");
  Computation* add = module.AddComputation("add");
  add->set_root(add->Add(Opcode::kAdd, kF32, {add->AddParameter(0, kF32), add->AddParameter(1, kF32)}));
  Computation* outer = module.AddComputation("outer");
  Instruction* a = outer->AddParameter(0, kF32);
  Instruction* b = outer->AddParameter(1, kF32);
  outer->set_root(outer->Add(Opcode::kCall, kF32, {a, b}, CallAttributes{}, {add}));
  Computation* entry = module.AddComputation("entry");
  Instruction* x = entry->AddParameter(0, Shape(PrimitiveType::kF32, {4}));
  Instruction* zero = entry->AddConstant(Literal::Scalar<float>(0));
  entry->set_root(entry->Add(Opcode::kReduce, kF32, {x, zero}, DimensionsAttributes{{0}}, {outer}));
  absl::StatusOr<Literal> value = Evaluate(*entry, {Literal::Vector<float>({1, 2, 3, 4})});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, Literal::Scalar<float>(10));
}

// Rows from, so many, to: offsets at either end of the integers neither wrap nor leave the arrays.
TEST(EvaluatorLimitsTest, RaggedAllToAllTakesAnyOffsets) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  Module module("m");
  Computation* entry = module.AddComputation("entry");
  const Shape rows(PrimitiveType::kS32, {4}), offsets(PrimitiveType::kS64, {1});
  std::vector<Instruction*> operands = {entry->AddParameter(0, rows), entry->AddParameter(1, rows)};
  for (int64_t i = 2; i < 6; ++i) operands.push_back(entry->AddParameter(i, offsets));
  entry->set_root(entry->Add(Opcode::kRaggedAllToAll, rows, operands, CollectiveAttributes{}));
  struct Case {
    int64_t from, size, to;
    std::vector<int32_t> expected;
  };
  for (const Case& c : std::vector<Case>{{1, 2, 2, {9, 9, 2, 3}},
                                         {kMax, kMax, 2, {9, 9, 4, 4}},
                                         {kMin, kMax, 1, {9, 1, 1, 1}},
                                         {0, kMax, kMin, {9, 9, 9, 9}},
                                         {0, 1, kMax, {9, 9, 9, 9}},
                                         {kMin, 3, kMin, {9, 9, 9, 9}}}) {
    const auto one = [](int64_t value) { return Literal::Vector<int64_t>({value}); };
    absl::StatusOr<Literal> value =
        Evaluate(*entry, {Literal::Vector<int32_t>({1, 2, 3, 4}), Literal::Vector<int32_t>({9, 9, 9, 9}), one(c.from),
                          one(c.size), one(c.to), one(c.size)});
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, Literal::Vector<int32_t>(c.expected)) << c.from << " " << c.size << " " << c.to;
  }
}

TEST(EvaluatorLimitsTest, RandomNumbersStayInRange) {
  Module module("m");
  Computation* entry = module.AddComputation("entry");
  Instruction* low = entry->AddConstant(Literal::Scalar<float>(-1));
  Instruction* high = entry->AddConstant(Literal::Scalar<float>(2));
  const Shape shape(PrimitiveType::kF32, {10000});
  entry->set_root(entry->Add(Opcode::kRng, shape, {low, high}, RngAttributes{RngDistribution::kUniform}));
  absl::StatusOr<Literal> value = Evaluate(*entry, {});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(value->data<float>(), testing::Each(testing::AllOf(testing::Ge(-1.0f), testing::Lt(2.0f))));
  const double sum = std::accumulate(value->data<float>().begin(), value->data<float>().end(), 0.0);
  EXPECT_NEAR(sum / 10000, 0.5, 0.03);  // 3 standard errors: 0.026
}

}  // namespace
}  // namespace kiln::hlo
