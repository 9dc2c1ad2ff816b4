// What the module and its main function say about arguments and results: counts, donation, layouts, memory, names.
#ifndef KILN_FRONTEND_STABLEHLO_ENTRY_ATTRIBUTES_H_
#define KILN_FRONTEND_STABLEHLO_ENTRY_ATTRIBUTES_H_

#include "absl/status/status.h"
#include "src/frontend/mlir/operation.h"
#include "src/hlo/module.h"

namespace kiln::stablehlo {

// mhlo.num_replicas and mhlo.num_partitions of the builtin.module; more than one partition is Unimplemented.
absl::Status ReadModuleAttributes(const mlir::Operation& root, hlo::Module& module);

// arg_attrs and res_attrs of `main`, once the entry computation of `module` is imported from it.
absl::Status ReadEntryAttributes(const mlir::Operation& main, hlo::Module& module);

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_ENTRY_ATTRIBUTES_H_
