// Values, loads and stores of a nest.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "absl/algorithm/container.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "src/base/cpu_tuning.h"
#include "src/base/isa_level.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"
#include "src/kernel/number_range.h"
#include "src/kernel/op_cost.h"
#include "src/kernel/scalar_computation.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

Value NestLowering::Get(ValueId id, bool vector) {
  const Value& value = values_[id];
  if (!vector || value.value->getType()->isVectorTy()) return value;
  return vector_->Splat(value);
}

llvm::Value* NestLowering::CombineMasks(llvm::Value* a, llvm::Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : b_.CreateAnd(a, b);
}

llvm::Value* NestLowering::LanesBelow(llvm::Value* count, int lanes) {
  // In 32 bits, which are one register.
  std::vector<llvm::Constant*> numbers;
  for (int lane = 0; lane < lanes; ++lane) numbers.push_back(b_.getInt32(static_cast<uint32_t>(lane)));
  llvm::Value* most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, b_.getInt64(lanes));
  return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers),
                          b_.CreateVectorSplat(lanes, b_.CreateTrunc(most, b_.getInt32Ty())));
}

absl::Status NestLowering::LowerStatement(const Block::Statement& statement) {
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
    case Block::Kind::kStore: {
      const Store& store = kernel_.stores[statement.index];
      has_stored_ = true;
      if (StoreToRowTile(statement.index)) return absl::OkStatus();
      if (threads_ == nullptr && vector_ != nullptr && LowerInterleaved(statement.index)) return absl::OkStatus();
      if (!WrittenByOneOfGroup()) return LowerStore(store);
      return EmitIf(CombineMasks(threads_->IsFirstOfGroup(), active_), [&] { return LowerStore(store); });
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> NestLowering::LowerOp(ValueId id) {
  const Op& op = kernel_.ops[id];
  const bool vector = Varies(op.loops);
  ScalarEmitter& emitter = vector ? *vector_ : scalar_;
  switch (op.kind) {
    case OpKind::kLoad:
      return LowerLoad(id);
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
      auto enforced = enforced_.find(id);
      const uint64_t held = enforced == enforced_.end() ? 0 : enforced->second;
      for (size_t i = 0; i < op.conditions.size(); ++i) {
        if (i < 64 && (held >> i & 1) != 0) continue;
        const Condition& condition = op.conditions[i];
        const Truth known = vector ? KnownInside(condition) : Truth::kUnknown;
        if (known == Truth::kTrue) continue;
        if (known == Truth::kFalse) {
          all = b_.CreateVectorSplat(vector_->lanes(), b_.getFalse());
          break;
        }
        llvm::Value* position = vector ? index_.Vector(condition.expr) : index_.Scalar(condition.expr);
        // One unsigned comparison holds both bounds.
        llvm::Type* type = position->getType();
        llvm::Value* distance =
            b_.CreateSub(position, llvm::ConstantInt::get(type, static_cast<uint64_t>(condition.low), true));
        llvm::Value* inside = b_.CreateICmpULT(
            distance, llvm::ConstantInt::get(type, static_cast<uint64_t>(condition.high - condition.low)));
        all = CombineMasks(all, inside);
      }
      if (all == nullptr) {
        all = b_.getTrue();
        if (vector) all = b_.CreateVectorSplat(vector_->lanes(), all);
      }
      return Value{PrimitiveType::kPred, all};
    }
    case OpKind::kToIndex:
      return LowerToIndex(op, vector);
    case OpKind::kElementwise: {
      if (Value value; LoadChosen(op, &value)) return value;
      if (IsDividedByOne(op)) return DivideByOne(op);
      if (in_pairs_ && vector && IsWidening(op)) return WidenPairs(Get(op.operands[0], vector));
      std::vector<Value> operands;
      for (ValueId operand : op.operands) operands.push_back(Get(operand, vector));
      if (op.opcode == hlo::Opcode::kDivide) operands[0].is_moderate = MayCorrectQuotient(kernel_, op);
      if (op.opcode == hlo::Opcode::kWhile) {
        // Each result has a call of its own; they are equal calls without side effects.
        KILN_ASSIGN_OR_RETURN(const std::vector<Value> state, EmitScalarLoop(&emitter, *op.instruction, operands));
        return state[op.literal_index];
      }
      KILN_ASSIGN_OR_RETURN(Value value, EmitElementwise(&emitter, op.opcode, op.instruction, op.type, operands));
      if (IsExactProduct(op)) MayJoinSum(value.value);
      return value;
    }
    case OpKind::kKey:
      return emitter.ExtremeKey(Get(op.operands[0], vector), op.opcode == hlo::Opcode::kMaximum);
    case OpKind::kOfKey:
      return emitter.OfExtremeKey(Get(op.operands[0], vector), op.type, op.opcode == hlo::Opcode::kMaximum);
    case OpKind::kExternal:
      return external_;
    case OpKind::kReduced:
      // Set when its reduce was lowered.
      return values_[id];
  }
  return Internal("unknown kernel op");
}

bool NestLowering::IsDividedByOne(const Op& op) const {
  if (op.opcode != hlo::Opcode::kDivide || op.operands.size() != 2 || !HasFma() || target_.target != Target::kCpu ||
      !Varies(op.loops) || Varies(kernel_.ops[op.operands[1]].loops) || !hlo::IsFloating(op.type) ||
      hlo::BitWidth(op.type) < 16 || kernel_.ops[op.operands[1]].kind == OpKind::kConstant) {
    return false;
  }
  // From where on it pays for the time that the code takes to make, and up to where memory is no slower than quotients
  // of rows that stay in the first cache; f16 is divided in twice as many vectors as it has.
  constexpr int64_t kLeastOfRow = 256, kLongRow = 1 << 13, kLeastOfAll = 1 << 18, kMostOfAll = 1 << 21;
  const int64_t row = kernel_.loops[vector_loop_].extent;
  int64_t all = 1;
  for (int loop : nest_.loops) all = std::min(kMostOfAll, all * kernel_.loops[loop].extent);
  const bool pays = op.type == PrimitiveType::kF16 || (all >= kLeastOfAll && all < kMostOfAll) || row >= kLongRow;
  return row >= kLeastOfRow && pays;
}

absl::StatusOr<Value> NestLowering::DivideByOne(const Op& op) {
  const Value dividend = Get(op.operands[0], /*vector=*/true), one = values_[op.operands[1]];
  const Value divisor = vector_->Splat(one), reciprocal = vector_->Splat(scalar_.ReciprocalOf(one));
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function); };
  llvm::BasicBlock *product = block("product"), *quotient = block("quotient"), *divided = block("divided");
  // As good as always, so that LLVM does not compute both.
  b_.CreateCondBr(scalar_.HasReciprocalNow(one), product, quotient,
                  llvm::MDBuilder(b_.getContext()).createLikelyBranchWeights());
  b_.SetInsertPoint(product);
  const Value by_product = vector_->DivideByReciprocal(dividend, divisor, reciprocal);
  b_.CreateBr(divided);
  b_.SetInsertPoint(quotient);
  KILN_ASSIGN_OR_RETURN(const Value by_quotient,
                        EmitElementwise(vector_.get(), op.opcode, op.instruction, op.type, {dividend, divisor}));
  b_.CreateBr(divided);
  b_.SetInsertPoint(divided);
  llvm::PHINode* result = b_.CreatePHI(by_product.value->getType(), 2);
  result->addIncoming(by_product.value, product);
  result->addIncoming(by_quotient.value, quotient);
  return Value{op.type, result};
}

