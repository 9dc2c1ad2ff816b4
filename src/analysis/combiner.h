// What the scalar computations of reduce, scatter and their kin compute.
#ifndef KILN_ANALYSIS_COMBINER_H_
#define KILN_ANALYSIS_COMBINER_H_

#include <cstdint>
#include <optional>

#include "src/hlo/computation.h"

namespace kiln::analysis {

// The opcode when `combiner` is (a, b) -> opcode(a, b) for add, multiply, maximum, minimum, and, or, xor.
std::optional<hlo::Opcode> CombinerOpcode(const hlo::Computation& combiner);

// Whether any order of the elements gives the same: one commutative op per operand of the reduction.
bool IsUnordered(const hlo::Computation& combiner);

// Whether this is the combiner of argmax and argmin: (key, index, other key, other index) -> the pair whose key is
// better or NaN; the first pair when both keys are NaN, the lower index when they are equal. The direction in which a
// key is better than another: kGt or kLt.
std::optional<hlo::ComparisonDirection> KeepsBest(const hlo::Computation& combiner);

// Whether so many numbers of a narrow type are added up in f32, so that their sum is rounded once: XLA:CPU rounds at
// each step, in an order of its own, and its error grows with them.
bool AddUpInF32(hlo::PrimitiveType type, int64_t count);

// The scalar that leaves the other operand of such an op as it is; complex numbers have no least and largest.
std::optional<hlo::Literal> IdentityOf(hlo::Opcode opcode, hlo::PrimitiveType type);
// Whether `value`, a scalar, leaves the other operand of such an op as it is (0 and -0 both do for add).
bool IsIdentityOf(hlo::Opcode opcode, const hlo::Literal& value);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_COMBINER_H_
