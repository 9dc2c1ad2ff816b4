#include "src/passes/dynamic_padder.h"

#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/passes/dynamic_rules.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// How many sizes go with a value of `shape`.
size_t CountDynamic(const Shape& shape) {
  size_t count = 0;
  for (const Shape* leaf : shape.Leaves()) {
    for (int64_t i = 0; i < leaf->rank(); ++i) count += leaf->is_dynamic_dimension(i) ? 1 : 0;
  }
  return count;
}

// What passes a computation's boundary in place of `shape`: the elements of a tuple, or one array, and then the sizes
// of all dynamic dimensions.
Shape Widened(const Shape& shape) {
  const size_t count = CountDynamic(shape);
  const Shape fixed = WithoutDynamicDimensions(shape);
  if (count == 0) return fixed;
  std::vector<Shape> elements = fixed.IsTuple() ? fixed.tuple_shapes() : std::vector<Shape>{fixed};
  elements.resize(elements.size() + count, Shape::Scalar(PrimitiveType::kS32));
  return Shape::Tuple(std::move(elements));
}

class ModulePadder {
 public:
  explicit ModulePadder(Module* module) : module_(module) {}

  absl::StatusOr<bool> Run() {
    const std::vector<Computation*> computations = module_->PostOrder();
    for (Computation* computation : computations) {
      for (Instruction* instruction : computation->instructions()) {
        if (HasDynamicDimensions(instruction->shape())) declared_[instruction] = instruction->shape();
      }
    }
    const auto concerns = [](const Computation* computation) {
      const std::vector<Instruction*> all = computation->instructions();
      return absl::c_any_of(all, [](const Instruction* instruction) { return AsksForSizes(*instruction); });
    };
    if (declared_.empty() && absl::c_none_of(computations, concerns)) return false;
    for (Computation* computation : computations) KILN_RETURN_IF_ERROR(Pad(computation));
    // Only now: what is known of instructions is found by their addresses.
    for (Computation* computation : computations) computation->RemoveDeadInstructions();
    for (Shape& shape : *module_->mutable_entry_parameter_layouts()) shape = WithoutDynamicDimensions(shape);
    *module_->mutable_entry_result_layout() = WithoutDynamicDimensions(module_->entry_result_layout());
    module_->RemoveUnusedComputations();
    return true;
  }

 private:
  // Ops that are about sizes whether or not a shape is dynamic.
  static bool AsksForSizes(const Instruction& instruction) {
    const auto* call = instruction.GetIf<hlo::CustomCallAttributes>();
    if (call != nullptr) return call->target == "PadToStatic" || call->target == "SliceToDynamic";
    return hlo::KindOf(instruction.opcode()) == hlo::OpKind::kDynamicShape;
  }

  Shape Declared(const Instruction* instruction) const {
    const auto found = declared_.find(instruction);
    return found != declared_.end() ? found->second : instruction->shape();
  }

