// Cholesky decompositions of diagonal matrices.
#include "src/passes/simplify/dot.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

bool IsIdentity(const Match& match) { return IsIdentityMatrix(*match['i']); }
constexpr Guard IdentityMatrixI{"i an identity matrix", IsIdentity};

bool IsOnDiagonal(const Match& match) { return IsDiagonal(*match['t']); }
constexpr Guard DiagonalT{"t the diagonal", IsOnDiagonal};

bool IsPositive(const Match& match) {
  const ValueRange range = RangeOf(*match['c']);
  return range.IsFinite() && range.IsNonNegative() && !IsZero(match);
}
constexpr Guard PositiveC{"c finite, above 0", IsPositive};

constexpr Rule kCholeskyRules[] = {
    {"cholesky(i)", "i", IdentityMatrixI, NotComplex},
    {"cholesky(s:select(t:compare(_, _), c, 0))", "s(t, sqrt(c), 0)", DiagonalT, PositiveC, NotComplex},
};

}  // namespace

absl::Span<const Rule> CholeskyRules() { return kCholeskyRules; }

}  // namespace kiln::passes::simplify
