#include "src/passes/row_fusion.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/analysis/arithmetic_cost.h"
#include "src/analysis/fusion_model.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

// A row must fit the second-level cache several times over. Rows that are worked on as lanes share few sets of it where
// strides are powers of two.
constexpr int64_t kMaxStridedRowElements = 1 << 7;
// Of large arrays with functions in them also those that are near: a softmax over the second of 32 by 256 by 1024
// numbers takes half of the time; norms by mean and variance took 1.4 times as long.
constexpr int64_t kMaxNearRowElements = 1 << 8, kMaxNearStride = 4 << 10, kMinNearBytes = 4 << 20;
constexpr int64_t kMinLaneRows = 16;
constexpr int64_t kMinRowElements = 2;
// Ops emitted in all stages together, and bounds on one kernel.
constexpr int64_t kMaxRowOps = 400;
constexpr size_t kMaxRowMembers = 128;
constexpr size_t kMaxRowParameters = 48;
// What is read more often is no part of a group: every group near it would look at all who read it.
constexpr size_t kMaxRowUsers = 1 << 10;
constexpr size_t kMaxOutputs = 8;
constexpr int64_t kMaxFullOutputs = 3;
constexpr int64_t kMinSharedElements = 1 << 12;
constexpr int64_t kNoSpread = int64_t{1} << 40;

// The arrays that a group of stages works on: those dimensions that are not reduced count rows.
struct RowSpace {
  DimensionVector full;
  std::vector<bool> reduced;
  int64_t element_bytes;

  explicit RowSpace(const Instruction& reduce)
      : full(reduce.operand(0)->shape().dimensions()),
        reduced(full.size(), false),
        element_bytes(hlo::ByteWidth(reduce.operand(0)->shape().element_type())) {
    for (int64_t d : reduce.dimensions()) reduced[d] = true;
  }

  DimensionVector Rows() const {
    DimensionVector rows;
    for (size_t d = 0; d < full.size(); ++d) {
      if (!reduced[d] && full[d] != 1) rows.push_back(full[d]);
    }
    return rows;
  }

  // Whether rows lie across a large array, with elements close together.
  bool IsNear() const {
    int64_t bytes = element_bytes, stride = element_bytes;
    for (size_t d = 0; d < full.size(); ++d) {
      bytes *= full[d];
      stride = reduced[d] ? element_bytes : stride * full[d];
    }
    return stride <= kMaxNearStride && bytes >= kMinNearBytes;
  }

  bool NeedsFunctions() const {
    int64_t elements = 1;
    for (size_t d = 0; d < full.size(); ++d) elements *= reduced[d] ? full[d] : 1;
    return !reduced.back() && elements > kMaxStridedRowElements;
  }

  bool Fits() const {
    int64_t elements = 1, minor = -1;
    for (size_t d = 0; d < full.size(); ++d) {
      if (reduced[d]) elements *= full[d];
      if (full[d] != 1) minor = static_cast<int64_t>(d);
    }
    if (minor < 0 || elements < kMinRowElements) return false;
    if (!reduced[minor]) {
      return elements <= (IsNear() ? kMaxNearRowElements : kMaxStridedRowElements) && full[minor] >= kMinLaneRows;
    }
    return elements <= (Rows().empty() ? Tuning().kernels.single_row_elements : Tuning().kernels.row_elements);
  }
};

bool ReducesRows(const Instruction& reduce) {
  if (reduce.opcode() != Opcode::kReduce || reduce.dimensions().empty() || !analysis::IsReduction(reduce)) return false;
  const auto starts = reduce.operands().subspan(reduce.operand_count() / 2);
  return absl::c_all_of(starts, [](const Instruction* start) { return start->IsConstant(); });
}

// The one that is used of several results of a reduce, as where a row's maximum stands.
bool IsOfSeveral(const Instruction& element) {
  return element.opcode() == Opcode::kGetTupleElement && element.operand(0)->users().size() == 1 &&
         ReducesRows(*element.operand(0));
}

