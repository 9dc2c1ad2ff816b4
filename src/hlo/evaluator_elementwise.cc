// Elementwise ops over whole arrays.
#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_kernel.h"

namespace kiln::hlo::evaluator {

absl::StatusOr<Literal> EvaluateElementwise(Evaluation& evaluation, const Instruction& instruction,
                                            Operands& operands) {
  KILN_ASSIGN_OR_RETURN(const KernelSpec spec, MakeKernel(instruction));
  const Shape& shape = instruction.shape();
  std::vector<KernelOperand> sources;
  for (const Literal& operand : operands) {
    sources.push_back({operand.bytes().data(), /*splat=*/operand.shape().IsScalar() && shape.rank() > 0});
  }
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  RunKernel(spec, shape.element_count(), sources, result.mutable_bytes().data());
  return result;
}

}  // namespace kiln::hlo::evaluator
