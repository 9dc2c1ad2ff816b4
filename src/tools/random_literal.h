// Random inputs for programs.
#ifndef KILN_TOOLS_RANDOM_LITERAL_H_
#define KILN_TOOLS_RANDOM_LITERAL_H_

#include <cstdint>
#include <vector>

#include "src/hlo/computation.h"
#include "src/hlo/literal.h"

namespace kiln::tools {

// Values that most programs take well: reals of about normal distribution within [-1, 1], integers in [0, 8) so that
// they also do as indices, predicates of both kinds. The same seed gives the same values on every machine.
hlo::Literal RandomLiteral(const hlo::Shape& shape, uint64_t* seed);

// One for each parameter of `computation`.
std::vector<hlo::Literal> RandomArguments(const hlo::Computation& computation, uint64_t seed);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_RANDOM_LITERAL_H_
