// Editing the state of while loops, for passes over them.
#ifndef KILN_PASSES_LOOP_STATE_H_
#define KILN_PASSES_LOOP_STATE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Whether `tuple` is no root and has get-tuple-elements alone as users.
bool OnlyReadByElement(const Instruction& tuple);

// Views, sources and what else is cheaper to make again than to load.
bool IsFree(const Instruction& instruction);

// Lets every user of `tuple` but get-tuple-elements, and the root, use a new tuple of its elements.
void ReadByElement(Instruction* tuple);

// Lets the users of `value` use what `make` gives, called once if there are any, save a tuple that is the root: what a
// computation hands on shows there.
bool ReplaceUsesInside(Instruction* value, const std::function<Instruction*()>& make);

// Brings a loop whose state is a tuple into the form in which elements can be added: the start and the body's root are
// tuple instructions; body, condition and users read elements alone. False, with nothing changed, for other loops.
bool MakeStateExplicit(Instruction* loop);

// Makes of a state with tuples in its tuple one of their leaves. Nobody else may call the
// loop's computations. False, with nothing changed, for other states.
bool FlattenState(Instruction* loop);

// Adds `values`, of the loop's computation, to the state of an explicit loop, as elements that the body hands on.
// Returns the first one's index.
int64_t AddInvariantState(Instruction* loop, absl::Span<Instruction* const> values);

// Copies `chosen`, in an order of operands before users, into `computation`; operands that are not chosen become what
// `outside` gives for them. Gives the copy of each.
absl::flat_hash_map<const Instruction*, Instruction*> CopyInto(
    Computation* computation, absl::Span<Instruction* const> chosen,
    const std::function<Instruction*(Instruction*)>& outside);

}  // namespace kiln::passes

#endif  // KILN_PASSES_LOOP_STATE_H_
