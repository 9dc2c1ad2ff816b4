// Copies of a nest's body side by side: what unrolling a loop is, with what does not depend on it there once.
#ifndef KILN_KERNEL_BODY_COPIES_H_
#define KILN_KERNEL_BODY_COPIES_H_

#include <cstdint>
#include <functional>

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// What `loop` is in copy number `copy`, where it stands in `expr`; in the terms of `terms`.
using CopyIndex =
    std::function<IndexExpr(int64_t copy, IndexTerms* terms, const IndexTerms::Term& loop, const IndexExpr& expr)>;

// Replaces what depends on `loop` in the body of `nest` by `count` copies, and all loops everywhere by what `index` has
// for them. Loops' extents, and which loops ops depend on, are for the caller to change.
void CopyBody(Kernel* kernel, Nest* nest, int loop, int64_t count, const CopyIndex& index);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_BODY_COPIES_H_
