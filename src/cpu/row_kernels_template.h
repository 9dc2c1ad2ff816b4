// The kernels of row_kernels.h over an arithmetic of gemm_kernels_template.h. Included by files that are compiled for
// one instruction set each.
#ifndef KILN_CPU_ROW_KERNELS_TEMPLATE_H_
#define KILN_CPU_ROW_KERNELS_TEMPLATE_H_

#include "src/cpu/gemm_kernels_template.h"
#include "src/cpu/row_kernels.h"

namespace kiln::cpu {
namespace {

template <typename V>
auto LowLanes(V value) {
  return LowHalf(value, std::make_integer_sequence<int, sizeof(V) / sizeof(value[0]) / 2>());
}

// The sums across lanes of as many vectors as fit in 128 bits, in such a vector.
template <typename V>
auto SumAcrossGroups(V value) {
  if constexpr (sizeof(V) == 16) {
    return value;
  } else {
    constexpr int kLanes = sizeof(V) / sizeof(value[0]);
    const auto high = [&]<int... i>(std::integer_sequence<int, i...>) {
      return __builtin_shufflevector(value, value, (i + kLanes / 2)...);
    }
    (std::make_integer_sequence<int, kLanes / 2>());
    return SumAcrossGroups(LowLanes(value) + high);
  }
}
template <typename V>
auto SumAcrossLanes(V (&v)[4]) {
  const V a = Interleave<4, 1, false>(v[0], v[1]) + Interleave<4, 1, true>(v[0], v[1]);
  const V b = Interleave<4, 1, false>(v[2], v[3]) + Interleave<4, 1, true>(v[2], v[3]);
  return SumAcrossGroups(Interleave<4, 2, false>(a, b) + Interleave<4, 2, true>(a, b));
}
template <typename V>
auto SumAcrossLanes(V (&v)[2]) {
  return SumAcrossGroups(Interleave<2, 1, false>(v[0], v[1]) + Interleave<2, 1, true>(v[0], v[1]));
}

template <typename A, int kFew, int kMany>
void RowTiles(const char* few, const char* many, char* sums, const RowTileStrides& strides, int64_t bytes,
              int64_t tiles, const char* ahead, int64_t ahead_count, bool resume) {
  using Stored = typename A::Stored;
  using Sum = typename A::Sum;
  using Scalar = std::remove_cvref_t<decltype(Sum{}[0])>;
  constexpr int64_t kBytes = sizeof(Stored);
  // Pointers as in Tile.
  constexpr int kGroup = 5;
  constexpr int kPointers = (kMany + kGroup - 1) / kGroup;
  // Sums of as many vectors as fit in 128 bits together: of few rows where there are enough, else of many.
  constexpr int kQuad = 16 / sizeof(Scalar);
  using Quad = Scalar __attribute__((ext_vector_type(kQuad)));
  constexpr bool kAlongFew = kFew >= kQuad;
  constexpr int kOuter = kAlongFew ? kMany : kFew, kInner = kAlongFew ? kFew : kMany;
  const int64_t outer_step = kAlongFew ? strides.sums_many : strides.sums_few;
  const int64_t inner_step = kAlongFew ? strides.sums_few : strides.sums_many;
  const int64_t few_row = strides.few, many_row = strides.many, next_sums = kMany * strides.sums_many;
  for (; tiles > 0; --tiles, many += kMany * many_row, ahead += kMany * many_row, sums += next_sums) {
    const char* x_from[kPointers];
    for (int i = 0; i < kPointers; ++i) {
      x_from[i] = many + i * kGroup * many_row;
      __asm__("" : "+r"(x_from[i]));
    }
    const char* y_from = few;
    const char* ahead_from = ahead;
    Sum sum[kMany][kFew] = {};
    Sum offset[kFew] = {};
    const auto multiply = [&](auto load) __attribute__((always_inline)) {
      decltype(A::Few(Stored{})) y[kFew];
      for (int j = 0; j < kFew; ++j) y[j] = A::Few(load(y_from + j * few_row));
#pragma clang loop unroll(full)
      for (int i = 0; i < kMany; ++i) {
        const auto x = A::Many(load(x_from[i / kGroup] + i % kGroup * many_row));
#pragma clang loop unroll(full)
        for (int part = 0; part < A::kParts; ++part) {
          for (int j = 0; j < kFew; ++j) {
            sum[i][j] = A::MultiplyAdd(PartOf(x, part), PartOf(y[j], part), sum[i][j]);
            __asm__ volatile("" : KILN_VECTOR_REGISTER(sum[i][j])::"memory");
          }
        }
      }
      if constexpr (A::kOffset) {
        for (int j = 0; j < kFew; ++j) offset[j] = A::Offset(y[j], offset[j]);
      }
    };
    const auto advance = [&](int64_t distance) __attribute__((always_inline)) {
      y_from += distance;
      for (int i = 0; i < kPointers; ++i) x_from[i] += distance;
    };
    for (int64_t step = bytes / kBytes; step > 0; --step) {
      multiply([](const char* from) { return Load<Stored>(from); });
      const char* line = ahead_from;
      for (int64_t i = 0; i < ahead_count; ++i, line += many_row) __builtin_prefetch(line, 0, 2);
      ahead_from += kBytes;
      advance(kBytes);
    }
    if (const int64_t left = bytes % kBytes; left > 0) {
      using Mask = int8_t __attribute__((ext_vector_type(kBytes)));
      const Mask mask = Load<Mask>(reinterpret_cast<const char*>(&kTailMasks<Mask>) + left);
      advance(left - kBytes);
      multiply([&](const char* from) { return (Stored)(Load<Mask>(from) & mask); });
    }
    char* outer_sums = sums;
#pragma clang loop unroll(full)
    for (int outer = 0; outer < kOuter; ++outer, outer_sums += outer_step) {
#pragma clang loop unroll(full)
      for (int inner = 0; inner < kInner; inner += kQuad) {
        Sum group[kQuad];
        for (int q = 0; q < kQuad; ++q) {
          const int at = inner + q < kInner ? inner + q : inner;
          group[q] = kAlongFew ? sum[outer][at] : sum[at][outer];
          if (A::kOffset) group[q] -= offset[kAlongFew ? at : outer];
        }
        Quad total = SumAcrossLanes(group);
        char* to = outer_sums + inner * inner_step;
        if (inner + kQuad <= kInner && inner_step == sizeof(Scalar)) {
          if (resume) total += Load<Quad>(to);
          Store(to, total);
          continue;
        }
        for (int q = 0; q < kQuad && inner + q < kInner; ++q, to += inner_step) {
          Store(to, resume ? Load<Scalar>(to) + total[q] : total[q]);
        }
      }
    }
  }
}

// 128 bits of neighbouring rows by a vector of elements at a time; the last rows reach back over those before.
template <typename A>
void PackRowColumns(const char* from, char* to, int64_t k_stride, int64_t row_stride, int64_t to_row, int64_t elements,
                    int64_t rows) {
  using Element = typename A::Element;
  constexpr int64_t kElement = sizeof(Element), kQuad = 16 / kElement;
  int64_t k = 0;
  if constexpr (kElement >= 4) {
    using Vector = typename A::Vector;
    const bool in_vectors = row_stride == kElement && rows >= kQuad;
    for (; in_vectors && k + A::kLanes <= elements; k += A::kLanes) {
      for (int64_t row = 0; row < rows; row += kQuad) {
        const int64_t first = row + kQuad <= rows ? row : rows - kQuad;
        const char* source = from + k * k_stride + first * kElement;
        Vector v[kQuad];
        for (int64_t i = 0; i < kQuad; ++i) v[i] = LoadGroups<Vector>(source + i * k_stride, kQuad * k_stride);
        TransposeGroups(v);
        for (int64_t i = 0; i < kQuad; ++i) Store(to + (first + i) * to_row + k * kElement, v[i]);
      }
    }
  }
  for (; k < elements; ++k) {
    for (int64_t row = 0; row < rows; ++row) {
      Store(to + row * to_row + k * kElement, Load<Element>(from + k * k_stride + row * row_stride));
    }
  }
}

template <typename A, int kFew, int kMany>
constexpr void FillRowTile(RowKernels& kernels) {
  if constexpr (kFew * kMany + A::kParts * (kFew + 1) + (A::kOffset ? kFew : 0) <= A::kRegisters) {
    kernels.tiles[kFew - 1][kMany - 1] = &RowTiles<A, kFew, kMany>;
    if (kernels.most_few < kFew) kernels.most_few = kFew;
  }
}

template <typename A, int kFew>
constexpr void FillRowTiles(RowKernels& kernels) {
  FillRowTile<A, kFew, 1>(kernels);
  FillRowTile<A, kFew, 2>(kernels);
  FillRowTile<A, kFew, 4>(kernels);
  FillRowTile<A, kFew, 6>(kernels);
  if constexpr (kFew <= 2) FillRowTile<A, kFew, 8>(kernels);
}

template <typename A>
constexpr RowKernels MakeRowKernels() {
  RowKernels kernels;
  kernels.lanes = A::kLanes;
  kernels.element_bytes = sizeof(typename A::Element);
  kernels.sum_bytes = A::kSumBytes;
  kernels.vector_bytes = sizeof(typename A::Stored);
  FillRowTiles<A, 1>(kernels);
  FillRowTiles<A, 2>(kernels);
  FillRowTiles<A, 3>(kernels);
  // Sixteen registers hold four by two sums, which load three vectors for four products.
  if constexpr (A::kRegisters > 16) FillRowTiles<A, 4>(kernels);
  kernels.pack = &PackRowColumns<A>;
  return kernels;
}

// Of the arithmetic of each kind, as GemmKernelKind counts them; null of those behind.
template <typename... A>
const RowKernels* RowKernelsOf(GemmKernelKind kind) {
  static constexpr RowKernels kKernels[] = {MakeRowKernels<A>()...};
  return static_cast<int64_t>(kind) < int64_t{sizeof...(A)} ? &kKernels[static_cast<int64_t>(kind)] : nullptr;
}

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_KERNELS_TEMPLATE_H_