absl::StatusOr<Value> NestLowering::LowerToIndex(const Op& op, bool vector) {
  const Value operand = Get(op.operands[0], vector);
  const bool narrow = vector && IsNarrowIndex(op) && operand.value->getType()->getScalarSizeInBits() <= 32;
  llvm::Type* type = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  if (vector) type = llvm::FixedVectorType::get(type, vector_->lanes());
  auto constant = [&](int64_t value) { return llvm::ConstantInt::get(type, static_cast<uint64_t>(value)); };
  const bool is_unsigned = hlo::IsUnsignedIntegral(operand.type) || operand.type == PrimitiveType::kPred;
  llvm::Value* index = is_unsigned ? b_.CreateZExt(operand.value, type) : b_.CreateSExt(operand.value, type);
  if (operand.type == PrimitiveType::kU64 || (narrow && is_unsigned)) {
    // Beyond the signed range means far too large, not negative.
    index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, constant(narrow ? op.range.high : INT64_MAX));
  }
  if (op.clamp) {
    index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index, constant(op.range.low));
    index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, constant(op.range.high));
  }
  return Value{narrow ? PrimitiveType::kS32 : PrimitiveType::kS64, index};
}

bool NestLowering::IsPlainSum(const IndexExpr& offset) const {
  return absl::c_all_of(offset.terms, [&](const auto& part) {
    const IndexTerms::Term& term = kernel_.terms.term(part.first);
    return term.kind == IndexTerms::Kind::kLoop || !Varies(term.loops);
  });
}

