// Between literals, which are row-major, and the dense memory of a layout.
#ifndef KILN_HLO_PHYSICAL_COPY_H_
#define KILN_HLO_PHYSICAL_COPY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "src/hlo/literal.h"

namespace kiln::hlo {

// Writes the elements of `literal` to `memory` (shape.byte_count() bytes) in the order of the layout of `shape`, which
// is an array of the literal's dimensions.
void ToPhysical(const Literal& literal, const Shape& shape, void* memory);

// The array of `shape` that lies in `memory` in the order of its layout.
Literal FromPhysical(const void* memory, const Shape& shape);

// Makes what others store in elements of less than a byte, where bits beyond the element's own mean nothing, what Kiln
// has there: the sign of signed integers and zeros of others. Bytes of other types stay as they are.
void ExtendNarrowElements(PrimitiveType type, absl::Span<uint8_t> bytes);

}  // namespace kiln::hlo

#endif  // KILN_HLO_PHYSICAL_COPY_H_
