// Indices of gathers that counters tell, which code for loops knows without computing them (kernel/counted_index.h).
#ifndef KILN_ANALYSIS_COUNTED_PLACES_H_
#define KILN_ANALYSIS_COUNTED_PLACES_H_

#include "src/hlo/instruction.h"

namespace kiln::analysis {

// Integers that some ops make of counters and constants alone.
bool IsCounted(const hlo::Instruction& value);

// The same where nothing but places in arrays is made of them: they cost no more where they are made again.
bool IsCountedPlace(const hlo::Instruction& value);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_COUNTED_PLACES_H_