  // `value`, which was declared as `shape`, in its widened form.
  Instruction* Pack(Builder& builder, Instruction* value, const Shape& shape) {
    if (CountDynamic(shape) == 0) return value;
    std::vector<Instruction*> elements = {value};
    if (shape.IsTuple()) elements = builder.Elements(value);
    const std::vector<DynamicSizes> sizes = values_.Leaves(value);
    const std::vector<const Shape*> leaves = shape.Leaves();
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      for (int64_t i = 0; i < leaves[leaf]->rank(); ++i) {
        if (!leaves[leaf]->is_dynamic_dimension(i)) continue;
        Instruction* size = sizes[leaf].empty() ? nullptr : sizes[leaf][i];
        if (size == nullptr) size = SizeConstant(builder, leaves[leaf]->dimensions(i)).instruction();
        elements.push_back(size);
      }
    }
    return builder.Tuple(std::move(elements));
  }

  // The value of `shape` inside its widened form, with its sizes.
  Instruction* Unpack(Builder& builder, Instruction* packed, const Shape& shape) {
    const std::vector<const Shape*> leaves = shape.Leaves();
    const size_t elements = shape.IsTuple() ? shape.tuple_shapes().size() : 1;
    int64_t next = static_cast<int64_t>(elements);
    std::vector<DynamicSizes> sizes(leaves.size());
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      for (int64_t i = 0; i < leaves[leaf]->rank(); ++i) {
        if (!leaves[leaf]->is_dynamic_dimension(i)) continue;
        sizes[leaf].resize(static_cast<size_t>(leaves[leaf]->rank()));
        sizes[leaf][i] = builder.GetTupleElement(packed, next++);
      }
    }
    Instruction* value = builder.GetTupleElement(packed, 0);
    if (shape.IsTuple()) {
      std::vector<Instruction*> parts = {value};
      for (size_t i = 1; i < elements; ++i) parts.push_back(builder.GetTupleElement(packed, static_cast<int64_t>(i)));
      value = builder.Tuple(std::move(parts));
    }
    values_.SetLeaves(value, std::move(sizes));
    return value;
  }

  // Makes `instruction` give the widened form of `shape`, and its users take what is inside it.
  void Widen(Instruction* instruction, const Shape& shape) {
    ReadThrough(instruction, [&](Builder& builder) {
      *instruction->mutable_shape() = Widened(shape);
      return Unpack(builder, instruction, shape);
    });
  }

  // A loop, conditional or call: its computations take and give widened values.
  void PadCall(Instruction* call) {
    const bool is_conditional = call->opcode() == Opcode::kConditional;
    Builder builder(call->parent(), call);
    for (int64_t i = is_conditional ? 1 : 0; i < call->operand_count(); ++i) {
      const Computation* callee = call->called_computation(is_conditional ? i - 1 : 0);
      const Instruction* parameter = callee->parameter(is_conditional || call->opcode() == Opcode::kWhile ? 0 : i);
      call->ReplaceOperand(i, Pack(builder, call->operand(i), Declared(parameter)));
    }
    const Shape declared = Declared(call);
    if (HasDynamicDimensions(declared)) Widen(call, declared);
  }

  absl::Status Pad(Computation* computation) {
    const bool is_entry = computation == module_->entry();
    const Shape root_shape = Declared(computation->root());
    for (Instruction* instruction : computation->PostOrder()) {
      const bool is_declared = declared_.contains(instruction);
      if (instruction->IsParameter()) {
        if (is_declared && is_entry) *instruction->mutable_shape() = WithoutDynamicDimensions(instruction->shape());
        if (is_declared && !is_entry) Widen(instruction, declared_.at(instruction));
        continue;
      }
      if (instruction->opcode() == Opcode::kWhile || instruction->opcode() == Opcode::kConditional ||
          instruction->opcode() == Opcode::kCall) {
        PadCall(instruction);
        continue;
      }
      const bool touches = absl::c_any_of(instruction->operands(),
                                          [&](const Instruction* operand) { return values_.IsDynamic(operand); });
      if (!is_declared && !touches && !AsksForSizes(*instruction)) continue;
      KILN_ASSIGN_OR_RETURN(Instruction * replacement, MakeStatic(instruction, values_));
      if (replacement != instruction) instruction->ReplaceAllUsesWith(replacement);
    }
    if (!HasDynamicDimensions(root_shape)) return absl::OkStatus();
    Builder builder(computation, computation->root());
    computation->set_root(is_entry ? Zeroed(builder, computation->root())
                                   : Pack(builder, computation->root(), root_shape));
    return absl::OkStatus();
  }

  // A result of the entry: zero past its sizes, so that it does not depend on what padding held.
  Instruction* Zeroed(Builder& builder, Instruction* value) {
    if (!values_.IsDynamic(value)) return value;
    if (value->shape().IsTuple()) {
      std::vector<Instruction*> elements;
      const std::vector<DynamicSizes> leaves = values_.Leaves(value);
      auto first = leaves.begin();
      for (size_t i = 0; i < value->shape().tuple_shapes().size(); ++i) {
        Instruction* element = builder.GetTupleElement(value, static_cast<int64_t>(i));
        const auto last = first + element->shape().leaf_count();
        values_.SetLeaves(element, {first, last});
        first = last;
        elements.push_back(Zeroed(builder, element));
      }
      return builder.Tuple(std::move(elements));
    }
    std::vector<int64_t> all;
    for (int64_t i = 0; i < value->shape().rank(); ++i) all.push_back(i);
    return values_.Mask(builder, value, all, builder.Constant(hlo::ZeroLiteral(value->shape().element_type())));
  }

  Module* module_;
  DynamicValues values_;
  absl::flat_hash_map<const Instruction*, Shape> declared_;  // Of what had dynamic dimensions.
};

}  // namespace

absl::StatusOr<bool> PadDynamicDimensions(Module* module) { return ModulePadder(module).Run(); }

}  // namespace kiln::passes
