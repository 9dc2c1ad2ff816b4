#ifndef KILN_PASSES_REMATERIALIZATION_H_
#define KILN_PASSES_REMATERIALIZATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Computes values again where they are needed instead of keeping them, under a memory limit. Of a scheduled module,
// keeping its order. As long as temporaries take more than the limit at some step, the value that is live there, is
// read only later, and is the cheapest to compute again per byte, is copied before that later use. Cheap are
// elementwise ops, broadcasts and the like, and loop fusions of them (of several results one alone), whose operands are
// still there (or are small). Values never move into or out of loops. Stops at `limit_bytes` of temporaries; with 0 it
// goes on as long as that helps.
absl::StatusOr<bool> Rematerialize(Module* module, int64_t limit_bytes = 0);

}  // namespace kiln::passes

#endif  // KILN_PASSES_REMATERIALIZATION_H_
