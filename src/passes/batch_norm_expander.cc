#include "src/passes/batch_norm_expander.h"

#include <algorithm>
#include <vector>

#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// One batch norm: x of any rank, statistics along its feature dimension.
class BatchNormExpansion {
 public:
  explicit BatchNormExpansion(Instruction* root)
      : root_(root),
        builder_(root->parent(), root),
        feature_(root->Get<hlo::BatchNormAttributes>().feature_index),
        epsilon_(root->Get<hlo::BatchNormAttributes>().epsilon),
        type_(root->operand(0)->shape().element_type()) {
    const Shape& shape = root->operand(0)->shape();
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (i != feature_) others_.push_back(i);
    }
    count_ = static_cast<double>(shape.element_count()) /
             static_cast<double>(std::max<int64_t>(1, shape.dimensions(feature_)));
    x_ = Wide(0);
  }

  Instruction* Inference() { return Narrow(Normalize(Wide(1), Wide(2), Wide(3), Wide(4))); }

  Instruction* Training() {
    const ArrayValue mean = Mean(x_), distance = x_ - Spread(mean), variance = Mean(distance * distance);
    const ArrayValue y = Normalize(Wide(1), Wide(2), mean, variance);
    return builder_.Tuple({Narrow(y), Narrow(mean), Narrow(variance)});
  }

  // With r = rsqrt(var + eps), h = (x - mean) * r and g the gradient of the result:
  //   offset: sum(g)   scale: sum(g * h)   x: scale * r * (g - mean(g) - h * mean(g * h))
  Instruction* Gradient() {
    const ArrayValue scale = Wide(1), g = Wide(4), r = InverseDeviation(Wide(3)), distance = x_ - Spread(Wide(2)),
                     h = distance * Spread(r), grad_offset = Sum(g), grad_scale = Sum(g * h),
                     slope = h * Spread(OverCount(grad_scale)), centered = g - Spread(OverCount(grad_offset)),
                     inner = centered - slope, grad_x = Spread(scale * r) * inner;
    return builder_.Tuple({Narrow(grad_x), Narrow(grad_scale), Narrow(grad_offset)});
  }

 private:
  // Narrow types are computed in f32.
  ArrayValue Wide(int64_t operand) {
    return ArrayValue(&builder_, root_->operand(operand))
        .Convert(hlo::BitWidth(type_) < 32 ? PrimitiveType::kF32 : type_);
  }
  Instruction* Narrow(const ArrayValue& value) { return value.Convert(type_).instruction(); }
  ArrayValue Spread(const ArrayValue& per_feature) {
    return per_feature.Broadcast(root_->operand(0)->shape().dimensions(), {feature_});
  }
  ArrayValue Sum(const ArrayValue& value) {
    return {&builder_, builder_.Reduce(value.instruction(), builder_.Scalar(value.type(), 0), others_, Opcode::kAdd)};
  }
  ArrayValue OverCount(const ArrayValue& sum) { return sum / sum.Number(count_); }
  ArrayValue Mean(const ArrayValue& value) { return OverCount(Sum(value)); }
  ArrayValue InverseDeviation(const ArrayValue& variance) {
    return (variance + variance.Number(epsilon_)).Unary(Opcode::kRsqrt);
  }
  // (x - mean) * rsqrt(var + eps) * scale + offset
  ArrayValue Normalize(const ArrayValue& scale, const ArrayValue& offset, const ArrayValue& mean,
                       const ArrayValue& variance) {
    const ArrayValue distance = x_ - Spread(mean), factor = InverseDeviation(variance) * scale;
    return distance * Spread(factor) + Spread(offset);
  }

  Instruction* root_;
  Builder builder_;
  int64_t feature_;
  double epsilon_;
  PrimitiveType type_;
  DimensionVector others_;  // all dimensions but the feature's
  double count_ = 1;        // elements per feature
  ArrayValue x_;
};

Instruction* ExpandBatchNorm(Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kBatchNormTraining:
      return BatchNormExpansion(instruction).Training();
    case Opcode::kBatchNormInference:
      return BatchNormExpansion(instruction).Inference();
    default:
      return BatchNormExpansion(instruction).Gradient();
  }
}

}  // namespace

absl::StatusOr<bool> ExpandBatchNorms(Module* module) {
  return ReplaceOps(module, {Opcode::kBatchNormTraining, Opcode::kBatchNormInference, Opcode::kBatchNormGrad},
                    ExpandBatchNorm);
}

}  // namespace kiln::passes
