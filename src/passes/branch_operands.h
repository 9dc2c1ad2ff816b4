// Editing what conditionals hand to their branches and get back, for passes over them.
#ifndef KILN_PASSES_BRANCH_OPERANDS_H_
#define KILN_PASSES_BRANCH_OPERANDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Makes the operand of branch `branch` a tuple instruction of its own, which the branch reads by element. An array
// becomes a tuple of one.
void MakeOperandExplicit(Instruction* conditional, int64_t branch);

// Hands `values`, of the conditional's computation, to an explicit branch as further elements. Returns what the branch
// reads them by.
std::vector<Instruction*> AddBranchOperands(Instruction* conditional, int64_t branch,
                                            absl::Span<Instruction* const> values);

}  // namespace kiln::passes

#endif  // KILN_PASSES_BRANCH_OPERANDS_H_
