#include "src/hlo/builder.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/hlo/module.h"

namespace kiln::hlo {

Instruction* Builder::Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                          absl::Span<Computation* const> called) {
  Instruction* instruction =
      computation_->Add(opcode, std::move(shape), std::move(operands), std::move(attributes), called);
  if (origin_ != nullptr) instruction->CopyMetadataFrom(*origin_);
  added_.push_back(instruction);
  return instruction;
}

Instruction* Builder::Constant(Literal literal) {
  Shape shape = literal.shape();
  return Add(Opcode::kConstant, std::move(shape), {}, ConstantAttributes{std::move(literal)});
}

Instruction* Builder::Scalar(PrimitiveType type, double value) {
  return Constant(LiteralOf(Shape::Scalar(type), value));
}

Instruction* Builder::Splat(const Shape& shape, double value) {
  return BroadcastScalar(Scalar(shape.element_type(), value), shape.dimensions());
}

Instruction* Builder::Splat(const Shape& shape, Literal scalar) {
  return BroadcastScalar(Constant(std::move(scalar)), shape.dimensions());
}

Instruction* Builder::Unary(Opcode opcode, Instruction* operand) { return Add(opcode, operand->shape(), {operand}); }

Instruction* Builder::Binary(Opcode opcode, Instruction* a, Instruction* b) { return Add(opcode, a->shape(), {a, b}); }

Instruction* Builder::Compare(ComparisonDirection direction, Instruction* a, Instruction* b) {
  return Add(Opcode::kCompare, ChangeElementType(a->shape(), PrimitiveType::kPred), {a, b},
             CompareAttributes{direction});
}

Instruction* Builder::Select(Instruction* predicate, Instruction* on_true, Instruction* on_false) {
  return Add(Opcode::kSelect, on_true->shape(), {predicate, on_true, on_false});
}

Instruction* Builder::Convert(Instruction* operand, PrimitiveType type) {
  if (operand->shape().element_type() == type) return operand;
  return Add(Opcode::kConvert, ChangeElementType(operand->shape(), type), {operand});
}

Instruction* Builder::Reshape(Instruction* operand, absl::Span<const int64_t> dimensions) {
  if (absl::MakeConstSpan(operand->shape().dimensions()) == dimensions) return operand;
  return Add(Opcode::kReshape, Shape(operand->shape().element_type(), dimensions), {operand});
}

Instruction* Builder::Transpose(Instruction* operand, absl::Span<const int64_t> permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return operand;
  DimensionVector dimensions;
  for (int64_t from : permutation) dimensions.push_back(operand->shape().dimensions(from));
  return Add(Opcode::kTranspose, Shape(operand->shape().element_type(), dimensions), {operand},
             DimensionsAttributes{DimensionVector(permutation.begin(), permutation.end())});
}

Instruction* Builder::Broadcast(Instruction* operand, absl::Span<const int64_t> dimensions,
                                absl::Span<const int64_t> map) {
  if (map.size() == dimensions.size() && std::is_sorted(map.begin(), map.end())) return operand;
  return Add(Opcode::kBroadcast, Shape(operand->shape().element_type(), dimensions), {operand},
             DimensionsAttributes{DimensionVector(map.begin(), map.end())});
}

Instruction* Builder::Slice(Instruction* operand, const SliceAttributes& slice) {
  DimensionVector dimensions;
  bool whole = true;
  for (size_t i = 0; i < slice.start.size(); ++i) {
    dimensions.push_back((slice.limit[i] - slice.start[i] + slice.stride[i] - 1) / slice.stride[i]);
    whole &= dimensions[i] == operand->shape().dimensions(i) && slice.start[i] == 0;
  }
  if (whole) return operand;
  return Add(Opcode::kSlice, Shape(operand->shape().element_type(), dimensions), {operand}, slice);
}

Instruction* Builder::Concatenate(absl::Span<Instruction* const> operands, int64_t dimension) {
  if (operands.size() == 1) return operands[0];
  Shape shape(operands[0]->shape().element_type(), operands[0]->shape().dimensions());
  int64_t size = 0;
  for (const Instruction* operand : operands) size += operand->shape().dimensions(dimension);
  shape.set_dimensions(dimension, size);
  return Add(Opcode::kConcatenate, std::move(shape), {operands.begin(), operands.end()},
             DimensionsAttributes{{dimension}});
}

Instruction* Builder::Reduce(Instruction* operand, Instruction* init, absl::Span<const int64_t> dimensions,
                             Opcode opcode) {
  return Reduce(operand, init, dimensions,
                AddCombiner(computation_->parent(), opcode, operand->shape().element_type()));
}

Instruction* Builder::Reduce(std::vector<Instruction*> operands, absl::Span<const int64_t> dimensions,
                             Computation* combiner) {
  DimensionVector kept;
  for (int64_t i = 0; i < operands[0]->shape().rank(); ++i) {
    if (std::find(dimensions.begin(), dimensions.end(), i) == dimensions.end()) {
      kept.push_back(operands[0]->shape().dimensions(i));
    }
  }
  std::vector<Shape> shapes;
  for (size_t i = 0; i < operands.size() / 2; ++i) shapes.emplace_back(operands[i]->shape().element_type(), kept);
  return Add(Opcode::kReduce, shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes), std::move(operands),
             DimensionsAttributes{DimensionVector(dimensions.begin(), dimensions.end())}, {combiner});
}

Instruction* Builder::Inline(const Computation& callee, absl::Span<Instruction* const> arguments) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  copies.reserve(callee.instruction_count());
  for (const Instruction* instruction : callee.PostOrder()) {
    if (instruction->IsParameter()) {
      copies[instruction] = arguments[instruction->parameter_number()];
      continue;
    }
    std::vector<Instruction*> operands;
    operands.reserve(instruction->operand_count());
    for (const Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
    Instruction* copy = computation_->AddClone(*instruction, std::move(operands));
    for (const Instruction* before : instruction->control_predecessors()) {
      copy->AddControlPredecessor(copies.at(before));
    }
    copies[instruction] = copy;
    added_.push_back(copy);
  }
  return copies.at(callee.root());
}

Instruction* Builder::Tuple(std::vector<Instruction*> elements) {
  std::vector<Shape> shapes;
  for (const Instruction* element : elements) shapes.push_back(element->shape());
  return Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), std::move(elements));
}

Instruction* Builder::GetTupleElement(Instruction* tuple, int64_t index) {
  return Add(Opcode::kGetTupleElement, tuple->shape().tuple_shapes(index), {tuple}, TupleIndexAttributes{index});
}

std::vector<Instruction*> Builder::Elements(Instruction* tuple) {
  if (tuple->opcode() == Opcode::kTuple) return {tuple->operands().begin(), tuple->operands().end()};
  std::vector<Instruction*> elements;
  for (size_t i = 0; i < tuple->shape().tuple_shapes().size(); ++i) {
    elements.push_back(GetTupleElement(tuple, static_cast<int64_t>(i)));
  }
  return elements;
}

Computation* AddCombiner(Module* module, Opcode opcode, PrimitiveType type) {
  Computation* combiner = module->AddComputation(absl::StrCat(OpcodeName(opcode), "_", PrimitiveTypeName(type)));
  const Shape scalar = Shape::Scalar(type);
  Instruction* a = combiner->AddParameter(0, scalar);
  Instruction* b = combiner->AddParameter(1, scalar);
  combiner->set_root(combiner->Add(opcode, scalar, {a, b}));
  return combiner;
}

}  // namespace kiln::hlo
