// Runs GPU kernels' LLVM IR on the host: the threads of a block as fibers, blocks one after the other.
#ifndef KILN_TESTS_GPU_BLOCK_EMULATOR_H_
#define KILN_TESTS_GPU_BLOCK_EMULATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "src/gpu/kernel_emitter.h"

namespace kiln::gpu {

class BlockEmulator {
 public:
  // Takes over a module with emitted kernels, before any code generator saw it.
  static absl::StatusOr<std::unique_ptr<BlockEmulator>> Create(std::unique_ptr<llvm::LLVMContext> context,
                                                               std::unique_ptr<llvm::Module> module);

  // One launch over arrays in host memory. INTERNAL when threads wait for each other forever, or exchange values with
  // threads that are not there. One run at a time in a process.
  absl::Status Run(const Launch& launch, std::vector<void*> arguments);

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace kiln::gpu

#endif  // KILN_TESTS_GPU_BLOCK_EMULATOR_H_
