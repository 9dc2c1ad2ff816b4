// LLVM's part of the optimization of GPU code.
#ifndef KILN_GPU_LLVM_PIPELINE_H_
#define KILN_GPU_LLVM_PIPELINE_H_

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace kiln::gpu {

// Short: the emitters write vectors and schedules already. Helper functions go into their callers, slots become
// registers, index arithmetic gets narrow, and accesses get the alignment that their offsets show.
void OptimizeModule(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace kiln::gpu

#endif  // KILN_GPU_LLVM_PIPELINE_H_
