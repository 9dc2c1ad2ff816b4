#include "src/passes/multi_output_fusion.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/fusion_costs.h"
#include "src/analysis/fusion_model.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/broadcast_sinking.h"
#include "src/passes/fusion_body.h"
#include "src/passes/waiting_results.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Bounds on one kernel, and on the work of looking for what to merge.
constexpr int64_t kMaxOps = 400;
constexpr size_t kMaxOperands = 48;
constexpr size_t kMaxMembers = 64;
constexpr int64_t kMaxResults = 16;
constexpr size_t kMaxUsers = 64;
constexpr size_t kMaxOpenGroups = 4;
constexpr int kMaxSweeps = 3;

// A kernel or several that will be one.
struct KernelGroup {
  std::vector<Instruction*> members;
  absl::flat_hash_set<const Instruction*> operands;  // as their sources
  int64_t ops = 0;
  // Where it stands: behind what all members read, before what reads any of them.
  int64_t position = 0;
};

std::string Key(const hlo::Shape& shape) { return absl::StrJoin(shape.dimensions(), ","); }

// What two kernels must have in common to run in one nest; nothing for those that stay alone.
std::optional<std::string> IterationSpace(const Instruction& instruction) {
  if (!analysis::HasPlainShape(instruction) || analysis::IsPartOfMemory(instruction) ||
      !instruction.control_predecessors().empty()) {
    return std::nullopt;
  }
  const Instruction* root = &instruction;
  const bool is_fusion = instruction.opcode() == Opcode::kFusion;
  if (is_fusion) {
    const hlo::FusionKind kind = instruction.Get<hlo::FusionAttributes>().kind;
    if (kind != hlo::FusionKind::kLoop && kind != hlo::FusionKind::kInput) return std::nullopt;
    root = instruction.called_computation()->root();
  }
  // A nest per piece, or per block of columns.
  if (root->opcode() == Opcode::kConcatenate || (is_fusion && analysis::ColumnsOf(*root) != nullptr)) {
    return std::nullopt;
  }
  std::string space = Key(instruction.shape());
  bool reduces = false;
  const auto reduction = [&](const Instruction& reduce) {
    if (reduce.opcode() != Opcode::kReduce) return true;
    // The same dimensions of the same array for all of them.
    const std::string own = absl::StrCat(Key(instruction.shape()), "|", Key(reduce.operand(0)->shape()), "|",
                                         absl::StrJoin(reduce.dimensions(), ","));
    if (!analysis::IsReduction(reduce) || (reduces && own != space)) return false;
    reduces = true;
    space = own;
    return hlo::Shape::SameDimensions(reduce.shape().IsTuple() ? reduce.shape().tuple_shapes(0) : reduce.shape(),
                                      instruction.shape());
  };
  if (!is_fusion) {
    if (!analysis::IsLoopRoot(instruction) && !analysis::IsReduction(instruction)) return std::nullopt;
    return reduction(instruction) ? std::optional(space) : std::nullopt;
  }
  for (const Instruction* inner : instruction.called_computation()->instructions()) {
    if (inner->opcode() == Opcode::kDynamicUpdateSlice || inner->opcode() == Opcode::kScatter ||
        inner->opcode() == Opcode::kOptBarrier || !reduction(*inner)) {
      return std::nullopt;
    }
  }
  return space;
}

