// Sorts of parts of rows where they are, by keys of unsigned integers, alone or with the positions that they had.
#ifndef KILN_CPU_BUCKET_SORT_H_
#define KILN_CPU_BUCKET_SORT_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/base/rounding.h"
#include "src/cpu/sort_key_loops.h"
#include "src/cpu/vector_sort.h"

namespace kiln::cpu {

inline constexpr int kDigitBits = 8;
inline constexpr int kDigits = 1 << kDigitBits;

template <typename Key>
int Digit(Key key, int shift) {
  return static_cast<int>(key >> shift) & (kDigits - 1);
}

// Exchanges elements until each is where the digit of its key belongs, then runs done(begin, end) over each digit's.
// exchange(place, key, value) exchanges an element with the one at that place.
template <typename Key, typename Value, typename Exchange, typename Done>
void ForDigits(const Key* keys, int64_t size, int shift, Exchange exchange, Value value, Done done) {
  std::array<int64_t, kDigits> next{}, end;
  for (int64_t i = 0; i < size; ++i) ++next[Digit(keys[i], shift)];
  int64_t total = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    total += std::exchange(next[digit], total);
    end[digit] = total;
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    while (next[digit] < end[digit]) {
      // Taken out, and put back when the element that belongs here is found.
      const int64_t place = next[digit]++;
      Key key = 0;
      exchange(place, &key, &value);
      for (int own = Digit(key, shift); own != digit; own = Digit(key, shift)) exchange(next[own]++, &key, &value);
      exchange(place, &key, &value);
    }
  }
  for (int64_t digit = 0, begin = 0; digit < kDigits; begin = end[digit++]) done(begin, end[digit]);
}

// Narrower keys have so few digits that moving them by digit is faster.
template <typename Key>
inline constexpr bool kInVectors = sizeof(Key) >= 4;

// Sorts keys where they are.
template <typename Key>
class BucketSorter {
 public:
  BucketSorter(Key* spare, int64_t room) : spare_(spare), room_(room) {}

  // Keys that differ in their lowest `bits` bits at most. They are in the order of their lowest `ordered` bits already.
  void Sort(Key* keys, int64_t size, int bits, int ordered = 0) {
    if (size < 2 || bits == 0) return;
    if constexpr (kInVectors<Key>) {
      if (size <= room_ && SortsInVectors()) return SortInVectors(keys, spare_, size);
    }
    if (size <= kRankedSize) return SortByRank(keys, size);
    if (size > room_) return Divide(keys, size, bits);
    const int64_t digits = CeilDivide(bits - ordered, kDigitBits);
    std::array<std::array<uint32_t, kDigits>, sizeof(Key)> places;
    for (int digit = 0; digit < digits; ++digit) places[digit].fill(0);
    for (int64_t i = 0; i < size; ++i) {
      for (int digit = 0; digit < digits; ++digit) ++places[digit][Digit(keys[i], ordered + digit * kDigitBits)];
    }
    Key *from = keys, *to = spare_;
    for (int digit = 0; digit < digits; ++digit) {
      std::array<uint32_t, kDigits>& next = places[digit];
      const int shift = ordered + digit * kDigitBits;
      if (next[Digit(from[0], shift)] == size) continue;
      uint32_t total = 0;
      for (uint32_t& place : next) total += std::exchange(place, total);
      for (int64_t i = 0; i < size; ++i) to[next[Digit(from[i], shift)]++] = from[i];
      std::swap(from, to);
    }
    if (from != keys) std::memcpy(keys, from, size * sizeof(Key));
  }

 private:
  void SortByRank(Key* keys, int64_t size) {
    std::array<Key, kRankedSize> ranks, sorted;
    RankRow(keys, size, ranks.data());
    for (int64_t i = 0; i < size; ++i) sorted[ranks[i]] = keys[i];
    std::memcpy(keys, sorted.data(), size * sizeof(Key));
  }

