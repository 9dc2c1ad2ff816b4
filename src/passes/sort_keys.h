// Orders of elements by their bits: what the pass sort-keys makes of sorts, and radix sorts take.
#ifndef KILN_PASSES_SORT_KEYS_H_
#define KILN_PASSES_SORT_KEYS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rewrites sorts by simple orders into the form that radix sorts take: along the last dimension, if more than one array
// is sorted, by the first operand, in an order whose unsigned integer keys are made of its bits as they are read. A
// comparator such as JAX's makes of each element a value, then compares two of them; several keys are compared one
// after the other. Where no order of bits is the same, those values become an array of unsigned integers, computed once
// per element instead of once per comparison, and the comparator becomes `a < b` on that array. Results that nothing
// reads go.
absl::StatusOr<bool> MakeSortKeys(Module* module);

// How elements are ordered by their bits.
enum class KeyOrder : int64_t {
  kUnsigned,    // as they are; also of predicates
  kSigned,      // two's complement
  kTotal,       // the total order of floats
  kZerosEqual,  // but zeros of both signs are equal
  kNumbers,     // and NaNs are equal, behind all numbers: JAX's order
};
struct SortOrder {
  KeyOrder keys = KeyOrder::kUnsigned;
  bool descending = false;
};

// The order of a sort by its first operand alone, along the last dimension or of that operand alone; what the pass
// makes.
std::optional<SortOrder> DirectOrder(const Instruction& sort);

// The order of all elements of a type by which selections go: the total order of floats. Nothing for types without
// keys.
std::optional<KeyOrder> TotalKeyOrder(PrimitiveType type);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SORT_KEYS_H_
