// Which parts of values are made of the same parts of others: what allows a chain of instructions to go over its arrays
// by blocks of rows. Of an array that is divided into groups, the first one has the first elements in row-major order,
// and all have as many.
#ifndef KILN_ANALYSIS_ROW_GROUPS_H_
#define KILN_ANALYSIS_ROW_GROUPS_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/hlo/instruction.h"

namespace kiln::analysis {

// The largest number of groups, a divisor of `most` (0: any), such that group g of each result of `user`, as far as it
// is made of operand number `index`, is made of that operand's group g alone; 1 where there is none.
int64_t RowGroups(const hlo::Instruction& user, int64_t index, int64_t most);

// A chain over rows, in a fusion as passes/row_chain_fusion.h makes them or where one may be made. Behind a step's
// operands there are only views (reshapes, elements of tuples) of parameters and of other steps.
struct RowChain {
  std::vector<const hlo::Instruction*> steps;  // in order, the last gives the results
  int64_t groups = 0;                          // of all values between them
};

// What `value` is a view of.
const hlo::Instruction* BehindViews(const hlo::Instruction* value);

// Asked about chains that have steps in common, it looks at each of these once. Steps outlive it, unchanged.
class GroupFinder {
 public:
  // Of steps in order: the groups of what is between them.
  int64_t Between(const std::vector<const hlo::Instruction*>& steps);

 private:
  int64_t OfCode(const hlo::Instruction& step);
  int64_t OfOperand(const hlo::Instruction& step, int64_t index, int64_t most);

  absl::flat_hash_map<const hlo::Instruction*, int64_t> of_code_;
  absl::flat_hash_map<std::tuple<const hlo::Instruction*, int64_t, int64_t>, int64_t> of_operands_;  // by index, most
};

// The chain that `fusion` is; without steps where it is none.
RowChain FindRowChain(const hlo::Instruction& fusion);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_ROW_GROUPS_H_
