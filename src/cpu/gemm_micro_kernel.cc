// The tile kernel: rows x vectors sums in registers, one lhs element broadcast against each vector of rhs columns.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/llvm_loop.h"

namespace kiln::cpu {
namespace {

// Sums this small are written out without a loop. LLVM takes some thirty microseconds for each product.
constexpr int64_t kMaxStraightSteps = 16;
constexpr int64_t kMaxStraightProducts = 36;
constexpr int64_t kMaxInlinedProducts = 64;
// Two products a cycle, each of which takes four, keep so many sums busy.
constexpr int64_t kSumsAtOnce = 8;
constexpr int64_t kMaxSplit = 4;

}  // namespace

absl::StatusOr<llvm::Function*> GemmEmitter::MicroKernel(int64_t rows, int64_t columns) {
  llvm::Function*& function = micro_kernels_[{rows, columns}];
  if (function != nullptr) return function;
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  std::vector<llvm::Type*> types = {pointer, pointer, pointer, pointer, i64, i64, i64};
  if (InParts()) types.insert(types.end(), {i64, b_.getInt1Ty(), b_.getInt1Ty(), pointer, i64});
  function =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false), llvm::Function::InternalLinkage,
                             absl::StrCat(name_, ".", rows, "x", columns), module_);
  // Operands are only read; `out` may be read through `extra` by an epilogue.
  for (int i : {0, 1}) {
    if (!IsSingleTile(problem_, schedule_)) function->addParamAttr(i, llvm::Attribute::NoAlias);
    function->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  const int64_t products = rows * VectorsOf(columns) * problem_.k_total();
  const bool small = products <= kMaxInlinedProducts && !InParts();
  function->addFnAttr(small ? llvm::Attribute::AlwaysInline : llvm::Attribute::NoInline);

  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function));
  Tile tile{function->getArg(0), function->getArg(1), function->getArg(2), function->getArg(3),
            function->getArg(4), function->getArg(5), function->getArg(6)};
  if (InParts()) {
    tile.steps = function->getArg(7);
    tile.first = function->getArg(8);
    tile.last = function->getArg(9);
    tile.partial = function->getArg(10);
    tile.outer_step = function->getArg(11);
  }
  KILN_RETURN_IF_ERROR(dot_ ? EmitDotBody(tile, rows, columns) : EmitTileBody(tile, rows, columns));
  b_.CreateRetVoid();
  return function;
}

GemmEmitter::Sums GemmEmitter::ZeroSums(int64_t count) {
  Sums sums(count);
  for (GemmValue& sum : sums) {
    for (int part = 0; part < arithmetic_.parts(); ++part) {
      sum.part[part] = arithmetic_.Zero(b_.getContext(), schedule_.lanes);
    }
  }
  return sums;
}

GemmEmitter::Sums GemmEmitter::PhisOf(const Sums& sums, llvm::BasicBlock* from) {
  Sums phis(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    for (int part = 0; part < arithmetic_.parts(); ++part) {
      phis[i].part[part] = b_.CreatePHI(sums[i].part[part]->getType(), 2);
    }
  }
  AddIncoming(phis, sums, from);
  return phis;
}

void GemmEmitter::AddIncoming(const Sums& phis, const Sums& sums, llvm::BasicBlock* from) {
  for (size_t i = 0; i < phis.size(); ++i) {
    for (int part = 0; part < arithmetic_.parts(); ++part) {
      llvm::cast<llvm::PHINode>(phis[i].part[part])->addIncoming(sums[i].part[part], from);
    }
  }
}

GemmValue GemmEmitter::LoadLhs(llvm::Value* pointer) {
  const GemmOperandLayout& lhs = layout_.lhs;
  GemmValue value;
  if (problem_.depth > 1) {
    const llvm::Align align(static_cast<uint64_t>(GemmArithmetic::StoredBytes(lhs.type)));
    value.part[0] = SplatLanes(b_, b_.CreateAlignedLoad(b_.getInt32Ty(), pointer, align), schedule_.lanes);
    return value;
  }
  for (int part = 0; part < arithmetic_.parts(); ++part) {
    const int bytes = lhs.packed ? arithmetic_.part_bytes() : GemmArithmetic::StoredBytes(lhs.type);
    llvm::Type* type = lhs.packed ? arithmetic_.PartType(b_.getContext(), 1)
                                  : GemmArithmetic::StoredType(b_.getContext(), lhs.type, 1);
    llvm::Value* scalar = b_.CreateAlignedLoad(type, At(pointer, part * bytes), llvm::Align(bytes));
    if (!lhs.packed) scalar = arithmetic_.FromStored(b_, lhs.type, scalar);
    value.part[part] = SplatLanes(b_, scalar, schedule_.lanes);
  }
  return value;
}

