// Scalar computations (of reduce, scatter, sort, ...) emitted inline over registers.
#ifndef KILN_KERNEL_SCALAR_COMPUTATION_H_
#define KILN_KERNEL_SCALAR_COMPUTATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/hlo/computation.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

// The leaves of the root of `computation`, whose instructions are all elementwise ops, constants or tuples of scalars.
// Fails with UNIMPLEMENTED naming the first other instruction.
absl::StatusOr<std::vector<Value>> EmitScalarComputation(ScalarEmitter* emitter, const hlo::Computation& computation,
                                                         absl::Span<const Value> arguments);

// `opcode` over operands in registers, with the attributes of `origin` (null: the opcode has none).
absl::StatusOr<Value> EmitElementwise(ScalarEmitter* emitter, hlo::Opcode opcode, const hlo::Instruction* origin,
                                      hlo::PrimitiveType type, absl::Span<const Value> operands);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SCALAR_COMPUTATION_H_
