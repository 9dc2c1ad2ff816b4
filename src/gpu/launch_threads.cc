#include "src/gpu/launch_threads.h"

#include <algorithm>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "src/base/status.h"

namespace kiln::gpu {

using kernel::LoopShare;
using kernel::ScalarEmitter;
using kernel::Target;
using kernel::Value;

namespace {

constexpr unsigned kSharedAddressSpace = 3;

llvm::Value* ReadRegister(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id) {
  return b.CreateZExt(b.CreateIntrinsic(id, {}, {}), b.getInt64Ty());
}

}  // namespace

LaunchThreads::LaunchThreads(llvm::IRBuilder<>* builder, const LaunchSchedule& schedule)
    : b_(*builder),
      group_threads_(schedule.group_threads),
      columns_(schedule.columns),
      block_threads_(schedule.block_threads),
      thread_(ReadRegister(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x)),
      block_(ReadRegister(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x)),
      blocks_(ReadRegister(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x)) {}

LoopShare LaunchThreads::OverThreads() {
  llvm::Value* size = b_.getInt64(block_threads_);
  return {b_.CreateAdd(b_.CreateMul(block_, size), thread_), b_.CreateMul(blocks_, size)};
}

LoopShare LaunchThreads::OverGroups() {
  const int per_block = block_threads_ / group_threads_;
  llvm::Value* groups = b_.getInt64(per_block);
  llvm::Value* group =
      columns_ > 1 ? b_.CreateURem(thread_, groups) : b_.CreateUDiv(thread_, b_.getInt64(group_threads_));
  return {b_.CreateAdd(b_.CreateMul(block_, groups), group), b_.CreateMul(blocks_, groups), columns_};
}

llvm::Value* LaunchThreads::ThreadInGroup() {
  return columns_ > 1 ? b_.CreateUDiv(thread_, b_.getInt64(columns_))
                      : b_.CreateURem(thread_, b_.getInt64(group_threads_));
}

LoopShare LaunchThreads::OverGroup() { return {ThreadInGroup(), b_.getInt64(group_threads_)}; }

LoopShare LaunchThreads::OverBlocks() { return {block_, blocks_}; }

llvm::Value* LaunchThreads::IsFirstOfGroup() { return b_.CreateICmpEQ(ThreadInGroup(), b_.getInt64(0)); }

llvm::Value* LaunchThreads::SharedMemory(llvm::Type* type, const std::string& name) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  return new llvm::GlobalVariable(*function->getParent(), type, /*isConstant=*/false,
                                  llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
                                  function->getName() + "_" + name, /*InsertBefore=*/nullptr,
                                  llvm::GlobalValue::NotThreadLocal, kSharedAddressSpace);
}

void LaunchThreads::Barrier() { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

llvm::Value* LaunchThreads::ExchangePart(llvm::Value* part, int distance) {
  llvm::Type* type = part->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Value* number = b_.CreateBitCast(part, b_.getIntNTy(bits));
  const unsigned words = (bits + 31) / 32;
  number = b_.CreateZExt(number, b_.getIntNTy(words * 32));
  llvm::Value* result = nullptr;
  for (unsigned word = 0; word < words; ++word) {
    llvm::Value* piece = b_.CreateTrunc(b_.CreateLShr(number, word * 32), b_.getInt32Ty());
    llvm::Value* other = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                                            {b_.getInt32(~0u), piece, b_.getInt32(distance), b_.getInt32(31)});
    other = b_.CreateShl(b_.CreateZExt(other, number->getType()), word * 32);
    result = result == nullptr ? other : b_.CreateOr(result, other);
  }
  return b_.CreateBitCast(b_.CreateTrunc(result, b_.getIntNTy(bits)), type);
}

std::vector<Value> LaunchThreads::Exchange(const std::vector<Value>& values, int distance) {
  std::vector<Value> others;
  for (const Value& value : values) {
    others.push_back({value.type, ExchangePart(value.value, distance),
                      value.imaginary == nullptr ? nullptr : ExchangePart(value.imaginary, distance)});
  }
  return others;
}

absl::StatusOr<std::vector<Value>> LaunchThreads::Butterfly(std::vector<Value> values, int lanes, bool commutative,
                                                            const kernel::CombineValues& combine) {
  ScalarEmitter emitter(&b_, 1, Target::kGpu);
  for (int distance = 1; distance < lanes; distance *= 2) {
    std::vector<Value> others = Exchange(values, distance);
    if (!commutative) {
      // Both threads of a pair combine in the same order and so get the same.
      llvm::Value* is_lower = b_.CreateICmpEQ(b_.CreateAnd(thread_, b_.getInt64(distance)), b_.getInt64(0), "is_lower");
      for (size_t i = 0; i < values.size(); ++i) {
        const Value own = values[i];
        values[i] = emitter.Select(is_lower, own, others[i]);
        others[i] = emitter.Select(is_lower, others[i], own);
      }
    }
    KILN_ASSIGN_OR_RETURN(values, combine(values, others));
  }
  return values;
}

