// The pieces of the vector sort for AVX2, for which the whole file is compiled (see CMakeLists.txt).
//
// Short pieces lie in registers as columns: row r of column c in lane c of register r. A network sorts all columns at
// once; neighbours are then merged, columns becoming twice as long, until one is left that goes through all lanes. Most
// of what is compared stands in the same lane of two registers, where it takes no shuffle.
#include "src/cpu/vector_sort.h"

#if defined(__AVX2__)

#include <immintrin.h>

namespace kiln::cpu {
namespace {

// What is the same for both widths of keys.
template <typename Key>
struct Register {
  static constexpr int kCount = 32 / sizeof(Key);
  using Vector = Key __attribute__((ext_vector_type(kCount)));
  static Vector Load(const Key* from) { return (Vector)_mm256_loadu_si256((const __m256i*)from); }
  static void Store(Key* to, Vector value) { _mm256_storeu_si256((__m256i*)to, (__m256i)value); }
  // The lanes with a bit first, then the others.
  static Vector Divide(Vector value, int bits);
};

template <typename Key>
struct Lanes;

template <>
struct Lanes<uint32_t> : Register<uint32_t> {
  using Register::Load, Register::Store;
  static Vector Load(const uint32_t* from, Vector mask, Vector otherwise) {
    const __m256i loaded = _mm256_maskload_epi32((const int*)from, (__m256i)mask);
    return (Vector)_mm256_blendv_epi8((__m256i)otherwise, loaded, (__m256i)mask);
  }
  static void Store(uint32_t* to, Vector mask, Vector value) {
    _mm256_maskstore_epi32((int*)to, (__m256i)mask, (__m256i)value);
  }
  static Vector FirstLanes(int64_t count) {
    const int lanes = count < 0 ? 0 : count > kCount ? kCount : static_cast<int>(count);
    return (Vector)_mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  // Lanes as the sort holds them, and back.
  static Vector Ordered(Vector value) { return value; }
  static void Order(Vector* low, Vector* high) {
    const Vector smaller = __builtin_elementwise_min(*low, *high);
    *high = __builtin_elementwise_max(*low, *high);
    *low = smaller;
  }
  // A bit for each lane up to the bound.
  static int UpTo(Vector value, Vector bound) {
    const __m256i low = _mm256_cmpeq_epi32((__m256i)__builtin_elementwise_min(value, bound), (__m256i)value);
    return _mm256_movemask_ps((__m256)low);
  }
};

template <>
struct Lanes<uint64_t> : Register<uint64_t> {
  using Register::Load, Register::Store;
  static Vector Load(const uint64_t* from, Vector mask, Vector otherwise) {
    const __m256i loaded = _mm256_maskload_epi64((const long long*)from, (__m256i)mask);
    return (Vector)_mm256_blendv_epi8((__m256i)otherwise, loaded, (__m256i)mask);
  }
  static void Store(uint64_t* to, Vector mask, Vector value) {
    _mm256_maskstore_epi64((long long*)to, (__m256i)mask, (__m256i)value);
  }
  static Vector FirstLanes(int64_t count) {
    return (Vector)_mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  // There are comparisons of signed lanes alone.
  static Vector Ordered(Vector value) { return value ^ (Vector{} + (uint64_t{1} << 63)); }
  static void Order(Vector* low, Vector* high) {
    const __m256i a = (__m256i)*low, b = (__m256i)*high, above = _mm256_cmpgt_epi64(a, b);
    *low = (Vector)_mm256_blendv_epi8(a, b, above);
    *high = (Vector)_mm256_blendv_epi8(b, a, above);
  }
  static int UpTo(Vector value, Vector bound) {
    const __m256i above = _mm256_cmpgt_epi64((__m256i)Ordered(value), (__m256i)Ordered(bound));
    return _mm256_movemask_pd((__m256d)above) ^ 0xF;
  }
};

// For each set of lanes, words of eight lanes in the order of Divide.
template <int kSets, int kLanes>
struct DividedLanes {
  uint8_t words[kSets][8] = {};

