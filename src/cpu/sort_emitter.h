// Sort and top-k over whole arrays.
#ifndef KILN_CPU_SORT_EMITTER_H_
#define KILN_CPU_SORT_EMITTER_H_

#include <cstdint>

#include "src/cpu/op_emitters.h"

namespace kiln::cpu {

int64_t SortScratchBytes(const hlo::Instruction& sort);
double SortNanoseconds(const hlo::Instruction& sort);
absl::Status EmitSort(llvm::IRBuilder<>* builder, const hlo::Instruction& sort, const OpArrays& arrays);

int64_t TopKScratchBytes(const hlo::Instruction& top_k);
absl::Status EmitTopK(llvm::IRBuilder<>* builder, const hlo::Instruction& top_k, const OpArrays& arrays);

}  // namespace kiln::cpu

#endif  // KILN_CPU_SORT_EMITTER_H_
