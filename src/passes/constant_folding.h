#ifndef KILN_PASSES_CONSTANT_FOLDING_H_
#define KILN_PASSES_CONSTANT_FOLDING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Instructions over constants become constants, computed by the evaluator. Small results only, and a bounded amount of
// work per instruction and in all. Splats and iotas stay what they are: code makes them for less than memory does.
// Arrays without elements become empty constants whatever they come from.
absl::StatusOr<bool> FoldConstants(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONSTANT_FOLDING_H_
