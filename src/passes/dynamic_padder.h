#ifndef KILN_PASSES_DYNAMIC_PADDER_H_
#define KILN_PASSES_DYNAMIC_PADDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Arrays of bounded dynamic size become arrays of their bound beside s32 sizes, and ops that would see what lies past a
// size get the element that changes nothing there. Every op acts as if its arrays had their dynamic sizes
// (dynamic_rules.h has the ops). PadToStatic and SliceToDynamic become the array and its sizes. Loops, conditionals and
// calls carry the sizes of what they pass. Parameters of the entry are as large as their bounds; its results are zero
// past their sizes. Afterwards no shape is dynamic.
absl::StatusOr<bool> PadDynamicDimensions(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_DYNAMIC_PADDER_H_
