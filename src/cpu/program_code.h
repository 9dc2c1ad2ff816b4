// The LLVM modules of one program: each kernel has its own, so that they compile side by side, and one that was
// compiled before, in whatever program, is found again.
#ifndef KILN_CPU_PROGRAM_CODE_H_
#define KILN_CPU_PROGRAM_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/cpu/jit.h"
#include "src/cpu/pending_code.h"

namespace kiln::cpu {

class ObjectCache;

// Kernels are compiled by other threads while the program grows. Not thread-safe.
class ProgramCode {
 public:
  // `compiler` and `cache`, which may be null, must outlive it. `level` is the effort of the code generator, 0 to 3.
  ProgramCode(std::string name, JitCompiler* compiler, ObjectCache* cache, int level);
  // All in one module that is not compiled, with names for people.
  ProgramCode(std::string name, JitCompiler* compiler);
  ~ProgramCode();  // Without Finish, what is compiled by then was in vain.

  // With the program function in it.
  llvm::Module& program() { return *program_.module; }
  // Where the next kernel goes, as functions with external linkage that call nothing of the program's; what came before
  // is complete. The program calls them by the names that they have by the end of their emission.
  llvm::Module& ForKernel();

  // The code, once nothing more comes; ready then or later.
  std::shared_ptr<PendingCode> Finish() &&;

 private:
  CodeUnit NewUnit() const;
  // Names the code by its content: what kernels of several programs share must not depend on what it is called in one.
  // Functions that kernels have in common stay in the first that has them.
  void Seal(CodeUnit* unit);
  std::string KeyOf(const CodeUnit& unit) const;
  void CompileOpen();  // the kernel that is complete now

  const std::string name_;
  JitCompiler* const compiler_;
  const int level_;
  const bool is_split_;
  CodeUnit program_;
  std::optional<CodeUnit> open_;
  absl::flat_hash_set<std::string> helpers_;
  absl::flat_hash_set<std::string> keys_;
  std::vector<std::pair<std::string, std::string>> renamed_;  // kernels, from what the program calls them
  std::shared_ptr<PendingCode> code_;                         // null where nothing is compiled
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_PROGRAM_CODE_H_
