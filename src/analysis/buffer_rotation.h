// State of loops that changes places.
#ifndef KILN_ANALYSIS_BUFFER_ROTATION_H_
#define KILN_ANALYSIS_BUFFER_ROTATION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "src/analysis/buffer_assignment.h"

namespace kiln::analysis {

// Smaller arrays are copied.
inline constexpr int64_t kMinRotatedBytes = 1 << 10;

// Takes the copies at the end of a loop's body that lead from one buffer to the next out of `copies`, where they begin
// with a buffer of a round's own, which becomes the spare one, or end where they began, with no spare buffer yet.
std::vector<BufferRotation> TakeRotations(const std::vector<Buffer>& buffers,
                                          const std::function<bool(const Buffer&)>& is_of_round,
                                          std::vector<BufferCopy>* copies);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_BUFFER_ROTATION_H_
