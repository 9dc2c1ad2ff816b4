// single-device-collectives: communication among one participant.
#ifndef KILN_PASSES_SINGLE_DEVICE_COLLECTIVES_H_
#define KILN_PASSES_SINGLE_DEVICE_COLLECTIVES_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// A program of one replica and one partition is device 0. Where groups have no other member, a collective gives back
// what it got, and a permutation that sends nothing to device 0 gives zeros; copies between memories and asynchronous
// calls become what they copy and call. Whatever names another device is left.
class SingleDeviceCollectives : public OpExpander {
 public:
  absl::string_view name() const override { return "single-device-collectives"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SINGLE_DEVICE_COLLECTIVES_H_
