#include "src/passes/layout_normalization.h"

#include <utility>
#include <vector>

#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

bool IsRowMajor(const Shape& shape) {
  return shape.IsTuple() ? absl::c_all_of(shape.tuple_shapes(), IsRowMajor)
                         : !shape.IsArray() || shape.HasDescendingLayout();
}

// Makes all leaves row-major; returns whether one was not.
bool MakeRowMajor(Shape* shape) {
  if (IsRowMajor(*shape)) return false;
  if (shape->IsTuple()) {
    for (Shape& element : *shape->mutable_tuple_shapes()) MakeRowMajor(&element);
  } else {
    shape->ResetLayout();
  }
  return true;
}

// Dimensions from the slowest in memory to the fastest.
DimensionVector MajorToMinor(const Shape& shape) {
  const auto& minor_to_major = shape.layout().minor_to_major;
  return DimensionVector(minor_to_major.rbegin(), minor_to_major.rend());
}

DimensionVector Inverse(const DimensionVector& permutation) {
  DimensionVector inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

// The row-major array whose elements lie in memory as those of `shape` do.
Shape PhysicalShape(const Shape& shape) {
  DimensionVector dimensions;
  for (int64_t dimension : MajorToMinor(shape)) dimensions.push_back(shape.dimensions(dimension));
  return Shape(shape.element_type(), dimensions);
}

// `value`, whose shape may have any layout, as a row-major value.
Instruction* ToRowMajor(Instruction* value, Builder& builder) {
  const Shape& shape = value->shape();
  if (IsRowMajor(shape)) return value;
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements = builder.Elements(value);
    for (Instruction*& element : elements) element = ToRowMajor(element, builder);
    return builder.Tuple(std::move(elements));
  }
  Instruction* physical = builder.Add(Opcode::kBitcast, PhysicalShape(shape), {value});
  return builder.Transpose(physical, Inverse(MajorToMinor(shape)));
}

// A row-major `value` as one of `shape`, which has the layout wanted.
Instruction* FromRowMajor(Instruction* value, const Shape& shape, Builder& builder) {
  if (IsRowMajor(shape)) return value;
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements = builder.Elements(value);
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = FromRowMajor(elements[i], shape.tuple_shapes(i), builder);
    }
    return builder.Tuple(std::move(elements));
  }
  return builder.Add(Opcode::kBitcast, shape, {builder.Transpose(value, MajorToMinor(shape))});
}

// A bitcast between any layouts, over a row-major operand: what it does to the logical elements.
Instruction* LogicalBitcast(Instruction* operand, const Shape& from, const Shape& to, Builder& builder) {
  Instruction* physical = builder.Transpose(operand, MajorToMinor(from));
  return builder.Transpose(builder.Reshape(physical, PhysicalShape(to).dimensions()), Inverse(MajorToMinor(to)));
}

bool NormalizeInside(Computation* computation) {
  bool changed = false;
  for (Instruction* instruction : computation->instructions()) {
    if (instruction->opcode() == Opcode::kBitcast && instruction->shape().IsArray() &&
        !(instruction->shape().HasDescendingLayout() && instruction->operand(0)->shape().HasDescendingLayout())) {
      // Changes the element type as well: left for the target to refuse.
      continue;
    }
    const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
    if (call != nullptr && call->has_layout_constraints) continue;
    changed |= MakeRowMajor(instruction->mutable_shape());
  }
  return changed;
}

// Puts a constrained custom call between conversions.
bool ConvertAround(Instruction* call) {
  bool changed = false;
  Builder builder(call->parent(), call);
  const auto layouts = call->Get<hlo::CustomCallAttributes>().operand_layouts;
  for (int64_t i = 0; i < call->operand_count() && i < static_cast<int64_t>(layouts.size()); ++i) {
    if (IsRowMajor(layouts[i]) || !Shape::Compatible(layouts[i], call->operand(i)->shape())) continue;
    call->ReplaceOperand(i, FromRowMajor(call->operand(i), layouts[i], builder));
    changed = true;
  }
  if (IsRowMajor(call->shape())) return changed;
  ReadThrough(call, [&](Builder& inside) { return ToRowMajor(call, inside); });
  return true;
}

}  // namespace

absl::StatusOr<bool> NormalizeLayouts(Module* module) {
  Computation* entry = module->entry();
  bool changed = false;
  // The layouts at the border, as the header gives them or as the instructions have them.
  std::vector<Shape> parameters;
  for (const Instruction* parameter : entry->parameters()) parameters.push_back(parameter->shape());
  Shape result = entry->root()->shape();
  if (module->has_entry_layout()) {
    const auto& wanted = module->entry_parameter_layouts();
    for (size_t i = 0; i < parameters.size() && i < wanted.size(); ++i) {
      if (Shape::Compatible(wanted[i], parameters[i])) parameters[i] = wanted[i];
    }
    if (Shape::Compatible(module->entry_result_layout(), result)) result = module->entry_result_layout();
  }

  for (Computation* computation : module->PostOrder()) {
    // Bitcasts first: they are about layouts that vanish.
    bool rewritten = false;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kBitcast || !instruction->shape().IsArray()) continue;
      const Shape from = instruction->operand(0)->shape(), to = instruction->shape();
      if ((from.HasDescendingLayout() && to.HasDescendingLayout()) || from.element_type() != to.element_type())
        continue;
      Builder builder(computation, instruction);
      instruction->ReplaceAllUsesWith(LogicalBitcast(instruction->operand(0), from, to, builder));
      rewritten = true;
    }
    if (rewritten) computation->RemoveDeadInstructions();
    changed |= rewritten;
    changed |= NormalizeInside(computation);
    if (!computation->MayContain(Opcode::kCustomCall)) continue;
    for (Instruction* instruction : computation->instructions()) {
      const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
      if (call != nullptr && call->has_layout_constraints) changed |= ConvertAround(instruction);
    }
  }

  for (size_t i = 0; i < parameters.size(); ++i) {
    if (IsRowMajor(parameters[i])) continue;
    Instruction* parameter = entry->parameter(static_cast<int64_t>(i));
    ReadThrough(parameter, [&](Builder& builder) {
      *parameter->mutable_shape() = parameters[i];
      return ToRowMajor(parameter, builder);
    });
    changed = true;
  }
  if (!IsRowMajor(result)) {
    Builder builder(entry, entry->root());
    entry->set_root(FromRowMajor(entry->root(), result, builder));
    changed = true;
  }
  if (changed) entry->RemoveDeadInstructions();
  return changed;
}

}  // namespace kiln::passes
