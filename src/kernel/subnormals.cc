#include "src/kernel/subnormals.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/shifted_rows.h"
#include "src/analysis/value_range.h"
#include "src/hlo/computation.h"
#include "src/hlo/instruction.h"
#include "src/hlo/opcode.h"
#include "src/hlo/primitive_type.h"
#include "src/kernel/iterations.h"

namespace kiln::kernel {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;

// Iterations of a kernel from which on it is worth writing a control register twice in each task.
constexpr int64_t kMuchWork = int64_t{1} << 13;

bool IsExponential(Opcode opcode) {
  switch (opcode) {
    case Opcode::kExp:
    case Opcode::kExp2:
    case Opcode::kLogistic:
      return true;
    default:
      return false;
  }
}

// Of floats: whether results other than subnormal ones hardly change where subnormal operands count as zeros.
bool ToleratesFlushing(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAdd:
    case Opcode::kCeil:
    case Opcode::kAtan2:
    case Opcode::kClamp:
    case Opcode::kCompare:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kCos:
    case Opcode::kDivide:
    case Opcode::kErf:
    case Opcode::kExpMinusOne:
    case Opcode::kFloor:
    case Opcode::kIsFinite:
    case Opcode::kLogPlusOne:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMultiply:
    case Opcode::kNegate:
    case Opcode::kSelect:
    case Opcode::kSin:
    case Opcode::kSqrt:
    case Opcode::kSubtract:
    case Opcode::kTan:
    case Opcode::kTanh:
      return true;
    default:
      return IsExponential(opcode);
  }
}

bool Multiplies(Opcode opcode) {
  return opcode == Opcode::kMultiply || opcode == Opcode::kDivide || opcode == Opcode::kDot ||
         opcode == Opcode::kConvolution || IsExponential(opcode);
}

// Of ops without arithmetic of their own, and those that sum up products.
bool KeepsOrSums(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kBroadcast:
    case Opcode::kCall:
    case Opcode::kConcatenate:
    case Opcode::kConditional:
    case Opcode::kConstant:
    case Opcode::kConvolution:
    case Opcode::kDot:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kFusion:
    case Opcode::kGather:
    case Opcode::kGetTupleElement:
    case Opcode::kIota:
    case Opcode::kOptBarrier:
    case Opcode::kPad:
    case Opcode::kParameter:
    case Opcode::kReduce:
    case Opcode::kReshape:
    case Opcode::kReduceWindow:
    case Opcode::kReverse:
    case Opcode::kScan:
    case Opcode::kScatter:
    case Opcode::kSelectAndScatter:
    case Opcode::kSlice:
    case Opcode::kTranspose:
    case Opcode::kTuple:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

bool IsComplexArray(const hlo::Shape& shape) { return shape.IsArray() && hlo::IsComplex(shape.element_type()); }

bool ToleratesFlushing(const hlo::Instruction& instruction) {
  const auto is_float = [](const hlo::Shape& shape) {
    return shape.IsArray() && hlo::IsFloating(shape.element_type());
  };
  const auto operands = instruction.operands();
  if (IsComplexArray(instruction.shape()) ||
      absl::c_any_of(operands, [](const hlo::Instruction* operand) { return IsComplexArray(operand->shape()); })) {
    return false;
  }
  // Bits of integers become floats in generators of random numbers; what has a float's bits may depend on all of them.
  if (instruction.opcode() == Opcode::kBitcastConvert) return !is_float(instruction.operand(0)->shape());
  if (KeepsOrSums(instruction.opcode())) return true;
  if (!hlo::IsElementwise(instruction.opcode())) return false;
  const bool has_floats = is_float(instruction.shape()) ||
                          absl::c_any_of(operands, [&](const auto* operand) { return is_float(operand->shape()); });
  return !has_floats || ToleratesFlushing(instruction.opcode());
}

}  // namespace

bool LoopFlushesSubnormals(const hlo::Instruction& loop) {
  std::vector<const hlo::Computation*> reached(loop.called_computations().begin(), loop.called_computations().end());
  absl::flat_hash_set<const hlo::Computation*> seen(reached.begin(), reached.end());
  bool multiplies = false;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const hlo::Instruction* instruction : reached[i]->instructions()) {
      if (!ToleratesFlushing(*instruction)) return false;
      multiplies |= Multiplies(instruction->opcode()) && hlo::IsFloating(instruction->shape().element_type());
      for (const hlo::Computation* called : instruction->called_computations()) {
        if (seen.insert(called).second) reached.push_back(called);
      }
    }
  }
  return multiplies;
}

bool FlushesSubnormals(const Kernel& kernel) {
  bool has_exponentials = false, has_small_exponentials = false, has_products = false, has_sums = false,
       has_long_products = false;
  for (const Op& op : kernel.ops) {
    if (hlo::IsComplex(op.type) || op.type == PrimitiveType::kF64) return false;
    if (op.kind != OpKind::kElementwise) continue;
    const bool reads_floats =
        absl::c_any_of(op.operands, [&](ValueId operand) { return hlo::IsFloating(kernel.ops[operand].type); });
    if (!reads_floats && !hlo::IsFloating(op.type)) continue;
    // A logarithm of what may be subnormal does not.
    const bool is_log_of_shifted = op.opcode == Opcode::kLog && op.instruction != nullptr &&
                                   analysis::IsSumOfShiftedExponentials(*op.instruction->operand(0));
    if (!ToleratesFlushing(op.opcode) && !is_log_of_shifted) return false;
    has_exponentials |= IsExponential(op.opcode);
    has_small_exponentials |= op.opcode == Opcode::kExp && op.instruction != nullptr &&
                              analysis::RangeOf(*op.instruction->operand(0)).high <= 0;
    has_products |= op.opcode == Opcode::kMultiply || op.opcode == Opcode::kDivide;
  }
  for (const Reduce& reduce : kernel.reduces) {
    if (reduce.combiner != nullptr) return false;
    for (size_t i = 0; i < reduce.combine_opcodes.size(); ++i) {
      if (!hlo::IsFloating(kernel.ops[reduce.results[i]].type)) continue;
      has_sums |= reduce.combine_opcodes[i] == Opcode::kAdd;
      has_long_products |= reduce.combine_opcodes[i] == Opcode::kMultiply;
    }
  }
  const bool gains = has_long_products || has_small_exponentials ||
                     (has_exponentials ? has_products || has_sums : has_products && has_sums);
  return gains && Iterations(kernel) >= kMuchWork;
}

}  // namespace kiln::kernel
