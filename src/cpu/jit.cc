#include "src/cpu/jit.h"

#include <chrono>
#include <utility>

#include "llvm/ExecutionEngine/JITSymbol.h"
#include "llvm/ExecutionEngine/RuntimeDyld.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "src/base/isa_level.h"
#include "src/base/job_queue.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cpu/code_generator.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/isa_emulation.h"
#include "src/cpu/jit_memory.h"
#include "src/cpu/jit_symbols.h"
#include "src/cpu/llvm_guard.h"

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

absl::Status Verify(const llvm::Module& module) {
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::verifyModule(module, &stream)) return Internal("Generated LLVM IR is invalid: ", stream.str());
  return absl::OkStatus();
}

// Keeps objects whose state a fatal error left unknown, where leak checkers find them.
template <typename... T>
void Abandon(T*... objects) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const abandoned = new std::vector<const void*>();
  absl::MutexLock lock(&mutex);
  abandoned->insert(abandoned->end(), {static_cast<const void*>(objects)...});
}

}  // namespace

CodeUnit::CodeUnit() = default;
CodeUnit::CodeUnit(CodeUnit&&) = default;
CodeUnit::~CodeUnit() = default;

JitModule::JitModule() : memory_(std::make_unique<JitMemory>()) {}
JitModule::~JitModule() = default;

void* JitModule::Lookup(absl::string_view name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : it->second;
}

absl::Status JitModule::Link() {
  size_t bytes = 0;
  for (const Object& object : objects_) bytes += object->size();
  KILN_RETURN_IF_ERROR(memory_->Reserve(bytes, objects_.size()));
  TableResolver resolver;
  llvm::RuntimeDyld linker(*memory_, resolver);
  for (const Object& object : objects_) {
    const llvm::MemoryBufferRef buffer(llvm::StringRef(object->data(), object->size()), "kiln");
    llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file = llvm::object::ObjectFile::createObjectFile(buffer);
    if (!file) return Internal("An unreadable object: ", llvm::toString(file.takeError()));
    linker.loadObject(**file);
    if (linker.hasError()) break;
  }
  if (!linker.hasError()) linker.resolveRelocations();
  if (linker.hasError()) return Internal("Linking generated code: ", linker.getErrorString().str());
  std::string error;
  if (memory_->finalizeMemory(&error)) return ResourceExhausted(error);
  for (const auto& [name, symbol] : linker.getSymbolTable()) {
    functions_.emplace(std::string(name), reinterpret_cast<void*>(symbol.getAddress()));
  }
  return absl::OkStatus();
}

void CompileTimes::Add(const CompileTimes& other) {
  verify += other.verify;
  optimize += other.optimize;
  codegen += other.codegen;
  link += other.link;
  compiled_units += other.compiled_units;
  found_units += other.found_units;
  code_bytes += other.code_bytes;
}

int64_t JitModule::code_bytes() const { return static_cast<int64_t>(memory_->code_bytes()); }

absl::StatusOr<std::unique_ptr<JitCompiler>> JitCompiler::Create() {
  KILN_RETURN_IF_ERROR(InitializeLlvm());
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CodeGenerator> generator, CodeGenerator::Create(CodeUnit::kUsualLevel));
  std::unique_ptr<JitCompiler> compiler(new JitCompiler(generator->machine()));
  compiler->GiveBack(std::move(generator), CodeUnit::kUsualLevel);
  return compiler;
}

JitCompiler::JitCompiler(const llvm::TargetMachine& machine)
    : triple_(machine.getTargetTriple().str()), data_layout_(machine.createDataLayout().getStringRepresentation()) {
  const int cpus = ThreadPool::AvailableCpus();
  if (cpus > 1)
    workers_ = std::make_unique<JobQueue>(cpus, JobQueue::Options{.may_block = false, .beside_caller = true});
}
JitCompiler::~JitCompiler() = default;

absl::StatusOr<std::unique_ptr<CodeGenerator>> JitCompiler::Borrow(int level) {
  {
    absl::MutexLock lock(&mutex_);
    std::vector<std::unique_ptr<CodeGenerator>>& idle = generators_[level];
    if (!idle.empty()) {
      std::unique_ptr<CodeGenerator> generator = std::move(idle.back());
      idle.pop_back();
      return generator;
    }
  }
  return CodeGenerator::Create(level);
}

void JitCompiler::GiveBack(std::unique_ptr<CodeGenerator> generator, int level) {
  absl::MutexLock lock(&mutex_);
  generators_[level].push_back(std::move(generator));
}

