// Type conversions.
#include <limits>

#include "src/hlo/float_range.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

// convert(convert(x)): the first one loses nothing, or both only cut integers. Integers wrap to others, reals do not.
Instruction* ConvertChain(const Match& match, Builder& builder) {
  const PrimitiveType from = match['x']->shape().element_type();
  const PrimitiveType through = match.root()->operand(0)->shape().element_type();
  const PrimitiveType to = match.root()->shape().element_type();
  const bool cuts = hlo::IsIntegral(from) && hlo::IsIntegral(through) && hlo::IsIntegral(to) &&
                    hlo::BitWidth(to) <= hlo::BitWidth(through);
  const bool saturates = hlo::IsIntegral(from) && hlo::IsFloating(through) && hlo::IsIntegral(to);
  if ((!IsLossless(from, through) || (saturates && !IsLossless(from, to))) && !cuts) return nullptr;
  return builder.Convert(match['x'], to);
}

// Whether op gives of numbers of a narrower type, widened without loss, such a number.
bool KeepsType(const Instruction& op) {
  switch (op.opcode()) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kSelect:
      return true;
    case Opcode::kAbs:
    case Opcode::kNegate:
      return hlo::IsFloating(op.shape().element_type());
    default:
      return false;
  }
}

// Whether of integers only the lower digits go into the lower digits of the result.
bool KeepsDigits(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kMultiply:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kOr:
    case Opcode::kSelect:
    case Opcode::kSubtract:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

// Of what was widened and is cut again: as wide as it came.
Instruction* NarrowArithmetic(const Match& match, Builder& builder) {
  const Instruction& t = *match['t'];
  const PrimitiveType type = match.root()->shape().element_type(), wide = t.shape().element_type();
  const bool keeps_digits = KeepsDigits(t.opcode()) && hlo::IsIntegral(type) && hlo::IsIntegral(wide) &&
                            hlo::BitWidth(type) < hlo::BitWidth(wide);
  const bool keeps_type = KeepsType(t) && IsLossless(type, wide) && hlo::ClassOf(type) == hlo::ClassOf(wide);
  if (!keeps_digits && !keeps_type) return nullptr;
  std::vector<std::optional<Literal>> constants;
  bool any = false;
  for (int64_t i = 0; i < t.operand_count(); ++i) {
    const Instruction& operand = *t.operand(i);
    constants.push_back(std::nullopt);
    if (t.opcode() == Opcode::kSelect && i == 0) continue;
    if (operand.opcode() == Opcode::kConvert && operand.operand(0)->shape().element_type() == type) {
      any = true;
      continue;
    }
    const std::optional<Literal> value = SplatValue(operand);
    if (!value) return nullptr;
    const Shape scalar = Shape::Scalar(type);
    constants[i] = hlo::IsIntegral(type) ? hlo::LiteralOf(scalar, hlo::ElementAsInt64(*value, 0))
                                         : hlo::LiteralOf(scalar, hlo::ElementAsDouble(*value, 0));
    if (!keeps_digits && hlo::ElementAsDouble(*constants[i], 0) != hlo::ElementAsDouble(*value, 0)) return nullptr;
  }
  if (!any) return nullptr;
  std::vector<Instruction*> operands(t.operands().begin(), t.operands().end());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (t.opcode() == Opcode::kSelect && i == 0) continue;
    operands[i] = constants[i] ? builder.Splat(operands[i]->shape(), *constants[i]) : operands[i]->operand(0);
  }
  return builder.Add(t.opcode(), match.root()->shape(), std::move(operands), t.attributes());
}

// The same of a sum.
Instruction* NarrowSum(const Match& match, Builder& builder) {
  const PrimitiveType type = match.root()->shape().element_type();
  const PrimitiveType wide = match['t']->shape().element_type(), from = match['x']->shape().element_type();
  if (!hlo::IsIntegral(type) || !hlo::IsIntegral(wide) || hlo::BitWidth(type) >= hlo::BitWidth(wide) ||
      !(hlo::IsIntegral(from) || from == PrimitiveType::kPred) || hlo::BitWidth(from) > hlo::BitWidth(type)) {
    return nullptr;
  }
  return builder.Reduce(builder.Convert(match['x'], type), builder.Scalar(type, 0), match['t']->dimensions(),
                        Opcode::kAdd);
}

