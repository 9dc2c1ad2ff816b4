#include "benchmarks/cpp/fma_peak.h"

namespace kiln {
namespace {

// Chains enough to hide the latency of a multiply-add on two units, in 16 registers beside two operands.
constexpr int kChains = 12;

// Read anew by each run, so that the compiler does not know them.
volatile float factor = 0.999f, summand = 1e-6f;

// Vectors of `kLanes`; the sum keeps the compiler from dropping them.
template <int kLanes>
[[gnu::always_inline]] inline int64_t Run(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(4 * kLanes)));
  Vector sums[kChains] = {}, x, y;
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = factor, y[lane] = summand;
  for (int64_t round = 0; round < rounds; ++round) {
    for (Vector& sum : sums) sum = sum * x + y;
  }
  float all = 0;
  for (const Vector& sum : sums) all += sum[0];
  asm volatile("" : : "m"(all));
  return rounds * kChains * kLanes;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] int64_t RunAvx512(int64_t rounds) { return Run<16>(rounds); }
[[gnu::target("avx2,fma")]] int64_t RunAvx2(int64_t rounds) { return Run<8>(rounds); }
#endif

}  // namespace

int64_t RunFmas(int64_t rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return RunAvx512(rounds);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return RunAvx2(rounds);
#endif
  return Run<4>(rounds);
}

}  // namespace kiln
