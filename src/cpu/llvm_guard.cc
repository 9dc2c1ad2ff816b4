#include "src/cpu/llvm_guard.h"

#include <setjmp.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "src/base/catch_exceptions.h"

namespace kiln::cpu {
namespace {

// Where a fatal error on this thread continues.
struct FatalTarget {
  jmp_buf buffer;
  char message[512];
};
thread_local FatalTarget* fatal_target = nullptr;

void OnFatalError(void*, const char* reason, bool) {
  FatalTarget* target = fatal_target;
  if (target == nullptr) return;  // Not in a guarded stretch: LLVM exits, as it does without a handler.
  std::snprintf(target->message, sizeof(target->message), "%s", reason);
  fatal_target = nullptr;
  longjmp(target->buffer, 1);
}

// Errors are kept, everything else (remarks, warnings) is dropped.
class KeepErrors : public llvm::DiagnosticHandler {
 public:
  explicit KeepErrors(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error && errors_->empty()) {
      llvm::raw_string_ostream stream(*errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

 private:
  std::string* errors_;
};

}  // namespace

absl::Status InitializeLlvm() {
  static const bool ready = [] {
    if (llvm::InitializeNativeTarget() || llvm::InitializeNativeTargetAsmPrinter()) return false;
    llvm::install_fatal_error_handler(OnFatalError, nullptr);
    return true;
  }();
  if (!ready) return Unimplemented("This build has no LLVM code generator for the host's processor.");
  return absl::OkStatus();
}

absl::Status GuardLlvm(const std::function<absl::Status()>& work, bool* fatal) {
  // On the heap, so that its content is defined after the jump.
  const auto target = std::make_unique<FatalTarget>();
  bool returned = false;
  if (setjmp(target->buffer) == 0) {
    fatal_target = target.get();
    const absl::Status status = CatchExceptions([&] {
      absl::Status status = work();
      returned = true;
      return status;
    });
    fatal_target = nullptr;
    // LLVM is not made for exceptions to pass through.
    if (fatal != nullptr) *fatal = !returned;
    return status;
  }
  if (fatal != nullptr) *fatal = true;
  return Internal("LLVM could not compile the generated code: ", target->message);
}

DiagnosticScope::DiagnosticScope(llvm::LLVMContext& context) {
  context.setDiagnosticHandler(std::make_unique<KeepErrors>(&errors_));
}

absl::Status DiagnosticScope::status() const {
  return errors_.empty() ? absl::OkStatus() : Internal("LLVM refused the generated code: ", errors_);
}

}  // namespace kiln::cpu
