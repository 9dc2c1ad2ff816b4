#include "src/analysis/arena_packing.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kiln::analysis {
namespace {

// Of more ranges one order has to do.
constexpr size_t kMaxTries = 20000;

// Ranges of whole pages begin in one set of the first cache, which has room for that many lines; where more of them are
// live at a time, kernels evict what they are about to read. A line between them, where it costs little, helps: a plain
// loop over 12 arrays takes 0.6 of the time, 0.22 where it writes six of them (Zen 3).
constexpr int64_t kPage = 4096, kLine = 64, kWays = 8;
constexpr int64_t kPartOfArena = 60;

int64_t RoundUp(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

// Ranges by time: a tree over positions, each range at the few nodes that together are its life.
class TimeIndex {
 public:
  explicit TimeIndex(int64_t positions) {
    while (size_ < positions) size_ *= 2;
  }

  void Insert(const LiveRange* range) {
    if (nodes_.empty()) nodes_.resize(static_cast<size_t>(2 * size_));
    Insert(1, 0, size_ - 1, range);
  }

  // Those that overlap [first, last], some of them several times.
  void Find(int64_t first, int64_t last, std::vector<const LiveRange*>* found) const {
    if (!nodes_.empty()) Find(1, 0, size_ - 1, first, last, found);
  }

 private:
  struct Node {
    std::vector<const LiveRange*> ranges;
    bool below = false;  // has any in it or below
  };

  void Insert(size_t node, int64_t low, int64_t high, const LiveRange* range) {
    if (range->last < low || high < range->first) return;
    nodes_[node].below = true;
    if (range->first <= low && high <= range->last) return nodes_[node].ranges.push_back(range);
    const int64_t middle = low + (high - low) / 2;
    Insert(2 * node, low, middle, range);
    Insert(2 * node + 1, middle + 1, high, range);
  }

  void Find(size_t node, int64_t low, int64_t high, int64_t first, int64_t last,
            std::vector<const LiveRange*>* found) const {
    if (last < low || high < first || !nodes_[node].below) return;
    found->insert(found->end(), nodes_[node].ranges.begin(), nodes_[node].ranges.end());
    if (low == high) return;
    const int64_t middle = low + (high - low) / 2;
    Find(2 * node, low, middle, first, last, found);
    Find(2 * node + 1, middle + 1, high, first, last, found);
  }

  int64_t size_ = 1;
  std::vector<Node> nodes_;  // none before the first range
};

bool HasWholePages(const LiveRange& range) { return range.bytes > 0 && range.bytes % kPage == 0; }

// The lowest offset where `range` meets none of `others`, which have `between` bytes behind them if they are of pages.
int64_t LowestOffset(const LiveRange& range, int64_t between, std::vector<const LiveRange*>* others) {
  const auto size = [&](const LiveRange& r) { return RoundUp(r.bytes) + (HasWholePages(r) ? between : 0); };
  std::sort(others->begin(), others->end(),
            [](const LiveRange* a, const LiveRange* b) { return a->offset < b->offset; });
  int64_t offset = 0;
  for (const LiveRange* other : *others) {
    if (offset + size(range) <= other->offset) break;
    offset = std::max(offset, other->offset + size(*other));
  }
  return offset;
}

// Places ranges in this order, `between` bytes between those of the arena that are of pages, and returns its size.
int64_t PackInOrder(const std::vector<size_t>& order, const std::vector<FreeSpace>& spaces, int64_t positions,
                    int64_t between, std::vector<LiveRange>* ranges) {
  std::vector<TimeIndex> placed(spaces.size() + 1, TimeIndex(positions));  // the last one is the arena
  int64_t arena = 0;
  std::vector<const LiveRange*> others;
  for (size_t index : order) {
    LiveRange& range = (*ranges)[index];
    for (size_t space = 0; space <= spaces.size(); ++space) {
      const bool in_arena = space == spaces.size();
      if (!in_arena && (range.bytes > spaces[space].bytes || range.last >= spaces[space].until)) continue;
      others.clear();
      placed[space].Find(range.first, range.last, &others);
      range.offset = LowestOffset(range, in_arena ? between : 0, &others);
      if (!in_arena && range.offset + range.bytes > spaces[space].bytes) continue;
      range.space = in_arena ? -1 : static_cast<int>(space);
      placed[space].Insert(&range);
      if (in_arena) arena = std::max(arena, range.offset + range.bytes);
      break;
    }
  }
  return arena;
}

// The most bytes that are live at one time, less those of spaces that are free then: no arena is smaller.
int64_t PeakBytes(const std::vector<LiveRange>& ranges, const std::vector<FreeSpace>& spaces, int64_t positions) {
  std::vector<int64_t> change(static_cast<size_t>(positions) + 1, 0);
  int64_t live = 0, peak = 0;
  for (const FreeSpace& space : spaces) {
    live -= space.bytes;
    change[static_cast<size_t>(std::clamp<int64_t>(space.until, 0, positions))] += space.bytes;
  }
  for (const LiveRange& range : ranges) {
    if (range.last < range.first) continue;
    change[static_cast<size_t>(range.first)] += range.bytes;
    change[static_cast<size_t>(range.last) + 1] -= range.bytes;
  }
  for (int64_t bytes : change) peak = std::max(peak, live += bytes);
  return peak;
}

// How many ranges of whole pages are live at one time, at the most.
int64_t MostOfPages(const std::vector<LiveRange>& ranges, int64_t positions) {
  std::vector<int64_t> change(static_cast<size_t>(positions) + 1, 0);
  for (const LiveRange& range : ranges) {
    if (range.last < range.first || range.space >= 0 || !HasWholePages(range)) continue;
    ++change[static_cast<size_t>(range.first)];
    --change[static_cast<size_t>(range.last) + 1];
  }
  int64_t live = 0, most = 0;
  for (int64_t ranges_more : change) most = std::max(most, live += ranges_more);
  return most;
}

// As PackArena, of ranges that begin at position 0 or later.
int64_t PackWith(int64_t between, int64_t positions, const std::vector<FreeSpace>& spaces,
                 std::vector<LiveRange>* ranges) {
  std::vector<size_t> order(ranges->size());
  std::iota(order.begin(), order.end(), 0);
  const auto in_order_of = [&](auto key) {
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto x = key((*ranges)[a]), y = key((*ranges)[b]);
      return x != y ? x < y : a < b;
    });
    return PackInOrder(order, spaces, positions, between, ranges);
  };
  int64_t arena = in_order_of([](const LiveRange& r) { return -r.bytes; });
  // What is lost between buffers, and what spaces have no room for, may be less in other orders.
  const int64_t least =
      PeakBytes(*ranges, spaces, positions) + kArenaAlignment + between * MostOfPages(*ranges, positions);
  if (ranges->size() > kMaxTries || arena <= least) return arena;
  const auto improve = [&](auto key) {
    std::vector<LiveRange> best = *ranges;
    const int64_t other = in_order_of(key);
    other < arena ? void(arena = other) : void(ranges->swap(best));
  };
  improve([](const LiveRange& r) { return -static_cast<double>(r.bytes) * static_cast<double>(r.last - r.first + 1); });
  improve([](const LiveRange& r) { return std::pair(-(r.last - r.first), -r.bytes); });
  improve([](const LiveRange& r) { return std::pair(r.first, -r.bytes); });
  improve([](const LiveRange& r) { return std::pair(-r.last, -r.bytes); });
  return arena;
}

}  // namespace

int64_t PackArena(std::vector<LiveRange>* ranges, const std::vector<FreeSpace>& spaces) {
  int64_t positions = 1;
  for (LiveRange& range : *ranges) {
    range.first = std::max<int64_t>(range.first, 0);
    positions = std::max(positions, range.last + 1);
  }
  const int64_t arena = PackWith(0, positions, spaces, ranges);
  if (MostOfPages(*ranges, positions) <= kWays) return arena;
  std::vector<LiveRange> apart = *ranges;
  const int64_t of_apart = PackWith(kLine, positions, spaces, &apart);
  if (of_apart > arena + arena / kPartOfArena) return arena;
  *ranges = std::move(apart);
  return of_apart;
}

}  // namespace kiln::analysis
