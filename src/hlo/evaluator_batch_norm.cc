// batch-norm-training, -inference and -grad, per feature, in long double.
#include <cmath>
#include <utility>

#include "src/hlo/elements.h"
#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {
namespace {

using Wide = long double;

Wide Load(const Literal& literal, int64_t i) {
  const PrimitiveType type = literal.shape().element_type();
  return LoadElement<double>(type, literal.bytes().data() + i * ByteWidth(type));
}

void Store(Literal* literal, int64_t i, Wide value) {
  const PrimitiveType type = literal->shape().element_type();
  StoreReal(type, value, literal->mutable_bytes().data() + i * ByteWidth(type));
}

}  // namespace

absl::StatusOr<Literal> EvaluateBatchNorm(Evaluation& evaluation, const Instruction& instruction,
                                          Operands& operands) {
  const auto& attributes = instruction.Get<BatchNormAttributes>();
  const Literal& x = operands[0];
  const Shape& shape = x.shape();
  const int64_t feature = attributes.feature_index;
  const Opcode opcode = instruction.opcode();
  bool fits = true;
  for (const Literal& operand : operands) fits = fits && IsFloating(operand.shape().element_type());
  KILN_RETURN_IF_ERROR(Require(instruction, fits, "expected floats"));
  const int64_t features = shape.dimensions(feature);
  const int64_t inner = StridesOf(shape.dimensions())[feature];
  const int64_t total = shape.element_count();
  const Wide count = features == 0 ? 0 : static_cast<Wide>(total / features);
  KILN_ASSIGN_OR_RETURN(Literal y, evaluation.Allocate(shape));
  auto for_each = [&](auto visit) {
    for (int64_t i = 0; i < total; ++i) visit(i, i / inner % features);
  };
  std::vector<Wide> mean(features, 0), variance(features, 0);
  if (opcode == Opcode::kBatchNormTraining) {
    // Of the whole batch, not the sample's.
    for_each([&](int64_t i, int64_t f) { mean[f] += Load(x, i); });
    for (Wide& value : mean) value /= count;
    for_each([&](int64_t i, int64_t f) { variance[f] += (Load(x, i) - mean[f]) * (Load(x, i) - mean[f]); });
    for (Wide& value : variance) value /= count;
  } else {
    const int64_t first = opcode == Opcode::kBatchNormGrad ? 2 : 3;
    for (int64_t f = 0; f < features; ++f) {
      mean[f] = Load(operands[first], f);
      variance[f] = Load(operands[first + 1], f);
    }
  }
  auto deviation = [&](int64_t f) { return std::sqrt(variance[f] + static_cast<Wide>(attributes.epsilon)); };
  auto normalized = [&](int64_t i, int64_t f) { return (Load(x, i) - mean[f]) / deviation(f); };
  if (opcode == Opcode::kBatchNormGrad) {
    // operand, scale, mean, variance, gradient of the output -> gradients of operand, scale, offset
    const Literal& gradient = operands[4];
    std::vector<Wide> scale(features, 0), offset(features, 0);
    for_each([&](int64_t i, int64_t f) {
      scale[f] += Load(gradient, i) * normalized(i, f);
      offset[f] += Load(gradient, i);
    });
    for_each([&](int64_t i, int64_t f) {
      const Wide factor = Load(operands[1], f) / deviation(f);
      Store(&y, i, factor * (Load(gradient, i) - offset[f] / count - normalized(i, f) * scale[f] / count));
    });
    mean = std::move(scale);
    variance = std::move(offset);
  } else {
    // operand, scale, offset -> output, mean, variance; or operand, scale, offset, mean, variance -> output
    for_each([&](int64_t i, int64_t f) {
      Store(&y, i, normalized(i, f) * Load(operands[1], f) + Load(operands[2], f));
    });
    if (opcode == Opcode::kBatchNormInference) return y;
  }
  const Shape vector(shape.element_type(), {features});
  KILN_ASSIGN_OR_RETURN(Literal first, evaluation.Allocate(vector));
  KILN_ASSIGN_OR_RETURN(Literal second, evaluation.Allocate(vector));
  for (int64_t f = 0; f < features; ++f) {
    Store(&first, f, mean[f]);
    Store(&second, f, variance[f]);
  }
  return Literal::Tuple({std::move(y), std::move(first), std::move(second)});
}

}  // namespace kiln::hlo::evaluator
