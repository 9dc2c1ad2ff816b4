// Start indices of dynamic-slice and its kin.
#ifndef KILN_PASSES_SIMPLIFY_INDICES_H_
#define KILN_PASSES_SIMPLIFY_INDICES_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "src/passes/ir.h"

namespace kiln::passes::simplify {

// Operands `first` and on of `root` as start indices into `operand`, clamped as the op does, when they are constants.
std::optional<DimensionVector> ConstantStarts(const Instruction& root, int64_t first, const Shape& operand,
                                              absl::Span<const int64_t> sizes);

// Whether an index of `type` can be `value`, which is not negative.
bool FitsIndex(int64_t value, PrimitiveType type);

// What `start` is before it is clamped, where an op clamps it to 0 and `most` anyway; or `start`.
Instruction* Unclamped(Instruction* start, int64_t most);

// The first of numbers that count upwards, none below zero or past its type, from the first element to the last: of an
// iota, maybe with a constant added.
std::optional<int64_t> FirstOfCount(const Instruction& x);

// dynamic-slice and dynamic-update-slice with one scalar index per dimension.
Instruction* AddDynamicSlice(Instruction* operand, const std::vector<Instruction*>& starts,
                             const DimensionVector& sizes, Builder& builder);
Instruction* AddDynamicUpdateSlice(Instruction* operand, Instruction* update, const std::vector<Instruction*>& starts,
                                   Builder& builder);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_INDICES_H_
