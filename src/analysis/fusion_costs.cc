#include "src/analysis/fusion_costs.h"

#include "src/analysis/fusion_model.h"

namespace kiln::analysis {
namespace {

// Arrays up to this size are likely in a cache near the core that reads them.
constexpr double kCachedBytes = 1 << 20;
// Operations that an expensive one (EvaluationCost) stands for.
constexpr double kExpensiveOperations = 16;

}  // namespace

double TrafficNanoseconds(const FusionCosts& costs, double bytes) {
  return bytes / (bytes <= kCachedBytes ? costs.cached_bytes_per_nanosecond : costs.bytes_per_nanosecond);
}

double EvaluationNanoseconds(const FusionCosts& costs, const hlo::Instruction& instruction, double elements) {
  switch (CostOf(instruction)) {
    case EvaluationCost::kFree:
      return 0;
    case EvaluationCost::kCheap:
      return elements / costs.elements_per_nanosecond;
    case EvaluationCost::kExpensive:
      return kExpensiveOperations * elements / costs.elements_per_nanosecond;
  }
  return 0;
}

bool IsWorthMerging(const FusionCosts& costs, double saved_bytes) {
  return saved_bytes > 0 && TrafficNanoseconds(costs, saved_bytes) >= costs.launch_nanoseconds;
}

}  // namespace kiln::analysis