std::vector<LaunchThreads::Slot> LaunchThreads::SlotsFor(std::vector<Value>* values, int threads) {
  ScalarEmitter emitter(&b_, 1, Target::kGpu);
  std::vector<Slot> slots;
  for (Value& value : *values) {
    for (llvm::Value** part : {&value.value, &value.imaginary}) {
      if (*part == nullptr) continue;
      llvm::Type* type = emitter.MemoryType(value.type);
      const int number = static_cast<int>(slots.size());
      llvm::Value*& memory = exchange_[{type, number}];
      if (memory == nullptr) {
        memory =
            SharedMemory(llvm::ArrayType::get(type, static_cast<uint64_t>(threads)), absl::StrCat("exchange", number));
      }
      slots.push_back({&value, part, type, memory});
    }
  }
  return slots;
}

void LaunchThreads::Write(const std::vector<Slot>& slots, llvm::Value* index) {
  ScalarEmitter emitter(&b_, 1, Target::kGpu);
  for (const Slot& slot : slots) {
    b_.CreateStore(emitter.ToMemory(slot.owner->type, *slot.part), b_.CreateInBoundsGEP(slot.type, slot.memory, index));
  }
}

void LaunchThreads::Read(const std::vector<Slot>& slots, llvm::Value* index) {
  ScalarEmitter emitter(&b_, 1, Target::kGpu);
  for (const Slot& slot : slots) {
    llvm::Value* stored = b_.CreateLoad(slot.type, b_.CreateInBoundsGEP(slot.type, slot.memory, index));
    *slot.part = emitter.FromMemory(slot.owner->type, stored);
  }
}

std::vector<Value> LaunchThreads::ShareOverWarps(std::vector<Value> values, int warps) {
  const std::vector<Slot> slots = SlotsFor(&values, warps);
  llvm::Value* lane = b_.CreateURem(thread_, b_.getInt64(kWarpThreads));
  llvm::Value* warp = b_.CreateUDiv(thread_, b_.getInt64(kWarpThreads));
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* write = llvm::BasicBlock::Create(b_.getContext(), "write", function);
  llvm::BasicBlock* written = llvm::BasicBlock::Create(b_.getContext(), "written", function);
  b_.CreateCondBr(b_.CreateICmpEQ(lane, b_.getInt64(0)), write, written);
  b_.SetInsertPoint(write);
  Write(slots, warp);
  b_.CreateBr(written);
  b_.SetInsertPoint(written);
  Barrier();
  Read(slots, b_.CreateURem(lane, b_.getInt64(warps)));
  // The next exchange overwrites this one.
  Barrier();
  return values;
}

absl::StatusOr<std::vector<Value>> LaunchThreads::CombineColumns(std::vector<Value> values,
                                                                 const kernel::CombineValues& combine) {
  const std::vector<Slot> slots = SlotsFor(&values, block_threads_);
  Write(slots, thread_);
  Barrier();
  llvm::Value* column = b_.CreateURem(thread_, b_.getInt64(columns_));
  Read(slots, column);
  std::vector<Value> sum = values;
  for (int row = 1; row < group_threads_; ++row) {
    Read(slots, b_.CreateAdd(column, b_.getInt64(row * columns_)));
    KILN_ASSIGN_OR_RETURN(sum, combine(sum, values));
  }
  Barrier();
  return sum;
}

absl::StatusOr<std::vector<Value>> LaunchThreads::CombineOverGroup(std::vector<Value> values, bool commutative,
                                                                   const kernel::CombineValues& combine) {
  if (group_threads_ <= 1) return values;
  if (columns_ > 1) return CombineColumns(std::move(values), combine);
  if (group_threads_ % kWarpThreads != 0 || (group_threads_ > kWarpThreads && group_threads_ != block_threads_)) {
    return Internal("a group of ", group_threads_, " threads in a block of ", block_threads_,
                    " is neither a warp nor the block");
  }
  KILN_ASSIGN_OR_RETURN(values, Butterfly(std::move(values), kWarpThreads, commutative, combine));
  const int warps = group_threads_ / kWarpThreads;
  if (warps == 1) return values;
  return Butterfly(ShareOverWarps(std::move(values), warps), warps, commutative, combine);
}

}  // namespace kiln::gpu
