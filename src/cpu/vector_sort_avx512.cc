// The pieces of the vector sort for AVX-512, for which the whole file is compiled (see CMakeLists.txt).
#include "src/cpu/vector_sort.h"

#if defined(__AVX512F__)

#include <immintrin.h>

namespace kiln::cpu {
namespace {

template <typename Key>
struct Lanes;

// Vectors of `count` keys of `bits`.
#define KILN_LANES(bits, count)                                                                   \
  template <>                                                                                     \
  struct Lanes<uint##bits##_t> {                                                                  \
    static constexpr int kCount = count;                                                          \
    using Vector = uint##bits##_t __attribute__((ext_vector_type(count)));                        \
    using Mask = __mmask##count;                                                                  \
    static Vector Load(const uint##bits##_t* from, Mask mask, Vector otherwise) {                 \
      return (Vector)_mm512_mask_loadu_epi##bits((__m512i)otherwise, mask, from);                 \
    }                                                                                             \
    static void Store(uint##bits##_t* to, Mask mask, Vector value) {                              \
      _mm512_mask_storeu_epi##bits(to, mask, (__m512i)value);                                     \
    }                                                                                             \
    static Mask UpTo(Mask mask, Vector value, Vector bound) {                                     \
      return _mm512_mask_cmple_epu##bits##_mask(mask, (__m512i)value, (__m512i)bound);            \
    }                                                                                             \
    static Mask Above(Mask mask, Vector value, Vector bound) {                                    \
      return _mm512_mask_cmpgt_epu##bits##_mask(mask, (__m512i)value, (__m512i)bound);            \
    }                                                                                             \
    static Vector Compress(Mask mask, Vector value) {                                             \
      return (Vector)_mm512_maskz_compress_epi##bits(mask, (__m512i)value);                       \
    }                                                                                             \
    static Vector MaximumWhere(Mask mask, Vector otherwise, Vector a, Vector b) {                 \
      return (Vector)_mm512_mask_max_epu##bits((__m512i)otherwise, mask, (__m512i)a, (__m512i)b); \
    }                                                                                             \
  };
KILN_LANES(32, 16)
KILN_LANES(64, 8)
#undef KILN_LANES

// Registers that are sorted together.
constexpr int kMaxRegisters = 8;

template <typename Key>
class ShortSort {
 public:
  using L = Lanes<Key>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  static constexpr int kLanes = L::kCount;

  static void Sort(Key* keys, int64_t size) {
    if (size <= kLanes) return Run<1>(keys, size);
    if (size <= 2 * kLanes) return Run<2>(keys, size);
    if (size <= 4 * kLanes) return Run<4>(keys, size);
    Run<8>(keys, size);
  }

  // The bitonic sort of the lanes of one register: runs of 2, 4, ... lanes, every other of them descending.
  template <int kRun = 2>
  static Vector SortLanes(Vector v) {
    v = MergeLanes<kRun, kRun / 2>(v);
    if constexpr (kRun < kLanes) v = SortLanes<2 * kRun>(v);
    return v;
  }

  static Mask FirstLanes(int64_t count) {
    return count >= kLanes ? static_cast<Mask>(-1) : static_cast<Mask>((1u << (count < 0 ? 0 : count)) - 1);
  }

 private:
  // Sorts bitonic runs; those of lanes with the bit kRun in descending order.
  template <int kRun, int kDistance>
  static Vector MergeLanes(Vector v) {
    v = Exchange<kRun, kDistance>(v, Indices());
    if constexpr (kDistance > 1) v = MergeLanes<kRun, kDistance / 2>(v);
    return v;
  }

  template <int... kLane>
  struct IndexList {};
  static constexpr auto Indices() {
    if constexpr (kLanes == 16) {
      return IndexList<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>();
    } else {
      return IndexList<0, 1, 2, 3, 4, 5, 6, 7>();
    }
  }

  // The smaller of each pair of lanes kDistance apart goes to the lower lane, or to the upper where runs descend.
  template <int kRun, int kDistance, int... kLane>
  static Vector Exchange(Vector v, IndexList<kLane...>) {
    const Vector other = __builtin_shufflevector(v, v, (kLane ^ kDistance)...);
    constexpr Mask kLarger = ((((kLane & kDistance) != 0) != ((kLane & kRun) != 0) ? 1 << kLane : 0) | ...);
    return L::MaximumWhere(kLarger, __builtin_elementwise_min(v, other), v, other);
  }

  template <int... kLane>
  static Vector Reverse(Vector v, IndexList<kLane...>) {
    return __builtin_shufflevector(v, v, (kLanes - 1 - kLane)...);
  }

