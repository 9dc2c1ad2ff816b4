// LLVM IR to callable machine code for the host: a short pipeline, an object in memory, and LLVM's small runtime
// linker.
#ifndef KILN_CPU_JIT_H_
#define KILN_CPU_JIT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "src/cpu/object_cache.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace kiln {
class JobQueue;
}  // namespace kiln

namespace kiln::cpu {

class CodeGenerator;
class JitMemory;

// Seconds per stage of one compilation, over all threads.
struct CompileTimes {
  double verify = 0;
  double optimize = 0;
  double codegen = 0;
  double link = 0;
  int64_t compiled_units = 0;
  int64_t found_units = 0;  // in the cache
  int64_t code_bytes = 0;
  void Add(const CompileTimes& other);
};

// A module with the context that it lives in, so that any thread may compile it.
struct CodeUnit {
  static constexpr int kUsualLevel = 2;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  int level = kUsualLevel;  // effort of the code generator, 0 to 3; 0: the module is not optimized either
  std::string key;  // of its content, for the cache; empty: it is not looked for there
  CodeUnit();
  CodeUnit(CodeUnit&&);
  CodeUnit& operator=(CodeUnit&&) = delete;
  ~CodeUnit();
};

// Machine code of one module, or of several that were compiled side by side. Its functions may be called while it
// lives. Immutable and thread-safe.
class JitModule {
 public:
  ~JitModule();
  JitModule(const JitModule&) = delete;
  JitModule& operator=(const JitModule&) = delete;

  // The address of a function with external linkage, or null.
  void* Lookup(absl::string_view name) const;
  template <typename Function>
  Function* Lookup(absl::string_view name) const {
    return reinterpret_cast<Function*>(Lookup(name));
  }

  int64_t code_bytes() const;
  // The relocatable objects that were linked, from which JitCompiler::Link makes the same module again.
  const std::vector<Object>& objects() const { return objects_; }

 private:
  friend class JitCompiler;
  JitModule();
  // Links `objects_`; on LLVM's guard.
  absl::Status Link();

  std::vector<Object> objects_;
  std::unique_ptr<JitMemory> memory_;
  absl::flat_hash_map<std::string, void*> functions_;
};

// Thread-safe: calls from several threads compile side by side. A kernel of one vector loop takes about 1.2 ms on a
// 2.6 GHz Zen 5 (1.0 of them machine code, 0.1 the passes, 0.04 linking).
class JitCompiler {
 public:
  // Fails when the host has no code generator in this build.
  static absl::StatusOr<std::unique_ptr<JitCompiler>> Create();
  ~JitCompiler();
  JitCompiler(const JitCompiler&) = delete;
  JitCompiler& operator=(const JitCompiler&) = delete;

  // Gives a module the host's triple and data layout, and each function that it defines the host's vector width. Emitters call it first, since sizes of types depend on it; Compile calls it as well.
  void PrepareModule(llvm::Module& module) const;

  // Verifies, optimizes and links `module`, then frees it and its `context`. External symbols come from
  // FindRuntimeSymbol alone. `times` may be null. An error of LLVM's, fatal ones included, comes back as INTERNAL.
  absl::StatusOr<std::unique_ptr<JitModule>> Compile(std::unique_ptr<llvm::LLVMContext> context,
                                                     std::unique_ptr<llvm::Module> module, CompileTimes* times);
  // The object of `unit`, a prepared module, from `cache`, which may be null, or compiled, which uses the unit up. Adds
  // to `times`.
  absl::StatusOr<Object> CompileUnit(CodeUnit* unit, ObjectCache* cache, CompileTimes* times);
  // Whether InBackground runs anything.
  bool HasThreads() const { return workers_ != nullptr; }
  // Runs `work` on another thread, as many at once as there are CPUs; not at all where there is only one.
  void InBackground(std::function<void()> work);
  // Links objects that CompileUnit made, in this process or in another one of the same build on the same kind of
  // machine. They may refer to each other. Adds to `times`, which may be null.
  absl::StatusOr<std::unique_ptr<JitModule>> Link(std::vector<Object> objects, CompileTimes* times = nullptr);

  // The same module's assembly. `module` is left as it was.
  absl::StatusOr<std::string> EmitAssembly(const llvm::Module& module);

 private:
  explicit JitCompiler(const llvm::TargetMachine& machine);
  // Code generators are costly to make and serve one thread at a time, so they are lent and given back.
  absl::StatusOr<std::unique_ptr<CodeGenerator>> Borrow(int level);
  void GiveBack(std::unique_ptr<CodeGenerator> generator, int level);
  absl::StatusOr<Object> MakeObject(CodeUnit* unit, CompileTimes* times);

  const std::string triple_;
  const std::string data_layout_;
  absl::Mutex mutex_;
  // By level.
  std::array<std::vector<std::unique_ptr<CodeGenerator>>, 4> generators_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<JobQueue> workers_;  // null where there is one CPU
};

// The IR as text.
std::string PrintIr(const llvm::Module& module);

}  // namespace kiln::cpu

#endif  // KILN_CPU_JIT_H_
