// Numbers for values: instructions with the same number have the same value.
#ifndef KILN_ANALYSIS_VALUE_NUMBERS_H_
#define KILN_ANALYSIS_VALUE_NUMBERS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "src/analysis/structure.h"
#include "src/hlo/instruction.h"

namespace kiln::analysis {

// Whether two such instructions over the same operands are one: it acts on nothing, draws nothing, and is in no order.
bool MayBeShared(const hlo::Instruction& instruction);

// Instructions may be of several computations: parameters of one number and shape are one value, unless Set tells what
// they stand for. Numbering is linear in what is numbered.
class ValueNumbers {
 public:
  // With `classes`, computations of a class count as one. It must outlive this.
  explicit ValueNumbers(const ComputationClasses* classes = nullptr) : classes_(classes) {}

  // The number of `instruction`, whose operands are numbered before it if they are not yet (by a recursion as deep as
  // they go: call it in post order).
  int64_t Number(const hlo::Instruction& instruction);
  // Fixes the number of an instruction that was not asked for yet.
  void Set(const hlo::Instruction& instruction, int64_t number) { numbers_[&instruction] = number; }
  // The number of a value that is not computed here, by any key.
  int64_t NumberOfLeaf(const void* key, int64_t index) {
    return leaves_.try_emplace({key, index}, next_).second ? next_++ : leaves_[{key, index}];
  }

 private:
  // The first instruction of a number, and the next one of the same hash (or -1).
  struct Leader {
    const hlo::Instruction* instruction;
    absl::InlinedVector<int64_t, 3> operands;
    int64_t number;
    int64_t next;
  };
  const void* Callee(const hlo::Instruction& instruction, size_t index) const;
  bool SameCallees(const hlo::Instruction& a, const hlo::Instruction& b) const;

  const ComputationClasses* classes_;
  int64_t next_ = 0;
  absl::flat_hash_map<const hlo::Instruction*, int64_t> numbers_;
  absl::flat_hash_map<std::pair<const void*, int64_t>, int64_t> leaves_;
  std::vector<Leader> leaders_;
  absl::flat_hash_map<size_t, int64_t> by_hash_;  // places in leaders_
};

// Whether both give the same for the same arguments, as far as their values have the same numbers. Linear in both.
bool SameFunction(const hlo::Computation& a, const hlo::Computation& b);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_VALUE_NUMBERS_H_
