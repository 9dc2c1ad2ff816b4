#include "src/passes/transpose_folding.h"

#include <algorithm>
#include <utility>


namespace kiln::passes {
namespace {

using hlo::DotAttributes;

bool IsCanonical(const Instruction& dot) {
  const DotAttributes& attributes = dot.Get<DotAttributes>();
  const size_t batch = attributes.lhs_batch.size(), contracting = attributes.lhs_contracting.size();
  return contracting == 1 && dot.operand(0)->shape().rank() <= static_cast<int64_t>(batch + 2) &&
         dot.operand(1)->shape().rank() <= static_cast<int64_t>(batch + 2);
}

// Reads operand `index` of a canonical dot through its transpose.
bool FoldOperand(Instruction* dot, int64_t index) {
  const Instruction& transpose = *dot->operand(index);
  if (transpose.opcode() != Opcode::kTranspose) return false;
  DotAttributes attributes = dot->Get<DotAttributes>();
  DimensionVector& batch = index == 0 ? attributes.lhs_batch : attributes.rhs_batch;
  DimensionVector& contracting = index == 0 ? attributes.lhs_contracting : attributes.rhs_contracting;
  for (int64_t& dimension : batch) dimension = transpose.dimensions()[dimension];
  for (int64_t& dimension : contracting) dimension = transpose.dimensions()[dimension];
  // Neither rows nor columns would be contiguous.
  if (Contains(batch, transpose.shape().rank() - 1)) return false;
  *dot->GetMutable<DotAttributes>() = std::move(attributes);
  dot->ReplaceOperand(index, transpose.operand(0));
  return true;
}

// transpose(dot(a, b)) that puts the second free dimension before the first, by way of dot(b, a).
Instruction* FoldResult(const Instruction& transpose) {
  Instruction* dot = transpose.operand(0);
  if (dot->opcode() != Opcode::kDot || dot->users().size() != 1 || !IsCanonical(*dot)) return nullptr;
  const DotAttributes& old = dot->Get<DotAttributes>();
  const int64_t batch = static_cast<int64_t>(old.lhs_batch.size());
  DimensionVector permutation(transpose.dimensions().begin(), transpose.dimensions().end());
  const auto first = absl::c_find(permutation, batch);
  const auto second = absl::c_find(permutation, batch + 1);
  if (dot->shape().rank() != batch + 2 || first < second) return nullptr;
  std::iter_swap(first, second);
  DotAttributes swapped = old;
  std::swap(swapped.lhs_batch, swapped.rhs_batch);
  std::swap(swapped.lhs_contracting, swapped.rhs_contracting);
  if (swapped.operand_precision.size() == 2) std::swap(swapped.operand_precision[0], swapped.operand_precision[1]);
  Builder builder(dot->parent(), dot);
  DimensionVector sizes(dot->shape().dimensions().begin(), dot->shape().dimensions().end());
  std::swap(sizes[batch], sizes[batch + 1]);
  Instruction* product = builder.Add(Opcode::kDot, Shape(transpose.shape().element_type(), sizes),
                                     {dot->operand(1), dot->operand(0)}, std::move(swapped));
  return builder.Transpose(product, permutation);
}

// Reads operand `index` of a convolution through its transpose: which dimension is what is an attribute.
bool FoldConvolutionOperand(Instruction* convolution, int64_t index) {
  const Instruction& transpose = *convolution->operand(index);
  if (transpose.opcode() != Opcode::kTranspose) return false;
  auto& attributes = *convolution->GetMutable<hlo::ConvolutionAttributes>();
  auto map = [&](int64_t* dimension) { *dimension = transpose.dimensions()[*dimension]; };
  map(index == 0 ? &attributes.input_batch : &attributes.kernel_input_feature);
  map(index == 0 ? &attributes.input_feature : &attributes.kernel_output_feature);
  for (int64_t& dimension : index == 0 ? attributes.input_spatial : attributes.kernel_spatial) map(&dimension);
  convolution->ReplaceOperand(index, transpose.operand(0));
  return true;
}

// transpose(convolution(x, w)) as a convolution that writes its dimensions in that order.
Instruction* FoldConvolutionResult(const Instruction& transpose) {
  Instruction* convolution = transpose.operand(0);
  if (convolution->opcode() != Opcode::kConvolution || convolution->users().size() != 1) return nullptr;
  hlo::ConvolutionAttributes attributes = convolution->Get<hlo::ConvolutionAttributes>();
  const auto& permutation = transpose.dimensions();
  auto map = [&](int64_t* dimension) { *dimension = absl::c_find(permutation, *dimension) - permutation.begin(); };
  map(&attributes.output_batch);
  map(&attributes.output_feature);
  for (int64_t& dimension : attributes.output_spatial) map(&dimension);
  Builder builder(convolution->parent(), convolution);
  return builder.Add(Opcode::kConvolution, transpose.shape(), {convolution->operand(0), convolution->operand(1)},
                     std::move(attributes));
}

}  // namespace

absl::StatusOr<bool> FoldTransposes(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (!computation->MayContain(Opcode::kDot) && !computation->MayContain(Opcode::kConvolution)) continue;
    bool rewritten = false;
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kDot && instruction->operand_count() == 2 && IsCanonical(*instruction)) {
        // Chains of transposes fold one by one.
        for (int64_t index = 0; index < 2; ++index) {
          while (FoldOperand(instruction, index)) rewritten = true;
        }
      } else if (instruction->opcode() == Opcode::kConvolution) {
        for (int64_t index = 0; index < 2; ++index) {
          while (FoldConvolutionOperand(instruction, index)) rewritten = true;
        }
      } else if (instruction->opcode() == Opcode::kTranspose && instruction->shape().HasDescendingLayout()) {
        Instruction* product = FoldResult(*instruction);
        if (product == nullptr) product = FoldConvolutionResult(*instruction);
        if (product == nullptr) continue;
        instruction->ReplaceAllUsesWith(product);
        rewritten = true;
      }
    }
    if (rewritten) computation->RemoveDeadInstructions();
    changed |= rewritten;
  }
  return changed;
}

}  // namespace kiln::passes
