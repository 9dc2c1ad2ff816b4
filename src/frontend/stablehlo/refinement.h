// Open shapes ("tensor<?x4xf32>") made static while a program is imported: the arguments of main are static, every
// other shape follows from operands, and sizes that are operands are constants once they are folded.
#ifndef KILN_FRONTEND_STABLEHLO_REFINEMENT_H_
#define KILN_FRONTEND_STABLEHLO_REFINEMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/frontend/mlir/operation.h"
#include "src/hlo/module.h"

namespace kiln::stablehlo {

// A dimension of a shape that ToOpenShape left open.
inline constexpr int64_t kOpenSize = -1;

// ToShape (types.h), except that dimensions with neither a size nor a bound are kOpenSize.
absl::StatusOr<hlo::Shape> ToOpenShape(const mlir::Type& type);
bool IsOpen(const hlo::Shape& shape);
// `shape` with open dimensions empty, to go on with where an error is known already.
hlo::Shape Closed(const hlo::Shape& shape);
// True when `actual` is `declared` up to layout and wherever that is open.
bool Fits(const hlo::Shape& declared, const hlo::Shape& actual);

// The shape of opcode(operands) where the declared one is open.
absl::StatusOr<hlo::Shape> RefineShape(hlo::Opcode opcode, absl::Span<hlo::Instruction* const> operands,
                                       const hlo::Attributes& attributes, absl::Span<hlo::Computation* const> called,
                                       const hlo::Shape& declared);

// True for a function in which shapes are open or sizes are operands: it is imported anew at each call, for its
// operands.
bool NeedsRefinement(const mlir::Operation& function);

// Values of small instructions that depend on constants alone. One for a module under import.
class ConstantValues {
 public:
  // The value of `instruction`, or null. It lives as long as this object does.
  const hlo::Literal* Find(const hlo::Instruction* instruction);

 private:
  bool IsCandidate(const hlo::Instruction& instruction);
  std::optional<hlo::Literal> Evaluate(const hlo::Instruction& instruction);

  int64_t budget_ = 1 << 17;  // Instructions that may still be looked at.
  absl::flat_hash_map<const hlo::Instruction*, std::unique_ptr<hlo::Literal>> values_;  // Null: not constant.
};

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_REFINEMENT_H_
