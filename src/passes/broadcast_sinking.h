#ifndef KILN_PASSES_BROADCAST_SINKING_H_
#define KILN_PASSES_BROADCAST_SINKING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Computes `producer`, an elementwise instruction or fusion, in `user`, a fusion that reads it.
void SinkInto(const Instruction& producer, Instruction* user);

// Computes large arrays that are made from little in the fusions that read them. Runs behind fusion. A broadcast, or a
// loop fusion of cheap ops whose operands together are a small part of its result (masks, positions, statistics of
// rows), that only fusions of elements read goes into each of them: its memory, which may be held from the first layer
// to the last, and the traffic are saved. States of loops that begin as the same such array begin as one each.
absl::StatusOr<bool> SinkBroadcasts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_BROADCAST_SINKING_H_