  // More keys than there is room for.
  void Divide(Key* keys, int64_t size, int bits) {
    const int shift = std::max(bits - kDigitBits, 0);
    const auto exchange = [&](int64_t place, Key* key, char*) { std::swap(keys[place], *key); };
    ForDigits(keys, size, shift, exchange, char{},
              [&](int64_t begin, int64_t end) { Sort(keys + begin, end - begin, shift); });
  }

  Key* const spare_;
  const int64_t room_;
};

// Sorts keys where they are, and with them the positions that they had, which orders equal keys.
template <typename Key>
class PairSorter {
 public:
  // Of words.
  PairSorter(uint64_t* spare, int64_t room)
      : items_(spare), other_(spare + room / 2), room_(room / 2), sorter_(other_, room_) {}

  // Keys that differ in their lowest `bits` bits at most; `ordered` when positions are.
  void Sort(Key* keys, uint32_t* positions, int64_t size, int bits, bool ordered = true) {
    if (size < 2) return;
    if (bits == 0 || std::all_of(keys, keys + size, [&](Key key) { return key == keys[0]; })) {
      if (!ordered) BucketSorter(reinterpret_cast<uint32_t*>(items_), 4 * room_).Sort(positions, size, 32);
      return;
    }
    if (size > room_) {
      const int shift = std::max(bits - kDigitBits, 0);
      const auto exchange = [&](int64_t place, Key* key, uint32_t* position) {
        std::swap(keys[place], *key);
        std::swap(positions[place], *position);
      };
      return ForDigits(keys, size, shift, exchange, uint32_t{}, [&](int64_t begin, int64_t end) {
        Sort(keys + begin, positions + begin, end - begin, shift, false);
      });
    }
    const uint64_t high = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    if (bits <= 32) {
      // Words of the key's bits and of the position.
      const Key common = keys[0] & static_cast<Key>(~high);
      for (int64_t i = 0; i < size; ++i) items_[i] = (keys[i] & high) << 32 | positions[i];
      sorter_.Sort(items_, size, bits + 32, ordered ? 32 : 0);
      for (int64_t i = 0; i < size; ++i) {
        keys[i] = common | static_cast<Key>(items_[i] >> 32);
        positions[i] = static_cast<uint32_t>(items_[i]);
      }
      return;
    }
    // Of the highest bits and of the place, which make equal bits keep their order.
    const int place_bits = std::bit_width(static_cast<uint64_t>(size - 1)),
              dropped = std::max(bits + place_bits - 64, 0);
    const uint64_t places = (uint64_t{1} << place_bits) - 1;
    for (int64_t i = 0; i < size; ++i) {
      items_[i] = (keys[i] & high) >> dropped << place_bits | static_cast<uint64_t>(i);
    }
    sorter_.Sort(items_, size, bits - dropped + place_bits, place_bits);
    for (int64_t i = 0; i < size; ++i) {
      // What they do not tell apart.
      if (dropped == 0 && ordered) break;
      const int64_t begin = i;
      while (i + 1 < size && items_[i + 1] >> place_bits == items_[begin] >> place_bits) ++i;
      std::sort(items_ + begin, items_ + i + 1, [&](uint64_t a, uint64_t b) {
        return std::pair(keys[a & places], positions[a & places]) < std::pair(keys[b & places], positions[b & places]);
      });
    }
    Permute(keys, size, places);
    Permute(positions, size, places);
  }

 private:
  template <typename Word>
  void Permute(Word* words, int64_t size, uint64_t places) {
    std::memcpy(other_, words, size * sizeof(Word));
    const Word* from = reinterpret_cast<const Word*>(other_);
    for (int64_t i = 0; i < size; ++i) words[i] = from[items_[i] & places];
  }

  uint64_t* const items_;
  uint64_t* const other_;
  const int64_t room_;
  BucketSorter<uint64_t> sorter_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_BUCKET_SORT_H_
