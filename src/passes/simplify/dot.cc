// Dot. Its form is the work of dot-canonicalization; here only what makes it vanish.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::Instruction;

// A sum over no elements.
Instruction* EmptyContraction(const Match& match, hlo::Builder& builder) {
  if (match['x']->shape().element_count() != 0 || match.root()->shape().element_count() == 0) return nullptr;
  return builder.Splat(match.root()->shape(), 0.0);
}

constexpr Rule kRules[] = {
    {"dot(x, y)", EmptyContraction},
};

}  // namespace

absl::Span<const Rule> DotRules() { return kRules; }

}  // namespace kiln::passes::simplify
