// Reduces of bf16 in f32 whose lanes need not lie in order: two of them are one word, the upper half of which is a
// float as it is, and the lower one a shift away. In order each takes a shuffle and a shift.
#include <cstdint>

#include "absl/algorithm/container.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "src/kernel/nest_lowering.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

bool NestLowering::TakesPairs(const Reduce& reduce, const ReduceSchedule& schedule) const {
  const uint64_t own = uint64_t{1} << schedule.vector_loop;
  if (target_.target != Target::kCpu || reduce.combiner != nullptr || reduce.predicate != kNoValue) return false;
  const auto is_brain = [&](ValueId id) { return kernel_.ops[id].type == PrimitiveType::kBF16; };
  const auto varies = [&](ValueId id) { return (kernel_.ops[id].loops & own) != 0; };
  bool widens = false;
  for (const Block::Statement& statement : reduce.block->statements) {
    if (statement.kind != Block::Kind::kOp) return false;
    const Op& op = kernel_.ops[statement.index];
    if ((op.loops & own) == 0) continue;
    int64_t stride;
    if (op.kind == OpKind::kLoad) {
      if (op.type != PrimitiveType::kBF16 || op.predicate != kNoValue ||
          !LinearStride(kernel_.terms, op.offset, schedule.vector_loop, schedule.lanes, &stride) || stride != 1) {
        return false;
      }
    } else if (IsWidening(op)) {
      widens = true;
    } else if (op.kind != OpKind::kElementwise || op.type != PrimitiveType::kF32 ||
               absl::c_any_of(op.operands, [&](ValueId id) { return varies(id) && is_brain(id); })) {
      return false;
    }
  }
  return widens && absl::c_none_of(reduce.elements, is_brain);
}

bool NestLowering::IsWidening(const Op& op) const {
  return op.kind == OpKind::kElementwise && op.opcode == hlo::Opcode::kConvert && op.type == PrimitiveType::kF32 &&
         kernel_.ops[op.operands[0]].type == PrimitiveType::kBF16;
}

bool NestLowering::IsExactProduct(const Op& op) const {
  return op.opcode == hlo::Opcode::kMultiply && op.type == PrimitiveType::kF32 &&
         absl::c_all_of(op.operands, [&](ValueId id) { return IsWidening(kernel_.ops[id]); });
}

void NestLowering::MayJoinSum(llvm::Value* value) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction != nullptr) instruction->setHasAllowContract(true);
}

bool NestLowering::JoinsSum(llvm::Value* value) {
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return product != nullptr && product->getOpcode() == llvm::Instruction::FMul && product->hasAllowContract();
}

Value NestLowering::WidenPairs(const Value& pairs) {
  constexpr uint64_t kHalf = 16;
  auto* words_type = llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(vector_->lanes() / 2));
  llvm::Value* words = b_.CreateBitCast(pairs.value, words_type);
  llvm::Value* even = b_.CreateShl(words, llvm::ConstantInt::get(words_type, kHalf));
  llvm::Value* odd = b_.CreateAnd(words, llvm::ConstantInt::get(words_type, uint64_t{0xffff} << kHalf));
  llvm::SmallVector<int, 64> all;
  for (int lane = 0; lane < vector_->lanes(); ++lane) all.push_back(lane);
  auto* floats = llvm::FixedVectorType::get(b_.getFloatTy(), static_cast<unsigned>(vector_->lanes()));
  return {PrimitiveType::kF32, b_.CreateBitCast(b_.CreateShuffleVector(even, odd, all), floats)};
}

llvm::Value* NestLowering::InPairs(llvm::Value* mask) {
  llvm::SmallVector<int, 64> lanes;
  for (int first : {0, 1}) {
    for (int lane = first; lane < vector_->lanes(); lane += 2) lanes.push_back(lane);
  }
  return b_.CreateShuffleVector(mask, lanes);
}

}  // namespace kiln::kernel
