// The functions of a matrix product: tasks, blocks, and calls of micro-kernels.
#include "src/cpu/gemm.h"

#include <algorithm>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/llvm_loop.h"

namespace kiln::cpu {

GemmEmitter::GemmEmitter(const GemmSpec& spec, const GemmPlan& plan, const GemmArithmetic& arithmetic,
                         llvm::Module& module)
    : spec_(spec),
      schedule_(plan.schedule),
      arithmetic_(arithmetic),
      problem_(MakeGemmProblem(spec, plan.schedule.swapped, plan.schedule.depth)),
      layout_(MakeGemmLayout(problem_, plan.schedule, arithmetic, spec)),
      dot_(plan.schedule.kind == GemmSchedule::Kind::kDot),
      module_(module),
      b_(module.getContext()) {}

GemmEmitter::Entry GemmEmitter::BeginFunction(const std::string& name) {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, pointer, pointer, i64, i64}, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  static constexpr const char* kNames[] = {"lhs", "rhs", "out", "scratch", "extra", "begin", "end"};
  for (int i = 0; i < 7; ++i) function->getArg(i)->setName(kNames[i]);
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function));
  Entry entry{function,
              function->getArg(0),
              function->getArg(1),
              function->getArg(2),
              function->getArg(3),
              function->getArg(4),
              function->getArg(5),
              function->getArg(6)};
  if (spec_.padding.empty()) entry.lhs = At(entry.lhs, spec_.lhs_offset * StoredElement(spec_.lhs.type));
  entry.rhs = At(entry.rhs, spec_.rhs_offset * StoredElement(spec_.rhs.type));
  entry.out = At(entry.out, spec_.out_offset * StoredElement(spec_.out.type));
  // The caller's lhs is the kernels' rhs in a transposed product.
  if (schedule_.swapped) std::swap(entry.lhs, entry.rhs);
  return entry;
}

llvm::Value* GemmEmitter::Scale(llvm::Value* value, int64_t factor) {
  if (factor == 1) return value;
  if (factor == 0) return Int(0);
  return b_.CreateMul(value, Int(factor));
}

llvm::Value* GemmEmitter::At(llvm::Value* base, llvm::Value* elements, int64_t element_bytes) {
  return b_.CreateGEP(b_.getInt8Ty(), base, Scale(elements, element_bytes));
}

llvm::Value* GemmEmitter::At(llvm::Value* base, int64_t bytes) {
  return bytes == 0 ? base : b_.CreateGEP(b_.getInt8Ty(), base, Int(bytes));
}

llvm::Value* GemmEmitter::Offset(const std::vector<GemmBatchDimension>& dimensions, llvm::Value* index,
                                 Operand operand) {
  llvm::Value* offset = Int(0);
  llvm::Value* rest = index;
  for (size_t i = dimensions.size(); i-- > 0;) {
    const GemmBatchDimension& dimension = dimensions[i];
    if (dimension.size == 1) continue;
    const int64_t stride = operand == Operand::kLhs   ? dimension.lhs_stride
                           : operand == Operand::kRhs ? dimension.rhs_stride
                                                      : dimension.out_stride;
    const bool outermost = std::all_of(dimensions.begin(), dimensions.begin() + i,
                                       [](const GemmBatchDimension& d) { return d.size == 1; });
    llvm::Value* position = outermost ? rest : b_.CreateURem(rest, Int(dimension.size));
    if (!outermost) rest = b_.CreateUDiv(rest, Int(dimension.size));
    if (stride != 0) offset = b_.CreateAdd(offset, Scale(position, stride));
  }
  return offset;
}

