#include "src/kernel/lower_nest.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"

namespace kiln::kernel {

absl::Status NestLowering::Run(llvm::Value* begin, llvm::Value* end) {
  begin_ = begin;
  end_ = end;
  const Loops loops{schedule_.order, NestSegments(), schedule_.vector_loop, schedule_.lanes};
  return LowerLevel(nest_.body, loops, 0, [] { return absl::OkStatus(); });
}

absl::StatusOr<Value> NestLowering::RunOnce(absl::Span<llvm::Value* const> loops, int vector_loop, int lanes,
                                            const Value& external) {
  for (size_t loop = 0; loop < loops.size(); ++loop) {
    if (loops[loop] != nullptr) index_.SetLoop(static_cast<int>(loop), loops[loop]);
  }
  if (lanes > 1) {
    vector_ = NewVector(lanes);
    vector_loop_ = vector_loop;
    // Vectors may begin anywhere.
    aligned_runs_ = false;
    index_.SetVector(vector_loop, lanes, aligned_runs_);
  }
  external_ = external;
  const Store* store = nullptr;
  for (const Block::Statement& statement : nest_.body.statements) {
    if (statement.kind == Block::Kind::kStore) {
      store = &kernel_.stores[statement.index];
    } else {
      KILN_RETURN_IF_ERROR(LowerStatement(statement));
    }
  }
  if (store == nullptr) return Internal("an epilogue without a result");
  return Get(store->value, /*vector=*/lanes > 1);
}

absl::Status NestLowering::RunBox(absl::Span<const LoopRange> box, int lanes, bool aligned) {
  std::vector<int> order;
  for (const LoopRange& range : box) {
    box_[range.loop] = range;
    order.push_back(range.loop);
  }
  aligned_runs_ = aligned;
  const Loops loops{order, {}, order.empty() ? -1 : order.back(), lanes};
  return LowerLevel(nest_.body, loops, 0, [] { return absl::OkStatus(); });
}

absl::Status NestLowering::EmitLoop(llvm::Value* first, llvm::Value* limit, llvm::Value* step, const LoopBody& body,
                                    bool is_some) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "loop", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function);
  if (is_some) {
    b_.CreateBr(loop);
  } else {
    b_.CreateCondBr(b_.CreateICmpSLT(first, limit), loop, after);
  }
  b_.SetInsertPoint(loop);
  llvm::PHINode* variable = b_.CreatePHI(b_.getInt64Ty(), 2);
  variable->addIncoming(first, before);
  KILN_RETURN_IF_ERROR(body(variable));
  llvm::Value* next = b_.CreateAdd(variable, step, "", /*HasNUW=*/true, /*HasNSW=*/true);
  variable->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, limit), loop, after);
  b_.SetInsertPoint(after);
  return absl::OkStatus();
}

absl::Status NestLowering::EmitBlocks(int loop, llvm::Value* first, llvm::Value* limit, llvm::Value* step,
                                      const LoopBody& body) {
  const Blocks blocks = BlocksOf(loop);
  if (blocks.empty()) return EmitLoop(first, limit, step, body);
  const auto *low = llvm::dyn_cast<llvm::ConstantInt>(first), *high = llvm::dyn_cast<llvm::ConstantInt>(limit),
             *stride = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool whole = low != nullptr && high != nullptr && stride != nullptr &&
                     (high->getSExtValue() - low->getSExtValue()) % (stride->getSExtValue() * blocks.back().size) == 0;
  return EmitBlocks(blocks, blocks.size(), first, limit, step, body, /*is_some=*/false, whole);
}

NestLowering::Blocks NestLowering::BlocksOf(int loop) const {
  auto found = blocks_.find(loop);
  return found == blocks_.end() ? Blocks() : found->second;  // a reduce inside may move the table
}

absl::Status NestLowering::EmitBlocks(const Blocks& blocks, size_t levels, llvm::Value* first, llvm::Value* limit,
                                      llvm::Value* step, const LoopBody& body, bool is_some, bool whole) {
  if (levels == 0) return EmitLoop(first, limit, step, body, is_some);
  const LoopBlock& block = blocks[levels - 1];
  llvm::Value* length = b_.CreateMul(step, b_.getInt64(block.size));
  const LoopBody lower = [&](llvm::Value* begin) -> absl::Status {
    llvm::Value* end = b_.CreateAdd(begin, length);
    if (!whole) end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, limit);
    block.begin();
    // A block's size is a multiple of the sizes of those inside it.
    KILN_RETURN_IF_ERROR(EmitBlocks(blocks, levels - 1, begin, end, step, body, /*is_some=*/true, whole));
    return block.finish();
  };
  return EmitLoop(first, limit, length, lower, is_some);
}

