#include "src/passes/custom_call_expander.h"

#include <optional>

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {

namespace {

constexpr absl::string_view kTopK = "TopK";
// Before the name of a function that the reader of a program may not know as an opcode.
constexpr absl::string_view kFunctionPrefix = "mhlo.";
constexpr absl::string_view kIdentities[] = {
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "LayoutConstraint",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
    "annotate_device_placement",
};

// The elementwise function that a call stands for.
std::optional<Opcode> FunctionOf(const Instruction& instruction) {
  absl::string_view name = instruction.Get<hlo::CustomCallAttributes>().target;
  if (!absl::ConsumePrefix(&name, kFunctionPrefix)) return std::nullopt;
  const std::optional<Opcode> opcode = hlo::ParseOpcode(absl::StrReplaceAll(name, {{"_", "-"}}));
  if (!opcode.has_value() || hlo::KindOf(*opcode) != hlo::OpKind::kElementwiseUnary) return std::nullopt;
  const bool fits =
      instruction.operand_count() == 1 && instruction.shape().IsArray() &&
      (hlo::IsFloating(instruction.shape().element_type()) || hlo::IsComplex(instruction.shape().element_type())) &&
      Shape::Compatible(instruction.operand(0)->shape(), instruction.shape());
  return fits ? opcode : std::nullopt;
}

// a > b, of the first pair of parameters.
bool IsGreater(const Computation& comparator) {
  const Instruction* root = comparator.root();
  const auto* compare = root->GetIf<hlo::CompareAttributes>();
  if (compare == nullptr || root->operand_count() != 2 || comparator.parameter_count() < 2) return false;
  const bool straight = root->operand(0) == comparator.parameter(0) && root->operand(1) == comparator.parameter(1);
  return straight && compare->direction == ComparisonDirection::kGt;
}

// Whether it compares two values and their positions, as a sort of both would.
bool ComparesPairs(const Computation& comparator, PrimitiveType type) {
  constexpr int64_t kPairs = 2;
  if (comparator.parameter_count() != 2 * kPairs) return false;
  for (int64_t i = 0; i < 2 * kPairs; ++i) {
    const Shape wanted = Shape::Scalar(i < kPairs ? type : PrimitiveType::kS32);
    if (!Shape::Compatible(comparator.parameter(i)->shape(), wanted)) return false;
  }
  return Shape::Compatible(comparator.root()->shape(), Shape::Scalar(PrimitiveType::kPred));
}

// The first by the call's comparator, of values and of positions; sort-to-top-k selects where that gives an order.
Instruction* FirstOfSorted(Builder* builder, Instruction* call, int64_t k) {
  const ArrayValue values(builder, call->operand(0));
  const int64_t last = values.shape().rank() - 1;
  const ArrayValue positions = Iota(builder, PrimitiveType::kS32, values.shape().dimensions(), last);
  Instruction* sorted = builder->Add(
      Opcode::kSort, Shape::Tuple({values.shape(), positions.shape()}), {values.instruction(), positions.instruction()},
      hlo::SortAttributes{.dimension = last, .is_stable = true}, {call->called_computation()});
  const auto first = [&](int64_t index) {
    return ArrayValue(builder, builder->GetTupleElement(sorted, index)).Slice(last, 0, k).instruction();
  };
  return builder->Tuple({first(0), first(1)});
}

absl::StatusOr<Instruction*> ExpandCustomCall(Instruction* instruction) {
  const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
  if (call == nullptr) return nullptr;
  const std::optional<Opcode> function = FunctionOf(*instruction);
  if (call->target != kTopK && !function && !absl::c_linear_search(kIdentities, call->target)) return nullptr;
  if (instruction->operand_count() != 1) {
    return InvalidArgument(instruction->Describe(), ": has ", instruction->operand_count(), " operands, expected one");
  }
  const Shape& operand = instruction->operand(0)->shape();
  const Shape& result = instruction->shape();
  Builder builder(instruction->parent(), instruction);
  if (function) return builder.Unary(*function, instruction->operand(0));
  if (call->target != kTopK) {
    if (Shape::Compatible(operand, result)) return instruction->operand(0);
    return Unimplemented(instruction->Describe(), ": changes ", operand.ToString(false), " to ", result.ToString(false),
                         ": programs of several devices are not supported");
  }
  const bool ordered = hlo::IsIntegral(operand.element_type()) || hlo::IsFloating(operand.element_type());
  if (!operand.IsArray() || !ordered || operand.rank() == 0 || !result.IsTuple() || result.tuple_shapes().size() != 2 ||
      !result.tuple_shapes(0).IsArray() || result.tuple_shapes(0).rank() != operand.rank()) {
    return InvalidArgument(instruction->Describe(), ": takes ", operand.ToString(false), " and gives ",
                           result.ToString(false),
                           ", expected an array of numbers, and its largest values and their positions");
  }
  const int64_t last = operand.rank() - 1, k = result.tuple_shapes(0).dimensions(last);
  Shape values = operand;
  values.ResetLayout();
  values.set_dimensions(last, k);
  const Shape wanted = Shape::Tuple({values, Shape(PrimitiveType::kS32, values.dimensions())});
  if (k > operand.dimensions(last) || !Shape::Compatible(wanted, result)) {
    return InvalidArgument(instruction->Describe(), ": gives ", result.ToString(false), " of ", operand.ToString(false),
                           ", expected ", wanted.ToString(false));
  }
  const absl::Span<Computation* const> comparators = instruction->called_computations();
  if (comparators.size() > 1) return InvalidArgument(instruction->Describe(), ": has several comparators");
  if (!comparators.empty() && !IsGreater(*comparators[0])) {
    if (ComparesPairs(*comparators[0], operand.element_type())) return FirstOfSorted(&builder, instruction, k);
    return Unimplemented(instruction->Describe(),
                         ": a comparator other than 'greater' has to take two values and their positions");
  }
  return builder.Add(Opcode::kTopK, wanted, {instruction->operand(0)}, hlo::TopKAttributes{.k = k});
}

}  // namespace

absl::StatusOr<bool> ExpandCustomCalls(Module* module) {
  return ReplaceOps(module, {Opcode::kCustomCall}, ExpandCustomCall);
}

}  // namespace kiln::passes
