#ifndef KILN_PASSES_SUM_WIDENING_H_
#define KILN_PASSES_SUM_WIDENING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Reduces that add or multiply many numbers of bf16 or f16 do so in f32, and round their results once
// (analysis::AddUpInF32).
absl::StatusOr<bool> WidenSums(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SUM_WIDENING_H_
