// What StableHLO says of HLO's dot algorithms; both operands have one component.
#ifndef KILN_FRONTEND_STABLEHLO_DOT_ALGORITHMS_H_
#define KILN_FRONTEND_STABLEHLO_DOT_ALGORITHMS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "src/hlo/attributes.h"

namespace kiln::stablehlo {

struct DotAlgorithmRow {
  absl::string_view operands;  // Element type of both; "f8" stands for any 8-bit float.
  absl::string_view accumulation;
  int64_t primitive_operations;
  bool imprecise;
  hlo::DotAlgorithm algorithm;
};

inline constexpr DotAlgorithmRow kDotAlgorithms[] = {
    {"f8", "f32", 1, false, hlo::DotAlgorithm::kAnyF8AnyF8F32},
    {"f8", "f32", 1, true, hlo::DotAlgorithm::kAnyF8AnyF8F32FastAccum},
    {"f16", "f16", 1, false, hlo::DotAlgorithm::kF16F16F16},
    {"f16", "f32", 1, false, hlo::DotAlgorithm::kF16F16F32},
    {"bf16", "bf16", 1, false, hlo::DotAlgorithm::kBF16BF16BF16},
    {"bf16", "f32", 1, false, hlo::DotAlgorithm::kBF16BF16F32},
    {"bf16", "f32", 3, false, hlo::DotAlgorithm::kBF16BF16F32X3},
    {"bf16", "f32", 6, false, hlo::DotAlgorithm::kBF16BF16F32X6},
    {"bf16", "f32", 9, false, hlo::DotAlgorithm::kBF16BF16F32X9},
    {"tf32", "f32", 1, false, hlo::DotAlgorithm::kTF32TF32F32},
    {"tf32", "f32", 3, false, hlo::DotAlgorithm::kTF32TF32F32X3},
    {"f32", "f32", 1, false, hlo::DotAlgorithm::kF32F32F32},
    {"f64", "f64", 1, false, hlo::DotAlgorithm::kF64F64F64},
};

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_DOT_ALGORITHMS_H_
