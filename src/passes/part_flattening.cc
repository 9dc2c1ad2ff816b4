#include "src/passes/part_flattening.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/fusion_model.h"

namespace kiln::passes {
namespace {

// Of an array, and of the ops on parts that stand for a group of ops.
constexpr int64_t kMaxParts = 16;
constexpr size_t kMaxPartOps = 512;

// How arrays of `whole` are cut along `dimension`: where each part begins, and the end of the last.
struct Cut {
  DimensionVector whole;
  int64_t dimension = 0;
  std::vector<int64_t> places;

  size_t parts() const { return places.size() - 1; }
  DimensionVector DimensionsOf(size_t part) const {
    DimensionVector dimensions = whole;
    dimensions[dimension] = places[part + 1] - places[part];
    return dimensions;
  }
  // Of what ops are made: a part of one place loses the dimension, as what is stacked had before it was.
  DimensionVector KeptDimensionsOf(size_t part) const {
    DimensionVector dimensions = DimensionsOf(part);
    if (dimensions[dimension] == 1) dimensions.erase(dimensions.begin() + dimension);
    return dimensions;
  }
  // The part that the slice lies in.
  std::optional<size_t> PartOf(const hlo::SliceAttributes& slice) const {
    for (size_t part = 0; part < parts(); ++part) {
      if (slice.start[dimension] >= places[part] && slice.limit[dimension] <= places[part + 1]) return part;
    }
    return std::nullopt;
  }
  bool operator==(const Cut&) const = default;
};

std::optional<Cut> CutOf(const Instruction& concatenation) {
  if (concatenation.operand_count() < 2 || concatenation.operand_count() > kMaxParts) return std::nullopt;
  Cut cut{concatenation.shape().dimensions(), concatenation.dimensions()[0], {0}};
  for (const Instruction* operand : concatenation.operands()) {
    cut.places.push_back(cut.places.back() + operand->shape().dimensions(cut.dimension));
  }
  return cut;
}

// Concatenations that are cut alike and elementwise ops over them, each after its operands.
struct PartGroup {
  Cut cut;
  std::vector<Instruction*> ops;
};

// The groups of a computation: an op belongs to the one that its operands of its dimensions do; to none where these are
// of several cuts.
class Groups {
 public:
  explicit Groups(const Computation& computation) {
    const std::vector<Instruction*> order = computation.PostOrder();
    for (const Instruction* op : order) {
      if (!analysis::HasPlainShape(*op) || !op->control_predecessors().empty()) continue;
      if (op->opcode() == Opcode::kConcatenate) {
        if (std::optional<Cut> cut = CutOf(*op)) {
          group_of_[op] = groups_.size();
          groups_.push_back({*std::move(cut), {}});
          joined_with_.push_back(group_of_[op]);
        }
      } else if (hlo::IsElementwise(op->opcode())) {
        AddElementwise(*op);
      }
    }
    for (Instruction* op : order) {
      const auto found = group_of_.find(op);
      if (found != group_of_.end()) groups_[Find(found->second)].ops.push_back(op);
    }
  }

  const std::vector<PartGroup>& groups() const { return groups_; }

 private:
  void AddElementwise(const Instruction& op) {
    std::optional<size_t> group;
    for (const Instruction* operand : op.operands()) {
      if (operand->shape().dimensions() != op.shape().dimensions()) continue;
      const auto found = group_of_.find(operand);
      if (found == group_of_.end()) continue;
      const size_t other = Find(found->second);
      if (group.has_value() && !(groups_[*group].cut == groups_[other].cut)) return;
      if (group.has_value()) joined_with_[other] = *group;
      group = Find(other);
    }
    if (group.has_value()) group_of_[&op] = *group;
  }

  size_t Find(size_t group) {
    while (joined_with_[group] != group) group = joined_with_[group] = joined_with_[joined_with_[group]];
    return group;
  }

  std::vector<PartGroup> groups_;
  std::vector<size_t> joined_with_;  // a group that it is part of, in the end itself
  absl::flat_hash_map<const Instruction*, size_t> group_of_;
};

class Flattening {
 public:
  explicit Flattening(const PartGroup& group)
      : cut_(group.cut), ops_(group.ops), members_(group.ops.begin(), group.ops.end()) {}

