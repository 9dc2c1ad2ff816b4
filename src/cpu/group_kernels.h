// Micro-kernels of convolutions of groups of few channels (group_product.h), compiled with Kiln once for each vector
// width.
#ifndef KILN_CPU_GROUP_KERNELS_H_
#define KILN_CPU_GROUP_KERNELS_H_

#include <cstdint>

namespace kiln::cpu {

// What the sums of a tile are made of, in bytes: `count` taps of three dimensions.
struct GroupTaps {
  int64_t count[3], x[3], w[3];
  int64_t w_step;      // between the weights of a group's inputs
  int64_t x_place;     // between neighbouring places of the result
  int64_t sums_place;  // the same in `sums`
};

// sums[place] = the sum over taps and inputs of a group, for so many vectors of channels. Kernels that are not for
// whole tiles store `count` places, and take for tap t of the last dimension those whose bit is set in valid[t].
using GroupKernel = void(const char* x, const char* w, char* sums, const GroupTaps& taps, const uint8_t* valid,
                         int64_t count);

struct GroupKernels {
  static constexpr int kSizes = 5;  // of groups: 1, 2, 4, 8, 16
  static constexpr int kVectors = 2;
  struct OfSize {
    // For 1 and 2 vectors; `few` for half as many places.
    GroupKernel *whole[kVectors] = {}, *any[kVectors] = {}, *few[kVectors] = {};
  };
  int64_t lanes = 0;   // of f32, the largest group
  int64_t places = 0;  // of a tile
  OfSize groups[kSizes] = {};
};

// Those for vectors of 64, 32 and 16 bytes (AVX-512, AVX2, NEON); null where this build has none.
const GroupKernels* GroupKernels512();
const GroupKernels* GroupKernels256();
const GroupKernels* GroupKernels128();
// The host's, or null.
const GroupKernels* FindGroupKernels();

}  // namespace kiln::cpu

#endif  // KILN_CPU_GROUP_KERNELS_H_
