// Quicksort of unsigned keys whose short pieces are sorted in vector registers.
#ifndef KILN_CPU_VECTOR_SORT_H_
#define KILN_CPU_VECTOR_SORT_H_

#include <cstdint>

namespace kiln::cpu {

// Whether both the host and this build have an instruction set for it.
bool SortsInVectors();

// Then sorts keys in ascending order where they are; `spare` has room for as many. Takes n log n time whatever the
// keys.
void SortInVectors(uint32_t* keys, uint32_t* spare, int64_t size);
void SortInVectors(uint64_t* keys, uint64_t* spare, int64_t size);

// What the sort is made of, compiled for one instruction set.
template <typename Key>
struct VectorSortKernels {
  // Sorts this many keys at most.
  int64_t short_size;
  void (*sort_short)(Key* keys, int64_t size);
  // A key that is likely to be near the middle one of at least `short_size` keys.
  Key (*pivot)(const Key* keys, int64_t size);
  // Moves keys up to the pivot before the others and returns how many there are. Writes to `spare`, of `size` keys.
  int64_t (*partition)(Key* keys, Key* spare, int64_t size, Key pivot);
};

// For AVX2 and for AVX-512; null where this build has none.
const VectorSortKernels<uint32_t>* VectorSortKernels256(uint32_t);
const VectorSortKernels<uint64_t>* VectorSortKernels256(uint64_t);
const VectorSortKernels<uint32_t>* VectorSortKernels512(uint32_t);
const VectorSortKernels<uint64_t>* VectorSortKernels512(uint64_t);

}  // namespace kiln::cpu

#endif  // KILN_CPU_VECTOR_SORT_H_
