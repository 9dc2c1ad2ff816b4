// What a sort of rows works in, and what it sorts at a time.
#ifndef KILN_CPU_ROW_SORT_PLAN_H_
#define KILN_CPU_ROW_SORT_PLAN_H_

#include <cstdint>

#include "src/base/rounding.h"
#include "src/cpu/radix_sort.h"

namespace kiln::cpu {

// Parts of scratch are multiples of this.
inline constexpr int64_t kSortAlignment = 64;
inline int64_t SortAligned(int64_t bytes) { return RoundUp(bytes, kSortAlignment); }

// How the arrays beside the keys follow them.
enum class Carry { kNothing, kWord, kDoubleWord, kPosition };
Carry CarryOf(const RowSortShape& shape);

// Short rows go many together, by a network: so many.
bool ByNetwork(const RowSortShape& shape);
int64_t RowsTogether(const RowSortShape& shape);

// Whether threads sort one row after the other together.
bool DividesRows(const RowSortShape& shape);

// Whether elements of other arrays are gathered by position.
bool Gathers(const RowSortShape& shape);

// The array whose sorted elements are gathered last, since the positions are in their memory, or are what is asked for;
// 0: none has room.
int64_t PositionsArray(const RowSortShape& shape);

// Where elements move: two rows of them, one where only keys do, room for buckets of long rows.
int64_t SpareBytes(const RowSortShape& shape);

// The positions of a row where no result has room for them.
int64_t PositionBytes(const RowSortShape& shape);

// The elements of a row that is sorted in place and that are needed afterwards, or in the way, where that is little.
int64_t CopyBytes(const RowSortShape& shape);

// Columns that are sorted side by side, kColumnBytes of them or many by a network, none where rows are contiguous, and
// from the copy of one to the next.
inline constexpr int64_t kColumnBytes = 32;
int64_t ColumnsTogether(const RowSortShape& shape);
int64_t ColumnBytes(const RowSortShape& shape);

// All that one row, or columns side by side, are sorted in: the spare rows, the positions, a row of another array, the
// columns, and a copy.
int64_t StripeBytes(const RowSortShape& shape);

// What is sorted at a time, rows or columns side by side, and how many of those may be under way at once.
int64_t Groups(const RowSortShape& shape);
int64_t Stripes(const RowSortShape& shape);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_SORT_PLAN_H_
