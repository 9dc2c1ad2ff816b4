// How the windows of a scatter's updates lie in memory.
#ifndef KILN_ANALYSIS_SCATTER_WINDOWS_H_
#define KILN_ANALYSIS_SCATTER_WINDOWS_H_

#include <cstdint>

#include "src/hlo/attributes.h"

namespace kiln::analysis {

// How many of the updates' first dimensions go along windows, where no index does, in an operand of this rank: in them
// updates of different elements never meet, and each of their elements has all updates in one stretch of memory.
int64_t WindowsOutside(const hlo::ScatterAttributes& scatter, int64_t operand_rank);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_SCATTER_WINDOWS_H_
