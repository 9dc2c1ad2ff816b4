#include "src/cpu/jit.h"

#include <chrono>
#include <optional>
#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ExecutionEngine/JITSymbol.h"
#include "llvm/ExecutionEngine/RuntimeDyld.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "src/base/status.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/jit_memory.h"
#include "src/cpu/jit_symbols.h"
#include "src/cpu/llvm_guard.h"
#include "src/cpu/llvm_pipeline.h"

namespace kiln::cpu {
namespace {

class StageClock {
 public:
  // Seconds since the last call or since construction.
  double Lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Binds external symbols to the runtime's table and to nothing else.
class TableResolver : public llvm::JITSymbolResolver {
 public:
  void lookup(const LookupSet& symbols, OnResolvedFunction on_resolved) override {
    LookupResult result;
    for (llvm::StringRef symbol : symbols) {
      void* address = FindRuntimeSymbol({symbol.data(), symbol.size()});
      if (address == nullptr) {
        on_resolved(llvm::createStringError(llvm::inconvertibleErrorCode(),
                                            "generated code calls '" + symbol.str() + "', which the runtime lacks"));
        return;
      }
      result[symbol] = llvm::JITEvaluatedSymbol(reinterpret_cast<uintptr_t>(address), llvm::JITSymbolFlags::Exported);
    }
    on_resolved(std::move(result));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet& symbols) override { return symbols; }
};

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine() {
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return Unimplemented("LLVM has no code generator for ", triple, ": ", error);
  llvm::TargetOptions options;
  options.ExceptionModel = llvm::ExceptionHandling::None;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, Host().cpu, Host().features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (machine == nullptr) return Unimplemented("LLVM has no target machine for ", triple, ", CPU ", Host().cpu, ".");
  return machine;
}

absl::Status Verify(const llvm::Module& module) {
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::verifyModule(module, &stream)) return Internal("Generated LLVM IR is invalid: ", stream.str());
  return absl::OkStatus();
}

// Machine code or assembly text of an optimized module.
absl::Status Generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                      llvm::SmallVectorImpl<char>& output) {
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true)) {
    return Internal("LLVM's target machine emits no file of the wanted kind.");
  }
  passes.run(module);
  return absl::OkStatus();
}

}  // namespace

JitModule::JitModule() : memory_(std::make_unique<JitMemory>()) {}
JitModule::~JitModule() = default;

void* JitModule::Lookup(absl::string_view name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : it->second;
}

absl::Status JitModule::Link() {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object_.data(), object_.size()), "kiln");
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file) return Internal("An unreadable object: ", llvm::toString(file.takeError()));
  TableResolver resolver;
  llvm::RuntimeDyld linker(*memory_, resolver);
  linker.loadObject(**file);
  if (!linker.hasError()) linker.resolveRelocations();
  if (linker.hasError()) return Internal("Linking generated code: ", linker.getErrorString().str());
  std::string error;
  if (memory_->finalizeMemory(&error)) return ResourceExhausted(error);
  for (const auto& [name, symbol] : linker.getSymbolTable()) {
    functions_.emplace(std::string(name), reinterpret_cast<void*>(symbol.getAddress()));
  }
  return absl::OkStatus();
}

int64_t JitModule::code_bytes() const { return static_cast<int64_t>(memory_->code_bytes()); }

absl::StatusOr<std::unique_ptr<JitCompiler>> JitCompiler::Create() {
  KILN_RETURN_IF_ERROR(InitializeLlvm());
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine());
  std::unique_ptr<JitCompiler> compiler(new JitCompiler);
  compiler->GiveBack(std::move(machine));
  return compiler;
}

JitCompiler::~JitCompiler() = default;

std::unique_ptr<llvm::TargetMachine> JitCompiler::Borrow() {
  {
    absl::MutexLock lock(&mutex_);
    if (!machines_.empty()) {
      std::unique_ptr<llvm::TargetMachine> machine = std::move(machines_.back());
      machines_.pop_back();
      return machine;
    }
  }
  absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> machine = MakeTargetMachine();
  return machine.ok() ? *std::move(machine) : nullptr;
}

void JitCompiler::GiveBack(std::unique_ptr<llvm::TargetMachine> machine) {
  absl::MutexLock lock(&mutex_);
  machines_.push_back(std::move(machine));
}

