#include "src/passes/array_value.h"

#include <utility>

namespace kiln::passes {
namespace {

// `value` over `dimensions`, if it is a scalar.
ArrayValue SpreadTo(const ArrayValue& value, const DimensionVector& dimensions) {
  return value.shape().rank() == 0 && !dimensions.empty() ? value.Broadcast(dimensions, {}) : value;
}

std::vector<Instruction*> OperandsWithStarts(std::vector<Instruction*> operands, absl::Span<const ArrayValue> starts) {
  for (const ArrayValue& start : starts) operands.push_back(start.instruction());
  return operands;
}

}  // namespace

PrimitiveType UnsignedOf(int bits) {
  return bits == 4    ? PrimitiveType::kU4
         : bits == 8  ? PrimitiveType::kU8
         : bits == 16 ? PrimitiveType::kU16
         : bits == 32 ? PrimitiveType::kU32
                      : PrimitiveType::kU64;
}
PrimitiveType SignedOf(int bits) {
  return bits == 8    ? PrimitiveType::kS8
         : bits == 16 ? PrimitiveType::kS16
         : bits == 32 ? PrimitiveType::kS32
                      : PrimitiveType::kS64;
}

ArrayValue ArrayValue::Number(double value) const { return {builder_, builder_->Splat(shape(), value)}; }

ArrayValue ArrayValue::Number(int64_t value) const {
  return {builder_, builder_->Splat(shape(), LiteralOf(Shape::Scalar(type()), value))};
}

ArrayValue ArrayValue::Unary(Opcode opcode) const {
  const bool to_real = opcode == Opcode::kReal || opcode == Opcode::kImag;
  Shape result = to_real ? ChangeElementType(shape(), hlo::ComplexComponentType(type())) : shape();
  if (opcode == Opcode::kIsFinite) result.set_element_type(PrimitiveType::kPred);
  return {builder_, builder_->Add(opcode, std::move(result), {instruction_})};
}

ArrayValue ArrayValue::Binary(Opcode opcode, const ArrayValue& other) const {
  const ArrayValue a = SpreadTo(*this, other.shape().dimensions()), b = SpreadTo(other, shape().dimensions());
  return {builder_, builder_->Binary(opcode, a.instruction(), b.instruction())};
}

ArrayValue ArrayValue::Convert(PrimitiveType type) const { return {builder_, builder_->Convert(instruction_, type)}; }

ArrayValue ArrayValue::BitcastConvert(PrimitiveType to) const {
  if (to == type()) return *this;
  DimensionVector dimensions = shape().dimensions();
  if (hlo::BitWidth(to) > hlo::BitWidth(type())) dimensions.pop_back();
  if (hlo::BitWidth(to) < hlo::BitWidth(type())) dimensions.push_back(hlo::BitWidth(type()) / hlo::BitWidth(to));
  return {builder_, builder_->Add(Opcode::kBitcastConvert, Shape(to, dimensions), {instruction_})};
}

ArrayValue ArrayValue::Reshape(absl::Span<const int64_t> dimensions) const {
  return {builder_, builder_->Reshape(instruction_, dimensions)};
}

ArrayValue ArrayValue::Transpose(absl::Span<const int64_t> permutation) const {
  return {builder_, builder_->Transpose(instruction_, permutation)};
}

ArrayValue ArrayValue::Broadcast(absl::Span<const int64_t> dimensions, absl::Span<const int64_t> map) const {
  return {builder_, builder_->Broadcast(instruction_, dimensions, map)};
}

ArrayValue ArrayValue::Slice(int64_t dimension, int64_t start, int64_t limit) const {
  hlo::SliceAttributes slice;
  slice.start.resize(shape().rank(), 0);
  slice.limit = shape().dimensions();
  slice.stride.resize(shape().rank(), 1);
  slice.start[dimension] = start;
  slice.limit[dimension] = limit;
  return {builder_, builder_->Slice(instruction_, slice)};
}

ArrayValue ArrayValue::Element(int64_t index) const { return Slice(0, index, index + 1).Reshape({}); }

ArrayValue ArrayValue::PadHigh(absl::Span<const int64_t> dimensions, const ArrayValue& value) const {
  if (absl::MakeConstSpan(shape().dimensions()) == dimensions) return *this;
  hlo::PadAttributes pad;
  pad.low.resize(dimensions.size(), 0);
  pad.interior.resize(dimensions.size(), 0);
  for (size_t i = 0; i < dimensions.size(); ++i) pad.high.push_back(dimensions[i] - shape().dimensions(i));
  return {builder_,
          builder_->Add(Opcode::kPad, Shape(type(), dimensions), {instruction_, value.instruction()}, std::move(pad))};
}

ArrayValue ArrayValue::DynamicSlice(absl::Span<const ArrayValue> starts, absl::Span<const int64_t> sizes) const {
  return {builder_,
          builder_->Add(Opcode::kDynamicSlice, Shape(type(), sizes), OperandsWithStarts({instruction_}, starts),
                        hlo::DynamicSliceAttributes{DimensionVector(sizes.begin(), sizes.end())})};
}

ArrayValue ArrayValue::DynamicUpdate(const ArrayValue& update, absl::Span<const ArrayValue> starts) const {
  return {builder_, builder_->Add(Opcode::kDynamicUpdateSlice, shape(),
                                  OperandsWithStarts({instruction_, update.instruction()}, starts))};
}

ArrayValue operator+(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kAdd, b); }
ArrayValue operator-(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kSubtract, b); }
ArrayValue operator*(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kMultiply, b); }
ArrayValue operator/(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kDivide, b); }
ArrayValue operator|(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kOr, b); }
ArrayValue operator&(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kAnd, b); }
ArrayValue operator^(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kXor, b); }
ArrayValue operator<<(const ArrayValue& a, int64_t bits) { return a.Binary(Opcode::kShiftLeft, a.Number(bits)); }
ArrayValue operator>>(const ArrayValue& a, int64_t bits) {
  return a.Binary(Opcode::kShiftRightLogical, a.Number(bits));
}

