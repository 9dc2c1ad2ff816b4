// What a pass is. Its name is its flag in `kiln opt --passes=NAME` and its golden test is tests/golden/passes/NAME.hlo.
#ifndef KILN_PASSES_PASS_H_
#define KILN_PASSES_PASS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/hlo/module.h"

namespace kiln::passes {

class Pass {
 public:
  virtual ~Pass() = default;
  // Lower case with dashes.
  virtual absl::string_view name() const = 0;
  // Rewrites `module` and says whether anything changed. On error the module is unusable.
  virtual absl::StatusOr<bool> Run(hlo::Module* module) = 0;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_PASS_H_