// Of each operand of `kernel` whether an element of the result needs that at its own index alone.
std::vector<bool> OperandsAtIdentity(const Instruction& kernel) {
  if (kernel.opcode() != Opcode::kFusion) {
    return std::vector<bool>(kernel.operand_count(), analysis::IsElementwiseLike(kernel));
  }
  const Computation& body = *kernel.called_computation();
  // Whoever reads them does so at their own index, and is read so itself.
  absl::flat_hash_set<const Instruction*> at_identity;
  const std::vector<Instruction*> order = body.PostOrder();
  const auto is_read_at_identity = [&](const Instruction& value) {
    return absl::c_all_of(value.users(), [&](const Instruction* reader) {
      return at_identity.contains(reader) && analysis::IsElementwiseLike(*reader);
    });
  };
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Instruction& value = **it;
    if (value.IsRoot() || (hlo::Shape::SameDimensions(value.shape(), kernel.shape()) && is_read_at_identity(value))) {
      at_identity.insert(&value);
    }
  }
  std::vector<bool> result;
  for (int64_t i = 0; i < kernel.operand_count(); ++i) result.push_back(is_read_at_identity(*body.parameter(i)));
  return result;
}

// Whether `reduces`, a fusion of them, can compute its operand `read`, a kernel that nothing else reads, or one under
// another name, and each element of which it needs at that place of the reduced array alone.
bool TakesIn(const Instruction& reduces, const Instruction& read) {
  const Instruction& value = *SourceOf(&read);
  if (value.users().size() != 1 || value.opcode() != Opcode::kFusion || value.IsRoot() || read.users().size() != 1 ||
      (&read != &value && (read.operand(0) != &value ||
                           WithoutOnes(read.shape().dimensions()) != WithoutOnes(value.shape().dimensions()))) ||
      value.called_computation()->instruction_count() + reduces.called_computation()->instruction_count() > kMaxOps ||
      value.operand_count() + reduces.operand_count() > static_cast<int64_t>(kMaxOperands)) {
    return false;
  }
  const std::optional<std::string> space = IterationSpace(value);
  if (!space.has_value() || absl::StrContains(*space, '|')) return false;
  const Computation& body = *reduces.called_computation();
  absl::flat_hash_set<const Instruction*> reaching;  // a reduce, elementwise
  const std::vector<Instruction*> order = body.PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Instruction& inner = **it;
    const bool reads =
        inner.opcode() == Opcode::kReduce || (reaching.contains(&inner) && analysis::IsElementwiseLike(inner));
    for (const Instruction* operand : inner.operands()) {
      if (reads && operand->shape().dimensions() == read.shape().dimensions()) reaching.insert(operand);
    }
  }
  for (int64_t i = 0; i < reduces.operand_count(); ++i) {
    if (reduces.operand(i) != &read) continue;
    for (const Instruction* reader : body.parameter(i)->users()) {
      const bool reduce = reader->opcode() == Opcode::kReduce && reader->operand(0) == body.parameter(i);
      if (!reduce && !(reaching.contains(reader) && analysis::IsElementwiseLike(*reader))) return false;
    }
  }
  return true;
}

class Merger {
 public:
  explicit Merger(Computation* computation) : computation_(computation), order_(computation->PostOrder()) {}

  bool Run() {
    OrderByLevel();
    if (computation_ == computation_->parent()->entry()) waiting_ = WaitingResults(*computation_);
    absl::flat_hash_set<const Instruction*> ordered;  // by control dependencies
    for (const Instruction* instruction : order_) {
      ordered.insert(instruction->control_predecessors().begin(), instruction->control_predecessors().end());
    }
    for (Instruction* instruction : order_) {
      if (ordered.contains(instruction)) continue;
      std::optional<std::string> space = IterationSpace(*instruction);
      if (!space.has_value() || instruction->users().size() > kMaxUsers) continue;
      spaces_[instruction] = *std::move(space);
      group_of_[instruction] = groups_.size();
      KernelGroup group{{instruction}, {}, 1, position_[instruction]};
      if (instruction->opcode() == Opcode::kFusion) group.ops = instruction->called_computation()->instruction_count();
      for (const Instruction* operand : instruction->operands()) group.operands.insert(SourceOf(operand));
      groups_.push_back(std::move(group));
    }
    // What stood between two groups may have joined one of them.
    bool merged = true;
    for (int sweep = 0; sweep < kMaxSweeps && merged; ++sweep) {
      merged = false;
      for (Instruction* instruction : order_) merged |= MergeAround(instruction);
    }
    return Emit();
  }

