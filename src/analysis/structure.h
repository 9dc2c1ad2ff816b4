// Equality of instructions and computations up to names, identity and metadata.
#ifndef KILN_ANALYSIS_STRUCTURE_H_
#define KILN_ANALYSIS_STRUCTURE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/hlo/module.h"

namespace kiln::analysis {

// The direction that says the same of swapped operands.
hlo::ComparisonDirection Mirrored(hlo::ComparisonDirection direction);

// A hash of opcode, shape and what distinguishes attributes in practice; operands and callees are left to the caller.
// Equal attributes have equal hashes; so have mirrored comparisons.
size_t HashAttributes(const hlo::Instruction& instruction);

// Opcode, shape, attributes, backend config and frontend attributes agree; operands and callees are left to the caller.
bool SameOperation(const hlo::Instruction& a, const hlo::Instruction& b);

// Which computations of a module compute the same: each maps to the first of its class in post order. Callees are
// compared by class, parameters by number, operands of commutative ops in any order. Linear in the module.
class ComputationClasses {
 public:
  explicit ComputationClasses(const hlo::Module& module);
  // `computation` itself when it is not reachable from the entry.
  hlo::Computation* Representative(hlo::Computation* computation) const;
  // Whether two instructions call copies of the same computations, in order.
  bool SameCallees(const hlo::Instruction& a, const hlo::Instruction& b) const;

 private:
  absl::flat_hash_map<const hlo::Computation*, hlo::Computation*> representative_;
};

// Which instructions do the same to operands of the same shapes, so that one piece of code serves them all.
class OperationClasses {
 public:
  explicit OperationClasses(const hlo::Module& module) : computations_(module) {}
  // The first instruction that was asked for and is the same operation as `instruction`: opcode, attributes, copies of
  // the same computations, shapes, constants and repetitions among operands agree. Perhaps itself.
  const hlo::Instruction* FirstLike(const hlo::Instruction& instruction);

 private:
  bool Same(const hlo::Instruction& a, const hlo::Instruction& b) const;

  ComputationClasses computations_;
  absl::flat_hash_map<size_t, std::vector<const hlo::Instruction*>> classes_;
};

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_STRUCTURE_H_
