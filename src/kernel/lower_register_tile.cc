// Tiles in registers: as many vectors as a vector has lanes, transposed.
#include <cstdint>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"
#include "src/kernel/square_transposition.h"
#include "src/kernel/transposition.h"

namespace kiln::kernel {
namespace {

// Longer bodies are loops over the rows of a tile.
constexpr size_t kMaxUnrolledStatements = 8;

}  // namespace

const Store* NestLowering::TransposedStore(int64_t* pitch) const {
  const TileSchedule& tile = schedule_.tile;
  const std::vector<Block::Statement>& statements = nest_.body.statements;
  if (statements.size() != 2 || statements[0].kind != Block::Kind::kOp || statements[0].index != tile.loads[0] ||
      statements[1].kind != Block::Kind::kStore) {
    return nullptr;
  }
  const Op& load = kernel_.ops[tile.loads[0]];
  const Store& store = kernel_.stores[statements[1].index];
  const auto has_stride = [&](const IndexExpr& offset, int loop, int64_t* stride) {
    return LinearStride(kernel_.terms, offset, loop, tile.size * tile.together, stride);
  };
  int64_t load_step, store_step;
  const bool is_transposed = store.value == tile.loads[0] && store.predicate == kNoValue &&
                             !kernel_.parameters[store.parameter].is_updated &&
                             has_stride(load.offset, tile.load_loop, &load_step) && load_step == 1 &&
                             has_stride(store.offset, tile.store_loop, &store_step) && store_step == 1 &&
                             has_stride(store.offset, tile.load_loop, pitch);
  return is_transposed ? &store : nullptr;
}

absl::Status NestLowering::TransposeSquare(const Store& store, int64_t pitch, llvm::Value* rows_begin,
                                           llvm::Value* load_number, llvm::Value* store_number) {
  const TileSchedule& tile = schedule_.tile;
  const auto span = static_cast<uint64_t>(tile.size * tile.together);
  llvm::Value* first_row = b_.CreateMul(store_number, b_.getInt64(span));
  llvm::Value* first_column = b_.CreateMul(load_number, b_.getInt64(span));
  const auto extent = [&](int loop, llvm::Value* first) {
    index_.SetLoop(loop, first);
    llvm::Value* rest = b_.CreateSub(b_.getInt64(kernel_.loops[loop].extent), first);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rest, b_.getInt64(span));
  };
  llvm::Value* columns = extent(tile.load_loop, first_column);
  llvm::Value* rows = extent(tile.store_loop, first_row);
  const Op& load = kernel_.ops[tile.loads[0]];
  const int64_t width = hlo::ByteWidth(load.type);
  llvm::Type* element = b_.getIntNTy(static_cast<unsigned>(8 * width));
  llvm::Value* to = b_.CreateGEP(element, ArrayOf(store.parameter), index_.Scalar(store.offset));
  KILN_RETURN_IF_ERROR(EmitLoop(b_.getInt64(0), rows, b_.getInt64(1), [&](llvm::Value* row) {
    index_.SetLoop(tile.store_loop, b_.CreateAdd(first_row, row));
    b_.CreateStore(index_.Scalar(load.offset), b_.CreateGEP(b_.getInt64Ty(), rows_begin, row));
    return absl::OkStatus();
  }));
  llvm::Value* arguments[] = {ArrayOf(load.parameter),
                              to,
                              rows_begin,
                              b_.getInt64(static_cast<uint64_t>(pitch)),
                              rows,
                              columns,
                              b_.getInt64(schedule_.streaming_stores && StreamingAlignment(store) == 64 ? 1 : 0)};
  CallByName(SquareTranspositionName(width), arguments);
  return absl::OkStatus();
}

