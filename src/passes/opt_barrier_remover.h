#ifndef KILN_PASSES_OPT_BARRIER_REMOVER_H_
#define KILN_PASSES_OPT_BARRIER_REMOVER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Drops optimization barriers, once no pass runs any more that they hold back.
absl::StatusOr<bool> RemoveOptBarriers(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_OPT_BARRIER_REMOVER_H_
