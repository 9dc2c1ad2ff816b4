// Compiled programs against the evaluator, with everything around their buffers watched.
#ifndef KILN_TESTS_CPU_DIFFERENTIAL_H_
#define KILN_TESTS_CPU_DIFFERENTIAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "src/cpu/executable.h"
#include "src/hlo/literal.h"
#include "src/hlo/module.h"
#include "tests/cpu/program_writer.h"

namespace kiln::testing {

hlo::Literal MakeArgument(const hlo::Shape& shape, const Data& data, Random* random);

// The first differences of two arrays in words; empty when within `tolerance`. Any NaN equals any other.
std::string Difference(const hlo::Literal& actual, const hlo::Literal& expected, const Tolerance& tolerance);

// One program compiled. Each Run gives every leaf its own guarded memory: arguments as little aligned as they may be,
// results and arena full of garbage. Errors name bytes written outside, arguments changed, and results that differ.
class CompiledProgram {
 public:
  // `module` is compiled; null on error.
  static absl::StatusOr<std::unique_ptr<CompiledProgram>> Compile(std::unique_ptr<hlo::Module> module,
                                                                  const cpu::CompileOptions& options);

  // Runs with `arguments` (leaves in pre-order) and gives the leaves of the result. `donate`: aliased results take over
  // their argument's memory.
  absl::StatusOr<std::vector<hlo::Literal>> Run(const std::vector<hlo::Literal>& arguments, bool donate, int threads,
                                                Random* random) const;

  const cpu::Executable& executable() const { return *executable_; }

 private:
  std::unique_ptr<cpu::Executable> executable_;
};

struct CheckOptions {
  bool fused = true;
  bool donate = false;
  int threads = 1;
};

// Compiles and runs `program` over arguments made from `seed`, twice in the same arena, and compares with the evaluator.
// Unimplemented programs give that status.
absl::Status Check(const Program& program, uint64_t seed, const CheckOptions& options);

// The same for a module with leaf-wise data and one tolerance per leaf.
absl::Status CheckModule(std::unique_ptr<hlo::Module> module, const std::vector<Data>& data,
                         const std::vector<Tolerance>& tolerances, uint64_t seed, const CheckOptions& options);

}  // namespace kiln::testing

#endif  // KILN_TESTS_CPU_DIFFERENTIAL_H_
