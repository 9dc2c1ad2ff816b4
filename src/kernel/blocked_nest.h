// Nests that go by blocks of rows, for which they keep what several of their elements are made of.
#ifndef KILN_KERNEL_BLOCKED_NEST_H_
#define KILN_KERNEL_BLOCKED_NEST_H_

#include "absl/status/statusor.h"
#include "src/hlo/computation.h"
#include "src/kernel/body_builder.h"

namespace kiln::kernel {

// Emits the nest of a fusion's `body` whose result goes to parameter `output`, where opt-barriers in it say what to
// keep (analysis/kept_blocks.h); false, without any code, where there are none, or none that can be.
//
//   nest parallel i0 in 64 parallel i1 in 4 parallel i2 in 16 parallel i3 in 32
//     stage i4 in 16 i5 in 32
//       store local p2[32*i4 + i5] = sine of what is at row 16*i0 + i4
//     store p1[...] = p0[...] * load local p2[32*i2 + i3]
absl::StatusOr<bool> EmitBlocked(BodyBuilder* body, IndexTerms* terms, const hlo::Computation& fused, int output);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_BLOCKED_NEST_H_
