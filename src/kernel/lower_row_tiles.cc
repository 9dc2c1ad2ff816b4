// Tiles of rows: what a body reads and writes in them, and how they are filled and emptied.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"
#include "src/kernel/row_tile_moves.h"
#include "src/kernel/transposition.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

absl::Status NestLowering::WithRowTiles(llvm::Value* base, const Innermost& body) {
  const int lanes = schedule_.lanes;
  const int64_t extent = kernel_.loops[schedule_.vector_loop].extent;
  // The last rows may be fewer than the lanes.
  llvm::Value* rest = extent % lanes == 0 ? nullptr : b_.CreateSub(b_.getInt64(extent), base);
  for (const RowTile& tile : schedule_.row_tiles) {
    llvm::Type* element = scalar_.MemoryType(kernel_.parameters[tile.parameter].type);
    llvm::Type* places = llvm::ArrayType::get(element, static_cast<uint64_t>(tile.size * lanes));
    row_tiles_.push_back({element, Slot(places, /*alignment=*/64),
                          b_.CreateGEP(element, ArrayOf(tile.parameter), index_.Scalar(tile.first)),
                          tile.is_unrolled && rest != nullptr ? Slot(places, /*alignment=*/64) : nullptr});
  }
  const auto move = [&](bool stored) -> absl::Status {
    for (size_t i = 0; i < row_tiles_.size(); ++i) {
      const RowTile& tile = schedule_.row_tiles[i];
      if ((tile.store >= 0) == stored) KILN_RETURN_IF_ERROR(MoveRowTile(tile, row_tiles_[i], rest));
    }
    return absl::OkStatus();
  };
  KILN_RETURN_IF_ERROR(move(/*stored=*/false));
  llvm::Value* outer_mask = mask_;
  if (rest != nullptr) mask_ = LanesBelow(rest, lanes);
  const absl::Status status = body();
  mask_ = outer_mask;
  KILN_RETURN_IF_ERROR(status);
  KILN_RETURN_IF_ERROR(move(/*stored=*/true));
  row_tiles_.clear();
  return absl::OkStatus();
}

absl::Status NestLowering::MoveRowTile(const RowTile& tile, const PlacedRowTile& placed, llvm::Value* rest) {
  const PrimitiveType type = kernel_.parameters[tile.parameter].type;
  const int lanes = vector_->lanes();
  const int piece = tile.PieceOf(hlo::ByteWidth(type), lanes);
  llvm::Value* all = b_.getInt64(static_cast<uint64_t>(lanes));
  const auto call = [&] {
    llvm::Value* to = placed.rest != nullptr ? placed.rest : placed.places;
    llvm::Value* arguments[] = {placed.rows, to, b_.getInt64(static_cast<uint64_t>(tile.pitch)),
                                b_.getInt64(static_cast<uint64_t>(tile.size)), rest != nullptr ? rest : all};
    CallByName(RowTileMoveName(/*fill=*/tile.store < 0, hlo::ByteWidth(type), lanes, piece), arguments);
    if (placed.rest == nullptr) return absl::OkStatus();
    llvm::Type* vector = llvm::FixedVectorType::get(placed.element, lanes);
    for (int64_t place = 0; place < tile.size; ++place) {
      llvm::Value* from = b_.CreateGEP(vector, to, b_.getInt64(place));
      b_.CreateStore(b_.CreateLoad(vector, from), b_.CreateGEP(vector, placed.places, b_.getInt64(place)));
    }
    return absl::OkStatus();
  };
  if (piece > 1 && !tile.is_unrolled) return call();
  const auto pick = [&] {
    if (piece > 1) {
      FillUnrolled(tile, placed, piece);
      return absl::OkStatus();
    }
    MemoryAccess memory(&scalar_, vector_.get());
    std::vector<Value> places;
    for (int64_t place = 0; place < tile.size; ++place) {
      const Access in_tile = {.kind = Access::Kind::kContiguous, .offset = b_.getInt64(place * lanes)};
      if (tile.store >= 0) {
        places.push_back(memory.LoadVector(type, placed.places, in_tile, /*mask=*/nullptr));
        continue;
      }
      const Access in_rows = {.kind = Access::Kind::kStrided, .offset = b_.getInt64(place), .stride = tile.pitch};
      memory.StoreVector(memory.LoadVector(type, placed.rows, in_rows, /*mask=*/nullptr), placed.places, in_tile,
                         /*mask=*/nullptr, /*streaming=*/0);
    }
    if (tile.store >= 0) {
      memory.StoreInterleaved(places, placed.rows, b_.getInt64(0), /*mask=*/nullptr, /*streaming=*/0);
    }
    return absl::OkStatus();
  };
  if (rest == nullptr) return pick();
  llvm::Value* whole = b_.CreateICmpSGE(rest, all);
  KILN_RETURN_IF_ERROR(EmitIf(whole, pick));
  return EmitIf(b_.CreateNot(whole), call);
}

