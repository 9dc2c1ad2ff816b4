#include "src/passes/approx_top_k_expander.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "src/base/status.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// The integer after `key` in a backend config, whose syntax is JSON or that of MLIR attributes; -1 when there is none.
int64_t ConfigNumber(absl::string_view config, absl::string_view key) {
  const size_t found = config.find(key);
  if (found == absl::string_view::npos) return -1;
  const size_t begin = config.find_first_not_of("\"=: ", found + key.size());
  if (begin == absl::string_view::npos) return -1;
  size_t end = begin;
  while (end < config.size() && config[end] >= '0' && config[end] <= '9') ++end;
  int64_t number = -1;
  return absl::SimpleAtoi(config.substr(begin, end - begin), &number) ? number : -1;
}

// Whether a selection of the largest or the smallest elements of rows and their positions is asked for.
bool IsTopK(const Instruction& call, int64_t dimension) {
  const Instruction *values = call.operand(0), *positions = call.operand(1);
  const Computation& comparator = *call.called_computation();
  const auto* compare = comparator.root()->GetIf<hlo::CompareAttributes>();
  const PrimitiveType type = values->shape().element_type();
  return call.operand_count() == 4 && dimension == values->shape().rank() - 1 && positions->opcode() == Opcode::kIota &&
         positions->dimensions()[0] == dimension && positions->shape().element_type() == PrimitiveType::kS32 &&
         (hlo::IsIntegral(type) || hlo::IsFloating(type)) && compare != nullptr &&
         (compare->direction == ComparisonDirection::kGt || compare->direction == ComparisonDirection::kLt) &&
         comparator.root()->operand(0) == comparator.parameter(0) &&
         comparator.root()->operand(1) == comparator.parameter(1);
}

absl::StatusOr<Instruction*> ExpandApproxTopKCall(Instruction* instruction) {
  const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
  if (call == nullptr || call->target != "ApproxTopK") return nullptr;
  const int64_t count = instruction->operand_count() / 2;
  const bool single = !instruction->shape().IsTuple();
  const int64_t results = single ? 1 : static_cast<int64_t>(instruction->shape().tuple_shapes().size());
  if (count < 1 || instruction->operand_count() != 2 * count || results != count ||
      instruction->called_computations().size() != 1 ||
      instruction->called_computation()->parameter_count() != 2 * count) {
    return InvalidArgument(instruction->Describe(),
                           ": expected n arrays, n initial values, n results and a comparator "
                           "of 2 n parameters, found ",
                           instruction->operand_count(), " operands and ", results, " results");
  }
  const int64_t dimension = ConfigNumber(instruction->backend_config(), "reduction_dim");
  std::vector<Shape> sorted_shapes;
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < count; ++i) {
    const Shape& operand = instruction->operand(i)->shape();
    Shape wanted = single ? instruction->shape() : instruction->shape().tuple_shapes(i);
    bool fits = operand.IsArray() && wanted.IsArray() && wanted.rank() == operand.rank() && dimension >= 0 &&
                dimension < operand.rank() && wanted.dimensions(dimension) <= operand.dimensions(dimension) &&
                Shape::SameDimensions(operand, instruction->operand(0)->shape());
    if (fits) wanted.set_dimensions(dimension, operand.dimensions(dimension));
    if (!fits || !Shape::Compatible(wanted, operand)) {
      return InvalidArgument(instruction->Describe(), ": operand ", i, " of shape ", operand.ToString(),
                             " does not fit its result along dimension ", dimension);
    }
    sorted_shapes.emplace_back(operand.element_type(), operand.dimensions());
    operands.push_back(instruction->operand(i));
  }
  Builder builder(instruction->parent(), instruction);
  if (IsTopK(*instruction, dimension)) {
    const Shape& values = instruction->shape().tuple_shapes(0);
    const bool largest = instruction->called_computation()->root()->comparison().direction == ComparisonDirection::kGt;
    return builder.Add(Opcode::kTopK,
                       Shape::Tuple({Shape(values.element_type(), values.dimensions()),
                                     Shape(PrimitiveType::kS32, values.dimensions())}),
                       {operands[0]}, hlo::TopKAttributes{.k = values.dimensions(dimension), .largest = largest});
  }
  Shape shape = count == 1 ? sorted_shapes[0] : Shape::Tuple(sorted_shapes);
  Instruction* sorted =
      builder.Add(Opcode::kSort, std::move(shape), std::move(operands),
                  hlo::SortAttributes{.dimension = dimension, .is_stable = true}, {instruction->called_computation()});
  std::vector<Instruction*> first;
  for (int64_t i = 0; i < count; ++i) {
    const ArrayValue all(&builder, count == 1 ? sorted : builder.GetTupleElement(sorted, i));
    const Shape& wanted = single ? instruction->shape() : instruction->shape().tuple_shapes(i);
    first.push_back(all.Slice(dimension, 0, wanted.dimensions(dimension)).instruction());
  }
  return single ? first[0] : builder.Tuple(std::move(first));
}

}  // namespace

absl::StatusOr<bool> ExpandApproxTopK(Module* module) {
  return ReplaceOps(module, {Opcode::kCustomCall}, ExpandApproxTopKCall);
}

}  // namespace kiln::passes
