// What softmax and its kin make of rows: their elements less the largest one.
#ifndef KILN_ANALYSIS_SHIFTED_ROWS_H_
#define KILN_ANALYSIS_SHIFTED_ROWS_H_

#include <cstdint>

#include "src/hlo/instruction.h"

namespace kiln::analysis {

enum class RowShift : uint8_t {
  kNone,
  // x - m, m being the maximum of elements of x among which is the one that it is taken from: at most 0, or NaN.
  kMaximum,
  // The same with 0 in place of an m that is infinite or NaN, as logsumexp has it.
  kFiniteMaximum,
};

RowShift RowShiftOf(const hlo::Instruction& value);

// Whether `value` is a sum of exponentials of such, all of them that have the same m: 0, NaN, or at least 1.
bool IsSumOfShiftedExponentials(const hlo::Instruction& value);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_SHIFTED_ROWS_H_
