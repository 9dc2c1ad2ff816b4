// Tiles of rows: squares of pieces of as many rows as there are lanes, transposed in registers.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"
#include "src/kernel/transposition.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

absl::Status NestLowering::WithRowTiles(llvm::Value* base, const Innermost& body) {
  const int lanes = schedule_.lanes;
  const int64_t extent = kernel_.loops[schedule_.vector_loop].extent;
  llvm::Value* rest = extent % lanes == 0 ? nullptr : b_.CreateSub(b_.getInt64(extent), base);
  llvm::Value* whole = rest == nullptr ? nullptr : b_.CreateICmpSGE(rest, b_.getInt64(lanes));
  for (const RowTile& tile : schedule_.row_tiles) {
    llvm::Type* element = scalar_.MemoryType(kernel_.parameters[tile.parameter].type);
    const auto array = [&](int64_t size) {
      return Slot(llvm::ArrayType::get(element, static_cast<uint64_t>(size)), /*alignment=*/64);
    };
    PlacedRowTile placed{element, array(tile.size * lanes)};
    placed.rows = b_.CreateGEP(element, ArrayOf(tile.parameter), index_.Scalar(tile.first));
    if (whole != nullptr) {
      // Where the last rows lie, so that there is memory for those of every lane; what is in it matters to no result.
      placed.array = placed.rows;
      placed.copy = array((lanes - 1) * tile.pitch + tile.size);
      placed.rows = b_.CreateSelect(whole, placed.array, placed.copy);
    }
    row_tiles_.push_back(placed);
  }
  // What there is of the last rows, to the copies or back.
  const auto copy_rows = [&](bool stored) {
    return EmitIf(b_.CreateNot(whole), [&] {
      for (size_t i = 0; i < row_tiles_.size(); ++i) {
        const RowTile& tile = schedule_.row_tiles[i];
        const PlacedRowTile& placed = row_tiles_[i];
        if ((tile.store >= 0) != stored) continue;
        const llvm::Align align(placed.element->getScalarSizeInBits() / 8);
        // Behind the last row may be the end of the array.
        llvm::Value* elements =
            b_.CreateSub(b_.CreateMul(rest, b_.getInt64(tile.pitch)), b_.getInt64(tile.pitch - tile.size));
        b_.CreateMemCpy(stored ? placed.array : placed.copy, align, stored ? placed.copy : placed.array, align,
                        b_.CreateMul(elements, b_.getInt64(align.value())));
      }
      return absl::OkStatus();
    });
  };
  const auto has = [&](bool stored) {
    return absl::c_any_of(schedule_.row_tiles, [&](const RowTile& tile) { return (tile.store >= 0) == stored; });
  };
  if (whole != nullptr && has(/*stored=*/false)) KILN_RETURN_IF_ERROR(copy_rows(/*stored=*/false));
  for (size_t i = 0; i < row_tiles_.size(); ++i) {
    if (schedule_.row_tiles[i].store < 0) KILN_RETURN_IF_ERROR(MoveRowTile(schedule_.row_tiles[i], row_tiles_[i]));
  }
  llvm::Value* outer_mask = mask_;
  if (rest != nullptr) mask_ = LanesBelow(rest, lanes);
  const absl::Status status = body();
  mask_ = outer_mask;
  KILN_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < row_tiles_.size(); ++i) {
    if (schedule_.row_tiles[i].store >= 0) KILN_RETURN_IF_ERROR(MoveRowTile(schedule_.row_tiles[i], row_tiles_[i]));
  }
  if (whole != nullptr && has(/*stored=*/true)) KILN_RETURN_IF_ERROR(copy_rows(/*stored=*/true));
  row_tiles_.clear();
  return absl::OkStatus();
}

absl::Status NestLowering::MoveRowTile(const RowTile& tile, const PlacedRowTile& placed) {
  const PrimitiveType type = kernel_.parameters[tile.parameter].type;
  const int lanes = vector_->lanes();
  const llvm::Align align(static_cast<uint64_t>(hlo::ByteWidth(type)));
  const int piece = tile.PieceOf(hlo::ByteWidth(type), lanes);
  MemoryAccess memory(&scalar_, vector_.get());
  if (piece == 1) {
    std::vector<Value> places;
    for (int64_t place = 0; place < tile.size; ++place) {
      const Access in_tile = {.kind = Access::Kind::kContiguous, .offset = b_.getInt64(place * lanes)};
      if (tile.store >= 0) {
        places.push_back(memory.LoadVector(type, placed.places, in_tile, /*mask=*/nullptr));
        continue;
      }
      const Access in_rows = {.kind = Access::Kind::kStrided, .offset = b_.getInt64(place), .stride = tile.pitch};
      memory.StoreVector(memory.LoadVector(type, placed.rows, in_rows, /*mask=*/nullptr), placed.places, in_tile,
                         /*mask=*/nullptr, /*streaming=*/false);
    }
    if (tile.store >= 0) {
      memory.StoreInterleaved(places, placed.rows, b_.getInt64(0), /*mask=*/nullptr, /*streaming=*/false);
    }
    return absl::OkStatus();
  }
  // Vector number q of a square has pieces of the rows q, q + piece, q + 2 * piece...
  llvm::Type* part = llvm::FixedVectorType::get(placed.element, piece);
  llvm::Type* vector = llvm::FixedVectorType::get(placed.element, lanes);
  const auto move = [&](llvm::Value* start) {
    llvm::Value* rows = b_.CreateGEP(placed.element, placed.rows, start);
    llvm::Value* places = b_.CreateGEP(vector, placed.places, start);
    const auto in_row = [&](int row) {
      return b_.CreateConstGEP1_64(placed.element, rows, static_cast<uint64_t>(row * tile.pitch));
    };
    const auto in_tile = [&](int place) { return b_.CreateConstGEP1_64(vector, places, static_cast<uint64_t>(place)); };
    std::vector<llvm::Value*> square;
    for (int i = 0; i < piece; ++i) {
      if (tile.store >= 0) {
        square.push_back(b_.CreateAlignedLoad(vector, in_tile(i), align));
        continue;
      }
      std::vector<llvm::Value*> parts;
      for (int row = i; row < lanes; row += piece) parts.push_back(b_.CreateAlignedLoad(part, in_row(row), align));
      square.push_back(llvm::concatenateVectors(b_, parts));
    }
    square = Transposed(b_, std::move(square));
    for (int i = 0; i < piece; ++i) {
      if (tile.store < 0) {
        b_.CreateAlignedStore(square[i], in_tile(i), align);
        continue;
      }
      for (int row = i; row < lanes; row += piece) {
        const Value own = Lanes({type, square[i]}, row - i, piece);
        b_.CreateAlignedStore(own.value, in_row(row), align);
      }
    }
    return absl::OkStatus();
  };
  const int64_t pieces = (tile.size + piece - 1) / piece;
  if (pieces == 1) return move(b_.getInt64(0));
  return EmitLoop(b_.getInt64(0), b_.getInt64(pieces * piece), b_.getInt64(piece), [&](llvm::Value* start) {
    // The last one may overlap the one before.
    llvm::Value* last = b_.getInt64(tile.size - piece);
    return move(tile.size % piece == 0 ? start : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, start, last));
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
                     /*mask=*/nullptr, /*streaming=*/false);
    return true;
  }
  return false;
}

}  // namespace kiln::kernel
