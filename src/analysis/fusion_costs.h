// What deciding on fusions needs to know of a target, in one table.
#ifndef KILN_ANALYSIS_FUSION_COSTS_H_
#define KILN_ANALYSIS_FUSION_COSTS_H_

#include "src/hlo/instruction.h"

namespace kiln::analysis {

struct FusionCosts {
  double launch_nanoseconds;    // of a kernel, beside its work
  double bytes_per_nanosecond;  // arrays that fit no cache
  double cached_bytes_per_nanosecond;
  double elements_per_nanosecond;  // of one cheap operation on f32
};

// On CPUs one core's part of what benchmarks/cpp/fusion_costs_bench measured on a Zen 5 server with vectors of 64 bytes
// while all cores were at it. On GPUs an estimate for a whole one of the H200 kind (a launch in a stream, copies,
// additions): nothing has been measured there.
inline constexpr FusionCosts kCpuFusionCosts = {7, 18, 72, 35};
inline constexpr FusionCosts kGpuFusionCosts = {2500, 4000, 9000, 30000};

// Time to read or write that much.
double TrafficNanoseconds(const FusionCosts& costs, double bytes);

// Time to evaluate `instruction` on `elements` elements whose operands are at hand.
double EvaluationNanoseconds(const FusionCosts& costs, const hlo::Instruction& instruction, double elements);

// Whether to evaluate `evaluations` elements of `producer`, more than it has, where they are needed, rather than to
// store it once and read it there: what that costs in operations and reads of operands against a kernel, a write and
// the reads.
bool IsWorthRepeating(const FusionCosts& costs, const hlo::Instruction& producer, double evaluations);

// Whether two kernels over the same iterations should be one when that saves moving `saved_bytes`: what is saved must
// be worth more than the longer body costs to compile and to keep in registers.
bool IsWorthMerging(const FusionCosts& costs, double saved_bytes);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_FUSION_COSTS_H_