  static void Order(Vector* a, Vector* b) {
    const Vector low = __builtin_elementwise_min(*a, *b);
    *b = __builtin_elementwise_max(*a, *b);
    *a = low;
  }

  // Merges the two sorted halves of kCount registers.
  template <int kCount>
  __attribute__((always_inline)) static void Merge(Vector* v) {
    constexpr int kHalf = kCount / 2;
#pragma unroll
    for (int i = 0; i < kHalf / 2; ++i) {
      const Vector swapped = v[kHalf + i];
      v[kHalf + i] = v[kCount - 1 - i];
      v[kCount - 1 - i] = swapped;
    }
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      v[kHalf + i] = Reverse(v[kHalf + i], Indices());
      Order(&v[i], &v[kHalf + i]);
    }
#pragma unroll
    for (int distance = kHalf / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if ((i & distance) == 0) Order(&v[i], &v[i + distance]);
      }
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = MergeLanes<kLanes, kLanes / 2>(v[i]);
  }

  template <int kCount>
  __attribute__((always_inline)) static void SortRegisters(Vector* v) {
    if constexpr (kCount == 1) {
      *v = SortLanes(*v);
    } else {
      SortRegisters<kCount / 2>(v);
      SortRegisters<kCount / 2>(v + kCount / 2);
      Merge<kCount>(v);
    }
  }

  // Lanes behind the last key hold the largest there is.
  template <int kCount>
  static void Run(Key* keys, int64_t size) {
    const Vector largest = ~Vector{};
    Vector v[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = L::Load(keys + i * kLanes, FirstLanes(size - i * kLanes), largest);
    SortRegisters<kCount>(v);
#pragma unroll
    for (int i = 0; i < kCount; ++i) L::Store(keys + i * kLanes, FirstLanes(size - i * kLanes), v[i]);
  }
};

template <typename Key>
Key Pivot(const Key* keys, int64_t size) {
  typename ShortSort<Key>::Vector sample;
  const int64_t distance = size / ShortSort<Key>::kLanes;
  for (int i = 0; i < ShortSort<Key>::kLanes; ++i) sample[i] = keys[i * distance + distance / 2];
  return ShortSort<Key>::SortLanes(sample)[ShortSort<Key>::kLanes / 2 - 1];
}

// Low keys are written where they were read, whole vectors at a time: what stands behind the last low key has been
// read.
template <typename Key>
int64_t Partition(Key* keys, Key* spare, int64_t size, Key pivot) {
  using L = Lanes<Key>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  constexpr int64_t kLanes = L::kCount;
  constexpr Mask kAll = static_cast<Mask>(-1);
  const Vector bound = Vector{} + pivot;
  int64_t low = 0, high = 0, i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Vector v = L::Load(keys + i, kAll, bound);
    const Mask is_low = L::UpTo(kAll, v, bound);
    L::Store(keys + low, kAll, L::Compress(is_low, v));
    // Not the other mask negated, over which LLVM 19 does not end.
    L::Store(spare + high, kAll, L::Compress(L::Above(kAll, v, bound), v));
    const int count = __builtin_popcount(is_low);
    low += count;
    high += kLanes - count;
  }
  if (i < size) {
    const Mask rest = ShortSort<Key>::FirstLanes(size - i);
    const Vector v = L::Load(keys + i, rest, bound);
    const Mask is_low = L::UpTo(rest, v, bound), is_high = L::Above(rest, v, bound);
    const int count = __builtin_popcount(is_low), high_count = __builtin_popcount(is_high);
    L::Store(keys + low, ShortSort<Key>::FirstLanes(count), L::Compress(is_low, v));
    L::Store(spare + high, ShortSort<Key>::FirstLanes(high_count), L::Compress(is_high, v));
    low += count;
    high += high_count;
  }
  __builtin_memcpy(keys + low, spare, high * sizeof(Key));
  return low;
}

template <typename Key>
constexpr VectorSortKernels<Key> kKernels = {kMaxRegisters* Lanes<Key>::kCount, &ShortSort<Key>::Sort, &Pivot<Key>,
                                             &Partition<Key>};

}  // namespace

const VectorSortKernels<uint32_t>* VectorSortKernels512(uint32_t) { return &kKernels<uint32_t>; }
const VectorSortKernels<uint64_t>* VectorSortKernels512(uint64_t) { return &kKernels<uint64_t>; }

}  // namespace kiln::cpu

#else

namespace kiln::cpu {
const VectorSortKernels<uint32_t>* VectorSortKernels512(uint32_t) { return nullptr; }
const VectorSortKernels<uint64_t>* VectorSortKernels512(uint64_t) { return nullptr; }
}  // namespace kiln::cpu

#endif
