#include "src/cpu/vector_sort.h"

#include <algorithm>
#include <bit>

#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

template <typename Key>
class VectorSorter {
 public:
  VectorSorter(const VectorSortKernels<Key>* kernels, Key* spare) : kernels_(kernels), spare_(spare) {}

  // `depth` bounds what an unlucky choice of pivots may cost.
  void Sort(Key* keys, int64_t size, int depth) {
    while (size > kernels_->short_size) {
      if (depth-- == 0) return std::sort(keys, keys + size);
      const Key pivot = kernels_->pivot(keys, size);
      int64_t low = kernels_->partition(keys, spare_, size, pivot);
      if (low == size) {
        // The pivot is the largest: all that equal it are in place once they are apart.
        if (pivot == 0) return;
        size = kernels_->partition(keys, spare_, size, pivot - 1);
        continue;
      }
      Sort(keys + low, size - low, depth);
      size = low;
    }
    kernels_->sort_short(keys, size);
  }

 private:
  const VectorSortKernels<Key>* kernels_;
  Key* spare_;
};

template <typename Key>
void Sort(Key* keys, Key* spare, int64_t size) {
  VectorSorter<Key> sorter(VectorSortKernels512(Key{}), spare);
  sorter.Sort(keys, size, 2 * std::bit_width(static_cast<uint64_t>(size)));
}

}  // namespace

bool SortsInVectors() { return Host().vector_bytes == 64 && VectorSortKernels512(uint32_t{}) != nullptr; }

void SortInVectors(uint32_t* keys, uint32_t* spare, int64_t size) { Sort(keys, spare, size); }
void SortInVectors(uint64_t* keys, uint64_t* spare, int64_t size) { Sort(keys, spare, size); }

}  // namespace kiln::cpu
