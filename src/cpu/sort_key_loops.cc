#include "src/cpu/sort_key_loops.h"

#include <cstring>

#include "src/cpu/vector_clones.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kVectorBytes = 64;

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
    constexpr int kSign = 8 * sizeof(Key) - 1;                                                        \
    Key changed = 0;                                                                                  \
    for (int64_t i = 0; i < size; ++i) {                                                              \
      Key bits = row[i];                                                                              \
      const Key magnitude = bits & ~masks.sign;                                                       \
      if (magnitude == masks.zero || magnitude > masks.infinity) {                                    \
        const Key one = magnitude == 0 ? Key{0} : masks.nan;                                          \
        changed |= bits ^ one;                                                                        \
        bits = one;                                                                                   \
      }                                                                                               \
      const Key negative = static_cast<Key>(-static_cast<Key>(bits >> kSign));                        \
      keys[i] = bits ^ masks.all ^ (negative & masks.of_negative);                                    \
    }                                                                                                 \
    return changed;                                                                                   \
  }                                                                                                   \
  KILN_VECTOR_CLONES(void, FromKeys, (const Key* keys, int64_t size, KeyMasks<Key> masks, Key* row),  \
                     (keys, size, masks, row)) {                                                      \
    constexpr int kSign = 8 * sizeof(Key) - 1;                                                        \
    for (int64_t i = 0; i < size; ++i) {                                                              \
      const Key bits = keys[i] ^ masks.all;                                                           \
      const Key negative = static_cast<Key>(-static_cast<Key>(bits >> kSign));                        \
      row[i] = bits ^ (negative & masks.of_negative);                                                 \
    }                                                                                                 \
  }                                                                                                   \
  KILN_VECTOR_CLONES(void, RankRow, (const Key* row, int64_t size, Key* ranks), (row, size, ranks)) { \
    typedef Key Vector __attribute__((vector_size(kVectorBytes)));                                    \
    constexpr int kLanes = kVectorBytes / sizeof(Key);                                                \
    Key keys[kRankedSize] = {};                                                                       \
    std::memcpy(keys, row, size * sizeof(Key));                                                       \
    Vector places;                                                                                    \
    for (int lane = 0; lane < kLanes; ++lane) places[lane] = static_cast<Key>(lane);                  \
    for (int64_t begin = 0; begin < size; begin += kLanes, places += static_cast<Key>(kLanes)) {      \
      Vector own, before = {};                                                                        \
      std::memcpy(&own, keys + begin, kVectorBytes);                                                  \
      for (int64_t j = 0; j < size; ++j) {                                                            \
        const Vector other = Vector{} + keys[j], place = Vector{} + static_cast<Key>(j);              \
        before -= reinterpret_cast<Vector>((other < own) | ((other == own) & (place < places)));      \
      }                                                                                               \
      std::memcpy(ranks + begin, &before, kVectorBytes);                                              \
    }                                                                                                 \
  }
KILN_KEY_LOOPS(uint8_t)
KILN_KEY_LOOPS(uint16_t)
KILN_KEY_LOOPS(uint32_t)
KILN_KEY_LOOPS(uint64_t)
#undef KILN_KEY_LOOPS

}  // namespace kiln::cpu
