// Programs, and single instructions of them, compiled and timed over random inputs.
#ifndef KILN_TOOLS_PROGRAM_TIMER_H_
#define KILN_TOOLS_PROGRAM_TIMER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/thread_pool.h"
#include "src/cpu/executable.h"
#include "src/hlo/module.h"
#include "src/tools/aligned_memory.h"

namespace kiln::tools {

// A module of its own whose entry is `instruction`: its operands are the parameters, constants among them apart.
std::unique_ptr<hlo::Module> Isolate(const hlo::Instruction& instruction);

// A compiled program with memory and random inputs.
class ProgramTimer {
 public:
  // `as_it_is`: `module` is a piece of an optimized program, and is only scheduled and compiled.
  static absl::StatusOr<ProgramTimer> Create(std::unique_ptr<hlo::Module> module, int threads, bool as_it_is);

  // The median of several runs, as many as fit in `budget` seconds, and one at least.
  absl::StatusOr<double> MedianSeconds(ThreadPool* pool, double budget) const;
  const cpu::Executable& executable() const { return *executable_; }

 private:
  ProgramTimer() = default;

  std::unique_ptr<cpu::Executable> executable_;
  std::vector<Memory> memory_;
  std::vector<const void*> arguments_;
  std::vector<void*> results_;
  Memory arena_;
};

}  // namespace kiln::tools

#endif  // KILN_TOOLS_PROGRAM_TIMER_H_