// Computed from arguments, and from small arrays that are spread, in few cheap steps.
bool IsMadeFromLittle(const Instruction& value, int steps) {
  constexpr int64_t kMinGrowth = 8;
  if (value.IsParameter() || analysis::IsRematerialized(value)) return true;
  if (value.opcode() == Opcode::kBroadcast) {
    return value.operand(0)->shape().byte_count() * kMinGrowth <= value.shape().byte_count();
  }
  return hlo::IsElementwise(value.opcode()) && steps > 0 &&
         analysis::CostOf(value) != analysis::EvaluationCost::kExpensive &&
         absl::c_all_of(value.operands(),
                        [&](const Instruction* operand) { return IsMadeFromLittle(*operand, steps - 1); });
}

// One such step, or a division.
bool IsOneStepFromLittle(const Instruction& value) {
  const bool divides = value.opcode() == Opcode::kDivide && hlo::IsFloating(value.shape().element_type());
  return divides ? absl::c_all_of(value.operands(), [](const auto* operand) { return IsMadeFromLittle(*operand, 0); })
                 : IsMadeFromLittle(value, /*steps=*/1);
}

// Operands before users, of several operands those with the longest way behind them first: what hangs off a chain comes
// behind the chain, so that groups along it may have results for it.
std::vector<Instruction*> DeepestFirst(const Computation& computation) {
  absl::flat_hash_map<const Instruction*, int64_t> depth;
  for (const Instruction* instruction : computation.PostOrder()) {
    int64_t& own = depth[instruction];
    for (const Instruction* operand : instruction->operands()) own = std::max(own, depth[operand] + 1);
    for (const Instruction* before : instruction->control_predecessors()) own = std::max(own, depth[before] + 1);
  }
  std::vector<Instruction*> order;
  absl::flat_hash_set<const Instruction*> visited;
  std::vector<std::pair<Instruction*, bool>> work;  // the flag: everything before it is in the order
  for (Instruction* last : computation.PostOrder()) {
    if (last->IsRoot() || last->users().empty()) work.push_back({last, false});
  }
  while (!work.empty()) {
    const auto [instruction, ready] = work.back();
    work.pop_back();
    if (ready) {
      order.push_back(instruction);
      continue;
    }
    if (!visited.insert(instruction).second) continue;
    work.push_back({instruction, true});
    std::vector<Instruction*> before(instruction->operands().begin(), instruction->operands().end());
    before.insert(before.end(), instruction->control_predecessors().begin(), instruction->control_predecessors().end());
    absl::c_sort(before, [&](const Instruction* a, const Instruction* b) {
      return std::pair(depth[a], b->id()) < std::pair(depth[b], a->id());
    });
    for (Instruction* next : before) work.push_back({next, false});
  }
  return order;
}

struct RowGroup {
  std::vector<Instruction*> members;  // in post order
  std::vector<Instruction*> outputs;  // full arrays first
};

class GroupFinder {
 public:
  explicit GroupFinder(const std::vector<Instruction*>& order) : order_(order) {
    for (size_t i = 0; i < order.size(); ++i) {
      position_[order[i]] = i;
      // The last reduce before each instruction says what its rows are.
      const Instruction* reduce = nullptr;
      const auto follow = [&](const Instruction* found) {
        if (found != nullptr && (reduce == nullptr || position_[found] > position_[reduce])) reduce = found;
      };
      const Opcode opcode = order[i]->opcode();
      if (ReducesRows(*order[i])) {
        reduce = order[i];
      } else if (hlo::IsElementwise(opcode) || opcode == Opcode::kBroadcast || opcode == Opcode::kReshape ||
                 opcode == Opcode::kGather || IsOfSeveral(*order[i])) {
        for (const Instruction* operand : order[i]->operands()) follow(reduce_before_[operand]);
      }
      reduce_before_[order[i]] = reduce;
      steps_to_spread_.push_back(StepsToSpread(*order[i]));
    }
  }

