// The short list of LLVM passes that generated code goes through.
#ifndef KILN_CPU_LLVM_PIPELINE_H_
#define KILN_CPU_LLVM_PIPELINE_H_

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace kiln::cpu {

// Inlines what is marked so and cleans up each function. Emitters write explicit vector code, so nothing is vectorized
// or unrolled here: the code stays as scheduled, and the whole costs about as much as LLVM's own -O1 without its loop
// passes.
void OptimizeModule(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace kiln::cpu

#endif  // KILN_CPU_LLVM_PIPELINE_H_