// What was only moved on the way is moved as it was.
Instruction* ConvertBack(const Match& match, Builder& builder) {
  const Instruction& moved = *match['x'];
  const PrimitiveType type = match.root()->shape().element_type();
  int64_t count = moved.operand_count();  // of the operands that are moved
  switch (moved.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kConcatenate:
      break;
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      count = 1;
      break;
    default:
      return nullptr;
  }
  if (moved.users().size() > 1 || !IsLossless(type, moved.shape().element_type())) return nullptr;
  std::vector<Instruction*> operands(moved.operands().begin(), moved.operands().end());
  for (int64_t i = 0; i < count; ++i) {
    if (operands[i]->opcode() != Opcode::kConvert) return nullptr;
    operands[i] = operands[i]->operand(0);
    if (operands[i]->shape().element_type() != type) return nullptr;
  }
  return builder.Add(moved.opcode(), match.root()->shape(), std::move(operands), moved.attributes());
}

Instruction* BitcastConvertChain(const Match& match, Builder& builder) {
  const Shape& to = match.root()->shape();
  if (!Shape::SameDimensions(match['x']->shape(), to)) return nullptr;
  if (match['x']->shape().element_type() == to.element_type()) return match['x'];
  return builder.Add(Opcode::kBitcastConvert, to, {match['x']});
}

bool HasNoMoreDigits(const Match& match) {
  const auto& precision = match.root()->Get<hlo::ReducePrecisionAttributes>();
  const Instruction& x = *match['x'];
  const PrimitiveType type = x.shape().element_type();
  const bool was_narrower = x.opcode() == Opcode::kConvert && IsLossless(x.operand(0)->shape().element_type(), type);
  const std::optional<hlo::FloatRange> range =
      hlo::FloatRangeOf(was_narrower ? x.operand(0)->shape().element_type() : type);
  if (!range || precision.exponent_bits < 1 || precision.exponent_bits > 30) return false;
  const int64_t max_exponent = (int64_t{1} << (precision.exponent_bits - 1)) - 1;
  // What is subnormal with fewer exponents than the type's becomes zero.
  const bool flushes = max_exponent < hlo::FloatRangeOf(type)->max_exponent && 1 - max_exponent > range->min_exponent;
  return !flushes && max_exponent >= range->max_exponent && precision.mantissa_bits >= range->mantissa_bits;
}

// Every number counted to is one of the new type.
Instruction* ConvertIota(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  const Instruction& iota = *match['t'];
  const int64_t count = shape.dimensions(iota.dimensions()[0]);
  const std::optional<hlo::FloatRange> range = hlo::FloatRangeOf(shape.element_type());
  const bool fits = hlo::IsIntegral(shape.element_type()) ? hlo::BitWidth(shape.element_type()) >= 32
                                                          : range && hlo::BitWidth(shape.element_type()) >= 16 &&
                                                                count <= int64_t{1} << range->mantissa_bits;
  const PrimitiveType from = iota.shape().element_type();
  const std::optional<hlo::FloatRange> counted = hlo::FloatRangeOf(from);
  const bool is_exact = hlo::IsIntegral(from)
                            ? hlo::BitWidth(from) >= 32 && count <= std::numeric_limits<int32_t>::max()
                            : counted && hlo::BitWidth(from) >= 16 && count <= int64_t{1} << counted->mantissa_bits;
  if (!fits || !is_exact) return nullptr;
  return builder.Add(Opcode::kIota, Shape(shape.element_type(), shape.dimensions()), {}, iota.attributes());
}

bool IsCoarser(const Match& match) {
  const auto& outer = match.root()->Get<hlo::ReducePrecisionAttributes>();
  const auto& inner = match['t']->Get<hlo::ReducePrecisionAttributes>();
  // What is cut coarser already stays as it is, if its exponents fit.
  return outer.exponent_bits >= inner.exponent_bits && outer.mantissa_bits >= inner.mantissa_bits;
}

