#include "src/kernel/lower_nest.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
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
               const TargetInfo& target, absl::Span<llvm::Value* const> parameters, ThreadMapping* threads)
      : b_(*builder),
        kernel_(kernel),
        nest_(nest),
        schedule_(schedule),
        target_(target),
        parameters_(parameters),
        threads_(threads),
        scalar_(builder, 1, target.target),
        index_(builder, kernel.terms),
        values_(kernel.ops.size()) {}

  absl::Status Run(llvm::Value* begin, llvm::Value* end) {
    begin_ = begin;
    end_ = end;
    const Loops loops{schedule_.order, NestSegments(), schedule_.vector_loop, schedule_.lanes};
    return LowerLevel(nest_.body, loops, 0, [] { return absl::OkStatus(); });
  }

  // The body once, at given iterations, instead of loops around it.
  absl::StatusOr<Value> RunOnce(absl::Span<llvm::Value* const> loops, int vector_loop, int lanes,
                                const Value& external) {
    for (size_t loop = 0; loop < loops.size(); ++loop) {
      if (loops[loop] != nullptr) index_.SetLoop(static_cast<int>(loop), loops[loop]);
    }
    if (lanes > 1) {
      vector_ = std::make_unique<ScalarEmitter>(&b_, lanes, target_.target);
      vector_loop_ = vector_loop;
      index_.SetVector(vector_loop, lanes);
      // Vectors may begin anywhere.
      aligned_runs_ = false;
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

 private:
  using Innermost = std::function<absl::Status()>;

  // Neighbouring loops that run as one: those with first <= depth < last. Without a share all iterations are run.
  struct Segment {
    enum class Kind : uint8_t { kFlattened, kTiled };
    int first = 0;
    int last = 0;
    LoopShare share;
    Kind kind = Kind::kFlattened;
  };

  // The loops around a block, outermost first, and how they run.
  struct Loops {
    const std::vector<int>& order;
    absl::InlinedVector<Segment, 2> segments;
    int vector_loop = -1;
    int lanes = 1;
  };

  // ---- Loops ----

  // for (i = first; i < limit; i += step) body(i)
  absl::Status EmitLoop(llvm::Value* first, llvm::Value* limit, llvm::Value* step,
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
    llvm::Value* next = b_.CreateAdd(variable, step, "", /*HasNUW=*/true, /*HasNSW=*/true);
    variable->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, limit), loop, after);
    b_.SetInsertPoint(after);
    return absl::OkStatus();
  }

  absl::Status EmitIf(llvm::Value* condition, const std::function<absl::Status()>& body) {
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

  // The task loop, and behind it what the threads of a group divide.
  absl::InlinedVector<Segment, 2> NestSegments() {
    absl::InlinedVector<Segment, 2> segments;
    const int tasks = schedule_.task_loops;
    const int all = static_cast<int>(schedule_.order.size());
    if (threads_ == nullptr) {
      if (tasks > 0) segments.push_back({0, tasks, {}});
      return segments;
    }
    if (schedule_.tile.store_loop >= 0) {
      segments.push_back({0, all, threads_->OverBlocks(), Segment::Kind::kTiled});
      return segments;
    }
    if (tasks > 0)
      segments.push_back({0, tasks, schedule_.over_groups ? threads_->OverGroups() : threads_->OverThreads()});
    if (schedule_.over_groups && tasks < all) {
      segments.push_back({tasks, all, tasks == 0 ? threads_->OverThreads() : threads_->OverGroup()});
    }
    return segments;
  }

  // Depth of a set of loops: one past the innermost of them, 0 when it has none of them.
  int DepthOf(uint64_t set, const Loops& loops) const {
    int depth = 0;
    for (size_t i = 0; i < loops.order.size(); ++i) {
      if ((set >> loops.order[i] & 1) != 0) depth = static_cast<int>(i) + 1;
    }
    for (const Segment& segment : loops.segments) {
      if (depth > segment.first && depth < segment.last) return segment.last;
    }
    return depth;
  }

  int StatementDepth(const Block::Statement& statement, const Loops& loops) const {
    const int innermost = static_cast<int>(loops.order.size());
    switch (statement.kind) {
      case Block::Kind::kOp: {
        return DepthOf(kernel_.ops[statement.index].loops, loops);
      }
      case Block::Kind::kReduce:
        return DepthOf(kernel_.reduces[statement.index].outer_loops, loops);
      case Block::Kind::kStore:
        return innermost;
    }
    return innermost;
  }

  // Emits what stands at `depth` of `block`, then the loop below it.
  absl::Status LowerLevel(const Block& block, const Loops& loops, int depth, const Innermost& innermost) {
    for (const Block::Statement& statement : block.statements) {
      if (StatementDepth(statement, loops) != depth) continue;
      KILN_RETURN_IF_ERROR(LowerStatement(statement));
    }
    if (depth == static_cast<int>(loops.order.size())) return innermost();
    auto deeper = [&](int next_depth) { return LowerLevel(block, loops, next_depth, innermost); };
    const int loop = loops.order[depth];
    for (const Segment& segment : loops.segments) {
      if (segment.first != depth) continue;
      if (segment.kind == Segment::Kind::kTiled) return LowerTiled(segment, deeper);
      if (threads_ == nullptr && loop == loops.vector_loop) {
        return LowerVectorLoop(loop, loops.lanes, /*is_task_loop=*/true, [&] { return deeper(depth + 1); });
      }
      return LowerFlattened(loops, segment, deeper);
    }
    if (loop == loops.vector_loop) {
      return LowerVectorLoop(loop, loops.lanes, /*is_task_loop=*/false, [&] { return deeper(depth + 1); });
    }
    return EmitLoop(b_.getInt64(0), b_.getInt64(kernel_.loops[loop].extent), b_.getInt64(1),
                    [&](llvm::Value* variable) {
                      index_.SetLoop(loop, variable);
                      return deeper(depth + 1);
                    });
  }

  // The parts of `number`, which counts through `extents`, outermost first.
  std::vector<llvm::Value*> TakeApart(llvm::Value* number, absl::Span<const int64_t> extents) {
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

  // One loop over the iterations of the segment's loops, whose variables are taken apart inside. The vector loop may be
  // the last of them when its extent is a multiple of the lanes, or when it is the only one.
  absl::Status LowerFlattened(const Loops& loops, const Segment& segment,
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
      absl::Status status = deeper(segment.last);
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

  // Blocks of threads, rows of `size` of them, walk over square tiles. A tile is read with threads along the load loop,
  // then worked on with threads along the store loop.
  absl::Status LowerTiled(const Segment& segment, const std::function<absl::Status(int)>& deeper) {
    const TileSchedule& tile = schedule_.tile;
    const int64_t size = tile.size;
    const int64_t rows = threads_->block_threads() / size;
    std::vector<int> outer = schedule_.order;
    std::erase(outer, tile.store_loop);
    std::erase(outer, tile.load_loop);
    std::vector<int64_t> extents;
    for (int loop : outer) extents.push_back(kernel_.loops[loop].extent);
    const int64_t load_extent = kernel_.loops[tile.load_loop].extent;
    const int64_t store_extent = kernel_.loops[tile.store_loop].extent;
    extents.push_back((load_extent + size - 1) / size);
    extents.push_back((store_extent + size - 1) / size);
    int64_t count = 1;
    for (int64_t extent : extents) count *= extent;

    for (ValueId load : tile.loads) {
      const PrimitiveType type = kernel_.ops[load].type;
      // A column more than the tile has keeps the threads that read one column off each other's memory bank.
      llvm::Type* plane =
          llvm::ArrayType::get(llvm::ArrayType::get(scalar_.MemoryType(type), static_cast<uint64_t>(size + 1)), size);
      for (int part = 0; part < (hlo::IsComplex(type) ? 2 : 1); ++part) {
        staged_[load].planes.push_back(threads_->SharedMemory(plane, absl::StrCat("tile", load, part == 0 ? "" : "i")));
      }
      staged_[load].plane_type = plane;
    }
    llvm::Value* column = b_.CreateURem(threads_->ThreadInBlock(), b_.getInt64(size));
    llvm::Value* first_row = b_.CreateUDiv(threads_->ThreadInBlock(), b_.getInt64(size));
    return EmitLoop(
        segment.share.first, b_.getInt64(count), segment.share.step, [&](llvm::Value* number) -> absl::Status {
          std::vector<llvm::Value*> parts = TakeApart(number, extents);
          for (size_t i = 0; i < outer.size(); ++i) index_.SetLoop(outer[i], parts[i]);
          llvm::Value* load_base = b_.CreateMul(parts[outer.size()], b_.getInt64(size));
          llvm::Value* store_base = b_.CreateMul(parts[outer.size() + 1], b_.getInt64(size));
          auto for_each_row = [&](int along, llvm::Value* along_base, int64_t along_extent, int across,
                                  llvm::Value* across_base, int64_t across_extent,
                                  const std::function<absl::Status(llvm::Value*)>& body) -> absl::Status {
            for (int64_t r = 0; r < size; r += rows) {
              llvm::Value* row = b_.CreateAdd(first_row, b_.getInt64(r));
              llvm::Value* x = b_.CreateAdd(along_base, column);
              llvm::Value* y = b_.CreateAdd(across_base, row);
              index_.SetLoop(along, x);
              index_.SetLoop(across, y);
              llvm::Value* inside = b_.CreateAnd(b_.CreateICmpSLT(x, b_.getInt64(along_extent)),
                                                 b_.CreateICmpSLT(y, b_.getInt64(across_extent)));
              KILN_RETURN_IF_ERROR(EmitIf(inside, [&] { return body(row); }));
            }
            return absl::OkStatus();
          };
          KILN_RETURN_IF_ERROR(for_each_row(
              tile.load_loop, load_base, load_extent, tile.store_loop, store_base, store_extent, [&](llvm::Value* row) {
                for (ValueId load : tile.loads) {
                  const Op& op = kernel_.ops[load];
                  MemoryAccess memory(&scalar_, &scalar_);
                  Value value = memory.LoadScalar(op.type, parameters_[op.parameter], index_.Scalar(op.offset));
                  for (size_t part = 0; part < staged_[load].planes.size(); ++part) {
                    b_.CreateStore(scalar_.ToMemory(op.type, Part(value, static_cast<int>(part))),
                                   TileElement(staged_[load], part, row, column));
                  }
                }
                return absl::OkStatus();
              }));
          threads_->Barrier();
          KILN_RETURN_IF_ERROR(for_each_row(tile.store_loop, store_base, store_extent, tile.load_loop, load_base,
                                            load_extent, [&](llvm::Value* row) {
                                              tile_row_ = row;
                                              tile_column_ = column;
                                              return deeper(segment.last);
                                            }));
          // The next tile overwrites this one.
          threads_->Barrier();
          return absl::OkStatus();
        });
  }

  // A load's tile: one plane per part of an element.
  struct Staged {
    llvm::Type* plane_type = nullptr;
    std::vector<llvm::Value*> planes;
  };

  llvm::Value* TileElement(const Staged& staged, size_t part, llvm::Value* row, llvm::Value* column) {
    return b_.CreateInBoundsGEP(staged.plane_type, staged.planes[part], {b_.getInt64(0), row, column});
  }

  Value LoadFromTile(const Op& op, const Staged& staged) {
    Value value{op.type};
    auto part = [&](size_t number) {
      // What was written in rows along the load loop is read in columns.
      return scalar_.FromMemory(
          op.type, b_.CreateLoad(scalar_.MemoryType(op.type), TileElement(staged, number, tile_column_, tile_row_)));
    };
    value.value = part(0);
    if (staged.planes.size() > 1) value.imaginary = part(1);
    return value;
  }

  // Runs `body` with iterations of `loop` as lanes.
  absl::Status InVector(int loop, int lanes, const std::function<absl::Status()>& body) {
    const int outer_loop = std::exchange(vector_loop_, loop);
    auto outer_vector = std::exchange(vector_, std::make_unique<ScalarEmitter>(&b_, lanes, target_.target));
    index_.SetVector(loop, lanes);
    absl::Status status = body();
    vector_ = std::move(outer_vector);
    vector_loop_ = outer_loop;
    index_.SetVector(outer_loop, vector_ != nullptr ? vector_->lanes() : 1);
    return status;
  }

  // Full vectors, then one masked vector for what is left.
  absl::Status LowerVectorLoop(int loop, int lanes, bool is_task_loop, const std::function<absl::Status()>& body) {
    const int64_t extent = kernel_.loops[loop].extent;
    const int64_t whole = extent / lanes * lanes;
    llvm::Value* step = b_.getInt64(lanes);
    auto at = [&](llvm::Value* variable) {
      index_.SetLoop(loop, variable);
      return body();
    };
    return InVector(loop, lanes, [&]() -> absl::Status {
      if (!is_task_loop) {
        if (whole > 0) {
          KILN_RETURN_IF_ERROR(EmitLoop(b_.getInt64(0), b_.getInt64(whole), step, at));
        }
        if (whole < extent) KILN_RETURN_IF_ERROR(LowerTail(whole, extent - whole, lanes, at));
        return absl::OkStatus();
      }
      llvm::Value* begin = begin_ != nullptr ? b_.CreateMul(begin_, b_.getInt64(schedule_.block)) : b_.getInt64(0);
      llvm::Value* end = end_ != nullptr ? b_.CreateMul(end_, b_.getInt64(schedule_.block)) : b_.getInt64(extent);
      llvm::Value* limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b_.getInt64(whole));
      if (whole > 0) KILN_RETURN_IF_ERROR(EmitLoop(begin, limit, step, at));
      if (whole == extent) return absl::OkStatus();
      if (end_ == nullptr) return LowerTail(whole, extent - whole, lanes, at);
      // The last task has the tail.
      return EmitIf(b_.CreateICmpSGE(end, b_.getInt64(extent)),
                    [&] { return LowerTail(whole, extent - whole, lanes, at); });
    });
  }

  absl::Status LowerTail(int64_t first, int64_t count, int lanes, const std::function<absl::Status(llvm::Value*)>& at) {
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
      case Block::Kind::kStore: {
        const Store& store = kernel_.stores[statement.index];
        if (!WrittenByOneOfGroup()) return LowerStore(store);
        return EmitIf(CombineMasks(threads_->IsFirstOfGroup(), active_), [&] { return LowerStore(store); });
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Value> LowerOp(ValueId id) {
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
      case OpKind::kExternal:
        return external_;
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

  // The vector loop occurs in no division or remainder.
  bool IsPlainSum(const IndexExpr& offset) const {
    for (const auto& [number, coefficient] : offset.terms) {
      const IndexTerms::Term& term = kernel_.terms.term(number);
      if (term.kind != IndexTerms::Kind::kLoop && Varies(term.loops)) return false;
    }
    return true;
  }

  Access AccessFor(const IndexExpr& offset) {
    Access access;
    int64_t stride;
    if (!LinearStride(kernel_.terms, offset, vector_loop_, vector_->lanes(), &stride) ||
        (!aligned_runs_ && !IsPlainSum(offset))) {
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

  Value LowerLoad(ValueId id) {
    const Op& op = kernel_.ops[id];
    if (auto staged = staged_.find(id); staged != staged_.end()) return LoadFromTile(op, staged->second);
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

  // All threads of a group have the task's values, and no loop is left that they would divide.
  bool WrittenByOneOfGroup() const {
    return threads_ != nullptr && schedule_.over_groups &&
           schedule_.task_loops == static_cast<int>(schedule_.order.size());
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
      return EmitIf(values_[store.predicate].value, [&] {
        memory.StoreScalar(values_[store.value], base, offset);
        return absl::OkStatus();
      });
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
    const bool over_group = schedule.over_group && threads_ != nullptr;
    // Many accumulators, which are combined in the end; the initial value comes in once then.
    const bool split = own_vector || over_group;
    const int lanes = own_vector ? schedule.lanes : outer_vector ? vector_->lanes() : 1;
    ScalarEmitter lane_emitter(&b_, lanes, target_.target);
    ScalarEmitter* emitter = own_vector ? &lane_emitter : outer_vector ? vector_.get() : &scalar_;
    const size_t count = reduce.inits.size();
    std::vector<Value> inits;
    for (ValueId init : reduce.inits) inits.push_back(Get(init, outer_vector));

    // Without an identity the first elements start the accumulators; `empty` tells whether they are due.
    const bool takes_first = split && reduce.combiner != nullptr;
    std::vector<Value> start = inits;
    if (split) {
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
      for (size_t i = 0; i < count; ++i) {
        if (own_vector && mask_ != nullptr) combined[i] = emitter->Select(mask_, combined[i], current[i]);
        for (size_t part = 0; part < slots[i].size(); ++part) {
          b_.CreateStore(Part(combined[i], static_cast<int>(part)), slots[i][part]);
        }
      }
      return absl::OkStatus();
    };
    // A mask of the outer vector does not concern the accumulators: lanes past the end are never stored.
    Loops loops{schedule.order, {}, own_vector ? schedule.vector_loop : -1, lanes};
    if (over_group) loops.segments.push_back({0, static_cast<int>(schedule.order.size()), threads_->OverGroup()});
    KILN_RETURN_IF_ERROR(LowerLevel(*reduce.block, loops, 0, innermost));
    std::vector<Value> results = accumulators();
    if (own_vector) {
      KILN_ASSIGN_OR_RETURN(results, CombineLanes(reduce, std::move(results), lanes));
    }
    if (over_group) {
      llvm::Value* has = takes_first ? b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), empty)) : nullptr;
      KILN_ASSIGN_OR_RETURN(results, CombineGroup(reduce, std::move(results), has));
    }
    if (split) {
      KILN_ASSIGN_OR_RETURN(results, Combine(reduce, &scalar_, inits, results));
    }
    for (size_t i = 0; i < count; ++i) values_[reduce.results[i]] = results[i];
    return absl::OkStatus();
  }

  // The accumulators of the group's threads; `has` (null: all do) tells whether this thread has any elements.
  absl::StatusOr<std::vector<Value>> CombineGroup(const Reduce& reduce, std::vector<Value> values, llvm::Value* has) {
    if (has == nullptr) {
      return threads_->CombineOverGroup(
          std::move(values), /*commutative=*/true,
          [&](const std::vector<Value>& a, const std::vector<Value>& b) { return Combine(reduce, &scalar_, a, b); });
    }
    values.push_back({PrimitiveType::kPred, has});
    auto combine = [&](std::vector<Value> a, std::vector<Value> b) -> absl::StatusOr<std::vector<Value>> {
      llvm::Value* has_a = a.back().value;
      llvm::Value* has_b = b.back().value;
      a.pop_back();
      b.pop_back();
      KILN_ASSIGN_OR_RETURN(std::vector<Value> both, Combine(reduce, &scalar_, a, b));
      for (size_t i = 0; i < both.size(); ++i) {
        both[i] = scalar_.Select(has_a, scalar_.Select(has_b, both[i], a[i]), b[i]);
      }
      both.push_back({PrimitiveType::kPred, b_.CreateOr(has_a, has_b)});
      return both;
    };
    KILN_ASSIGN_OR_RETURN(values, threads_->CombineOverGroup(std::move(values), /*commutative=*/false, combine));
    values.pop_back();
    return values;
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
  ThreadMapping* const threads_;  // null: one thread runs the code
  ScalarEmitter scalar_;
  std::unique_ptr<ScalarEmitter> vector_;  // while inside a vector loop
  int vector_loop_ = -1;
  llvm::Value* mask_ = nullptr;    // lanes inside the extent; null: all
  llvm::Value* active_ = nullptr;  // the thread's task is one of the nest; null: it always is
  llvm::Value* begin_ = nullptr;
  llvm::Value* end_ = nullptr;
  IndexLowering index_;
  std::vector<Value> values_;
  Value external_;
  bool aligned_runs_ = true;  // vectors begin at multiples of their lanes
  absl::flat_hash_map<ValueId, Staged> staged_;
  llvm::Value* tile_row_ = nullptr;
  llvm::Value* tile_column_ = nullptr;
};

}  // namespace

absl::StatusOr<Value> LowerEpilogue(llvm::IRBuilder<>* builder, const Kernel& kernel, const TargetInfo& target,
                                    absl::Span<llvm::Value* const> parameters, absl::Span<llvm::Value* const> loops,
                                    int vector_loop, int lanes, const Value& external) {
  const NestSchedule schedule;
  return NestLowering(builder, kernel, kernel.nests[0], schedule, target, parameters, /*threads=*/nullptr)
      .RunOnce(loops, vector_loop, lanes, external);
}

absl::Status LowerNest(llvm::IRBuilder<>* builder, const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                       const TargetInfo& target, absl::Span<llvm::Value* const> parameters, llvm::Value* begin,
                       llvm::Value* end, ThreadMapping* threads) {
  return NestLowering(builder, kernel, nest, schedule, target, parameters, threads).Run(begin, end);
}

}  // namespace kiln::kernel
