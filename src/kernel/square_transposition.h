// What transposes squares of arrays that nothing else is done to. The functions are compiled with Kiln and called by
// name: shuffles of a square take four to five times as long to compile as the rest of such a kernel.
#ifndef KILN_KERNEL_SQUARE_TRANSPOSITION_H_
#define KILN_KERNEL_SQUARE_TRANSPOSITION_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace kiln::kernel {

inline constexpr int64_t kMaxSquareRows = 64;
inline constexpr int64_t kMaxSquareElementBytes = 8;

// Element c of row r, number rows[r] + c from `from` on, to number c * to_pitch + r from `to` on, for `row_count` rows,
// at most kMaxSquareRows, of `columns` elements. `streams` (0 or 1): past the caches; whole vectors of what is written
// are aligned to 64 bytes then.
using SquareTransposition = void(const char* from, char* to, const int64_t* rows, int64_t to_pitch, int64_t row_count,
                                 int64_t columns, int64_t streams);

// For elements of 1, 2, 4 and 8 bytes.
inline std::string SquareTranspositionName(int64_t element_bytes) {
  return absl::StrCat("kiln_transpose_square_", element_bytes);
}

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SQUARE_TRANSPOSITION_H_
