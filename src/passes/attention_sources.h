// Kernels that make what attention reads as steps before it: queries, keys and values are then never in memory as a
// whole.
#ifndef KILN_PASSES_ATTENTION_SOURCES_H_
#define KILN_PASSES_ATTENTION_SOURCES_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Makes fusions of kind kCustom of attention fusions and the kernels (fusions, reduces, elementwise ops) that make
// their queries, keys or values, which nothing else reads, of arrays that are in memory anyway: rows that are
// normalized, keys of which several are averaged. Queries are made row by row, keys and values once for each of many
// heads, in whose order they have to lie (analysis::PartsOf). The fusion has the attention as it was inside, and
// becomes it again where there is no code for all of it. Comes behind other fusion; for targets that run such fusions
// (cpu/row_chain.h).
absl::StatusOr<bool> FuseAttentionSources(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ATTENTION_SOURCES_H_
