#include "src/passes/dot_canonicalization.h"

#include <utility>
#include <vector>

#include "src/base/cpu_tuning.h"

namespace kiln::passes {
namespace {

using hlo::DotAttributes;

// One operand with its dimensions by role.
struct DotSide {
  Instruction* operand;
  DimensionVector batch, contracting, free;
  bool batch_apart = false;  // batch dimensions stay as many as they are
};

DimensionVector FreeDimensions(const Instruction& operand, const DimensionVector& batch,
                               const DimensionVector& contracting) {
  DimensionVector free;
  for (int64_t i = 0; i < operand.shape().rank(); ++i) {
    if (!Contains(batch, i) && !Contains(contracting, i)) {
      free.push_back(i);
    }
  }
  return free;
}

// Apart from batch dimensions.
bool IsCanonical(const DotSide& side) {
  const auto& dimensions = side.operand->shape().dimensions();
  return side.contracting.size() <= 1 && side.free.size() <= 1 && !Contains(dimensions, 1);
}

// Drops dimensions of size 1, which are so on both sides for batch and contracting ones.
void DropUnitDimensions(DotSide* side, Builder& builder) {
  const auto& sizes = side->operand->shape().dimensions();
  DimensionVector kept, position(sizes.size(), -1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    position[i] = static_cast<int64_t>(kept.size());
    kept.push_back(sizes[i]);
  }
  for (DimensionVector* role : {&side->batch, &side->contracting, &side->free}) {
    DimensionVector renumbered;
    for (int64_t dimension : *role) {
      if (position[dimension] >= 0) renumbered.push_back(position[dimension]);
    }
    *role = renumbered;
  }
  side->operand = builder.Reshape(side->operand, kept);
}

// Whether `dimensions` follow each other in memory in this order.
bool AreAdjacent(const DimensionVector& dimensions) {
  for (size_t i = 1; i < dimensions.size(); ++i) {
    if (dimensions[i] != dimensions[i - 1] + 1) return false;
  }
  return true;
}

bool NeedsTranspose(const DotSide& side) {
  return (!side.batch_apart && !AreAdjacent(side.batch)) || !AreAdjacent(side.contracting) || !AreAdjacent(side.free);
}

// Whether making one of the batch dimensions would take a copy. Products read operands through any strides, but
// something has to be contiguous.
bool KeepsBatchApart(const DotSide& lhs, const DotSide& rhs) {
  if (AreAdjacent(lhs.batch) && AreAdjacent(rhs.batch)) return false;
  for (const DotSide* side : {&lhs, &rhs}) {
    const int64_t innermost = side->operand->shape().rank() - 1;
    if (Contains(side->batch, innermost)) return false;
  }
  return true;
}

// Contracting pairs may stand in any order. Takes the one that spares most transposes: as given, or ascending on one
// side.
void OrderContracting(DotSide* lhs, DotSide* rhs) {
  auto sorted_by = [&](const DimensionVector& key) {
    std::vector<size_t> order(key.size());
    absl::c_iota(order, 0);
    absl::c_sort(order, [&](size_t a, size_t b) { return key[a] < key[b]; });
    return order;
  };
  auto apply = [](const DimensionVector& dimensions, const std::vector<size_t>& order) {
    DimensionVector result;
    for (size_t i : order) result.push_back(dimensions[i]);
    return result;
  };
  int fewest = 3;
  DimensionVector best_lhs, best_rhs;
  for (const auto& order : {sorted_by(lhs->contracting), sorted_by(rhs->contracting)}) {
    const DimensionVector l = apply(lhs->contracting, order), r = apply(rhs->contracting, order);
    const int transposes = (AreAdjacent(l) ? 0 : 1) + (AreAdjacent(r) ? 0 : 1);
    if (transposes >= fewest) continue;
    fewest = transposes;
    best_lhs = l;
    best_rhs = r;
  }
  lhs->contracting = best_lhs;
  rhs->contracting = best_rhs;
}

// Makes the dimensions of each role one. `contracting_last` says where a transpose puts them, when one is needed.
void MergeDimensions(DotSide* side, bool contracting_last, Builder& builder) {
  if (NeedsTranspose(*side)) {
    DimensionVector permutation(side->batch);
    const DimensionVector& second = contracting_last ? side->free : side->contracting;
    const DimensionVector& third = contracting_last ? side->contracting : side->free;
    permutation.insert(permutation.end(), second.begin(), second.end());
    permutation.insert(permutation.end(), third.begin(), third.end());
    side->operand = builder.Transpose(side->operand, permutation);
    DimensionVector position(permutation.size());
    for (size_t i = 0; i < permutation.size(); ++i) position[permutation[i]] = static_cast<int64_t>(i);
    for (DimensionVector* role : {&side->batch, &side->contracting, &side->free}) {
      for (int64_t& dimension : *role) dimension = position[dimension];
    }
  }
  // Roles in the order in which they lie in memory.
  std::vector<DimensionVector> batch;
  if (!side->batch_apart && !side->batch.empty()) {
    batch.push_back(side->batch);
  } else {
    for (int64_t dimension : side->batch) batch.push_back({dimension});
  }
  std::vector<DimensionVector*> roles;
  for (DimensionVector& role : batch) roles.push_back(&role);
  for (DimensionVector* role : {&side->contracting, &side->free}) {
    if (!role->empty()) roles.push_back(role);
  }
  absl::c_sort(roles, [](const DimensionVector* a, const DimensionVector* b) { return a->front() < b->front(); });
  DimensionVector merged;
  for (size_t i = 0; i < roles.size(); ++i) {
    int64_t size = 1;
    for (int64_t dimension : *roles[i]) size *= side->operand->shape().dimensions(dimension);
    merged.push_back(size);
    *roles[i] = {static_cast<int64_t>(i)};
  }
  side->batch.clear();
  for (const DimensionVector& role : batch) side->batch.push_back(role.front());
  side->operand = builder.Reshape(side->operand, merged);
}

// Sizes of batch, lhs free and rhs free dimensions, in the order of a dot's result.
DimensionVector ResultDimensions(const DotSide& lhs, const DotSide& rhs) {
  DimensionVector dimensions;
  for (int64_t d : lhs.batch) dimensions.push_back(lhs.operand->shape().dimensions(d));
  for (int64_t d : lhs.free) dimensions.push_back(lhs.operand->shape().dimensions(d));
  for (int64_t d : rhs.free) dimensions.push_back(rhs.operand->shape().dimensions(d));
  return dimensions;
}

// Nothing is contracted: each result element is one product.
Instruction* MultiplyBroadcasts(const DotSide& lhs, const DotSide& rhs, PrimitiveType type, Builder& builder) {
  const DimensionVector dimensions = ResultDimensions(lhs, rhs);
  auto spread = [&](const DotSide& side, size_t free_offset) {
    // Where each operand dimension goes in the result.
    DimensionVector map(side.operand->shape().rank());
    for (size_t i = 0; i < side.batch.size(); ++i) map[side.batch[i]] = static_cast<int64_t>(i);
    for (size_t i = 0; i < side.free.size(); ++i) map[side.free[i]] = static_cast<int64_t>(free_offset + i);
    // Broadcasts map in ascending order.
    DimensionVector permutation(map.size());
    absl::c_iota(permutation, 0);
    absl::c_sort(permutation, [&](int64_t a, int64_t b) { return map[a] < map[b]; });
    Instruction* operand = builder.Transpose(builder.Convert(side.operand, type), permutation);
    absl::c_sort(map);
    return builder.Broadcast(operand, dimensions, map);
  };
  return builder.Binary(Opcode::kMultiply, spread(lhs, lhs.batch.size()),
                        spread(rhs, lhs.batch.size() + lhs.free.size()));
}

// The sum over two vectors. Of long ones reductions are divided among threads and round less than a product's loop over
// steps does; short ones fill registers, where the steps of a product would wait for each other, and are one kernel with
// what is made of the sum.
bool IsSumOfVectors(const Instruction& dot) {
  constexpr int64_t kFewest = 8, kShort = 512;
  const hlo::PrimitiveType type = dot.shape().element_type();
  for (const Instruction* operand : dot.operands()) {
    if (operand->shape().rank() != 1 || operand->shape().element_type() != type) return false;
  }
  if ((type != hlo::PrimitiveType::kF32 && type != hlo::PrimitiveType::kF64) || dot.shape().rank() != 0) return false;
  const int64_t count = dot.operand(0)->shape().element_count();
  return count >= Tuning().threads.dot_elements || (count >= kFewest && count <= kShort);
}

bool HasFreeDimensions(const DotSide& side) {
  return absl::c_any_of(side.free, [&](int64_t d) { return side.operand->shape().dimensions(d) != 1; });
}

// Whether each element of the result is the sum over two rows of their own: as a reduction it becomes one kernel with
// what makes the rows, which then need no memory.
bool IsSumOfRows(const Instruction& dot, const DotSide& lhs, const DotSide& rhs) {
  const hlo::PrimitiveType type = dot.shape().element_type();
  return (type == hlo::PrimitiveType::kF32 || type == hlo::PrimitiveType::kF64) &&
         lhs.operand->shape().element_type() == type && rhs.operand->shape().element_type() == type &&
         dot.shape().element_count() > 1 && !HasFreeDimensions(lhs) && !HasFreeDimensions(rhs) &&
         !lhs.contracting.empty();
}

// Null where the dimensions of the two do not stand in one order.
Instruction* SumOfRows(DotSide lhs, DotSide rhs, PrimitiveType type, Builder& builder) {
  DropUnitDimensions(&lhs, builder);
  DropUnitDimensions(&rhs, builder);
  if (lhs.batch != rhs.batch || lhs.contracting != rhs.contracting || lhs.contracting.empty() ||
      !absl::c_is_sorted(lhs.batch)) {
    return nullptr;
  }
  absl::c_sort(lhs.contracting);
  Instruction* products = builder.Binary(Opcode::kMultiply, lhs.operand, rhs.operand);
  return builder.Reduce(products, builder.Scalar(type, 0), lhs.contracting, Opcode::kAdd);
}

// The canonical form of `dot`, or null when it has it.
Instruction* Canonicalize(Instruction* dot) {
  const DotAttributes& attributes = dot->Get<DotAttributes>();
  DotSide lhs{dot->operand(0), attributes.lhs_batch, attributes.lhs_contracting,
              FreeDimensions(*dot->operand(0), attributes.lhs_batch, attributes.lhs_contracting)};
  DotSide rhs{dot->operand(1), attributes.rhs_batch, attributes.rhs_contracting,
              FreeDimensions(*dot->operand(1), attributes.rhs_batch, attributes.rhs_contracting)};
  if (IsSumOfVectors(*dot)) {
    hlo::Builder builder(dot->parent(), dot);
    Instruction* products = builder.Binary(Opcode::kMultiply, lhs.operand, rhs.operand);
    return builder.Reduce(products, builder.Scalar(dot->shape().element_type(), 0), {0}, Opcode::kAdd);
  }
  if (IsSumOfRows(*dot, lhs, rhs)) {
    Builder builder(dot->parent(), dot);
    if (Instruction* sum = SumOfRows(lhs, rhs, dot->shape().element_type(), builder)) {
      return builder.Reshape(sum, dot->shape().dimensions());
    }
  }
  if (IsCanonical(lhs) && IsCanonical(rhs) && !lhs.contracting.empty() &&
      (lhs.batch.size() <= 1 || KeepsBatchApart(lhs, rhs))) {
    return nullptr;
  }

  Builder builder(dot->parent(), dot);
  DropUnitDimensions(&lhs, builder);
  DropUnitDimensions(&rhs, builder);
  const PrimitiveType type = dot->shape().element_type();
  Instruction* result = nullptr;
  if (lhs.contracting.empty()) {
    result = MultiplyBroadcasts(lhs, rhs, type, builder);
  } else {
    OrderContracting(&lhs, &rhs);
    lhs.batch_apart = rhs.batch_apart = KeepsBatchApart(lhs, rhs);
    MergeDimensions(&lhs, /*contracting_last=*/true, builder);
    MergeDimensions(&rhs, /*contracting_last=*/false, builder);
    DotAttributes merged = attributes;
    merged.lhs_batch = lhs.batch;
    merged.rhs_batch = rhs.batch;
    merged.lhs_contracting = lhs.contracting;
    merged.rhs_contracting = rhs.contracting;
    result = builder.Add(Opcode::kDot, Shape(type, ResultDimensions(lhs, rhs)), {lhs.operand, rhs.operand},
                         std::move(merged));
  }
  return builder.Reshape(result, dot->shape().dimensions());
}

}  // namespace

absl::StatusOr<bool> CanonicalizeDots(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (!computation->MayContain(Opcode::kDot)) continue;
    bool rewritten = false;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kDot || instruction->operand_count() != 2 ||
          instruction->shape().has_dynamic_dimensions()) {
        continue;
      }
      Instruction* canonical = Canonicalize(instruction);
      if (canonical == nullptr) continue;
      instruction->ReplaceAllUsesWith(canonical);
      rewritten = true;
    }
    if (rewritten) computation->RemoveDeadInstructions();
    changed |= rewritten;
  }
  return changed;
}

}  // namespace kiln::passes
