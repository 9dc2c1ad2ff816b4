#include "src/passes/reduce_window_to_scan.h"

#include <utility>
#include <vector>

#include "src/hlo/evaluator.h"
#include "src/passes/array_formula.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// Shorter dimensions are read again and again from the first-level cache, and the window fuses with its neighbours.
constexpr int64_t kMinSize = 16;

// The one dimension whose windows grow from nothing to all of it; -1 where there is none such or others have windows
// too.
int64_t ScannedDimension(const Instruction& reduce) {
  const hlo::Window& window = reduce.Get<hlo::WindowAttributes>().window;
  const Shape& operand = reduce.operand(0)->shape();
  int64_t scanned = -1;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const hlo::WindowDimension& w = window[i];
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation != 1) return -1;
    if (w.size == 1 && w.padding_low == 0 && w.padding_high == 0) continue;
    const bool prefix = w.padding_low == w.size - 1 && w.padding_high == 0;
    const bool suffix = w.padding_high == w.size - 1 && w.padding_low == 0;
    if (scanned >= 0 || w.size < operand.dimensions(i) || !(prefix || suffix)) return -1;
    scanned = i;
  }
  return scanned;
}

// Whether combining the initial values with themselves changes nothing, so that padding counts for nothing.
bool IsNeutralToItself(const Instruction& reduce) {
  const int64_t count = reduce.operand_count() / 2;
  std::vector<Literal> arguments;
  for (int side = 0; side < 2; ++side) {
    for (int64_t i = 0; i < count; ++i) {
      if (!reduce.operand(count + i)->IsConstant()) return false;
      arguments.push_back(reduce.operand(count + i)->literal());
    }
  }
  const absl::StatusOr<Literal> combined = hlo::Evaluate(*reduce.called_computation(), arguments, {});
  if (!combined.ok()) return false;
  for (int64_t i = 0; i < count; ++i) {
    const Literal& part = combined->shape().IsTuple() ? combined->elements()[i] : *combined;
    if (part.bytes() != arguments[i].bytes()) return false;
  }
  return true;
}

absl::StatusOr<Instruction*> Expand(Instruction* instruction) {
  const Computation& combiner = *instruction->called_computation();
  const int64_t dimension = ScannedDimension(*instruction);
  if (dimension < 0 || instruction->operand(0)->shape().dimensions(dimension) < kMinSize || !IsFormula(combiner) ||
      !IsNeutralToItself(*instruction)) {
    return nullptr;
  }
  const bool reverse = instruction->Get<hlo::WindowAttributes>().window[dimension].padding_high > 0;
  const int64_t count = instruction->operand_count() / 2;
  DimensionVector slice = instruction->operand(0)->shape().dimensions();
  slice.erase(slice.begin() + dimension);

  // (slices, carries) -> (combined, combined), in the order of the elements.
  Computation* body = instruction->parent()->parent()->AddComputation("scan");
  std::vector<Instruction*> slices, carries;
  for (int64_t i = 0; i < 2 * count; ++i) {
    const Shape shape(instruction->operand(i % count)->shape().element_type(), slice);
    (i < count ? slices : carries).push_back(body->AddParameter(i, shape));
  }
  Builder inside(body, instruction);
  std::vector<Instruction*> arguments = reverse ? slices : carries;
  const std::vector<Instruction*>& later = reverse ? carries : slices;
  arguments.insert(arguments.end(), later.begin(), later.end());
  ArrayFormula formula(&inside, slice, std::move(arguments));
  std::vector<Instruction*> combined;
  const Instruction* root = combiner.root();
  if (root->opcode() == Opcode::kTuple) {
    for (const Instruction* element : root->operands()) combined.push_back(formula.Of(element));
  } else {
    combined.push_back(formula.Of(root));
  }
  std::vector<Instruction*> results = combined;
  results.insert(results.end(), combined.begin(), combined.end());
  body->set_root(inside.Tuple(std::move(results)));

  Builder builder(instruction->parent(), instruction);
  std::vector<Instruction*> inputs, starts;
  for (int64_t i = 0; i < count; ++i) {
    inputs.push_back(instruction->operand(i));
    starts.push_back(builder.Broadcast(instruction->operand(count + i), slice, {}));
  }
  std::vector<Instruction*> whole = AddScan(&builder, std::move(inputs), starts, dimension, reverse, body);
  return instruction->shape().IsTuple() ? builder.Tuple(std::move(whole)) : whole[0];
}

}  // namespace

absl::StatusOr<bool> MakeWindowsScans(Module* module) { return ReplaceOps(module, {Opcode::kReduceWindow}, Expand); }

}  // namespace kiln::passes
