#include "src/passes/fusion_body.h"

#include <utility>

#include "absl/container/flat_hash_set.h"

namespace kiln::passes {

std::vector<Computation*> ControlComputations(const Module& module) {
  std::vector<Computation*> result = {module.entry()};
  absl::flat_hash_set<const Computation*> visited = {module.entry()};
  for (size_t i = 0; i < result.size(); ++i) {
    for (const Instruction* instruction : result[i]->instructions()) {
      if (hlo::KindOf(instruction->opcode()) != hlo::OpKind::kControl || instruction->opcode() == Opcode::kFusion ||
          instruction->opcode() == Opcode::kCustomCall) {
        continue;
      }
      for (Computation* callee : instruction->called_computations()) {
        if (visited.insert(callee).second) result.push_back(callee);
      }
    }
  }
  return result;
}

bool IsReshape(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kBitcast;
}

const Instruction* SourceOf(const Instruction* operand) {
  while (IsReshape(*operand)) operand = operand->operand(0);
  return operand;
}

DimensionVector WithoutOnes(absl::Span<const int64_t> dimensions) {
  DimensionVector result;
  for (int64_t size : dimensions) {
    if (size != 1) result.push_back(size);
  }
  return result;
}

absl::flat_hash_map<const Computation*, int> CallsOfBodies(const Module& module) {
  absl::flat_hash_map<const Computation*, int> calls;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!hlo::HasScalarComputation(instruction->opcode()) && instruction->opcode() != Opcode::kFusion) continue;
      for (const Computation* callee : instruction->called_computations()) ++calls[callee];
    }
  }
  return calls;
}

void DropUnreadOperands(Computation* body, std::vector<Instruction*>* operands) {
  for (size_t i = operands->size(); i-- > 0;) {
    const Instruction* parameter = body->parameter(static_cast<int64_t>(i));
    if (!parameter->users().empty() || parameter->IsRoot()) continue;
    body->RemoveParameter(static_cast<int64_t>(i));
    operands->erase(operands->begin() + static_cast<int64_t>(i));
  }
}

std::vector<Instruction*> FusionBody::OperandsOf(const Instruction& member) {
  std::vector<Instruction*> operands;
  for (Instruction* operand : member.operands()) {
    Instruction*& copy = copies_[operand];
    if (copy == nullptr && operand->IsConstant() && operand->shape().element_count() == 1) {
      copy = body_->AddClone(*operand, {});
    } else if (copy == nullptr) {
      copy = body_->AddParameter(static_cast<int64_t>(operands_.size()), operand->shape());
      operands_.push_back(operand);
    }
    operands.push_back(copy);
  }
  return operands;
}

void FusionBody::Add(const Instruction& member) {
  if (member.opcode() != Opcode::kFusion) return AddWhole(member);
  copies_[&member] = Builder(body_, &member).Inline(*member.called_computation(), OperandsOf(member));
}

void FusionBody::AddWhole(const Instruction& member) {
  copies_[&member] = body_->AddClone(member, OperandsOf(member));
}

void FusionBody::AddKept(const Instruction& member) {
  Add(member);
  Instruction*& copy = copies_[&member];
  copy = body_->Add(Opcode::kOptBarrier, copy->shape(), {copy});
}

Instruction* FusionBody::Finish(absl::Span<Instruction* const> outputs, hlo::FusionKind kind, const std::string& name) {
  Instruction* last = outputs.back();
  Instruction* root = copies_.at(last);
  if (outputs.size() > 1) {
    std::vector<Instruction*> elements;
    for (const Instruction* output : outputs) elements.push_back(copies_.at(output));
    root = Builder(body_, nullptr).Tuple(std::move(elements));
  }
  body_->set_root(root);
  Computation* computation = last->parent();
  Instruction* fusion = computation->Add(Opcode::kFusion, root->shape(), std::move(operands_),
                                         hlo::FusionAttributes{kind}, {body_}, name);
  fusion->CopyMetadataFrom(*last);
  if (outputs.size() == 1) {
    last->ReplaceAllUsesWith(fusion);
    return fusion;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i]->ReplaceAllUsesWith(Builder(computation, outputs[i]).GetTupleElement(fusion, static_cast<int64_t>(i)));
  }
  return fusion;
}

}  // namespace kiln::passes
