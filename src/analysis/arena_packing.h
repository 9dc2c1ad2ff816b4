// Places buffers with known live ranges in one arena, or in memory that is there anyway and not yet in use.
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
  int space = -1;      // out: index of the free space, or -1: the arena
};

// Memory that nothing else uses before position `until`.
struct FreeSpace {
  int64_t bytes = 0;
  int64_t until = 0;
};

inline constexpr int64_t kArenaAlignment = 64;

// Sets places so that ranges that overlap in time do not overlap in memory, largest first at the lowest offset that is
// free: in a free space if one has room, otherwise in the arena. Returns the arena's size, which is not rounded up.
int64_t PackArena(std::vector<LiveRange>* ranges, const std::vector<FreeSpace>& spaces = {});

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_ARENA_PACKING_H_
