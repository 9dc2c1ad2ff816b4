#include "src/passes/float_normalization.h"

#include <vector>

namespace kiln::passes {
namespace {

bool IsBf16(const Instruction* instruction) {
  return instruction->shape().IsArray() && instruction->shape().element_type() == PrimitiveType::kBF16;
}

bool IsContraction(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kDot || instruction.opcode() == Opcode::kConvolution;
}

// Computes from bf16 a number that may have to be rounded.
bool Rounds(const Instruction& instruction) {
  return IsBf16(&instruction) && absl::c_any_of(instruction.operands(), IsBf16) &&
         (IsContraction(instruction) || hlo::IsElementwise(instruction.opcode())) &&
         instruction.opcode() != Opcode::kConvert && instruction.opcode() != Opcode::kStochasticConvert;
}

bool ReadsWide(const Instruction* user) {
  return user->opcode() == Opcode::kConvert && user->shape().element_type() == PrimitiveType::kF32;
}

// `narrow` in f32, over bf16 operands that contractions take as they are and other ops converted.
Instruction* InF32(Instruction* narrow) {
  Builder builder(narrow->parent(), narrow);
  std::vector<Instruction*> operands(narrow->operands().begin(), narrow->operands().end());
  for (Instruction*& operand : operands) {
    if (IsBf16(operand) && !IsContraction(*narrow)) operand = builder.Convert(operand, PrimitiveType::kF32);
  }
  Instruction* wide = narrow->parent()->AddClone(*narrow, std::move(operands));
  wide->mutable_shape()->set_element_type(PrimitiveType::kF32);
  return wide;
}

void ReplaceByRounded(Instruction* narrow, Instruction* wide) {
  narrow->ReplaceAllUsesWith(Builder(narrow->parent(), narrow).Convert(wide, PrimitiveType::kBF16));
}

bool Widen(Instruction* narrow) {
  std::vector<Instruction*> converts;
  absl::c_copy_if(narrow->users(), std::back_inserter(converts), ReadsWide);
  if (converts.empty()) return false;
  const bool has_others = narrow->users().size() > converts.size() || narrow->IsRoot();
  Instruction* wide = InF32(narrow);
  for (Instruction* convert : converts) convert->ReplaceAllUsesWith(wide);
  if (has_others) ReplaceByRounded(narrow, wide);
  return true;
}

// XLA's front-end writes these functions out in f32, between converts.
bool IsWrittenOut(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return IsBf16(&instruction) && (opcode == Opcode::kErfc || opcode == Opcode::kSinh || opcode == Opcode::kCosh);
}

}  // namespace

absl::StatusOr<bool> NormalizeFloats(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    bool rewritten = false;
    for (Instruction* instruction : computation->instructions()) {
      if (!IsWrittenOut(*instruction)) continue;
      ReplaceByRounded(instruction, InF32(instruction));
      rewritten = true;
    }
    // Operands first: converts that are made here come behind the values that they would widen.
    for (Instruction* instruction : computation->PostOrder()) {
      if (Rounds(*instruction)) rewritten |= Widen(instruction);
    }
    if (rewritten) computation->RemoveDeadInstructions();
    changed |= rewritten;
  }
  return changed;
}

}  // namespace kiln::passes
