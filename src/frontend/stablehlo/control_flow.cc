// while, case and if: regions to called computations, captured values to operands.
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "src/frontend/mlir/printer.h"
#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using mlir::Value;

// Values that a region takes from outside, in order of first use.
class Captures {
 public:
  void AddRegion(const mlir::Region& region) {
    Collect(region);
    std::vector<const Value*> outside;
    for (const Value* value : used_) {
      if (!defined_.contains(value) && !IsClonable(value)) outside.push_back(value);
    }
    used_ = std::move(outside);
  }
  const std::vector<const Value*>& values() const { return used_; }

 private:
  // Nesting is bounded by the readers.
  void Collect(const mlir::Region& region) {
    for (const mlir::Block* block : region.blocks) {
      defined_.insert(block->arguments.begin(), block->arguments.end());
      for (const mlir::Operation* operation : block->operations) {
        for (const Value* value : operation->operands) {
          if (seen_.insert(value).second) used_.push_back(value);
        }
        defined_.insert(operation->results.begin(), operation->results.end());
        for (const mlir::Region* inner : operation->regions) Collect(*inner);
      }
    }
  }

  std::vector<const Value*> used_;
  absl::flat_hash_set<const Value*> seen_;
  absl::flat_hash_set<const Value*> defined_;
};

absl::StatusOr<std::vector<Instruction*>> CapturedOperands(OpImport& op, const std::vector<const Value*>& captured) {
  std::vector<Instruction*> operands;
  for (const Value* value : captured) {
    KILN_ASSIGN_OR_RETURN(Instruction * instruction, op.body().Get(value, op.operation()));
    operands.push_back(instruction);
  }
  return operands;
}

// cond or body of a while: one tuple parameter of the loop's state and the captured values.
struct LoopRegion {
  hlo::Computation* computation = nullptr;
  std::vector<Instruction*> state;    // Elements of the parameter.
  std::vector<Instruction*> results;  // Operands of the return.
};

// What a region takes from outside as `inside`, or its value again where it is known and shapes may depend on it.
void DefineCaptured(OpImport& op, Body& body, const Value* value, Instruction* outside, Instruction* inside) {
  const hlo::Literal* constant = op.module().refined.empty() ? nullptr : op.module().constants.Find(outside);
  body.Define(value, constant != nullptr ? body.computation()->AddConstant(*constant) : inside);
}

absl::StatusOr<LoopRegion> ImportLoopRegion(OpImport& op, const mlir::Region& region, absl::string_view name,
                                            const std::vector<Instruction*>& operands,
                                            const std::vector<const Value*>& captured) {
  const hlo::Shape state = TupleShape(operands);
  if (region.blocks.size() != 1 || region.blocks[0]->arguments.size() != op.operand_count()) {
    return op.Invalid("a region must be one block with ", op.operand_count(), " arguments");
  }
  LoopRegion loop;
  loop.computation = op.module().module->AddComputation(std::string(name));
  Instruction* parameter = loop.computation->AddParameter(0, state);
  for (size_t i = 0; i < state.tuple_shapes().size(); ++i) {
    loop.state.push_back(loop.computation->Add(Opcode::kGetTupleElement, state.tuple_shapes(static_cast<int64_t>(i)),
                                               {parameter}, hlo::TupleIndexAttributes{static_cast<int64_t>(i)}));
  }
  Body body(op.module(), loop.computation);
  for (size_t i = 0; i < op.operand_count(); ++i) {
    const Value* argument = region.blocks[0]->arguments[i];
    absl::StatusOr<hlo::Shape> declared = ToOpenShape(*argument->type);
    if (!declared.ok()) return Annotate(declared.status(), op.Describe());
    if (!Fits(*declared, op.operand_shape(i))) {
      return op.Invalid("argument ", i, " of a region is declared as ", mlir::Print(*argument->type), ", expected ",
                        op.operand_shape(i).ToString(false));
    }
    body.Define(argument, loop.state[i]);
  }
  for (size_t i = 0; i < captured.size(); ++i) {
    DefineCaptured(op, body, captured[i], operands[op.operand_count() + i], loop.state[op.operand_count() + i]);
  }
  KILN_ASSIGN_OR_RETURN(loop.results, body.ImportBlock(region, op.operation()));
  return loop;
}

