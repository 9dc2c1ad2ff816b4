#include "src/cpu/row_sort_plan.h"

#include <algorithm>

#include "src/analysis/buffer_assignment.h"
#include "src/base/cpu_tuning.h"
#include "src/cpu/row_network.h"
#include "src/cpu/vector_sort.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kMaxStripes = 16;
// Buckets get a quarter of the row to be sorted in, divided among threads, but not more than this.
constexpr int64_t kBucketRoom = 4;
constexpr int64_t kMaxRoomBytes = int64_t{2} << 20;
// The share of the array that copies of columns take.
constexpr int64_t kColumnShare = 8;

// Long rows go by buckets.
bool ByBuckets(const RowSortShape& shape) { return shape.size >= Tuning().rows.sort_divided_size; }

int64_t ElementBytes(const RowSortShape& shape) {
  switch (CarryOf(shape)) {
    case Carry::kNothing:
      return shape.key_width;
    case Carry::kDoubleWord:
      return 16;
    default:
      return shape.key_width == 8 ? 16 : 8;
  }
}

// Whether keys do not tell elements of different bits apart.
bool Merges(const RowSortShape& shape) { return shape.code.order >= analysis::KeyOrder::kZerosEqual; }

// Where buckets are sorted: keys, or two words for each with its position.
int64_t RoomBytes(const RowSortShape& shape) {
  const int64_t item = CarryOf(shape) == Carry::kNothing ? shape.key_width : 16;
  return std::min(SortAligned(shape.size / kBucketRoom * item), kMaxRoomBytes);
}

int64_t RowBytes(const RowSortShape& shape) { return SortAligned(shape.size * shape.key_width); }

// A row of any other array than the keys, which are gathered by position from there where they are in the way.
int64_t MovedBytes(const RowSortShape& shape) {
  if (!Gathers(shape)) return 0;
  const int64_t bytes = SortAligned(shape.size * *std::max_element(shape.widths + 1, shape.widths + shape.array_count));
  const int64_t others = SpareBytes(shape) + (shape.positions == 0 ? SortAligned(4 * shape.size) : 0) + RowBytes(shape);
  return bytes + others <= analysis::kMaxWorkspaceBytes ? bytes : 0;
}

}  // namespace

bool ByNetwork(const RowSortShape& shape) {
  // Longer rows of such keys take no longer one by one, in vector registers.
  constexpr int64_t kVectorSortSize = 48;
  const bool in_vectors =
      SortsInVectors() && (shape.key_width == 4 || (shape.key_width == 8 && shape.array_count == 1));
  return shape.size > 1 && shape.size <= (in_vectors ? kVectorSortSize : kNetworkSize) &&
         shape.rows >= kMinNetworkRows && shape.code.order != analysis::KeyOrder::kComplex;
}

int64_t RowsTogether(const RowSortShape& shape) { return NetworkRows(shape.key_width, shape.array_count > 1); }

Carry CarryOf(const RowSortShape& shape) {
  if (shape.array_count == 1) return Carry::kNothing;
  if (ByBuckets(shape)) return Carry::kPosition;
  if (shape.array_count == 2 && shape.widths[1] == 4) return Carry::kWord;
  if (shape.array_count == 2 && shape.widths[1] == 8) return Carry::kDoubleWord;
  return Carry::kPosition;
}

bool DividesRows(const RowSortShape& shape) { return shape.inner == 1 && ByBuckets(shape) && shape.rows < kMaxStripes; }

int64_t PositionsArray(const RowSortShape& shape) {
  if (shape.positions != 0) return shape.positions;
  int64_t array = shape.array_count - 1;
  while (array > 0 && shape.widths[array] < 4) --array;
  return array;
}

bool Gathers(const RowSortShape& shape) {
  return CarryOf(shape) == Carry::kPosition && (shape.positions == 0 || shape.array_count > 2);
}

int64_t SpareBytes(const RowSortShape& shape) {
  if (ByBuckets(shape)) return RoomBytes(shape);
  return SortAligned(shape.size * ElementBytes(shape)) * (CarryOf(shape) == Carry::kNothing ? 1 : 2);
}

int64_t PositionBytes(const RowSortShape& shape) {
  if (!Gathers(shape) || shape.positions != 0) return 0;
  return PositionsArray(shape) == 0 || MovedBytes(shape) > 0 ? SortAligned(4 * shape.size) : 0;
}

int64_t CopyBytes(const RowSortShape& shape) {
  const bool fits =
      RoomBytes(shape) + PositionBytes(shape) + MovedBytes(shape) + RowBytes(shape) <= analysis::kMaxWorkspaceBytes;
  const bool needed = shape.inner > 1 || (ByBuckets(shape) ? fits : Merges(shape));
  return needed ? RowBytes(shape) : 0;
}

int64_t ColumnsTogether(const RowSortShape& shape) {
  if (shape.inner == 1) return 0;
  return std::min(ByNetwork(shape) ? RowsTogether(shape) : kColumnBytes / shape.key_width, shape.inner);
}

int64_t ColumnBytes(const RowSortShape& shape) { return RowBytes(shape) + kSortAlignment; }

int64_t StripeBytes(const RowSortShape& shape) {
  return SpareBytes(shape) + PositionBytes(shape) + MovedBytes(shape) + ColumnsTogether(shape) * ColumnBytes(shape) +
         CopyBytes(shape);
}

int64_t Groups(const RowSortShape& shape) {
  if (shape.inner == 1) return shape.rows;
  const int64_t together = ColumnsTogether(shape);
  return shape.rows / shape.inner * CeilDivide(shape.inner, together);
}

int64_t Stripes(const RowSortShape& shape) {
  if (shape.rows == 0 || DividesRows(shape) || RowSortNanoseconds(shape) < Tuning().threads.wake_nanoseconds) return 1;
  int64_t most = analysis::kMaxWorkspaceBytes;
  if (shape.inner > 1) most = std::min(most, shape.rows * shape.size * shape.key_width / kColumnShare);
  const int64_t fitting = std::max<int64_t>(most / std::max<int64_t>(StripeBytes(shape), 1), 1);
  return std::min({Groups(shape), kMaxStripes, 2 * shape.threads, fitting});
}

bool SortsInPlace(const RowSortShape& shape, int64_t array) {
  return array == 0 || CarryOf(shape) != Carry::kPosition || MovedBytes(shape) > 0;
}

int64_t RowSortScratchBytes(const RowSortShape& shape) { return Stripes(shape) * StripeBytes(shape); }

double RowSortNanoseconds(const RowSortShape& shape) {
  const RowTuning& costs = Tuning().rows;
  if (ByNetwork(shape)) {
    return static_cast<double>(shape.rows) * NetworkNanoseconds(shape.size, shape.key_width, shape.array_count > 1);
  }
  if (CarryOf(shape) == Carry::kNothing && shape.key_width >= 4 && SortsInVectors()) {
    return static_cast<double>(shape.rows) * static_cast<double>(shape.size) * costs.vector_sort_byte_nanoseconds *
           static_cast<double>(shape.key_width);
  }
  const double per_element =
      costs.sort_nanoseconds + (shape.size <= kRankedSize
                                    ? costs.rank_nanoseconds * static_cast<double>(shape.size)
                                    : costs.sort_byte_nanoseconds * static_cast<double>(shape.key_width));
  const double gathered =
      CarryOf(shape) == Carry::kPosition ? costs.gather_nanoseconds * static_cast<double>(shape.array_count) : 0.0;
  return static_cast<double>(shape.rows) * static_cast<double>(shape.size) * (per_element + gathered);
}

}  // namespace kiln::cpu
