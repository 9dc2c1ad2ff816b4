#include "src/cpu/jit.h"

#include <chrono>
#include <optional>
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
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cpu/code_generator.h"
#include "src/cpu/host_isa.h"
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

}  // namespace

JitModule::JitModule() : memory_(std::make_unique<JitMemory>()) {}
JitModule::~JitModule() = default;

void* JitModule::Lookup(absl::string_view name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : it->second;
}

absl::Status JitModule::Link() {
  size_t bytes = 0;
  for (const std::string& object : objects_) bytes += object.size();
  KILN_RETURN_IF_ERROR(memory_->Reserve(bytes, objects_.size()));
  TableResolver resolver;
  llvm::RuntimeDyld linker(*memory_, resolver);
  // The first object refers to the others, which are known by then.
  for (size_t i = objects_.size(); i-- > 0;) {
    const llvm::MemoryBufferRef buffer(llvm::StringRef(objects_[i].data(), objects_[i].size()), "kiln");
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

int64_t JitModule::code_bytes() const { return static_cast<int64_t>(memory_->code_bytes()); }

absl::StatusOr<std::unique_ptr<JitCompiler>> JitCompiler::Create() {
  KILN_RETURN_IF_ERROR(InitializeLlvm());
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CodeGenerator> generator, CodeGenerator::Create());
  std::unique_ptr<JitCompiler> compiler(new JitCompiler(generator->machine()));
  compiler->GiveBack(std::move(generator));
  return compiler;
}

JitCompiler::JitCompiler(const llvm::TargetMachine& machine)
    : triple_(machine.getTargetTriple().str()), data_layout_(machine.createDataLayout().getStringRepresentation()) {}
JitCompiler::~JitCompiler() = default;

absl::StatusOr<std::unique_ptr<CodeGenerator>> JitCompiler::Borrow() {
  {
    absl::MutexLock lock(&mutex_);
    if (!generators_.empty()) {
      std::unique_ptr<CodeGenerator> generator = std::move(generators_.back());
      generators_.pop_back();
      return generator;
    }
  }
  return CodeGenerator::Create();
}

void JitCompiler::GiveBack(std::unique_ptr<CodeGenerator> generator) {
  absl::MutexLock lock(&mutex_);
  generators_.push_back(std::move(generator));
}

void JitCompiler::PrepareModule(llvm::Module& module) const {
  module.setTargetTriple(triple_);
  module.setDataLayout(data_layout_);
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

CodeShards JitCompiler::NewShards(const std::string& name, int limit) const {
  return CodeShards(name, triple_, data_layout_, limit, &shared_);
}

CodeShards JitCompiler::NewReadable(const std::string& name) const {
  return CodeShards(name, triple_, data_layout_, 1, nullptr);
}

absl::StatusOr<std::string> JitCompiler::CompileShard(CodeShard shard, int level, CompileTimes* times) {
  if (shard.object != nullptr) return *shard.object;
  PrepareModule(*shard.module);
  // Other levels than the usual one are rare: their code generators are not kept.
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CodeGenerator> generator,
                        level == kUsualLevel ? Borrow() : CodeGenerator::Create(level));
  const auto diagnostics = std::make_unique<DiagnosticScope>(*shard.context);
  auto object = std::make_unique<std::string>();
  bool fatal = false;
  absl::Status status = GuardLlvm(
      [&]() -> absl::Status {
        StageClock clock;
        KILN_RETURN_IF_ERROR(Verify(*shard.module));
        times->verify = clock.Lap();
        generator->Optimize(*shard.module);
        times->optimize = clock.Lap();
        *object = generator->EmitObject(*shard.module).str();
        times->codegen = clock.Lap();
        return diagnostics->status();
      },
      &fatal);
  if (fatal) {
    // Their destructors could trip over what the jump left half done.
    generator.release();
    shard.module.release();
    shard.context.release();
    return status;
  }
  if (level == kUsualLevel) GiveBack(std::move(generator));
  shard.module.reset();
  KILN_RETURN_IF_ERROR(status);
  if (!shard.shared_name.empty() && level == kUsualLevel) shared_.Add(shard.shared_name, *object);
  return *std::move(object);
}

ThreadPool& JitCompiler::Threads() {
  absl::MutexLock lock(&mutex_);
  if (threads_ == nullptr) threads_ = std::make_unique<ThreadPool>(ThreadPool::AvailableCpus());
  return *threads_;
}

absl::StatusOr<std::unique_ptr<JitModule>> JitCompiler::Compile(std::unique_ptr<llvm::LLVMContext> context,
                                                                std::unique_ptr<llvm::Module> module,
                                                                CompileTimes* times) {
  std::vector<CodeShard> shards;
  shards.emplace_back(std::move(context), std::move(module));
  return Compile(std::move(shards), times);
}

absl::StatusOr<std::unique_ptr<JitModule>> JitCompiler::Compile(std::vector<CodeShard> shards, CompileTimes* times,
                                                                int level) {
  struct Work {
    JitCompiler* compiler;
    std::vector<CodeShard> shards;
    std::vector<absl::StatusOr<std::string>> objects;
    std::vector<CompileTimes> times;
    int level;
  };
  const size_t count = shards.size();
  Work work{this, std::move(shards), std::vector<absl::StatusOr<std::string>>(count), std::vector<CompileTimes>(count),
            level};
  const auto compile = [](void* closure, int64_t begin, int64_t end) {
    Work& work = *static_cast<Work*>(closure);
    for (int64_t i = begin; i < end; ++i) {
      work.objects[i] = work.compiler->CompileShard(std::move(work.shards[i]), work.level, &work.times[i]);
    }
  };
  if (count == 1) {
    compile(&work, 0, 1);
  } else {
    Threads().ParallelFor(static_cast<int64_t>(count), 1, compile, &work);
  }
  std::vector<std::string> objects;
  CompileTimes sum;
  for (size_t i = 0; i < count; ++i) {
    KILN_RETURN_IF_ERROR(work.objects[i].status());
    objects.push_back(*std::move(work.objects[i]));
    sum.verify += work.times[i].verify;
    sum.optimize += work.times[i].optimize;
    sum.codegen += work.times[i].codegen;
  }
  StageClock clock;
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<JitModule> result, Link(std::move(objects)));
  sum.link = clock.Lap();
  sum.code_bytes = result->code_bytes();
  if (times != nullptr) *times = sum;
  return result;
}

absl::StatusOr<std::unique_ptr<JitModule>> JitCompiler::Link(std::vector<std::string> objects) {
  std::unique_ptr<JitModule> result(new JitModule);
  result->objects_ = std::move(objects);
  bool fatal = false;
  absl::Status status = GuardLlvm([&] { return result->Link(); }, &fatal);
  if (fatal) result.release();
  KILN_RETURN_IF_ERROR(status);
  return result;
}

absl::StatusOr<std::string> JitCompiler::EmitAssembly(const llvm::Module& module) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  PrepareModule(*copy);
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CodeGenerator> generator, Borrow());
  std::string text;
  bool fatal = false;
  absl::Status status = GuardLlvm(
      [&]() -> absl::Status {
        KILN_RETURN_IF_ERROR(Verify(*copy));
        generator->Optimize(*copy);
        KILN_ASSIGN_OR_RETURN(text, generator->EmitAssembly(*copy));
        return absl::OkStatus();
      },
      &fatal);
  if (fatal) {
    generator.release();
    copy.release();
    return status;
  }
  GiveBack(std::move(generator));
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
