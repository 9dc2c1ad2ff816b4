// What one predicate says of another.
#ifndef KILN_PASSES_SIMPLIFY_KNOWN_PREDICATES_H_
#define KILN_PASSES_SIMPLIFY_KNOWN_PREDICATES_H_

#include <optional>

#include "src/passes/ir.h"

namespace kiln::passes::simplify {

// What `asked` is wherever `given` is `value`, if that is known. Looks through a few ops of logic.
std::optional<bool> Known(const Instruction& asked, const Instruction& given, bool value, int steps = 3);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_KNOWN_PREDICATES_H_
