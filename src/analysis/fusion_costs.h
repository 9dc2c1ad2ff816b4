// What deciding on fusions makes of the costs of a target.
#ifndef KILN_ANALYSIS_FUSION_COSTS_H_
#define KILN_ANALYSIS_FUSION_COSTS_H_

#include "absl/types/span.h"
#include "src/base/cpu_tuning.h"
#include "src/hlo/instruction.h"

namespace kiln::analysis {

using kiln::FusionCosts;

// An estimate for a whole GPU of the H200 kind (a launch in a stream, copies, additions): nothing has been measured
// there. CPUs: Tuning().fusion.
inline constexpr FusionCosts kGpuFusionCosts = {1 << 20, 16, 4, 2500, 4000, 9000, 30000};

// Time to read or write that much.
double TrafficNanoseconds(const FusionCosts& costs, double bytes);

// Time to evaluate `instruction` on `elements` elements whose operands are at hand.
double EvaluationNanoseconds(const FusionCosts& costs, const hlo::Instruction& instruction, double elements);

// Whether to evaluate `evaluations` elements of `producer`, more than it has, where they are needed, rather than to
// store it once and read it there: what that costs in operations and reads of operands against a kernel, a write and
// the reads. For `reads[i]` of them operand i is read for this alone; `steps` is how many cheap operations make
// operands for this alone.
bool IsWorthRepeating(const FusionCosts& costs, const hlo::Instruction& producer, double evaluations,
                      absl::Span<const double> reads, double steps);

// Whether two kernels over the same iterations should be one when that saves moving `saved_bytes`: what is saved must
// be worth more than the longer body costs to compile and to keep in registers.
bool IsWorthMerging(const FusionCosts& costs, double saved_bytes);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_FUSION_COSTS_H_