int64_t NestLowering::RoomOfLocal(int parameter) const {
  const Parameter& local = kernel_.parameters[parameter];
  const int64_t bytes = local.element_count() * hlo::ByteWidth(local.type);
  return HoldsLanes(parameter) ? bytes * schedule_.lanes : RoundUp(bytes, int64_t{4} * target_.vector_bytes);
}

llvm::Value* NestLowering::ArrayOf(int parameter) {
  const auto number = static_cast<size_t>(parameter);
  if (number >= parameters_.size()) parameters_.resize(kernel_.parameters.size());
  if (parameters_[number] != nullptr) return parameters_[number];
  // A local array, which is written before it is read.
  llvm::Type* type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(RoomOfLocal(parameter)));
  return parameters_[number] = Slot(type, /*alignment=*/64);
}

bool NestLowering::HoldsLanes(int parameter) const {
  return schedule_.vector_loop >= 0 && absl::c_any_of(kernel_.stores, [&](const Store& store) {
           const uint64_t left_out = kernel_.ops[store.value].loops & ~kernel_.terms.LoopsOf(store.offset);
           return store.parameter == parameter && (left_out >> schedule_.vector_loop & 1) != 0;
         });
}

bool NestLowering::IsLocalOfLanes(int parameter, const IndexExpr& offset) const {
  return kernel_.parameters[parameter].is_local && vector_loop_ >= 0 && !Varies(kernel_.terms.LoopsOf(offset)) &&
         HoldsLanes(parameter);
}

Access NestLowering::AccessFor(const IndexExpr& offset, bool of_lanes) {
  if (of_lanes) {
    return {.kind = Access::Kind::kContiguous,
            .offset = b_.CreateMul(index_.Scalar(offset), b_.getInt64(vector_->lanes()))};
  }
  int64_t stride;
  if (!LinearStride(kernel_.terms, offset, vector_loop_, vector_->lanes(), &stride) ||
      (!aligned_runs_ && !IsPlainSum(offset))) {
    if (Spread spread; aligned_runs_ && IsSpread(kernel_.terms, offset, vector_loop_, vector_->lanes(), &spread)) {
      return {.kind = Access::Kind::kSpread, .offset = index_.Scalar(spread.shared), .spread = std::move(spread)};
    }
    return {.kind = Access::Kind::kIndexed, .offsets = index_.Vector(offset)};
  }
  const Access::Kind kind = stride == 0    ? Access::Kind::kUniform
                            : stride == 1  ? Access::Kind::kContiguous
                            : stride == -1 ? Access::Kind::kReversed
                                           : Access::Kind::kStrided;
  return {.kind = kind, .offset = index_.Scalar(offset), .stride = stride};
}

bool NestLowering::HasRoom(int parameter, const Access& access) const {
  const auto number = static_cast<size_t>(parameter);
  const Parameter& array = kernel_.parameters[number];
  const bool is_known = array.is_local ? !HoldsLanes(parameter) : number < rooms_.size();
  if (!is_known || mask_ == nullptr || access.kind != Access::Kind::kContiguous) return false;
  const int64_t room = array.is_local ? RoomOfLocal(parameter) : rooms_[number];
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(access.offset);
  if (first == nullptr || hlo::IsComplex(array.type)) return false;
  // The tail is the array's: nothing of it is behind.
  const int64_t lanes = vector_->lanes(), begin = first->getSExtValue();
  return begin + kernel_.loops[vector_loop_].extent % lanes == array.element_count() &&
         (begin + lanes) * hlo::ByteWidth(array.type) <= room;
}

