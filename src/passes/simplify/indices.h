// Start indices of dynamic-slice and its kin.
#ifndef KILN_PASSES_SIMPLIFY_INDICES_H_
#define KILN_PASSES_SIMPLIFY_INDICES_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "src/hlo/builder.h"

namespace kiln::passes::simplify {

// Operands `first` and on of `root` as start indices into `operand`, clamped as the op does, when they are constants.
std::optional<hlo::DimensionVector> ConstantStarts(const hlo::Instruction& root, int64_t first,
                                                   const hlo::Shape& operand, absl::Span<const int64_t> sizes);

// Whether an index of `type` can be `value`, which is not negative.
bool FitsIndex(int64_t value, hlo::PrimitiveType type);

// dynamic-slice and dynamic-update-slice with one scalar index per dimension.
hlo::Instruction* AddDynamicSlice(hlo::Instruction* operand, const std::vector<hlo::Instruction*>& starts,
                                  const hlo::DimensionVector& sizes, hlo::Builder& builder);
hlo::Instruction* AddDynamicUpdateSlice(hlo::Instruction* operand, hlo::Instruction* update,
                                        const std::vector<hlo::Instruction*>& starts, hlo::Builder& builder);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_INDICES_H_
