// Scalar computations over whole arrays.
#ifndef KILN_PASSES_ARRAY_FORMULA_H_
#define KILN_PASSES_ARRAY_FORMULA_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Whether every instruction that the root of `computation` needs is elementwise, a constant, a parameter, a scalar
// spread over an array, or the tuple at the root: a formula that holds for arrays of any dimensions as it does for
// scalars.
bool IsFormula(const Computation& computation);

// Adds an associative scan over `inputs` that starts with `carries`, one for each, and gives the scan of each. `body`
// takes (slices of the inputs..., carries...) and gives (combined..., combined...).
std::vector<Instruction*> AddScan(Builder* builder, std::vector<Instruction*> inputs,
                                  const std::vector<Instruction*>& carries, int64_t dimension, bool is_reverse,
                                  Computation* body);

// The formula of a scalar computation written again over arrays.
class ArrayFormula {
 public:
  // Parameter i of the scalar computation becomes `arguments[i]`; those that are used all have these dimensions.
  ArrayFormula(Builder* builder, DimensionVector dimensions, std::vector<Instruction*> arguments)
      : builder_(builder), dimensions_(std::move(dimensions)), arguments_(std::move(arguments)) {}

  // What `scalar`, an instruction of such a computation, becomes; shared parts are built once.
  Instruction* Of(const Instruction* scalar);

 private:
  Builder* builder_;
  DimensionVector dimensions_;
  std::vector<Instruction*> arguments_;
  absl::flat_hash_map<const Instruction*, Instruction*> arrays_;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_ARRAY_FORMULA_H_
