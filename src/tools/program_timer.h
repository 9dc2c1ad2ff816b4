// Programs, and single instructions of them, with memory of their own: run and timed.
#ifndef KILN_TOOLS_PROGRAM_TIMER_H_
#define KILN_TOOLS_PROGRAM_TIMER_H_

#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/thread_pool.h"
#include "src/cpu/executable.h"
#include "src/hlo/literal.h"
#include "src/hlo/module.h"

namespace kiln::tools {

// A module of its own whose entry is `instruction`: its operands are the parameters, constants among them apart.
std::unique_ptr<hlo::Module> Isolate(const hlo::Instruction& instruction);

// `options` for a piece of an optimized program, which is only scheduled and compiled.
cpu::CompileOptions AsItIs(cpu::CompileOptions options);

// A compiled program with memory for its inputs and results.
class ProgramTimer {
 public:
  // Over given inputs, one per leaf of the parameters.
  static absl::StatusOr<ProgramTimer> Create(std::unique_ptr<cpu::Executable> executable,
                                             const std::vector<const hlo::Literal*>& inputs);
  // Over random inputs.
  static absl::StatusOr<ProgramTimer> Create(std::unique_ptr<hlo::Module> module, const cpu::CompileOptions& options);

  // The time of one run.
  absl::StatusOr<double> RunSeconds(ThreadPool* pool) const;
  // A leaf of the last run's results.
  hlo::Literal Result(size_t leaf) const;
  // The median of several runs, as many as fit in `budget` seconds, and one at least.
  absl::StatusOr<double> MedianSeconds(ThreadPool* pool, double budget) const;
  const cpu::Executable& executable() const { return *executable_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  ProgramTimer() = default;
  // Memory of at least one byte, aligned to 64.
  absl::StatusOr<void*> Allocate(int64_t bytes);

  std::unique_ptr<cpu::Executable> executable_;
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<const void*> arguments_;
  std::vector<void*> results_;
  void* arena_ = nullptr;
};

}  // namespace kiln::tools

#endif  // KILN_TOOLS_PROGRAM_TIMER_H_
