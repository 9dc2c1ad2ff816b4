#include "src/cpu/row_network.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "src/base/cpu_tuning.h"
#include "src/cpu/lane_squares.h"
#include "src/cpu/row_tile_moves.h"
#include "src/cpu/vector_clones.h"

namespace kiln::cpu {
namespace {

constexpr int kVectorBytes = 64;

// A key with its position in the lower half, or one of 64 bits alone.
template <typename Key>
using Wider = std::conditional_t<sizeof(Key) == 1, uint16_t, std::conditional_t<sizeof(Key) == 2, uint32_t, uint64_t>>;

template <typename Key, bool kPositions>
inline constexpr int kRowsOf = NetworkRows(sizeof(Key), kPositions);

template <typename Word>
KILN_INLINE void SortWords(const RowNetwork& network, Word* words) {
  using V = typename Several<Word, kVectorBytes / sizeof(Word)>::Type;
  V* const places = reinterpret_cast<V*>(words);
  for (const auto [first, second] : network) {
    const V a = places[first], b = places[second];
    places[first] = b < a ? b : a;
    places[second] = b < a ? a : b;
  }
}

KILN_INLINE void SortPairs(const RowNetwork& network, uint64_t* keys, uint64_t* positions) {
  using V = typename Several<uint64_t, kVectorBytes / sizeof(uint64_t)>::Type;
  V *const places = reinterpret_cast<V*>(keys), *const others = reinterpret_cast<V*>(positions);
  for (const auto [first, second] : network) {
    const V a = places[first], b = places[second], i = others[first], j = others[second];
    const auto swaps = (b < a) | ((b == a) & (j < i));
    places[first] = swaps ? b : a;
    places[second] = swaps ? a : b;
    others[first] = swaps ? j : i;
    others[second] = swaps ? i : j;
  }
}

// Rows of `size` elements to vectors of their elements, or back.
template <bool kFill, int kRows, typename T>
void Move(T* rows, T* places, int64_t count, int64_t inner, int64_t size) {
  constexpr int kMost = 16 / sizeof(T);
  const auto by_pieces = [&]<int kPiece>() {
    HostRowTileMove<T, kRows, kPiece, kFill>()(reinterpret_cast<char*>(rows), reinterpret_cast<char*>(places), size,
                                               size, count);
  };
  if (inner > 1) {
    for (int64_t i = 0; i < size; ++i) {
      T *row = rows + i * inner, *place = places + i * kRows;
      std::memcpy(kFill ? place : row, kFill ? row : place, static_cast<size_t>(count) * sizeof(T));
    }
  } else if (size >= kMost) {
    by_pieces.template operator()<kMost>();
  } else if constexpr (kMost == 16) {
    if (size >= 8) return by_pieces.template operator()<8>();
    size >= 4 ? by_pieces.template operator()<4>() : by_pieces.template operator()<1>();
  } else if constexpr (kMost == 8) {
    size >= 4 ? by_pieces.template operator()<4>() : by_pieces.template operator()<1>();
  } else {
    by_pieces.template operator()<1>();
  }
}

template <typename Key, bool kPositions>
KILN_INLINE bool SortBlock(const RowNetwork& network, RowBlock block, const KeyMasks<Key>& masks, const Key* rows,
                           Key* sorted, uint32_t* positions) {
  using Word = Wider<Key>;
  constexpr int kRows = kRowsOf<Key, kPositions>, kPositionBits = sizeof(Key) == 8 ? 0 : 8 * sizeof(Key);
  const int64_t size = network.size(), elements = size * kRows;
  alignas(kVectorBytes) Key keys[kNetworkSize * kRows];
  if (block.count < kRows) std::memset(keys, 0, elements * sizeof(Key));
  Move<true, kRows>(const_cast<Key*>(rows), keys, block.count, block.inner, size);
  if (ToKeys(keys, elements, masks, keys) != 0) return false;
  if constexpr (!kPositions) {
    SortWords(network, keys);
  } else {
    alignas(kVectorBytes) Word words[kNetworkSize * kRows];
    alignas(kVectorBytes) uint32_t places[kNetworkSize * kRows];
    for (int64_t i = 0; i < size; ++i) {
      for (int r = 0; r < kRows; ++r) {
        words[i * kRows + r] = static_cast<Word>(i);
        if constexpr (kPositionBits > 0)
          words[i * kRows + r] |= static_cast<Word>(Word{keys[i * kRows + r]} << kPositionBits);
      }
    }
    if constexpr (kPositionBits > 0) {
      SortWords(network, words);
      for (int64_t i = 0; i < elements; ++i) keys[i] = static_cast<Key>(words[i] >> kPositionBits);
      for (int64_t i = 0; i < elements; ++i) places[i] = static_cast<Key>(words[i]);
    } else {
      SortPairs(network, keys, words);
      for (int64_t i = 0; i < elements; ++i) places[i] = static_cast<uint32_t>(words[i]);
    }
    Move<false, kRows>(positions, places, block.count, /*inner=*/1, size);
  }
  FromKeys(keys, elements, masks, keys);
  Move<false, kRows>(sorted, keys, block.count, block.inner, size);
  return true;
}

#define KILN_SORT_BLOCK(name, attributes)                                                                      \
  template <typename Key, bool kPositions>                                                                     \
  attributes bool name(const RowNetwork& network, RowBlock block, const KeyMasks<Key>& masks, const Key* rows, \
                       Key* sorted, uint32_t* positions) {                                                     \
    return SortBlock<Key, kPositions>(network, block, masks, rows, sorted, positions);                         \
  }
KILN_SORT_BLOCK(SortBlock128, )
#if defined(__x86_64__)
KILN_SORT_BLOCK(SortBlock256, __attribute__((target("avx2"))))
KILN_SORT_BLOCK(SortBlock512, __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"))))
#endif
#undef KILN_SORT_BLOCK

template <typename Key, bool kPositions>
bool SortHere(const RowNetwork& network, RowBlock block, const KeyMasks<Key>& masks, const Key* rows, Key* sorted,
              uint32_t* positions) {
#if defined(__x86_64__)
  const int width = CompiledVectorBytes();
  if (width >= 64) return SortBlock512<Key, kPositions>(network, block, masks, rows, sorted, positions);
  if (width >= 32) return SortBlock256<Key, kPositions>(network, block, masks, rows, sorted, positions);
#endif
  return SortBlock128<Key, kPositions>(network, block, masks, rows, sorted, positions);
}

}  // namespace

RowNetwork::RowNetwork(int64_t size) : size_(size) {
  for (int64_t sorted = 1; sorted < size; sorted *= 2) {
    for (int64_t apart = sorted; apart > 0; apart /= 2) {
      for (int64_t begin = apart % sorted; begin + apart < size; begin += 2 * apart) {
        for (int64_t i = begin; i < std::min(begin + apart, size - apart); ++i) {
          // Both in the same pair of sorted runs.
          if ((i ^ (i + apart)) >= 2 * sorted) continue;
          comparisons_[count_++] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i + apart)};
        }
      }
    }
  }
}