bool NestLowering::HoldsForRuns(ValueId predicate) const {
  const Op& op = kernel_.ops[predicate];
  if (!Varies(op.loops)) return true;
  if (op.kind != OpKind::kCondition) return false;
  return absl::c_all_of(op.operands, [&](ValueId operand) { return HoldsForRuns(operand); }) &&
         absl::c_all_of(op.conditions, [&](const Condition& condition) {
           return absl::c_all_of(condition.expr.terms, [&](const auto& part) {
             const IndexTerms::Term& term = kernel_.terms.term(part.first);
             return !Varies(term.loops) || (term.kind == IndexTerms::Kind::kMod &&
                                            kernel_.terms.PhaseOf(term, vector_loop_, vector_->lanes()) >= 0);
           });
         });
}

void NestLowering::AddPlainLoads(const Block& block) {
  for (const Block::Statement& at : block.statements) {
    if (at.kind == Block::Kind::kReduce) AddPlainLoads(*kernel_.reduces[at.index].block);
    if (at.kind != Block::Kind::kOp) continue;
    const Op& op = kernel_.ops[at.index];
    if (op.kind == OpKind::kLoad && op.predicate == kNoValue) plain_loads_.push_back(at.index);
  }
}

void NestLowering::JoinNeighbours(const Op& op, Access* access) {
  if (access->kind != Access::Kind::kStrided || !IsNearby(access->stride, vector_->lanes()) ||
      op.predicate != kNoValue || hlo::IsComplex(op.type)) {
    return;
  }
  if (plain_loads_.empty()) AddPlainLoads(nest_.body);
  std::vector<int64_t> places;  // of loads in the same loops, which run for the same lanes
  for (ValueId load : plain_loads_) {
    const Op& other = kernel_.ops[load];
    if (other.parameter == op.parameter && other.offset.terms == op.offset.terms) {
      places.push_back(other.offset.constant);
    }
  }
  // Stretches of `stride` elements from the first one on: all in one of them load the same vectors.
  const int64_t first = *absl::c_min_element(places), own = (op.offset.constant - first) / access->stride;
  int64_t low = op.offset.constant, high = low;
  for (int64_t place : places) {
    if ((place - first) / access->stride != own) continue;
    low = std::min(low, place);
    high = std::max(high, place);
  }
  IndexExpr shared = op.offset;
  shared.constant = low;
  access->offset = index_.Scalar(shared);
  access->phase = op.offset.constant - low;
  access->last_phase = high - low;
}

llvm::Value* NestLowering::ArrayIfAsked(llvm::Value* asked, int parameter, llvm::Value* base) {
  const Parameter& array = kernel_.parameters[parameter];
  if (!kernel_.has_rows_alone || array.is_local || array.constant.has_value()) return base;
  // As much as any access without a mask reads.
  constexpr uint64_t kBytes = 4096;
  constexpr llvm::StringLiteral kName = "kiln.nothing";
  llvm::Module& module = *b_.GetInsertBlock()->getModule();
  llvm::GlobalVariable* nothing = module.getNamedGlobal(kName);
  if (nothing == nullptr) {
    llvm::Type* type = llvm::ArrayType::get(b_.getInt8Ty(), kBytes);
    nothing = new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                                       llvm::Constant::getNullValue(type), kName);
    nothing->setAlignment(llvm::Align(64));
  }
  return b_.CreateSelect(asked, base, nothing);
}

