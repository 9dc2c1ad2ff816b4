// Scans whose bodies are formulas of elements (passes/scan_expander.cc), as loops of vectors.
#ifndef KILN_CPU_SCAN_EMITTER_H_
#define KILN_CPU_SCAN_EMITTER_H_

#include <cstdint>

#include "src/cpu/op_emitters.h"

namespace kiln::cpu {

int64_t ScanScratchBytes(const hlo::Instruction& scan);
double ScanNanoseconds(const hlo::Instruction& scan);
absl::Status EmitScan(llvm::IRBuilder<>* builder, const hlo::Instruction& scan, const OpArrays& arrays);

}  // namespace kiln::cpu

#endif  // KILN_CPU_SCAN_EMITTER_H_