std::pair<llvm::Value*, llvm::Value*> NestLowering::BoundsOf(int loop) {
  if (const auto range = box_.find(loop); range != box_.end()) return {range->second.first, range->second.limit};
  llvm::Value* first = b_.getInt64(0);
  llvm::Value* limit = b_.getInt64(kernel_.loops[loop].extent);
  auto bounds = bounds_.find(loop);
  if (bounds == bounds_.end()) return {first, limit};
  for (const Bound& bound : bounds->second) {
    llvm::Value* rest = index_.Scalar(bound.rest);
    // Iterations from ceil((value - rest) / coefficient) on reach `value`.
    const auto from = [&](int64_t value) {
      llvm::Value* distance =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(b_.getInt64(value), rest), b_.getInt64(0));
      if (bound.coefficient == 1) return distance;
      return b_.CreateUDiv(b_.CreateAdd(distance, b_.getInt64(bound.coefficient - 1)), b_.getInt64(bound.coefficient));
    };
    first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, from(bound.low));
    limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limit, from(bound.high));
  }
  return {first, limit};
}

absl::Status NestLowering::EmitIf(llvm::Value* condition, const Innermost& body) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* then = llvm::BasicBlock::Create(b_.getContext(), "then", function);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(b_.getContext(), "done", function);
  b_.CreateCondBr(condition, then, done);
  b_.SetInsertPoint(then);
  KILN_RETURN_IF_ERROR(body());
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  return absl::OkStatus();
}

absl::InlinedVector<NestLowering::Segment, 2> NestLowering::NestSegments() {
  absl::InlinedVector<Segment, 2> segments;
  const int tasks = schedule_.task_loops;
  const int all = static_cast<int>(schedule_.order.size());
  if (schedule_.tile.store_loop >= 0) {
    segments.push_back({0, all, threads_ != nullptr ? threads_->OverBlocks() : LoopShare(), Segment::Kind::kTiled});
    return segments;
  }
  const bool groups = threads_ != nullptr && schedule_.over_groups;
  if (tasks > 0) {
    segments.push_back({0, tasks,
                        groups                ? threads_->OverGroups()
                        : threads_ != nullptr ? threads_->OverThreads()
                                              : LoopShare()});
  }
  if (groups && tasks < all) {
    segments.push_back({tasks, all, tasks == 0 ? threads_->OverThreads() : threads_->OverGroup()});
  }
  return segments;
}

int NestLowering::DepthOf(uint64_t set, const Loops& loops) const {
  int depth = 0;
  for (size_t i = 0; i < loops.order.size(); ++i) {
    if ((set >> loops.order[i] & 1) != 0) depth = static_cast<int>(i) + 1;
  }
  for (const Segment& segment : loops.segments) {
    if (depth > segment.first && depth < segment.last) return segment.last;
  }
  return depth;
}

int NestLowering::StatementDepth(const Block::Statement& statement, const Loops& loops) const {
  const int innermost = static_cast<int>(loops.order.size());
  switch (statement.kind) {
    case Block::Kind::kOp:
      return DepthOf(kernel_.ops[statement.index].loops, loops);
    case Block::Kind::kReduce:
      return DepthOf(kernel_.reduces[statement.index].outer_loops, loops);
    case Block::Kind::kStore: {
      // A row's results are written once per row.
      const Store& store = kernel_.stores[statement.index];
      if (kernel_.parameters[store.parameter].is_updated || threads_ != nullptr) return innermost;
      uint64_t set = kernel_.terms.LoopsOf(store.offset) | kernel_.ops[store.value].loops;
      if (store.predicate != kNoValue) set |= kernel_.ops[store.predicate].loops;
      return DepthOf(set, loops);
    }
  }
  return innermost;
}