  // The group that ends in order_[root], with no members when there is none worth it.
  RowGroup Find(size_t root_position) {
    Instruction* root = order_[root_position];
    const Instruction* reduce = reduce_before_[root];
    if (reduce == nullptr || steps_to_spread_[root_position] > static_cast<int64_t>(kMaxRowMembers) ||
        (!hlo::IsElementwise(root->opcode()) && !IsOfSeveral(*root)) || taken_.contains(root) || kept_.contains(root) ||
        !root->shape().IsArray() || root->users().empty() == !root->IsRoot()) {
      return {};
    }
    space_ = std::make_unique<RowSpace>(*reduce);
    rows_ = space_->Rows();
    if (!space_->Fits() || (!IsFull(root->shape()) && !IsRow(root->shape())) || IsSpreadForReduce(*root)) return {};
    root_position_ = root_position;
    members_ = {root};
    copied_.clear();
    before_.clear();
    given_.clear();
    outputs_ = {root};
    full_outputs_ = IsFull(root->shape()) ? 1 : 0;
    RowGroup group{{root}, {}};
    // Operands of members, the last ones first, so that all users inside are known.
    std::priority_queue<size_t> candidates;
    absl::flat_hash_set<const Instruction*> seen = {root};
    const auto add_operands = [&](const Instruction* member) {
      for (const Instruction* operand : member->operands()) {
        if (seen.insert(operand).second) {
          if (const auto it = position_.find(operand); it != position_.end()) candidates.push(it->second);
        }
      }
    };
    add_operands(root);
    while (!candidates.empty()) {
      if (members_.size() >= kMaxRowMembers) break;
      Instruction* candidate = order_[candidates.top()];
      candidates.pop();
      if (!IsStagePart(*candidate) || !TakesUsers(candidate)) continue;
      // Of a square, columns are no rows: what is spread along them would be made again for each row.
      if (candidate->opcode() == Opcode::kBroadcast && IsFull(candidate->shape()) && !IsRowBroadcast(*candidate)) {
        given_.insert(candidate->operand(0));
      }
      members_.insert(candidate);
      group.members.push_back(candidate);
      add_operands(candidate);
    }
    // What others read as well is made once, and by threads that share it.
    is_shared_ = absl::c_any_of(outputs_, [&](const Instruction* output) {
      return rows_.empty() && IsFull(output->shape()) && output->shape().element_count() >= kMinSharedElements &&
             reduce_before_.at(output) == nullptr;
    });
    if (!candidates.empty() || is_shared_) Trim(&group);
    absl::c_reverse(group.members);
    const auto lacks_reduce = [&](const Instruction* member) {
      return IsOfSeveral(*member) && !members_.contains(member->operand(0));
    };
    if (absl::c_any_of(group.members, lacks_reduce)) return {};
    if (!IsWorthIt(group.members)) return {};
    for (const bool full : {true, false}) {
      for (Instruction* output : outputs_) {
        if (IsFull(output->shape()) == full) group.outputs.push_back(output);
      }
    }
    for (const Instruction* member : group.members) {
      if (!copied_.contains(member)) {
        taken_.insert(member);
      } else if (!analysis::IsMadeFromNothing(*member) && !analysis::IsMadeFromArguments(*member, /*steps=*/1) &&
                 !before_.contains(member) && !IsMadeOfGiven(*member)) {
        kept_.insert(member);
      }
    }
    return group;
  }

 private:
  // How many operands lie at least between `value` and rows that are spread behind a reduce: a group has them all.
  int64_t StepsToSpread(const Instruction& value) const {
    int64_t steps = kNoSpread;
    if (value.operand_count() == 0) return steps;
    if (value.opcode() == Opcode::kBroadcast) {
      if (const auto it = reduce_before_.find(value.operand(0)); it != reduce_before_.end() && it->second != nullptr) {
        return 0;
      }
    }
    for (const Instruction* operand : value.operands()) {
      if (const auto it = position_.find(operand); it != position_.end()) {
        steps = std::min(steps, steps_to_spread_[it->second] + 1);
      }
    }
    return steps;
  }

