// The words that HLO text uses for the values of attribute enums.
#ifndef KILN_HLO_ATTRIBUTE_NAMES_H_
#define KILN_HLO_ATTRIBUTE_NAMES_H_

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "src/hlo/attributes.h"

namespace kiln::hlo {

template <typename Enum>
using EnumName = std::pair<Enum, absl::string_view>;

inline constexpr EnumName<ComparisonDirection> kComparisonDirectionNames[] = {
    {ComparisonDirection::kEq, "EQ"}, {ComparisonDirection::kNe, "NE"}, {ComparisonDirection::kGe, "GE"},
    {ComparisonDirection::kGt, "GT"}, {ComparisonDirection::kLe, "LE"}, {ComparisonDirection::kLt, "LT"}};
inline constexpr EnumName<ComparisonType> kComparisonTypeNames[] = {{ComparisonType::kFloat, "FLOAT"},
                                                                    {ComparisonType::kTotalOrder, "TOTALORDER"},
                                                                    {ComparisonType::kSigned, "SIGNED"},
                                                                    {ComparisonType::kUnsigned, "UNSIGNED"}};
inline constexpr EnumName<Precision> kPrecisionNames[] = {
    {Precision::kDefault, "default"}, {Precision::kHigh, "high"}, {Precision::kHighest, "highest"}};
inline constexpr EnumName<DotAlgorithm> kDotAlgorithmNames[] = {
    {DotAlgorithm::kUnset, "unset"},
    {DotAlgorithm::kAnyF8AnyF8F32, "dot_any_f8_any_f8_f32"},
    {DotAlgorithm::kAnyF8AnyF8F32FastAccum, "dot_any_f8_any_f8_f32_fast_accum"},
    {DotAlgorithm::kF16F16F16, "dot_f16_f16_f16"},
    {DotAlgorithm::kF16F16F32, "dot_f16_f16_f32"},
    {DotAlgorithm::kBF16BF16BF16, "dot_bf16_bf16_bf16"},
    {DotAlgorithm::kBF16BF16F32, "dot_bf16_bf16_f32"},
    {DotAlgorithm::kBF16BF16F32X3, "dot_bf16_bf16_f32_x3"},
    {DotAlgorithm::kBF16BF16F32X6, "dot_bf16_bf16_f32_x6"},
    {DotAlgorithm::kBF16BF16F32X9, "dot_bf16_bf16_f32_x9"},
    {DotAlgorithm::kTF32TF32F32, "dot_tf32_tf32_f32"},
    {DotAlgorithm::kTF32TF32F32X3, "dot_tf32_tf32_f32_x3"},
    {DotAlgorithm::kF32F32F32, "dot_f32_f32_f32"},
    {DotAlgorithm::kF64F64F64, "dot_f64_f64_f64"}};
inline constexpr EnumName<RngDistribution> kRngDistributionNames[] = {{RngDistribution::kUniform, "rng_uniform"},
                                                                      {RngDistribution::kNormal, "rng_normal"}};
inline constexpr EnumName<RngAlgorithm> kRngAlgorithmNames[] = {{RngAlgorithm::kDefault, "rng_default"},
                                                                {RngAlgorithm::kThreeFry, "rng_three_fry"},
                                                                {RngAlgorithm::kPhilox, "rng_philox"}};
inline constexpr EnumName<FftType> kFftTypeNames[] = {
    {FftType::kFft, "FFT"}, {FftType::kIfft, "IFFT"}, {FftType::kRfft, "RFFT"}, {FftType::kIrfft, "IRFFT"}};
inline constexpr EnumName<TransposeKind> kTransposeKindNames[] = {{TransposeKind::kNoTranspose, "NO_TRANSPOSE"},
                                                                  {TransposeKind::kTranspose, "TRANSPOSE"},
                                                                  {TransposeKind::kAdjoint, "ADJOINT"}};
inline constexpr EnumName<CustomCallApiVersion> kApiVersionNames[] = {
    {CustomCallApiVersion::kUnspecified, "API_VERSION_UNSPECIFIED"},
    {CustomCallApiVersion::kOriginal, "API_VERSION_ORIGINAL"},
    {CustomCallApiVersion::kStatusReturning, "API_VERSION_STATUS_RETURNING"},
    {CustomCallApiVersion::kStatusReturningUnified, "API_VERSION_STATUS_RETURNING_UNIFIED"},
    {CustomCallApiVersion::kTypedFfi, "API_VERSION_TYPED_FFI"}};
inline constexpr EnumName<FusionKind> kFusionKindNames[] = {{FusionKind::kLoop, "kLoop"},
                                                            {FusionKind::kInput, "kInput"},
                                                            {FusionKind::kOutput, "kOutput"},
                                                            {FusionKind::kCustom, "kCustom"}};

// The word for `value`, "" when the table has none.
template <typename Enum, size_t N>
constexpr absl::string_view EnumToName(const EnumName<Enum> (&names)[N], Enum value) {
  for (const auto& [entry, name] : names) {
    if (entry == value) return name;
  }
  return "";
}

template <typename Enum, size_t N>
std::optional<Enum> EnumFromName(const EnumName<Enum> (&names)[N], absl::string_view wanted) {
  for (const auto& [entry, name] : names) {
    if (name == wanted) return entry;
  }
  return std::nullopt;
}

}  // namespace kiln::hlo

#endif  // KILN_HLO_ATTRIBUTE_NAMES_H_
