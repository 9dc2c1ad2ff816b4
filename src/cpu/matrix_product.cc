#include "src/cpu/matrix_product.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/cpu/convolution_spec.h"
#include "src/cpu/dot_spec.h"
#include "src/kernel/kernel_builder.h"
#include "src/kernel/lower_nest.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::Opcode;

namespace {

// What the loops of a dot's product count through: its result's dimensions are batch dimensions, m and n.
std::vector<kernel::EpilogueLoop> DotLoops(const Instruction& dot) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const size_t taken = attributes.lhs_batch.size() + attributes.lhs_contracting.size();
  std::vector<kernel::EpilogueLoop> loops;
  int64_t next = 0;
  const auto add = [&](bool exists) {
    loops.emplace_back();
    if (!exists) return;
    loops.back().parts.push_back({next, dot.shape().dimensions(next), 1});
    ++next;
  };
  for (size_t i = 0; i < attributes.lhs_batch.size(); ++i) add(true);
  add(dot.operand(0)->shape().dimensions().size() > taken);
  add(dot.operand(1)->shape().dimensions().size() > taken);
  return loops;
}

int64_t ParameterNumber(const Instruction* operand) {
  return operand->IsParameter() ? operand->parameter_number() : -1;
}

GemmEpilogue MakeEpilogue(const kernel::Kernel* kernel, const kernel::TargetInfo& target,
                          const std::vector<kernel::EpilogueLoop>& loops) {
  // Of batch dimensions, outer rows, m and n.
  std::vector<int64_t> sizes;
  for (const kernel::EpilogueLoop& loop : loops) sizes.push_back(loop.size());
  return [kernel, &target, sizes](const GemmEpilogueArguments& arguments,
                                  const kernel::Value& sum) -> absl::StatusOr<kernel::Value> {
    llvm::IRBuilder<>& b = *arguments.builder;
    std::vector<llvm::Value*> parameters;
    for (size_t i = 0; i < kernel->parameters.size(); ++i) {
      parameters.push_back(b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), arguments.extra, i)));
    }
    const size_t outer = sizes.size() - 2;
    std::vector<llvm::Value*> values(sizes.size());
    llvm::Value* rest = arguments.batch_index;
    for (size_t i = outer; i-- > 0;) {
      llvm::Value* size = b.getInt64(sizes[i]);
      values[i] = i == 0 ? rest : b.CreateURem(rest, size);
      if (i > 0) rest = b.CreateUDiv(rest, size);
    }
    values[outer] = arguments.m_index;
    values[outer + 1] = arguments.n_index;
    // The kernel has loops for those that have iterations.
    std::vector<llvm::Value*> loop_values(kernel->loops.size(), nullptr);
    int vector_loop = -1;
    for (size_t i = 0, next = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1) continue;
      const int loop = kernel->nests[0].loops[next++];
      loop_values[loop] = values[i];
      if (i == (arguments.lanes_along_m ? outer : outer + 1) && arguments.lanes > 1) vector_loop = loop;
    }
    return kernel::LowerEpilogue(&b, *kernel, target, parameters, loop_values, vector_loop, arguments.lanes, sum);
  };
}

}  // namespace

absl::StatusOr<std::optional<MatrixProduct>> FindMatrixProduct(const Instruction& instruction,
                                                               const kernel::TargetInfo& target, int threads) {
  MatrixProduct product;
  const auto is_contraction = [](const Instruction& i) {
    return i.opcode() == Opcode::kDot || i.opcode() == Opcode::kConvolution;
  };
  if (is_contraction(instruction)) {
    product.hero = &instruction;
  } else if (instruction.opcode() == Opcode::kFusion) {
    for (const Instruction* member : instruction.called_computation()->instructions()) {
      if (!is_contraction(*member)) continue;
      if (product.hero != nullptr) return std::nullopt;
      product.hero = member;
    }
  }
  if (product.hero == nullptr) return std::nullopt;
  std::vector<ConvolutionSpec> products;
  if (product.hero->opcode() == Opcode::kDot) {
    if (!IsMatrixProduct(*product.hero)) return std::nullopt;
    products.push_back({MatrixProductOf(*product.hero), DotLoops(*product.hero)});
  } else {
    products = ConvolutionProductsOf(*product.hero, target.vector_bytes / 4);
    if (products.empty()) return std::nullopt;
  }
  if (&instruction != product.hero) {
    product.lhs_operand = ParameterNumber(product.hero->operand(0));
    product.rhs_operand = ParameterNumber(product.hero->operand(1));
    if (product.lhs_operand < 0 || product.rhs_operand < 0) return std::nullopt;
  }
  for (ConvolutionSpec& one : products) {
    MatrixProduct::Part part;
    part.spec = std::move(one.gemm);
    if (&instruction != product.hero) {
      auto epilogue = kernel::BuildEpilogue(instruction, *product.hero, one.loops);
      if (absl::IsUnimplemented(epilogue.status())) return std::nullopt;
      KILN_RETURN_IF_ERROR(epilogue.status());
      part.epilogue = std::make_unique<kernel::Kernel>(*std::move(epilogue));
      part.spec.out.type = instruction.shape().element_type();
      part.spec.epilogue = MakeEpilogue(part.epilogue.get(), target, one.loops);
    }
    std::string name(instruction.name());
    if (products.size() > 1) absl::StrAppend(&name, ".", product.parts.size());
    auto plan = PlanGemm(part.spec, name, threads);
    if (absl::IsUnimplemented(plan.status())) return std::nullopt;
    if (!plan.ok()) return Annotate(plan.status(), instruction.Describe());
    part.plan = *std::move(plan);
    product.parts.push_back(std::move(part));
  }
  return product;
}

int64_t MatrixProduct::scratch_bytes() const {
  int64_t bytes = 0;
  for (const Part& part : parts) bytes = std::max(bytes, part.plan.scratch_bytes);
  return bytes;
}

int64_t MatrixProduct::estimated_nanoseconds() const {
  int64_t sum = 0;
  for (const Part& part : parts) sum += part.plan.estimated_nanoseconds;
  return sum;
}

}  // namespace kiln::cpu
