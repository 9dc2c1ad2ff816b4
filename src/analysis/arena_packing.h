// Places buffers with known live ranges in one arena.
#ifndef KILN_ANALYSIS_ARENA_PACKING_H_
#define KILN_ANALYSIS_ARENA_PACKING_H_

#include <cstdint>
#include <vector>

namespace kiln::analysis {

struct LiveRange {
  int64_t bytes = 0;
  int64_t first = 0;  // both included
  int64_t last = 0;
  int64_t offset = 0;  // out: multiple of kArenaAlignment
};

inline constexpr int64_t kArenaAlignment = 64;

// Sets the offsets so that ranges that overlap in time do not overlap in memory, largest first at the lowest offset
// that is free. Returns the arena's size.
int64_t PackArena(std::vector<LiveRange>* ranges);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_ARENA_PACKING_H_