absl::Status NestLowering::LowerLevel(const Block& block, const Loops& loops, int depth, const Innermost& innermost) {
  for (const Block::Statement& statement : block.statements) {
    if (StatementDepth(statement, loops) != depth) continue;
    KILN_RETURN_IF_ERROR(LowerStatement(statement));
  }
  if (depth == static_cast<int>(loops.order.size())) return innermost();
  auto deeper = [&](int next_depth) { return LowerLevel(block, loops, next_depth, innermost); };
  const int loop = loops.order[depth];
  for (const Segment& segment : loops.segments) {
    if (segment.first != depth) continue;
    if (segment.kind == Segment::Kind::kTiled) {
      return threads_ != nullptr ? LowerTiled(segment, deeper) : LowerRegisterTiles(segment, deeper);
    }
    if (threads_ == nullptr && loop == loops.vector_loop) {
      return LowerVectorLoop(loop, loops.lanes, /*is_task_loop=*/true, [&] { return deeper(depth + 1); });
    }
    return LowerFlattened(loops, segment, deeper);
  }
  if (loop == loops.vector_loop) {
    return LowerVectorLoop(loop, loops.lanes, /*is_task_loop=*/false, [&] { return deeper(depth + 1); });
  }
  const auto at = [&](llvm::Value* variable) {
    index_.SetLoop(loop, variable);
    return deeper(depth + 1);
  };
  if (loops.are_unrolled) {
    for (int64_t i = 0; i < kernel_.loops[loop].extent; ++i) KILN_RETURN_IF_ERROR(at(b_.getInt64(i)));
    return absl::OkStatus();
  }
  if (IsShortUpdate(block, loops, depth)) return EmitUpdates(kernel_.loops[loop].extent, at);
  const auto [first, limit] = BoundsOf(loop);
  return EmitBlocks(loop, first, limit, b_.getInt64(1), at);
}

bool NestLowering::IsShortUpdate(const Block& block, const Loops& loops, int depth) const {
  constexpr size_t kMostStatements = 24;
  if (target_.target != Target::kCpu || &block != &nest_.body || block.statements.size() > kMostStatements ||
      box_.contains(loops.order[depth])) {
    return false;
  }
  // Behind the loop there is none, or one vector.
  const int behind = static_cast<int>(loops.order.size()) - depth - 1;
  if (behind > 1 || (behind == 1 && (loops.order.back() != loops.vector_loop ||
                                     kernel_.loops[loops.vector_loop].extent != loops.lanes))) {
    return false;
  }
  bool updates = false;
  for (const Block::Statement& statement : block.statements) {
    if (statement.kind == Block::Kind::kReduce) return false;
    if (statement.kind == Block::Kind::kStore) {
      const Store& store = kernel_.stores[statement.index];
      updates |= kernel_.parameters[store.parameter].is_updated && store.predicate != kNoValue;
    }
  }
  return updates;
}

absl::Status NestLowering::EmitUpdates(int64_t count, const LoopBody& body) {
  constexpr int64_t kTogether = 4;
  const int64_t whole = count / kTogether * kTogether;
  if (whole > 0) {
    const auto some = [&](llvm::Value* first) -> absl::Status {
      for (int64_t i = 0; i < kTogether; ++i) {
        KILN_RETURN_IF_ERROR(body(i == 0 ? first : b_.CreateAdd(first, b_.getInt64(i), "", true, true)));
      }
      return absl::OkStatus();
    };
    KILN_RETURN_IF_ERROR(EmitLoop(b_.getInt64(0), b_.getInt64(whole), b_.getInt64(kTogether), some, /*is_some=*/true));
  }
  return whole == count ? absl::OkStatus() : EmitLoop(b_.getInt64(whole), b_.getInt64(count), b_.getInt64(1), body);
}

std::vector<llvm::Value*> NestLowering::TakeApart(llvm::Value* number, absl::Span<const int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  // GPUs divide 64-bit integers by long sequences.
  const bool narrow = target_.target == Target::kGpu && count <= INT32_MAX;
  llvm::Type* type = narrow && extents.size() > 1 ? b_.getInt32Ty() : b_.getInt64Ty();
  llvm::Value* rest = b_.CreateTrunc(number, type);
  std::vector<llvm::Value*> parts(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    llvm::Value* extent = llvm::ConstantInt::get(type, static_cast<uint64_t>(extents[i]));
    parts[i] = b_.CreateZExt(i == 0 ? rest : b_.CreateURem(rest, extent), b_.getInt64Ty());
    if (i > 0) rest = b_.CreateUDiv(rest, extent);
  }
  return parts;
}