  constexpr DividedLanes() {
    constexpr int kWords = 8 / kLanes;
    for (int bits = 0; bits < kSets; ++bits) {
      int next = 0;
      for (int wanted = 1; wanted >= 0; --wanted) {
        for (int lane = 0; lane < kLanes; ++lane) {
          if ((bits >> lane & 1) != wanted) continue;
          for (int word = 0; word < kWords; ++word) words[bits][next++] = static_cast<uint8_t>(lane * kWords + word);
        }
      }
    }
  }
};
constexpr DividedLanes<256, 8> kDividedWords;
constexpr DividedLanes<16, 4> kDividedDoubleWords;

template <typename Key>
typename Register<Key>::Vector Register<Key>::Divide(Vector value, int bits) {
  const uint8_t* words = kCount == 8 ? kDividedWords.words[bits] : kDividedDoubleWords.words[bits];
  const __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)words));
  return (Vector)_mm256_permutevar8x32_epi32((__m256i)value, order);
}

// Batcher's odd-even merge sort of the rows of each column; kRows is a power of two.
template <typename Key, int kRows>
__attribute__((always_inline)) inline void SortColumns(typename Lanes<Key>::Vector* v) {
#pragma unroll
  for (int run = 1; run < kRows; run *= 2) {
#pragma unroll
    for (int distance = run; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int from = i - distance % run;
        if (from < 0 || i + distance >= kRows || from / distance % 2 != 0) continue;
        if (i / (2 * run) == (i + distance) / (2 * run)) Lanes<Key>::Order(&v[i], &v[i + distance]);
      }
    }
  }
}

// kRows registers of keys.
template <typename Key, int kRows>
class Columns {
 public:
  using L = Lanes<Key>;
  using Vector = typename L::Vector;
  static constexpr int kLanes = L::kCount;

  static void Sort(Key* keys, int64_t size) {
    Vector v[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      v[i] = L::Ordered(L::Load(keys + i * kLanes, L::FirstLanes(size - i * kLanes), ~Vector{}));
    }
    SortRegisters(v);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      L::Store(keys + i * kLanes, L::FirstLanes(size - i * kLanes), L::Ordered(v[i]));
    }
  }

  // Of all keys in registers, the lower middle one.
  static Key Middle(Vector* v) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) v[i] = L::Ordered(v[i]);
    SortRegisters(v);
    return L::Ordered(v[kRows / 2 - 1])[kLanes - 1];
  }

 private:
  template <int... kLane>
  struct IndexList {};
  static constexpr auto Indices() {
    if constexpr (kLanes == 8) {
      return IndexList<0, 1, 2, 3, 4, 5, 6, 7>();
    } else {
      return IndexList<0, 1, 2, 3>();
    }
  }

  template <int kTurned, int... kLane>
  static Vector Turn(Vector v, IndexList<kLane...>) {
    return __builtin_shufflevector(v, v, (kLane ^ kTurned)...);
  }
  // Lanes with the bit kBit from `b`, others from `a`.
  template <int kBit, int... kLane>
  static Vector Blend(Vector a, Vector b, IndexList<kLane...>) {
    return __builtin_shufflevector(a, b, ((kLane & kBit) != 0 ? kLanes + kLane : kLane)...);
  }
  template <int kFrom, int... kLane>
  static Vector Interleave(Vector a, Vector b, IndexList<kLane...>) {
    return __builtin_shufflevector(a, b, (kFrom + kLane / 2 + kLane % 2 * kLanes)...);
  }

  // Orders lanes of two registers where the one's lane is the other's lane turned by kTurned; the smaller key goes to
  // the lane without the bit kBit. A register with itself for a == b.
  template <int kTurned, int kBit>
  __attribute__((always_inline)) static void OrderTurned(Vector* a, Vector* b) {
    Vector low = *a, high = Turn<kTurned>(*b, Indices());
    L::Order(&low, &high);
    *a = Blend<kBit>(low, high, Indices());
    if (a != b) *b = Turn<kTurned>(Blend<kBit>(high, low, Indices()), Indices());
  }

  template <int kDistance>
  __attribute__((always_inline)) static void MergeLanes(Vector* v) {
    if constexpr (kDistance > 0) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) OrderTurned<kDistance, kDistance>(&v[i], &v[i]);
      MergeLanes<kDistance / 2>(v);
    }
  }

  // Merges columns of kColumns / 2 lanes each, and what becomes of them, until kLanes are one.
  template <int kColumns = 2>
  __attribute__((always_inline)) static void Merge(Vector* v) {
#pragma unroll
    for (int i = 0; i < (kRows + 1) / 2; ++i) OrderTurned<kColumns - 1, kColumns / 2>(&v[i], &v[kRows - 1 - i]);
    MergeLanes<kColumns / 4>(v);
#pragma unroll
    for (int distance = kRows / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        if ((i & distance) == 0) L::Order(&v[i], &v[i + distance]);
      }
    }
    if constexpr (kColumns < kLanes) Merge<2 * kColumns>(v);
  }

  __attribute__((always_inline)) static void SortRegisters(Vector* v) {
    SortColumns<Key, kRows>(v);
    Merge(v);
    // Each step halves the distance of a column's neighbours.
#pragma unroll
    for (int step = 1; step < kRows; step *= 2) {
      Vector from[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) from[i] = v[i];
#pragma unroll
      for (int i = 0; i < kRows / 2; ++i) {
        v[2 * i] = Interleave<0>(from[i], from[kRows / 2 + i], Indices());
        v[2 * i + 1] = Interleave<kLanes / 2>(from[i], from[kRows / 2 + i], Indices());
      }
    }
  }
};

