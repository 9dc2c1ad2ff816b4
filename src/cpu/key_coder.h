// Keys of the elements of rows and back, where elements of other bits may have the same key.
#ifndef KILN_CPU_KEY_CODER_H_
#define KILN_CPU_KEY_CODER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "src/cpu/sort_key_loops.h"

namespace kiln::cpu {

template <typename Key>
class KeyCoder {
 public:
  explicit KeyCoder(const KeyCode& code)
      : masks_(code), part_masks_(code), is_complex_(code.order == analysis::KeyOrder::kComplex) {}

  bool is_complex() const { return is_complex_; }
  // Whether keys do not tell elements of different bits apart.
  bool merges() const { return masks_.zero == 0; }

  Key ToKeys(const Key* elements, int64_t count, Key* keys) const {
    if constexpr (sizeof(Key) == 8) {
      if (is_complex_) return ToComplexKeys(elements, count, part_masks_, keys);
    }
    return cpu::ToKeys(elements, count, masks_, keys);
  }

  void FromKeys(const Key* keys, int64_t count, Key* elements) const {
    if constexpr (sizeof(Key) == 8) {
      if (is_complex_) return FromComplexKeys(keys, count, part_masks_, elements);
    }
    cpu::FromKeys(keys, count, masks_, elements);
  }

  Key KeyOf(Key element) const {
    Key key;
    if (is_complex_) {
      uint32_t changed = 0;
      key = static_cast<Key>(uint64_t{KeyOfPart(static_cast<uint32_t>(element), part_masks_, &changed)} << 32 |
                             KeyOfPart(static_cast<uint32_t>(uint64_t{element} >> 32), part_masks_, &changed));
    } else {
      ToKeys(&element, 1, &key);
    }
    return key;
  }

  // Elements whose keys are those of others as well, in their order.
  struct Merged {
    std::vector<bool> zeros;  // whether negative
    std::vector<Key> nans;
    // Of complex numbers those with such a part, or where all zeros of a part are alike and nothing else is lost, the
    // signs of both parts' zeros.
    std::vector<Key> complex;
    uint64_t signs = 0;
  };

  Merged MergedOf(const Key* elements, int64_t size) const {
    Merged merged;
    if (is_complex_) return MergedComplex(elements, size);
    for (int64_t i = 0; i < size; ++i) {
      const Key magnitude = elements[i] & ~masks_.sign;
      if (magnitude == masks_.zero) merged.zeros.push_back(elements[i] != magnitude);
      if (magnitude > masks_.infinity) merged.nans.push_back(elements[i]);
    }
    return merged;
  }

  // Where the sorted keys of zeros and of NaNs begin.
  using Places = std::array<int64_t, 2>;
  Places PlacesIn(const Key* keys, int64_t size) const {
    const auto place = [&](Key value) { return std::lower_bound(keys, keys + size, KeyOf(value)) - keys; };
    return {place(0), place(masks_.nan)};
  }

  // Puts these back among sorted elements. Complex numbers come sorted by their keys.
  void Restore(const Merged& merged, Key* sorted, int64_t size, Places places) const {
    for (const bool negative : merged.zeros) sorted[places[0]++] = negative ? masks_.sign : Key{0};
    std::copy(merged.nans.begin(), merged.nans.end(), sorted + places[1]);
    // The first of each key is behind all smaller ones, the next ones follow it.
    Key *at = sorted, before = 0;
    for (const Key element : merged.complex) {
      const Key key = KeyOf(element);
      if (at == sorted || key != before) {
        at = std::partition_point(at, sorted + size, [&](Key other) { return KeyOf(other) < key; });
      }
      before = key;
      *at++ = element;
    }
    for (int64_t i = 0; merged.signs != 0 && i < size; ++i) {
      for (const uint64_t part : {~uint64_t{0} >> 32, ~uint64_t{0} << 32}) {
        if ((sorted[i] & part) == 0) sorted[i] |= static_cast<Key>(merged.signs & part);
      }
    }
  }

  // The same for all elements of a row, which are no complex numbers, in their order.
  void Restore(const Key* elements, Key* sorted, int64_t size, Places places) const {
    for (int64_t i = 0; i < size; ++i) {
      const Key magnitude = elements[i] & ~masks_.sign;
      if (magnitude == masks_.zero) sorted[places[0]++] = elements[i];
      if (magnitude > masks_.infinity) sorted[places[1]++] = elements[i];
    }
  }

 private:
  Merged MergedComplex(const Key* elements, int64_t size) const {
    Merged merged;
    uint64_t zeros[2] = {0, 0};  // positive and negative ones that there are, as signs
    bool others = false;
    for (int64_t i = 0; i < size; ++i) {
      for (int part = 0; part < 2; ++part) {
        const auto bits = static_cast<uint32_t>(uint64_t{elements[i]} >> (32 * part));
        const uint32_t magnitude = bits & ~part_masks_.sign;
        if (magnitude == 0) zeros[bits >> 31] |= uint64_t{part_masks_.sign} << (32 * part);
        others |= magnitude > part_masks_.infinity && bits != part_masks_.nan;
      }
    }
    if (!others && (zeros[0] & zeros[1]) == 0) {
      merged.signs = zeros[1];
      return merged;
    }
    for (int64_t i = 0; i < size; ++i) {
      if (IsMergedPart(elements[i]) || IsMergedPart(uint64_t{elements[i]} >> 32)) merged.complex.push_back(elements[i]);
    }
    return merged;
  }

  bool IsMergedPart(uint64_t part) const {
    const uint32_t magnitude = static_cast<uint32_t>(part) & ~part_masks_.sign;
    return magnitude == 0 || magnitude > part_masks_.infinity;
  }

  const KeyMasks<Key> masks_;
  const KeyMasks<uint32_t> part_masks_;
  const bool is_complex_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_KEY_CODER_H_
