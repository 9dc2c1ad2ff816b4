#include "src/cpu/host_rates.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/base/cpu_tuning.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A chain of dependent additions takes a cycle each.
double MeasureClock() {
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    constexpr int kSteps = 200000;
    uint64_t x = 1;
    const double start = Seconds();
    for (int i = 0; i < kSteps; ++i) {
      x += static_cast<uint64_t>(i) ^ x;  // two operations that depend on each other
      asm volatile("" : "+r"(x));
    }
    best = std::min(best, (Seconds() - start) / (2.0 * kSteps));
  }
  return 1 / best;
}

double MeasureCopy() {
  const size_t bytes = 32 << 20;
  std::vector<char> from(bytes, 1), to(bytes, 2);
  double best = 1e9;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double start = Seconds();
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
    best = std::min(best, Seconds() - start);
  }
  return 2.0 * static_cast<double>(bytes) / best;
}

analysis::MachineRates MeasureOne() {
  analysis::MachineRates rates;
  const double lanes = Host().vector_bytes / 4.0;
  const double clock = std::clamp(MeasureClock(), 0.5e9, 8e9);
  rates.flops_per_second = clock * lanes * (Host().fma ? 4 : 2);  // two vectors per cycle
  rates.transcendentals_per_second = clock * lanes / Tuning().rates.function_cycles;
  rates.bytes_per_second = std::clamp(MeasureCopy(), 1e9, 1e12);
  return rates;
}

}  // namespace

analysis::MachineRates HostRates(int threads) {
  static const analysis::MachineRates* const one = new analysis::MachineRates(MeasureOne());
  analysis::MachineRates rates = *one;
  const double cores = std::max(threads, 1);
  rates.flops_per_second *= cores;
  rates.transcendentals_per_second *= cores;
  rates.bytes_per_second *= std::min(cores, Tuning().rates.memory_cores);
  return rates;
}

}  // namespace kiln::cpu