// Rounded to the digits of bf16 before, exponents being those of f32.
Instruction* RoundOnce(const Match& match, Builder& builder) {
  const auto& precision = match['t']->Get<hlo::ReducePrecisionAttributes>();
  const PrimitiveType from = match['x']->shape().element_type(), to = match.root()->shape().element_type();
  if (from != PrimitiveType::kF32 || to != PrimitiveType::kBF16 || precision.exponent_bits != 8 ||
      precision.mantissa_bits != 7) {
    return nullptr;
  }
  return builder.Convert(match['x'], to);
}

// Digits that are cut off.
Instruction* ConvertOfMasked(const Match& match, Builder& builder) {
  const PrimitiveType from = match['x']->shape().element_type(), to = match.root()->shape().element_type();
  if (!hlo::IsIntegral(from) || !hlo::IsIntegral(to) || hlo::BitWidth(to) >= hlo::BitWidth(from)) return nullptr;
  const uint64_t kept = (uint64_t{1} << hlo::BitWidth(to)) - 1;
  const uint64_t c = static_cast<uint64_t>(hlo::ElementAsInt64(*SplatValue(*match['c']), 0)) & kept;
  return c == (match['t']->opcode() == Opcode::kAnd ? kept : 0) ? builder.Convert(match['x'], to) : nullptr;
}

// What bits of a float are all but its sign, or its sign alone.
Instruction* SignOfBits(const Match& match, Builder& builder) {
  const Shape &shape = match.root()->shape(), &bits = match['t']->shape();
  Instruction* x = match['x'];
  if (x->shape() != shape || !hlo::IsFloating(shape.element_type()) || hlo::BitWidth(shape.element_type()) < 16 ||
      !Shape::SameDimensions(shape, bits)) {
    return nullptr;
  }
  const uint64_t sign = uint64_t{1} << (hlo::BitWidth(bits.element_type()) - 1);
  const uint64_t c = static_cast<uint64_t>(hlo::ElementAsInt64(*SplatValue(*match['c']), 0)) & (2 * sign - 1);
  const bool is_and = match['t']->opcode() == Opcode::kAnd;
  if (c != (is_and ? sign - 1 : sign)) return nullptr;
  if (match['t']->opcode() != Opcode::kXor) x = builder.Unary(Opcode::kAbs, x);
  return is_and ? x : builder.Unary(Opcode::kNegate, x);
}

// "x" applies where the types are equal: a replacement must have the shape of what it replaces.
constexpr Rule kConvertRules[] = {
    {"convert(x)", "x"},
    {"convert(convert(x))", "convert(x), where nothing is lost between", ConvertChain},
    {"convert(t:elementwise'(...))", "t(x, y), of what was widened and is cut again", NarrowArithmetic},
    {"convert(t:reduce.add'(convert(x), 0))", "reduce(convert(x), 0), where digits above are cut off", NarrowSum},
    {"convert(x)", "x moved before its conversion, where nothing is lost by it", ConvertBack},
    {"convert(t:iota())", "iota(), where its numbers fit", ConvertIota},
    {"convert(t:reduce-precision(x))", "convert(x), to bf16", RoundOnce},
    {"convert(t:and(x, c))", "convert(x), where c covers all that stays", ConvertOfMasked},
    {"convert(t:or(x, c))", "convert(x), where nothing of c stays", ConvertOfMasked},
    {"convert(t:xor(x, c))", "convert(x), where nothing of c stays", ConvertOfMasked},
    {"bitcast-convert(t:and(bitcast-convert(x), c))", "abs(x), where c is all but the sign", SignOfBits},
    {"bitcast-convert(t:or(bitcast-convert(x), c))", "negate(abs(x)), where c is the sign", SignOfBits},
    {"bitcast-convert(t:xor(bitcast-convert(x), c))", "negate(x), where c is the sign", SignOfBits},
    {"bitcast-convert(x)", "x"},
    {"bitcast-convert(bitcast-convert(x))", "bitcast-convert(x)", BitcastConvertChain},
    {"reduce-precision(x)", "x", Guard{"x has no more digits", HasNoMoreDigits}},
    {"reduce-precision(t:reduce-precision(x))", "t", Guard{"t is the coarser one", IsCoarser}},
};

}  // namespace

absl::Span<const Rule> ConvertRules() { return kConvertRules; }

}  // namespace kiln::passes::simplify