double NetworkNanoseconds(int64_t size, int64_t key_width, bool with_positions) {
  // Pairs take longer to compare and positions to be made, moved and put elsewhere.
  const double comparing = with_positions ? 2 : 1, moving = with_positions ? 3 : 1;
  const RowTuning& costs = Tuning().rows;
  return comparing * costs.network_nanoseconds * static_cast<double>(RowNetwork(size).comparisons()) /
             static_cast<double>(NetworkRows(key_width, with_positions)) +
         moving * costs.network_moved_nanoseconds * static_cast<double>(size);
}

template <typename Key>
bool SortRowBlock(const RowNetwork& network, RowBlock block, const KeyMasks<Key>& masks, const Key* rows, Key* sorted,
                  uint32_t* positions) {
  const auto sort = positions == nullptr ? &SortHere<Key, false> : &SortHere<Key, true>;
  return sort(network, block, masks, rows, sorted, positions);
}

template decltype(SortRowBlock<uint8_t>) SortRowBlock<uint8_t>;
template decltype(SortRowBlock<uint16_t>) SortRowBlock<uint16_t>;
template decltype(SortRowBlock<uint32_t>) SortRowBlock<uint32_t>;
template decltype(SortRowBlock<uint64_t>) SortRowBlock<uint64_t>;

}  // namespace kiln::cpu
