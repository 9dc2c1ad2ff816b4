#include "src/cpu/program_abi.h"

#include <algorithm>

#include "src/base/thread_pool.h"
#include "src/cpu/jit_symbols.h"

namespace kiln::cpu {

void ParallelFor(ProgramContext* context, TaskFunction* task, void* closure, int64_t count, int64_t grain) {
  if (context->pool == nullptr || count <= grain) {
    task(closure, 0, count);
    return;
  }
  if (context->max_parallelism > 0) {
    // Fewer, larger ranges keep other workers out.
    grain = std::max(grain, (count + context->max_parallelism - 1) / context->max_parallelism);
  }
  context->pool->ParallelFor(count, grain, task, closure);
}

void RegisterProgramSymbols() { AddRuntimeSymbol(kParallelForName, reinterpret_cast<void*>(&ParallelFor)); }

}  // namespace kiln::cpu
