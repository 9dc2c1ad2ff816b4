#include "src/cpu/vector_sort.h"

#include <algorithm>
#include <bit>

#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

// `depth` bounds what an unlucky choice of pivots may cost.
template <typename Key>
void Sort(const VectorSortKernels<Key>& kernels, Key* keys, Key* spare, int64_t size, int depth) {
  while (size > kernels.short_size) {
    if (depth-- == 0) return std::sort(keys, keys + size);
    const Key pivot = kernels.pivot(keys, size);
    const int64_t low = kernels.partition(keys, spare, size, pivot);
    if (low == size) {
      // The pivot is the largest: all that equal it are in place once they are apart.
      if (pivot == 0) return;
      size = kernels.partition(keys, spare, size, pivot - 1);
      continue;
    }
    Sort(kernels, keys + low, spare, size - low, depth);
    size = low;
  }
  kernels.sort_short(keys, size);
}

// Null: none.
template <typename Key>
const VectorSortKernels<Key>* Kernels(Key key) {
  const int vector_bytes = Host().compiled_vector_bytes;
  return vector_bytes == 64 ? VectorSortKernels512(key) : vector_bytes == 32 ? VectorSortKernels256(key) : nullptr;
}

template <typename Key>
void Sort(Key* keys, Key* spare, int64_t size) {
  Sort(*Kernels(Key{}), keys, spare, size, 2 * std::bit_width(static_cast<uint64_t>(size)));
}

}  // namespace

bool SortsInVectors() { return Kernels(uint32_t{}) != nullptr; }

void SortInVectors(uint32_t* keys, uint32_t* spare, int64_t size) { Sort(keys, spare, size); }
void SortInVectors(uint64_t* keys, uint64_t* spare, int64_t size) { Sort(keys, spare, size); }

}  // namespace kiln::cpu
