#include "src/cpu/matrix_product.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "src/analysis/fusion_model.h"
#include "src/base/status.h"
#include "src/cpu/convolution_spec.h"
#include "src/cpu/dot_spec.h"
#include "src/kernel/iterations.h"
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

// Rough multiply-adds that stand for making an element of `value`.
double WorkOf(const Instruction& value) {
  constexpr double kWorkPerOperation = 2;
  std::vector<const Instruction*> reached = {&value};
  double work = kWorkPerOperation;  // to store it
  for (size_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]->IsParameter() && analysis::CostOf(*reached[i]) != analysis::EvaluationCost::kFree) {
      work += kWorkPerOperation;
    }
    for (const Instruction* operand : reached[i]->operands()) {
      if (!absl::c_linear_search(reached, operand)) reached.push_back(operand);
    }
  }
  return work;
}

llvm::Value* PointerAt(llvm::IRBuilder<>& b, llvm::Value* table, size_t number) {
  return b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), table, number));
}

// The dimension of a dot's operand along which it lies in memory, and the other one of its matrices.
kernel::OperandPlace DimensionsOf(const Instruction& dot, bool is_lhs) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const hlo::DimensionVector& batch = is_lhs ? attributes.lhs_batch : attributes.rhs_batch;
  kernel::OperandPlace place{-1, -1};
  for (int64_t d = 0; d < dot.operand(is_lhs ? 0 : 1)->shape().rank(); ++d) {
    if (absl::c_linear_search(batch, d)) continue;
    place.outer = std::exchange(place.inner, d);
  }
  return place;
}

GemmOperand MakeOperand(const kernel::Kernel* kernel, const kernel::TargetInfo& target, const Instruction& dot,
                        bool is_lhs, const kernel::OperandPlace& place, int64_t run, size_t first_constant) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const hlo::DimensionVector batch = is_lhs ? attributes.lhs_batch : attributes.rhs_batch;
  const hlo::DimensionVector dimensions = dot.operand(is_lhs ? 0 : 1)->shape().dimensions();
  // Behind the inputs stand the place and constants.
  const auto output =
      static_cast<size_t>(absl::c_find_if(kernel->parameters, [](const kernel::Parameter& p) { return p.is_output; }) -
                          kernel->parameters.begin());
  return [=, &target](const GemmOperandArguments& arguments) -> absl::Status {
    llvm::IRBuilder<>& b = *arguments.builder;
    // Where element (0, 0) of the operand would be.
    const int64_t bytes = hlo::ByteWidth(kernel->parameters[output].type);
    llvm::Value* offset = b.CreateAdd(b.CreateMul(arguments.outer, b.getInt64(place.pitch)), arguments.inner);
    if (place.panel > 0) {
      llvm::Value* panel = b.CreateUDiv(arguments.inner, b.getInt64(place.panel));
      offset = b.CreateAdd(b.CreateMul(arguments.outer, b.getInt64(place.pitch)),
                           b.CreateMul(panel, b.getInt64(place.panel_stride)));
    }
    std::vector<llvm::Value*> parameters;
    for (size_t i = 0; i < kernel->parameters.size(); ++i) {
      parameters.push_back(
          i == output ? b.CreateGEP(b.getInt8Ty(), arguments.to, b.CreateNeg(b.CreateMul(offset, b.getInt64(bytes))))
                      : PointerAt(b, arguments.extra, i < output ? i : i - output - 1 + first_constant));
    }
    std::vector<kernel::LoopRange> box(dimensions.size());
    box[place.outer] = {-1, arguments.outer, b.CreateAdd(arguments.outer, arguments.outer_count)};
    box[place.inner] = {-1, arguments.inner, b.CreateAdd(arguments.inner, arguments.inner_count)};
    llvm::Value* rest = arguments.batch_index;
    for (size_t i = batch.size(); i-- > 0;) {
      llvm::Value* size = b.getInt64(dimensions[batch[i]]);
      llvm::Value* at = i == 0 ? rest : b.CreateURem(rest, size);
      rest = b.CreateUDiv(rest, size);
      box[batch[i]] = {-1, at, b.CreateAdd(at, b.getInt64(1))};
    }
    std::vector<kernel::LoopRange> ranges;
    size_t next = 0;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      if (dimensions[d] == 1) continue;
      ranges.push_back(box[d]);
      ranges.back().loop = kernel->nests[0].loops[next++];
    }
    // Several vectors share the work of finding their places.
    constexpr int kMaxVectors = 4;
    const int vector = std::max<int>(target.vector_bytes / std::max<int>(static_cast<int>(bytes), 4), 1);
    int lanes = vector;
    while (lanes < kMaxVectors * vector && run % (2 * lanes) == 0) lanes *= 2;
    return kernel::LowerBox(&b, *kernel, target, parameters, ranges, lanes, /*aligned=*/run % lanes == 0);
  };
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
      parameters.push_back(PointerAt(b, arguments.extra, i));
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