Value NestLowering::LowerLoad(ValueId id) {
  const Op& op = kernel_.ops[id];
  if (auto staged = staged_.find(id); staged != staged_.end()) return LoadFromTile(op, staged->second);
  if (Value value; LoadFromRowTile(id, &value)) return value;
  llvm::Value* base = ArrayOf(op.parameter);
  if (!Varies(op.loops)) {
    MemoryAccess memory(&scalar_, &scalar_);
    llvm::Value* offset = index_.Scalar(op.offset);
    if (IsLocalOfLanes(op.parameter, op.offset)) offset = b_.CreateMul(offset, b_.getInt64(vector_->lanes()));
    // A guarded load reads element 0 where the guard fails; what it guards is then not used.
    if (op.predicate != kNoValue) {
      llvm::Value* holds = values_[op.predicate].value;
      offset = b_.CreateSelect(holds, offset, b_.getInt64(0));
      base = ArrayIfAsked(holds, op.parameter, base);
    }
    return memory.LoadScalar(op.type, base, offset);
  }
  if (Value value; LowerWrapped(op, base, &value)) return value;
  MemoryAccess memory(&scalar_, vector_.get());
  llvm::Value* mask = mask_;
  Access access = AccessFor(op.offset, IsLocalOfLanes(op.parameter, op.offset));
  JoinNeighbours(op, &access);
  if (HasRoom(op.parameter, access)) mask = nullptr;
  if (op.predicate != kNoValue) {
    const bool spread = access.kind == Access::Kind::kSpread && access.spread.is_quotient;
    const bool varies = spread ? !HoldsForRuns(op.predicate) : Varies(kernel_.ops[op.predicate].loops);
    llvm::Value* holds = Get(op.predicate, true).value;
    const auto* always = llvm::dyn_cast<llvm::Constant>(holds);
    if (always == nullptr || !always->isAllOnesValue()) {
      // Where no lane reads, the first elements are as good as any, and there where some lane may read at all.
      const int64_t run = spread ? access.spread.high - access.spread.low + 1 : vector_->lanes();
      const bool none_or_all = !varies && (spread || access.kind == Access::Kind::kContiguous) &&
                               kernel_.parameters[op.parameter].element_count() >= run;
      if (!none_or_all) mask = CombineMasks(mask, holds);
      if (access.offset != nullptr && access.kind != Access::Kind::kUniform) {
        // Where no lane reads, the address may be far outside the array: processors take hundreds of cycles to find
        // that a masked load of a page that is not there does not fault.
        llvm::Value* any = values_[op.predicate].value;
        if (any->getType()->isVectorTy()) any = b_.CreateOrReduce(holds);
        const int64_t inside = access.kind == Access::Kind::kReversed ? vector_->lanes() - 1
                               : access.kind == Access::Kind::kSpread ? -access.spread.low
                                                                      : 0;
        access.offset = b_.CreateSelect(any, access.offset, b_.getInt64(static_cast<uint64_t>(inside)));
        base = ArrayIfAsked(any, op.parameter, base);
      }
      if (access.kind == Access::Kind::kUniform && mask != nullptr) {
        base = ArrayIfAsked(b_.CreateOrReduce(mask), op.parameter, base);
      }
    }
  }
  if (access.kind == Access::Kind::kSpread && op.predicate == kNoValue) {
    const Spread& spread = access.spread;
    const int64_t lanes = vector_->lanes(), first = spread.low & -lanes, last = spread.high & -lanes;
    access.reads_around = last - first <= lanes && spread.range.low + first >= 0 &&
                          spread.range.high + last + lanes <= kernel_.parameters[op.parameter].element_count();
  }
  if (mask == nullptr && access.kind == Access::Kind::kContiguous && !hlo::IsComplex(op.type)) {
    AskAhead(op, base, access.offset);
  }
  return memory.LoadVector(op.type, base, access, mask);
}

namespace {

// Whether a load reads the same array as another, some elements beside it.
bool IsBeside(const Op& op, const Op& other) {
  return other.kind == OpKind::kLoad && other.parameter == op.parameter && other.offset.terms == op.offset.terms;
}

}  // namespace

// How many neighbours in memory the loops around a load read before they go elsewhere: those of the reduction, and
// where these read all of a row, those around them.
int64_t NestLowering::StretchOf(const Op& op) const {
  int64_t stretch = kernel_.loops[vector_loop_].extent *
                    absl::c_count_if(kernel_.ops, [&](const Op& other) { return IsBeside(op, other); });
  std::vector<int> rest;
  for (int loop = 0; loop < static_cast<int>(kernel_.loops.size()); ++loop) {
    if (loop != vector_loop_ && (op.loops >> loop & 1) != 0 && kernel_.loops[loop].extent > 1) rest.push_back(loop);
  }
  for (const bool is_parallel : {false, true}) {
    const auto is_next = [&](int loop) {
      int64_t stride = 0;
      return (kernel_.loops[loop].kind == LoopKind::kParallel) == is_parallel &&
             LinearStride(kernel_.terms, op.offset, loop, 1, &stride) && stride == stretch;
    };
    for (auto next = absl::c_find_if(rest, is_next); next != rest.end(); next = absl::c_find_if(rest, is_next)) {
      stretch *= kernel_.loops[*next].extent;
      rest.erase(next);
    }
    if (absl::c_any_of(rest, [&](int loop) { return kernel_.loops[loop].kind != LoopKind::kParallel; })) break;
  }
  return stretch;
}

