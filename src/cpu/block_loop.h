// Loops whose rounds work on each block of elements by itself.
#ifndef KILN_CPU_BLOCK_LOOP_H_
#define KILN_CPU_BLOCK_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/analysis/buffer_assignment.h"
#include "src/cpu/program_emitter.h"
#include "src/hlo/instruction.h"

namespace kiln::cpu {

// Elements of a block of what kernels in loops do along one dimension, if that is not much: the same for all of them,
// and few, so that few elements are some blocks.
inline constexpr int64_t kLoopBlock = 128;

// A while loop that every block of its arrays can go through alone, from the first round to the last: what a round
// writes for a block is made of that block, of small state that every block keeps for itself, and of what the loop
// does not change. One block's state stays in the nearest cache, and threads meet once instead of in every round.
struct BlockLoop {
  int64_t blocks = 1;            // the tasks of each kernel in `kernels`
  int64_t blocks_together = 1;   // that go through a round together, so that it is worth its calls
  double block_nanoseconds = 0;  // of all rounds
  absl::flat_hash_set<const hlo::Instruction*> kernels;  // over blocks; the others are for every block
  std::vector<int> shared;                               // buffers of arrays
  std::vector<int> state, temporaries;                   // buffers that every block has its own of
};

// Nothing where the loop is no such one, or has too little to do. Kernels are those that `kernel_of` gives; null for
// instructions that have other code, or none. For so many threads.
std::optional<BlockLoop> PlanBlockLoop(const hlo::Instruction& loop, const analysis::BufferAssignment& buffers,
                                       const std::function<const ScheduledKernel*(const hlo::Instruction&)>& kernel_of,
                                       int threads);

}  // namespace kiln::cpu

#endif  // KILN_CPU_BLOCK_LOOP_H_
