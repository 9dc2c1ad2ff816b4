// What generated programs and the code that runs them agree on.
#ifndef KILN_CPU_PROGRAM_ABI_H_
#define KILN_CPU_PROGRAM_ABI_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "src/cpu/custom_call.h"

namespace kiln {
class ThreadPool;
}  // namespace kiln

namespace kiln::cpu {

class RunProfile;

// State of one run; generated code passes it on.
struct ProgramContext {
  void* workspace = nullptr;  // the first member: generated code reads it
  ThreadPool* pool = nullptr;
  int max_parallelism = 0;                                    // 0: as many threads as the pool has
  const std::unique_ptr<CustomCall>* custom_calls = nullptr;  // of the program, by number
  CustomCallRun* custom_call_run = nullptr;
  RunProfile* profile = nullptr;
  absl::Status status;  // of the custom call that stopped the program
};

// The whole program. Pointers to argument and result leaves, the arena, and the program's larger constants.
using ProgramFunction = void(ProgramContext* context, const void* const* arguments, void* const* results, void* arena,
                             const void* const* constants);
inline constexpr char kProgramName[] = "kiln_program";

// Work that is divided over threads: iterations [begin, end). `closure` is an array of pointers that the program made.
using TaskFunction = void(void* closure, int64_t begin, int64_t end);

// Symbol "kiln_parallel_for": runs `task` over [0, count) in ranges of at least `grain`; `nanoseconds` is what all of
// them take one thread.
void ParallelFor(ProgramContext* context, TaskFunction* task, void* closure, int64_t count, int64_t grain,
                 int64_t nanoseconds = std::numeric_limits<int64_t>::max());
inline constexpr char kParallelForName[] = "kiln_parallel_for";

// Runs function(i) for i in [0, count), on the threads of the run.
template <typename Function>
void ForEach(ProgramContext* context, int64_t count, Function function) {
  const auto task = [](void* closure, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) (*static_cast<Function*>(closure))(i);
  };
  ParallelFor(context, task, &function, count, 1);
}

// Symbol "kiln_custom_call": calls custom call `number`. False when it failed: the program then returns at once.
bool RunCustomCall(ProgramContext* context, int32_t stage, int64_t number, void* const* buffers, int64_t buffer_count);
inline constexpr char kCustomCallName[] = "kiln_custom_call";

// Symbol "kiln_profile": the instruction of this number is done (run_profile.h).
void MarkProfile(ProgramContext* context, int64_t instruction);
inline constexpr char kProfileName[] = "kiln_profile";

// Makes the functions above, and all others that any program calls, known to the linker of generated code: code that
// was compiled elsewhere may be linked first. Idempotent.
void RegisterProgramSymbols();

}  // namespace kiln::cpu

#endif  // KILN_CPU_PROGRAM_ABI_H_
