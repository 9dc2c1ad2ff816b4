// The kernels of group_kernels.h for one vector width. Included by files that are compiled for one instruction set
// each, as gemm_kernels_template.h is.
#ifndef KILN_CPU_GROUP_KERNELS_TEMPLATE_H_
#define KILN_CPU_GROUP_KERNELS_TEMPLATE_H_

#include <utility>

#include "src/cpu/gemm_kernels_template.h"
#include "src/cpu/group_kernels.h"

namespace kiln::cpu {
namespace {

// In each group of `group` lanes, its lane number `k`.
template <int group, int k, typename V, int... i>
V LaneOfGroup(V x, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(x, x, (i / group * group + k)...);
}

// Adds the products of one tap, for input `k` of each group and those behind it. Places whose bit of `valid` is not set
// meet zeros.
template <typename A, int kGroup, int kPlaces, int kVectors, int k = 0>
[[gnu::always_inline]] inline void AddTap(const char* const (&x)[kPlaces], const char* w, int64_t w_step,
                                          typename A::Sum (&sum)[kPlaces][kVectors]) {
  using Vector = typename A::Vector;
  Vector y[kVectors];
  for (int v = 0; v < kVectors; ++v) y[v] = Load<Vector>(w + v * static_cast<int>(sizeof(Vector)));
#pragma clang loop unroll(full)
  for (int place = 0; place < kPlaces; ++place) {
    for (int v = 0; v < kVectors; ++v) {
      const char* from = x[place] + v * static_cast<int>(sizeof(Vector));
      Vector own;
      if constexpr (kGroup == A::kLanes && sizeof(Vector) < 64) {
        // One element for all lanes: products take it from memory. Wider ones took 1.2 times as long (Zen 4).
        own = A::Broadcast(Load<typename A::Scalar>(from + k * static_cast<int>(sizeof(typename A::Scalar))));
      } else {
        own = LaneOfGroup<kGroup, k>(Load<Vector>(from), std::make_integer_sequence<int, A::kLanes>());
      }
      sum[place][v] = A::MultiplyAdd(own, y[v], sum[place][v]);
    }
  }
  if constexpr (k + 1 < kGroup) AddTap<A, kGroup, kPlaces, kVectors, k + 1>(x, w + w_step, w_step, sum);
}

template <typename A, int kGroup, int kPlaces, int kVectors, bool kWhole>
void GroupTile(const char* x, const char* w, char* sums, const GroupTaps& taps, const uint8_t* valid, int64_t count) {
  using Sum = typename A::Sum;
  static constexpr char kZeros[sizeof(Sum) * kVectors] = {};
  Sum sum[kPlaces][kVectors] = {};
  for (int64_t i = 0; i < taps.count[0]; ++i, x += taps.x[0], w += taps.w[0]) {
    const char *x1 = x, *w1 = w;
    for (int64_t j = 0; j < taps.count[1]; ++j, x1 += taps.x[1], w1 += taps.w[1]) {
      const char *x2 = x1, *w2 = w1;
      for (int64_t t = 0; t < taps.count[2]; ++t, x2 += taps.x[2], w2 += taps.w[2]) {
        const char* from[kPlaces];
        for (int place = 0; place < kPlaces; ++place) {
          from[place] = kWhole || (valid[t] >> place & 1) != 0 ? x2 + place * taps.x_place : kZeros;
        }
        AddTap<A, kGroup, kPlaces, kVectors>(from, w2, taps.w_step, sum);
      }
    }
  }
#pragma clang loop unroll(full)
  for (int place = 0; place < kPlaces; ++place, sums += taps.sums_place) {
    if (!kWhole && place >= count) return;
    for (int v = 0; v < kVectors; ++v) Store(sums + v * static_cast<int>(sizeof(Sum)), sum[place][v]);
  }
}

// Groups of half a vector: vectors of a group each, which need no shuffles. As many multiply-adds are done in a cycle.
template <typename A, int kGroup, int kPlaces, int kVectors, bool kWhole>
void GroupTileOfHalves(const char* x, const char* w, char* sums, const GroupTaps& taps, const uint8_t* valid,
                       int64_t count) {
  constexpr int kBytes = sizeof(typename A::Vector);
  using Half = PlainArithmetic<typename A::Scalar, kBytes / 2, A::kRegisters>;
  for (int i = 0; i < kVectors * kBytes; i += kBytes) {
    GroupTile<Half, kGroup, kPlaces, 2, kWhole>(x + i, w + i, sums + i, taps, valid, count);
  }
}

template <typename A, int kGroup, int kPlaces, int kVectors, bool kWhole>
constexpr GroupKernel* GroupKernelOf() {
  constexpr bool kHalves = sizeof(typename A::Vector) == 64 && 2 * kGroup == A::kLanes;
  if constexpr (kHalves) {
    return &GroupTileOfHalves<A, kGroup, kPlaces, kVectors, kWhole>;
  } else {
    return &GroupTile<A, kGroup, kPlaces, kVectors, kWhole>;
  }
}

template <typename A, int kGroup>
constexpr void FillGroupKernels(GroupKernels& kernels) {
  constexpr int kPlaces = A::kRegisters / 4;
  GroupKernels::OfSize& own = kernels.groups[__builtin_ctz(kGroup)];
  own = {{GroupKernelOf<A, kGroup, kPlaces, 1, true>(), GroupKernelOf<A, kGroup, kPlaces, 2, true>()},
         {GroupKernelOf<A, kGroup, kPlaces, 1, false>(), GroupKernelOf<A, kGroup, kPlaces, 2, false>()},
         {GroupKernelOf<A, kGroup, kPlaces / 2, 1, false>(), GroupKernelOf<A, kGroup, kPlaces / 2, 2, false>()}};
  if constexpr (kGroup < A::kLanes) FillGroupKernels<A, 2 * kGroup>(kernels);
}

template <typename A>
constexpr GroupKernels MakeGroupKernels() {
  GroupKernels kernels;
  kernels.lanes = A::kLanes;
  kernels.places = A::kRegisters / 4;
  FillGroupKernels<A, 1>(kernels);
  return kernels;
}

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_GROUP_KERNELS_TEMPLATE_H_
