#include "src/cpu/object_passes.h"

#include <algorithm>
#include <cstdint>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Pass.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

constexpr llvm::StringLiteral kSecondScheduler = "Post RA top-down list latency scheduler";

// The longest block that is not scheduled a second time, in vector registers computed, loaded or stored. Processors look
// ahead that far: kernels of 2 to 20 take as long without, sums of products of 24 1.04 times, functions of 40 to 170 up
// to 1.03 times. Half of the benchmark's programs have none that is longer, and spare 8 % of code generation.
constexpr int64_t kMaxShortBlock = 20;

int64_t RegistersOf(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::PHINode, llvm::ShuffleVectorInst, llvm::ExtractElementInst>(instruction)) return 0;
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  const llvm::Type* type = store != nullptr ? store->getValueOperand()->getType() : instruction.getType();
  if (type->isFloatingPointTy()) return 1;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return 0;
  const int64_t bits = int64_t{vector->getNumElements()} * type->getScalarSizeInBits();
  return std::max<int64_t>(1, bits / (8 * Host().vector_bytes));
}

bool HasShortBlocks(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      int64_t registers = 0;
      for (const llvm::Instruction& instruction : block) registers += RegistersOf(instruction);
      if (registers > kMaxShortBlock) return false;
    }
  }
  return true;
}

class NoSecondScheduler : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override { return pass != kSecondScheduler; }
};

// Hands on what is not left out.
class PassFilter : public llvm::legacy::PassManagerBase {
 public:
  explicit PassFilter(llvm::legacy::PassManagerBase* passes) : passes_(passes) {}
  void add(llvm::Pass* pass) override {
    LeftOutPasses().contains(pass->getPassName()) ? delete pass : passes_->add(pass);
  }

 private:
  llvm::legacy::PassManagerBase* const passes_;
};

}  // namespace

const llvm::StringSet<>& LeftOutPasses() {
  static const auto* const names = new llvm::StringSet<>{
      // For what no module of Kiln's has: exceptions, garbage collection, thread-local variables, wide integers, tile
      // registers, instrumentation, mitigations, debugging information.
      "Analyze Machine Code For Garbage Collection", "Argument Stack Rebase",
      "Check CFA info and insert CFI instructions if needed", "Contiguously Lay Out Funclets",
      "Exception handling preparation", "Expand indirectbr instructions", "Expand large div/rem",
      "Expand large fp convert", "Expand vector predication intrinsics", "Fixup Statepoint Caller Saved",
      "Implement the 'patchable-function' attribute", "Insert KCFI indirect call checks", "Insert XRay ops",
      "Insert fentry calls", "Insert stack protectors",
      "Instrument function entry/exit with calls to e.g. mcount() (post inlining)", "Live DEBUG_VALUE analysis",
      "Local Dynamic TLS Access Clean-up", "Lower AMX intrinsics", "Lower AMX type for load/store",
      "Lower Garbage Collection Instructions", "Lower constant intrinsics", "Machine Sanitizer Binary Metadata",
      "Prepare callbr", "Pseudo Probe Inserter", "Register Allocation Pass Scoring",
      "Remove Redundant DEBUG_VALUE analysis", "Replace intrinsics with calls to vector library",
      "Safe Stack instrumentation pass", "Shadow Stack GC Lowering", "Stack Frame Layout Analysis",
      "StackMap Liveness Analysis", "TLS Variable Hoist", "Tile Register Configure", "Tile Register Pre-configure",
      "X86 Discriminate Memory Operands", "X86 Indirect Branch Tracking", "X86 Indirect Thunks",
      "X86 Insert Cache Prefetches", "X86 Load Value Injection (LVI) Load Hardening",
      "X86 Load Value Injection (LVI) Ret-Hardening", "X86 Lower Tile Copy", "X86 Return Thunks",
      "X86 Speculative Execution Side Effect Suppression", "X86 Windows Fixup Buffer Security Check",
      "X86 insert wait instruction", "X86 speculative load hardening",
      // For patterns that emitters do not write.
      "Early If-Conversion", "Expand memcmp() to load/stores", "Local Stack Slot Allocation",
      "Merge contiguous icmps into a memcmp", "Merge disjoint stack slots", "Optimize machine instruction PHIs",
      "Partially inline calls to library functions", "Tail Duplication", "X86 Atom pad short functions",
      "X86 Avoid Store Forwarding Blocks", "X86 Domain Reassignment Pass", "X86 Partial Reduction",
      // Changes code, but not how long it takes.
      "Shrink Wrapping analysis"};
  return *names;
}

bool AddObjectPasses(llvm::TargetMachine& machine, llvm::CodeGenFileType type, llvm::raw_pwrite_stream& stream,
                     llvm::legacy::PassManagerBase* passes) {
  PassFilter filter(passes);
  return !machine.addPassesToEmitFile(filter, stream, nullptr, type, /*DisableVerify=*/true);
}

void ChoosePasses(llvm::Module& module) {
  static auto* const gate = new NoSecondScheduler();
  if (HasShortBlocks(module)) module.getContext().setOptPassGate(*gate);
}

}  // namespace kiln::cpu
