#include "src/analysis/shifted_rows.h"

#include "absl/algorithm/container.h"
#include "src/analysis/combiner.h"

namespace kiln::analysis {
namespace {

using hlo::Instruction;
using hlo::Opcode;

struct Shift {
  RowShift kind = RowShift::kNone;
  const Instruction* maximum = nullptr;  // the reduction
};

bool IsReduceBy(const Instruction& value, Opcode opcode) {
  return value.opcode() == Opcode::kReduce && value.operand_count() == 2 &&
         CombinerOpcode(*value.called_computation()) == opcode;
}

bool IsZero(const Instruction& value) {
  if (value.opcode() == Opcode::kBroadcast) return IsZero(*value.operand(0));
  return value.IsConstant() && value.shape().IsScalar() && IsIdentityOf(Opcode::kAdd, value.literal());
}

// `value` as select(is-finite(m), m, 0), or null.
const Instruction* GuardedBy(const Instruction& value) {
  if (value.opcode() != Opcode::kSelect || value.operand(0)->opcode() != Opcode::kIsFinite) return nullptr;
  const Instruction* m = value.operand(1);
  return value.operand(0)->operand(0) == m && IsZero(*value.operand(2)) ? m : nullptr;
}

Shift ShiftOf(const Instruction& value) {
  if (value.opcode() != Opcode::kSubtract || value.operand(1)->opcode() != Opcode::kBroadcast) return {};
  const Instruction &x = *value.operand(0), &broadcast = *value.operand(1);
  const Instruction* guarded = GuardedBy(*broadcast.operand(0));
  const Instruction* maximum = guarded != nullptr ? guarded : broadcast.operand(0);
  if (!IsReduceBy(*maximum, Opcode::kMaximum) || maximum->operand(0) != &x) return {};
  // It is broadcast along what it was reduced over.
  hlo::DimensionVector kept;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (!absl::c_linear_search(maximum->dimensions(), d)) kept.push_back(d);
  }
  if (broadcast.dimensions() != kept) return {};
  return {guarded != nullptr ? RowShift::kFiniteMaximum : RowShift::kMaximum, maximum};
}

}  // namespace

RowShift RowShiftOf(const Instruction& value) { return ShiftOf(value).kind; }

bool IsSumOfShiftedExponentials(const Instruction& value) {
  if (!IsReduceBy(value, Opcode::kAdd) || value.operand(0)->opcode() != Opcode::kExp) return false;
  const Shift shift = ShiftOf(*value.operand(0)->operand(0));
  return shift.kind != RowShift::kNone && IsZero(*value.operand(1)) &&
         absl::c_all_of(shift.maximum->dimensions(),
                        [&](int64_t d) { return absl::c_linear_search(value.dimensions(), d); });
}

}  // namespace kiln::analysis
