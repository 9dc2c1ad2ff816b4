// Stable sorts of rows by keys of their bits: what generated code calls for them.
//
// Compiled once, for every size: their loops are the same whatever the program is.
#ifndef KILN_CPU_RADIX_SORT_H_
#define KILN_CPU_RADIX_SORT_H_

#include <cstdint>

#include "src/cpu/program_abi.h"
#include "src/cpu/sort_key_loops.h"

namespace kiln::cpu {

// A sort of `rows` rows of `size` elements each, all arrays dense. Array 0 holds the keys.
struct RowSortShape {
  int64_t rows = 0;
  int64_t size = 0;         // below 2^32
  int64_t key_width = 0;    // bytes: 1, 2, 4 or 8
  int64_t array_count = 0;  // the keys counted in
  KeyCode code;
  int64_t positions = 0;  // not 0: the array that holds each element's place in its row, and is not read
  // Not 1: of nothing but keys, elements of a row are so far apart, and so many rows lie side by side.
  int64_t inner = 1;
  // Threads that there are: rows that may be under way at once take memory.
  int64_t threads = 8;
  // Bytes per element of array i; any power of two up to 16.
  const int64_t* widths = nullptr;
};

// Bytes of scratch that SortRows needs.
int64_t RowSortScratchBytes(const RowSortShape& shape);
// Rough time of a sort on one thread.
double RowSortNanoseconds(const RowSortShape& shape);

// Whether the sorted elements of an array may be where the unsorted ones are, as keys always may.
bool SortsInPlace(const RowSortShape& shape, int64_t array);

// Symbol "kiln_sort_rows". `arrays` are the sources, then as many destinations, distinct from sources that are read but
// for those that are sorted in place.
void SortRows(ProgramContext* context, const RowSortShape* shape, const void* const* arrays, void* scratch);
inline constexpr char kSortRowsName[] = "kiln_sort_rows";

}  // namespace kiln::cpu

#endif  // KILN_CPU_RADIX_SORT_H_
