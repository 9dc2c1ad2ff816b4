// Attention in blocks of rows (analysis/attention.h): what RunAttentionBlocks is given for a fusion.
#ifndef KILN_CPU_ATTENTION_STEP_H_
#define KILN_CPU_ATTENTION_STEP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cpu/gemm.h"
#include "src/cpu/gemm_blocks.h"
#include "src/hlo/instruction.h"
#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::cpu {

struct AttentionStep {
  // Operands of the fusion; of the operation on rows, -1 for the scores, which are its operand `scores`.
  int64_t query = 0, key = 0, value = 0;
  int64_t offsets[3] = {0, 0, 0};  // bytes before the first element of each
  std::vector<int64_t> row_operands;
  int64_t scores = 0;
  // The operation on rows, over all of them: a task is a row.
  kernel::Kernel rows;
  kernel::NestSchedule schedule;
  GemmSpec first, second;  // of a batch's rows, the scores and weights lying row by row
  GemmPlan first_plan, second_plan;
  AttentionBlocks blocks;
  int64_t tasks = 0;
  double nanoseconds = 0;  // estimate for one thread
};

// The step that `fusion`, which has such parts, is; null where there are no kernels for it.
absl::StatusOr<std::unique_ptr<AttentionStep>> PlanAttention(const hlo::Instruction& fusion,
                                                             const kernel::TargetInfo& target, int threads);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ATTENTION_STEP_H_