GemmValue GemmEmitter::LoadLhsLanes(llvm::Value* pointer, int64_t vector, int64_t columns) {
  const GemmOperandLayout& lhs = layout_.lhs;
  const int lanes = schedule_.lanes;
  const int64_t group = problem_.column_group, stride = problem_.column_group_stride;
  const hlo::PrimitiveType type = lhs.packed ? arithmetic_.native_type() : lhs.type;
  const int64_t count = std::min<int64_t>(lanes, columns - vector * lanes);
  llvm::Value* first = At(pointer, vector * lanes / group * stride * LhsBytes());
  if (group == 1) return LoadLanes(first, type, stride, count, lanes);
  // A stretch of neighbours, spread over the columns of each group.
  const int64_t span = (CeilDivide(count, group) - 1) * stride + 1;
  const int width = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(span)));
  GemmValue value = LoadLanes(first, type, 1, span, width);
  std::vector<int> spread;
  for (int lane = 0; lane < lanes; ++lane) {
    spread.push_back(lane < count ? static_cast<int>(lane / group * stride) : llvm::PoisonMaskElem);
  }
  if (width == 1) {
    value.part[0] = SplatLanes(b_, value.part[0], lanes);
  } else {
    value.part[0] = b_.CreateShuffleVector(value.part[0], spread);
  }
  return value;
}

GemmValue GemmEmitter::LoadRhs(llvm::Value* pointer, int64_t vector, int64_t columns) {
  const GemmOperandLayout& rhs = layout_.rhs;
  const int lanes = schedule_.lanes;
  if (!rhs.packed && rhs.inner_stride == 0) {
    GemmValue value = LoadLanes(pointer, rhs.type, 1, 1, 1);
    for (int part = 0; part < arithmetic_.parts(); ++part) value.part[part] = SplatLanes(b_, value.part[part], lanes);
    return value;
  }
  if (!rhs.packed) {
    const int64_t count = std::min<int64_t>(lanes, columns - vector * lanes);
    return LoadLanes(At(pointer, vector * lanes * rhs.inner_stride * RhsBytes()), rhs.type, rhs.inner_stride, count,
                     lanes);
  }
  // The last packed micro-tile is padded, so whole vectors are there.
  GemmValue value;
  const int64_t vector_bytes = int64_t{lanes} * arithmetic_.part_bytes();
  for (int part = 0; part < arithmetic_.parts(); ++part) {
    llvm::Type* type = problem_.depth > 1 ? llvm::FixedVectorType::get(b_.getInt32Ty(), lanes)
                                          : arithmetic_.PartType(b_.getContext(), lanes);
    value.part[part] = b_.CreateAlignedLoad(type, At(pointer, (vector * arithmetic_.parts() + part) * vector_bytes),
                                            llvm::Align(std::min<int64_t>(vector_bytes, 64)));
  }
  return value;
}

void GemmEmitter::EmitTileStep(llvm::Value* lhs, llvm::Value* rhs, int64_t u, int64_t rows, int64_t columns,
                               Sums& sums) {
  const int64_t vectors = VectorsOf(columns);
  llvm::Value* rhs_step = At(rhs, u * layout_.rhs.k_stride * RhsBytes());
  std::vector<GemmValue> columns_of_rhs;
  for (int64_t vector = 0; vector < vectors; ++vector) columns_of_rhs.push_back(LoadRhs(rhs_step, vector, columns));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t offset = row * layout_.lhs.inner_stride + u * layout_.lhs.k_stride;
    llvm::Value* pointer = At(lhs, offset * LhsBytes());
    GemmValue element;
    if (problem_.column_group == 0) element = LoadLhs(pointer);
    for (int64_t vector = 0; vector < vectors; ++vector) {
      if (problem_.column_group > 0) element = LoadLhsLanes(pointer, vector, columns);
      GemmValue& sum = sums[row * vectors + vector];
      if (problem_.depth > 1) {
        sum.part[0] = arithmetic_.MultiplyAddGroups(b_, problem_.lhs_type, problem_.rhs_type, element.part[0],
                                                    columns_of_rhs[vector].part[0], sum.part[0]);
      } else {
        sum = arithmetic_.MultiplyAdd(b_, element, columns_of_rhs[vector], sum);
      }
    }
  }
  for (int64_t vector = 0; AddsOffset() && vector < vectors; ++vector) {
    // What the offset of lhs alone contributes.
    llvm::Value* zero = llvm::ConstantInt::get(llvm::FixedVectorType::get(b_.getInt32Ty(), schedule_.lanes), 0);
    GemmValue& sum = sums[rows * vectors + vector];
    sum.part[0] = arithmetic_.MultiplyAddGroups(b_, problem_.lhs_type, problem_.rhs_type, zero,
                                                columns_of_rhs[vector].part[0], sum.part[0]);
  }
}