absl::Status NestLowering::LowerFlattened(const Loops& loops, const Segment& segment,
                                          const std::function<absl::Status(int)>& deeper) {
  const bool vector = loops.vector_loop >= 0 && loops.order[segment.last - 1] == loops.vector_loop;
  const int64_t lanes = vector ? loops.lanes : 1;
  std::vector<int64_t> extents;
  int64_t iterations = 1;
  for (int i = segment.first; i < segment.last; ++i) {
    int64_t extent = kernel_.loops[loops.order[i]].extent;
    if (i == segment.last - 1) extent /= lanes;
    extents.push_back(extent);
    iterations *= extent;
  }
  llvm::Value* first = segment.share.first;
  if (first == nullptr) first = begin_ != nullptr ? begin_ : b_.getInt64(0);
  llvm::Value* step = segment.share.step != nullptr ? segment.share.step : b_.getInt64(1);
  llvm::Value* end = segment.share.first == nullptr && end_ != nullptr ? end_ : b_.getInt64(iterations);
  const int64_t together = segment.share.together;
  auto run = [&](llvm::Value* iteration) -> absl::Status {
    llvm::Value* outer_active = active_;
    if (iterations % together != 0) {
      active_ = b_.CreateICmpSLT(iteration, b_.getInt64(iterations));
      iteration = b_.CreateSelect(active_, iteration, b_.getInt64(iterations - 1));
    }
    std::vector<llvm::Value*> variables = TakeApart(iteration, extents);
    if (vector) variables.back() = b_.CreateMul(variables.back(), b_.getInt64(lanes), "", true, true);
    for (size_t i = 0; i < variables.size(); ++i) index_.SetLoop(loops.order[segment.first + i], variables[i]);
    absl::Status status =
        vector ? LowerVectorBody(loops.vector_loop, variables.back(), [&] { return deeper(segment.last); })
               : deeper(segment.last);
    active_ = outer_active;
    return status;
  };
  if (together > 1) end = b_.getInt64((iterations + together - 1) / together * together);
  if (!vector) return EmitLoop(first, end, step, run);
  return InVector(loops.vector_loop, loops.lanes, [&]() -> absl::Status {
    if (iterations > 0) KILN_RETURN_IF_ERROR(EmitLoop(first, end, step, run));
    const int64_t extent = kernel_.loops[loops.vector_loop].extent;
    if (extent % lanes == 0) return absl::OkStatus();
    // Whoever has the first vector has the tail, so that a reduce has begun when it gets there.
    return EmitIf(b_.CreateICmpEQ(first, b_.getInt64(0)), [&] {
      return LowerTail(extent / lanes * lanes, extent % lanes, loops.lanes, [&](llvm::Value* variable) {
        index_.SetLoop(loops.vector_loop, variable);
        return deeper(segment.last);
      });
    });
  });
}

absl::Status NestLowering::InVector(int loop, int lanes, const Innermost& body) {
  const int outer_loop = std::exchange(vector_loop_, loop);
  auto outer_vector = std::exchange(vector_, NewVector(lanes));
  const auto outer_interior = std::exchange(interior_, {0, 0});
  index_.SetVector(loop, lanes, aligned_runs_);
  absl::Status status = body();
  interior_ = outer_interior;
  vector_ = std::move(outer_vector);
  vector_loop_ = outer_loop;
  index_.SetVector(outer_loop, vector_ != nullptr ? vector_->lanes() : 1, aligned_runs_);
  return status;
}

