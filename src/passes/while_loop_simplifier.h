#ifndef KILN_PASSES_WHILE_LOOP_SIMPLIFIER_H_
#define KILN_PASSES_WHILE_LOOP_SIMPLIFIER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Loop state: elements that are always equal become one, elements that the body hands on unchanged are read before the
// loop, and elements that nobody reads go, with what computes them.
absl::StatusOr<bool> SimplifyLoops(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_SIMPLIFIER_H_