GemmEmitter::Sums GemmEmitter::EmitSumLoop(llvm::Value* turns, int64_t unroll, llvm::Value*& lhs, llvm::Value*& rhs,
                                           Sums sums,
                                           const std::function<void(llvm::Value*, llvm::Value*, int64_t, Sums&)>& step,
                                           int64_t lhs_bytes, int64_t rhs_bytes) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(turns);
  if (constant != nullptr && constant->getSExtValue() <= 0) return sums;
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* entry = b_.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(b_.getContext(), "sum", function);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(b_.getContext(), "sum.end", function);
  if (constant != nullptr) {
    b_.CreateBr(loop);
  } else {
    b_.CreateCondBr(b_.CreateICmpSGT(turns, Int(0)), loop, exit);
  }

  b_.SetInsertPoint(loop);
  llvm::PHINode* count = b_.CreatePHI(b_.getInt64Ty(), 2);
  llvm::PHINode* lhs_phi = b_.CreatePHI(b_.getPtrTy(), 2);
  llvm::PHINode* rhs_phi = b_.CreatePHI(b_.getPtrTy(), 2);
  const Sums before = sums, phis = PhisOf(sums, entry);
  sums = phis;
  for (int64_t u = 0; u < unroll; ++u) step(lhs_phi, rhs_phi, u, sums);
  llvm::Value* lhs_next = At(lhs_phi, unroll * lhs_bytes);
  llvm::Value* rhs_next = At(rhs_phi, unroll * rhs_bytes);
  llvm::Value* left = b_.CreateSub(count, Int(1));
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  count->addIncoming(turns, entry);
  count->addIncoming(left, latch);
  lhs_phi->addIncoming(lhs, entry);
  lhs_phi->addIncoming(lhs_next, latch);
  rhs_phi->addIncoming(rhs, entry);
  rhs_phi->addIncoming(rhs_next, latch);
  AddIncoming(phis, sums, latch);
  b_.CreateCondBr(b_.CreateICmpNE(left, Int(0)), loop, exit);

  b_.SetInsertPoint(exit);
  if (constant != nullptr) {
    lhs = lhs_next;
    rhs = rhs_next;
    return sums;
  }
  const auto merge = [&](llvm::Value* skipped, llvm::Value* looped) {
    llvm::PHINode* phi = b_.CreatePHI(skipped->getType(), 2);
    phi->addIncoming(skipped, entry);
    phi->addIncoming(looped, latch);
    return phi;
  };
  lhs = merge(lhs, lhs_next);
  rhs = merge(rhs, rhs_next);
  const Sums merged = PhisOf(before, entry);
  AddIncoming(merged, sums, latch);
  return merged;
}

GemmEmitter::Sums GemmEmitter::EmitOuterSum(llvm::Value* begin, llvm::Value* count, Sums sums,
                                            const std::function<Sums(llvm::Value*, Sums)>& body) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* entry = b_.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(b_.getContext(), "outer", function);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(b_.getContext(), "outer.end", function);
  llvm::Value* end = b_.CreateAdd(begin, count);
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  const Sums phis = PhisOf(sums, entry);
  sums = body(index, phis);
  llvm::Value* next = b_.CreateAdd(index, Int(1));
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  index->addIncoming(begin, entry);
  index->addIncoming(next, latch);
  AddIncoming(phis, sums, latch);
  b_.CreateCondBr(b_.CreateICmpULT(next, end), loop, exit);
  b_.SetInsertPoint(exit);
  return sums;
}

