// collective-permute in place: (input, output, where slices begin in the input, in the output).
#ifndef KILN_HLO_IN_PLACE_PERMUTE_H_
#define KILN_HLO_IN_PLACE_PERMUTE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/hlo/builder.h"

namespace kiln::hlo {

bool IsInPlacePermute(const Instruction& instruction);

// What a device that sends to itself makes of `operands`, which stand for those of `permute`: slices of the input, of
// the sizes in its attribute slice_sizes, written over the output. Positions are clamped as dynamic-slice's.
absl::StatusOr<Instruction*> PermuteInPlace(const Instruction& permute, absl::Span<Instruction* const> operands,
                                            Builder* builder);

}  // namespace kiln::hlo

#endif  // KILN_HLO_IN_PLACE_PERMUTE_H_
