// The verifier: what every pass and target may rely on.
#ifndef KILN_HLO_VERIFIER_H_
#define KILN_HLO_VERIFIER_H_

#include "absl/status/status.h"
#include "src/hlo/module.h"

namespace kiln::hlo {

// Checks the invariants listed at the head of verifier.cc. An error names the instruction and the rule.
absl::Status Verify(const Module& module);

}  // namespace kiln::hlo

#endif  // KILN_HLO_VERIFIER_H_
