// Gives typed custom calls the elements of their tuple operands as operands of their own, which is how handlers see
// them anyway, so that what is said of operands (layouts, shared memory) is said of arrays.
#ifndef KILN_PASSES_CUSTOM_CALL_FLATTENING_H_
#define KILN_PASSES_CUSTOM_CALL_FLATTENING_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class CustomCallFlattening : public Pass {
 public:
  absl::string_view name() const override { return "custom-call-flattening"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CUSTOM_CALL_FLATTENING_H_
