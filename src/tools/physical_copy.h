// Between literals, which are row-major, and the dense memory of a layout.
#ifndef KILN_TOOLS_PHYSICAL_COPY_H_
#define KILN_TOOLS_PHYSICAL_COPY_H_

#include "src/hlo/literal.h"

namespace kiln::tools {

// Writes the elements of `literal` to `memory` (shape.byte_count() bytes) in the order of the layout of `shape`, which
// is an array of the literal's dimensions.
void ToPhysical(const hlo::Literal& literal, const hlo::Shape& shape, void* memory);

// The array of `shape` that lies in `memory` in the order of its layout.
hlo::Literal FromPhysical(const void* memory, const hlo::Shape& shape);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_PHYSICAL_COPY_H_
