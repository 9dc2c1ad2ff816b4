#include "src/passes/scan_expander.h"

#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/passes/array_formula.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {

namespace {

// Whether each element of a scan's results depends only on elements of the inputs and carries at the same place of the
// slices: such scans have generated code of their own.
bool IsElementwiseScan(const Instruction& scan) {
  if (scan.operand_count() == scan.Get<hlo::ScanAttributes>().num_carries) return false;
  const Computation& body = *scan.called_computation();
  DimensionVector slice = scan.operand(0)->shape().dimensions();
  slice.erase(slice.begin() + scan.Get<hlo::ScanAttributes>().dimension);
  for (const Instruction* parameter : body.parameters()) {
    if (!parameter->shape().IsArray() || parameter->shape().dimensions() != slice) return false;
  }
  // Results of other dimensions than the slices' would be scalars.
  const Instruction& root = *body.root();
  for (int64_t i = 0; i < (root.opcode() == Opcode::kTuple ? root.operand_count() : 0); ++i) {
    if (root.operand(i)->shape().dimensions() != slice) return false;
  }
  return (root.opcode() == Opcode::kTuple || root.shape().IsArray()) && IsFormula(body);
}

absl::StatusOr<Instruction*> ExpandScan(Instruction* instruction) {
  if (IsElementwiseScan(*instruction)) return nullptr;
  const auto& scan = instruction->Get<hlo::ScanAttributes>();
  const int64_t input_count = instruction->operand_count() - scan.num_carries;
  const bool single = !instruction->shape().IsTuple();
  std::vector<Shape> leaves = {instruction->shape()};
  if (!single) leaves = instruction->shape().tuple_shapes();
  const int64_t output_count = static_cast<int64_t>(leaves.size()) - scan.num_carries;
  // An input or else an output has the length of the scanned dimension.
  const Shape& whole = input_count > 0 ? instruction->operand(0)->shape() : leaves[0];
  const int64_t length = whole.dimensions(scan.dimension);
  Builder builder(instruction->parent(), instruction);
  // Carried through the loop: inputs, outputs, carries.
  std::vector<ArrayValue> state;
  for (int64_t i = 0; i < input_count; ++i) state.emplace_back(&builder, instruction->operand(i));
  for (int64_t i = 0; i < output_count; ++i) {
    state.emplace_back(&builder, builder.Splat(leaves[i], hlo::ZeroLiteral(leaves[i].element_type())));
  }
  for (int64_t i = input_count; i < instruction->operand_count(); ++i)
    state.emplace_back(&builder, instruction->operand(i));

  auto round = [&](const ArrayValue& i, const std::vector<ArrayValue>& values) {
    Builder* inside = i.builder();
    const ArrayValue at = scan.is_reverse ? i.Number(length - 1) - i : i;
    auto starts = [&](int64_t rank) {
      std::vector<ArrayValue> result(rank, i.Number(int64_t{0}));
      result[scan.dimension] = at;
      return result;
    };
    std::vector<Instruction*> arguments;
    for (int64_t k = 0; k < input_count; ++k) {
      DimensionVector sizes = values[k].shape().dimensions();
      sizes[scan.dimension] = 1;
      DimensionVector slice = sizes;
      slice.erase(slice.begin() + scan.dimension);
      arguments.push_back(values[k].DynamicSlice(starts(values[k].shape().rank()), sizes).Reshape(slice).instruction());
    }
    for (size_t k = input_count + output_count; k < values.size(); ++k) arguments.push_back(values[k].instruction());
    Instruction* result = inside->Inline(*instruction->called_computation(), arguments);
    auto part = [&](int64_t k) {
      return ArrayValue(inside, result->shape().IsTuple() ? inside->GetTupleElement(result, k) : result);
    };
    std::vector<ArrayValue> next = values;
    for (int64_t k = 0; k < output_count; ++k) {
      DimensionVector sizes = leaves[k].dimensions();
      sizes[scan.dimension] = 1;
      const ArrayValue& output = values[input_count + k];
      next[input_count + k] = output.DynamicUpdate(part(k).Reshape(sizes), starts(output.shape().rank()));
    }
    for (int64_t k = 0; k < scan.num_carries; ++k) next[input_count + output_count + k] = part(output_count + k);
    return next;
  };
  const std::vector<ArrayValue> last = CountedLoop(state, length, round);
  std::vector<Instruction*> results;
  for (size_t i = input_count; i < last.size(); ++i) results.push_back(last[i].instruction());
  return single ? results[0] : builder.Tuple(std::move(results));
}

}  // namespace

absl::StatusOr<bool> ExpandScans(Module* module) { return ReplaceOps(module, {Opcode::kScan}, ExpandScan); }

}  // namespace kiln::passes
