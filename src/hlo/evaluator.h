// The oracle: evaluates any module element by element, plainly. Used for constant folding and as the reference that
// generated code is compared with; never at run time.
#ifndef KILN_HLO_EVALUATOR_H_
#define KILN_HLO_EVALUATOR_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "src/hlo/literal.h"
#include "src/hlo/module.h"

namespace kiln::hlo {

struct EvaluatorOptions {
  // Scalar operations after which evaluation gives up with DEADLINE_EXCEEDED; bounds constant folding. 0: no limit.
  int64_t max_operations = 0;
  // What several evaluations may take together, which each takes its operations off; the same error when it is used up.
  int64_t* budget = nullptr;
};

// The value of `computation` for these arguments (one per parameter, shapes compatible). An instruction that breaks a
// rule of shape inference is INVALID_ARGUMENT, one that is not known UNIMPLEMENTED.
absl::StatusOr<Literal> Evaluate(const Computation& computation, absl::Span<const Literal> arguments,
                                 const EvaluatorOptions& options = {});

// The value of one instruction over values of its operands; for folding. Not for parameter.
absl::StatusOr<Literal> EvaluateInstruction(const Instruction& instruction, absl::Span<const Literal> operands,
                                            const EvaluatorOptions& options = {});

}  // namespace kiln::hlo

#endif  // KILN_HLO_EVALUATOR_H_
