// Selections of the largest elements of rows by keys of their bits: what generated code calls for them. Compiled once,
// for every size.
#ifndef KILN_CPU_TOP_ROWS_H_
#define KILN_CPU_TOP_ROWS_H_

#include <cstdint>

#include "src/cpu/program_abi.h"
#include "src/cpu/sort_key_loops.h"

namespace kiln::cpu {

struct TopRowsShape {
  int64_t rows = 0;
  int64_t size = 0;       // below 2^31
  int64_t key_width = 0;  // bytes: 1, 2, 4 or 8
  int64_t k = 0;          // from 1 to `size`
  KeyCode code;           // no elements but equal ones have equal keys
};

int64_t TopRowsScratchBytes(const TopRowsShape& shape);
double TopRowsNanoseconds(const TopRowsShape& shape);

// Symbol "kiln_top_rows": of each row its k largest elements, largest first, earlier ones first among equals, and their
// positions in the row.
void TopRows(ProgramContext* context, const TopRowsShape* shape, const void* keys, void* top, int32_t* positions,
             void* scratch);
inline constexpr char kTopRowsName[] = "kiln_top_rows";

}  // namespace kiln::cpu

#endif  // KILN_CPU_TOP_ROWS_H_
