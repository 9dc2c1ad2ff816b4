#include "src/passes/dynamic_values.h"

#include <utility>

namespace kiln::passes {

Shape WithoutDynamicDimensions(const Shape& shape) {
  if (!HasDynamicDimensions(shape)) return shape;
  Shape result = shape;
  for (Shape& element : *result.mutable_tuple_shapes()) element = WithoutDynamicDimensions(element);
  for (int64_t i = 0; i < result.rank(); ++i) result.set_dynamic_dimension(i, false);
  return result;
}

bool HasDynamicDimensions(const Shape& shape) {
  return shape.has_dynamic_dimensions() || absl::c_any_of(shape.tuple_shapes(), HasDynamicDimensions);
}

const DynamicSizes& DynamicValues::Of(const Instruction* array) const {
  static const DynamicSizes* const kStatic = new DynamicSizes();
  const auto found = leaves_.find(array);
  return found == leaves_.end() ? *kStatic : found->second[0];
}

Instruction* DynamicValues::Of(const Instruction* array, int64_t dimension) const {
  const DynamicSizes& sizes = Of(array);
  return sizes.empty() ? nullptr : sizes[dimension];
}

std::vector<DynamicSizes> DynamicValues::Leaves(const Instruction* value) const {
  const auto found = leaves_.find(value);
  if (found != leaves_.end()) return found->second;
  return std::vector<DynamicSizes>(static_cast<size_t>(value->shape().leaf_count()));
}

void DynamicValues::SetLeaves(const Instruction* value, std::vector<DynamicSizes> leaves) {
  bool dynamic = false;
  for (DynamicSizes& sizes : leaves) {
    if (absl::c_all_of(sizes, [](const Instruction* size) { return size == nullptr; })) sizes.clear();
    dynamic |= !sizes.empty();
  }
  if (dynamic) leaves_[value] = std::move(leaves);
}

ArrayValue DynamicValues::Size(Builder& builder, const Instruction* array, int64_t dimension) const {
  Instruction* size = Of(array, dimension);
  return size != nullptr ? ArrayValue(&builder, size) : SizeConstant(builder, array->shape().dimensions(dimension));
}

Instruction* DynamicValues::Inside(Builder& builder, const Instruction* array,
                                   absl::Span<const int64_t> dimensions) const {
  Instruction* inside = nullptr;
  for (int64_t dimension : dimensions) {
    Instruction* size = Of(array, dimension);
    if (size == nullptr) continue;
    const ArrayValue index = Iota(&builder, PrimitiveType::kS32, array->shape().dimensions(), dimension);
    Instruction* here = (index < ArrayValue(&builder, size)).instruction();
    inside = inside == nullptr ? here : builder.Binary(Opcode::kAnd, inside, here);
  }
  return inside;
}

Instruction* DynamicValues::Mask(Builder& builder, Instruction* array, absl::Span<const int64_t> dimensions,
                                 Instruction* fill) const {
  Instruction* inside = Inside(builder, array, dimensions);
  if (inside == nullptr) return array;
  return builder.Select(inside, array, builder.BroadcastScalar(fill, array->shape().dimensions()));
}

ArrayValue SizeConstant(Builder& builder, int64_t size) {
  return ArrayValue(&builder, builder.Constant(hlo::LiteralOf(Shape::Scalar(PrimitiveType::kS32), size)));
}

ArrayValue Max(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kMaximum, b); }
ArrayValue Min(const ArrayValue& a, const ArrayValue& b) { return a.Binary(Opcode::kMinimum, b); }

}  // namespace kiln::passes
