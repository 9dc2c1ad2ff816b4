#include "src/analysis/fusion_costs.h"

#include <algorithm>

#include "src/analysis/fusion_model.h"

namespace kiln::analysis {
namespace {

constexpr double kInlineElements = 64;

}  // namespace

double TrafficNanoseconds(const FusionCosts& costs, double bytes) {
  return bytes / (bytes <= costs.cached_bytes ? costs.cached_bytes_per_nanosecond : costs.bytes_per_nanosecond);
}

double EvaluationNanoseconds(const FusionCosts& costs, const hlo::Instruction& instruction, double elements) {
  switch (CostOf(instruction)) {
    case EvaluationCost::kFree:
      return 0;
    case EvaluationCost::kCheap:
      return elements / costs.elements_per_nanosecond;
    case EvaluationCost::kExpensive:
      return costs.function_operations * elements / costs.elements_per_nanosecond;
  }
  return 0;
}

bool IsWorthRepeating(const FusionCosts& costs, const hlo::Instruction& producer, double evaluations, double reads) {
  const auto width = [](const hlo::Instruction& value) {
    return static_cast<double>(hlo::ByteWidth(value.shape().element_type()));
  };
  const double elements = static_cast<double>(std::max<int64_t>(1, producer.shape().element_count()));
  // Scalars and splats are at hand.
  double operand_width = 0;
  for (const hlo::Instruction* operand : producer.operands()) {
    if (operand == producer.operand(0) && operand_width > 0) continue;  // squares, and tests for NaN
    if (operand->opcode() == hlo::Opcode::kBroadcast || operand->shape().IsScalar() || IsRematerialized(*operand))
      continue;
    operand_width += width(*operand);
  }
  if (producer.opcode() == hlo::Opcode::kTranspose) operand_width *= costs.transposed_traffic;
  // Both ways read from the same memory: small arrays from caches.
  const double rate =
      elements * width(producer) <= costs.cached_bytes ? costs.cached_bytes_per_nanosecond : costs.bytes_per_nanosecond;
  const auto evaluate = [&](double count, double read) {
    return EvaluationNanoseconds(costs, producer, count) + read * operand_width / rate;
  };
  // Few elements stand in the code around them, where what counts is its size.
  const double launch = elements > kInlineElements ? costs.launch_nanoseconds : 0;
  const double stored = launch + evaluate(elements, elements) + (elements + evaluations) * width(producer) / rate;
  return evaluate(evaluations, reads) <= stored;
}

bool IsWorthMerging(const FusionCosts& costs, double saved_bytes) {
  return saved_bytes > 0 && TrafficNanoseconds(costs, saved_bytes) >= costs.launch_nanoseconds;
}

}  // namespace kiln::analysis
