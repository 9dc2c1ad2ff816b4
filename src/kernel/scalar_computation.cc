#include "src/kernel/scalar_computation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "src/hlo/module.h"

namespace kiln::kernel {

using hlo::Instruction;
using hlo::Opcode;

absl::StatusOr<std::vector<Value>> EmitScalarComputation(ScalarEmitter* emitter, const hlo::Computation& computation,
                                                         absl::Span<const Value> arguments) {
  const ScalarOps<Value> ops = {
      [&](const hlo::Literal& literal) { return emitter->Constant(literal, 0); },
      [&](const Instruction& instruction, std::vector<Value> operands) {
        return emitter->Elementwise(instruction, operands);
      },
      [&](const Instruction& loop, const std::vector<Value>& state) { return EmitScalarLoop(emitter, loop, state); }};
  return WalkScalarComputation(computation, arguments, ops);
}

bool HasLoop(const hlo::Computation& computation) {
  const std::vector<Instruction*> instructions = computation.instructions();
  return std::any_of(instructions.begin(), instructions.end(), [](const Instruction* instruction) {
    if (instruction->opcode() == Opcode::kWhile) return true;
    const auto& called = instruction->called_computations();
    return std::any_of(called.begin(), called.end(), [](const hlo::Computation* callee) { return HasLoop(*callee); });
  });
}

absl::StatusOr<std::vector<Value>> EmitScalarLoop(ScalarEmitter* emitter, const Instruction& loop,
                                                  absl::Span<const Value> state) {
  if (emitter->lanes() != 1) return Internal(loop.Describe(), ": a loop of several lanes");
  std::vector<llvm::Value*> parts;
  std::vector<llvm::Type*> types;
  for (const Value& value : state) {
    for (llvm::Value* part : {value.value, value.imaginary}) {
      if (part == nullptr) continue;
      parts.push_back(part);
      types.push_back(part->getType());
    }
  }
  llvm::IRBuilder<>& outer = emitter->builder();
  auto* record = llvm::StructType::get(outer.getContext(), types);
  const auto values_of = [&](const auto& part) {
    std::vector<Value> values(state.begin(), state.end());
    unsigned next = 0;
    for (Value& value : values) {
      value.value = part(next++);
      if (value.imaginary != nullptr) value.imaginary = part(next++);
    }
    return values;
  };
  absl::Status status;
  const auto emit = [&](VectorBuilder& body, llvm::ArrayRef<llvm::Value*> initial) -> llvm::Value* {
    llvm::IRBuilder<>& b = body.ir;
    llvm::Function* function = b.GetInsertBlock()->getParent();
    // It may never end.
    function->removeFnAttr(llvm::Attribute::WillReturn);
    auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
    llvm::BasicBlock *entry = b.GetInsertBlock(), *head = block("head"), *round = block("round"), *end = block("end");
    b.CreateBr(head);
    b.SetInsertPoint(head);
    std::vector<llvm::PHINode*> current;
    for (llvm::Value* value : initial) {
      current.push_back(b.CreatePHI(value->getType(), 2));
      current.back()->addIncoming(value, entry);
    }
    ScalarEmitter inner(&b, 1, body.target, /*flushes_subnormals=*/false, /*few_elements=*/true);
    const std::vector<Value> values = values_of([&](unsigned i) { return current[i]; });
    const auto goes_on = EmitScalarComputation(&inner, *loop.called_computation(1), values);
    if (goes_on.ok()) {
      b.CreateCondBr((*goes_on)[0].value, round, end);
    } else {
      status.Update(goes_on.status());
    }
    b.SetInsertPoint(round);
    const auto next = EmitScalarComputation(&inner, *loop.called_computation(0), values);
    status.Update(next.status());
    unsigned part = 0;
    for (size_t i = 0; next.ok() && i < next->size(); ++i) {
      for (llvm::Value* value : {(*next)[i].value, (*next)[i].imaginary}) {
        if (value != nullptr) current[part++]->addIncoming(value, b.GetInsertBlock());
      }
    }
    b.CreateBr(head);
    b.SetInsertPoint(end);
    llvm::Value* result = llvm::PoisonValue::get(record);
    for (unsigned i = 0; i < current.size(); ++i) result = b.CreateInsertValue(result, current[i], i);
    return result;
  };
  const VectorBuilder caller{outer, 1, emitter->target()};
  llvm::Value* result = caller.CallHelper(absl::StrCat("loop.", loop.name()), record, parts, emit);
  KILN_RETURN_IF_ERROR(status);
  return values_of([&](unsigned i) { return outer.CreateExtractValue(result, i); });
}

absl::StatusOr<Value> EmitElementwise(ScalarEmitter* emitter, Opcode opcode, const Instruction* origin,
                                      hlo::PrimitiveType type, absl::Span<const Value> operands) {
  if (origin != nullptr) return emitter->Elementwise(*origin, operands);
  // An op that no instruction stands for gets one of its own for the while.
  hlo::Module module("synthetic");
  hlo::Computation* computation = module.AddComputation("synthetic");
  std::vector<Instruction*> parameters;
  for (const Value& operand : operands) {
    parameters.push_back(
        computation->AddParameter(static_cast<int64_t>(parameters.size()), hlo::Shape::Scalar(operand.type)));
  }
  return emitter->Elementwise(*computation->Add(opcode, hlo::Shape::Scalar(type), std::move(parameters)), operands);
}

}  // namespace kiln::kernel
