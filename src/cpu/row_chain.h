// Chains over rows (analysis/row_groups.h, analysis/attention.h) as steps over blocks of them: what RunRowChain is
// given for a fusion.
#ifndef KILN_CPU_ROW_CHAIN_H_
#define KILN_CPU_ROW_CHAIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cpu/gemm_blocks.h"
#include "src/cpu/matrix_product.h"
#include "src/hlo/instruction.h"
#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::cpu {

// Arrays are numbered: the fusion's operands, its results, constants. Values between steps are -1, -2 and so on.
struct RowChainPlan {
  struct Step {
    std::string name;
    std::unique_ptr<MatrixProduct::Part> product;  // null: a kernel
    int64_t lhs = 0, rhs = 0, out = 0;
    int64_t lhs_offset = 0, rhs_offset = 0;  // bytes
    kernel::Kernel kernel;
    std::vector<kernel::NestSchedule> schedules;
    int64_t group = 1;  // rows or tasks of a group
    int64_t groups_of_task = 1;
    int64_t shared = 1;             // groups of the chain in one of the kernel's
    std::vector<int64_t> pointers;  // arrays of the kernel, or of the product's functions
  };
  struct Value {
    int64_t group_bytes = 0;
    size_t made = 0, last = 0;  // steps that write it, and that read it last
    int64_t shared = 1;         // groups that have a part in common, which is kept from block to block
  };
  std::vector<Step> steps;
  std::vector<Value> values;
  std::vector<const hlo::Literal*> constants;
  int64_t arrays = 0;
  int64_t unit = 1;  // groups that blocks are multiples of
  RowChainBlocks blocks;
  std::vector<RowChainValue> places;  // of the values
  int64_t tasks = 0;
  int64_t least_tasks = 1;  // that one thread had better do, one after the other
  double nanoseconds = 0;   // estimate for one thread

  // As it stands in memory, given the description of each step, which is empty for a kernel.
  std::vector<int64_t> Describe(const std::vector<std::vector<int64_t>>& descriptions) const;
};

// The chain that `fusion`, which is one, is on this machine; null where there are no kernels for it.
absl::StatusOr<std::unique_ptr<RowChainPlan>> PlanRowChain(const hlo::Instruction& fusion,
                                                           const kernel::TargetInfo& target, int threads);
absl::StatusOr<std::unique_ptr<RowChainPlan>> PlanAttention(const hlo::Instruction& fusion,
                                                            const kernel::TargetInfo& target, int threads);

std::string ToString(const RowChainPlan& plan);

// The parts of planning. Kernels: that of `instruction`, whose tasks divide `groups`; false where it has another form.
absl::StatusOr<bool> PlanChainKernel(const hlo::Instruction& instruction, int64_t groups, kernel::TargetInfo target,
                                     RowChainPlan* plan, RowChainPlan::Step* step);
// Places and blocks, once kernels are planned: `groups`, of which no block goes beyond a part of `batch`, with at most
// `group_rows` rows of a product in each; 0: there is none.
void PlanChainBlocks(int64_t groups, int64_t batch, int64_t group_rows, int threads, RowChainPlan* plan);
// Products, whose tiles suit blocks of `block` rows; longer sums over k than twice `stretch` are made in parts. Small
// ones have no plan unless they may have `any_size`.
std::optional<GemmPlan> PlanChainProduct(const GemmSpec& spec, int64_t block, int64_t stretch, const std::string& name,
                                         int threads, bool any_size = false);
// Whether the memory that a thread takes is within bounds, once all is planned.
bool FitsThread(const RowChainPlan& plan);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_CHAIN_H_
