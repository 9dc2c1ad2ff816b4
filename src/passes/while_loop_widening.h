#ifndef KILN_PASSES_WHILE_LOOP_WIDENING_H_
#define KILN_PASSES_WHILE_LOOP_WIDENING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Makes of a loop whose rounds do not need each other one computation over arrays with a dimension for the rounds: rows
// that rounds take from arrays by their number are the arrays, rows that they put into arrays are written at once, and
// what they gather by an op that may take them in any order is a reduce. Sums of floats keep their order, and loops.
absl::StatusOr<bool> WidenLoops(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_WIDENING_H_
