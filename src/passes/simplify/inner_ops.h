// The ops behind one whose result they make together.
#ifndef KILN_PASSES_SIMPLIFY_INNER_OPS_H_
#define KILN_PASSES_SIMPLIFY_INNER_OPS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "src/passes/ir.h"

namespace kiln::passes::simplify {

// From the root on: an op stands behind one that uses it.
using InnerOps = absl::InlinedVector<Instruction*, 8>;

// How many of the ops nothing needs once the first is replaced.
inline int CountUnneeded(const InnerOps& ops) {
  absl::InlinedVector<const Instruction*, 8> unneeded = {ops.front()};
  for (bool more = true; more;) {
    more = false;
    for (const Instruction* op : ops) {
      if (op->IsRoot() || absl::c_linear_search(unneeded, op)) continue;
      if (absl::c_all_of(op->users(), [&](const Instruction* user) { return absl::c_linear_search(unneeded, user); })) {
        unneeded.push_back(op);
        more = true;
      }
    }
  }
  return static_cast<int>(unneeded.size());
}

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_INNER_OPS_H_
