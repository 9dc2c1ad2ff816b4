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
  const Wide epsilon = attributes.epsilon;
  const Shape vector(shape.element_type(), {features});
  KILN_ASSIGN_OR_RETURN(Literal y, evaluation.Allocate(shape));
  if (opcode == Opcode::kBatchNormInference) {
    // operand, scale, offset, mean, variance
    for (int64_t i = 0; i < total; ++i) {
      const int64_t f = i / inner % features;
      const Wide normalized = (Load(x, i) - Load(operands[3], f)) / std::sqrt(Load(operands[4], f) + epsilon);
      Store(&y, i, normalized * Load(operands[1], f) + Load(operands[2], f));
    }
    return y;
  }
  KILN_ASSIGN_OR_RETURN(Literal first, evaluation.Allocate(vector));
  KILN_ASSIGN_OR_RETURN(Literal second, evaluation.Allocate(vector));
  std::vector<Wide> a(features, 0), b(features, 0);
  if (opcode == Opcode::kBatchNormTraining) {
    // operand, scale, offset -> output, mean, variance (of the whole batch, not the sample's)
    for (int64_t i = 0; i < total; ++i) a[i / inner % features] += Load(x, i);
    for (Wide& mean : a) mean /= count;
    for (int64_t i = 0; i < total; ++i) {
      const Wide centred = Load(x, i) - a[i / inner % features];
      b[i / inner % features] += centred * centred;
    }
    for (Wide& variance : b) variance /= count;
    for (int64_t i = 0; i < total; ++i) {
      const int64_t f = i / inner % features;
      const Wide normalized = (Load(x, i) - a[f]) / std::sqrt(b[f] + epsilon);
      Store(&y, i, normalized * Load(operands[1], f) + Load(operands[2], f));
    }
    for (int64_t f = 0; f < features; ++f) {
      Store(&first, f, a[f]);
      Store(&second, f, b[f]);
    }
  } else {
    // operand, scale, mean, variance, gradient of the output -> gradients of operand, scale, offset
    const Literal& gradient = operands[4];
    auto normalized = [&](int64_t i, int64_t f) {
      return (Load(x, i) - Load(operands[2], f)) / std::sqrt(Load(operands[3], f) + epsilon);
    };
    for (int64_t i = 0; i < total; ++i) {
      const int64_t f = i / inner % features;
      a[f] += Load(gradient, i) * normalized(i, f);
      b[f] += Load(gradient, i);
    }
    for (int64_t i = 0; i < total; ++i) {
      const int64_t f = i / inner % features;
      const Wide factor = Load(operands[1], f) / std::sqrt(Load(operands[3], f) + epsilon);
      Store(&y, i, factor * (Load(gradient, i) - b[f] / count - normalized(i, f) * a[f] / count));
    }
    for (int64_t f = 0; f < features; ++f) {
      Store(&first, f, a[f]);
      Store(&second, f, b[f]);
    }
  }
  return Literal::Tuple({std::move(y), std::move(first), std::move(second)});
}

}  // namespace kiln::hlo::evaluator
