// Which numbers types of floats have.
#ifndef KILN_HLO_FLOAT_RANGE_H_
#define KILN_HLO_FLOAT_RANGE_H_

#include <optional>

#include "src/hlo/primitive_type.h"

namespace kiln::hlo {

struct FloatRange {
  int mantissa_bits;  // without the leading one
  int min_exponent;   // of the smallest subnormal
  int max_exponent;
};

// Of the types whose conversions are looked at.
std::optional<FloatRange> FloatRangeOf(PrimitiveType type);

// Whether every value of `from` is a value of `to`.
bool IsLossless(PrimitiveType from, PrimitiveType to);

}  // namespace kiln::hlo

#endif  // KILN_HLO_FLOAT_RANGE_H_
