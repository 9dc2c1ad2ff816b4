// What a program costs, kernel by kernel, and what compiling it as a whole is worth.
#ifndef KILN_TOOLS_EXPLAIN_H_
#define KILN_TOOLS_EXPLAIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cpu/executable.h"
#include "src/hlo/module.h"

namespace kiln::tools {

struct KernelRow {
  std::string name;
  std::string kind;  // "loop fusion", "matrix product", "sort", ...
  double runs = 1;   // in one run of the program, as far as trip counts are known
  bool runs_are_known = true;
  // Of one run of the kernel.
  double flops = 0, transcendentals = 0, bytes = 0;
  double saved_bytes = 0;  // that its ops would move more, each as a kernel of its own
  int64_t ops = 1;         // that it fuses
  double predicted_seconds = 0;
  double measured_seconds = -1;  // below 0: it could not be run alone
};

struct Explanation {
  std::string module;
  std::vector<KernelRow> kernels;  // in the order of the program
  double measured_seconds = 0;     // of the whole program
  double predicted_seconds = 0;
  int64_t argument_bytes = 0, result_bytes = 0, arena_bytes = 0, total_bytes = 0;
  // The program as it came, an op at a time, each compiled alone and given memory of its own.
  bool has_op_by_op = false;
  int64_t ops = 0, ops_not_measured = 0;
  double op_by_op_seconds = 0;
  int64_t op_by_op_bytes = 0;
};

struct ExplainOptions {
  cpu::CompileOptions compile;
  bool op_by_op = true;
  double seconds_per_kernel = 0.02;
  double seconds_for_program = 1;
};

// Called with what is measured next and how far the work is.
using ExplainProgress = std::function<void(const std::string& what, int64_t done, int64_t all)>;

absl::StatusOr<Explanation> Explain(std::unique_ptr<hlo::Module> module, const ExplainOptions& options,
                                    const ExplainProgress& progress);

// A table for people, and JSON.
std::string ToTable(const Explanation& explanation);
std::string ToJson(const Explanation& explanation);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_EXPLAIN_H_
