#include "src/kernel/lower_nest.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/status.h"
#include "src/kernel/index_lowering.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/scalar_computation.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

namespace {

// Emits one nest. Ops are emitted at the depth of the innermost loop they depend on; those that differ between
// the lanes of the current vector loop are vectors, the others stay scalars.
class NestLowering {
 public:
  NestLowering(llvm::IRBuilder<>* builder, const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
               const TargetInfo& target, absl::Span<llvm::Value* const> parameters)
      : b_(*builder),
        kernel_(kernel),
        nest_(nest),
        schedule_(schedule),
        target_(target),
        parameters_(parameters),
        scalar_(builder, 1, target.target),
        index_(builder, kernel.terms),
        values_(kernel.ops.size()) {}

  absl::Status Run(llvm::Value* begin, llvm::Value* end) {
    begin_ = begin;
    end_ = end;
    return LowerLevel(nest_.body, schedule_.order, schedule_.task_loops, 0, schedule_.vector_loop, schedule_.lanes,
                      [] { return absl::OkStatus(); });
  }

 private:
  using Innermost = std::function<absl::Status()>;

  // ---- Loops ----

  // for (i = first; i < limit; i += step) body(i)
  absl::Status EmitLoop(llvm::Value* first, llvm::Value* limit, int64_t step,
                        const std::function<absl::Status(llvm::Value*)>& body) {
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    llvm::LLVMContext& context = b_.getContext();
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "loop", function);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function);
    b_.CreateCondBr(b_.CreateICmpSLT(first, limit), loop, after);
    b_.SetInsertPoint(loop);
    llvm::PHINode* variable = b_.CreatePHI(b_.getInt64Ty(), 2);
    variable->addIncoming(first, before);
    KILN_RETURN_IF_ERROR(body(variable));
    llvm::Value* next = b_.CreateAdd(variable, b_.getInt64(step), "", /*HasNUW=*/true, /*HasNSW=*/true);
    variable->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, limit), loop, after);
    b_.SetInsertPoint(after);
    return absl::OkStatus();
  }

  // Depth of a set of loops in `order`: one past the innermost of them, 0 when it has none of them.
  int DepthOf(uint64_t loops, const std::vector<int>& order, int flattened) const {
    int depth = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if ((loops >> order[i] & 1) != 0) depth = static_cast<int>(i) + 1;
    }
    return depth > 0 && depth < flattened ? flattened : depth;
  }

  int StatementDepth(const Block::Statement& statement, const std::vector<int>& order, int flattened) const {
    const int innermost = static_cast<int>(order.size());
    switch (statement.kind) {
      case Block::Kind::kOp: {
        return DepthOf(kernel_.ops[statement.index].loops, order, flattened);
      }
      case Block::Kind::kReduce:
        return DepthOf(kernel_.reduces[statement.index].outer_loops, order, flattened);
      case Block::Kind::kStore:
        return innermost;
    }
    return innermost;
  }

  // Emits what stands at `depth` of `block`, then the loop below it. The first `flattened` loops run as one.
  absl::Status LowerLevel(const Block& block, const std::vector<int>& order, int flattened, int depth, int vector_loop,
                          int lanes, const Innermost& innermost) {
    for (const Block::Statement& statement : block.statements) {
      if (StatementDepth(statement, order, flattened) != depth) continue;
      KILN_RETURN_IF_ERROR(LowerStatement(statement));
    }
    if (depth == static_cast<int>(order.size())) return innermost();
    auto deeper = [&](int next_depth) {
      return LowerLevel(block, order, flattened, next_depth, vector_loop, lanes, innermost);
    };
    const bool is_task_level = depth == 0 && flattened > 0;
    if (is_task_level && order[0] != vector_loop) return LowerFlattened(order, flattened, deeper);
    const int loop = order[depth];
    if (loop == vector_loop) {
      return LowerVectorLoop(loop, lanes, is_task_level && flattened > 0, [&] { return deeper(depth + 1); });
    }
    return EmitLoop(b_.getInt64(0), b_.getInt64(kernel_.loops[loop].extent), 1, [&](llvm::Value* variable) {
      index_.SetLoop(loop, variable);
      return deeper(depth + 1);
    });
  }

  // One loop over the iterations of the leading loops, whose variables are taken apart inside.
  absl::Status LowerFlattened(const std::vector<int>& order, int flattened,
                              const std::function<absl::Status(int)>& deeper) {
    llvm::Value* begin = begin_ != nullptr ? begin_ : b_.getInt64(0);
    llvm::Value* end = end_ != nullptr ? end_ : b_.getInt64(schedule_.task_count);
    return EmitLoop(begin, end, 1, [&](llvm::Value* task) {
      llvm::Value* rest = task;
      for (int i = flattened - 1; i >= 0; --i) {
        llvm::Value* extent = b_.getInt64(kernel_.loops[order[i]].extent);
        index_.SetLoop(order[i], i == 0 ? rest : b_.CreateURem(rest, extent));
        if (i > 0) rest = b_.CreateUDiv(rest, extent);
      }
      return deeper(flattened);
    });
  }

  // Full vectors, then one masked vector for what is left.
  absl::Status LowerVectorLoop(int loop, int lanes, bool is_task_loop, const std::function<absl::Status()>& body) {
    const int64_t extent = kernel_.loops[loop].extent;
    const int64_t whole = extent / lanes * lanes;
    const int outer_loop = std::exchange(vector_loop_, loop);
    auto outer_vector = std::exchange(vector_, std::make_unique<ScalarEmitter>(&b_, lanes, target_.target));
    index_.SetVector(loop, lanes);
    auto at = [&](llvm::Value* variable) {
      index_.SetLoop(loop, variable);
      return body();
    };
    absl::Status status = [&]() -> absl::Status {
      if (!is_task_loop) {
        if (whole > 0) {
          KILN_RETURN_IF_ERROR(EmitLoop(b_.getInt64(0), b_.getInt64(whole), lanes, at));
        }
        if (whole < extent) KILN_RETURN_IF_ERROR(LowerTail(whole, extent - whole, lanes, at));
        return absl::OkStatus();
      }
      llvm::Value* begin = begin_ != nullptr ? b_.CreateMul(begin_, b_.getInt64(schedule_.block)) : b_.getInt64(0);
      llvm::Value* end = end_ != nullptr ? b_.CreateMul(end_, b_.getInt64(schedule_.block)) : b_.getInt64(extent);
      llvm::Value* limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b_.getInt64(whole));
      if (whole > 0) KILN_RETURN_IF_ERROR(EmitLoop(begin, limit, lanes, at));
      if (whole == extent) return absl::OkStatus();
      if (end_ == nullptr) return LowerTail(whole, extent - whole, lanes, at);
      // The last task has the tail.
      llvm::Function* function = b_.GetInsertBlock()->getParent();
      llvm::BasicBlock* tail = llvm::BasicBlock::Create(b_.getContext(), "tail", function);
      llvm::BasicBlock* done = llvm::BasicBlock::Create(b_.getContext(), "done", function);
      b_.CreateCondBr(b_.CreateICmpSGE(end, b_.getInt64(extent)), tail, done);
      b_.SetInsertPoint(tail);
      KILN_RETURN_IF_ERROR(LowerTail(whole, extent - whole, lanes, at));
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
      return absl::OkStatus();
    }();
    vector_ = std::move(outer_vector);
    vector_loop_ = outer_loop;
    index_.SetVector(outer_loop, vector_ != nullptr ? vector_->lanes() : 1);
    return status;
  }

  absl::Status LowerTail(int64_t first, int64_t count, int lanes,
                         const std::function<absl::Status(llvm::Value*)>& at) {
    std::vector<llvm::Constant*> bits;
    for (int i = 0; i < lanes; ++i) bits.push_back(b_.getInt1(i < count));
    llvm::Value* outer = std::exchange(mask_, llvm::ConstantVector::get(bits));
    absl::Status status = at(b_.getInt64(first));
    mask_ = outer;
    return status;
  }

  // ---- Values ----

  bool Varies(uint64_t loops) const { return vector_loop_ >= 0 && (loops >> vector_loop_ & 1) != 0; }

  // The value of an op as the current context needs it: a vector when `vector`, splat where it is uniform.
  Value Get(ValueId id, bool vector) {
    const Value& value = values_[id];
    if (!vector || value.value->getType()->isVectorTy()) return value;
    return MemoryAccess(&scalar_, vector_.get()).Splat(value);
  }

  llvm::Value* CombineMasks(llvm::Value* a, llvm::Value* b) {
    if (a == nullptr) return b;
    return b == nullptr ? a : b_.CreateAnd(a, b);
  }

  absl::Status LowerStatement(const Block::Statement& statement) {
    switch (statement.kind) {
      case Block::Kind::kOp: {
        KILN_ASSIGN_OR_RETURN(Value value, LowerOp(statement.index));
        values_[statement.index] = value;
        // Symbols read index values.
        if (kernel_.ops[statement.index].kind == OpKind::kToIndex) index_.SetSymbol(statement.index, value.value);
        return absl::OkStatus();
      }
      case Block::Kind::kReduce:
        return LowerReduce(statement.index);
      case Block::Kind::kStore:
        return LowerStore(kernel_.stores[statement.index]);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Value> LowerOp(ValueId id) {
    const Op& op = kernel_.ops[id];
    const bool vector = Varies(op.loops);
    ScalarEmitter& emitter = vector ? *vector_ : scalar_;
    switch (op.kind) {
      case OpKind::kLoad:
        return LowerLoad(op);
      case OpKind::kConstant:
        return emitter.Constant(op.literal, op.literal_index);
      case OpKind::kIndex: {
        Value index{PrimitiveType::kS64};
        index.value = vector ? index_.Vector(op.offset) : index_.Scalar(op.offset);
        // Vectors of indices are as narrow as their range allows.
        if (index.value->getType()->getScalarSizeInBits() == 32) index.type = PrimitiveType::kS32;
        return emitter.Convert(index, op.type);
      }
      case OpKind::kCondition: {
        llvm::Value* all = op.operands.empty() ? nullptr : Get(op.operands[0], vector).value;
        for (const Condition& condition : op.conditions) {
          llvm::Value* position = vector ? index_.Vector(condition.expr) : index_.Scalar(condition.expr);
          // One unsigned comparison holds both bounds.
          llvm::Type* type = position->getType();
          llvm::Value* distance =
              b_.CreateSub(position, llvm::ConstantInt::get(type, static_cast<uint64_t>(condition.low), true));
          llvm::Value* inside = b_.CreateICmpULT(
              distance, llvm::ConstantInt::get(type, static_cast<uint64_t>(condition.high - condition.low)));
          all = CombineMasks(all, inside);
        }
        return Value{PrimitiveType::kPred, all};
      }
      case OpKind::kToIndex:
        return LowerToIndex(op, vector);
      case OpKind::kElementwise: {
        std::vector<Value> operands;
        for (ValueId operand : op.operands) operands.push_back(Get(operand, vector));
        return EmitElementwise(&emitter, op.opcode, op.instruction, op.type, operands);
      }
      case OpKind::kReduced:
        // Set when its reduce was lowered.
        return values_[id];
    }
    return Internal("unknown kernel op");
  }

  absl::StatusOr<Value> LowerToIndex(const Op& op, bool vector) {
    const Value operand = Get(op.operands[0], vector);
    llvm::Type* i64 = b_.getInt64Ty();
    if (vector) i64 = llvm::FixedVectorType::get(i64, vector_->lanes());
    auto constant = [&](int64_t value) { return llvm::ConstantInt::get(i64, static_cast<uint64_t>(value)); };
    const bool is_unsigned = hlo::IsUnsignedIntegral(operand.type) || operand.type == PrimitiveType::kPred;
    llvm::Value* wide = is_unsigned ? b_.CreateZExt(operand.value, i64) : b_.CreateSExt(operand.value, i64);
    if (operand.type == PrimitiveType::kU64) {
      // Beyond the signed range means far too large, not negative.
      wide = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, wide, constant(INT64_MAX));
    }
    if (op.clamp) {
      wide = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide, constant(op.range.low));
      wide = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, wide, constant(op.range.high));
    }
    return Value{PrimitiveType::kS64, wide};
  }

  // ---- Memory ----

  Access AccessFor(const IndexExpr& offset) {
    Access access;
    int64_t stride;
    if (!LinearStride(kernel_.terms, offset, vector_loop_, vector_->lanes(), &stride)) {
      access.kind = Access::Kind::kIndexed;
      access.offsets = index_.Vector(offset, /*wide=*/true);
      return access;
    }
    access.offset = index_.Scalar(offset);
    access.stride = stride;
    access.kind = stride == 0    ? Access::Kind::kUniform
                  : stride == 1  ? Access::Kind::kContiguous
                  : stride == -1 ? Access::Kind::kReversed
                                 : Access::Kind::kStrided;
    return access;
  }

  Value LowerLoad(const Op& op) {
    llvm::Value* base = parameters_[op.parameter];
    if (!Varies(op.loops)) {
      MemoryAccess memory(&scalar_, &scalar_);
      llvm::Value* offset = index_.Scalar(op.offset);
      // A guarded load reads element 0 where the guard fails; what it guards is then not used.
      if (op.predicate != kNoValue) offset = b_.CreateSelect(values_[op.predicate].value, offset, b_.getInt64(0));
      return memory.LoadScalar(op.type, base, offset);
    }
    MemoryAccess memory(&scalar_, vector_.get());
    llvm::Value* mask = mask_;
    if (op.predicate != kNoValue) mask = CombineMasks(mask, Get(op.predicate, true).value);
    return memory.LoadVector(op.type, base, AccessFor(op.offset), mask);
  }

  absl::Status LowerStore(const Store& store) {
    llvm::Value* base = parameters_[store.parameter];
    const uint64_t loops = kernel_.terms.LoopsOf(store.offset);
    if (!Varies(loops) && !Varies(kernel_.ops[store.value].loops)) {
      MemoryAccess memory(&scalar_, &scalar_);
      llvm::Value* offset = index_.Scalar(store.offset);
      if (store.predicate == kNoValue) {
        memory.StoreScalar(values_[store.value], base, offset);
        return absl::OkStatus();
      }
      llvm::Function* function = b_.GetInsertBlock()->getParent();
      llvm::BasicBlock* write = llvm::BasicBlock::Create(b_.getContext(), "write", function);
      llvm::BasicBlock* done = llvm::BasicBlock::Create(b_.getContext(), "done", function);
      b_.CreateCondBr(values_[store.predicate].value, write, done);
      b_.SetInsertPoint(write);
      memory.StoreScalar(values_[store.value], base, offset);
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
      return absl::OkStatus();
    }
    MemoryAccess memory(&scalar_, vector_.get());
    llvm::Value* mask = mask_;
    if (store.predicate != kNoValue) mask = CombineMasks(mask, Get(store.predicate, true).value);
    memory.StoreVector(Get(store.value, true), base, AccessFor(store.offset), mask,
                       schedule_.streaming_stores && StreamsAligned(store));
    return absl::OkStatus();
  }

  // Every full vector of the store begins at a multiple of 64 bytes, given that the array does.
  bool StreamsAligned(const Store& store) const {
    const Parameter& parameter = kernel_.parameters[store.parameter];
    const int64_t width = hlo::ByteWidth(parameter.type);
    if (parameter.is_updated || store.offset.constant * width % 64 != 0) return false;
    for (const auto& [number, coefficient] : store.offset.terms) {
      const IndexTerms::Term& term = kernel_.terms.term(number);
      const bool is_vector_loop = term.kind == IndexTerms::Kind::kLoop && term.id == vector_loop_;
      if ((is_vector_loop ? vector_->lanes() : coefficient) * width % 64 != 0) return false;
    }
    return true;
  }

  // ---- Reductions ----

  absl::StatusOr<std::vector<Value>> Combine(const Reduce& reduce, ScalarEmitter* emitter,
                                             const std::vector<Value>& accumulators,
                                             const std::vector<Value>& elements) {
    if (reduce.combiner == nullptr) {
      KILN_ASSIGN_OR_RETURN(Value combined, EmitElementwise(emitter, reduce.combine_opcode, nullptr,
                                                            accumulators[0].type, {accumulators[0], elements[0]}));
      return std::vector<Value>{combined};
    }
    std::vector<Value> arguments = accumulators;
    arguments.insert(arguments.end(), elements.begin(), elements.end());
    return EmitScalarComputation(emitter, *reduce.combiner, arguments);
  }

  static llvm::Value* Part(const Value& value, int part) { return part == 0 ? value.value : value.imaginary; }

  absl::Status LowerReduce(int number) {
    const Reduce& reduce = kernel_.reduces[number];
    const ReduceSchedule& schedule = schedule_.reduces[number];
    const bool outer_vector = Varies(reduce.outer_loops);
    const bool own_vector = schedule.vector_loop >= 0 && !outer_vector;
    const int lanes = own_vector ? schedule.lanes : outer_vector ? vector_->lanes() : 1;
    ScalarEmitter lane_emitter(&b_, lanes, target_.target);
    ScalarEmitter* emitter = own_vector ? &lane_emitter : outer_vector ? vector_.get() : &scalar_;
    const size_t count = reduce.inits.size();
    std::vector<Value> inits;
    for (ValueId init : reduce.inits) inits.push_back(Get(init, outer_vector));

    // Without an identity the first vector of elements starts the accumulators; `empty` tells whether it is due.
    const bool takes_first = own_vector && reduce.combiner != nullptr;
    std::vector<Value> start = inits;
    if (own_vector) {
      for (size_t i = 0; i < count; ++i) {
        start[i] = reduce.combiner != nullptr
                       ? emitter->Zero(inits[i].type)
                       : emitter->Constant(CombinerIdentity(reduce.combine_opcode, inits[i].type), 0);
      }
    }
    std::vector<std::vector<llvm::AllocaInst*>> slots(count);
    for (size_t i = 0; i < count; ++i) {
      for (int part = 0; part < (start[i].imaginary != nullptr ? 2 : 1); ++part) {
        slots[i].push_back(Slot(Part(start[i], part)->getType()));
        b_.CreateStore(Part(start[i], part), slots[i][part]);
      }
    }
    llvm::AllocaInst* empty = nullptr;
    if (takes_first) {
      empty = Slot(b_.getInt1Ty());
      b_.CreateStore(b_.getTrue(), empty);
    }
    auto accumulators = [&] {
      std::vector<Value> values = start;
      for (size_t i = 0; i < count; ++i) {
        values[i].value = b_.CreateLoad(slots[i][0]->getAllocatedType(), slots[i][0]);
        if (values[i].imaginary != nullptr) {
          values[i].imaginary = b_.CreateLoad(slots[i][1]->getAllocatedType(), slots[i][1]);
        }
      }
      return values;
    };
    auto innermost = [&]() -> absl::Status {
      std::vector<Value> current = accumulators();
      std::vector<Value> elements;
      for (ValueId element : reduce.elements) elements.push_back(Get(element, own_vector || outer_vector));
      KILN_ASSIGN_OR_RETURN(std::vector<Value> combined, Combine(reduce, emitter, current, elements));
      if (takes_first) {
        llvm::Value* first = b_.CreateLoad(b_.getInt1Ty(), empty);
        for (size_t i = 0; i < count; ++i) combined[i] = emitter->Select(first, elements[i], combined[i]);
        b_.CreateStore(b_.getFalse(), empty);
      }
      if (reduce.predicate != kNoValue) {
        llvm::Value* holds = Get(reduce.predicate, own_vector || outer_vector).value;
        for (size_t i = 0; i < count; ++i) combined[i] = emitter->Select(holds, combined[i], current[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        if (own_vector && mask_ != nullptr) combined[i] = emitter->Select(mask_, combined[i], current[i]);
        for (size_t part = 0; part < slots[i].size(); ++part) {
          b_.CreateStore(Part(combined[i], static_cast<int>(part)), slots[i][part]);
        }
      }
      return absl::OkStatus();
    };
    // A mask of the outer vector does not concern the accumulators: lanes past the end are never stored.
    KILN_RETURN_IF_ERROR(LowerLevel(*reduce.block, schedule.order, 0, 0, own_vector ? schedule.vector_loop : -1, lanes,
                                    innermost));
    std::vector<Value> results = accumulators();
    if (own_vector) {
      KILN_ASSIGN_OR_RETURN(results, CombineLanes(reduce, std::move(results), lanes));
      KILN_ASSIGN_OR_RETURN(results, Combine(reduce, &scalar_, inits, results));
    }
    for (size_t i = 0; i < count; ++i) values_[reduce.results[i]] = results[i];
    return absl::OkStatus();
  }

  // Halves the vectors until one lane is left.
  absl::StatusOr<std::vector<Value>> CombineLanes(const Reduce& reduce, std::vector<Value> values, int lanes) {
    while (lanes > 1) {
      lanes /= 2;
      ScalarEmitter half(&b_, lanes, target_.target);
      auto take = [&](llvm::Value* vector, int first) -> llvm::Value* {
        if (vector == nullptr) return nullptr;
        if (lanes == 1) return b_.CreateExtractElement(vector, b_.getInt64(first));
        llvm::SmallVector<int, 64> mask;
        for (int i = 0; i < lanes; ++i) mask.push_back(first + i);
        return b_.CreateShuffleVector(vector, mask);
      };
      std::vector<Value> low, high;
      for (const Value& value : values) {
        low.push_back({value.type, take(value.value, 0), take(value.imaginary, 0)});
        high.push_back({value.type, take(value.value, lanes), take(value.imaginary, lanes)});
      }
      KILN_ASSIGN_OR_RETURN(values, Combine(reduce, &half, low, high));
    }
    return values;
  }

  // A stack slot in the function's entry, which becomes a register.
  llvm::AllocaInst* Slot(llvm::Type* type) {
    llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    return at_entry.CreateAlloca(type);
  }

  llvm::IRBuilder<>& b_;
  const Kernel& kernel_;
  const Nest& nest_;
  const NestSchedule& schedule_;
  const TargetInfo& target_;
  absl::Span<llvm::Value* const> parameters_;
  ScalarEmitter scalar_;
  std::unique_ptr<ScalarEmitter> vector_;  // while inside a vector loop
  int vector_loop_ = -1;
  llvm::Value* mask_ = nullptr;  // lanes inside the extent; null: all
  llvm::Value* begin_ = nullptr;
  llvm::Value* end_ = nullptr;
  IndexLowering index_;
  std::vector<Value> values_;
};

}  // namespace

absl::Status LowerNest(llvm::IRBuilder<>* builder, const Kernel& kernel, const Nest& nest,
                       const NestSchedule& schedule, const TargetInfo& target,
                       absl::Span<llvm::Value* const> parameters, llvm::Value* begin, llvm::Value* end) {
  return NestLowering(builder, kernel, nest, schedule, target, parameters).Run(begin, end);
}

}  // namespace kiln::kernel