absl::Status NestLowering::LowerVectorLoop(int loop, int lanes, bool is_task_loop, const Innermost& body) {
  const int64_t extent = kernel_.loops[loop].extent;
  const bool has_row_tiles = loop == schedule_.vector_loop && !schedule_.row_tiles.empty();
  // Tiles of rows have copies of those that fill no vector.
  const int64_t whole = has_row_tiles ? extent : extent / lanes * lanes;
  llvm::Value* step = b_.getInt64(lanes);
  auto at = [&](llvm::Value* variable) -> absl::Status {
    if (!has_row_tiles && loop == schedule_.vector_loop) return LowerVectorBody(loop, variable, body);
    index_.SetLoop(loop, variable);
    return has_row_tiles ? WithRowTiles(variable, body) : body();
  };
  return InVector(loop, lanes, [&]() -> absl::Status {
    const auto emit_range = [&](llvm::Value* first, llvm::Value* limit) -> absl::Status {
      llvm::Value* last =
          b_.CreateAdd(first, b_.CreateAnd(b_.CreateSub(limit, first), b_.getInt64(static_cast<uint64_t>(-lanes))));
      KILN_RETURN_IF_ERROR(EmitLoop(first, last, step, at));
      return EmitIf(b_.CreateICmpSLT(last, limit), [&] {
        llvm::Value* outer = std::exchange(mask_, LanesBelow(b_.CreateSub(limit, last), lanes));
        absl::Status status = at(last);
        mask_ = outer;
        return status;
      });
    };
    if (box_.contains(loop)) {
      const auto [first, limit] = BoundsOf(loop);
      return emit_range(first, limit);
    }
    if (!is_task_loop) {
      if (whole > 0) {
        KILN_RETURN_IF_ERROR(EmitBlocks(loop, b_.getInt64(0), b_.getInt64(whole), step, at));
      }
      if (whole == extent) return absl::OkStatus();
      const Blocks blocks = BlocksOf(loop);
      if (blocks.empty()) return LowerTail(whole, extent - whole, lanes, at);
      blocks.front().begin();
      KILN_RETURN_IF_ERROR(LowerTail(whole, extent - whole, lanes, at));
      return blocks.front().finish_rest();
    }
    llvm::Value* begin = begin_ != nullptr ? b_.CreateMul(begin_, b_.getInt64(schedule_.block)) : b_.getInt64(0);
    llvm::Value* end = end_ != nullptr ? b_.CreateMul(end_, b_.getInt64(schedule_.block)) : b_.getInt64(extent);
    if (begin_ != nullptr && !has_row_tiles && schedule_.block % lanes != 0) {
      // Tasks begin and end amid vectors.
      return emit_range(begin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b_.getInt64(extent)));
    }
    llvm::Value* limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b_.getInt64(whole));
    if (whole > 0) KILN_RETURN_IF_ERROR(EmitLoop(begin, limit, step, at));
    if (whole == extent) return absl::OkStatus();
    if (end_ == nullptr) return LowerTail(whole, extent - whole, lanes, at);
    // The last task has the tail.
    return EmitIf(b_.CreateICmpSGE(end, b_.getInt64(extent)),
                  [&] { return LowerTail(whole, extent - whole, lanes, at); });
  });
}

absl::Status NestLowering::LowerTail(int64_t first, int64_t count, int lanes, const LoopBody& at) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(b_.getInt1(i < count));
  llvm::Value* outer = std::exchange(mask_, llvm::ConstantVector::get(bits));
  absl::Status status = at(b_.getInt64(first));
  mask_ = outer;
  return status;
}

absl::StatusOr<Value> LowerEpilogue(llvm::IRBuilder<>* builder, const Kernel& kernel, const TargetInfo& target,
                                    absl::Span<llvm::Value* const> parameters, absl::Span<llvm::Value* const> loops,
                                    int vector_loop, int lanes, const Value& external) {
  const NestSchedule schedule;
  return NestLowering(builder, kernel, kernel.nests[0], schedule, target, parameters, /*threads=*/nullptr)
      .RunOnce(loops, vector_loop, lanes, external);
}

absl::Status LowerBox(llvm::IRBuilder<>* builder, const Kernel& kernel, const TargetInfo& target,
                      absl::Span<llvm::Value* const> parameters, absl::Span<const LoopRange> box, int lanes,
                      bool aligned) {
  const NestSchedule schedule;
  return NestLowering(builder, kernel, kernel.nests[0], schedule, target, parameters, /*threads=*/nullptr)
      .RunBox(box, lanes, aligned);
}

absl::Status LowerNest(llvm::IRBuilder<>* builder, const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                       const TargetInfo& target, absl::Span<llvm::Value* const> parameters, llvm::Value* begin,
                       llvm::Value* end, ThreadMapping* threads, absl::Span<const int64_t> rooms) {
  return NestLowering(builder, kernel, nest, schedule, target, parameters, threads, rooms).Run(begin, end);
}

}  // namespace kiln::kernel
