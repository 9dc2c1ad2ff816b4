#include "src/passes/thin_products.h"

#include "absl/container/flat_hash_set.h"
#include "src/analysis/fusion_model.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// Of numbers that are packed before they are multiplied, and of others.
constexpr int64_t kMostNarrowTerms = 6, kMostTerms = 4;
// Smaller results, and rows of a few vectors, are made as soon by what small products have of their own.
constexpr int64_t kMinThinElements = 1 << 15;
constexpr int64_t kMinThinColumns = 64;

// Whether a product reads `value`, or what a few elementwise ops make of it.
bool IsReadByProducts(const Instruction& value) {
  constexpr size_t kMostValues = 32;
  std::vector<const Instruction*> values = {&value};
  absl::flat_hash_set<const Instruction*> seen;
  for (size_t i = 0; i < values.size(); ++i) {
    for (const Instruction* user : values[i]->users()) {
      if (user->opcode() == Opcode::kDot || user->opcode() == Opcode::kConvolution) return true;
      const bool goes_on = hlo::IsElementwise(user->opcode()) || user->opcode() == Opcode::kReshape ||
                           user->opcode() == Opcode::kTranspose;
      if (!goes_on || !seen.insert(user).second) continue;
      if (values.size() == kMostValues) return true;
      values.push_back(user);
    }
  }
  return false;
}

// Place `at` of `dimension`, which goes away.
Instruction* TakeFrom(Builder& b, Instruction* matrix, int64_t dimension, int64_t at) {
  hlo::SliceAttributes slice{{0, 0}, matrix->shape().dimensions(), {1, 1}};
  slice.start[dimension] = at;
  slice.limit[dimension] = at + 1;
  return b.Reshape(b.Slice(matrix, slice), {matrix->shape().dimensions(1 - dimension)});
}

Instruction* ExpandThinProduct(Instruction* dot) {
  const auto& attributes = dot->Get<hlo::DotAttributes>();
  Instruction* lhs = dot->operands()[0];
  Instruction* rhs = dot->operands()[1];
  const PrimitiveType type = dot->shape().element_type();
  const bool is_of_matrices = attributes.lhs_batch.empty() && attributes.lhs_contracting.size() == 1 &&
                              lhs->shape().rank() == 2 && rhs->shape().rank() == 2;
  // Vectors run along the columns of a result, and load those of rhs.
  if (!analysis::HasPlainShape(*dot) || !is_of_matrices || attributes.rhs_contracting[0] != 0 || hlo::IsComplex(type)) {
    return nullptr;
  }
  const int64_t terms = rhs->shape().dimensions(0);
  if (terms < 1 || terms > (hlo::BitWidth(type) < 32 ? kMostNarrowTerms : kMostTerms) ||
      rhs->shape().dimensions(1) < kMinThinColumns || dot->shape().element_count() < kMinThinElements ||
      IsReadByProducts(*dot)) {
    return nullptr;
  }
  // Narrow floats are summed up in f32 and rounded once.
  const PrimitiveType sum_type = hlo::IsFloating(type) && hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
  Builder b(dot->parent(), dot);
  Instruction* sum = nullptr;
  for (int64_t term = 0; term < terms; ++term) {
    const auto spread = [&](Instruction* side, int64_t contracted, int64_t along) {
      Instruction* taken = b.Convert(TakeFrom(b, side, contracted, term), sum_type);
      return b.Broadcast(taken, dot->shape().dimensions(), {along});
    };
    Instruction* product =
        b.Binary(Opcode::kMultiply, spread(lhs, attributes.lhs_contracting[0], 0), spread(rhs, 0, 1));
    sum = sum == nullptr ? product : b.Binary(Opcode::kAdd, sum, product);
  }
  return b.Convert(sum, type);
}

}  // namespace

absl::StatusOr<bool> ExpandThinProducts(Module* module) {
  return ReplaceOps(module, {Opcode::kDot}, ExpandThinProduct);
}

}  // namespace kiln::passes
