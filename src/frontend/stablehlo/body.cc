// Filling a computation from the ops of a function or a region.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {
namespace {

constexpr int kMaxClonedChain = 8;
// Larger constants are passed on, so that many regions that use one constant do not multiply its memory.
constexpr size_t kMaxClonedBytes = 1024;

bool IsClonableChain(const mlir::Value* value, int depth) {
  const mlir::Operation* operation = value->operation;
  if (operation == nullptr || depth > kMaxClonedChain) return false;
  if (operation->name == "stablehlo.constant") {
    const auto* dense = mlir::As<mlir::DenseAttribute>(operation->Get("value"));
    return dense != nullptr && dense->data.size() <= kMaxClonedBytes;
  }
  const bool is_shape_op = operation->name == "stablehlo.broadcast_in_dim" || operation->name == "stablehlo.reshape" ||
                           operation->name == "stablehlo.convert" || operation->name == "stablehlo.negate";
  return is_shape_op && operation->operands.size() == 1 && operation->results.size() == 1 &&
         IsClonableChain(operation->operands[0], depth + 1);
}

}  // namespace

hlo::Shape TupleShape(absl::Span<hlo::Instruction* const> values) {
  std::vector<hlo::Shape> shapes;
  for (const hlo::Instruction* value : values) shapes.push_back(value->shape());
  return hlo::Shape::Tuple(std::move(shapes));
}

hlo::Instruction* PackResults(hlo::Computation* computation, const std::vector<hlo::Instruction*>& values) {
  if (values.size() == 1) return values[0];
  return computation->Add(hlo::Opcode::kTuple, TupleShape(values), values);
}

bool IsClonable(const mlir::Value* value) { return IsClonableChain(value, 0); }

absl::StatusOr<hlo::Instruction*> Body::Get(const mlir::Value* value, const mlir::Operation& user) {
  if (const auto found = values_.find(value); found != values_.end()) return found->second;
  if (IsClonable(value)) {
    KILN_RETURN_IF_ERROR(ImportOperation(*value->operation));
    if (const auto found = values_.find(value); found != values_.end()) return found->second;
  }
  if (user.parent != nullptr && value->operation != nullptr && value->operation->parent == user.parent) {
    return InvalidArgument(Describe(user), ": uses the result of ", Describe(*value->operation),
                           " before it is defined");
  }
  return Unimplemented(Describe(user), ": takes a value from outside its region that is not a constant",
                       value->operation != nullptr ? ", the result of " : "",
                       value->operation != nullptr ? Describe(*value->operation) : "",
                       "; the enclosing op cannot pass it on");
}

absl::StatusOr<std::vector<hlo::Instruction*>> Body::ImportBlock(const mlir::Region& region,
                                                                 const mlir::Operation& owner) {
  if (region.blocks.size() != 1) {
    return Unimplemented(Describe(owner), ": a region of ", region.blocks.size(), " blocks, expected one");
  }
  const mlir::Block& block = *region.blocks[0];
  if (block.operations.empty()) return InvalidArgument(Describe(owner), ": a region without a terminator");
  for (size_t i = 0; i + 1 < block.operations.size(); ++i) {
    KILN_RETURN_IF_ERROR(ImportOperation(*block.operations[i]));
  }
  const mlir::Operation& last = *block.operations.back();
  if (last.name != "stablehlo.return" && last.name != "func.return" && last.name != "sdy.return") {
    return InvalidArgument(Describe(owner), ": a region ends with ", last.name, ", expected a return");
  }
  std::vector<hlo::Instruction*> results;
  for (const mlir::Value* value : last.operands) {
    KILN_ASSIGN_OR_RETURN(hlo::Instruction * instruction, Get(value, last));
    results.push_back(instruction);
  }
  return results;
}

absl::Status Body::ImportOperation(const mlir::Operation& operation) {
  const OpRow* row = FindOp(operation.name);
  if (row == nullptr) return Unimplemented(Describe(operation), ": this op is not supported");
  OpImport op(*this, *row, operation);
  if (row->operands >= 0 && operation.operands.size() != static_cast<size_t>(row->operands)) {
    return op.Invalid("has ", operation.operands.size(), " operands, expected ", row->operands);
  }
  if (row->results >= 0 && operation.results.size() != static_cast<size_t>(row->results)) {
    return op.Invalid("has ", operation.results.size(), " results, expected ", row->results);
  }
  if (row->regions >= 0 && operation.regions.size() != static_cast<size_t>(row->regions)) {
    return op.Invalid("has ", operation.regions.size(), " regions, expected ", row->regions);
  }
  KILN_RETURN_IF_ERROR(op.ReadOperands());
  KILN_RETURN_IF_ERROR(row->import(op));
  return op.Check();
}

absl::StatusOr<hlo::Computation*> ImportScalarRegion(OpImport& op, const mlir::Region& region, absl::string_view name) {
  hlo::Computation* computation = op.module().module->AddComputation(std::string(name));
  Body body(op.module(), computation);
  if (region.blocks.size() == 1) {
    const mlir::Block& block = *region.blocks[0];
    for (size_t i = 0; i < block.arguments.size(); ++i) {
      absl::StatusOr<hlo::Shape> shape = ToShape(*block.arguments[i]->type);
      if (!shape.ok()) return Annotate(shape.status(), op.Describe());
      body.Define(block.arguments[i], computation->AddParameter(static_cast<int64_t>(i), *std::move(shape)));
    }
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<hlo::Instruction*> results, body.ImportBlock(region, op.operation()));
  computation->set_root(PackResults(computation, results));
  return computation;
}

}  // namespace kiln::stablehlo
