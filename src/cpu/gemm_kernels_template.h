// The kernels of gemm_kernels.h, over an arithmetic that says what a vector is. Included by files that are compiled for
// one instruction set each: nothing of the standard library with code in it belongs here, since the linker might keep
// this file's copy for everybody.
#ifndef KILN_CPU_GEMM_KERNELS_TEMPLATE_H_
#define KILN_CPU_GEMM_KERNELS_TEMPLATE_H_

#include <type_traits>
#include <utility>

#include "src/cpu/gemm_kernels.h"

// A vector register, for the compiler's assembly.
#if defined(__aarch64__)
#define KILN_VECTOR_REGISTER "+w"
#else
#define KILN_VECTOR_REGISTER "+v"
#endif

// Nothing that takes vectors is called from elsewhere, so that it does not matter how they would be passed.
#pragma clang diagnostic ignored "-Wpsabi"

namespace kiln::cpu {
namespace {

constexpr int64_t kLine = 64;  // bytes of a cache's line

template <typename T, typename From>
T Load(const From* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void Store(char* to, const T& value) {
  __builtin_memcpy(to, &value, sizeof(T));
}

template <typename V, int... i>
auto LowHalf(V value, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(value, value, i...);
}

template <typename V, typename Half, int... i>
V WithLowHalf(Half value, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(value, Half{}, i...);
}

// What registers hold of a vector that is multiplied in several parts; a vector is its only one.
template <typename V>
struct Halves {
  V half[2];
};
template <typename V>
const V& PartOf(const V& vector, int) {
  return vector;
}
template <typename V>
const V& PartOf(const Halves<V>& vector, int part) {
  return vector.half[part];
}

// An arithmetic has: Scalar and Vector of kLanes of them, in memory; Sum, a vector of sums; kDepth; Broadcast(x) of a
// scalar of lhs; Few(y), what a vector of rhs is in registers, of kParts; MultiplyAdd(x, y, sum) of parts; kTakeRow,
// which makes as many scalars of one of lhs where tiles do not read it as it is; kOffset, whether that has 128 added
// (to rows by Many(x), whose products Offset(y, sum) collects); kHasHalves, whether it multiplies halves of vectors as
// well. `kHalf`: no more of the last vector is asked for. For rows (row_kernels_template.h): Stored, elements as they
// lie in memory, and Many(x) and Few(y), vectors of them.
template <typename A, int kRows, int kVectors, bool kHalf = false>
void Tile(const char* lhs, const char* rhs, char* sums, const GemmTileStrides& strides, const int64_t* lhs_runs,
          const int64_t* rhs_runs, int64_t run_count, int64_t steps, int64_t columns, bool resume) {
  using Vector = typename A::Vector;
  using Sum = typename A::Sum;
  constexpr int64_t kBytes = sizeof(Vector);
  constexpr auto kHalfLanes = std::make_integer_sequence<int, A::kLanes / 2>();
  constexpr int kWhole = kHalf ? kVectors - 1 : kVectors;
  // Half of one vector is much where there are few.
  if constexpr (A::kHasHalves && !kHalf && kVectors < kMaxTileVectors) {
    if (columns - (kVectors - 1) * A::kLanes <= A::kLanes / 2) {
      return Tile<A, kRows, kVectors, true>(lhs, rhs, sums, strides, lhs_runs, rhs_runs, run_count, steps, columns,
                                            resume);
    }
  }
  // Rows are five to a pointer, whose distances an address can hold; one pointer for all would be a chain of additions
  // longer than the products.
  constexpr int kGroup = 5;
  constexpr int kPointers = (kRows + kGroup - 1) / kGroup;
  const int64_t lhs_row = strides.lhs_row, lhs_step = strides.lhs_step, rhs_step = strides.rhs_step;
  int64_t three_rows = 3 * lhs_row;
  __asm__("" : "+r"(three_rows));
  // Two threads of a core have half of its instructions each: where lhs lies along k, or is packed, several steps share
  // additions to pointers. Not of single vectors, whose tiles leave no registers for what the compiler would keep, nor
  // of few rows, the last ones. Lines of rhs are asked for ahead where vectors are narrow. A Zen 3 core that is shared
  // takes 0.73 to 0.92 of the time for 512 by 512 by 512, one on its own 0.99 to 1.04.
  constexpr int64_t kAhead = 512;  // bytes
  constexpr int64_t kScalarBytes = sizeof(typename A::Scalar);
  constexpr bool kUnrolls = !kHalf && kVectors > 1 && kRows >= 4 && std::is_floating_point_v<typename A::Scalar>;
  constexpr int64_t kUnrolled = A::kHasHalves ? 2 : 4;
  for (int64_t tile = kHalf ? 1 : strides.tiles; tile > 0; --tile, rhs += strides.rhs_tile, sums += strides.sums_tile) {
    // No loop of its own for each answer to what is asked of every tile.
    __asm__ volatile("" : "+r"(rhs_runs), "+r"(run_count), "+r"(columns), "+r"(resume));
    Sum sum[kRows][kVectors] = {};
    decltype(LowHalf(Sum{}, kHalfLanes)) half_sum[kRows] = {};
    const char* y_from = rhs;
    for (int64_t run = 0; run < run_count; ++run) {
      if (rhs_runs != nullptr) y_from = rhs + rhs_runs[run];
      const char* x_from[kPointers];
      for (int i = 0; i < kPointers; ++i) {
        x_from[i] = lhs + lhs_runs[run] + i * kGroup * lhs_row;
        __asm__("" : "+r"(x_from[i]));  // keeps the compiler from deriving it from the others
      }
      const auto advance = [&](int64_t bytes) {
        for (int i = 0; i < kPointers; ++i) {
          x_from[i] += bytes;
          __asm__("" : "+r"(x_from[i]));
        }
      };
      // One step, whose elements of lhs lie `at` bytes ahead; of a whole tile that is packed they follow each other.
      const auto multiply = [&]<bool kPacked = false>(int64_t at) __attribute__((always_inline)) {
        for (int64_t line = 0; kBytes <= 32 && line < kVectors * kBytes; line += kLine) {
          __builtin_prefetch(y_from + kAhead + line);
        }
        decltype(A::Few(Vector{})) y[kVectors];
        for (int v = 0; v < kWhole; ++v) y[v] = A::Few(Load<Vector>(y_from + v * kBytes));
        const auto half = Load<decltype(LowHalf(Vector{}, kHalfLanes))>(y_from + (kVectors - 1) * kBytes);
#pragma clang loop unroll(full)
        for (int row = 0; row < kRows; ++row) {
          const int64_t row_at = row % kGroup == 3 ? three_rows : row % kGroup * lhs_row;
          const char* from = kPacked ? x_from[0] + row * kScalarBytes : x_from[row / kGroup] + row_at;
#pragma clang loop unroll(full)
          for (int part = 0; part < A::kParts; ++part) {
            Vector x = A::Broadcast(Load<typename A::Scalar>(from + at + part * kScalarBytes));
            // Keeps the compiler from broadcasting a half first.
            if constexpr (kHalf && kWhole > 0) __asm__("" : KILN_VECTOR_REGISTER(x));
            for (int v = 0; v < kWhole; ++v) {
              sum[row][v] = A::MultiplyAdd(x, PartOf(y[v], part), sum[row][v]);
              // Row by row, as it stands here: there are no registers for elements of later ones.
              __asm__ volatile("" : KILN_VECTOR_REGISTER(sum[row][v])::"memory");
            }
            if constexpr (kHalf) {
              half_sum[row] = A::MultiplyAdd(LowHalf(x, kHalfLanes), half, half_sum[row]);
              __asm__ volatile("" : KILN_VECTOR_REGISTER(half_sum[row])::"memory");
            }
          }
        }
        y_from += rhs_step;
      };
      int64_t step = steps;
      const auto multiply_several = [&]<bool kPacked, int64_t kStepBytes>() __attribute__((always_inline)) {
        for (; step >= kUnrolled; step -= kUnrolled) {
#pragma clang loop unroll(full)
          for (int64_t i = 0; i < kUnrolled; ++i) multiply.template operator()<kPacked>(i * kStepBytes);
          advance(kUnrolled * kStepBytes);
        }
      };
      if constexpr (kUnrolls) {
        if (lhs_step == kScalarBytes) multiply_several.template operator()<false, kScalarBytes>();
      }
      if constexpr (kUnrolls && !A::kHasHalves) {
        if (lhs_row == kScalarBytes && lhs_step == kRows * kScalarBytes) {
          multiply_several.template operator()<true, kRows * kScalarBytes>();
        }
      }
      for (; step > 0; --step) {
        multiply(0);
        advance(lhs_step);
      }
    }
    const int64_t left = columns - (kVectors - 1) * A::kLanes;  // of the last vector
    char* sums_at = sums;
#pragma clang loop unroll(full)
    for (int row = 0; row < kRows; ++row, sums_at += strides.sums_row) {
      if constexpr (kHalf) {
        sum[row][kVectors - 1] = WithLowHalf<Sum>(half_sum[row], std::make_integer_sequence<int, A::kLanes>());
      }
      for (int v = 0; v < kVectors; ++v) {
        Sum total = sum[row][v];
        if (A::kOffset && strides.offsets != nullptr) total -= Load<Sum>(strides.offsets + v * kBytes);
        char* to = sums_at + v * kBytes;
        if (v + 1 < kVectors || left >= A::kLanes) {
          if (resume) total += Load<Sum>(to);
          Store(to, total);
        } else {
          A::StoreCut(to, total, left, resume);
        }
      }
    }
  }
}

template <typename A, int kVectors, int kRow = 0>
constexpr void FillTiles(GemmKernels& kernels) {
  if constexpr (kRow < kMaxVectorTileRows) {
    constexpr int kRows = kRow + 1;
    // Products of parts are added one after the other, with a register in between.
    if constexpr (kRows * kVectors + A::kParts * (kVectors + 2) - 1 <= A::kRegisters) {
      kernels.take_several = true;
      kernels.tiles[kVectors - 1][kRow] = &Tile<A, kRows, kVectors>;
      FillTiles<A, kVectors, kRow + 1>(kernels);
    }
  }
}

// The processor's interleaving of the low or high halves of each group of `group` lanes, `run` lanes at a time.
template <int group, int run, bool high, typename V, int... i>
V Interleave(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int kLanes = sizeof...(i);
  return __builtin_shufflevector(a, b,
                                 (i / group * group + (high ? group / 2 : 0) + i % group / (2 * run) * run + i % run +
                                  i % group / run % 2 * kLanes)...);
}

template <int group, int run, bool high, typename V>
V Interleave(V a, V b) {
  return Interleave<group, run, high>(a, b, std::make_integer_sequence<int, sizeof(V) * group / 16>());
}

template <typename Mask>
struct TailMasks {
  Mask zeros_before = 0, ones = -1, zeros_behind = 0;
};
template <typename Mask>
constexpr TailMasks<Mask> kTailMasks;

// Zeros in place of the lanes from `count` on.
template <typename V>
V FirstLanes(V vector, int64_t count) {
  using Mask = int8_t __attribute__((ext_vector_type(sizeof(V))));
  const auto bytes = count * static_cast<int64_t>(sizeof(vector[0]));
  return (V)((Mask)vector & Load<Mask>(reinterpret_cast<const char*>(&kTailMasks<Mask>.zeros_behind) - bytes));
}

// Steps of one vector of columns, elements of a step gathered from `depth` rows. Narrow elements are widened to 32
// bits.
template <typename A>
void PackRows(const char* from, char* to, const GemmPacking& packing, int64_t elements, int64_t columns) {
  using Element = typename A::Element;
  using Vector = typename A::Vector;
  using Row = Element __attribute__((ext_vector_type(A::kLanes)));
  for (int64_t k = 0; k < elements; k += A::kDepth, to += packing.panel_columns * A::kSumBytes) {
    if (packing.rows_ahead > 0 && k + packing.rows_ahead < elements) {
      const char* ahead = from + (k + packing.rows_ahead) * packing.k_stride;
      for (int64_t at = 0; at < columns * static_cast<int64_t>(sizeof(Element)); at += kLine) {
        __builtin_prefetch(ahead + at, 0, 2);
      }
    }
    char* panel = to;
    int64_t n = 0, in_panel = 0;
    const auto store = [&](Vector value) {
      Store(panel + in_panel * A::kSumBytes, value);
      n += A::kLanes;
      in_panel += A::kLanes;
      if (in_panel == packing.panel_columns) {
        panel += packing.panel_bytes;
        in_panel = 0;
      }
    };
    if constexpr (A::kDepth == 2) {
      using Pair = Element __attribute__((ext_vector_type(2 * A::kLanes)));
      constexpr auto kPair = std::make_integer_sequence<int, 2 * A::kLanes>();
      while (n + 2 * A::kLanes <= columns && k + 1 < elements) {
        const char* row_from = from + k * packing.k_stride + n * static_cast<int64_t>(sizeof(Element));
        const auto first = Load<Pair>(row_from), second = Load<Pair>(row_from + packing.k_stride);
        store((Vector)Interleave<2 * A::kLanes, 1, false>(first, second, kPair));
        store((Vector)Interleave<2 * A::kLanes, 1, true>(first, second, kPair));
      }
    }
    if constexpr (A::kDepth == 4) {
      constexpr int kColumns = 16;
      using Bytes = uint8_t __attribute__((ext_vector_type(kColumns)));
      while (n + kColumns <= columns && k + 3 < elements) {
        const char* row_from = from + k * packing.k_stride + n;
        const auto first = Load<Bytes>(row_from), second = Load<Bytes>(row_from + packing.k_stride),
                   third = Load<Bytes>(row_from + 2 * packing.k_stride),
                   fourth = Load<Bytes>(row_from + 3 * packing.k_stride);
        const Bytes a = Interleave<kColumns, 1, false>(first, second),
                    b = Interleave<kColumns, 1, false>(third, fourth);
        const Bytes c = Interleave<kColumns, 1, true>(first, second), d = Interleave<kColumns, 1, true>(third, fourth);
        const Bytes steps[] = {Interleave<kColumns, 2, false>(a, b), Interleave<kColumns, 2, true>(a, b),
                               Interleave<kColumns, 2, false>(c, d), Interleave<kColumns, 2, true>(c, d)};
        for (int64_t i = 0; i < kColumns; i += A::kLanes) store(Load<Vector>(steps + i / 4));
      }
    }
    while (n < columns) {
      Vector value = {};
      for (int64_t i = 0; i < A::kDepth && k + i < elements; ++i) {
        const char* row_from = from + (k + i) * packing.k_stride + n * static_cast<int64_t>(sizeof(Element));
        Row row = {};
        if (n + A::kLanes <= columns) {
          row = Load<Row>(row_from);
        } else if (k + i + 1 < elements && packing.k_stride >= static_cast<int64_t>(sizeof(Row))) {
          // The last vector reads on into the next row.
          row = FirstLanes(Load<Row>(row_from), columns - n);
        } else {
          __builtin_memcpy(&row, row_from, static_cast<uint64_t>(columns - n) * sizeof(Element));
        }
        if constexpr (A::kDepth == 1) {
          value = row;
        } else {
          value |= __builtin_convertvector(row, Vector) << static_cast<int>(i * 8 * sizeof(Element));
        }
      }
      store(value);
    }
    // What is left of the last panel holds zeros.
    const int64_t begin = (columns + A::kLanes - 1) / A::kLanes * A::kLanes;
    const int64_t end = (columns + packing.panel_columns - 1) / packing.panel_columns * packing.panel_columns;
    for (int64_t n = begin; n < end; n += A::kLanes) {
      Store(panel + n % packing.panel_columns * A::kSumBytes, Vector{});
    }
  }
}

// Exchanges vector number and position inside each group of 128 bits.
template <typename V>
void TransposeGroups(V (&v)[4]) {
  const V a = Interleave<4, 1, false>(v[0], v[1]), b = Interleave<4, 1, true>(v[0], v[1]);
  const V c = Interleave<4, 1, false>(v[2], v[3]), d = Interleave<4, 1, true>(v[2], v[3]);
  v[0] = Interleave<4, 2, false>(a, c), v[1] = Interleave<4, 2, true>(a, c);
  v[2] = Interleave<4, 2, false>(b, d), v[3] = Interleave<4, 2, true>(b, d);
}

template <typename V>
void TransposeGroups(V (&v)[2]) {
  const V low = Interleave<2, 1, false>(v[0], v[1]);
  v[1] = Interleave<2, 1, true>(v[0], v[1]);
  v[0] = low;
}

// A vector of 128 bits of every `stride`-th row of memory from `from` on.
template <typename V>
V LoadGroups(const char* from, int64_t stride) {
  V whole;
  for (uint64_t group = 0; group < sizeof(V) / 16; ++group) {
    __builtin_memcpy(reinterpret_cast<char*>(&whole) + 16 * group, from + static_cast<int64_t>(group) * stride, 16);
  }
  return whole;
}

// A block of lanes columns by 128 bits of steps at a time; the last block of steps reaches back over the one before.
template <typename A>
void PackColumns(const char* from, char* to, const GemmPacking& packing, int64_t elements, int64_t columns) {
  using Vector = typename A::Vector;
  using Scalar = typename A::Scalar;
  constexpr int64_t kQuad = 16 / A::kSumBytes;
  const int64_t steps = elements / A::kDepth;
  const int64_t end = (columns + packing.panel_columns - 1) / packing.panel_columns * packing.panel_columns;
  for (int64_t n = 0; n < end; n += A::kLanes) {
    char* panel = to + n / packing.panel_columns * packing.panel_bytes + n % packing.panel_columns * A::kSumBytes;
    const char* source = from + n * packing.n_stride;
    const int64_t row_bytes = packing.panel_columns * A::kSumBytes;
    if (A::kDepth == 1 && packing.k_stride != A::kSumBytes) {
      // Lane by lane, as rhs lies there.
      for (int64_t lane = 0; lane < A::kLanes; ++lane) {
        const char* column = source + lane * packing.n_stride;
        char* row = panel + lane * A::kSumBytes;
        for (int64_t k = 0; k < steps; ++k, column += packing.k_stride, row += row_bytes) {
          Store(row, n + lane < columns ? Load<Scalar>(column) : Scalar{0});
        }
      }
      continue;
    }
    if (n + A::kLanes > columns || steps < kQuad) {
      for (int64_t k = 0; k < steps; ++k) {
        for (int64_t lane = 0; lane < A::kLanes; ++lane) {
          const Scalar value =
              n + lane < columns ? Load<Scalar>(source + lane * packing.n_stride + k * A::kSumBytes) : Scalar{0};
          Store(panel + k * row_bytes + lane * A::kSumBytes, value);
        }
      }
      continue;
    }
    for (int64_t k = 0; k < steps; k += kQuad) {
      const int64_t first = k + kQuad <= steps ? k : steps - kQuad;
      // Vector i holds the steps of columns i, i + kQuad and so on, one group of 128 bits each.
      Vector v[kQuad];
      for (int64_t i = 0; i < kQuad; ++i) {
        v[i] = LoadGroups<Vector>(source + i * packing.n_stride + first * A::kSumBytes, kQuad * packing.n_stride);
      }
      TransposeGroups(v);
      for (int64_t i = 0; i < kQuad; ++i) Store(panel + (first + i) * row_bytes, v[i]);
    }
  }
}

// 128 bits of neighbouring rows by a vector of columns at a time; the last rows reach back over those before.
template <typename A>
void StoreColumns(const char* sums, char* to, int64_t sums_row, int64_t out_row, int64_t out_column, int64_t rows,
                  int64_t columns) {
  using Sum = typename A::Sum;
  using Scalar = std::remove_cvref_t<decltype(Sum{}[0])>;
  constexpr int64_t kElement = sizeof(Scalar), kQuad = 16 / kElement;
  const int64_t in_vectors = rows >= kQuad ? columns / A::kLanes * A::kLanes : 0;
  for (int64_t n = 0; n < in_vectors; n += A::kLanes) {
    for (int64_t row = 0; row < rows; row += kQuad) {
      const int64_t first = row + kQuad <= rows ? row : rows - kQuad;
      Sum v[kQuad];
      for (int64_t i = 0; i < kQuad; ++i) v[i] = Load<Sum>(sums + (first + i) * sums_row + n * kElement);
      TransposeGroups(v);
      char* column = to + first * out_row + n * out_column;
      for (int64_t lane = 0; lane < A::kLanes; ++lane, column += out_column) {
        const char* piece = reinterpret_cast<const char*>(&v[lane % kQuad]) + lane / kQuad * 16;
        if (out_row == kElement) {
          __builtin_memcpy(column, piece, 16);
          continue;
        }
        for (int64_t i = 0; i < kQuad; ++i) __builtin_memcpy(column + i * out_row, piece + i * kElement, kElement);
      }
    }
  }
  for (int64_t n = in_vectors; n < columns; ++n) {
    for (int64_t row = 0; row < rows; ++row) {
      Store(to + row * out_row + n * out_column, Load<Scalar>(sums + row * sums_row + n * kElement));
    }
  }
}

// A vector at a time; the last one reaches back over the one before, where there is one.
template <typename A, typename Widen>
void WidenAll(const char* from, char* to, int64_t count, Widen widen) {
  using Narrow = uint16_t __attribute__((ext_vector_type(A::kLanes)));
  if (count < A::kLanes) {
    Narrow narrow = {};
    __builtin_memcpy(&narrow, from, static_cast<uint64_t>(count) * 2);
    const typename A::Vector wide = widen(narrow);
    __builtin_memcpy(to, &wide, static_cast<uint64_t>(count) * 4);
    return;
  }
  for (int64_t i = 0; i < count; i += A::kLanes) {
    const int64_t first = i + A::kLanes <= count ? i : count - A::kLanes;
    Store(to + first * 4, widen(Load<Narrow>(from + first * 2)));
  }
}

template <typename A>
void WidenBrain(const char* from, char* to, int64_t count) {
  WidenAll<A>(from, to, count, [](auto narrow) {
    using Bits = uint32_t __attribute__((ext_vector_type(A::kLanes)));
    return (typename A::Vector)(__builtin_convertvector(narrow, Bits) << 16);
  });
}

template <typename A>
void WidenHalf(const char* from, char* to, int64_t count) {
  WidenAll<A>(from, to, count, [](auto narrow) {
    using Half = _Float16 __attribute__((ext_vector_type(A::kLanes)));
    return __builtin_convertvector((Half)narrow, typename A::Vector);
  });
}

// In integers, as generated code does: the instruction flushes subnormal numbers.
struct ToBrain {
  template <int64_t kLanes>
  static auto Narrow(const char* from) {
    using Float = float __attribute__((ext_vector_type(kLanes)));
    using Bits = uint32_t __attribute__((ext_vector_type(kLanes)));
    const auto wide = Load<Float>(from);
    const Bits bits = (Bits)wide, high = bits >> 16;
    Bits narrow = (bits + 0x7fffu + (high & 1u)) >> 16;
    const Bits is_nan = (Bits)(wide != wide);
    if (__builtin_reduce_or(is_nan) != 0u) [[unlikely]]
      narrow = is_nan != 0u ? high | 0x40u : narrow;
    return __builtin_convertvector(narrow, uint16_t __attribute__((ext_vector_type(kLanes))));
  }
};

struct ToHalf {
  template <int64_t kLanes>
  static auto Narrow(const char* from) {
    return __builtin_convertvector(Load<float __attribute__((ext_vector_type(kLanes)))>(from),
                                   _Float16 __attribute__((ext_vector_type(kLanes))));
  }
};

// Two vectors at a time where there are as many, which one of narrow elements holds.
template <typename A, typename To>
void NarrowAll(const char* sums, char* to, int64_t sums_row, int64_t out_row, int64_t out_column, int64_t rows,
               int64_t columns) {
  constexpr int64_t kLanes = A::kLanes, kWide = sizeof(float), kNarrow = sizeof(uint16_t);
  for (int64_t row = 0; row < rows; ++row, sums += sums_row, to += out_row) {
    int64_t n = 0;
    if (out_column == kNarrow) {
      for (; n + 2 * kLanes <= columns; n += 2 * kLanes) {
        Store(to + n * kNarrow, To::template Narrow<2 * kLanes>(sums + n * kWide));
      }
      for (; n + kLanes <= columns; n += kLanes) Store(to + n * kNarrow, To::template Narrow<kLanes>(sums + n * kWide));
    }
    for (; n < columns; n += kLanes) {
      const int64_t count = columns - n < kLanes ? columns - n : kLanes;
      typename A::Vector wide = {};
      __builtin_memcpy(&wide, sums + n * kWide, static_cast<uint64_t>(count * kWide));
      const auto narrow = To::template Narrow<kLanes>(reinterpret_cast<const char*>(&wide));
      for (int64_t lane = 0; lane < count; ++lane) {
        __builtin_memcpy(to + (n + lane) * out_column, reinterpret_cast<const char*>(&narrow) + lane * kNarrow,
                         kNarrow);
      }
    }
  }
}

// Adds 128 to signed bytes, which makes them unsigned ones. A vector at a time; the last one is cut.
inline void FlipSigns(const char* from, char* to, int64_t bytes) {
  using Bytes = uint8_t __attribute__((ext_vector_type(64)));
  for (; bytes >= 64; from += 64, to += 64, bytes -= 64) Store(to, Load<Bytes>(from) ^ uint8_t{0x80});
  Bytes rest = {};
  __builtin_memcpy(&rest, from, static_cast<uint64_t>(bytes));
  rest ^= uint8_t{0x80};
  __builtin_memcpy(to, &rest, static_cast<uint64_t>(bytes));
}

template <typename A>
constexpr GemmKernels MakeGemmKernels() {
  GemmKernels kernels;
  kernels.lanes = A::kLanes;
  kernels.depth = A::kDepth;
  kernels.sum_bytes = A::kSumBytes;
  kernels.lhs_bytes = A::kParts * A::kSumBytes;
  kernels.has_offsets = A::kOffset;
  kernels.take_row = A::kTakeRow;
  FillTiles<A, 1>(kernels);
  FillTiles<A, 2>(kernels);
  FillTiles<A, 3>(kernels);
  FillTiles<A, 4>(kernels);
  kernels.pack_rows = &PackRows<A>;
  kernels.pack_columns = &PackColumns<A>;
  kernels.store_columns = &StoreColumns<A>;
  if constexpr (std::is_same_v<typename A::Element, float>) {
    kernels.widen[static_cast<int>(GemmWidening::kBrain)] = &WidenBrain<A>;
    kernels.widen[static_cast<int>(GemmWidening::kHalf)] = &WidenHalf<A>;
    kernels.narrow[static_cast<int>(GemmWidening::kBrain)] = &NarrowAll<A, ToBrain>;
    kernels.narrow[static_cast<int>(GemmWidening::kHalf)] = &NarrowAll<A, ToHalf>;
  }
  return kernels;
}

template <typename A>
constexpr GemmKernels kGemmKernels = MakeGemmKernels<A>();
template <typename A>
constexpr const GemmKernels* kGemmKernelsOrNull = &kGemmKernels<A>;
template <>
constexpr const GemmKernels* kGemmKernelsOrNull<void> = nullptr;

// Of the arithmetic of each kind, as GemmKernelKind counts them, void where there is none; null of those behind.
template <typename... A>
const GemmKernels* GemmKernelsOf(GemmKernelKind kind) {
  static constexpr const GemmKernels* kKernels[] = {kGemmKernelsOrNull<A>...};
  return static_cast<int64_t>(kind) < int64_t{sizeof...(A)} ? kKernels[static_cast<int64_t>(kind)] : nullptr;
}

// Products of elements as they are.
template <typename T, int kBytes, int kRegisterCount>
struct PlainArithmetic {
  using Element = T;
  using Scalar = T;
  static constexpr int64_t kLanes = kBytes / sizeof(T);
  using Vector = T __attribute__((ext_vector_type(kBytes / sizeof(T))));
  using Sum = Vector;
  static constexpr int64_t kDepth = 1;
  static constexpr int64_t kSumBytes = sizeof(T);
  static constexpr bool kOffset = false;
  static constexpr GemmTakeRow* kTakeRow = nullptr;
  static constexpr int kRegisters = kRegisterCount, kParts = 1;
  static Vector Broadcast(T x) { return static_cast<Vector>(x); }
  // Wider vectors are computed in halves, or halves are as fast.
  static constexpr bool kHasHalves = kBytes == 64;
  template <typename V>
  static V MultiplyAdd(V x, V y, V sum) {
    return __builtin_elementwise_fma(x, y, sum);
  }
  using Stored = Vector;
  static Vector Many(Stored x) { return x; }
  static Vector Few(Stored y) { return y; }
  static void StoreCut(char* to, Sum total, int64_t count, bool resume) {
    Sum before = {};
    const auto bytes = static_cast<uint64_t>(count) * sizeof(T);
    if (resume) __builtin_memcpy(&before, to, bytes);
    total += before;
    __builtin_memcpy(to, &total, bytes);
  }
};

// Pairs of bf16, or four bytes, as lanes of 32 bits: how they are packed.
template <typename T, typename SumScalar, int kBytes, int kRegisterCount>
struct GroupArithmetic {
  using Element = T;
  using Scalar = uint32_t;
  using Vector = uint32_t __attribute__((ext_vector_type(kBytes / 4)));
  using Sum = SumScalar __attribute__((ext_vector_type(kBytes / 4)));
  static constexpr int64_t kLanes = kBytes / 4;
  static constexpr int64_t kDepth = 4 / sizeof(T);
  static constexpr int64_t kSumBytes = 4;
  static constexpr bool kOffset = false;
  static constexpr GemmTakeRow* kTakeRow = nullptr;
  static constexpr bool kHasHalves = false;
  static constexpr int kRegisters = kRegisterCount, kParts = 1;
  static Vector Broadcast(uint32_t x) { return static_cast<Vector>(x); }
  using Stored = Vector;
  static Vector Many(Stored x) { return x; }
  static Vector Few(Stored y) { return y; }
  static void StoreCut(char* to, Sum total, int64_t count, bool resume) {
    PlainArithmetic<SumScalar, kBytes, kRegisterCount>::StoreCut(to, total, count, resume);
  }
};

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_KERNELS_TEMPLATE_H_