void NestLowering::FillUnrolled(const RowTile& tile, const PlacedRowTile& placed, int piece) {
  const int lanes = vector_->lanes();
  llvm::Type* part = llvm::FixedVectorType::get(placed.element, piece);
  llvm::Type* vector = llvm::FixedVectorType::get(placed.element, lanes);
  const llvm::Align alignment(placed.element->getPrimitiveSizeInBits() / 8);
  for (int64_t start = 0; start < tile.size; start += piece) {
    // The last one may overlap the one before.
    const int64_t first = std::min(start, tile.size - piece);
    std::vector<llvm::Value*> square;
    for (int row = 0; row < piece; ++row) {
      llvm::SmallVector<llvm::Value*, 16> parts;
      for (int lane = row; lane < lanes; lane += piece) {
        llvm::Value* from = b_.CreateGEP(placed.element, placed.rows, b_.getInt64(lane * tile.pitch + first));
        parts.push_back(b_.CreateAlignedLoad(part, from, alignment));
      }
      square.push_back(llvm::concatenateVectors(b_, parts));
    }
    square = Transposed(b_, std::move(square));
    for (int64_t place = start; place < first + piece; ++place) {
      b_.CreateStore(square[static_cast<size_t>(place - first)],
                     b_.CreateGEP(vector, placed.places, b_.getInt64(place)));
    }
  }
}

bool NestLowering::ReadsUnrolledRowTile(const Reduce& reduce) const {
  return absl::c_any_of(reduce.block->statements, [&](const Block::Statement& statement) {
    return statement.kind == Block::Kind::kOp && !row_tiles_.empty() &&
           absl::c_any_of(schedule_.row_tiles, [&](const RowTile& tile) {
             return tile.is_unrolled && absl::c_linear_search(tile.loads, statement.index);
           });
  });
}

llvm::Value* NestLowering::PlaceInRowTile(const RowTile& tile, const PlacedRowTile& placed, const IndexExpr& offset) {
  llvm::Value* place = index_.Scalar(offset - tile.first);
  return b_.CreateGEP(llvm::FixedVectorType::get(placed.element, vector_->lanes()), placed.places, place);
}

bool NestLowering::LoadFromRowTile(ValueId id, Value* value) {
  for (size_t i = 0; i < row_tiles_.size(); ++i) {
    const RowTile& tile = schedule_.row_tiles[i];
    if (!absl::c_linear_search(tile.loads, id)) continue;
    const Op& op = kernel_.ops[id];
    const Access access = {.kind = Access::Kind::kContiguous, .offset = b_.getInt64(0)};
    *value = MemoryAccess(&scalar_, vector_.get())
                 .LoadVector(op.type, PlaceInRowTile(tile, row_tiles_[i], op.offset), access, /*mask=*/nullptr);
    return true;
  }
  return false;
}

bool NestLowering::StoreToRowTile(int number) {
  for (size_t i = 0; i < row_tiles_.size(); ++i) {
    const RowTile& tile = schedule_.row_tiles[i];
    if (tile.store != number) continue;
    const Store& store = kernel_.stores[number];
    const Access access = {.kind = Access::Kind::kContiguous, .offset = b_.getInt64(0)};
    MemoryAccess(&scalar_, vector_.get())
        .StoreVector(Get(store.value, true), PlaceInRowTile(tile, row_tiles_[i], store.offset), access,
                     /*mask=*/nullptr, /*streaming=*/0);
    return true;
  }
  return false;
}

}  // namespace kiln::kernel
