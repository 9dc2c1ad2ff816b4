// Writes ragged-dot and scaled-dot as dots.
//
// A ragged dot goes over its groups in blocks of rows (of the ragged dimension), so that its work is that of a dot of
// the operands as they are, plus what the last block of each group has too many: no group is multiplied by another's
// rows.
#ifndef KILN_PASSES_RAGGED_DOT_EXPANDER_H_
#define KILN_PASSES_RAGGED_DOT_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

class RaggedDotExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "ragged-dot-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_RAGGED_DOT_EXPANDER_H_
