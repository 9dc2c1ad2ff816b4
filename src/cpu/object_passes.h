// Which of LLVM's passes of code generation Kiln's modules go through.
#ifndef KILN_CPU_OBJECT_PASSES_H_
#define KILN_CPU_OBJECT_PASSES_H_

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace kiln::cpu {

// The names of passes that no module goes through.
const llvm::StringSet<>& LeftOutPasses();

// Adds what makes machine code of `type` and writes it to `stream`. False where the target has no such code.
bool AddObjectPasses(llvm::TargetMachine& machine, llvm::CodeGenFileType type, llvm::raw_pwrite_stream& stream,
                     llvm::legacy::PassManagerBase* passes);

// Lets the passes above skip what gains an optimized module nothing.
void ChoosePasses(llvm::Module& module);

}  // namespace kiln::cpu

#endif  // KILN_CPU_OBJECT_PASSES_H_