// Adds the kernel of a side that is made; false where there is none.
absl::StatusOr<bool> MakeSide(const Instruction& fusion, const Instruction& dot, bool is_lhs,
                              const kernel::TargetInfo& target, MatrixProduct::Part* part) {
  const GemmOperandPlace planned = PlaceOfOperand(part->spec, part->plan, is_lhs);
  kernel::OperandPlace place = DimensionsOf(dot, is_lhs);
  place.pitch = planned.pitch;
  place.panel = planned.panel;
  place.panel_stride = planned.panel_stride;
  const hlo::PrimitiveType type = (is_lhs ? part->spec.lhs : part->spec.rhs).type;
  if (type != dot.operand(is_lhs ? 0 : 1)->shape().element_type()) place.type = type;
  auto kernel = kernel::BuildOperand(fusion, *dot.operand(is_lhs ? 0 : 1), place);
  if (absl::IsUnimplemented(kernel.status())) return false;
  KILN_RETURN_IF_ERROR(kernel.status());
  size_t first_constant = static_cast<size_t>(fusion.operand_count()) + 1;
  for (const kernel::Kernel* before : part->kernels()) {
    first_constant += before->parameters.size() - static_cast<size_t>(fusion.operand_count()) - 1;
  }
  auto& own = is_lhs ? part->lhs : part->rhs;
  own = std::make_unique<kernel::Kernel>(*std::move(kernel));
  (is_lhs ? part->spec.make_lhs : part->spec.make_rhs) =
      MakeOperand(own.get(), target, dot, is_lhs, place, planned.run, first_constant);
  return true;
}

}  // namespace

std::vector<const kernel::Kernel*> MatrixProduct::Part::kernels() const {
  std::vector<const kernel::Kernel*> kernels;
  for (const auto* kernel : {&epilogue, &lhs, &rhs}) {
    if (*kernel != nullptr) kernels.push_back(kernel->get());
  }
  return kernels;
}

absl::StatusOr<std::optional<MatrixProduct>> FindMatrixProduct(const Instruction& instruction,
                                                               const kernel::TargetInfo& target, int threads,
                                                               const GemmPlanner& planner) {
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
    const bool is_made = product.lhs_operand < 0 || product.rhs_operand < 0;
    if (is_made && product.hero->opcode() != Opcode::kDot) return std::nullopt;
  }
  for (ConvolutionSpec& one : products) {
    MatrixProduct::Part part;
    part.spec = std::move(one.gemm);
    if (&instruction != product.hero && instruction.called_computation()->root() != product.hero) {
      auto epilogue = kernel::BuildEpilogue(instruction, *product.hero, one.loops);
      if (absl::IsUnimplemented(epilogue.status())) return std::nullopt;
      KILN_RETURN_IF_ERROR(epilogue.status());
      part.epilogue = std::make_unique<kernel::Kernel>(*std::move(epilogue));
      part.epilogue->has_few_elements = kernel::HasFewElements(*part.epilogue);
      part.spec.out.type = instruction.shape().element_type();
      part.spec.epilogue = MakeEpilogue(part.epilogue.get(), target, one.loops);
    }
    if (product.lhs_operand < 0) part.spec.lhs_work = WorkOf(*product.hero->operand(0));
    if (product.rhs_operand < 0) part.spec.rhs_work = WorkOf(*product.hero->operand(1));
    const hlo::PrimitiveType made_type = MadeType(part.spec, part.spec.rhs.type);
    if (product.lhs_operand < 0) part.spec.lhs.type = made_type;
    if (product.rhs_operand < 0) part.spec.rhs.type = made_type;
    std::string name(instruction.name());
    if (products.size() > 1) absl::StrAppend(&name, ".", product.parts.size());
    const auto planned = [&] { return planner ? planner(part.spec, name) : PlanGemm(part.spec, name, threads); };
    auto plan = planned();
    // A padded copy for groups of elements is of another type than one for single elements.
    if (plan.ok() && part.spec.padded_before &&
        (plan->schedule.depth > 1) != (product.parts.back().plan.schedule.depth > 1)) {
      part.spec.padded_before = false;
      plan = planned();
    }
    if (absl::IsUnimplemented(plan.status())) return std::nullopt;
    if (!plan.ok()) return Annotate(plan.status(), instruction.Describe());
    part.plan = *std::move(plan);
    // As kernels compiled with Kiln do.
    if (part.epilogue != nullptr) part.epilogue->flushes_subnormals = part.plan.schedule.IsCompiled();
    for (const bool is_lhs : {true, false}) {
      if ((is_lhs ? product.lhs_operand : product.rhs_operand) >= 0) continue;
      KILN_ASSIGN_OR_RETURN(const bool made, MakeSide(instruction, *product.hero, is_lhs, target, &part));
      if (!made) return std::nullopt;
    }
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
