// The words of the IR, which this room uses without their namespace.
#ifndef KILN_PASSES_IR_H_
#define KILN_PASSES_IR_H_

#include "absl/algorithm/container.h"
#include "src/hlo/builder.h"
#include "src/hlo/module.h"

namespace kiln::passes {

using hlo::Builder;
using hlo::ComparisonDirection;
using hlo::Computation;
using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

inline bool Contains(absl::Span<const int64_t> dimensions, int64_t dimension) {
  return absl::c_linear_search(dimensions, dimension);
}

}  // namespace kiln::passes

#endif  // KILN_PASSES_IR_H_
