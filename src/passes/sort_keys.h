// Rewrites sorts and selections by simple orders into ones by unsigned integer keys.
//
// A comparator such as JAX's makes of each element a value, then compares two of them; several keys are compared one after
// the other. Here those values become an array of unsigned integers of the same order, computed once per element instead
// of once per comparison, and the comparator becomes `a < b` on that array: the form that radix sorts take. Results that
// nothing reads go. What the key determines (the only operand, in total order) is not carried but computed back.
#ifndef KILN_PASSES_SORT_KEYS_H_
#define KILN_PASSES_SORT_KEYS_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// True for a sort along the last dimension by `a < b` of its first operand, unsigned: what this pass makes.
bool SortsByUnsignedKey(const hlo::Instruction& sort);

class SortKeys : public OpExpander {
 public:
  absl::string_view name() const override { return "sort-keys"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SORT_KEYS_H_
