// What orders comparators of sorts are, and orders of elements by their bits, which radix sorts take.
#ifndef KILN_ANALYSIS_SORT_ORDER_H_
#define KILN_ANALYSIS_SORT_ORDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "src/hlo/module.h"

namespace kiln::analysis {

// The unsigned type as wide as an element; kInvalid for types without an order by bits.
hlo::PrimitiveType KeyType(hlo::PrimitiveType type);

// One step of a lexicographic order: `value`, a scalar made of one parameter of each pair, ascending or not.
struct OrderTerm {
  const hlo::Instruction* value = nullptr;
  int64_t operand = 0;  // of the sort
  bool descending = false;
  bool total_order = true;  // of floats; otherwise both zeros are equal
};

// The terms of a sort; empty where its order is another.
std::vector<OrderTerm> OrderTerms(const hlo::Instruction& sort);
// Of all keys together.
int64_t KeyBits(const std::vector<OrderTerm>& terms);

// How elements are ordered by their bits.
enum class KeyOrder : int64_t {
  kUnsigned,    // as they are; also of predicates
  kSigned,      // two's complement
  kTotal,       // the total order of floats
  kZerosEqual,  // but zeros of both signs are equal
  kNumbers,     // and NaNs are equal, behind all numbers: JAX's order
  kComplex,     // complex numbers by such an order of the real parts, then of the imaginary ones
};
struct SortOrder {
  KeyOrder keys = KeyOrder::kUnsigned;
  bool descending = false;
};

// The order by bits that a term is of its operand's elements.
std::optional<KeyOrder> KeyOrderOf(const OrderTerm& term);

// The operand that a sort goes by before all others, and how.
struct LeadingKey {
  int64_t operand = 0;
  SortOrder order;
};
std::optional<LeadingKey> LeadingKeyOf(const hlo::Instruction& sort);

// The order of a sort by its first operand alone, along the last dimension or of that operand alone; what the pass
// makes.
std::optional<SortOrder> DirectOrder(const hlo::Instruction& sort);

// The order of all elements of a type by which selections go: the total order of floats. Nothing for types without
// keys.
std::optional<KeyOrder> TotalKeyOrder(hlo::PrimitiveType type);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_SORT_ORDER_H_