absl::Status ImportWhile(OpImport& op) {
  Captures cond_captures;
  Captures body_captures;
  cond_captures.AddRegion(op.region(0));
  body_captures.AddRegion(op.region(1));
  std::vector<const Value*> captured = cond_captures.values();
  const absl::flat_hash_set<const Value*> in_cond(captured.begin(), captured.end());
  for (const Value* value : body_captures.values()) {
    if (!in_cond.contains(value)) captured.push_back(value);
  }
  std::vector<Instruction*> state = op.operands();
  KILN_ASSIGN_OR_RETURN(const std::vector<Instruction*> extra, CapturedOperands(op, captured));
  state.insert(state.end(), extra.begin(), extra.end());
  const hlo::Shape shape = TupleShape(state);
  KILN_ASSIGN_OR_RETURN(LoopRegion cond, ImportLoopRegion(op, op.region(0), "while_condition", state, captured));
  if (cond.results.size() != 1)
    return op.Invalid("the condition returns ", cond.results.size(), " values, expected one");
  cond.computation->set_root(cond.results[0]);
  KILN_ASSIGN_OR_RETURN(LoopRegion body, ImportLoopRegion(op, op.region(1), "while_body", state, captured));
  if (body.results.size() != op.operand_count()) {
    return op.Invalid("the body returns ", body.results.size(), " values, expected ", op.operand_count());
  }
  // Captured values pass through unchanged.
  std::vector<Instruction*> next = body.results;
  next.insert(next.end(), body.state.begin() + static_cast<int64_t>(op.operand_count()), body.state.end());
  body.computation->set_root(body.computation->Add(Opcode::kTuple, TupleShape(next), next));
  Instruction* init = op.Add(Opcode::kTuple, shape, state);
  Instruction* loop = op.Add(Opcode::kWhile, shape, {init}, {}, {body.computation, cond.computation});
  std::vector<Instruction*> results;
  for (size_t i = 0; i < op.result_count(); ++i) {
    if (i >= op.operand_count()) return op.Invalid("has more results than operands");
    results.push_back(op.AddTupleElement(loop, static_cast<int64_t>(i)));
  }
  return op.Define(results);
}

// A branch's only parameter is the value it captures, or a tuple of them when there is not exactly one.
absl::StatusOr<hlo::Computation*> ImportBranch(OpImport& op, const mlir::Region& region, absl::string_view name,
                                               Instruction*& operand) {
  Captures captures;
  captures.AddRegion(region);
  KILN_ASSIGN_OR_RETURN(const std::vector<Instruction*> captured, CapturedOperands(op, captures.values()));
  operand = captured.size() == 1 ? captured[0] : op.Add(Opcode::kTuple, TupleShape(captured), captured);
  hlo::Computation* computation = op.module().module->AddComputation(std::string(name));
  Instruction* parameter = computation->AddParameter(0, operand->shape());
  Body body(op.module(), computation);
  if (captured.size() == 1) {
    DefineCaptured(op, body, captures.values()[0], captured[0], parameter);
  } else {
    for (size_t i = 0; i < captured.size(); ++i) {
      DefineCaptured(op, body, captures.values()[i], captured[i],
                     computation->Add(Opcode::kGetTupleElement, captured[i]->shape(), {parameter},
                                      hlo::TupleIndexAttributes{static_cast<int64_t>(i)}));
    }
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Instruction*> results, body.ImportBlock(region, op.operation()));
  if (results.size() != op.result_count()) {
    return op.Invalid("a branch returns ", results.size(), " values, expected ", op.result_count());
  }
  computation->set_root(PackResults(computation, results));
  return computation;
}

// case (by index) and if (by predicate, true branch first).
absl::Status ImportConditional(OpImport& op) {
  if (op.operation().regions.empty()) return op.Invalid("has no branches");
  std::vector<Instruction*> operands = op.operands();
  std::vector<hlo::Computation*> branches;
  for (const mlir::Region* region : op.operation().regions) {
    Instruction* operand = nullptr;
    KILN_ASSIGN_OR_RETURN(hlo::Computation * branch, ImportBranch(op, *region, "branch", operand));
    operands.push_back(operand);
    branches.push_back(branch);
  }
  return op.Finish(Opcode::kConditional, std::move(operands), {}, std::move(branches));
}

constexpr OpRow kControlFlowOps[] = {
    {"stablehlo.while", ImportWhile, -1, -1, 2},
    {"stablehlo.case", ImportConditional, 1, -1, -1},
    {"stablehlo.if", ImportConditional, 1, -1, 2},
};

}  // namespace

absl::Span<const OpRow> ControlFlowOps() { return kControlFlowOps; }

}  // namespace kiln::stablehlo
