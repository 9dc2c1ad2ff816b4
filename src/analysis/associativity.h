// Whether the combiners of scans may be applied in any grouping, proved from what they compute.
#ifndef KILN_ANALYSIS_ASSOCIATIVITY_H_
#define KILN_ANALYSIS_ASSOCIATIVITY_H_

#include <optional>
#include <vector>

#include "src/hlo/computation.h"

namespace kiln::analysis {

// Elements that change nothing, one for each part of what is combined.
struct Identity {
  std::vector<hlo::Literal> values;  // scalars
  // combined(identity, x) is x for every x; otherwise combined(x, identity) is. Zeros may lose their sign.
  bool from_left = false;
};

// `combiner` is (earlier..., later...) -> combined, a tuple or the only part, elementwise. Found when it is associative
// as far as real numbers go: of each part alone one of add, multiply, maximum, minimum, and, or, xor; or polynomials of
// all parts whose two groupings are equal, as those of linear recurrences. Nothing for what cannot be proved.
std::optional<Identity> FindIdentity(const hlo::Computation& combiner);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_ASSOCIATIVITY_H_
