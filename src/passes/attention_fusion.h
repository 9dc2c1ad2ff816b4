// Attention as one step: a softmax, or another operation on whole rows, between two products becomes a fusion with
// both, so that the scores are never in memory as a whole.
#ifndef KILN_PASSES_ATTENTION_FUSION_H_
#define KILN_PASSES_ATTENTION_FUSION_H_

#include "absl/status/statusor.h"
#include "src/hlo/module.h"

namespace kiln::passes {

// Makes fusions of kind kCustom of a dot, what is done with the rows of its result (as a fusion inside, of kind kInput)
// and the dot that reads them, with the moves (reshape, transpose, broadcast, slice) around these. The scores and what
// becomes of them must have no other readers, and their rows must be so many that packing keys and values is repaid
// (AttentionTuning). Comes before other fusion; for targets that run such fusions (cpu/row_chain.h).
absl::StatusOr<bool> FuseAttention(hlo::Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ATTENTION_FUSION_H_