GemmEmitter::Sums GemmEmitter::EmitInnerSum(llvm::Value* lhs, llvm::Value* rhs, int64_t rows, int64_t columns,
                                            Sums sums) {
  const int64_t unroll = problem_.k <= kMaxStraightSteps ? 1 : schedule_.unroll;
  const int64_t products = static_cast<int64_t>(sums.size()) * problem_.k;
  const bool loops = problem_.k > kMaxStraightSteps || products > kMaxStraightProducts;
  // A few sums wait for each other's last product: every so many steps they are others, and added up in the end.
  const auto count = static_cast<int64_t>(sums.size());
  int64_t ways = problem_.k_outer == 1 && (!loops || unroll >= kMaxSplit) ? kMaxSplit : 1;
  while (ways > 1 && (ways * count > kSumsAtOnce || problem_.k < 2 * ways)) ways /= 2;
  const Sums zeros = ZeroSums((ways - 1) * count);
  sums.insert(sums.end(), zeros.begin(), zeros.end());
  const auto step = [&](llvm::Value* lhs, llvm::Value* rhs, int64_t u, Sums& all) {
    const auto first = all.begin() + u % ways * count;
    Sums own(first, first + count);
    EmitTileStep(lhs, rhs, u, rows, columns, own);
    std::copy(own.begin(), own.end(), first);
  };
  int64_t straight = problem_.k;
  if (loops) {
    straight = problem_.k % unroll;
    sums = EmitSumLoop(Int(problem_.k / unroll), unroll, lhs, rhs, std::move(sums), step,
                       layout_.lhs.k_stride * LhsBytes(), layout_.rhs.k_stride * RhsBytes());
  }
  for (int64_t u = 0; u < straight; ++u) step(lhs, rhs, u, sums);
  for (; ways > 1; ways /= 2) {
    for (int64_t i = 0; i < ways / 2 * count; ++i) {
      for (int part = 0; part < arithmetic_.parts(); ++part) {
        sums[i].part[part] = arithmetic_.Add(b_, sums[i].part[part], sums[ways / 2 * count + i].part[part]);
      }
    }
  }
  sums.resize(count);
  return sums;
}

GemmEmitter::Sums GemmEmitter::EmitTileSum(const Tile& tile, int64_t rows, int64_t columns, Sums sums) {
  if (!AddsOffset()) return EmitGoSum(tile, rows, columns, std::move(sums));
  const size_t vectors = sums.size() / static_cast<size_t>(rows);
  const Sums offsets = ZeroSums(static_cast<int64_t>(vectors));
  sums.insert(sums.end(), offsets.begin(), offsets.end());
  sums = EmitGoSum(tile, rows, columns, std::move(sums));
  const size_t first = sums.size() - vectors;
  for (size_t i = 0; i < first; ++i) {
    sums[i].part[0] = b_.CreateSub(sums[i].part[0], sums[first + i % vectors].part[0]);
  }
  sums.resize(first);
  return sums;
}

GemmEmitter::Sums GemmEmitter::EmitGoSum(const Tile& tile, int64_t rows, int64_t columns, Sums sums) {
  if (problem_.k_outer > 1) {
    llvm::Value* begin = InParts() ? tile.outer_step : Int(0);
    return EmitOuterSum(
        begin, InParts() ? tile.steps : Int(problem_.k_outer), std::move(sums), [&](llvm::Value* index, Sums sums) {
          llvm::Value* rhs_offset = layout_.rhs.packed
                                        ? Scale(b_.CreateSub(index, begin), problem_.k * layout_.rhs.k_stride)
                                        : Offset(problem_.outer_steps, index, Operand::kRhs);
          llvm::Value* lhs = At(tile.lhs, Offset(problem_.outer_steps, index, Operand::kLhs), LhsBytes());
          return EmitInnerSum(Opaque(lhs), Opaque(At(tile.rhs, rhs_offset, RhsBytes())), rows, columns,
                              std::move(sums));
        });
  }
  if (!InParts()) return EmitInnerSum(tile.lhs, tile.rhs, rows, columns, std::move(sums));
  const auto step = [&](llvm::Value* lhs, llvm::Value* rhs, int64_t u, Sums& sums) {
    EmitTileStep(lhs, rhs, u, rows, columns, sums);
  };
  const int64_t lhs_bytes = layout_.lhs.k_stride * LhsBytes();
  const int64_t rhs_bytes = layout_.rhs.k_stride * RhsBytes();
  const int64_t unroll = schedule_.unroll;
  llvm::Value* lhs = tile.lhs;
  llvm::Value* rhs = tile.rhs;
  llvm::Value* turns = b_.CreateSDiv(tile.steps, Int(unroll));
  sums = EmitSumLoop(turns, unroll, lhs, rhs, std::move(sums), step, lhs_bytes, rhs_bytes);
  if (unroll == 1 || (problem_.k % schedule_.k_block % unroll == 0 && schedule_.k_block % unroll == 0)) return sums;
  llvm::Value* rest = b_.CreateSub(tile.steps, b_.CreateMul(turns, Int(unroll)));
  return EmitSumLoop(rest, 1, lhs, rhs, std::move(sums), step, lhs_bytes, rhs_bytes);
}

absl::Status GemmEmitter::EmitTileBody(const Tile& tile, int64_t rows, int64_t columns) {
  const int64_t vectors = VectorsOf(columns);
  Sums sums = EmitTileSum(tile, rows, columns, StartSums(tile, rows * vectors));
  return FinishSums(tile, std::move(sums), [&](Sums& sums) { return EmitStores(tile, rows, columns, sums); });
}

}  // namespace kiln::cpu