constexpr int kMaxRows = 16;

template <typename Key>
void SortShort(Key* keys, int64_t size) {
  constexpr int64_t kLanes = Lanes<Key>::kCount;
  if (size <= 4 * kLanes) {
    if (size <= kLanes) return Columns<Key, 1>::Sort(keys, size);
    return size <= 2 * kLanes ? Columns<Key, 2>::Sort(keys, size) : Columns<Key, 4>::Sort(keys, size);
  }
  size <= 8 * kLanes ? Columns<Key, 8>::Sort(keys, size) : Columns<Key, kMaxRows>::Sort(keys, size);
}

template <typename Key>
Key Pivot(const Key* keys, int64_t size) {
  constexpr int kLanes = Lanes<Key>::kCount, kRows = 2;
  typename Lanes<Key>::Vector samples[kRows];
  const int64_t distance = size / (kRows * kLanes);
  for (int i = 0; i < kRows * kLanes; ++i) samples[i / kLanes][i % kLanes] = keys[i * distance + distance / 2];
  return Columns<Key, kRows>::Middle(samples);
}

// Low keys are written where they were read, whole vectors at a time: what stands behind the last low key has been
// read. High keys fill `spare` from its end, so that one order of a vector's lanes serves both.
template <typename Key>
int64_t Partition(Key* keys, Key* spare, int64_t size, Key pivot) {
  using L = Lanes<Key>;
  using Vector = typename L::Vector;
  constexpr int64_t kLanes = L::kCount;
  const Vector bound = Vector{} + pivot;
  int64_t low = 0, i = 0;
  Key* high = spare + size;
  for (; i + kLanes <= size; i += kLanes) {
    const Vector v = L::Load(keys + i);
    const int is_low = L::UpTo(v, bound);
    const Vector divided = L::Divide(v, is_low);
    const int count = __builtin_popcount(is_low);
    L::Store(keys + low, divided);
    L::Store(high - kLanes, divided);
    low += count;
    high -= kLanes - count;
  }
  for (; i < size; ++i) {
    const Key key = keys[i];
    keys[low] = high[-1] = key;
    low += key <= pivot;
    high -= key > pivot;
  }
  for (i = low; i + kLanes <= size; i += kLanes) L::Store(keys + i, L::Load(high + i - low));
  for (; i < size; ++i) keys[i] = high[i - low];
  return low;
}

template <typename Key>
constexpr VectorSortKernels<Key> kKernels = {kMaxRows* Lanes<Key>::kCount, &SortShort<Key>, &Pivot<Key>,
                                             &Partition<Key>};

}  // namespace

const VectorSortKernels<uint32_t>* VectorSortKernels256(uint32_t) { return &kKernels<uint32_t>; }
const VectorSortKernels<uint64_t>* VectorSortKernels256(uint64_t) { return &kKernels<uint64_t>; }

}  // namespace kiln::cpu

#else

namespace kiln::cpu {
const VectorSortKernels<uint32_t>* VectorSortKernels256(uint32_t) { return nullptr; }
const VectorSortKernels<uint64_t>* VectorSortKernels256(uint64_t) { return nullptr; }
}  // namespace kiln::cpu

#endif
