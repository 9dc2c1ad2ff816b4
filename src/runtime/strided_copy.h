// Copies between arrays of the same dimensions and different strides.
#ifndef KILN_RUNTIME_STRIDED_COPY_H_
#define KILN_RUNTIME_STRIDED_COPY_H_

#include <cstdint>

#include "absl/types/span.h"

namespace kiln::runtime {

// Copies every element of an array from `source` to `destination`. Both point to the element of index 0; strides are in
// bytes, of any sign, zero (broadcast) on the source side included. Empty arrays are fine. The arrays must not overlap.
void StridedCopy(int64_t element_bytes, absl::Span<const int64_t> dimensions, const void* source,
                 absl::Span<const int64_t> source_strides, void* destination,
                 absl::Span<const int64_t> destination_strides);

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_STRIDED_COPY_H_
