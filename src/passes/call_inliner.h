#ifndef KILN_PASSES_CALL_INLINER_H_
#define KILN_PASSES_CALL_INLINER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Replaces every call by the body of its computation, nested calls and composites included. Bodies are inlined bottom
// up, so each is copied once per call. Calls nested so that copies would grow past a fixed budget stay calls.
absl::StatusOr<bool> InlineCalls(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CALL_INLINER_H_
