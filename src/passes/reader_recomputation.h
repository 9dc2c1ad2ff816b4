#ifndef KILN_PASSES_READER_RECOMPUTATION_H_
#define KILN_PASSES_READER_RECOMPUTATION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Lets kernels compute again what they would read, for less memory: masks of a forward pass that its gradient wants,
// one result of several that is read much later. Of a scheduled module, keeping its order. A value that is held where
// most memory is taken, and is made elementwise of arrays that are still there when it is read after that, goes into
// the kernels that read it there, element by element: fusions, products' epilogues and steps of row chains among them.
// Arrays are large, and all this adds a small part to the time that the computation is estimated to take.
// Without a limit for memory, unlike rematerialization, which adds kernels.
absl::StatusOr<bool> RecomputeInReaders(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_READER_RECOMPUTATION_H_
