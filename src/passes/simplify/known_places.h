// Places in an array that are known when a program is compiled, as those are that it computes of counters.
#ifndef KILN_PASSES_SIMPLIFY_KNOWN_PLACES_H_
#define KILN_PASSES_SIMPLIFY_KNOWN_PLACES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "src/passes/ir.h"

namespace kiln::passes::simplify {

// Elements `begin` to `end` of known places: `repeats` times the first one, `place`, then as often the one that is
// `step` further, and so on.
struct Piece {
  int64_t begin, end, place, step, repeats = 1;
};

// Places that some ops make of counters and constants, each below `size`, in a few pieces; none where they are not
// known, or are in more of them.
std::vector<Piece> PiecesOf(const Instruction& indices, int64_t size);

// The same of places that differ along one dimension alone, and which that is: their line along it. `vector_dimension`
// has one element and may have been added by a reshape.
std::pair<int64_t, std::vector<Piece>> PiecesAlong(const Instruction& indices, int64_t vector_dimension, int64_t size);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_KNOWN_PLACES_H_
