#ifndef KILN_PASSES_WHILE_LOOP_UNROLLER_H_
#define KILN_PASSES_WHILE_LOOP_UNROLLER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Loops that never run become their start and loops that run once their body. Loops of few rounds over a small body are
// written out: rounds then fold and fuse with each other.
absl::StatusOr<bool> UnrollLoops(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_UNROLLER_H_
