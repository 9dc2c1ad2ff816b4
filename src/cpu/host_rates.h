// What this machine does at best, measured.
#ifndef KILN_CPU_HOST_RATES_H_
#define KILN_CPU_HOST_RATES_H_

#include "src/analysis/cost_analysis.h"

namespace kiln::cpu {

// Rates of `threads` cores: arithmetic from vector width and clock, memory from a copy of arrays that no cache holds.
// Measured once per process, in some milliseconds. Thread-safe.
analysis::MachineRates HostRates(int threads);

}  // namespace kiln::cpu

#endif  // KILN_CPU_HOST_RATES_H_
