#include "src/cpu/top_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/cpu/row_network.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kMaxTopStripes = 16;

// Few, so that the bound rises early.
constexpr int64_t kSpareCandidates = 128;

template <typename Key>
struct Candidate {
  Key key;
  int32_t position;
  bool operator<(const Candidate& other) const {
    return key != other.key ? key > other.key : position < other.position;
  }
};

int64_t CandidateRoom(int64_t k) { return 2 * k + kSpareCandidates; }

// Up to so many are kept in order: few elements of a row are among the largest before them.
constexpr int64_t kMaxInOrder = 16;

// Calls visit(key, position) for the elements of a row in their order, but perhaps not for those at most bound(), which
// may rise meanwhile.
template <typename Key, typename Bound, typename Visit>
void ForEachAbove(int64_t size, const Key* elements, KeyMasks<Key> masks, const Bound& bound, const Visit& visit) {
  constexpr int64_t kTogether = 8 * kKeyBlock;
  std::array<Key, kTogether> made;
  for (int64_t begin = 0; begin < size; begin += kKeyBlock) {
    const int64_t block = std::min(kKeyBlock, size - begin);
    Key* keys = &made[begin % kTogether];
    if (begin % kTogether == 0) ToKeys(elements + begin, std::min(kTogether, size - begin), masks, made.data());
    uint64_t left = ~uint64_t{0};
    if (block < kKeyBlock) {
      left = (uint64_t{1} << block) - 1;
      std::fill(keys + block, keys + kKeyBlock, Key{0});
    }
    if (const Key* least = bound()) left &= Above(keys, *least);
    for (; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      visit(keys[i], static_cast<int32_t>(begin + i));
    }
  }
}

// The k largest in their order, of few.
template <typename Key>
void KeepInOrder(int64_t size, int64_t k, const Key* elements, KeyMasks<Key> masks, Candidate<Key>* best) {
  int64_t count = 0;
  const auto bound = [&] { return count == k ? &best[k - 1].key : nullptr; };
  ForEachAbove(size, elements, masks, bound, [&](Key key, int32_t position) {
    // Later elements lose against equal ones.
    if (count == k && key <= best[k - 1].key) return;
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && best[at - 1].key < key; --at) best[at] = best[at - 1];
    best[at] = {key, position};
  });
}

// Keeps candidates above the k-th largest seen so far; when their room is full, the k largest of them stay.
template <typename Key>
void KeepCandidates(int64_t size, int64_t k, const Key* elements, KeyMasks<Key> masks, Candidate<Key>* candidates) {
  const int64_t room = CandidateRoom(k);
  int64_t count = 0;
  bool bounded = false;
  Key least = 0;
  auto keep = [&] {
    std::nth_element(candidates, candidates + k - 1, candidates + count);
    count = k;
    least = candidates[k - 1].key;
    bounded = true;
  };
  // Asked for before each block.
  const auto bound = [&] {
    if (!bounded && count >= k + kKeyBlock) keep();
    return bounded ? &least : nullptr;
  };
  ForEachAbove(size, elements, masks, bound, [&](Key key, int32_t position) {
    if (bounded && key <= least) return;
    candidates[count++] = {key, position};
    if (count == room) keep();
  });
  std::partial_sort(candidates, candidates + k, candidates + count);
}

template <typename Key>
void TopRow(int64_t size, int64_t k, const Key* elements, KeyMasks<Key> masks, Candidate<Key>* candidates, Key* top,
            int32_t* positions) {
  if (k <= kMaxInOrder) {
    KeepInOrder(size, k, elements, masks, candidates);
  } else {
    KeepCandidates(size, k, elements, masks, candidates);
  }
  for (int64_t i = 0; i < k; ++i) {
    top[i] = candidates[i].key;
    positions[i] = candidates[i].position;
  }
  FromKeys(top, k, masks, top);
}

double SelectionNanoseconds(const TopRowsShape& shape) {
  const RowTuning& costs = Tuning().rows;
  return costs.selection_nanoseconds * static_cast<double>(shape.size) +
         costs.selected_nanoseconds * static_cast<double>(shape.k + 1);
}