  bool IsFull(const Shape& shape) const { return shape.IsArray() && shape.dimensions() == space_->full; }
  bool IsRow(const Shape& shape) const { return shape.IsArray() && WithoutOnes(shape.dimensions()) == rows_; }

  // Rows broadcast along the columns.
  bool IsRowBroadcast(const Instruction& broadcast) const {
    if (broadcast.opcode() != Opcode::kBroadcast || !IsFull(broadcast.shape())) return false;
    if (!IsRow(broadcast.operand(0)->shape())) return false;
    for (size_t i = 0; i < broadcast.dimensions().size(); ++i) {
      if (broadcast.operand(0)->shape().dimensions(i) == 1) continue;
      if (space_->reduced[broadcast.dimensions()[i]]) return false;
    }
    return true;
  }

  // Made of rows and of other small arrays at little cost, to be reduced to something else than rows: what reduces
  // makes it, of the rows. An argument that is read once more for it is less than the array that would be written.
  bool IsSpreadForReduce(const Instruction& root) const {
    constexpr size_t kMaxValues = 16, kMaxArguments = 2;
    constexpr int64_t kMinGrowth = 8;
    const auto reduces_others = [&](const Instruction* user) {
      return ReducesRows(*user) && RowSpace(*user).reduced != space_->reduced;
    };
    const Instruction* last = &root;
    while (last->users().size() == 1 && hlo::IsElementwise((*last->users().begin())->opcode())) {
      last = *last->users().begin();
    }
    if (!IsFull(last->shape()) || last->users().empty() || !absl::c_all_of(last->users(), reduces_others)) return false;
    std::vector<const Instruction*> values = {last};
    size_t arguments = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const Instruction& value = *values[i];
      if (value.IsParameter() && last->users().size() == 1 && ++arguments <= kMaxArguments) continue;
      if (value.opcode() == Opcode::kBroadcast &&
          value.operand(0)->shape().byte_count() * kMinGrowth <= value.shape().byte_count()) {
        continue;
      }
      // What is read once is evaluated once, wherever that is.
      const bool again = last->users().size() > 1 || value.users().size() > 1;
      if (values.size() > kMaxValues || !hlo::IsElementwise(value.opcode()) ||
          (again && analysis::CostOf(value) == analysis::EvaluationCost::kExpensive)) {
        return false;
      }
      for (const Instruction* operand : value.operands()) {
        if (!absl::c_linear_search(values, operand)) values.push_back(operand);
      }
    }
    return true;
  }

  static bool IsSplat(const Instruction& value) {
    return value.opcode() == Opcode::kBroadcast && value.operand(0)->shape().IsScalar();
  }

  // Cut out of an array that no group over these rows makes.
  bool IsPartOfOthers(const Instruction& value) const {
    return value.opcode() == Opcode::kSlice && !IsFull(value.operand(0)->shape()) && !IsRow(value.operand(0)->shape());
  }

  // One element of each row, as the label's of a cross entropy.
  bool PicksFromRows(const Instruction& gather) const {
    const auto& attributes = gather.Get<hlo::GatherAttributes>();
    if (!IsFull(gather.operand(0)->shape()) || !IsRow(gather.shape())) return false;
    for (size_t d = 0; d < space_->full.size(); ++d) {
      const auto& batching = attributes.operand_batching_dims;
      const bool along = Contains(batching, d);
      if (space_->full[d] != 1 && along == space_->reduced[d]) return false;
    }
    return true;
  }

  bool TakesReduce(const Instruction& candidate) const {
    return ReducesRows(candidate) && IsFull(candidate.operand(0)->shape()) &&
           RowSpace(candidate).reduced == space_->reduced;
  }

  bool IsStagePart(const Instruction& candidate) const {
    if (taken_.contains(&candidate) || kept_.contains(&candidate) || given_.contains(&candidate) ||
        candidate.IsRoot() || !candidate.control_predecessors().empty())
      return false;
    if (candidate.shape().IsTuple()) return TakesReduce(candidate);
    if (!IsFull(candidate.shape()) && !IsRow(candidate.shape())) return false;
    switch (candidate.opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kIota:
      case Opcode::kSlice:
        return true;
      case Opcode::kReshape:
        return IsRow(candidate.shape()) && IsRow(candidate.operand(0)->shape());
      case Opcode::kReduce:
        return TakesReduce(candidate);
      case Opcode::kGetTupleElement:
        return IsOfSeveral(candidate) && TakesReduce(*candidate.operand(0));
      case Opcode::kGather:
        return PicksFromRows(candidate);
      default:
        return hlo::IsElementwise(candidate.opcode());
    }
  }

  // Copied though what it remains for may come before the group.
  bool IsMadeOfGiven(const Instruction& value) const {
    return (value.opcode() == Opcode::kBroadcast || value.opcode() == Opcode::kSlice) &&
           given_.contains(value.operand(0));
  }

  // Takes out members found last, behind which there are no stages yet, so that the least is read of what is made
  // before; functions are taken out where their values are shared.
  void Trim(RowGroup* group) {
    absl::flat_hash_set<const Instruction*> inside;
    absl::flat_hash_map<const Instruction*, int64_t> read;  // bytes
    int64_t bytes = 0, least = std::numeric_limits<int64_t>::max();
    size_t best = group->members.size();
    bool at_functions = false;
    for (size_t i = 0; i < group->members.size(); ++i) {
      const Instruction* member = group->members[i];
      at_functions |=
          is_shared_ && analysis::IsTranscendental(member->opcode()) && reduce_before_.at(member) == nullptr;
      inside.insert(member);
      if (const auto node = read.extract(member); !node.empty()) bytes -= node.mapped();
      for (const Instruction* operand : member->operands()) {
        if (inside.contains(operand) || operand->IsParameter() || analysis::IsMadeFromNothing(*operand)) continue;
        const int64_t of_operand = operand->shape().IsArray() ? operand->shape().byte_count() : 0;
        if (read.emplace(operand, of_operand).second) bytes += of_operand;
      }
      // All that is left out is elementwise.
      const bool may_leave =
          (hlo::IsElementwise(member->opcode()) && IsFull(member->shape())) || analysis::IsMadeFromNothing(*member);
      if (may_leave && (at_functions || bytes > least)) continue;
      least = bytes;
      best = i + 1;
    }
    for (size_t i = best; i < group->members.size(); ++i) {
      members_.erase(group->members[i]);
      copied_.erase(group->members[i]);
      std::erase(outputs_, group->members[i]);
    }
    group->members.resize(best);
  }

  // Whether the group can serve the users of `candidate` outside of it, if any: by an output, or, where computing it
  // again there is cheap, by the rows that it is made from.
  bool TakesUsers(Instruction* candidate) {
    if (analysis::IsMadeFromNothing(*candidate)) {
      const auto is_elsewhere = [&](const Instruction* user) {
        return !members_.contains(user) || copied_.contains(user);
      };
      if (absl::c_any_of(candidate->users(), is_elsewhere)) copied_.insert(candidate);
      return true;
    }
    if (candidate->users().size() > kMaxRowUsers) return false;
    bool outside = false, computes_again = analysis::CostOf(*candidate) != analysis::EvaluationCost::kExpensive;
    for (const Instruction* user : candidate->users()) {
      if (copied_.contains(user)) outside = true;
      const bool is_before = before_.contains(user);
      if (!is_before && (members_.contains(user) || taken_.contains(user))) continue;
      outside = true;
      // What comes before the root might lead back into the group.
      const auto position = position_.find(user);
      if (is_before || (position != position_.end() && position->second < root_position_ && !kept_.contains(user))) {
        if (hlo::IsElementwise(candidate->opcode()) && IsMadeFromLittle(*candidate, /*steps=*/2)) {
          copied_.insert(candidate);
          before_.insert(candidate);
          return true;
        }
        // Rows that are spread there as well are read here as rows.
        if (!IsRowBroadcast(*candidate) && !IsSplat(*candidate) && !IsPartOfOthers(*candidate)) return false;
        given_.insert(candidate->operand(0));
        copied_.insert(candidate);
        return true;
      }
      computes_again &= analysis::IsLoopProducer(*user) || analysis::IsReduction(*user);
    }
    if (!outside) return true;
    const bool is_full = IsFull(candidate->shape());
    computes_again &= is_full ? !analysis::IsMadeOfMore(*candidate) : candidate->opcode() == Opcode::kSlice;
    if (IsSplat(*candidate) || computes_again) {
      copied_.insert(candidate);
      return true;
    }
    // Those that read it make it later on (broadcast_sinking.h), of the rows' results where it has them, unless it is
    // written anyway.
    const bool is_result =
        absl::c_any_of(candidate->users(), [](const Instruction* user) { return user->opcode() == Opcode::kTuple; });
    if (is_full && !is_result) {
      if (reduce_before_.at(candidate) == nullptr && IsMadeFromLittle(*candidate, /*steps=*/4)) return false;
      if (reduce_before_.at(candidate) != nullptr && IsOneStepFromLittle(*candidate)) {
        copied_.insert(candidate);
        return true;
      }
    }
    if (outputs_.size() >= kMaxOutputs || (is_full && ++full_outputs_ > kMaxFullOutputs)) return false;
    outputs_.push_back(candidate);
    return true;
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
    const auto is_function = [&](const Instruction* member) {
      return IsFull(member->shape()) && analysis::IsTranscendental(member->opcode());
    };
    if (space_->NeedsFunctions() && absl::c_none_of(group, is_function)) return false;
    return feeds && (reduces + 1) * full_ops + row_ops <= kMaxRowOps && parameters.size() <= kMaxRowParameters;
  }

  const std::vector<Instruction*>& order_;
  absl::flat_hash_map<const Instruction*, size_t> position_;
  absl::flat_hash_map<const Instruction*, const Instruction*> reduce_before_;
  std::vector<int64_t> steps_to_spread_;           // by position
  absl::flat_hash_set<const Instruction*> taken_;  // by groups found before
  absl::flat_hash_set<const Instruction*> kept_;   // copied into those; what remains runs behind them
  std::unique_ptr<RowSpace> space_;
  DimensionVector rows_;
  size_t root_position_ = 0;
  absl::flat_hash_set<const Instruction*> members_;
  absl::flat_hash_set<const Instruction*> copied_;  // members that remain for users outside
  absl::flat_hash_set<const Instruction*> before_;  // of those what remains before the group
  absl::flat_hash_set<const Instruction*> given_;   // rows that stay outside
  std::vector<Instruction*> outputs_;
  bool is_shared_ = false;  // what the only row is made of is a result as well
  int64_t full_outputs_ = 0;
};

bool FuseRowsIn(Computation* computation) {
  computation->RemoveDeadInstructions();
  if (!computation->MayContain(Opcode::kReduce)) return false;
  const std::vector<Instruction*> order = DeepestFirst(*computation);
  GroupFinder finder(order);
  bool changed = false;
  for (size_t i = order.size(); i-- > 0;) {
    const RowGroup group = finder.Find(i);
    if (group.members.empty()) continue;
    const std::string name(hlo::OpcodeName(order[i]->opcode()));
    FusionBody body(computation->parent(), absl::StrCat("row_fused_", name));
    for (const Instruction* member : group.members) body.Add(*member);
    body.Finish(group.outputs, hlo::FusionKind::kInput, absl::StrCat("row_", name, "_fusion"));
    changed = true;
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> FuseRows(Module* module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) changed |= FuseRowsIn(computation);
  return changed;
}

}  // namespace kiln::passes
