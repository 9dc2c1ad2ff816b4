// A scheduled module with assigned buffers as one native function: kernels called directly, loops and branches as
// native control flow, scalars in registers.
#ifndef KILN_CPU_PROGRAM_EMITTER_H_
#define KILN_CPU_PROGRAM_EMITTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "src/analysis/buffer_assignment.h"
#include "src/analysis/structure.h"
#include "src/cpu/custom_call.h"
#include "src/cpu/executable.h"
#include "src/cpu/matrix_product.h"
#include "src/cpu/program_code.h"
#include "src/cpu/row_chain.h"
#include "src/hlo/module.h"
#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::cpu {

// A kernel with the schedule of each of its nests.
struct ScheduledKernel {
  kernel::Kernel kernel;
  std::vector<kernel::NestSchedule> schedules;
  double nanoseconds = 0;  // estimate for one thread
  int uses = 1;            // by instructions
};

// The custom calls of a program: where each stands in its table.
struct NumberedCustomCall {
  int64_t number = 0;
  const CustomCall* call = nullptr;
};
using CustomCallNumbers = absl::flat_hash_map<const hlo::Instruction*, NumberedCustomCall>;

// The operand whose memory result leaf `leaf` of a custom call shares, or -1.
int64_t AliasedOperand(const hlo::Instruction& call, int64_t leaf);

// Emits one program. The hooks serve buffer assignment beforehand; both share the kernels.
class ProgramEmitter {
 public:
  // `custom_calls`, null for none, has every custom call of the module and outlives this object.
  ProgramEmitter(const hlo::Module& module, int threads, const CustomCallNumbers* custom_calls = nullptr);

  // What buffer assignment asks; refers to this object.
  analysis::TargetHooks Hooks();
  // Builds every kernel, so that an op without generated code is found before anything is emitted.
  absl::Status Prepare();
  // After Prepare: fusions that would make too large a kernel, or that have none. They have no code; the caller takes
  // them apart and starts over with another emitter.
  const std::vector<const hlo::Instruction*>& oversized() const { return oversized_; }
  absl::Status Emit(const analysis::BufferAssignment& buffers, ProgramCode* code);

  // Constants that the program finds in its table, in order; owned by the HLO module, or among TakeTables().
  const std::vector<const hlo::Literal*>& table_constants() const { return table_constants_; }
  // What ops added to them.
  std::vector<std::unique_ptr<hlo::Literal>> TakeTables() { return std::move(tables_); }
  // After Prepare: every kernel, product and op with an emitter of its own, in the order of the program. Their
  // functions are known after Emit.
  std::vector<CompiledOperation> Operations() const;
  // The schedules of Operations(), as text.
  std::string SchedulesText() const;
  // Lets the program mark the end of every instruction (run_profile.h), numbered as they are found; null for not.
  void set_profiled(std::vector<const hlo::Instruction*>* instructions) { profiled_ = instructions; }
  int64_t kernel_count() const { return kernel_count_; }
  double estimated_nanoseconds() const { return estimated_nanoseconds_; }
  double lone_nanoseconds() const { return lone_nanoseconds_; }

 private:
  friend class ComputationEmitter;

  absl::Status PrepareComputation(const hlo::Computation& computation, double times);
  // Takes over the code of an instruction that does the same; false when there is none yet.
  bool ShareCode(const hlo::Instruction& instruction, const hlo::Instruction& other, double times);
  // Of an operation that runs `times` times; `shares`: it is divided over threads if it takes long enough.
  void CountWork(double nanoseconds, double times, bool shares = true);
  const ScheduledKernel* KernelOf(const hlo::Instruction& instruction) const;
  bool MayShare(const hlo::Instruction& instruction, int64_t leaf, int64_t operand) const;

  const hlo::Module& module_;
  const int threads_;
  const CustomCallNumbers* const custom_calls_;
  kernel::TargetInfo target_;
  // Of instructions that do the same, one.
  analysis::OperationClasses operations_;
  absl::flat_hash_map<const hlo::Instruction*, std::shared_ptr<ScheduledKernel>> kernels_;
  absl::flat_hash_map<const hlo::Instruction*, std::shared_ptr<const MatrixProduct>> products_;
  absl::flat_hash_map<const hlo::Instruction*, std::shared_ptr<const RowChainPlan>> chains_;
  std::vector<const hlo::Literal*> table_constants_;
  std::vector<std::unique_ptr<hlo::Literal>> tables_;
  std::vector<const hlo::Instruction*> oversized_;
  std::vector<const hlo::Instruction*>* profiled_ = nullptr;
  absl::flat_hash_map<const hlo::Instruction*, std::vector<std::string>> functions_;
  int64_t kernel_count_ = 0;
  double estimated_nanoseconds_ = 0, lone_nanoseconds_ = 0;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_PROGRAM_EMITTER_H_
