// LLVM's optimizer and code generator for the host, made once and used for many modules.
#ifndef KILN_CPU_CODE_GENERATOR_H_
#define KILN_CPU_CODE_GENERATOR_H_

#include <memory>
#include <string>

#include "llvm/ADT/StringRef.h"
#include "src/base/status.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace kiln::cpu {

// Building LLVM's pipelines takes longer than running them over a small kernel, so they are kept. Serves one thread at
// a time. After a fatal error (llvm_guard.h) it must neither be used nor destroyed.
class CodeGenerator {
 public:
  // Fails when this build has no code generator for the host. `level`, 0 to 3, is LLVM's optimization level.
  static absl::StatusOr<std::unique_ptr<CodeGenerator>> Create(int level);
  ~CodeGenerator();
  CodeGenerator(const CodeGenerator&) = delete;
  CodeGenerator& operator=(const CodeGenerator&) = delete;

  const llvm::TargetMachine& machine() const;

  // The short list of LLVM passes that generated code goes through: about the cost of LLVM's own -O1 without its loop
  // passes.
  void Optimize(llvm::Module& module);
  // The relocatable object of an optimized module; valid until the next call.
  llvm::StringRef EmitObject(llvm::Module& module);
  // Its assembly.
  absl::StatusOr<std::string> EmitAssembly(llvm::Module& module);

 private:
  struct Pipelines;
  explicit CodeGenerator(std::unique_ptr<Pipelines> pipelines);
  std::unique_ptr<Pipelines> pipelines_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_CODE_GENERATOR_H_
