// StableHLO programs to HLO: the generic op tree (src/frontend/mlir) to an hlo::Module.
#ifndef KILN_FRONTEND_STABLEHLO_IMPORTER_H_
#define KILN_FRONTEND_STABLEHLO_IMPORTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "src/frontend/mlir/context.h"
#include "src/hlo/module.h"

namespace kiln::stablehlo {

// Imports the function `main` and what it reaches:
//  - func.call becomes call; a function is imported once. Regions become called computations; values that they take
//  from
//    outside become operands (constants are cloned in).
//  - One result of main is the root itself, any other number a tuple.
//  - Composites that HLO has opcodes for (chlo.erf, chlo.top_k, ...) become these, others call their decomposition.
//  - Sharding of sdy is dropped when mhlo.num_partitions is 1, and Unimplemented otherwise.
//  - Donation, layouts and memory kinds of arguments and results go to the module: aliases, donors, entry layouts, and
//    the frontend attributes mhlo.memory_kind of parameters and kiln.result_memory_kinds ("device,pinned_host", empty
//    where unsaid) and jax.result_info (names joined by ", ") of the module.
// The result is verified. Errors name the op and its source location: InvalidArgument for programs that break a rule,
// Unimplemented for what is not supported. Thread-safe.
absl::StatusOr<std::unique_ptr<hlo::Module>> Import(const mlir::Module& module);

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_IMPORTER_H_
