#include "src/frontend/stablehlo/refinement.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "src/base/status.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/shape_inference.h"

namespace kiln::stablehlo {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

constexpr int64_t kMaxElements = 1024;

bool IsOpenType(const mlir::Type& type) {
  const auto* tensor = type.As<mlir::TensorType>();
  if (tensor == nullptr) return false;
  for (size_t i = 0; i < tensor->dims.size(); ++i) {
    const bool bounded = i < tensor->bounds.size() && tensor->bounds[i] != mlir::kDynamicSize;
    if (tensor->dims[i] == mlir::kDynamicSize && !bounded) return true;
  }
  return false;
}

// An op that needs values of operands, of which not all are constants as they stand.
bool TakesSizes(const mlir::Operation& operation) {
  constexpr std::pair<absl::string_view, size_t> kFirstSize[] = {{"stablehlo.dynamic_conv", 2},
                                                                 {"stablehlo.dynamic_gather", 2},
                                                                 {"stablehlo.dynamic_pad", 2},
                                                                 {"stablehlo.real_dynamic_slice", 1}};
  if (operation.name == "stablehlo.custom_call") {
    const absl::string_view target = mlir::AsString(operation.Get("call_target_name")).value_or("");
    return target == "shape_assertion" || absl::StartsWith(target, "stablehlo.dynamic_");
  }
  for (const auto& [name, first] : kFirstSize) {
    if (name != operation.name) continue;
    for (size_t i = first; i < operation.operands.size(); ++i) {
      const mlir::Operation* definition = operation.operands[i]->operation;
      if (definition == nullptr || definition->name != "stablehlo.constant") return true;
    }
  }
  return false;
}

// Nesting is bounded by the readers.
bool NeedsRefinement(const mlir::Region& region) {
  const auto open = [](const mlir::Value* value) { return IsOpenType(*value->type); };
  for (const mlir::Block* block : region.blocks) {
    if (std::any_of(block->arguments.begin(), block->arguments.end(), open)) return true;
    for (const mlir::Operation* operation : block->operations) {
      if (TakesSizes(*operation) || std::any_of(operation->results.begin(), operation->results.end(), open)) {
        return true;
      }
      for (const mlir::Region* inner : operation->regions) {
        if (NeedsRefinement(*inner)) return true;
      }
    }
  }
  return false;
}

}  // namespace

bool IsOpen(const Shape& shape) {
  if (shape.IsTuple()) return std::any_of(shape.tuple_shapes().begin(), shape.tuple_shapes().end(), IsOpen);
  return shape.IsArray() &&
         std::find(shape.dimensions().begin(), shape.dimensions().end(), kOpenSize) != shape.dimensions().end();
}

Shape Closed(const Shape& shape) {
  Shape closed = shape;
  for (Shape& element : *closed.mutable_tuple_shapes()) element = Closed(element);
  for (int64_t i = 0; i < closed.rank(); ++i) {
    if (closed.dimensions(i) == kOpenSize) closed.set_dimensions(i, 0);
  }
  return closed;
}

bool Fits(const Shape& declared, const Shape& actual) {
  if (!IsOpen(declared)) return Shape::Compatible(declared, actual);
  if (declared.IsTuple()) {
    if (!actual.IsTuple() || actual.tuple_shapes().size() != declared.tuple_shapes().size()) return false;
    for (size_t i = 0; i < actual.tuple_shapes().size(); ++i) {
      if (!Fits(declared.tuple_shapes()[i], actual.tuple_shapes()[i])) return false;
    }
    return true;
  }
  if (!actual.IsArray() || actual.element_type() != declared.element_type() || actual.rank() != declared.rank()) {
    return false;
  }
  for (int64_t i = 0; i < declared.rank(); ++i) {
    if (declared.dimensions(i) != kOpenSize && declared.dimensions(i) != actual.dimensions(i)) return false;
  }
  return true;
}