GemmEmitter::Round GemmEmitter::RoundOf(llvm::Value* task, int64_t tasks_per_round) {
  if (layout_.rounds() == 1) return {task, Int(0), Int(0), Int(0), Int(0), b_.getFalse(), b_.getFalse()};
  llvm::Value* rest = b_.CreateUDiv(task, Int(tasks_per_round));
  const auto next = [&](int64_t rounds) -> llvm::Value* {
    if (rounds == 1) return Int(0);
    llvm::Value* index = b_.CreateURem(rest, Int(rounds));
    rest = b_.CreateUDiv(rest, Int(rounds));
    return index;
  };
  llvm::Value* n = next(layout_.n_rounds);
  llvm::Value* m = next(layout_.m_rounds);
  llvm::Value* batch = next(layout_.batch_rounds);
  llvm::Value* next_batch = b_.CreateICmpNE(batch, Int(0));
  const bool lhs_stays = layout_.m_rounds == 1 && (layout_.lhs.padded || problem_.LhsRepeats());
  llvm::Value* lhs_is_packed = b_.CreateICmpNE(n, Int(0));
  if (lhs_stays) lhs_is_packed = b_.CreateOr(lhs_is_packed, next_batch);
  llvm::Value* rhs_is_packed = b_.CreateICmpNE(m, Int(0));
  if (problem_.RhsRepeats()) rhs_is_packed = b_.CreateOr(rhs_is_packed, next_batch);
  if (layout_.n_rounds > 1) rhs_is_packed = b_.getFalse();
  return {b_.CreateURem(task, Int(tasks_per_round)),
          Scale(batch, layout_.batches),
          Scale(m, layout_.m_chunk),
          Scale(n, layout_.n_chunk),
          m,
          lhs_is_packed,
          rhs_is_packed};
}

absl::Status GemmEmitter::CallMicroKernel(const Tile& origin, llvm::Value* m0, llvm::Value* n0, llvm::Value* k0,
                                          int64_t rows, int64_t columns) {
  Tile tile = origin;
  llvm::Value* row = m0;  // within the innermost part of m
  llvm::Value* lhs_offset = Int(0);
  if (!problem_.outer_rows.empty()) {
    llvm::Value* outer = b_.CreateUDiv(m0, Int(layout_.m_padded));
    row = b_.CreateURem(m0, Int(layout_.m_padded));
    lhs_offset = Offset(problem_.outer_rows, outer, Operand::kLhs);
    tile.out = At(tile.out, Offset(problem_.outer_rows, outer, Operand::kOut), StoredElement(problem_.out_type));
    tile.batch = b_.CreateAdd(Scale(tile.batch, problem_.m_outer), outer);
  }
  if (problem_.column_group > 0) {
    lhs_offset =
        b_.CreateAdd(lhs_offset, Scale(b_.CreateUDiv(n0, Int(problem_.column_group)), problem_.column_group_stride));
  }
  // Outer steps are found by the kernel itself.
  llvm::Value* lhs_k = problem_.outer_steps.empty() ? k0 : Int(0);
  llvm::Value* rhs_k = problem_.outer_steps.empty() || layout_.rhs.packed ? k0 : Int(0);
  lhs_offset =
      b_.CreateAdd(lhs_offset, b_.CreateAdd(Scale(row, layout_.lhs.block_stride), Scale(lhs_k, layout_.lhs.k_stride)));
  llvm::Value* rhs_offset = b_.CreateAdd(Scale(n0, layout_.rhs.block_stride), Scale(rhs_k, layout_.rhs.k_stride));
  tile.lhs = At(origin.lhs, lhs_offset, LhsBytes());
  tile.rhs = At(origin.rhs, rhs_offset, RhsBytes());
  tile.m = row;
  tile.n = n0;
  KILN_ASSIGN_OR_RETURN(llvm::Function * kernel, MicroKernel(rows, columns));
  std::vector<llvm::Value*> arguments = {tile.lhs, tile.rhs, tile.out, tile.extra, tile.batch, tile.m, tile.n};
  if (InParts()) {
    // `origin.partial` is the task's whole block; each tile has its own stretch of it.
    llvm::Value* m_in_block = b_.CreateURem(m0, Int(schedule_.m_block));
    llvm::Value* n_in_block = b_.CreateURem(n0, Int(schedule_.n_block));
    llvm::Value* offset = b_.CreateAdd(Scale(m_in_block, schedule_.n_block), Scale(n_in_block, schedule_.rows));
    tile.partial = At(origin.partial, offset, PartialBytes());
    arguments.insert(arguments.end(), {tile.steps, tile.first, tile.last, tile.partial, tile.outer_step});
  }
  b_.CreateCall(kernel, arguments);
  return absl::OkStatus();
}

