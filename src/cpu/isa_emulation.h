// Code planned for a processor of x86 that has more than this one, made to run here: so that what is planned for
// AVX-512 can be tried without it.
#ifndef KILN_CPU_ISA_EMULATION_H_
#define KILN_CPU_ISA_EMULATION_H_

#include "src/base/status.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace kiln::cpu {

// Replaces those of LLVM's intrinsics that are one instruction of AVX-512 by plain arithmetic with the same results,
// and estimates by some with the error that the instruction may have. What is left needs no such processor: LLVM
// divides vectors that are too wide. Fails where an intrinsic is none of those that it knows.
absl::Status ReplaceForeignInstructions(llvm::Module* module);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ISA_EMULATION_H_
