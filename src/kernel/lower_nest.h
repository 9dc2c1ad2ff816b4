// Lowers a scheduled nest to LLVM IR: explicit loops and vectors at the builder's insertion point.
#ifndef KILN_KERNEL_LOWER_NEST_H_
#define KILN_KERNEL_LOWER_NEST_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "llvm/IR/IRBuilder.h"
#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"
#include "src/kernel/thread_mapping.h"

namespace kiln::kernel {

// Emits the iterations [begin, end) of the schedule's task loop (i64 values; null: all of them) over the arrays that
// `parameters` point to, one per kernel parameter. Afterwards the builder stands behind the loops, in the same
// function. Vector accesses assume element alignment only.
//
// With `threads` the code is what every thread of a launch runs: the task loop, which may end with the vector loop
// then, is divided as they say (`begin` and `end` are null), and loops behind it over the threads of a group.
//
// `rooms`: bytes from the beginning of each array on that no other array is in (0, or none: as many as it has).
absl::Status LowerNest(llvm::IRBuilder<>* builder, const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                       const TargetInfo& target, absl::Span<llvm::Value* const> parameters, llvm::Value* begin,
                       llvm::Value* end, ThreadMapping* threads = nullptr, absl::Span<const int64_t> rooms = {});

// Emits the body of an epilogue (BuildEpilogue) once, without loops: `loops[l]` is the i64 value of loop l, `vector_loop` (or
// -1) the one whose iterations are the `lanes` lanes of `external`, all of them inside the extent. Returns the value to store.
absl::StatusOr<Value> LowerEpilogue(llvm::IRBuilder<>* builder, const Kernel& kernel, const TargetInfo& target,
                                    absl::Span<llvm::Value* const> parameters, absl::Span<llvm::Value* const> loops,
                                    int vector_loop, int lanes, const Value& external);

// Iterations [first, limit) of a loop, i64.
struct LoopRange {
  int loop = -1;
  llvm::Value *first = nullptr, *limit = nullptr;
};

// Emits the iterations of the kernel's only nest that are in all ranges, of which there is one for each of its loops,
// outermost first. Lanes are those of the last range; where it is `aligned`, they begin at a multiple of `lanes`.
absl::Status LowerBox(llvm::IRBuilder<>* builder, const Kernel& kernel, const TargetInfo& target,
                      absl::Span<llvm::Value* const> parameters, absl::Span<const LoopRange> box, int lanes,
                      bool aligned);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_LOWER_NEST_H_
