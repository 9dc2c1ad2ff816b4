// The kernels of an optimized module as functions that a GPU launches.
#ifndef KILN_GPU_KERNEL_EMITTER_H_
#define KILN_GPU_KERNEL_EMITTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"
#include "src/gpu/ptx.h"
#include "src/gpu/schedule.h"
#include "src/hlo/module.h"
#include "src/kernel/kernel.h"

namespace kiln::gpu {

// One launch. Its arguments are pointers to global memory, aligned to 16 bytes: the instruction's operands in order,
// then the leaves of its result in order.
struct Launch {
  std::string entry;  // name of the kernel function
  LaunchSchedule schedule;
};

// What one instruction becomes: launches one after the other, or the reason why there are none.
struct EmittedInstruction {
  const hlo::Instruction* instruction = nullptr;
  std::vector<Launch> launches;
  std::string left_out;
};

// Emits into one LLVM module, one instruction at a time. Not thread-safe.
class KernelEmitter {
 public:
  explicit KernelEmitter(llvm::Module* output) : output_(*output) {}

  // Every instruction of `module` (which went through passes::GpuPipeline) that computes something, those of called
  // computations after their caller. Fails only for defects; what has no kernel says so in `left_out`.
  absl::StatusOr<std::vector<EmittedInstruction>> EmitModule(const hlo::Module& module);

 private:
  absl::Status EmitComputation(const hlo::Computation& computation, int depth,
                               std::vector<EmittedInstruction>* emitted);
  absl::Status EmitInstruction(const hlo::Instruction& instruction, EmittedInstruction* emitted);
  absl::Status EmitNest(const hlo::Instruction& instruction, const kernel::Kernel& kernel, size_t nest,
                        EmittedInstruction* emitted);
  std::string UniqueEntryName(const std::string& name);

  llvm::Module& output_;
  absl::flat_hash_set<std::string> entry_names_;
  absl::flat_hash_set<const hlo::Computation*> visited_;
};

// PTX of a module that went through passes::GpuPipeline, behind comments that list every instruction with its launches.
absl::StatusOr<std::string> CompileToPtx(const hlo::Module& module, const PtxOptions& options = {});

}  // namespace kiln::gpu

#endif  // KILN_GPU_KERNEL_EMITTER_H_
