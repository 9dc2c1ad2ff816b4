#include "src/passes/rng_expander.h"

#include <cmath>
#include <numbers>

#include "src/base/status.h"
#include "src/passes/counter_random.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// A real in [0, 1) of 53 random bits.
ArrayValue UnitInterval(const ArrayValue& bits) {
  const ArrayValue real = (bits >> 11).Convert(PrimitiveType::kF64);
  return real * real.Number(std::ldexp(1.0, -53));
}

class RngExpansion {
 public:
  explicit RngExpansion(Instruction* root)
      : builder_(root->parent(), root),
        shape_(root->shape().element_type(), root->shape().dimensions()),
        a_(&builder_, root->operand(0)),
        b_(&builder_, root->operand(1)) {
    const int64_t count = shape_.element_count();
    const ArrayValue state(&builder_, builder_.Add(Opcode::kRngGetAndUpdateState, Shape(PrimitiveType::kU64, {1}), {},
                                                   hlo::RngAttributes{.delta = count}));
    const ArrayValue counter = state.Element(0) + Iota(&builder_, PrimitiveType::kU64, {count}, 0);
    const ArrayValue zero(&builder_, builder_.Scalar(PrimitiveType::kU64, 0));
    bits_ = PhiloxBits(zero, counter, counter.Number(int64_t{0}));
  }

  Instruction* Uniform() { return Finish(hlo::IsFloating(shape_.element_type()) ? UniformReal() : UniformInteger()); }

  Instruction* Normal() {
    const ArrayValue u = UnitInterval(bits_[0]), v = UnitInterval(bits_[1]);
    const ArrayValue logarithm = (u.Number(1.0) - u).Unary(Opcode::kLog);
    const ArrayValue radius = (logarithm * u.Number(-2.0)).Unary(Opcode::kSqrt);
    const ArrayValue z = radius * (v * v.Number(2 * std::numbers::pi)).Unary(Opcode::kCos);
    return Finish((Wide(a_) + Wide(b_) * z).Convert(shape_.element_type()));
  }

 private:
  static ArrayValue Wide(const ArrayValue& value) { return value.Convert(PrimitiveType::kF64); }

  ArrayValue UniformReal() {
    const ArrayValue real = Wide(a_) + (Wide(b_) - Wide(a_)) * UnitInterval(bits_[0]);
    const ArrayValue rounded = real.Convert(shape_.element_type());
    // Rounding must not reach the open end.
    const ArrayValue reached = (rounded >= b_) & (b_ > a_).Broadcast(rounded.shape().dimensions(), {});
    return Select(reached, a_, rounded);
  }

  ArrayValue UniformInteger() {
    const PrimitiveType type = shape_.element_type();
    ArrayValue range = (b_ - a_).Convert(PrimitiveType::kU64);
    // A difference of signed values is that of their bits.
    if (hlo::BitWidth(type) < 64) range = range & range.Number((int64_t{1} << hlo::BitWidth(type)) - 1);
    const ArrayValue empty = range == range.Number(int64_t{0});
    const ArrayValue divisor = Select(empty, range.Number(int64_t{1}), range);
    return (bits_[0].Binary(Opcode::kRemainder, divisor)).Convert(type) + a_;
  }

  Instruction* Finish(const ArrayValue& flat) { return flat.Reshape(shape_.dimensions()).instruction(); }

  Builder builder_;
  const Shape shape_;
  ArrayValue a_, b_;
  std::array<ArrayValue, 2> bits_;
};

bool IsZeroConstant(const Instruction& value) { return value.IsConstant() && hlo::IsSplatOf(value.literal(), 0); }

// From a number to that number, or around a mean without deviation.
bool IsSpreadAlike(const Instruction& rng, bool normal) {
  const Instruction &a = *rng.operand(0), &b = *rng.operand(1);
  if (normal) return IsZeroConstant(b);
  return &a == &b || (a.IsConstant() && b.IsConstant() && a.literal() == b.literal());
}

absl::StatusOr<Instruction*> ExpandRngOp(Instruction* instruction) {
  const PrimitiveType type = instruction->shape().element_type();
  const bool normal = instruction->Get<hlo::RngAttributes>().distribution == hlo::RngDistribution::kNormal;
  if (hlo::IsComplex(type) || type == PrimitiveType::kPred || (normal && !hlo::IsFloating(type))) {
    return Unimplemented(instruction->Describe(), ": random numbers of ", hlo::PrimitiveTypeName(type));
  }
  if (IsSpreadAlike(*instruction, normal)) {
    Builder builder(instruction->parent(), instruction);
    return builder.BroadcastScalar(instruction->operand(0), instruction->shape().dimensions());
  }
  RngExpansion expansion(instruction);
  return normal ? expansion.Normal() : expansion.Uniform();
}

}  // namespace

absl::StatusOr<bool> ExpandRng(Module* module) { return ReplaceOps(module, {Opcode::kRng}, ExpandRngOp); }

}  // namespace kiln::passes
