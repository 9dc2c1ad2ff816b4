#ifndef KILN_PASSES_FUSION_H_
#define KILN_PASSES_FUSION_H_

#include "absl/status/statusor.h"
#include "src/analysis/fusion_costs.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Instructions that fit one kernel become one fusion instruction. Works on the entry and on the computations of loops,
// conditionals and calls. Kinds:
//   kLoop    each element of the root from elements of the parameters; also in-place updates: when the root is a
//            dynamic-update-slice, its first operand is a parameter, and any other read of that parameter inside is of
//            exactly the elements overwritten, each before its write
//   kInput   one reduce (its init values scalar constants or parameters), producers inside, elementwise ops of the
//            result's dimensions behind
//   kOutput  one dot or convolution, elementwise ops of the result's dimensions behind; in front of a dot what its
//            operands are made of at little cost, for products alone
// See fusion_plan.h for the choice. A producer goes into all its users or none, unless it is made from nothing.
// Reshapes at the border of a fusion stay outside as its parameters: between row-major arrays they are another view of
// one buffer.
absl::StatusOr<bool> FuseInstructions(Module* module, const analysis::FusionCosts& costs = Tuning().fusion);

}  // namespace kiln::passes

#endif  // KILN_PASSES_FUSION_H_
