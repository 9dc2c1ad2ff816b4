#include "src/gpu/ptx.h"

#include <memory>
#include <mutex>
#include <utility>

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "src/base/status.h"
#include "src/gpu/llvm_pipeline.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace kiln::gpu {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";

const llvm::Target* NvptxTarget(std::string* error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(kTriple, *error);
}

// Keeps the first error instead of ending the process, which LLVM's own handler does.
class ErrorCollector : public llvm::DiagnosticHandler {
 public:
  explicit ErrorCollector(std::string* message) : message_(message) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || !message_->empty()) return true;
    llvm::raw_string_ostream stream(*message_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string* message_;
};

// Puts the context's handler back on leaving the scope.
class ScopedHandler {
 public:
  ScopedHandler(llvm::LLVMContext& context, std::string* message) : context_(context) {
    previous_ = context.getDiagnosticHandler();
    context.setDiagnosticHandler(std::make_unique<ErrorCollector>(message));
  }
  ~ScopedHandler() { context_.setDiagnosticHandler(std::move(previous_)); }

 private:
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> previous_;
};

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(const PtxOptions& options) {
  std::string error;
  const llvm::Target* target = NvptxTarget(&error);
  if (target == nullptr) return Internal("LLVM has no NVPTX target: ", error);
  const std::string cpu = absl::StrCat("sm_", options.compute_capability);
  // Asked of a generic subtarget first: making a machine for an unknown processor writes to stderr.
  std::unique_ptr<llvm::MCSubtargetInfo> generic(target->createMCSubtargetInfo(kTriple, "", ""));
  if (generic == nullptr || !generic->isCPUStringValid(cpu)) {
    return InvalidArgument("LLVM knows no NVPTX processor ", cpu);
  }
  const std::string features = absl::StrCat("+ptx", options.isa_version);
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
  if (machine == nullptr) return Internal("LLVM makes no NVPTX machine for ", cpu);
  return machine;
}

}  // namespace

absl::Status SetNvptxTarget(llvm::Module& module, const PtxOptions& options) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeMachine(options));
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine->createDataLayout());
  return absl::OkStatus();
}

absl::StatusOr<std::string> EmitPtx(llvm::Module& module, const PtxOptions& options) {
  std::string message;
  llvm::raw_string_ostream message_stream(message);
  if (llvm::verifyModule(module, &message_stream)) {
    return Internal("GPU module ", module.getName().str(), " does not verify: ", message_stream.str());
  }
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeMachine(options));
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine->createDataLayout());

  std::string diagnostic;
  ScopedHandler handler(module.getContext(), &diagnostic);
  OptimizeModule(module, *machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    return Internal("LLVM's NVPTX target cannot write assembly");
  }
  passes.run(module);
  if (!diagnostic.empty()) return Internal("PTX of ", module.getName().str(), ": ", diagnostic);
  return std::string(text.str());
}

}  // namespace kiln::gpu