ArrayValue Compare(ComparisonDirection direction, const ArrayValue& a, const ArrayValue& b) {
  const ArrayValue x = SpreadTo(a, b.shape().dimensions()), y = SpreadTo(b, a.shape().dimensions());
  return {a.builder(), a.builder()->Compare(direction, x.instruction(), y.instruction())};
}

ArrayValue Select(const ArrayValue& predicate, const ArrayValue& on_true, const ArrayValue& on_false) {
  DimensionVector dimensions;
  for (const ArrayValue* value : {&predicate, &on_true, &on_false}) {
    if (value->shape().rank() > 0) dimensions = value->shape().dimensions();
  }
  return {predicate.builder(), predicate.builder()->Select(SpreadTo(predicate, dimensions).instruction(),
                                                           SpreadTo(on_true, dimensions).instruction(),
                                                           SpreadTo(on_false, dimensions).instruction())};
}

ArrayValue Iota(Builder* builder, PrimitiveType type, absl::Span<const int64_t> dimensions, int64_t dimension) {
  return {builder, builder->Add(Opcode::kIota, Shape(type, dimensions), {}, hlo::DimensionsAttributes{{dimension}})};
}

ArrayValue Concatenate(absl::Span<const ArrayValue> values, int64_t dimension) {
  std::vector<Instruction*> operands;
  for (const ArrayValue& value : values) operands.push_back(value.instruction());
  return {values[0].builder(), values[0].builder()->Concatenate(operands, dimension)};
}

ArrayValue BatchedDot(const ArrayValue& a, const ArrayValue& b, int64_t batch_dimensions, int64_t lhs_dimension,
                      int64_t rhs_dimension) {
  hlo::DotAttributes attributes;
  DimensionVector dimensions;
  for (int64_t i = 0; i < batch_dimensions; ++i) {
    attributes.lhs_batch.push_back(i);
    attributes.rhs_batch.push_back(i);
    dimensions.push_back(a.shape().dimensions(i));
  }
  attributes.lhs_contracting = {lhs_dimension};
  attributes.rhs_contracting = {rhs_dimension};
  attributes.operand_precision = {hlo::Precision::kHighest, hlo::Precision::kHighest};
  for (int64_t i = batch_dimensions; i < a.shape().rank(); ++i) {
    if (i != lhs_dimension) dimensions.push_back(a.shape().dimensions(i));
  }
  for (int64_t i = batch_dimensions; i < b.shape().rank(); ++i) {
    if (i != rhs_dimension) dimensions.push_back(b.shape().dimensions(i));
  }
  return {a.builder(), a.builder()->Add(Opcode::kDot, Shape(a.type(), dimensions), {a.instruction(), b.instruction()},
                                        std::move(attributes))};
}

std::vector<ArrayValue> WhileLoop(
    const std::vector<ArrayValue>& initial,
    const std::function<ArrayValue(const std::vector<ArrayValue>& values)>& condition,
    const std::function<std::vector<ArrayValue>(const std::vector<ArrayValue>& values)>& body) {
  Builder* outer = initial[0].builder();
  Module* module = outer->computation()->parent();
  const Instruction* origin = initial[0].instruction();
  std::vector<Instruction*> start;
  for (const ArrayValue& value : initial) start.push_back(value.instruction());
  Instruction* state = outer->Tuple(start);
  auto elements = [&](Builder* builder, Instruction* tuple) {
    std::vector<ArrayValue> values;
    for (size_t k = 0; k < initial.size(); ++k) {
      values.emplace_back(builder, builder->GetTupleElement(tuple, static_cast<int64_t>(k)));
    }
    return values;
  };

  Computation* goes_on = module->AddComputation("loop_condition");
  Builder in_condition(goes_on, origin);
  goes_on->set_root(condition(elements(&in_condition, goes_on->AddParameter(0, state->shape()))).instruction());

  Computation* round = module->AddComputation("loop_body");
  Builder in_round(round, origin);
  std::vector<Instruction*> next;
  for (const ArrayValue& value : body(elements(&in_round, round->AddParameter(0, state->shape())))) {
    next.push_back(value.instruction());
  }
  round->set_root(in_round.Tuple(next));
  return elements(outer, outer->Add(Opcode::kWhile, state->shape(), {state}, {}, {round, goes_on}));
}

std::vector<ArrayValue> CountedLoop(
    const std::vector<ArrayValue>& initial, int64_t count,
    const std::function<std::vector<ArrayValue>(const ArrayValue& i, const std::vector<ArrayValue>& values)>& body) {
  Builder* builder = initial[0].builder();
  std::vector<ArrayValue> start = {{builder, builder->Scalar(PrimitiveType::kS32, 0)}};
  start.insert(start.end(), initial.begin(), initial.end());
  auto goes_on = [&](const std::vector<ArrayValue>& values) {
    return Compare(ComparisonDirection::kLt, values[0], values[0].Number(count));
  };
  auto round = [&](const std::vector<ArrayValue>& values) {
    const ArrayValue& i = values[0];
    std::vector<ArrayValue> next = body(i, {values.begin() + 1, values.end()});
    next.insert(next.begin(), i + i.Number(int64_t{1}));
    return next;
  };
  std::vector<ArrayValue> results = WhileLoop(start, goes_on, round);
  results.erase(results.begin());
  return results;
}

}  // namespace kiln::passes