absl::Status GemmEmitter::EmitColumnPanel(const Tile& origin, llvm::Value* n0, int64_t columns, llvm::Value* m_begin,
                                          llvm::Value* m_end, llvm::Value* k0) {
  const int64_t tail = problem_.m % schedule_.rows;
  absl::Status status;
  if (!problem_.outer_rows.empty()) {
    // Every outer row ends with a tile of what is left of m.
    EmitLoop(b_, m_begin, m_end, schedule_.rows, "m", [&](llvm::Value* m0) {
      const auto call = [&](int64_t rows) { status.Update(CallMicroKernel(origin, m0, n0, k0, rows, columns)); };
      if (tail == 0 || problem_.m < schedule_.rows) return call(std::min<int64_t>(problem_.m, schedule_.rows));
      llvm::Value* row = b_.CreateURem(m0, Int(layout_.m_padded));
      llvm::Value* whole = b_.CreateICmpSLE(row, Int(problem_.m - schedule_.rows));
      EmitIf(b_, whole, "m.whole", [&] { call(schedule_.rows); });
      EmitIf(b_, b_.CreateNot(whole), "m.tail", [&] { call(tail); });
    });
    return status;
  }
  EmitTiles("m", m_begin, m_end, problem_.m, schedule_.rows,
            [&](llvm::Value* m0, int64_t rows) { status.Update(CallMicroKernel(origin, m0, n0, k0, rows, columns)); });
  return status;
}

void GemmEmitter::EmitTiles(const char* name, llvm::Value* begin, llvm::Value* end, int64_t size, int64_t tile,
                            const std::function<void(llvm::Value*, int64_t)>& body) {
  const int64_t tail = size % tile;
  if (size >= tile) {
    llvm::Value* full_end = end;
    if (tail > 0) full_end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, Int(size - tail));
    EmitLoop(b_, begin, full_end, tile, name, [&](llvm::Value* at) { body(at, tile); });
  }
  if (tail == 0) return;
  llvm::Value* last = b_.CreateICmpEQ(end, Int(size));
  EmitIf(b_, last, llvm::Twine(name) + ".tail", [&] { body(Int(size - tail), tail); });
}

