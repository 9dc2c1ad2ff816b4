#include "src/kernel/buffer_sharing.h"

#include <algorithm>

namespace kiln::kernel {

bool MayShareBuffer(const Kernel& kernel, int input, int output) {
  auto reads_input = [&](const Op& op) { return op.kind == OpKind::kLoad && op.parameter == input; };
  if (std::none_of(kernel.ops.begin(), kernel.ops.end(), reads_input)) return true;
  if (kernel.nests.size() != 1) return false;
  const Store* store = nullptr;
  for (const Store& candidate : kernel.stores) {
    if (candidate.parameter == output) store = &candidate;
  }
  if (store == nullptr || kernel.parameters[input].type != kernel.parameters[output].type) return false;
  return std::all_of(kernel.ops.begin(), kernel.ops.end(),
                     [&](const Op& op) { return !reads_input(op) || op.offset == store->offset; });
}

}  // namespace kiln::kernel
