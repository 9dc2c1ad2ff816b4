// The instruction sets of x86 that code may use: a limit for the whole process, below which it is as if the processor
// had no more.
#ifndef KILN_BASE_ISA_LEVEL_H_
#define KILN_BASE_ISA_LEVEL_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace kiln {

// In their order, as XLA's --xla_cpu_max_isa names them.
enum class IsaLevel { kSse42, kAvx, kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16, kAmx, kAmxFp16 };

// By the name that XLA has for it, such as "AVX2", in capitals or not.
std::optional<IsaLevel> ParseIsaLevel(absl::string_view name);
// All names, for messages.
absl::string_view IsaLevelNames();

// Lets the process use nothing above `level`. Only before anything is compiled.
void LimitIsa(IsaLevel level);
// Lets the process compile as for a processor of x86 that has all of `level` and nothing else, whatever this one is:
// the code must not be run. Only before anything is compiled.
void AssumeIsa(IsaLevel level);
bool AssumesIsa();
// The same for code that is run, with those instructions that this processor lacks made of others
// (cpu/isa_emulation.h); functions compiled with Kiln stay those for this processor.
void EmulateIsa(IsaLevel level);
bool EmulatesIsa();
// Whether the limit allows the feature of that name, as LLVM calls it.
bool IsFeatureAllowed(absl::string_view feature);
// Whether limit, processor and operating system allow the AVX-512 of every server and desktop that has it; the first
// accelerators with less count as AVX2.
bool HasAvx512();
// The same of AVX2.
bool HasAvx2();

// Whether limit and processor allow a product and a sum in one instruction.
bool HasFma();

// Whether there are instructions for f16 itself, which needs not be widened then.
bool HasHalfArithmetic();

// Whether one instruction rounds f32 to bf16.
bool HasBrainConversions();

// Whether there are kernels compiled with Kiln for products of f32 and f64, or of bf16 (cpu/gemm_kernels.h), that run
// on this processor, of x86: operands that are made have not been tried with those of ARM.
bool HasProductKernels();
bool HasBrainKernels();

// Whether the processor computes vectors of 64 bytes in two halves.
bool HalvesVectors();

bool IsIntel();

}  // namespace kiln

#endif  // KILN_BASE_ISA_LEVEL_H_
