#include "src/cpu/matrix_product.h"

#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/cpu/dot_spec.h"
#include "src/kernel/kernel_builder.h"
#include "src/kernel/lower_nest.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::Opcode;

namespace {

// The loop variables of an epilogue: the dot's dimensions are its batch dimensions, then m, then n, as far as they exist.
struct LoopValues {
  std::vector<llvm::Value*> loops;
  int vector_loop = -1;
};

LoopValues LoopsOf(const GemmSpec& spec, const kernel::Kernel& epilogue, bool has_m, bool has_n,
                   const GemmEpilogueArguments& arguments) {
  llvm::IRBuilder<>& b = *arguments.builder;
  LoopValues result;
  result.loops.resize(epilogue.loops.size(), nullptr);
  size_t next = 0;
  auto bind = [&](int64_t size, llvm::Value* value, bool lanes) {
    if (size == 1) return;
    const int loop = epilogue.nests[0].loops[next++];
    result.loops[loop] = value;
    if (lanes && arguments.lanes > 1) result.vector_loop = loop;
  };
  std::vector<llvm::Value*> batch(spec.batch.size());
  llvm::Value* rest = arguments.batch_index;
  for (size_t i = spec.batch.size(); i-- > 0;) {
    llvm::Value* size = b.getInt64(spec.batch[i].size);
    batch[i] = i == 0 ? rest : b.CreateURem(rest, size);
    if (i > 0) rest = b.CreateUDiv(rest, size);
  }
  for (size_t i = 0; i < batch.size(); ++i) bind(spec.batch[i].size, batch[i], false);
  if (has_m) bind(spec.m, arguments.m_index, arguments.lanes_along_m);
  if (has_n) bind(spec.n, arguments.n_index, !arguments.lanes_along_m);
  return result;
}

int64_t ParameterNumber(const Instruction* operand) {
  return operand->IsParameter() ? operand->parameter_number() : -1;
}

}  // namespace

absl::StatusOr<std::optional<MatrixProduct>> FindMatrixProduct(const Instruction& instruction,
                                                               const kernel::TargetInfo& target, int threads) {
  MatrixProduct product;
  if (instruction.opcode() == Opcode::kDot) {
    product.dot = &instruction;
  } else if (instruction.opcode() == Opcode::kFusion) {
    for (const Instruction* member : instruction.called_computation()->instructions()) {
      if (member->opcode() != Opcode::kDot) continue;
      if (product.dot != nullptr) return std::nullopt;
      product.dot = member;
    }
  }
  if (product.dot == nullptr || !IsMatrixProduct(*product.dot)) return std::nullopt;
  product.spec = MatrixProductOf(*product.dot);
  if (&instruction != product.dot) {
    product.lhs_operand = ParameterNumber(product.dot->operand(0));
    product.rhs_operand = ParameterNumber(product.dot->operand(1));
    if (product.lhs_operand < 0 || product.rhs_operand < 0) return std::nullopt;
    auto epilogue = kernel::BuildEpilogue(instruction, *product.dot);
    if (absl::IsUnimplemented(epilogue.status())) return std::nullopt;
    KILN_RETURN_IF_ERROR(epilogue.status());
    product.epilogue = std::make_unique<kernel::Kernel>(*std::move(epilogue));
    product.spec.out.type = instruction.shape().element_type();
    const auto& attributes = product.dot->Get<hlo::DotAttributes>();
    const size_t taken = attributes.lhs_batch.size() + attributes.lhs_contracting.size();
    const bool has_m = product.dot->operand(0)->shape().dimensions().size() > taken;
    const bool has_n = product.dot->operand(1)->shape().dimensions().size() > taken;
    const kernel::Kernel* kernel = product.epilogue.get();
    // The batch alone is copied: the spec itself owns this function.
    GemmSpec sizes;
    sizes.batch = product.spec.batch;
    sizes.m = product.spec.m;
    sizes.n = product.spec.n;
    product.spec.epilogue = [kernel, &target, sizes, has_m, has_n](
                                const GemmEpilogueArguments& arguments,
                                const kernel::Value& sum) -> absl::StatusOr<kernel::Value> {
      llvm::IRBuilder<>& b = *arguments.builder;
      std::vector<llvm::Value*> parameters;
      for (size_t i = 0; i < kernel->parameters.size(); ++i) {
        parameters.push_back(b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), arguments.extra, i)));
      }
      LoopValues values = LoopsOf(sizes, *kernel, has_m, has_n, arguments);
      return kernel::LowerEpilogue(&b, *kernel, target, parameters, values.loops, values.vector_loop, arguments.lanes,
                                   sum);
    };
  }
  auto plan = PlanGemm(product.spec, instruction.name(), threads);
  if (absl::IsUnimplemented(plan.status())) return std::nullopt;
  if (!plan.ok()) return Annotate(plan.status(), instruction.Describe());
  product.plan = *std::move(plan);
  return product;
}

}  // namespace kiln::cpu
