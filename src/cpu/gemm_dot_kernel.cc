// The dot kernel: for few rows against columns that are contiguous along k; lanes along k, summed up in the end.
#include <bit>

#include "src/base/status.h"
#include "src/cpu/gemm_emitter.h"

namespace kiln::cpu {

// The sums across the lanes of each vector, in a vector of as many lanes as there were vectors (a power of two, no more
// than their lanes).
llvm::Value* GemmEmitter::SumAcrossLanes(std::vector<llvm::Value*> vectors) {
  const int count = static_cast<int>(vectors.size());
  const int lanes = schedule_.lanes;
  // Each vector holds `groups` stretches of lanes, one per sum; both halves of every stretch are added. While there are
  // two vectors, the halves of two fill one again.
  int groups = 1;
  int width = lanes;
  while (width > 1) {
    const bool pairs = vectors.size() > 1;
    std::vector<llvm::Value*> next;
    for (size_t i = 0; i < vectors.size(); i += pairs ? 2 : 1) {
      const int total = groups * width;
      std::vector<int> low, high;
      for (int source = 0; source < (pairs ? 2 : 1); ++source) {
        for (int group = 0; group < groups; ++group) {
          for (int lane = 0; lane < width / 2; ++lane) {
            low.push_back(source * total + group * width + lane);
            high.push_back(source * total + group * width + width / 2 + lane);
          }
        }
      }
      llvm::Value* x = vectors[i];
      llvm::Value* y = pairs ? vectors[i + 1] : llvm::PoisonValue::get(x->getType());
      next.push_back(arithmetic_.Add(b_, b_.CreateShuffleVector(x, y, low), b_.CreateShuffleVector(x, y, high)));
    }
    vectors = std::move(next);
    if (pairs) groups *= 2;
    width /= 2;
  }
  return count == 1 ? b_.CreateExtractElement(vectors[0], uint64_t{0}) : vectors[0];
}

absl::Status GemmEmitter::EmitDotBody(const Tile& tile, int64_t rows, int64_t columns) {
  // An odd number of columns is made of powers of two, one after the other.
  if (!std::has_single_bit(static_cast<uint64_t>(columns))) {
    for (int64_t first = 0; first < columns;) {
      const int64_t piece = std::bit_floor(static_cast<uint64_t>(columns - first));
      Tile part = tile;
      part.rhs = At(tile.rhs, first * layout_.rhs.inner_stride * RhsBytes());
      part.n = b_.CreateAdd(tile.n, Int(first));
      if (InParts()) part.partial = At(tile.partial, first * rows * PartialBytes());
      KILN_RETURN_IF_ERROR(EmitDotBody(part, rows, piece));
      first += piece;
    }
    return absl::OkStatus();
  }

  const int lanes = schedule_.lanes;
  const int64_t unroll = schedule_.unroll;
  const int64_t sums_per_step = rows * columns;
  const auto load_lhs = [&](llvm::Value* pointer, int64_t count) {
    if (!layout_.lhs.packed) return LoadLanes(pointer, layout_.lhs.type, 1, count, lanes).part[0];
    return LoadContiguous(pointer, arithmetic_.PartType(b_.getContext(), 1), arithmetic_.part_bytes(), count, lanes);
  };
  // Adds the products of `count` steps from the pointers to the sums from `first` on.
  const auto add = [&](llvm::Value* lhs, llvm::Value* rhs, int64_t step, int64_t count, int64_t first, Sums& sums) {
    std::vector<llvm::Value*> left;
    for (int64_t row = 0; row < rows; ++row) {
      left.push_back(load_lhs(At(lhs, (row * layout_.lhs.inner_stride + step) * LhsBytes()), count));
    }
    for (int64_t column = 0; column < columns; ++column) {
      llvm::Value* pointer = At(rhs, (column * layout_.rhs.inner_stride + step) * RhsBytes());
      llvm::Value* right = LoadLanes(pointer, layout_.rhs.type, 1, count, lanes).part[0];
      for (int64_t row = 0; row < rows; ++row) {
        GemmValue& sum = sums[first + row * columns + column];
        sum.part[0] = arithmetic_.MultiplyAdd(b_, left[row], right, sum.part[0]);
      }
    }
  };

  // Several sums per element when the tile is too small to keep the multipliers busy.
  Sums sums = StartSums(tile, sums_per_step * unroll);
  llvm::Value* lhs = tile.lhs;
  llvm::Value* rhs = tile.rhs;
  const int64_t stride = lanes * unroll;
  sums = EmitSumLoop(
      InParts() ? b_.CreateSDiv(tile.steps, Int(stride)) : Int(problem_.k / stride), 1, lhs, rhs, std::move(sums),
      [&](llvm::Value* lhs, llvm::Value* rhs, int64_t, Sums& sums) {
        for (int64_t u = 0; u < unroll; ++u) add(lhs, rhs, u * lanes, lanes, u * sums_per_step, sums);
      },
      stride * LhsBytes(), stride * RhsBytes());
  return FinishSums(tile, std::move(sums), [&](Sums& sums) -> absl::Status {
    // Only the last go has steps left over: k_block is a multiple of the stride.
    int64_t left = problem_.k % stride;
    for (int64_t u = 0; left > 0; ++u, left -= lanes) {
      add(lhs, rhs, u * lanes, std::min<int64_t>(left, lanes), u * sums_per_step, sums);
    }
    for (int64_t u = 1; u < unroll; ++u) {
      for (int64_t i = 0; i < sums_per_step; ++i) {
        sums[i].part[0] = arithmetic_.Add(b_, sums[i].part[0], sums[u * sums_per_step + i].part[0]);
      }
    }
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<llvm::Value*> vectors;
      for (int64_t column = 0; column < columns; ++column) vectors.push_back(sums[row * columns + column].part[0]);
      GemmValue total;
      total.part[0] = SumAcrossLanes(std::move(vectors));
      KILN_RETURN_IF_ERROR(EmitStore(tile, row, 0, static_cast<int>(columns), total));
    }
    return absl::OkStatus();
  });
}

}  // namespace kiln::cpu
