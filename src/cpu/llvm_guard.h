// Keeps LLVM's ways of ending the process (fatal errors, error diagnostics) from reaching the host.
#ifndef KILN_CPU_LLVM_GUARD_H_
#define KILN_CPU_LLVM_GUARD_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace llvm {
class LLVMContext;
}  // namespace llvm

namespace kiln::cpu {

// Initializes the native target and the fatal-error handler; cheap after the first call. Thread-safe.
absl::Status InitializeLlvm();

// Runs `work`; a fatal error that LLVM reports on this thread meanwhile ends it at that point and comes back as
// INTERNAL. Destructors between the two are skipped, so LLVM objects that `work` touched must then be leaked: their
// state is unknown. `fatal`, when not null, tells that this happened. Calls may not nest.
absl::Status GuardLlvm(const std::function<absl::Status()>& work, bool* fatal);

// Gathers the error diagnostics of a context, which LLVM would otherwise print before it exits. Must outlive every
// later use of the context that may diagnose something.
class DiagnosticScope {
 public:
  explicit DiagnosticScope(llvm::LLVMContext& context);
  // INTERNAL with the first error, or OK.
  absl::Status status() const;

 private:
  std::string errors_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_LLVM_GUARD_H_