double SortNanoseconds(const TopRowsShape& shape) {
  return NetworkNanoseconds(shape.size, shape.key_width, /*with_positions=*/true);
}

// Short rows are sorted as a whole, many together, where that is no slower than to look for some.
bool SortsRows(const TopRowsShape& shape) {
  return shape.size > 1 && shape.size <= kNetworkSize && shape.rows >= kMinNetworkRows &&
         SortNanoseconds(shape) < SelectionNanoseconds(shape);
}

// Of so many rows, which lie one behind the other. False where keys lose bits.
template <typename Key>
bool TopOfSorted(const RowNetwork& network, int64_t count, int64_t k, const Key* elements, KeyMasks<Key> masks,
                 Key* top, int32_t* positions) {
  std::array<Key, kMaxNetworkRows * kNetworkSize> sorted;
  std::array<uint32_t, kMaxNetworkRows * kNetworkSize> order;
  // The largest come first.
  masks.all = static_cast<Key>(~masks.all);
  if (!SortRowBlock(network, {count, 1}, masks, elements, sorted.data(), order.data())) return false;
  for (int64_t row = 0; row < count; ++row) {
    std::copy_n(sorted.data() + row * network.size(), k, top + row * k);
    std::copy_n(order.data() + row * network.size(), k, positions + row * k);
  }
  return true;
}

int64_t CandidateBytes(int64_t key_width, int64_t k) {
  return RoundUp(CandidateRoom(k) * (key_width == 8 ? 16 : 8), 64);
}

int64_t TopStripes(const TopRowsShape& shape) {
  return TopRowsNanoseconds(shape) < Tuning().threads.wake_nanoseconds ? 1 : std::min(shape.rows, kMaxTopStripes);
}

template <typename Key>
void TopAll(ProgramContext* context, const TopRowsShape& shape, const void* keys, void* top, int32_t* positions,
            char* scratch) {
  const int64_t stripes = TopStripes(shape);
  const KeyMasks<Key> masks(shape.code);
  std::optional<RowNetwork> network;
  if (SortsRows(shape)) network.emplace(shape.size);
  const int64_t together = network ? NetworkRows(shape.key_width, /*with_positions=*/true) : 1;
  ForEach(context, stripes, [&](int64_t stripe) {
    char* memory = scratch + stripe * CandidateBytes(shape.key_width, shape.k);
    const int64_t end = shape.rows * (stripe + 1) / stripes;
    for (int64_t first = shape.rows * stripe / stripes; first < end; first += together) {
      const int64_t count = std::min(together, end - first);
      const Key* rows = static_cast<const Key*>(keys) + first * shape.size;
      Key* best = static_cast<Key*>(top) + first * shape.k;
      int32_t* places = positions + first * shape.k;
      if (network && TopOfSorted(*network, count, shape.k, rows, masks, best, places)) continue;
      for (int64_t i = 0; i < count; ++i) {
        TopRow(shape.size, shape.k, rows + i * shape.size, masks, reinterpret_cast<Candidate<Key>*>(memory),
               best + i * shape.k, places + i * shape.k);
      }
    }
  });
}

}  // namespace

int64_t TopRowsScratchBytes(const TopRowsShape& shape) {
  return TopStripes(shape) * CandidateBytes(shape.key_width, shape.k);
}

double TopRowsNanoseconds(const TopRowsShape& shape) {
  return static_cast<double>(shape.rows) * (SortsRows(shape) ? SortNanoseconds(shape) : SelectionNanoseconds(shape));
}

void TopRows(ProgramContext* context, const TopRowsShape* shape, const void* keys, void* top, int32_t* positions,
             void* scratch) {
  ForKeysOf(shape->key_width, [&]<typename Key>(Key) {
    TopAll<Key>(context, *shape, keys, top, positions, static_cast<char*>(scratch));
  });
}

}  // namespace kiln::cpu
