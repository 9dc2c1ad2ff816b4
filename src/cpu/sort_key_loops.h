// The keys by which radix sorts and selections go, and the loops over them that vectors make several times faster.
#ifndef KILN_CPU_SORT_KEY_LOOPS_H_
#define KILN_CPU_SORT_KEY_LOOPS_H_

#include <cstdint>

#include "src/analysis/sort_order.h"

namespace kiln::cpu {

// Which unsigned integers stand for elements.
struct KeyCode {
  analysis::KeyOrder order = analysis::KeyOrder::kUnsigned;
  int64_t descending = 0;  // or selects the smallest
  int64_t infinity = 0;    // its bits, for floats and parts of complex numbers
};

// How bits become keys: bits that are one value take its form first, then `all` turns, and of negative numbers
// `of_negative` besides, which leaves the sign. Where nothing is one value, `zero` and `infinity` leave all as it is.
template <typename Key>
struct KeyMasks {
  Key sign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  Key zero = static_cast<Key>(~Key{0}), infinity = static_cast<Key>(~Key{0}), nan = 0;
  Key all = 0, of_negative = 0;

  explicit KeyMasks(const KeyCode& code) {
    using analysis::KeyOrder;
    if (code.order != KeyOrder::kUnsigned) all = sign;
    if (code.order >= KeyOrder::kTotal) of_negative = static_cast<Key>(~sign);
    if (code.order >= KeyOrder::kZerosEqual) zero = 0;
    if (code.order >= KeyOrder::kNumbers) {
      infinity = static_cast<Key>(code.infinity);
      // The first bit behind the exponent.
      nan = static_cast<Key>(infinity | (infinity & (~infinity + 1)) >> 1);
    }
    if (code.descending != 0) all = static_cast<Key>(~all);
  }
};

// Up to here the histograms cost more than comparing all pairs, many at a time.
inline constexpr int64_t kRankedSize = 64;
// Keys that are looked at together.
inline constexpr int64_t kKeyBlock = 64;

// Of each type of keys. Above: a bit for each of kKeyBlock keys, set where it is above `bound`. ToKeys: the keys of
// elements; not 0 when some lost bits by it. FromKeys: the inverse. RankRow: where each key of a row of at most
// kRankedSize goes in a stable sort of it.
#define KILN_KEY_LOOPS(Key)                                                    \
  uint64_t Above(const Key* keys, Key bound);                                  \
  Key ToKeys(const Key* row, int64_t size, KeyMasks<Key> masks, Key* keys);    \
  void FromKeys(const Key* keys, int64_t size, KeyMasks<Key> masks, Key* row); \
  void RankRow(const Key* row, int64_t size, Key* ranks);
KILN_KEY_LOOPS(uint8_t)
KILN_KEY_LOOPS(uint16_t)
KILN_KEY_LOOPS(uint32_t)
KILN_KEY_LOOPS(uint64_t)
#undef KILN_KEY_LOOPS

// The key of a part of a complex number, and the bits that it loses.
inline uint32_t KeyOfPart(uint32_t bits, const KeyMasks<uint32_t>& masks, uint32_t* changed) {
  const uint32_t magnitude = bits & ~masks.sign;
  const uint32_t one = magnitude == 0 ? 0 : magnitude > masks.infinity ? masks.nan : bits;
  *changed |= bits ^ one;
  return one ^ masks.all ^ (-(one >> 31) & masks.of_negative);
}

// ToKeys and FromKeys of complex numbers, whose real part is in the lower half; masks are those of a part.
uint64_t ToComplexKeys(const uint64_t* row, int64_t size, KeyMasks<uint32_t> masks, uint64_t* keys);
void FromComplexKeys(const uint64_t* keys, int64_t size, KeyMasks<uint32_t> masks, uint64_t* row);

// function(Key{}) for the unsigned integers of `width` bytes: 1, 2, 4 or 8.
template <typename Function>
void ForKeysOf(int64_t width, Function function) {
  switch (width) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    default:
      return function(uint64_t{});
  }
}

}  // namespace kiln::cpu

#endif  // KILN_CPU_SORT_KEY_LOOPS_H_
