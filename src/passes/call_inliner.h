// call-inliner: replaces every call by the body of its computation, nested calls and composites included.
#ifndef KILN_PASSES_CALL_INLINER_H_
#define KILN_PASSES_CALL_INLINER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Bodies are inlined bottom up, so each is copied once per call. Calls nested so that copies would grow past a fixed
// budget stay calls.
class CallInliner : public Pass {
 public:
  absl::string_view name() const override { return "call-inliner"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CALL_INLINER_H_
