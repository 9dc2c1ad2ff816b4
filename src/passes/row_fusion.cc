#include "src/passes/row_fusion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

// A row must fit the cache near a core several times over.
constexpr int64_t kMaxRowElements = 1 << 14;
constexpr int64_t kMinRowElements = 4;
// Ops emitted in all stages together, and how far back a group is looked for.
constexpr int64_t kMaxEmittedOps = 400;
constexpr size_t kMaxMembers = 128;
constexpr size_t kMaxParameters = 48;

DimensionVector WithoutOnes(absl::Span<const int64_t> dimensions) {
  DimensionVector result;
  for (int64_t size : dimensions) {
    if (size != 1) result.push_back(size);
  }
  return result;
}

// The arrays that a group of stages works on: [rows..., columns...].
struct RowSpace {
  DimensionVector full;
  int64_t row_rank = 0;

  DimensionVector Rows() const { return WithoutOnes(absl::MakeSpan(full).subspan(0, row_rank)); }
  int64_t RowElements() const {
    int64_t elements = 1;
    for (size_t i = row_rank; i < full.size(); ++i) elements *= full[i];
    return elements;
  }
};

bool ReducesTrailingDimensions(const Instruction& reduce) {
  if (reduce.opcode() != Opcode::kReduce || reduce.operand_count() != 2) return false;
  if (!reduce.operand(1)->IsConstant()) return false;
  DimensionVector dimensions = reduce.dimensions();
  std::sort(dimensions.begin(), dimensions.end());
  const int64_t rank = reduce.operand(0)->shape().rank();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] != rank - static_cast<int64_t>(dimensions.size() - i)) return false;
  }
  return !dimensions.empty();
}

class GroupFinder {
 public:
  GroupFinder(const std::vector<Instruction*>& order, const absl::flat_hash_set<const Instruction*>& taken)
      : order_(order), taken_(taken) {
    positions_.reserve(order.size());
    for (size_t i = 0; i < order.size(); ++i) positions_[order[i]] = i;
  }

  // The group that ends in order_[root], in post order with the root last; empty when there is none worth it.
  std::vector<Instruction*> Find(size_t root_position) {
    Instruction* root = order_[root_position];
    if (!hlo::IsElementwise(root->opcode()) || !root->shape().IsArray()) return {};
    std::optional<RowSpace> space = SpaceOf(root);
    if (!space.has_value()) return {};
    space_ = *space;
    rows_ = space_.Rows();
    if (space_.RowElements() > kMaxRowElements || space_.RowElements() < kMinRowElements) return {};
    if (!IsFull(root->shape()) && !IsRow(root->shape())) return {};
    members_ = {root};
    std::vector<Instruction*> group = {root};
    // Operands of members, the last in post order first: their users have been asked before them.
    std::priority_queue<size_t> candidates;
    auto offer_operands = [&](const Instruction& member) {
      for (const Instruction* operand : member.operands()) candidates.push(positions_.at(operand));
    };
    offer_operands(*root);
    while (!candidates.empty() && members_.size() < kMaxMembers) {
      Instruction* candidate = order_[candidates.top()];
      candidates.pop();
      if (members_.contains(candidate) || !Joins(*candidate)) continue;
      members_.insert(candidate);
      group.push_back(candidate);
      offer_operands(*candidate);
    }
    std::reverse(group.begin(), group.end());
    return IsWorthIt(group) ? group : std::vector<Instruction*>();
  }

 private:
  // Looks back from `root` for a reduce of trailing dimensions, which says what rows and columns are.
  std::optional<RowSpace> SpaceOf(const Instruction* root) const {
    std::vector<const Instruction*> work = {root};
    absl::flat_hash_set<const Instruction*> seen = {root};
    for (size_t i = 0; i < work.size() && work.size() < kMaxMembers; ++i) {
      const Instruction* instruction = work[i];
      if (ReducesTrailingDimensions(*instruction)) {
        const Shape& operand = instruction->operand(0)->shape();
        return RowSpace{operand.dimensions(),
                        operand.rank() - static_cast<int64_t>(instruction->dimensions().size())};
      }
      if (!hlo::IsElementwise(instruction->opcode()) && instruction->opcode() != Opcode::kBroadcast &&
          instruction->opcode() != Opcode::kReshape) {
        continue;
      }
      for (const Instruction* operand : instruction->operands()) {
        if (seen.insert(operand).second) work.push_back(operand);
      }
    }
    return std::nullopt;
  }

  bool IsFull(const Shape& shape) const { return shape.IsArray() && shape.dimensions() == space_.full; }
  bool IsRow(const Shape& shape) const { return shape.IsArray() && WithoutOnes(shape.dimensions()) == rows_; }

  // Rows broadcast along the columns.
  bool IsRowBroadcast(const Instruction& broadcast) const {
    if (broadcast.opcode() != Opcode::kBroadcast || !IsFull(broadcast.shape())) return false;
    if (!IsRow(broadcast.operand(0)->shape())) return false;
    for (size_t i = 0; i < broadcast.dimensions().size(); ++i) {
      if (broadcast.operand(0)->shape().dimensions(i) == 1) continue;
      if (broadcast.dimensions()[i] >= space_.row_rank) return false;
    }
    return true;
  }

