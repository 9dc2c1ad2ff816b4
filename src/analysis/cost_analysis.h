// What instructions cost by count: floating-point and other arithmetic, transcendental functions, bytes moved.
#ifndef KILN_ANALYSIS_COST_ANALYSIS_H_
#define KILN_ANALYSIS_COST_ANALYSIS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "src/hlo/module.h"

namespace kiln::analysis {

// Counts as XLA's HloCostAnalysis defines them: an operation per element, two per multiply-add, complex ones as one;
// places of a convolution's window that lie in padding are left out. Bytes are those of operands and results, of slices
// the part that is touched.
struct Cost {
  double flops = 0;
  double transcendentals = 0;
  double bytes = 0;
  std::vector<double> operand_bytes;
  std::vector<double> operand_utilization;  // part of each operand that is read
  double output_bytes = 0;
  std::vector<double> leaf_bytes;  // of tuples
  // max(flops, transcendentals, bytes over their rates), summed over instructions.
  double optimal_seconds = 0;

  // What `times` runs of `other` add.
  void Add(const Cost& other, double times = 1);
  // The larger of each count.
  void Max(const Cost& other);
};

// What a machine does at best, for predictions.
struct MachineRates {
  double flops_per_second = 50e9;
  double transcendentals_per_second = 2e9;
  double bytes_per_second = 15e9;
  double seconds_per_launch = 0.2e-6;  // what a kernel takes however small it is

  double Seconds(double flops, double transcendentals, double bytes) const;
};

// Costs of the instructions of a module, whatever passes have run. Results are kept, so that asking is linear in all;
// what was returned stays where it is.
class CostAnalysis {
 public:
  explicit CostAnalysis(MachineRates rates = {}) : rates_(rates) {}

  // One run of an instruction with all that it calls: fusions as one kernel, loops all their rounds (one where they are
  // not known), the dearest branch.
  const Cost& Of(const hlo::Instruction& instruction);
  // All instructions of a computation.
  const Cost& Of(const hlo::Computation& computation);
  const MachineRates& rates() const { return rates_; }

 private:
  Cost Compute(const hlo::Instruction& instruction);

  const MachineRates rates_;
  absl::node_hash_map<const hlo::Instruction*, Cost> instructions_;
  absl::node_hash_map<const hlo::Computation*, Cost> computations_;
};

// Names and values as JAX shows them: "flops", "bytes accessed", "bytes accessed0{}", "bytes accessedout{}",
// "utilization0{}", "optimal_seconds", ... Counts that are zero are left out, but for flops and bytes accessed.
std::vector<std::pair<std::string, double>> CostProperties(const Cost& cost);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_COST_ANALYSIS_H_
