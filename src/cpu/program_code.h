// The LLVM modules of one program: each kernel has its own, so that they compile side by side, and one that was
// compiled before, in whatever program, is found again.
#ifndef KILN_CPU_PROGRAM_CODE_H_
#define KILN_CPU_PROGRAM_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/cpu/jit.h"

namespace kiln::cpu {

class ObjectCache;

// Kernels are compiled in batches while the program grows, which bounds what is held of it as LLVM IR. Not thread-safe.
class ProgramCode {
 public:
  // `compiler` and `cache`, which may be null, must outlive it. `level` is the effort of the code generator, 0 to 3.
  ProgramCode(std::string name, JitCompiler* compiler, ObjectCache* cache, int level);
  // All in one module that is not compiled, with names for people.
  ProgramCode(std::string name, JitCompiler* compiler);

  // With the program function in it.
  llvm::Module& program() { return *program_.module; }
  // Where the next kernel goes, as one function with external linkage that calls nothing of the program's; what came
  // before is complete. The program calls it by the name that it has by the end of its emission.
  llvm::Module& ForKernel();

  // Compiles what is left and links it all. `times`, which may be null, are sums over threads.
  absl::StatusOr<std::unique_ptr<JitModule>> Compile(CompileTimes* times) &&;

 private:
  CodeUnit NewUnit() const;
  // Names the code by its content: what kernels of several programs share must not depend on what it is called in one.
  // Functions that kernels have in common stay in the first that has them.
  void Seal(CodeUnit* unit);
  std::string KeyOf(const CodeUnit& unit) const;
  void CompileOpen();

  const std::string name_;
  JitCompiler* const compiler_;
  ObjectCache* const cache_;
  const int level_;
  const bool is_split_;
  CodeUnit program_;
  std::vector<CodeUnit> open_;
  absl::flat_hash_set<std::string> helpers_;
  absl::flat_hash_set<std::string> keys_;
  std::vector<std::pair<std::string, std::string>> renamed_;  // kernels, from what the program calls them
  std::vector<Object> objects_;
  CompileTimes times_;
  absl::Status status_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_PROGRAM_CODE_H_
