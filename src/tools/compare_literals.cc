#include "src/tools/compare_literals.h"

#include <algorithm>
#include <cmath>

namespace kiln::tools {

std::vector<const hlo::Literal*> Leaves(const hlo::Literal& literal) {
  if (!literal.shape().IsTuple()) return {&literal};
  std::vector<const hlo::Literal*> leaves;
  for (const hlo::Literal& element : literal.elements()) {
    for (const hlo::Literal* leaf : Leaves(element)) leaves.push_back(leaf);
  }
  return leaves;
}

double LargestError(const hlo::Literal& actual, const hlo::Literal& expected) {
  const hlo::PrimitiveType type = expected.shape().element_type();
  if (!hlo::IsFloating(type) && !hlo::IsComplex(type)) return actual == expected ? 0 : HUGE_VAL;
  // Complex values are compared as twice as many parts.
  const hlo::PrimitiveType part = hlo::ComplexComponentType(type);
  const int64_t count = static_cast<int64_t>(expected.bytes().size()) / hlo::ByteWidth(part);
  const hlo::Shape flat(part, {count});
  absl::StatusOr<hlo::Literal> a = hlo::Literal::FromBytes(flat, actual.bytes());
  absl::StatusOr<hlo::Literal> e = hlo::Literal::FromBytes(flat, expected.bytes());
  if (!a.ok() || !e.ok()) return HUGE_VAL;
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = hlo::ElementAsDouble(*a, i), y = hlo::ElementAsDouble(*e, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(x - y) / std::max(1.0, std::abs(y));
    worst = std::max(worst, std::isnan(error) ? HUGE_VAL : error);
  }
  return worst;
}

}  // namespace kiln::tools