  bool Joins(const Instruction& candidate) const {
    if (taken_.contains(&candidate) || candidate.IsRoot() || candidate.users().empty()) return false;
    if (!candidate.control_predecessors().empty()) return false;
    for (const Instruction* user : candidate.users()) {
      if (!members_.contains(user)) return false;
    }
    if (!IsFull(candidate.shape()) && !IsRow(candidate.shape())) return false;
    switch (candidate.opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kIota:
        return true;
      case Opcode::kReshape:
        return IsRow(candidate.shape()) && IsRow(candidate.operand(0)->shape());
      case Opcode::kReduce:
        return ReducesTrailingDimensions(candidate) && IsFull(candidate.operand(0)->shape()) &&
               static_cast<int64_t>(candidate.shape().rank()) == space_.row_rank;
      default:
        return hlo::IsElementwise(candidate.opcode());
    }
  }

  // A reduce must feed a later stage over the same rows; otherwise ordinary fusion does as well.
  bool IsWorthIt(const std::vector<Instruction*>& group) const {
    absl::flat_hash_set<const Instruction*> after_reduce;
    absl::flat_hash_set<const Instruction*> parameters;
    bool feeds = false;
    int64_t reduces = 0, full_ops = 0, row_ops = 0;
    for (const Instruction* member : group) {
      bool depends = member->opcode() == Opcode::kReduce;
      reduces += depends ? 1 : 0;
      for (const Instruction* operand : member->operands()) {
        depends |= after_reduce.contains(operand);
        if (!members_.contains(operand) && !operand->IsConstant()) parameters.insert(operand);
      }
      if (depends) after_reduce.insert(member);
      feeds |= IsRowBroadcast(*member) && after_reduce.contains(member->operand(0));
      (IsFull(member->shape()) ? full_ops : row_ops) += 1;
    }
    return feeds && (reduces + 1) * full_ops + row_ops <= kMaxEmittedOps && parameters.size() <= kMaxParameters;
  }

  const std::vector<Instruction*>& order_;
  const absl::flat_hash_set<const Instruction*>& taken_;
  absl::flat_hash_map<const Instruction*, size_t> positions_;
  RowSpace space_;
  DimensionVector rows_;
  absl::flat_hash_set<const Instruction*> members_;
};

// Moves `group`, in post order with its root last, into a fusion.
void Fuse(const std::vector<Instruction*>& group) {
  Instruction* root = group.back();
  Computation* computation = root->parent();
  Computation* body = computation->parent()->AddComputation(absl::StrCat("row_fused_", hlo::OpcodeName(root->opcode())));
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  std::vector<Instruction*> operands;
  for (Instruction* member : group) {
    std::vector<Instruction*> member_operands;
    for (Instruction* operand : member->operands()) {
      auto [it, inserted] = copies.try_emplace(operand, nullptr);
      if (inserted) {
        if (operand->IsConstant() && operand->shape().element_count() == 1) {
          it->second = body->AddClone(*operand, {});
        } else {
          it->second = body->AddParameter(static_cast<int64_t>(operands.size()), operand->shape());
          operands.push_back(operand);
        }
      }
      member_operands.push_back(it->second);
    }
    copies[member] = body->AddClone(*member, std::move(member_operands));
  }
  body->set_root(copies.at(root));
  Instruction* fusion = computation->Add(Opcode::kFusion, root->shape(), std::move(operands),
                                         hlo::FusionAttributes{hlo::FusionKind::kInput}, {body},
                                         absl::StrCat("row_", hlo::OpcodeName(root->opcode()), "_fusion"));
  fusion->CopyMetadataFrom(*root);
  root->ReplaceAllUsesWith(fusion);
}

bool FuseComputation(Computation* computation) {
  const std::vector<Instruction*> order = computation->PostOrder();
  absl::flat_hash_set<const Instruction*> taken;
  GroupFinder finder(order, taken);
  bool changed = false;
  for (size_t i = order.size(); i-- > 0;) {
    if (taken.contains(order[i])) continue;
    std::vector<Instruction*> group = finder.Find(i);
    if (group.empty()) continue;
    taken.insert(group.begin(), group.end());
    Fuse(group);
    changed = true;
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> RowFusion::Run(hlo::Module* module) {
  std::vector<Computation*> work = {module->entry()};
  absl::flat_hash_set<const Computation*> seen = {module->entry()};
  bool changed = false;
  for (size_t i = 0; i < work.size(); ++i) {
    changed |= FuseComputation(work[i]);
    for (const Instruction* instruction : work[i]->instructions()) {
      if (instruction->opcode() != Opcode::kWhile && instruction->opcode() != Opcode::kConditional) continue;
      for (Computation* callee : instruction->called_computations()) {
        if (seen.insert(callee).second) work.push_back(callee);
      }
    }
  }
  return changed;
}

}  // namespace kiln::passes