int64_t NestLowering::NextRows(const Op& op) const {
  constexpr size_t kMostOps = 256;
  constexpr int64_t kMostBytes = 256 << 10;  // half of the second-level cache
  const int64_t width = hlo::ByteWidth(op.type);
  if (Tuning().kernels.streams <= 1 || threads_ != nullptr || kernel_.ops.size() > kMostOps ||
      schedule_.task_loops == 0 || absl::c_any_of(kernel_.reduces, [](const Reduce& r) { return r.rows > 1; }) ||
      kernel_.parameters[op.parameter].element_count() * width < Tuning().kernels.stream_bytes) {
    return 0;
  }
  // Loads in all of the nest's loops run behind those in reduces.
  const uint64_t all = SetOf(nest_.loops);
  const auto is_late = [&](const Op& load) { return (load.loops & all) == all; };
  const Op* last = nullptr;
  int loads = 0;
  const std::function<void(const Block&)> visit = [&](const Block& block) {
    for (const Block::Statement& statement : block.statements) {
      if (statement.kind == Block::Kind::kReduce) visit(*kernel_.reduces[statement.index].block);
      if (statement.kind != Block::Kind::kOp) continue;
      const Op& load = kernel_.ops[statement.index];
      if (load.kind != OpKind::kLoad || load.parameter != op.parameter) continue;
      ++loads;
      if (last == nullptr || is_late(load) || !is_late(*last)) last = &load;
    }
  };
  visit(nest_.body);
  const int rows = schedule_.order[static_cast<size_t>(schedule_.task_loops - 1)];
  int64_t stride = 0;
  if (loads < 2 || last != &op || rows == vector_loop_ || !LinearStride(kernel_.terms, op.offset, rows, 1, &stride)) {
    return 0;
  }
  return stride * width <= kMostBytes ? stride * width : 0;
}

