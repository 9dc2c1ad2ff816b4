#include "src/passes/dot_merger.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace kiln::passes {
namespace {

// Two products of 4 rows by 4 MB took 1.05 of the time when they were one.
constexpr int64_t kMinMatrixBytes = 16 << 20;
constexpr int64_t kMaxRows = 16;

// A product of a matrix and few rows: every number of the result is a row times a row or column of the matrix.
struct RowProduct {
  Instruction* dot;
  Instruction* matrix;
  Instruction* rows;
  int64_t contracting;  // of the matrix
  int64_t count;        // of the rows
};

std::optional<RowProduct> AsRowProduct(Instruction* dot, int64_t side_of_rows) {
  const auto& a = dot->Get<hlo::DotAttributes>();
  if (dot->operand_count() != 2 || !a.lhs_batch.empty() || a.lhs_contracting.size() != 1) return std::nullopt;
  Instruction *rows = dot->operand(side_of_rows), *matrix = dot->operand(1 - side_of_rows);
  const DimensionVector& of_rows = side_of_rows == 0 ? a.lhs_contracting : a.rhs_contracting;
  const DimensionVector& of_matrix = side_of_rows == 0 ? a.rhs_contracting : a.lhs_contracting;
  const int64_t rank = rows->shape().rank();
  // Rows on the right would be columns of the result.
  const bool has_rows = rank == 1 || (rank == 2 && side_of_rows == 0 && of_rows[0] == 1);
  if (!has_rows || matrix->shape().rank() != 2 || matrix->shape().byte_count() < kMinMatrixBytes ||
      rows->shape().element_type() != matrix->shape().element_type()) {
    return std::nullopt;
  }
  return RowProduct{dot, matrix, rows, of_matrix[0], rank == 1 ? 1 : rows->shape().dimensions(0)};
}

bool AreAlike(const RowProduct& x, const RowProduct& y) {
  const auto &a = x.dot->Get<hlo::DotAttributes>(), &b = y.dot->Get<hlo::DotAttributes>();
  return x.matrix == y.matrix && x.contracting == y.contracting && a.operand_precision == b.operand_precision &&
         a.algorithm == b.algorithm && x.dot->shape().element_type() == y.dot->shape().element_type();
}

// Whether it comes from outside by a few steps, so that it needs no product.
bool IsGiven(const Instruction* x) {
  constexpr int kMaxSteps = 8;
  for (int i = 0; i < kMaxSteps && x->operand_count() == 1; ++i) x = x->operand(0);
  return x->IsParameter() || x->IsConstant();
}

void Merge(Computation* computation, const std::vector<RowProduct>& group) {
  const RowProduct& first = group[0];
  Builder builder(computation, first.dot);
  const int64_t size = first.matrix->shape().dimensions(first.contracting);
  const int64_t columns = first.matrix->shape().dimensions(1 - first.contracting);
  std::vector<Instruction*> rows;
  int64_t count = 0;
  for (const RowProduct& product : group) {
    rows.push_back(builder.Reshape(product.rows, {product.count, size}));
    count += product.count;
  }
  hlo::DotAttributes attributes = first.dot->Get<hlo::DotAttributes>();
  attributes.lhs_contracting = {1};
  attributes.rhs_contracting = {first.contracting};
  Instruction* all = builder.Add(Opcode::kDot, Shape(first.dot->shape().element_type(), {count, columns}),
                                 {builder.Concatenate(rows, 0), first.matrix}, std::move(attributes));
  int64_t start = 0;
  for (const RowProduct& product : group) {
    hlo::SliceAttributes slice;
    slice.start = {start, 0};
    slice.limit = {start + product.count, columns};
    slice.stride = {1, 1};
    start += product.count;
    Instruction* part = builder.Reshape(builder.Slice(all, slice), product.dot->shape().dimensions());
    product.dot->ReplaceAllUsesWith(part);
  }
}

bool MergeIn(Computation* computation) {
  std::vector<std::vector<RowProduct>> groups;
  absl::flat_hash_map<const Instruction*, int64_t> position;  // in order
  absl::flat_hash_map<const Instruction*, size_t> group_of;   // by the matrix
  int64_t next = 0;
  for (Instruction* instruction : computation->PostOrder()) {
    position[instruction] = next++;
    if (instruction->opcode() != Opcode::kDot || instruction->IsRoot()) continue;
    std::optional<RowProduct> product = AsRowProduct(instruction, 0);
    if (!product) product = AsRowProduct(instruction, 1);
    if (!product || !instruction->control_predecessors().empty()) continue;
    const auto [it, is_new] = group_of.try_emplace(product->matrix, groups.size());
    if (is_new) {
      groups.push_back({*product});
      continue;
    }
    std::vector<RowProduct>& group = groups[it->second];
    int64_t count = product->count;
    for (const RowProduct& other : group) count += other.count;
    // Rows that are made from a product of the group cannot be part of it.
    const bool is_independent = IsGiven(product->rows) || position[product->rows] < position[group[0].dot];
    if (AreAlike(group[0], *product) && is_independent && count <= kMaxRows) group.push_back(*product);
  }
  bool changed = false;
  for (const std::vector<RowProduct>& group : groups) {
    if (group.size() < 2) continue;
    Merge(computation, group);
    changed = true;
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> MergeDots(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (computation->MayContain(Opcode::kDot)) changed |= MergeIn(computation);
  }
  return changed;
}

}  // namespace kiln::passes
