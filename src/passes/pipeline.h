// The compiler's list of passes, and what runs such a list: timing, printing, leaving out, verifying.
#ifndef KILN_PASSES_PIPELINE_H_
#define KILN_PASSES_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/passes/pass.h"

namespace kiln::passes {

using PassList = std::vector<std::unique_ptr<Pass>>;

// Passes that are repeated, in order, until a whole round changes nothing or `max_rounds` are over. RunPipeline skips a
// pass that left the module alone and has seen every change since, so the last round costs little.
class FixedPoint : public Pass {
 public:
  FixedPoint(std::string name, PassList passes, int max_rounds)
      : name_(std::move(name)), passes_(std::move(passes)), max_rounds_(max_rounds) {}
  absl::string_view name() const override { return name_; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
  const PassList& passes() const { return passes_; }
  int max_rounds() const { return max_rounds_; }

 private:
  std::string name_;
  PassList passes_;
  int max_rounds_;
};

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
  std::function<void(absl::string_view group, const Pass& pass, const hlo::Module& module)> before_pass;
  // Called after every run of every pass, with whether it changed the module.
  std::function<void(const Pass& pass, const hlo::Module& module, bool changed)> after_pass;
  // Verifies the module after every pass that changed it, so that an error names the pass.
#ifdef NDEBUG
  bool verify_each_pass = false;
#else
  bool verify_each_pass = true;
#endif
};

// Runs `passes` over `module`. On error the module is unusable; the message starts with the pass. `timings` may be
// null. The result is verified.
absl::Status RunPipeline(hlo::Module* module, const PassList& passes, const PipelineOptions& options = {},
                         std::vector<PassTiming>* timings = nullptr);

// A table for people: one row per pass, slowest first, and the total.
std::string FormatTimings(const std::vector<PassTiming>& timings);

// Everything between a verified module and code generation: the module leaves it fused, row-major and scheduled.
// `fast_math` lets the simplifier treat floats as real numbers.
PassList CpuPipeline(bool fast_math = false);
PassList GpuPipeline(bool fast_math = false);

// A pass by its name, or null. Group names of CpuPipeline are not passes.
std::unique_ptr<Pass> CreatePass(absl::string_view name);
// All names CreatePass knows, in pipeline order.
std::vector<std::string> PassNames();

}  // namespace kiln::passes

#endif  // KILN_PASSES_PIPELINE_H_
