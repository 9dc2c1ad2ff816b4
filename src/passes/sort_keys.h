// Sorts by keys.
#ifndef KILN_PASSES_SORT_KEYS_H_
#define KILN_PASSES_SORT_KEYS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "src/analysis/sort_order.h"
#include "src/passes/array_value.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rewrites sorts by simple orders into the form that radix sorts take: along the last dimension, if more than one array
// is sorted, by the first operand, in an order whose unsigned integer keys are made of its bits as they are read. A
// comparator such as JAX's makes of each element a value, then compares two of them; several keys are compared one
// after the other. Where no order of bits is the same, those values become an array of unsigned integers, computed once
// per element instead of once per comparison, and the comparator becomes `a < b` on that array. Several keys that are
// all results, or too long for one integer, are sorted by one after the other, the last one first. Results that nothing
// reads go.
absl::StatusOr<bool> MakeSortKeys(Module* module);

// Unsigned integers in the order of `terms`, of which a sort by the first is the highest bits; 64 of them at most
// (analysis::KeyBits).
ArrayValue CombinedKey(Builder* builder, const std::vector<analysis::OrderTerm>& terms,
                       const std::vector<Instruction*>& operands);

// Whether sorting a row of `size` elements is cheaper than keeping the first `k` as candidates.
bool SortsWhole(int64_t k, int64_t size);

// Swaps dimension `dimension` with the last.
std::vector<int64_t> SwapWithLast(int64_t rank, int64_t dimension);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SORT_KEYS_H_
