// What the scalar computations of reduce, scatter and their kin compute.
#ifndef KILN_ANALYSIS_COMBINER_H_
#define KILN_ANALYSIS_COMBINER_H_

#include <optional>

#include "src/hlo/computation.h"

namespace kiln::analysis {

// The opcode when `combiner` is (a, b) -> opcode(a, b) for add, multiply, maximum, minimum, and, or, xor.
std::optional<hlo::Opcode> CombinerOpcode(const hlo::Computation& combiner);

// Whether `value`, a scalar, leaves the other operand of such an op as it is (0 and -0 both do for add).
bool IsIdentityOf(hlo::Opcode opcode, const hlo::Literal& value);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_COMBINER_H_
