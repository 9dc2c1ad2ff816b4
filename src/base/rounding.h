// Whole pieces of a size.
#ifndef KILN_BASE_ROUNDING_H_
#define KILN_BASE_ROUNDING_H_

#include <cstdint>

namespace kiln {

// Of a >= 0 and b > 0.
constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDivide(a, b) * b; }

}  // namespace kiln

#endif  // KILN_BASE_ROUNDING_H_
