// PTX text of LLVM modules.
#ifndef KILN_GPU_PTX_H_
#define KILN_GPU_PTX_H_

#include <string>

#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"

namespace kiln::gpu {

struct PtxOptions {
  // As in "sm_90" and PTX ISA 8.x: 90 and 83 for 8.3.
  int compute_capability = 90;
  int isa_version = 83;
};

// Sets the triple and data layout of `module`, for which code is to be emitted into it.
absl::Status SetNvptxTarget(llvm::Module& module, const PtxOptions& options = {});

// Optimizes and compiles `module` (the functions with the ptx_kernel calling convention are the entry points) and sets
// its triple and data layout. The module must verify; it is changed by the code generator and is of no further use.
// INTERNAL when LLVM cannot select the code.
absl::StatusOr<std::string> EmitPtx(llvm::Module& module, const PtxOptions& options = {});

}  // namespace kiln::gpu

#endif  // KILN_GPU_PTX_H_
