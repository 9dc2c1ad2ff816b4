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

llvm::Value* NestLowering::TileElement(const Staged& staged, size_t part, llvm::Value* row, llvm::Value* column) {
  return b_.CreateInBoundsGEP(staged.plane_type, staged.planes[part], {b_.getInt64(0), row, column});
}

Value NestLowering::LoadFromTile(const Op& op, const Staged& staged) {
  if (threads_ == nullptr) {
    Access access;
    access.kind = Access::Kind::kContiguous;
    access.offset = b_.CreateMul(tile_row_, b_.getInt64(vector_->lanes()));
    return MemoryAccess(&scalar_, vector_.get()).LoadVector(op.type, staged.planes[0], access, /*mask=*/nullptr);
  }
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

}  // namespace kiln::kernel
