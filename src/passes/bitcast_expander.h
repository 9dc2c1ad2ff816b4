// bitcast-expander: a bitcast to another element type inside a fusion as reshapes, bitcast-converts and parts of
// complex numbers.
#ifndef KILN_PASSES_BITCAST_EXPANDER_H_
#define KILN_PASSES_BITCAST_EXPANDER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Where instructions run one by one a bitcast is a view of its operand's memory and stays. Types narrower than a byte
// and pred stay as well.
class BitcastExpander : public Pass {
 public:
  absl::string_view name() const override { return "bitcast-expander"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_BITCAST_EXPANDER_H_