absl::Status NestLowering::LowerRegisterTiles(const Segment& segment, const std::function<absl::Status(int)>& deeper) {
  const TileSchedule& tile = schedule_.tile;
  const int64_t size = tile.size, span = size * tile.together;
  const int64_t load_extent = kernel_.loops[tile.load_loop].extent;
  const int64_t store_extent = kernel_.loops[tile.store_loop].extent;
  llvm::Value* step = b_.getInt64(size);
  auto along = [&](llvm::Value* number, int64_t extent, const std::function<absl::Status(llvm::Value*)>& body) {
    llvm::Value* first = b_.CreateMul(number, b_.getInt64(span));
    llvm::Value* limit =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, b_.getInt64(span)), b_.getInt64(extent));
    return EmitLoop(first, limit, step, body);
  };
  int64_t pitch;
  if (const Store* store = TransposedStore(&pitch)) {
    llvm::Value* rows = Slot(llvm::ArrayType::get(b_.getInt64Ty(), kMaxSquareRows), /*alignment=*/64);
    return InVector(tile.store_loop, static_cast<int>(size), [&] {
      return ForEachTile({begin_ != nullptr ? begin_ : b_.getInt64(0), b_.getInt64(1)}, end_, span,
                         [&](llvm::Value* load_number, llvm::Value* store_number) {
                           return TransposeSquare(*store, pitch, rows, load_number, store_number);
                         });
    });
  }
  for (ValueId load : tile.loads) {
    const uint64_t bytes = static_cast<uint64_t>(size * size * hlo::ByteWidth(kernel_.ops[load].type));
    staged_[load].planes = {Slot(llvm::ArrayType::get(b_.getInt8Ty(), bytes), /*alignment=*/64)};
  }
  auto one_task = [&](llvm::Value* load_number, llvm::Value* store_number) -> absl::Status {
    return along(load_number, load_extent, [&](llvm::Value* load_base) {
      return along(store_number, store_extent, [&](llvm::Value* store_base) -> absl::Status {
        if (load_extent % size == 0 && store_extent % size == 0) {
          return LowerRegisterTile(load_base, store_base, /*whole=*/true, [&] { return deeper(segment.last); });
        }
        llvm::Value* whole = b_.CreateAnd(b_.CreateICmpSLE(load_base, b_.getInt64(load_extent - size)),
                                          b_.CreateICmpSLE(store_base, b_.getInt64(store_extent - size)));
        for (const bool is_whole : {true, false}) {
          KILN_RETURN_IF_ERROR(EmitIf(is_whole ? whole : b_.CreateNot(whole), [&] {
            return LowerRegisterTile(load_base, store_base, is_whole, [&] { return deeper(segment.last); });
          }));
        }
        return absl::OkStatus();
      });
    });
  };
  return InVector(tile.store_loop, static_cast<int>(size), [&] {
    return ForEachTile({begin_ != nullptr ? begin_ : b_.getInt64(0), b_.getInt64(1)}, end_, span, one_task);
  });
}

absl::Status NestLowering::LowerRegisterTile(llvm::Value* load_base, llvm::Value* store_base, bool whole,
                                             const Innermost& body) {
  const TileSchedule& tile = schedule_.tile;
  const int size = tile.size;
  llvm::Value* load_rest = b_.CreateSub(b_.getInt64(kernel_.loops[tile.load_loop].extent), load_base);
  llvm::Value* store_rest = b_.CreateSub(b_.getInt64(kernel_.loops[tile.store_loop].extent), store_base);
  index_.SetLoop(tile.load_loop, load_base);
  for (ValueId load : tile.loads) {
    const Op& op = kernel_.ops[load];
    const int width = hlo::ByteWidth(op.type);
    llvm::Type* element = b_.getIntNTy(static_cast<unsigned>(8 * width));
    llvm::Type* vector = llvm::FixedVectorType::get(element, size);
    std::vector<llvm::Value*> rows;
    for (int row = 0; row < size; ++row) {
      llvm::Value* at = b_.getInt64(static_cast<uint64_t>(row));
      // Rows behind the last are it again; nobody stores them.
      if (!whole) at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, b_.CreateSub(store_rest, b_.getInt64(1)));
      index_.SetLoop(tile.store_loop, b_.CreateAdd(store_base, at));
      llvm::Value* pointer = b_.CreateGEP(element, parameters_[op.parameter], index_.Scalar(op.offset));
      const llvm::Align align(static_cast<uint64_t>(width));
      rows.push_back(whole ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(vector, pointer, align))
                           : b_.CreateMaskedLoad(vector, pointer, align, LanesBelow(load_rest, size),
                                                 llvm::Constant::getNullValue(vector)));
    }
    rows = Transposed(b_, std::move(rows));
    for (int row = 0; row < size; ++row) {
      b_.CreateAlignedStore(rows[row], b_.CreateConstGEP1_64(vector, staged_[load].planes[0], row),
                            llvm::Align(static_cast<uint64_t>(width)));
    }
  }
  index_.SetLoop(tile.store_loop, store_base);
  auto at_row = [&](llvm::Value* row) {
    tile_row_ = row;
    index_.SetLoop(tile.load_loop, b_.CreateAdd(load_base, row));
    return body();
  };
  if (whole && nest_.body.statements.size() <= kMaxUnrolledStatements) {
    for (int row = 0; row < size; ++row) KILN_RETURN_IF_ERROR(at_row(b_.getInt64(static_cast<uint64_t>(row))));
    return absl::OkStatus();
  }
  llvm::Value* outer_mask = mask_;
  if (!whole) mask_ = LanesBelow(store_rest, size);
  llvm::Value* rows = b_.getInt64(static_cast<uint64_t>(size));
  if (!whole) rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rows, load_rest);
  const absl::Status status = EmitLoop(b_.getInt64(0), rows, b_.getInt64(1), at_row);
  mask_ = outer_mask;
  return status;
}

}  // namespace kiln::kernel
