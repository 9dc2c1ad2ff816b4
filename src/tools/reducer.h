// Delta debugging of programs.
#ifndef KILN_TOOLS_REDUCER_H_
#define KILN_TOOLS_REDUCER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "src/hlo/module.h"

namespace kiln::tools {

struct ReduceCounts {
  int64_t checks = 0;
  int64_t instructions = 0;  // Of the smallest program so far, and
  int64_t elements = 0;      // of all its arrays.
};

// Makes `module` smaller while `fails` says that a program still has the fault: drops outputs, replaces instructions by
// operands, constants or new parameters, takes callees apart, drops parameters and what nothing needs, simplifies
// constants and shrinks dimensions, until nothing
// smaller fails or `max_checks` are used. Candidates are verified programs. `progress` is called after every check.
// INVALID_ARGUMENT when `module` itself does not fail.
absl::StatusOr<std::unique_ptr<hlo::Module>> Reduce(
    std::unique_ptr<hlo::Module> module, int64_t max_checks,
    const std::function<absl::StatusOr<bool>(const hlo::Module&)>& fails,
    const std::function<void(const ReduceCounts&)>& progress);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_REDUCER_H_
