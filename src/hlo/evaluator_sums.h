// Sums of products: the wide types that contractions and convolutions accumulate in, rounded once at the end.
#ifndef KILN_HLO_EVALUATOR_SUMS_H_
#define KILN_HLO_EVALUATOR_SUMS_H_

#include <complex>
#include <type_traits>
#include <vector>

#include "src/hlo/elements.h"

namespace kiln::hlo::evaluator {

// The class that products of two element types are summed in.
enum class SumKind { kInteger, kTruth, kDouble, kLongDouble, kComplex };

inline SumKind SumKindOf(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  if (IsComplex(lhs) || IsComplex(rhs) || IsComplex(result)) return SumKind::kComplex;
  if (IsFloating(lhs) || IsFloating(rhs) || IsFloating(result)) {
    const bool wide =
        lhs == PrimitiveType::kF64 || rhs == PrimitiveType::kF64 || result == PrimitiveType::kF64;
    return wide ? SumKind::kLongDouble : SumKind::kDouble;
  }
  return result == PrimitiveType::kPred ? SumKind::kTruth : SumKind::kInteger;
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

// Rounds or wraps to `type`.
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

// Calls function(T{}) with T the type of the kind.
template <typename Function>
absl::Status WithSumType(SumKind kind, const Function& function) {
  switch (kind) {
    case SumKind::kInteger:
    case SumKind::kTruth: return function(uint64_t{});
    case SumKind::kDouble: return function(double{});
    case SumKind::kLongDouble: return function(0.0L);
    case SumKind::kComplex: return function(std::complex<long double>{});
  }
  return absl::OkStatus();
}

}  // namespace kiln::hlo::evaluator

#endif  // KILN_HLO_EVALUATOR_SUMS_H_