absl::StatusOr<llvm::Function*> GemmEmitter::EmitProduct(const std::string& name) {
  name_ = name;
  const Entry entry = BeginFunction(name);
  const GemmProblem& p = problem_;
  const int64_t blocks = layout_.m_blocks * layout_.n_blocks;
  if (p.batches == 0 || blocks == 0) {
    b_.CreateRetVoid();
    return entry.function;
  }
  if (schedule_.IsCompiled()) {
    KILN_RETURN_IF_ERROR(EmitBlocks(entry));
    return entry.function;
  }
  llvm::Value* partial = nullptr;
  if (InParts()) {
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), schedule_.m_block * schedule_.n_block * PartialBytes());
    llvm::AllocaInst* alloca = b_.CreateAlloca(type, nullptr, "partial");
    alloca->setAlignment(llvm::Align(64));
    partial = alloca;
  }
  absl::Status status;
  const auto product = [&](const Round& round, llvm::Value* task) {
    // Neighbouring tasks share a block of rhs columns.
    llvm::Value* m_block_index = layout_.m_blocks == 1 ? Int(0) : b_.CreateURem(task, Int(layout_.m_blocks));
    llvm::Value* rest = layout_.m_blocks == 1 ? task : b_.CreateUDiv(task, Int(layout_.m_blocks));
    llvm::Value* n_block_index = layout_.n_blocks == 1  ? Int(0)
                                 : layout_.batches == 1 ? rest
                                                        : b_.CreateURem(rest, Int(layout_.n_blocks));
    if (layout_.n_blocks > 1) rest = b_.CreateUDiv(rest, Int(layout_.n_blocks));
    llvm::Value* slot = layout_.batches == 1 ? Int(0) : rest;
    llvm::Value* batch = b_.CreateAdd(round.batch, slot);

    Tile origin{};
    origin.extra = entry.extra;
    origin.batch = batch;
    origin.partial = partial;
    origin.lhs =
        layout_.lhs.padded
            ? At(At(entry.scratch, layout_.lhs.scratch_offset + spec_.lhs_offset * LhsBytes()),
                 b_.CreateSub(BatchOffset(batch, Operand::kLhs), Scale(round.m_index, layout_.lhs.round_stride)),
                 LhsBytes())
        : layout_.lhs.packed
            ? At(At(entry.scratch, layout_.lhs.scratch_offset),
                 b_.CreateSub(Scale(slot, layout_.lhs.batch_stride), Scale(round.m, layout_.lhs.block_stride)),
                 LhsBytes())
            : At(entry.lhs, BatchOffset(batch, Operand::kLhs), LhsBytes());
    origin.rhs = layout_.rhs.packed
                     ? At(At(entry.scratch, layout_.rhs.scratch_offset),
                          b_.CreateSub(Scale(slot, layout_.rhs.batch_stride), Scale(round.n, layout_.rhs.block_stride)),
                          RhsBytes())
                     : At(entry.rhs, BatchOffset(batch, Operand::kRhs), RhsBytes());
    origin.out = At(entry.out, BatchOffset(batch, Operand::kOut), StoredElement(p.out_type));

    const auto block = [&](llvm::Value* first, llvm::Value* index, int64_t blocks, int64_t rounds, int64_t block,
                           int64_t size) {
      if (blocks * rounds == 1) return std::pair<llvm::Value*, llvm::Value*>(Int(0), Int(size));
      llvm::Value* begin = b_.CreateAdd(first, Scale(index, block));
      llvm::Value* end = b_.CreateAdd(begin, Int(block));
      if (size % block != 0) end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, Int(size));
      return std::pair<llvm::Value*, llvm::Value*>(begin, end);
    };
    const auto m_range =
        block(round.m, m_block_index, layout_.m_blocks, layout_.m_rounds, schedule_.m_block, layout_.m_total);
    const auto n_range = block(round.n, n_block_index, layout_.n_blocks, layout_.n_rounds, schedule_.n_block, p.n);

    // The last round along a side may have fewer blocks.
    llvm::Value* exists = b_.getTrue();
    if (layout_.batch_rounds > 1) exists = b_.CreateAnd(exists, b_.CreateICmpSLT(batch, Int(p.batches)));
    if (layout_.m_rounds > 1) exists = b_.CreateAnd(exists, b_.CreateICmpSLT(m_range.first, Int(layout_.m_total)));
    if (layout_.n_rounds > 1) exists = b_.CreateAnd(exists, b_.CreateICmpSLT(n_range.first, Int(p.n)));
    EmitIf(b_, exists, "exists", [&] {
      EmitLoop(b_, Int(0), Int(std::max<int64_t>(p.k_total(), 1)), std::max<int64_t>(schedule_.k_block, 1), "k",
               [&](llvm::Value* k0) {
                 if (InParts()) {
                   llvm::Value* left = b_.CreateSub(Int(p.k_total()), k0);
                   origin.steps = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, Int(schedule_.k_block));
                   origin.first = b_.CreateICmpEQ(k0, Int(0));
                   origin.last = b_.CreateICmpSLE(left, Int(schedule_.k_block));
                   origin.outer_step = Int(0);
                   if (p.k_outer > 1) {
                     origin.steps = b_.CreateUDiv(origin.steps, Int(p.k));
                     origin.outer_step = b_.CreateUDiv(k0, Int(p.k));
                   }
                 }
                 if (schedule_.rows_first) {
                   EmitTiles("m", m_range.first, m_range.second, p.m, schedule_.rows,
                             [&](llvm::Value* m0, int64_t rows) {
                               EmitTiles("n", n_range.first, n_range.second, p.n, TileColumns(),
                                         [&](llvm::Value* n0, int64_t columns) {
                                           status.Update(CallMicroKernel(origin, m0, n0, k0, rows, columns));
                                         });
                             });
                   return;
                 }
                 EmitTiles("n", n_range.first, n_range.second, p.n, TileColumns(),
                           [&](llvm::Value* n0, int64_t columns) {
                             status.Update(EmitColumnPanel(origin, n0, columns, m_range.first, m_range.second, k0));
                           });
               });
    });
  };
  EmitLoop(b_, entry.begin, entry.end, 1, "task", [&](llvm::Value* task) {
    const Round round = RoundOf(task, layout_.batches * blocks);
    product(round, round.task);
  });
  b_.CreateRetVoid();
  KILN_RETURN_IF_ERROR(status);
  return entry.function;
}

absl::StatusOr<llvm::Function*> EmitGemmPhase(const GemmSpec& spec, const GemmPlan& plan, size_t phase,
                                              llvm::Module& module) {
  KILN_ASSIGN_OR_RETURN(const GemmArithmetic arithmetic,
                        GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type));
  const std::string& name = plan.phases[phase].function;
  GemmEmitter emitter(spec, plan, arithmetic, module);
  return phase + 1 < plan.phases.size() ? emitter.EmitPack(name) : emitter.EmitProduct(name);
}

}  // namespace kiln::cpu
