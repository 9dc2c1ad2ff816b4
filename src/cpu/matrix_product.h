// Matrix products of a program: a dot or convolution, or a fusion around one whose epilogue runs on the product's
// registers.
#ifndef KILN_CPU_MATRIX_PRODUCT_H_
#define KILN_CPU_MATRIX_PRODUCT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cpu/gemm.h"
#include "src/hlo/instruction.h"
#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::cpu {

struct MatrixProduct {
  const hlo::Instruction* hero = nullptr;  // the dot or convolution
  // Operands of the instruction that the product's sides are; -1: made of them in front of the product.
  int64_t lhs_operand = 0;
  int64_t rhs_operand = 1;
  // Run one after the other, in the same scratch memory.
  struct Part {
    std::unique_ptr<kernel::Kernel> epilogue;  // null: the hero alone
    std::unique_ptr<kernel::Kernel> lhs, rhs;  // of sides that are made
    GemmSpec spec;                             // refers to the kernels and to the target info it was made with

    // In the order in which their constants stand behind operands and result in `extra`.
    std::vector<const kernel::Kernel*> kernels() const;
    GemmPlan plan;
  };
  std::vector<Part> parts;

  int64_t scratch_bytes() const;
  int64_t estimated_nanoseconds() const;  // on one thread
};

// The product that `instruction` is, or nothing when it is none that generated matrix products know; then a plain
// kernel computes it. In generated code `extra` is an array of pointers: to the operands, the result, and the constants
// of all kernels. `planner` plans in the place of PlanGemm.
using GemmPlanner = std::function<absl::StatusOr<GemmPlan>(const GemmSpec& spec, const std::string& name)>;
absl::StatusOr<std::optional<MatrixProduct>> FindMatrixProduct(const hlo::Instruction& instruction,
                                                               const kernel::TargetInfo& target, int threads,
                                                               const GemmPlanner& planner = nullptr);

}  // namespace kiln::cpu

#endif  // KILN_CPU_MATRIX_PRODUCT_H_
