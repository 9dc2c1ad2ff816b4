// The compiler's list of passes, and what runs such a list: timing, printing, leaving out, verifying.
#ifndef KILN_PASSES_PIPELINE_H_
#define KILN_PASSES_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// A pass, or several that are repeated. A pass rewrites the module and says whether anything changed; on error the
// module is unusable.
struct Pass {
  absl::string_view name;  // lower case with dashes, of a literal: its flag in `kiln opt --passes=NAME`
  std::function<absl::StatusOr<bool>(hlo::Module*)> run;  // empty in a group
  // Repeated, in order, until a whole round changes nothing or `max_rounds` are over. RunPipeline skips a pass that
  // left the module alone and has seen every change since, so the last round costs little.
  std::vector<Pass> group = {};
  int max_rounds = 0;
};
using PassList = std::vector<Pass>;

// What one pass did over all its runs, in order of first run.
struct PassTiming {
  std::string name;
  double seconds = 0;
  int64_t runs = 0;
  int64_t runs_with_changes = 0;
  int64_t instruction_delta = 0;  // instructions after minus before, summed over runs
};

struct PipelineOptions {
  // Passes (or fixed-point groups) to leave out, by name. An unknown name is an error.
  std::vector<std::string> disabled_passes;
  // Called before every run of every pass; `group` is the fixed-point group that it runs in, or empty.
  std::function<void(absl::string_view group, const Pass& pass, const Module& module)> before_pass;
  // Called after every run of every pass, with whether it changed the module.
  std::function<void(const Pass& pass, const Module& module, bool changed)> after_pass;
  // Verifies the module after every pass that changed it, so that an error names the pass.
#ifdef NDEBUG
  bool verify_each_pass = false;
#else
  bool verify_each_pass = true;
#endif
};

// Runs `passes` over `module`. On error the module is unusable; the message starts with the pass. `timings` may be
// null. The result is verified.
absl::Status RunPipeline(Module* module, const PassList& passes, const PipelineOptions& options = {},
                         std::vector<PassTiming>* timings = nullptr);

// A table for people: one row per pass, slowest first, and the total.
std::string FormatTimings(const std::vector<PassTiming>& timings);

// Everything between a verified module and code generation: the module leaves it fused, row-major and scheduled.
// `fast_math` lets the simplifier treat floats as real numbers.
PassList CpuPipeline(bool fast_math = false);
PassList GpuPipeline(bool fast_math = false);

// A pass by its name, or null; it lives as long as the process. Names of groups are none.
const Pass* FindPass(absl::string_view name);
// All names that FindPass knows, in pipeline order.
std::vector<std::string> PassNames();
// `rematerialization` under a limit of bytes.
Pass RematerializationUnder(int64_t limit_bytes);

}  // namespace kiln::passes

#endif  // KILN_PASSES_PIPELINE_H_
