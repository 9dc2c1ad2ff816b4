#include "src/passes/batch_norm_expander.h"

#include <algorithm>
#include <vector>

#include "src/hlo/builder.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

// One batch norm: x of any rank, statistics along its feature dimension.
class Expansion {
 public:
  explicit Expansion(Instruction* root)
      : root_(root),
        builder_(root->parent(), root),
        feature_(root->Get<hlo::BatchNormAttributes>().feature_index),
        epsilon_(root->Get<hlo::BatchNormAttributes>().epsilon),
        result_type_(root->operand(0)->shape().element_type()),
        type_(hlo::BitWidth(result_type_) < 32 ? PrimitiveType::kF32 : result_type_) {
    const hlo::Shape& shape = root->operand(0)->shape();
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (i != feature_) others_.push_back(i);
    }
    count_ = static_cast<double>(shape.element_count()) /
             static_cast<double>(std::max<int64_t>(1, shape.dimensions(feature_)));
    x_ = Wide(root->operand(0));
  }

  // (x - mean) * rsqrt(var + eps) * scale + offset
  Instruction* Inference() {
    return Narrow(
        Normalize(Wide(root_->operand(1)), Wide(root_->operand(2)), Wide(root_->operand(3)), Wide(root_->operand(4))));
  }

  Instruction* Training() {
    Instruction* mean = Mean(x_);
    Instruction* distance = builder_.Binary(Opcode::kSubtract, x_, Spread(mean));
    Instruction* variance = Mean(builder_.Binary(Opcode::kMultiply, distance, distance));
    Instruction* y = Normalize(Wide(root_->operand(1)), Wide(root_->operand(2)), mean, variance);
    return builder_.Tuple({Narrow(y), Narrow(mean), Narrow(variance)});
  }

  // With r = rsqrt(var + eps), h = (x - mean) * r and g the gradient of the result:
  //   offset: sum(g)   scale: sum(g * h)   x: scale * r * (g - mean(g) - h * mean(g * h))
  Instruction* Gradient() {
    Instruction* scale = Wide(root_->operand(1));
    Instruction* gradient = Wide(root_->operand(4));
    Instruction* r = InverseDeviation(Wide(root_->operand(3)));
    Instruction* distance = builder_.Binary(Opcode::kSubtract, x_, Spread(Wide(root_->operand(2))));
    Instruction* h = builder_.Binary(Opcode::kMultiply, distance, Spread(r));
    Instruction* grad_offset = Sum(gradient);
    Instruction* grad_scale = Sum(builder_.Binary(Opcode::kMultiply, gradient, h));
    Instruction* slope = builder_.Binary(Opcode::kMultiply, h, Spread(OverCount(grad_scale)));
    Instruction* centered = builder_.Binary(Opcode::kSubtract, gradient, Spread(OverCount(grad_offset)));
    Instruction* inner = builder_.Binary(Opcode::kSubtract, centered, slope);
    Instruction* factor = builder_.Binary(Opcode::kMultiply, scale, r);
    Instruction* grad_x = builder_.Binary(Opcode::kMultiply, Spread(factor), inner);
    return builder_.Tuple({Narrow(grad_x), Narrow(grad_scale), Narrow(grad_offset)});
  }

 private:
  Instruction* Wide(Instruction* value) { return builder_.Convert(value, type_); }
  Instruction* Narrow(Instruction* value) { return builder_.Convert(value, result_type_); }
  Instruction* Spread(Instruction* per_feature) {
    return builder_.Broadcast(per_feature, root_->operand(0)->shape().dimensions(), {feature_});
  }
  Instruction* Sum(Instruction* value) {
    return builder_.Reduce(value, builder_.Scalar(type_, 0), others_, Opcode::kAdd);
  }
  Instruction* OverCount(Instruction* sum) {
    return builder_.Binary(Opcode::kDivide, sum, builder_.Splat(sum->shape(), count_));
  }
  Instruction* Mean(Instruction* value) { return OverCount(Sum(value)); }
  Instruction* InverseDeviation(Instruction* variance) {
    return builder_.Unary(Opcode::kRsqrt,
                          builder_.Binary(Opcode::kAdd, variance, builder_.Splat(variance->shape(), epsilon_)));
  }
  Instruction* Normalize(Instruction* scale, Instruction* offset, Instruction* mean, Instruction* variance) {
    Instruction* distance = builder_.Binary(Opcode::kSubtract, x_, Spread(mean));
    Instruction* factor = builder_.Binary(Opcode::kMultiply, InverseDeviation(variance), scale);
    Instruction* scaled = builder_.Binary(Opcode::kMultiply, distance, Spread(factor));
    return builder_.Binary(Opcode::kAdd, scaled, Spread(offset));
  }

  Instruction* root_;
  hlo::Builder builder_;
  int64_t feature_;
  double epsilon_;
  PrimitiveType result_type_, type_;
  hlo::DimensionVector others_;  // all dimensions but the feature's
  double count_ = 1;             // elements per feature
  Instruction* x_ = nullptr;
};

}  // namespace

absl::StatusOr<bool> BatchNormExpander::Run(hlo::Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    bool expanded = false;
    for (Instruction* instruction : computation->instructions()) {
      Instruction* replacement = nullptr;
      if (instruction->opcode() == Opcode::kBatchNormTraining) replacement = Expansion(instruction).Training();
      if (instruction->opcode() == Opcode::kBatchNormInference) replacement = Expansion(instruction).Inference();
      if (instruction->opcode() == Opcode::kBatchNormGrad) replacement = Expansion(instruction).Gradient();
      if (replacement == nullptr) continue;
      instruction->ReplaceAllUsesWith(replacement);
      expanded = true;
    }
    if (expanded) computation->RemoveDeadInstructions();
    changed |= expanded;
  }
  return changed;
}

}  // namespace kiln::passes
