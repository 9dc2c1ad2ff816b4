// Updates of arrays in place: what their kernels may compute besides, and where others read what was updated.
#ifndef KILN_PASSES_UPDATE_IN_PLACE_H_
#define KILN_PASSES_UPDATE_IN_PLACE_H_

#include <vector>

#include "src/analysis/fusion_model.h"
#include "src/hlo/computation.h"

namespace kiln::passes {

// Whether `value` updates an array and is read elsewhere as well, where it would be made of what it overwrites.
bool IsSharedUpdate(const hlo::Instruction& value);

// Whether `producer`, read along `paths`, may be computed in the kernel of a dynamic-update-slice, which writes into
// its first operand in place. What is read from that in the same kernel must be the very elements that are overwritten,
// each before its own write; or the update writes most of the array, and had better do so elsewhere.
bool MayRunBesideUpdate(const hlo::Instruction& update, const hlo::Instruction& producer,
                        const std::vector<analysis::IndexPath>& paths);

// Where a value that updates an array in place is read as well, reads it from the updated array: it would otherwise be
// made again, of an array that is no more. What is read beside the updated part is read from there as well: the array
// as it was need not be kept. Call it before planning.
void ReadUpdatesBack(hlo::Computation* computation);

}  // namespace kiln::passes

#endif  // KILN_PASSES_UPDATE_IN_PLACE_H_
