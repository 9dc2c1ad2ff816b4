// Tiles in shared memory.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/IR/DerivedTypes.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

absl::Status NestLowering::LowerTiled(const Segment& segment, const std::function<absl::Status(int)>& deeper) {
  const TileSchedule& tile = schedule_.tile;
  const int64_t size = tile.size;
  const int64_t rows = threads_->block_threads() / size;
  const int64_t load_extent = kernel_.loops[tile.load_loop].extent;
  const int64_t store_extent = kernel_.loops[tile.store_loop].extent;
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
  auto for_each_row = [&](int along, llvm::Value* along_base, int64_t along_extent, int across,
                          llvm::Value* across_base, int64_t across_extent, const LoopBody& body) -> absl::Status {
    for (int64_t r = 0; r < size; r += rows) {
      llvm::Value* row = b_.CreateAdd(first_row, b_.getInt64(r));
      llvm::Value* x = b_.CreateAdd(along_base, column);
      llvm::Value* y = b_.CreateAdd(across_base, row);
      index_.SetLoop(along, x);
      index_.SetLoop(across, y);
      llvm::Value* inside =
          b_.CreateAnd(b_.CreateICmpSLT(x, b_.getInt64(along_extent)), b_.CreateICmpSLT(y, b_.getInt64(across_extent)));
      KILN_RETURN_IF_ERROR(EmitIf(inside, [&] { return body(row); }));
    }
    return absl::OkStatus();
  };
  auto read = [&](llvm::Value* row) {
    for (ValueId load : tile.loads) {
      const Op& op = kernel_.ops[load];
      const Value value =
          MemoryAccess(&scalar_, &scalar_).LoadScalar(op.type, parameters_[op.parameter], index_.Scalar(op.offset));
      const Staged& staged = staged_[load];
      b_.CreateStore(scalar_.ToMemory(op.type, value.value), TileElement(staged, 0, row, column));
      if (value.imaginary != nullptr) b_.CreateStore(value.imaginary, TileElement(staged, 1, row, column));
    }
    return absl::OkStatus();
  };
  auto work = [&](llvm::Value* row) {
    tile_row_ = row;
    tile_column_ = column;
    return deeper(segment.last);
  };
  return ForEachTile(
      segment.share, /*end=*/nullptr, size, [&](llvm::Value* load_number, llvm::Value* store_number) -> absl::Status {
        llvm::Value* load_base = b_.CreateMul(load_number, b_.getInt64(size));
        llvm::Value* store_base = b_.CreateMul(store_number, b_.getInt64(size));
        KILN_RETURN_IF_ERROR(
            for_each_row(tile.load_loop, load_base, load_extent, tile.store_loop, store_base, store_extent, read));
        threads_->Barrier();
        KILN_RETURN_IF_ERROR(
            for_each_row(tile.store_loop, store_base, store_extent, tile.load_loop, load_base, load_extent, work));
        // The next tile overwrites this one.
        threads_->Barrier();
        return absl::OkStatus();
      });
}

absl::Status NestLowering::ForEachTile(const LoopShare& share, llvm::Value* end, int64_t span,
                                       const std::function<absl::Status(llvm::Value*, llvm::Value*)>& body) {
  const TileSchedule& tile = schedule_.tile;
  std::vector<int> loops = schedule_.order;
  std::erase(loops, tile.load_loop);
  std::erase(loops, tile.store_loop);
  const size_t outer = loops.size();
  std::vector<int64_t> extents;
  for (int loop : loops) extents.push_back(kernel_.loops[loop].extent);
  for (int loop : {tile.load_loop, tile.store_loop}) extents.push_back((kernel_.loops[loop].extent + span - 1) / span);
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  return EmitLoop(share.first, end != nullptr ? end : b_.getInt64(count), share.step, [&](llvm::Value* number) {
    const std::vector<llvm::Value*> parts = TakeApart(number, extents);
    for (size_t i = 0; i < outer; ++i) index_.SetLoop(loops[i], parts[i]);
    return body(parts[outer], parts[outer + 1]);
  });
}

llvm::Value* NestLowering::TileElement(const Staged& staged, size_t part, llvm::Value* row, llvm::Value* column) {
  return b_.CreateInBoundsGEP(staged.plane_type, staged.planes[part], {b_.getInt64(0), row, column});
}

Value NestLowering::LoadFromTile(const Op& op, const Staged& staged) {
  if (threads_ == nullptr) {
    const Access access = {.kind = Access::Kind::kContiguous,
                           .offset = b_.CreateMul(tile_row_, b_.getInt64(vector_->lanes()))};
    return MemoryAccess(&scalar_, vector_.get()).LoadVector(op.type, staged.planes[0], access, /*mask=*/nullptr);
  }
  auto part = [&](size_t number) {
    // What was written in rows along the load loop is read in columns.
    return scalar_.FromMemory(
        op.type, b_.CreateLoad(scalar_.MemoryType(op.type), TileElement(staged, number, tile_column_, tile_row_)));
  };
  return {op.type, part(0), staged.planes.size() > 1 ? part(1) : nullptr};
}

}  // namespace kiln::kernel
