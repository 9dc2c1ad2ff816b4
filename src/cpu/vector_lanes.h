// Vectors of one register of the widest kind, for functions that are compiled with Kiln and not with a program. On
// processors with narrower registers the compiler makes several of each.
#ifndef KILN_CPU_VECTOR_LANES_H_
#define KILN_CPU_VECTOR_LANES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// Nothing that takes vectors is ever called, so that it does not matter how they would be passed.
#pragma clang diagnostic ignored "-Wpsabi"
#define KILN_INLINE inline __attribute__((always_inline))

namespace kiln::cpu {

inline constexpr int64_t kVectorBytes = 64;

template <typename T>
inline constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(T));

// The integer of T's size.
template <typename T>
using LaneInteger = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};
template <typename T>
using Vector = typename VectorOf<T>::Type;
// All ones or zeros per lane, as comparisons give them; also lanes of integers.
template <typename T>
using LaneMask = Vector<LaneInteger<T>>;

template <typename T>
KILN_INLINE Vector<T> LoadVector(const T* from) {
  Vector<T> value;
  std::memcpy(&value, from, kVectorBytes);
  return value;
}

template <typename T>
KILN_INLINE void StoreVector(T* to, Vector<T> value) {
  std::memcpy(to, &value, kVectorBytes);
}

template <typename T>
KILN_INLINE Vector<T> Splat(T value) {
  // Less zero, which compiles to nothing: plus zero is an addition, since it makes zero of a negative one.
  return value - Vector<T>{};
}

template <typename T>
KILN_INLINE Vector<T> Choose(LaneMask<T> mask, Vector<T> yes, Vector<T> no) {
  return mask ? yes : no;
}

template <typename T>
KILN_INLINE T SumOfLanes(Vector<T> value) {
  T parts[kLanes<T>];
  std::memcpy(parts, &value, kVectorBytes);
  for (int64_t width = kLanes<T> / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) parts[i] += parts[i + width];
  }
  return parts[0];
}

namespace internal {
template <typename T, size_t... i>
KILN_INLINE void Interleave(Vector<T> a, Vector<T> b, Vector<T>* to, std::index_sequence<i...>) {
  constexpr size_t n = sizeof...(i);
  to[0] = __builtin_shufflevector(a, b, (i / 2 + i % 2 * n)...);
  to[1] = __builtin_shufflevector(a, b, (n / 2 + i / 2 + i % 2 * n)...);
}
}  // namespace internal

// Lane j of vector i becomes lane i of vector j, for kLanes vectors.
template <typename T>
KILN_INLINE void TransposeVectors(Vector<T>* vectors) {
  constexpr int64_t n = kLanes<T>;
  Vector<T> next[n];
#pragma clang loop unroll(full)
  for (int64_t step = 1; step < n; step *= 2) {
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < n / 2; ++i) {
      internal::Interleave<T>(vectors[i], vectors[i + n / 2], next + 2 * i, std::make_index_sequence<n>());
    }
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < n; ++i) vectors[i] = next[i];
  }
}

}  // namespace kiln::cpu

#endif  // KILN_CPU_VECTOR_LANES_H_