void NestLowering::AskAhead(const Op& op, llvm::Value* base, llvm::Value* offset) {
  constexpr int64_t kLineBytes = 64;
  const int64_t next = NextRows(op);
  const int64_t ahead = next > 0 ? next : Tuning().kernels.ahead_bytes, width = hlo::ByteWidth(op.type);
  const auto is_far = [](const Parameter& p) {
    return p.element_count() * hlo::ByteWidth(p.type) >= Tuning().products.far_bytes;
  };
  const bool is_of_reduce = threads_ == nullptr && vector_loop_ != schedule_.vector_loop;
  const auto is_other_stream = [&](const Op& other) {
    return IsBeside(op, other) && std::abs(other.offset.constant - op.offset.constant) * width > ahead;
  };
  // What reads several arrays, or long rows side by side, has as many streams already, and is slower with more
  // requests.
  if (next <= 0 && (ahead == 0 || !is_of_reduce || !is_far(kernel_.parameters[op.parameter]) ||
                    absl::c_count_if(kernel_.parameters, is_far) > 1 || absl::c_any_of(kernel_.ops, is_other_stream) ||
                    StretchOf(op) * width < 2 * ahead)) {
    return;
  }
  llvm::Type* element = scalar_.MemoryType(op.type);
  for (int64_t at = ahead; at < ahead + vector_->lanes() * width; at += kLineBytes) {
    llvm::Value* pointer =
        b_.CreateConstGEP1_64(b_.getInt8Ty(), b_.CreateGEP(element, base, offset), static_cast<uint64_t>(at));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                       {pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }
}

bool NestLowering::LoadChosen(const Op& op, Value* value) {
  if (op.opcode != hlo::Opcode::kSelect || !Varies(op.loops) || Varies(kernel_.ops[op.operands[0]].loops)) return false;
  const Op &a = kernel_.ops[op.operands[1]], &b = kernel_.ops[op.operands[2]];
  const auto is_plain = [&](ValueId id) {
    const Op& load = kernel_.ops[id];
    return load.kind == OpKind::kLoad && load.predicate == kNoValue && !staged_.contains(id) &&
           !kernel_.parameters[load.parameter].is_local && !kernel_.parameters[load.parameter].is_updated;
  };
  // What was stored meanwhile may be in the place of what is read.
  if (has_stored_ || !schedule_.row_tiles.empty() || !is_plain(op.operands[1]) || !is_plain(op.operands[2]) ||
      a.offset != b.offset || a.type != b.type) {
    return false;
  }
  llvm::Value* array = b_.CreateSelect(values_[op.operands[0]].value, ArrayOf(a.parameter), ArrayOf(b.parameter));
  *value = MemoryAccess(&scalar_, vector_.get()).LoadVector(op.type, array, AccessFor(a.offset), mask_);
  return true;
}

bool NestLowering::WrittenByOneOfGroup() const {
  return threads_ != nullptr && schedule_.over_groups &&
         schedule_.task_loops == static_cast<int>(schedule_.order.size());
}

absl::Status NestLowering::LowerStore(const Store& store) {
  llvm::Value* base = ArrayOf(store.parameter);
  const uint64_t loops = kernel_.terms.LoopsOf(store.offset);
  // One value for all lanes goes to the element of each, where other parts of the array differ between them.
  const bool of_lanes = IsLocalOfLanes(store.parameter, store.offset);
  if (!of_lanes && !Varies(loops) && !Varies(kernel_.ops[store.value].loops)) {
    MemoryAccess memory(&scalar_, &scalar_);
    llvm::Value* offset = index_.Scalar(store.offset);
    if (store.predicate == kNoValue) {
      memory.StoreScalar(values_[store.value], base, offset);
      return absl::OkStatus();
    }
    return EmitIf(values_[store.predicate].value, [&] {
      memory.StoreScalar(values_[store.value], base, offset);
      return absl::OkStatus();
    });
  }
  const Value value = Get(store.value, true);
  const Access access = AccessFor(store.offset, of_lanes);
  const auto write = [&](llvm::Value* mask) {
    MemoryAccess(&scalar_, vector_.get())
        .StoreVector(value, base, access, mask, schedule_.streaming_stores ? StreamingAlignment(store) : 0);
    return absl::OkStatus();
  };
  if (store.predicate == kNoValue) return write(HasRoom(store.parameter, access) ? nullptr : mask_);
  if (Varies(kernel_.ops[store.predicate].loops)) return write(CombineMasks(mask_, Get(store.predicate, true).value));
  // All lanes or none: some processors take long for a store with a mask, and for loads of what it wrote.
  return EmitIf(values_[store.predicate].value, [&] { return write(mask_); });
}

bool NestLowering::LowerInterleaved(int number) {
  const std::vector<int> group =
      InterleavedStores(kernel_, nest_, number, vector_loop_, aligned_runs_ ? vector_->lanes() : 1);
  if (group.empty()) return false;
  // All are written with the last.
  if (number != *std::max_element(group.begin(), group.end())) return true;
  std::vector<Value> values;
  for (int member : group) values.push_back(Get(kernel_.stores[member].value, true));
  const Store& first = kernel_.stores[group[0]];
  MemoryAccess(&scalar_, vector_.get())
      .StoreInterleaved(values, ArrayOf(first.parameter), index_.Scalar(first.offset), mask_,
                        schedule_.streaming_stores ? StreamingAlignment(first) : 0);
  return true;
}

int64_t NestLowering::StreamingAlignment(const Store& store) const {
  constexpr int64_t kLine = 64, kLeast = 32;
  const Parameter& parameter = kernel_.parameters[store.parameter];
  const int64_t width = hlo::ByteWidth(parameter.type), run = vector_->lanes() * width;
  // Of a tile each row goes to another line, which is to be whole.
  const int64_t least = schedule_.tile.store_loop >= 0 ? kLine : kLeast;
  const int64_t alignment = run % kLine == 0 ? std::clamp<int64_t>(target_.vector_bytes, least, kLine) : least;
  if (!aligned_runs_ || parameter.is_updated || parameter.is_local || run % alignment != 0 ||
      store.offset.constant * width % alignment != 0) {
    return 0;
  }
  for (const auto& [number, coefficient] : store.offset.terms) {
    const IndexTerms::Term& term = kernel_.terms.term(number);
    const bool is_vector_loop = term.kind == IndexTerms::Kind::kLoop && term.id == vector_loop_;
    if ((is_vector_loop ? vector_->lanes() : coefficient) * width % alignment != 0) return 0;
  }
  return alignment;
}

}  // namespace kiln::kernel