 private:
  // Users behind what they use, kernels as early as they may be: kernels of one level cannot depend on each other.
  void OrderByLevel() {
    absl::flat_hash_map<const Instruction*, int64_t> level;
    level.reserve(order_.size());
    std::vector<std::pair<int64_t, Instruction*>> by_level;
    by_level.reserve(order_.size());
    for (Instruction* instruction : order_) {
      int64_t own = 0;
      const auto follow = [&](const Instruction* before) {
        const bool is_free = analysis::RunsNoCode(before->opcode()) && before->opcode() != Opcode::kCopy;
        own = std::max(own, level.at(before) + (is_free ? 0 : 1));
      };
      for (const Instruction* operand : instruction->operands()) follow(operand);
      for (const Instruction* predecessor : instruction->control_predecessors()) follow(predecessor);
      level[instruction] = own;
      by_level.emplace_back(own, instruction);
    }
    absl::c_stable_sort(by_level, [](const auto& a, const auto& b) { return a.first < b.first; });
    position_.reserve(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      order_[i] = by_level[i].second;
      position_[order_[i]] = static_cast<int64_t>(i);
    }
  }

  // Merges kernels that read `value`, and the one that makes it.
  bool MergeAround(Instruction* value) {
    std::vector<Instruction*> kernels;
    if (spaces_.contains(value)) kernels.push_back(value);
    for (Instruction* user : value->users()) {
      if (kernels.size() > kMaxUsers) break;
      if (spaces_.contains(user)) kernels.push_back(user);
      if (!IsReshape(*user) || user->users().size() > kMaxUsers) continue;
      absl::c_copy_if(user->users(), std::back_inserter(kernels),
                      [&](const Instruction* reader) { return spaces_.contains(reader); });
    }
    if (kernels.size() < 2) return false;
    std::sort(kernels.begin(), kernels.end(),
              [&](const Instruction* a, const Instruction* b) { return position_[a] < position_[b]; });
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    bool changed = false;
    std::map<absl::string_view, std::vector<size_t>> open;  // by iteration space
    for (const Instruction* kernel : kernels) {
      std::vector<size_t>& groups = open[spaces_[kernel]];
      const size_t own = group_of_[kernel];
      if (std::find(groups.begin(), groups.end(), own) != groups.end()) continue;
      bool merged = false;
      for (size_t group : groups) {
        if ((merged = TryMerge(group, own))) break;
      }
      changed |= merged;
      if (!merged && groups.size() < kMaxOpenGroups) groups.push_back(own);
    }
    return changed;
  }

  bool TryMerge(size_t into, size_t from) {
    KernelGroup& a = groups_[into];
    KernelGroup& b = groups_[from];
    if (a.members.size() + b.members.size() > kMaxMembers || a.ops + b.ops > kMaxOps) return false;
    // They are made last, and leave their memory to others until then.
    if (TemporaryAwaited(a) != TemporaryAwaited(b)) return false;
    double saved_bytes = 0;
    size_t operands = a.operands.size();
    for (const Instruction* operand : b.operands) {
      if (a.operands.contains(operand)) {
        saved_bytes += static_cast<double>(operand->shape().byte_count());
      } else {
        ++operands;
      }
    }
    if (operands > kMaxOperands) return false;
    const int64_t position = std::max(a.position, b.position);
    int64_t results = 0;
    for (const auto& [own, other] : {std::pair(into, from), std::pair(from, into)}) {
      for (const Instruction* member : groups_[own].members) {
        bool is_result = member->IsRoot();
        for (const Instruction* user : member->users()) {
          const auto group = group_of_.find(user);
          if (group != group_of_.end() && group->second == own) continue;
          if (group == group_of_.end() || group->second != other) {
            is_result = true;
            // What reads a result early would stand between the two.
            const int64_t at = group == group_of_.end() ? position_[user] : groups_[group->second].position;
            if (at <= position) return false;
            continue;
          }
          if (!ReadsAtIdentity(*user, member)) return false;
          saved_bytes += static_cast<double>(member->shape().byte_count());
        }
        results += is_result ? 1 : 0;
      }
    }
    if (results > kMaxResults || !analysis::IsWorthMerging(Tuning().fusion, saved_bytes)) return false;
    for (Instruction* member : b.members) group_of_[member] = into;
    a.members.insert(a.members.end(), b.members.begin(), b.members.end());
    a.operands.insert(b.operands.begin(), b.operands.end());
    a.ops += b.ops;
    a.position = position;
    b = KernelGroup();
    return true;
  }

