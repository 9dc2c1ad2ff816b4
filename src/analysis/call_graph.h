// Who calls which computation.
#ifndef KILN_ANALYSIS_CALL_GRAPH_H_
#define KILN_ANALYSIS_CALL_GRAPH_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/hlo/module.h"

namespace kiln::analysis {

// How many instructions call each computation, as the module stood when asked.
class CallerCounts {
 public:
  explicit CallerCounts(const hlo::Module& module);
  // Whether nobody but `caller` calls its computations, so that these can be changed together with it.
  bool OwnsCallees(const hlo::Instruction& caller) const;

 private:
  absl::flat_hash_map<const hlo::Computation*, int> counts_;
};

// The instructions of `opcode` (while, conditional) that own their computations and have no control edges. Inner ones
// come before those they are nested in. Linear in the module.
std::vector<hlo::Instruction*> OwnersOfCallees(const hlo::Module& module, hlo::Opcode opcode);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_CALL_GRAPH_H_
