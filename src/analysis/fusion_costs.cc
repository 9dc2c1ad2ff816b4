#include "src/analysis/fusion_costs.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "src/analysis/fusion_model.h"

namespace kiln::analysis {
namespace {

constexpr double kInlineElements = 64;
// Smaller arrays stay in the nearest caches: with joined states of three rows of 256 made again where they are read,
// steps of a simulation took 1.3 times as long.
constexpr int64_t kLargeBytes = int64_t{64} << 10;

// A slice of all but the ends.
bool IsMostOf(const hlo::Instruction& slice) {
  return slice.opcode() == hlo::Opcode::kSlice &&
         absl::c_all_of(slice.Get<hlo::SliceAttributes>().stride, [](int64_t stride) { return stride == 1; }) &&
         8 * slice.shape().element_count() >= 7 * slice.operand(0)->shape().element_count();
}

// A concatenate that is no border around an array: an element is one of a piece's, and few loops are cut.
bool JoinsLarge(const hlo::Instruction& value) {
  constexpr int64_t kMostPieces = 16;
  return value.opcode() == hlo::Opcode::kConcatenate && absl::c_all_of(value.operands(), [&](const auto* piece) {
           return kMostPieces * piece->shape().element_count() >= value.shape().element_count();
         });
}

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

bool IsWorthRepeating(const FusionCosts& costs, const hlo::Instruction& producer, double evaluations,
                      absl::Span<const double> reads, double steps) {
  const auto width = [](const hlo::Instruction& value) {
    return static_cast<double>(hlo::ByteWidth(value.shape().element_type()));
  };
  const double elements = static_cast<double>(std::max<int64_t>(1, producer.shape().element_count()));
  const bool is_large = producer.shape().byte_count() >= kLargeBytes;
  // Scalars and splats are at hand.
  double repeated_bytes = 0, once_bytes = 0;
  absl::InlinedVector<const hlo::Instruction*, 4> sources;
  for (int64_t i = 0; i < producer.operand_count(); ++i) {
    const hlo::Instruction* operand = producer.operand(i);
    if (operand->opcode() == hlo::Opcode::kBroadcast || operand->shape().IsScalar() || IsRematerialized(*operand))
      continue;
    // Squares, tests for NaN, and differences of neighbours read one array.
    const hlo::Instruction* source = is_large && IsMostOf(*operand) ? operand->operand(0) : operand;
    if (absl::c_linear_search(sources, source)) continue;
    double bytes = width(*operand) * (producer.opcode() == hlo::Opcode::kTranspose ? costs.transposed_traffic : 1);
    if (is_large && JoinsLarge(producer)) {
      bytes *= static_cast<double>(operand->shape().element_count()) / elements;
    } else {
      sources.push_back(source);
    }
    repeated_bytes += reads[i] * bytes;
    once_bytes += elements * bytes;
  }
  // Both ways read from the same memory: small arrays from caches.
  const double rate =
      elements * width(producer) <= costs.cached_bytes ? costs.cached_bytes_per_nanosecond : costs.bytes_per_nanosecond;
  const auto evaluate = [&](double count, double bytes) {
    return EvaluationNanoseconds(costs, producer, count) + bytes / rate;
  };
  // Few elements stand in the code around them, where what counts is its size.
  const double launch = elements > kInlineElements ? costs.launch_nanoseconds : 0;
  const double moved = elements + evaluations;
  double stored = launch + evaluate(elements, once_bytes) + moved * width(producer) / rate;
  // Masks are packed into bytes and unpacked again. What they are made of would live on instead, if it is not at hand.
  const bool is_mask = producer.shape().element_type() == hlo::PrimitiveType::kPred;
  if (is_mask && repeated_bytes == 0) stored += moved / costs.elements_per_nanosecond;
  return evaluate(evaluations, repeated_bytes) + steps / costs.elements_per_nanosecond <= stored;
}

bool IsWorthMerging(const FusionCosts& costs, double saved_bytes) {
  return saved_bytes > 0 && TrafficNanoseconds(costs, saved_bytes) >= costs.launch_nanoseconds;
}

}  // namespace kiln::analysis
