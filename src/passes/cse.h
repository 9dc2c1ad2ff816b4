// cse: common subexpressions of a computation become one instruction.
#ifndef KILN_PASSES_CSE_H_
#define KILN_PASSES_CSE_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Works per computation, bodies included. Called computations are compared by structure, operands of commutative ops in
// any order. Random state, communication, tokens, barriers and anything with a side effect are left alone. Copies of
// scalar computations (of reduce, sort, ...) are replaced by one of them.
class Cse : public Pass {
 public:
  absl::string_view name() const override { return "cse"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CSE_H_
