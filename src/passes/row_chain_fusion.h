// Products and what reads their rows as one step: what is between them is then never in memory as a whole.
#ifndef KILN_PASSES_ROW_CHAIN_FUSION_H_
#define KILN_PASSES_ROW_CHAIN_FUSION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Makes fusions of kind kCustom of products and kernels (dots, fusions, reduces) that each make groups of rows of the
// same groups of those before (analysis/row_groups.h), and whose values nothing else reads: a product's columns that
// are summed, a layer behind another, rows that are scaled before they are multiplied. What a chain keeps out of memory
// must be much, beside the weights that every thread packs. Comes behind other fusion; for targets that run such
// fusions (cpu/row_chain.h).
absl::StatusOr<bool> FuseRowChains(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ROW_CHAIN_FUSION_H_