  // Whether arrays go away whose parts alone are read, and no more are joined than before.
  bool Pays() const {
    if (ops_.size() * cut_.parts() > kMaxPartOps) return false;
    int64_t joined = 0;
    bool goes_away = false;
    for (const Instruction* op : ops_) {
      bool is_wanted = op->IsRoot(), is_read_in_parts = false;
      for (const Instruction* user : op->users()) {
        if (members_.contains(user)) continue;
        if (user->opcode() != Opcode::kSlice) {
          is_wanted = true;
        } else if (!cut_.PartOf(user->Get<hlo::SliceAttributes>()).has_value()) {
          return false;
        } else {
          is_read_in_parts = true;
        }
      }
      if (op->opcode() == Opcode::kConcatenate) {
        joined -= is_wanted ? 0 : 1;
      } else {
        joined += is_wanted ? 1 : 0;
        goes_away |= is_read_in_parts && !is_wanted;
      }
    }
    return goes_away && joined <= 0;
  }

  void Run() {
    for (Instruction* op : ops_) {
      Builder builder(op->parent(), op);
      std::vector<Instruction*> parts;
      for (size_t part = 0; part < cut_.parts(); ++part) parts.push_back(PartOf(*op, part, builder));
      if (op->opcode() != Opcode::kConcatenate) Replace(op, parts, builder);
      parts_[op] = std::move(parts);
    }
  }

 private:
  Instruction* PartOf(const Instruction& op, size_t part, Builder& builder) {
    if (op.opcode() == Opcode::kConcatenate) return builder.Reshape(op.operands()[part], cut_.KeptDimensionsOf(part));
    std::vector<Instruction*> operands;
    for (Instruction* operand : op.operands()) {
      // Scalars of select and clamp are those of every part.
      const bool is_whole = operand->shape().dimensions() == cut_.whole;
      operands.push_back(is_whole ? PartOfOperand(operand, part, builder) : operand);
    }
    return builder.Add(op.opcode(), Shape(op.shape().element_type(), cut_.KeptDimensionsOf(part)), std::move(operands),
                       op.attributes());
  }

  Instruction* PartOfOperand(Instruction* operand, size_t part, Builder& builder) {
    std::vector<Instruction*>& parts = parts_[operand];
    parts.resize(cut_.parts());
    if (parts[part] == nullptr) {
      hlo::SliceAttributes slice{DimensionVector(cut_.whole.size(), 0), cut_.whole,
                                 DimensionVector(cut_.whole.size(), 1)};
      slice.start[cut_.dimension] = cut_.places[part];
      slice.limit[cut_.dimension] = cut_.places[part + 1];
      parts[part] = builder.Reshape(builder.Slice(operand, slice), cut_.KeptDimensionsOf(part));
    }
    return parts[part];
  }

  // Slices of `op` become those of its parts; what else reads it gets them joined.
  void Replace(Instruction* op, const std::vector<Instruction*>& parts, Builder& builder) {
    bool is_wanted = op->IsRoot();
    const std::vector<Instruction*> users(op->users().begin(), op->users().end());
    for (Instruction* user : users) {
      if (members_.contains(user)) continue;
      if (user->opcode() != Opcode::kSlice) {
        is_wanted = true;
        continue;
      }
      hlo::SliceAttributes slice = user->Get<hlo::SliceAttributes>();
      // Another group may have taken slices of its own.
      const std::optional<size_t> part = cut_.PartOf(slice);
      if (!part.has_value()) {
        is_wanted = true;
        continue;
      }
      slice.start[cut_.dimension] -= cut_.places[*part];
      slice.limit[cut_.dimension] -= cut_.places[*part];
      user->ReplaceAllUsesWith(builder.Slice(Whole(parts[*part], *part, builder), slice));
    }
    if (!is_wanted) return;
    std::vector<Instruction*> wholes;
    for (size_t part = 0; part < parts.size(); ++part) wholes.push_back(Whole(parts[part], part, builder));
    Instruction* joined = builder.Concatenate(wholes, cut_.dimension);
    op->ReplaceAllUsesWith(joined);
    // Ops of the group that are yet to come read it too, and take its parts.
    parts_[joined] = parts;
  }

  Instruction* Whole(Instruction* part, size_t number, Builder& builder) {
    return builder.Reshape(part, cut_.DimensionsOf(number));
  }

  const Cut& cut_;
  const std::vector<Instruction*>& ops_;
  absl::flat_hash_set<const Instruction*> members_;
  absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> parts_;
};

}  // namespace

absl::StatusOr<bool> FlattenParts(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (!computation->MayContain(Opcode::kConcatenate) || !computation->MayContain(Opcode::kSlice)) continue;
    const Groups found(*computation);
    std::vector<Flattening> flattened;
    for (const PartGroup& group : found.groups()) {
      if (group.ops.size() < 2) continue;
      if (Flattening flattening(group); flattening.Pays()) flattened.push_back(std::move(flattening));
    }
    for (Flattening& flattening : flattened) flattening.Run();
    if (!flattened.empty()) computation->RemoveDeadInstructions();
    changed |= !flattened.empty();
  }
  return changed;
}

}  // namespace kiln::passes
