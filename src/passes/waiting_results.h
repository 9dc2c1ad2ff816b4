#ifndef KILN_PASSES_WAITING_RESULTS_H_
#define KILN_PASSES_WAITING_RESULTS_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Kernels that make results of the program, and nothing else, by a temporary of the same size beside them: one that is
// made of the same arrays, as a level of a pyramid is beside its details, and that only smaller arrays are made of.
// Made last, they leave their memory to the temporary until then; what they read a second time is there in any case,
// as parameters or as another such temporary. Temporaries are large enough to be worth it.
absl::flat_hash_map<const Instruction*, const Instruction*> WaitingResults(const Computation& entry);

// Has these kernels wait for what reads their temporaries, by control dependencies.
absl::StatusOr<bool> HoldResultsBack(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_WAITING_RESULTS_H_
