#include "src/kernel/iterations.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace kiln::kernel {

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t Product(const Kernel& kernel, int64_t iterations, const std::vector<int>& loops) {
  for (int loop : loops) {
    if (__builtin_mul_overflow(iterations, kernel.loops[loop].extent, &iterations)) return kMost;
  }
  return iterations;
}

}  // namespace

int64_t Iterations(const Kernel& kernel) {
  int64_t most = 0;
  for (const Nest& nest : kernel.nests) {
    const int64_t outside = Product(kernel, 1, nest.loops);
    most = std::max(most, outside);
    for (const Reduce& reduce : kernel.reduces) most = std::max(most, Product(kernel, outside, reduce.loops));
  }
  return most;
}

bool HasFewElements(const Kernel& kernel) {
  // Two vectors of f32, whose sums may be of some vectors each.
  constexpr int64_t kFew = 32, kFewSummed = 512;
  for (const Nest& nest : kernel.nests) {
    if (Product(kernel, 1, nest.loops) > kFew) return false;
  }
  return Iterations(kernel) <= kFewSummed;
}

}  // namespace kiln::kernel
