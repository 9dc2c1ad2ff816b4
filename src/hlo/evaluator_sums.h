// Sums of products: the wide types that contractions and convolutions accumulate in, rounded once at the end.
#ifndef KILN_HLO_EVALUATOR_SUMS_H_
#define KILN_HLO_EVALUATOR_SUMS_H_

#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

#include "src/hlo/elements.h"

namespace kiln::hlo::evaluator {

// function(T{}), T being the type that products of two element types are summed in for a result of a third.
template <typename Function>
absl::Status WithSumType(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result, const Function& function) {
  const auto types = {lhs, rhs, result};
  if (std::any_of(types.begin(), types.end(), IsComplex)) return function(std::complex<long double>{});
  if (std::none_of(types.begin(), types.end(), IsFloating)) return function(uint64_t{});
  const bool wide = std::find(types.begin(), types.end(), PrimitiveType::kF64) != types.end();
  return wide ? function(0.0L) : function(double{});
}

// Every element as T, whatever the type.
template <typename T>
std::vector<T> WidenAll(const Literal& literal) {
  const PrimitiveType type = literal.shape().element_type();
  const int64_t n = literal.element_count();
  const std::byte* data = literal.bytes().data();
  return WithValueClass(type, [&](auto zero) {
    std::vector<decltype(zero)> loaded(n);
    LoadElements(type, data, false, n, loaded.data());
    std::vector<T> values;
    // Complex numbers are never asked for as real ones.
    if constexpr (std::is_convertible_v<decltype(zero), T>) values.assign(loaded.begin(), loaded.end());
    return values;
  });
}

// Rounds or wraps to `type`; pred is whether there is anything.
template <typename T>
void StoreSum(PrimitiveType type, T sum, std::byte* out) {
  if constexpr (std::is_same_v<T, std::complex<long double>>) {
    if (IsComplex(type)) {
      const Complex value(sum);
      StoreElements(type, &value, 1, out);
    } else {
      StoreReal(type, sum.real(), out);
    }
  } else if constexpr (std::is_integral_v<T>) {
    if (IsIntegral(type) || type == PrimitiveType::kPred) {
      StoreElements(type, &sum, 1, out);
    } else {
      StoreReal(type, static_cast<long double>(static_cast<int64_t>(sum)), out);
    }
  } else {
    StoreReal(type, sum, out);
  }
}

}  // namespace kiln::hlo::evaluator

#endif  // KILN_HLO_EVALUATOR_SUMS_H_
