// Result shapes from operand shapes: one rule per row of the opcode table, one entry for all opcodes.
#ifndef KILN_HLO_SHAPE_INFERENCE_H_
#define KILN_HLO_SHAPE_INFERENCE_H_

#include <vector>

#include "absl/types/span.h"
#include "src/hlo/attributes.h"
#include "src/hlo/computation.h"
#include "src/hlo/opcode.h"
#include "src/hlo/shape.h"

namespace kiln::hlo {

// INVALID_ARGUMENT unless `attributes` holds the struct that the opcode carries.
absl::Status CheckAttributesPresent(Opcode opcode, const Attributes& attributes);
// INVALID_ARGUMENT unless the opcode may call `count` computations.
absl::Status CheckCalledCount(Opcode opcode, size_t count);

// The shape of opcode(operands...) in row-major layout, or INVALID_ARGUMENT saying which rule the operands break.
// Opcodes whose shape nothing determines (parameter, constant, iota, reshape, convert, bitcast-convert, rng,
// custom-call, infeed, recv, ...) take it from `declared` and check what can be checked. `declared` may be null for the
// others; when given it must agree up to layout, and its layout is kept.
absl::StatusOr<Shape> InferShape(Opcode opcode, absl::Span<const Shape* const> operands, const Attributes& attributes,
                                 absl::Span<Computation* const> called, const Shape* declared);

// The same of an instruction with its own shape as the declared one: whether it keeps the rules.
absl::StatusOr<Shape> InferShape(const Instruction& instruction);

}  // namespace kiln::hlo

#endif  // KILN_HLO_SHAPE_INFERENCE_H_
