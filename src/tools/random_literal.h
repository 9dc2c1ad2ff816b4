// Random inputs for programs.
#ifndef KILN_TOOLS_RANDOM_LITERAL_H_
#define KILN_TOOLS_RANDOM_LITERAL_H_

#include <cstdint>
#include <vector>

#include "src/hlo/computation.h"
#include "src/hlo/literal.h"

namespace kiln::tools {

// kUsual: values that most programs take well: reals of about normal distribution within [-1, 1], predicates of both
// kinds, integers in [0, 8) so that they also do as indices and counts. Every other element of an array of unsigned or
// narrow integers, which seldom are either, is any of its type or one of the extremes.
// kSpecial: half of them; the others are any integer, reals of any size, NaN, infinities, zeros, subnormals, extremes.
enum class RandomKind : uint8_t { kUsual, kSpecial };

// The same seed gives the same values on every machine.
hlo::Literal RandomLiteral(const hlo::Shape& shape, uint64_t* seed, RandomKind kind = RandomKind::kUsual);

// One for each parameter of `computation`.
std::vector<hlo::Literal> RandomArguments(const hlo::Computation& computation, uint64_t seed,
                                          RandomKind kind = RandomKind::kUsual);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_RANDOM_LITERAL_H_
