#include "src/analysis/arena_packing.h"

#include <algorithm>
#include <numeric>

namespace kiln::analysis {

int64_t PackArena(std::vector<LiveRange>* ranges) {
  std::vector<size_t> order(ranges->size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return (*ranges)[a].bytes != (*ranges)[b].bytes ? (*ranges)[a].bytes > (*ranges)[b].bytes : a < b;
  });
  std::vector<const LiveRange*> placed;  // by offset
  int64_t arena = 0;
  for (size_t index : order) {
    LiveRange& range = (*ranges)[index];
    const int64_t bytes = (range.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    int64_t offset = 0;
    for (const LiveRange* other : placed) {
      if (other->last < range.first || other->first > range.last) continue;
      if (offset + bytes <= other->offset) break;
      const int64_t end = other->offset + (other->bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
      offset = std::max(offset, end);
    }
    range.offset = offset;
    arena = std::max(arena, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &range,
                                   [](const LiveRange* a, const LiveRange* b) { return a->offset < b->offset; }),
                  &range);
  }
  return arena;
}

}  // namespace kiln::analysis
