#include "src/cpu/sort_key_loops.h"

#include <cstring>

#include "src/cpu/lane_squares.h"
#include "src/cpu/vector_clones.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kKeyVectorBytes = 64;

template <typename Key>
inline constexpr int kLanesOf = kKeyVectorBytes / sizeof(Key);
template <typename Key>
using Lanes = typename Several<Key, kLanesOf<Key>>::Type;

// All bits of lanes whose highest one is set.
template <typename V>
KILN_INLINE V Negative(V bits) {
  constexpr int kSign = 8 * sizeof(bits[0]) - 1;
  return V{} - (bits >> kSign);
}

// function(vector) of vectors of `from` to `to`, which may be the same; the last one is filled up with zeros.
template <typename Key, typename Function>
KILN_INLINE void ForEachVector(const Key* from, int64_t size, Key* to, Function function) {
  int64_t i = 0;
  for (; i + kLanesOf<Key> <= size; i += kLanesOf<Key>) {
    Lanes<Key> vector;
    std::memcpy(&vector, from + i, kKeyVectorBytes);
    vector = function(vector);
    std::memcpy(to + i, &vector, kKeyVectorBytes);
  }
  if (i == size) return;
  Lanes<Key> vector = {};
  std::memcpy(&vector, from + i, (size - i) * sizeof(Key));
  vector = function(vector);
  std::memcpy(to + i, &vector, (size - i) * sizeof(Key));
}

template <typename Key>
KILN_INLINE Key KeysOfVectors(const Key* row, int64_t size, const KeyMasks<Key>& masks, Key* keys) {
  using V = Lanes<Key>;
  V changed = {};
  ForEachVector(
      row, size, keys, [&](V bits) __attribute__((always_inline)) {
        const V magnitude = bits & static_cast<Key>(~masks.sign);
        const auto lost = reinterpret_cast<V>((magnitude == masks.zero) | (magnitude > masks.infinity));
        const V one = reinterpret_cast<V>(magnitude != 0) & masks.nan;
        changed |= lost & (bits ^ one);
        bits = (lost & one) | (~lost & bits);
        return bits ^ masks.all ^ (Negative(bits) & masks.of_negative);
      });
  Key any = 0;
  for (int lane = 0; lane < kLanesOf<Key>; ++lane) any |= changed[lane];
  return any;
}

template <typename Key>
KILN_INLINE void VectorsOfKeys(const Key* keys, int64_t size, const KeyMasks<Key>& masks, Key* row) {
  using V = Lanes<Key>;
  ForEachVector(
      keys, size, row, [&](V key) __attribute__((always_inline)) {
        const V bits = key ^ masks.all;
        return bits ^ (Negative(bits) & masks.of_negative);
      });
}

inline uint32_t PartOfKey(uint32_t key, const KeyMasks<uint32_t>& masks) {
  const uint32_t bits = key ^ masks.all;
  return bits ^ (-(bits >> 31) & masks.of_negative);
}

}  // namespace

KILN_VECTOR_CLONES(uint64_t, ToComplexKeys,
                   (const uint64_t* row, int64_t size, KeyMasks<uint32_t> masks, uint64_t* keys),
                   (row, size, masks, keys)) {
  uint32_t changed = 0;
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t real = KeyOfPart(static_cast<uint32_t>(row[i]), masks, &changed);
    keys[i] = real << 32 | KeyOfPart(static_cast<uint32_t>(row[i] >> 32), masks, &changed);
  }
  return changed;
}

KILN_VECTOR_CLONES(void, FromComplexKeys, (const uint64_t* keys, int64_t size, KeyMasks<uint32_t> masks, uint64_t* row),
                   (keys, size, masks, row)) {
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t imaginary = PartOfKey(static_cast<uint32_t>(keys[i]), masks);
    row[i] = imaginary << 32 | PartOfKey(static_cast<uint32_t>(keys[i] >> 32), masks);
  }
}

// One clone per instruction set of what vectors make several times faster.
#define KILN_KEY_LOOPS(Key)                                                                           \
  KILN_VECTOR_CLONES(uint64_t, Above, (const Key* keys, Key bound), (keys, bound)) {                  \
    typedef Key Block __attribute__((ext_vector_type(kKeyBlock)));                                    \
    typedef bool Bits __attribute__((ext_vector_type(kKeyBlock)));                                    \
    Block block;                                                                                      \
    std::memcpy(&block, keys, sizeof(block));                                                         \
    return __builtin_bit_cast(uint64_t, __builtin_convertvector(block > bound, Bits));                \
  }                                                                                                   \
  KILN_VECTOR_CLONES(Key, ToKeys, (const Key* row, int64_t size, KeyMasks<Key> masks, Key* keys),     \
                     (row, size, masks, keys)) {                                                      \
    return KeysOfVectors(row, size, masks, keys);                                                     \
  }                                                                                                   \
  KILN_VECTOR_CLONES(void, FromKeys, (const Key* keys, int64_t size, KeyMasks<Key> masks, Key* row),  \
                     (keys, size, masks, row)) {                                                      \
    VectorsOfKeys(keys, size, masks, row);                                                            \
  }                                                                                                   \
  KILN_VECTOR_CLONES(void, RankRow, (const Key* row, int64_t size, Key* ranks), (row, size, ranks)) { \
    typedef Key Vector __attribute__((vector_size(kKeyVectorBytes)));                                 \
    constexpr int kLanes = kKeyVectorBytes / sizeof(Key);                                             \
    Key keys[kRankedSize] = {};                                                                       \
    std::memcpy(keys, row, size * sizeof(Key));                                                       \
    Vector places;                                                                                    \
    for (int lane = 0; lane < kLanes; ++lane) places[lane] = static_cast<Key>(lane);                  \
    for (int64_t begin = 0; begin < size; begin += kLanes, places += static_cast<Key>(kLanes)) {      \
      Vector own, before = {};                                                                        \
      std::memcpy(&own, keys + begin, kKeyVectorBytes);                                               \
      for (int64_t j = 0; j < size; ++j) {                                                            \
        const Vector other = Vector{} + keys[j], place = Vector{} + static_cast<Key>(j);              \
        before -= reinterpret_cast<Vector>((other < own) | ((other == own) & (place < places)));      \
      }                                                                                               \
      std::memcpy(ranks + begin, &before, kKeyVectorBytes);                                           \
    }                                                                                                 \
  }
KILN_KEY_LOOPS(uint8_t)
KILN_KEY_LOOPS(uint16_t)
KILN_KEY_LOOPS(uint32_t)
KILN_KEY_LOOPS(uint64_t)
#undef KILN_KEY_LOOPS

}  // namespace kiln::cpu
