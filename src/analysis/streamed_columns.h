// Which columns are reduced row by row: kernel/streamed_columns.h.
#ifndef KILN_ANALYSIS_STREAMED_COLUMNS_H_
#define KILN_ANALYSIS_STREAMED_COLUMNS_H_

#include <cstdint>

#include "src/base/cpu_tuning.h"

namespace kiln::analysis {

// Parts of the rows, or stretches of the columns, that threads divide.
inline constexpr int64_t kLeastStreams = 4;

// In a shorter row accumulators wait for those of the row before.
inline constexpr int64_t kLeastStreamedBytes = 64;

// Columns with accumulators of so many bytes each, of an array of so many.
inline bool AreStreamed(int64_t columns, int64_t accumulator_bytes, int64_t array_bytes) {
  // One vector loop goes through all columns then, and has their accumulators in registers.
  constexpr int64_t kInRegisters = 1 << 10;
  const int64_t bytes = columns * accumulator_bytes;
  const bool is_power = (columns & (columns - 1)) == 0;
  return static_cast<double>(array_bytes) >= 2 * Tuning().fusion.cached_bytes && bytes >= kLeastStreamedBytes &&
         !(is_power && bytes <= kInRegisters);
}

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_STREAMED_COLUMNS_H_
