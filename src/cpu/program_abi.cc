#include "src/cpu/program_abi.h"

#include <algorithm>

#include "absl/base/call_once.h"
#include "src/base/rounding.h"
#include "src/base/thread_pool.h"
#include "src/cpu/array_copy.h"
#include "src/cpu/array_join.h"
#include "src/cpu/dense_solver.h"
#include "src/cpu/fft_kernels.h"
#include "src/cpu/gemm_blocks.h"
#include "src/cpu/gemm_pad.h"
#include "src/cpu/group_product.h"
#include "src/cpu/jit_symbols.h"
#include "src/cpu/radix_sort.h"
#include "src/cpu/row_product.h"
#include "src/cpu/row_tile_moves.h"
#include "src/cpu/run_profile.h"
#include "src/cpu/square_transposition.h"
#include "src/cpu/top_rows.h"
#include "src/cpu/winograd.h"

namespace kiln::cpu {

void ParallelFor(ProgramContext* context, TaskFunction* task, void* closure, int64_t count, int64_t grain,
                 int64_t nanoseconds) {
  if (context->pool == nullptr || count <= grain) {
    task(closure, 0, count);
    return;
  }
  if (context->max_parallelism > 0) {
    // Fewer, larger ranges keep other workers out.
    grain = std::max(grain, CeilDivide(count, context->max_parallelism));
  }
  context->pool->ParallelFor(count, grain, task, closure, nanoseconds);
}

bool RunCustomCall(ProgramContext* context, int32_t stage, int64_t number, void* const* buffers, int64_t buffer_count) {
  context->status = context->custom_calls[number]->Call(static_cast<CustomCall::Stage>(stage), context->custom_call_run,
                                                        {buffers, static_cast<size_t>(buffer_count)});
  return context->status.ok();
}

void MarkProfile(ProgramContext* context, int64_t instruction) { context->profile->Mark(instruction); }

void RegisterProgramSymbols() {
  static absl::once_flag once;
  absl::call_once(once, [] {
    AddRuntimeSymbol(kProfileName, reinterpret_cast<void*>(&MarkProfile));
    AddRuntimeSymbol(kParallelForName, reinterpret_cast<void*>(&ParallelFor));
    AddRuntimeSymbol(kCustomCallName, reinterpret_cast<void*>(&RunCustomCall));
    AddRuntimeSymbol(kCopyArrayName, reinterpret_cast<void*>(&CopyArray));
    AddRuntimeSymbol(kCopyAroundName, reinterpret_cast<void*>(&CopyAround));
    AddRuntimeSymbol(kPutBackName, reinterpret_cast<void*>(&PutBack));
    AddRuntimeSymbol(kJoinArraysName, reinterpret_cast<void*>(&JoinArrays));
    AddRuntimeSymbol(kSortRowsName, reinterpret_cast<void*>(&SortRows));
    AddRuntimeSymbol(kTopRowsName, reinterpret_cast<void*>(&TopRows));
    AddRuntimeSymbol(kDenseSolveName, reinterpret_cast<void*>(&RunDenseSolve));
    AddRuntimeSymbol(kGemmBlocksName, reinterpret_cast<void*>(&RunGemmBlocks));
    AddRuntimeSymbol(kGroupProductName, reinterpret_cast<void*>(&RunGroupProduct));
    AddRuntimeSymbol(kRowProductName, reinterpret_cast<void*>(&RunRowProduct));
    AddRuntimeSymbol(kWinogradWeightsName, reinterpret_cast<void*>(&TransformWinogradWeights));
    AddRuntimeSymbol(kWinogradName, reinterpret_cast<void*>(&RunWinograd));
    AddRuntimeSymbol(kRowChainName, reinterpret_cast<void*>(&RunRowChain));
    AddRuntimeSymbol(kFftPhaseName, reinterpret_cast<void*>(&RunFftPhase));
    AddRuntimeSymbol(kGemmPadName, reinterpret_cast<void*>(&PadGemmRows));
    AddRowTileMoves();
    AddSquareTranspositions();
  });
}

}  // namespace kiln::cpu
