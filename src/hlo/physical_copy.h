// Between literals, which are row-major, and the dense memory of a layout.
#ifndef KILN_HLO_PHYSICAL_COPY_H_
#define KILN_HLO_PHYSICAL_COPY_H_

#include "src/hlo/literal.h"

namespace kiln::hlo {

// Writes the elements of `literal` to `memory` (shape.byte_count() bytes) in the order of the layout of `shape`, which
// is an array of the literal's dimensions.
void ToPhysical(const Literal& literal, const Shape& shape, void* memory);

// The array of `shape` that lies in `memory` in the order of its layout.
Literal FromPhysical(const void* memory, const Shape& shape);

}  // namespace kiln::hlo

#endif  // KILN_HLO_PHYSICAL_COPY_H_