absl::StatusOr<Shape> RefineShape(Opcode opcode, absl::Span<Instruction* const> operands,
                                  const hlo::Attributes& attributes, absl::Span<hlo::Computation* const> called,
                                  const Shape& declared) {
  std::vector<const Shape*> shapes;
  for (const Instruction* operand : operands) shapes.push_back(&operand->shape());
  const bool is_cast = opcode == Opcode::kConvert || opcode == Opcode::kBitcastConvert;
  if (is_cast && shapes.size() == 1 && shapes[0]->IsArray()) {
    const int from = hlo::BitWidth(shapes[0]->element_type());
    const int to = hlo::BitWidth(declared.element_type());
    hlo::DimensionVector dimensions = shapes[0]->dimensions();
    if (opcode == Opcode::kBitcastConvert && from > to) dimensions.push_back(from / to);
    if (opcode == Opcode::kBitcastConvert && from < to && !dimensions.empty()) dimensions.pop_back();
    return Shape(declared.element_type(), dimensions);
  }
  KILN_ASSIGN_OR_RETURN(Shape shape, hlo::InferShape(opcode, shapes, attributes, called, nullptr));
  // Products may be asked for in a wider type than that of their operands.
  if ((opcode == Opcode::kDot || opcode == Opcode::kConvolution) && declared.IsArray()) {
    shape.set_element_type(declared.element_type());
  }
  return shape;
}

bool NeedsRefinement(const mlir::Operation& function) {
  return std::any_of(function.regions.begin(), function.regions.end(),
                     [](const mlir::Region* region) { return NeedsRefinement(*region); });
}

bool ConstantValues::IsCandidate(const Instruction& instruction) {
  --budget_;
  for (const hlo::Computation* called : instruction.called_computations()) budget_ -= called->instruction_count();
  if (budget_ < 0) return false;
  if (instruction.HasSideEffect() || instruction.IsParameter() || instruction.opcode() == Opcode::kCustomCall) {
    return false;
  }
  const hlo::OpKind kind = hlo::KindOf(instruction.opcode());
  if (kind == hlo::OpKind::kRandom || kind == hlo::OpKind::kCommunication || kind == hlo::OpKind::kDynamicShape) {
    return false;
  }
  const std::vector<const Shape*> leaves = instruction.shape().Leaves();
  return std::all_of(leaves.begin(), leaves.end(), [](const Shape* leaf) {
    return leaf->IsArray() && !leaf->has_dynamic_dimensions() && leaf->element_count() <= kMaxElements;
  });
}

std::optional<hlo::Literal> ConstantValues::Evaluate(const Instruction& instruction) {
  if (instruction.IsConstant()) return instruction.literal();
  std::vector<hlo::Literal> operands;
  for (const Instruction* operand : instruction.operands()) {
    const std::unique_ptr<hlo::Literal>& value = values_.at(operand);
    if (value == nullptr) return std::nullopt;
    operands.push_back(*value);
  }
  hlo::EvaluatorOptions options;
  options.max_operations = 1 << 14;
  absl::StatusOr<hlo::Literal> value = hlo::EvaluateInstruction(instruction, operands, options);
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

// Iterative: chains of instructions may be long.
const hlo::Literal* ConstantValues::Find(const Instruction* instruction) {
  std::vector<const Instruction*> stack = {instruction};
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    if (values_.contains(top)) {
      stack.pop_back();
      continue;
    }
    if (!IsCandidate(*top)) {
      values_[top] = nullptr;
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    bool constant = true;
    for (const Instruction* operand : top->operands()) {
      const auto found = values_.find(operand);
      if (found == values_.end()) stack.push_back(operand);
      constant = constant && (found == values_.end() || found->second != nullptr);
    }
    if (constant && stack.size() != before) continue;
    stack.resize(before - 1);
    std::optional<hlo::Literal> value = constant ? Evaluate(*top) : std::nullopt;
    values_[top] = value.has_value() ? std::make_unique<hlo::Literal>(*std::move(value)) : nullptr;
  }
  return values_.at(instruction).get();
}

}  // namespace kiln::stablehlo
