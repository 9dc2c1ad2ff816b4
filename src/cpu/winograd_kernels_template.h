// The kernels of winograd_kernels.h for one vector width. Included by files that are compiled for one instruction set
// each, as gemm_kernels_template.h is.
#ifndef KILN_CPU_WINOGRAD_KERNELS_TEMPLATE_H_
#define KILN_CPU_WINOGRAD_KERNELS_TEMPLATE_H_

#include "src/cpu/gemm_kernels_template.h"
#include "src/cpu/winograd_kernels.h"

namespace kiln::cpu {
namespace {

// The three matrices, each for one dimension: of weights, of inputs and of sums of products.
template <typename V>
[[gnu::always_inline]] inline void TransformWeights(V a, V b, V c, V (&to)[4]) {
  const V half = 0.5f * (a + c), middle = 0.5f * b;
  to[0] = a, to[1] = half + middle, to[2] = half - middle, to[3] = c;
}

template <typename V>
[[gnu::always_inline]] inline void TransformInputs(V a, V b, V c, V d, V (&to)[4]) {
  to[0] = a - c, to[1] = b + c, to[2] = c - b, to[3] = b - d;
}

template <typename V>
[[gnu::always_inline]] inline void TransformSums(V a, V b, V c, V d, V (&to)[2]) {
  to[0] = a + b + c, to[1] = b - c - d;
}

template <typename A>
void WinogradWeights(const char* from, char* to, const WinogradWeightStrides& strides, int64_t channels,
                     int64_t features) {
  using Vector = typename A::Vector;
  for (int64_t channel = 0; channel < channels; ++channel, from += strides.from_channel, to += strides.to_channel) {
    for (int64_t at = 0; at < features * static_cast<int64_t>(sizeof(float)); at += sizeof(Vector)) {
      Vector columns[3][4];
      for (int j = 0; j < 3; ++j) {
        const char* tap = from + at + j * strides.from_column;
        TransformWeights(Load<Vector>(tap), Load<Vector>(tap + strides.from_row),
                         Load<Vector>(tap + 2 * strides.from_row), columns[j]);
      }
      for (int i = 0; i < 4; ++i) {
        Vector row[4];
        TransformWeights(columns[0][i], columns[1][i], columns[2][i], row);
        for (int j = 0; j < 4; ++j) Store(to + at + (4 * i + j) * strides.to_element, row[j]);
      }
    }
  }
}

template <typename Vector>
[[gnu::always_inline]] inline void StoreInputs(const Vector (&x)[4][4], char* to, int64_t to_element) {
  Vector columns[4][4];
  for (int j = 0; j < 4; ++j) TransformInputs(x[0][j], x[1][j], x[2][j], x[3][j], columns[j]);
  for (int i = 0; i < 4; ++i) {
    Vector row[4];
    TransformInputs(columns[0][i], columns[1][i], columns[2][i], columns[3][i], row);
    for (int j = 0; j < 4; ++j) Store(to + (4 * i + j) * to_element, row[j]);
  }
}

template <typename A>
void WinogradWholeInputs(const char* const* rows, int64_t column, char* to, int64_t to_element, int64_t bytes) {
  using Vector = typename A::Vector;
  const char *first = rows[0], *second = rows[1], *third = rows[2], *fourth = rows[3];
  for (int64_t at = 0; at < bytes; at += sizeof(Vector)) {
    Vector x[4][4];
    for (int j = 0; j < 4; ++j) {
      x[0][j] = Load<Vector>(first + at + j * column);
      x[1][j] = Load<Vector>(second + at + j * column);
      x[2][j] = Load<Vector>(third + at + j * column);
      x[3][j] = Load<Vector>(fourth + at + j * column);
    }
    StoreInputs(x, to + at, to_element);
  }
}

template <typename A>
void WinogradInputs(const char* const* from, char* to, int64_t to_element, int64_t bytes) {
  using Vector = typename A::Vector;
  for (int64_t at = 0; at < bytes; at += sizeof(Vector)) {
    Vector x[4][4];
    for (int i = 0; i < kWinogradElements; ++i) x[i / 4][i % 4] = Load<Vector>(from[i] + at);
    StoreInputs(x, to + at, to_element);
  }
}

template <typename A>
bool WinogradResults(const char* from, int64_t from_element, char* const* to, int64_t bytes) {
  using Vector = typename A::Vector;
  Vector zeros = {};  // NaN once a result was not finite
  for (int64_t at = 0; at < bytes; at += sizeof(Vector)) {
    Vector columns[4][2];
    for (int j = 0; j < 4; ++j) {
      const char* sum = from + at + j * from_element;
      TransformSums(Load<Vector>(sum), Load<Vector>(sum + 4 * from_element), Load<Vector>(sum + 8 * from_element),
                    Load<Vector>(sum + 12 * from_element), columns[j]);
    }
    for (int i = 0; i < 2; ++i) {
      Vector row[2];
      TransformSums(columns[0][i], columns[1][i], columns[2][i], columns[3][i], row);
      for (int j = 0; j < 2; ++j) {
        zeros = A::MultiplyAdd(row[j], Vector{}, zeros);
        Store(to[2 * i + j] + at, row[j]);
      }
    }
  }
  bool finite = true;
  for (int64_t lane = 0; lane < A::kLanes; ++lane) finite &= zeros[lane] == 0;
  return finite;
}

template <typename A>
constexpr WinogradKernels MakeWinogradKernels() {
  return {A::kLanes, &WinogradWeights<A>, &WinogradWholeInputs<A>, &WinogradInputs<A>, &WinogradResults<A>};
}

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_WINOGRAD_KERNELS_TEMPLATE_H_
