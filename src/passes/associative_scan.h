// Recognizes scans written as trees (jax.lax.associative_scan): at every level neighbours are combined, half as many
// are scanned, and the results are combined with what lies between and interleaved with it. Where the combiner is
// proved associative the whole becomes one scan, which goes over the elements once.
#ifndef KILN_PASSES_ASSOCIATIVE_SCAN_H_
#define KILN_PASSES_ASSOCIATIVE_SCAN_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Runs before simplification, which takes the ends of the tree apart.
class AssociativeScan : public Pass {
 public:
  absl::string_view name() const override { return "associative-scan"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_ASSOCIATIVE_SCAN_H_