void JitCompiler::PrepareModule(llvm::Module& module) const {
  module.setTargetTriple(triple_);
  module.setDataLayout(data_layout_);
  const std::string width = std::to_string(Host().vector_bytes * 8);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    // Without both, LLVM splits 512-bit operations on CPUs that it believes to clock down.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    // Spares unwind tables, and guards that generated code has no use for.
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.removeFnAttr(llvm::Attribute::UWTable);
  }
}

absl::StatusOr<Object> JitCompiler::MakeObject(CodeUnit* unit, CompileTimes* times) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CodeGenerator> generator, Borrow(unit->level));
  const auto diagnostics = std::make_unique<DiagnosticScope>(*unit->context);
  auto object = std::make_unique<std::string>();
  bool fatal = false;
  absl::Status status = GuardLlvm(
      [&]() -> absl::Status {
        StageClock clock;
        KILN_RETURN_IF_ERROR(Verify(*unit->module));
        times->verify += clock.Lap();
        if (EmulatesIsa()) KILN_RETURN_IF_ERROR(ReplaceForeignInstructions(unit->module.get()));
        if (unit->level > 0) generator->Optimize(*unit->module);
        times->optimize += clock.Lap();
        *object = generator->EmitObject(*unit->module).str();
        times->codegen += clock.Lap();
        return diagnostics->status();
      },
      &fatal);
  if (fatal) {
    // Their destructors could trip over what the jump left half done.
    Abandon(generator.release(), unit->module.release(), unit->context.release());
    return status;
  }
  GiveBack(std::move(generator), unit->level);
  unit->module.reset();
  KILN_RETURN_IF_ERROR(status);
  ++times->compiled_units;
  return std::shared_ptr<const std::string>(std::move(object));
}

absl::StatusOr<Object> JitCompiler::CompileUnit(CodeUnit* unit, ObjectCache* cache, CompileTimes* times) {
  const bool is_kept = cache != nullptr && !unit->key.empty();
  if (is_kept) {
    if (Object object = cache->Find(unit->key)) {
      ++times->found_units;
      return object;
    }
  }
  KILN_ASSIGN_OR_RETURN(Object object, MakeObject(unit, times));
  if (is_kept) cache->Insert(unit->key, object);
  return object;
}

void JitCompiler::InBackground(std::function<void()> work) {
  if (workers_ != nullptr) workers_->Push(std::move(work));
}

absl::StatusOr<std::unique_ptr<JitModule>> JitCompiler::Compile(std::unique_ptr<llvm::LLVMContext> context,
                                                                std::unique_ptr<llvm::Module> module,
                                                                CompileTimes* times) {
  CompileTimes own;
  CodeUnit unit;
  unit.context = std::move(context);
  unit.module = std::move(module);
  PrepareModule(*unit.module);
  std::vector<Object> objects(1);
  KILN_ASSIGN_OR_RETURN(objects[0], MakeObject(&unit, &own));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<JitModule> result, Link(std::move(objects), &own));
  if (times != nullptr) *times = own;
  return result;
}

absl::StatusOr<std::unique_ptr<JitModule>> JitCompiler::Link(std::vector<Object> objects, CompileTimes* times) {
  StageClock clock;
  std::unique_ptr<JitModule> result(new JitModule);
  result->objects_ = std::move(objects);
  bool fatal = false;
  absl::Status status = GuardLlvm([&] { return result->Link(); }, &fatal);
  if (fatal) result.release();
  KILN_RETURN_IF_ERROR(status);
  if (times != nullptr) {
    times->link += clock.Lap();
    times->code_bytes = result->code_bytes();
  }
  return result;
}

absl::StatusOr<std::string> JitCompiler::EmitAssembly(const llvm::Module& module) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  PrepareModule(*copy);
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CodeGenerator> generator, Borrow(CodeUnit::kUsualLevel));
  std::string text;
  bool fatal = false;
  absl::Status status = GuardLlvm(
      [&]() -> absl::Status {
        KILN_RETURN_IF_ERROR(Verify(*copy));
        if (EmulatesIsa()) KILN_RETURN_IF_ERROR(ReplaceForeignInstructions(copy.get()));
        generator->Optimize(*copy);
        KILN_ASSIGN_OR_RETURN(text, generator->EmitAssembly(*copy));
        return absl::OkStatus();
      },
      &fatal);
  if (fatal) {
    Abandon(generator.release(), copy.release());
    return status;
  }
  GiveBack(std::move(generator), CodeUnit::kUsualLevel);
  KILN_RETURN_IF_ERROR(status);
  return text;
}

std::string PrintIr(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

}  // namespace kiln::cpu