void JitCompiler::PrepareModule(llvm::Module& module) const {
  static const std::string* triple = new std::string(llvm::sys::getProcessTriple());
  static const llvm::DataLayout* layout = [] {
    absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> machine = MakeTargetMachine();
    return machine.ok() ? new llvm::DataLayout((*machine)->createDataLayout()) : new llvm::DataLayout("");
  }();
  module.setTargetTriple(*triple);
  module.setDataLayout(*layout);
  const std::string width = std::to_string(Host().vector_bytes * 8);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", Host().cpu);
    function.addFnAttr("target-features", Host().features);
    // Without both, LLVM splits 512-bit operations on CPUs that it believes to clock down.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    // Spares unwind tables, and guards that generated code has no use for.
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.removeFnAttr(llvm::Attribute::UWTable);
  }
}

absl::StatusOr<std::unique_ptr<JitModule>> JitCompiler::Compile(std::unique_ptr<llvm::LLVMContext> context,
                                                                std::unique_ptr<llvm::Module> module,
                                                                CompileTimes* times, int level) {
  CompileTimes ignored;
  if (times == nullptr) times = &ignored;
  PrepareModule(*module);
  std::unique_ptr<llvm::TargetMachine> machine = Borrow();
  if (machine == nullptr) return Internal("LLVM could not make another target machine.");
  const auto diagnostics = std::make_unique<DiagnosticScope>(*context);
  std::unique_ptr<JitModule> result(new JitModule);
  auto object = std::make_unique<llvm::SmallVector<char, 0>>();

  bool fatal = false;
  absl::Status status = GuardLlvm(
      [&]() -> absl::Status {
        StageClock clock;
        KILN_RETURN_IF_ERROR(Verify(*module));
        times->verify = clock.Lap();
        OptimizeModule(*module, *machine);
        times->optimize = clock.Lap();
        machine->setOptLevel(static_cast<llvm::CodeGenOptLevel>(level));
        KILN_RETURN_IF_ERROR(Generate(*module, *machine, llvm::CodeGenFileType::ObjectFile, *object));
        machine->setOptLevel(llvm::CodeGenOptLevel::Default);
        KILN_RETURN_IF_ERROR(diagnostics->status());
        times->codegen = clock.Lap();

        result->object_.assign(object->begin(), object->end());
        KILN_RETURN_IF_ERROR(result->Link());
        times->link = clock.Lap();
        times->code_bytes = result->code_bytes();
        return absl::OkStatus();
      },
      &fatal);
  if (fatal) {
    // Their destructors could trip over what the jump left half done.
    machine.release();
    module.release();
    context.release();
    result.release();
    return status;
  }
  GiveBack(std::move(machine));
  module.reset();
  context.reset();
  KILN_RETURN_IF_ERROR(status);
  return result;
}

absl::StatusOr<std::unique_ptr<JitModule>> JitCompiler::Link(absl::string_view object) {
  std::unique_ptr<JitModule> result(new JitModule);
  result->object_.assign(object.begin(), object.end());
  bool fatal = false;
  absl::Status status = GuardLlvm([&] { return result->Link(); }, &fatal);
  if (fatal) result.release();
  KILN_RETURN_IF_ERROR(status);
  return result;
}

absl::Status JitCompiler::WithOptimizedCopy(
    const llvm::Module& module, const std::function<absl::Status(llvm::Module&, llvm::TargetMachine&)>& print) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  PrepareModule(*copy);
  std::unique_ptr<llvm::TargetMachine> machine = Borrow();
  if (machine == nullptr) return Internal("LLVM could not make another target machine.");
  bool fatal = false;
  absl::Status status = GuardLlvm(
      [&]() -> absl::Status {
        KILN_RETURN_IF_ERROR(Verify(*copy));
        OptimizeModule(*copy, *machine);
        return print(*copy, *machine);
      },
      &fatal);
  if (fatal) {
    machine.release();
    copy.release();
    return status;
  }
  GiveBack(std::move(machine));
  return status;
}

absl::StatusOr<std::string> JitCompiler::EmitAssembly(const llvm::Module& module) {
  llvm::SmallVector<char, 0> text;
  KILN_RETURN_IF_ERROR(WithOptimizedCopy(module, [&](llvm::Module& copy, llvm::TargetMachine& machine) {
    return Generate(copy, machine, llvm::CodeGenFileType::AssemblyFile, text);
  }));
  return std::string(text.data(), text.size());
}

absl::StatusOr<std::string> JitCompiler::EmitOptimizedIr(const llvm::Module& module) {
  std::string text;
  KILN_RETURN_IF_ERROR(WithOptimizedCopy(module, [&](llvm::Module& copy, llvm::TargetMachine&) {
    text = PrintIr(copy);
    return absl::OkStatus();
  }));
  return text;
}

std::string PrintIr(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

}  // namespace kiln::cpu
