// What each op means over arrays whose sizes are values: the result's sizes, and masks where it would see padding.
#ifndef KILN_PASSES_DYNAMIC_RULES_H_
#define KILN_PASSES_DYNAMIC_RULES_H_

#include "absl/status/statusor.h"
#include "src/passes/dynamic_values.h"

namespace kiln::passes {

// Makes `instruction`, which has a dynamic operand or result and calls nothing but scalar computations, static:
// rewrites its operands or builds what stands for it, and records the result's sizes in `values`. Gives the instruction
// that stands for it, maybe itself; its users are not changed. UNIMPLEMENTED, naming the op, where there is no rule.
absl::StatusOr<Instruction*> MakeStatic(Instruction* instruction, DynamicValues& values);

// Reshape and dynamic-reshape.
absl::StatusOr<Instruction*> MakeReshapeStatic(Instruction* instruction, const Shape& declared, DynamicValues& values);

}  // namespace kiln::passes

#endif  // KILN_PASSES_DYNAMIC_RULES_H_