  // What the members, results of the program, wait for; null where they do not.
  const Instruction* TemporaryAwaited(const KernelGroup& group) const {
    const auto found = waiting_.find(group.members[0]);
    return found == waiting_.end() ? nullptr : found->second;
  }

  // Whether each element of `user`, a kernel, needs of its operand `value` that at its own index alone.
  bool ReadsAtIdentity(const Instruction& user, const Instruction* value) {
    const auto [it, inserted] = at_identity_.try_emplace(&user);
    if (inserted) it->second = OperandsAtIdentity(user);
    for (int64_t i = 0; i < user.operand_count(); ++i) {
      if (user.operand(i) == value && !it->second[i]) return false;
    }
    return true;
  }

  bool Emit() {
    std::vector<KernelGroup*> merged;
    for (KernelGroup& group : groups_) {
      if (group.members.size() > 1) merged.push_back(&group);
    }
    std::vector<Instruction*> reducing;
    for (KernelGroup* group : merged) {
      std::sort(group->members.begin(), group->members.end(),
                [&](const Instruction* a, const Instruction* b) { return position_[a] < position_[b]; });
      const absl::flat_hash_set<const Instruction*> inside(group->members.begin(), group->members.end());
      FusionBody body(computation_->parent(), "fused_computation");
      std::vector<Instruction*> outputs;
      bool reduces = false;
      for (Instruction* member : group->members) {
        body.Add(*member);
        reduces |= absl::StrContains(spaces_[member], '|');
        if (member->IsRoot() || std::any_of(member->users().begin(), member->users().end(),
                                            [&](const Instruction* user) { return !inside.contains(user); })) {
          outputs.push_back(member);
        }
      }
      Instruction* fusion = body.Finish(outputs, reduces ? hlo::FusionKind::kInput : hlo::FusionKind::kLoop,
                                        reduces ? "multi_reduce_fusion" : "multi_loop_fusion");
      if (reduces) reducing.push_back(fusion);
    }
    if (!merged.empty()) computation_->RemoveDeadInstructions();
    // What several reduces shared has one reader now.
    for (Instruction* fusion : reducing) {
      const std::vector<Instruction*> operands(fusion->operands().begin(), fusion->operands().end());
      for (const Instruction* operand : operands) {
        if (!TakesIn(*fusion, *operand)) continue;
        SinkInto(*operand, fusion);
        if (IsReshape(*operand)) SinkInto(*SourceOf(operand), fusion);
      }
    }
    if (!reducing.empty()) computation_->RemoveDeadInstructions();
    return !merged.empty();
  }

  Computation* computation_;
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, int64_t> position_;
  absl::flat_hash_map<const Instruction*, std::string> spaces_;
  absl::flat_hash_map<const Instruction*, size_t> group_of_;
  absl::flat_hash_map<const Instruction*, std::vector<bool>> at_identity_;  // by operand
  absl::flat_hash_map<const Instruction*, const Instruction*> waiting_;     // WaitingResults
  std::vector<KernelGroup> groups_;
};

}  // namespace

absl::StatusOr<bool> MergeKernels(hlo::Module* module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) changed |= Merger(computation).Run();
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
