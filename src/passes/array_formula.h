// Scalar computations over whole arrays.
#ifndef KILN_PASSES_ARRAY_FORMULA_H_
#define KILN_PASSES_ARRAY_FORMULA_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/hlo/builder.h"

namespace kiln::passes {

// Whether every instruction that the root of `computation` needs is elementwise, a constant, a parameter, a scalar
// spread over an array, or the tuple at the root: a formula that holds for arrays of any dimensions as it does for
// scalars.
bool IsFormula(const hlo::Computation& computation);

// The formula of a scalar computation written again over arrays.
class ArrayFormula {
 public:
  // Parameter i of the scalar computation becomes `arguments[i]`; those that are used all have these dimensions.
  ArrayFormula(hlo::Builder* builder, hlo::DimensionVector dimensions, std::vector<hlo::Instruction*> arguments)
      : builder_(builder), dimensions_(std::move(dimensions)), arguments_(std::move(arguments)) {}

  // What `scalar`, an instruction of such a computation, becomes; shared parts are built once.
  hlo::Instruction* Of(const hlo::Instruction* scalar);

 private:
  hlo::Builder* builder_;
  hlo::DimensionVector dimensions_;
  std::vector<hlo::Instruction*> arguments_;
  absl::flat_hash_map<const hlo::Instruction*, hlo::Instruction*> arrays_;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_ARRAY_FORMULA_H_
