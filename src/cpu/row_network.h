// Sorts of short rows, as many at a time as vectors have lanes: vector i holds element i of each row, and Batcher's
// odd-even merge sort orders the vectors, whatever their elements are.
#ifndef KILN_CPU_ROW_NETWORK_H_
#define KILN_CPU_ROW_NETWORK_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/cpu/sort_key_loops.h"

namespace kiln::cpu {

// Elements of a row at most, and rows that are sorted together at most.
inline constexpr int64_t kNetworkSize = 64;
inline constexpr int64_t kMaxNetworkRows = 64;
// Fewer rows are as well sorted one by one.
inline constexpr int64_t kMinNetworkRows = 4;

// The comparisons that sort `size` elements, which is from 1 to kNetworkSize: the lesser element goes to `first`.
class RowNetwork {
 public:
  struct Comparison {
    uint8_t first, second;
  };

  explicit RowNetwork(int64_t size);
  int64_t size() const { return size_; }
  int64_t comparisons() const { return static_cast<int64_t>(count_); }
  const Comparison* begin() const { return comparisons_.data(); }
  const Comparison* end() const { return comparisons_.data() + count_; }

 private:
  static constexpr size_t kMaxComparisons = 543;
  int64_t size_;
  size_t count_ = 0;
  std::array<Comparison, kMaxComparisons> comparisons_;
};

// Rows that one call of SortRowBlock sorts: of keys of so many bytes, alone or with their positions.
constexpr int64_t NetworkRows(int64_t key_width, bool with_positions) {
  return kMaxNetworkRows / (with_positions && key_width < 8 ? 2 * key_width : key_width);
}

// Rough time of one of them.
double NetworkNanoseconds(int64_t size, int64_t key_width, bool with_positions);

// Some rows of an array. Elements of a row are `inner` apart, and rows lie side by side where that is not 1.
struct RowBlock {
  int64_t count;  // NetworkRows at most
  int64_t inner;
};

// Sorts rows of the network's size to `sorted`, which has the same places and may be `rows`. `positions` not null:
// where each sorted element was in its row, row by row; equal elements keep their order. False where keys lose bits, by
// which elements would have to be told apart afterwards: nothing is written then.
// Of keys uint8_t, uint16_t, uint32_t and uint64_t.
template <typename Key>
bool SortRowBlock(const RowNetwork& network, RowBlock block, const KeyMasks<Key>& masks, const Key* rows, Key* sorted,
                  uint32_t* positions);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_NETWORK_H_
