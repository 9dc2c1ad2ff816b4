#include "src/passes/row_chain_fusion.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/row_groups.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

constexpr size_t kMaxChainSteps = 12;
// Enough groups for threads, and so little of each that several stay in the cache.
constexpr int64_t kMinGroups = 16;
constexpr int64_t kMaxGroupBytes = int64_t{512} << 10;
// What is kept out of memory: at least so much, and so many times what each thread packs. With twice as much, a decoder
// of 1024 by 512 by 784 took 1.2 times as long; what stays in a second-level cache costs less.
constexpr int64_t kMinChainBytes = int64_t{256} << 10;
constexpr int64_t kMinGain = 4, kMinCachedGain = 2, kCachedBytes = int64_t{512} << 10;
// Columns of a product at least: fewer leave vectors empty.
constexpr int64_t kMinChainColumns = 8;

// The dot of a step; null: a kernel.
const Instruction* DotOf(const Instruction& step) {
  if (step.opcode() == Opcode::kDot) return &step;
  if (step.opcode() != Opcode::kFusion) return nullptr;
  for (const Instruction* member : step.called_computation()->instructions()) {
    if (member->opcode() == Opcode::kDot) return member;
  }
  return nullptr;
}

// Whether products of these have kernels where any have (cpu/gemm_kernels.h): rows times a matrix of columns enough.
bool HasKernels(const Instruction& dot) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const Shape &lhs = dot.operand(0)->shape(), &rhs = dot.operand(1)->shape();
  const auto batches = static_cast<int64_t>(attributes.lhs_batch.size());
  const auto has_type = [&](const Shape& shape) {
    return shape.element_type() == PrimitiveType::kF32 || shape.element_type() == PrimitiveType::kF64 ||
           (shape.element_type() == PrimitiveType::kBF16 && lhs.dimensions().back() % 2 == 0);
  };
  return analysis::IsContraction(dot) && has_type(lhs) && has_type(rhs) && lhs.rank() == batches + 2 &&
         rhs.rank() == batches + 2 && attributes.lhs_contracting.size() == 1 &&
         attributes.lhs_contracting[0] == batches + 1 && dot.shape().dimensions().back() >= kMinChainColumns &&
         dot.shape().dimensions(batches) >= Tuning().attention.rows;
}

// Windows of elements that lie apart, as gradients of pools have: of blocks of rows they took twice as long.
bool IsSpread(const hlo::Window& window) {
  return absl::c_any_of(window, [](const hlo::WindowDimension& of_one) { return of_one.base_dilation != 1; });
}

// What may be a step: code that gives arrays, a loop over their elements or a product.
bool IsStep(const Instruction& instruction) {
  if (!instruction.control_predecessors().empty() || analysis::RunsNoCode(instruction)) return false;
  for (const Shape* leaf : instruction.shape().Leaves()) {
    if (!leaf->IsArray() || leaf->element_count() == 0) return false;
  }
  if (instruction.opcode() == Opcode::kDot) return HasKernels(instruction);
  if (instruction.opcode() != Opcode::kFusion) {
    return analysis::IsReduction(instruction) || analysis::IsElementwiseLike(instruction) ||
           (instruction.opcode() == Opcode::kReduceWindow && analysis::HasPlainShape(instruction) &&
            !IsSpread(instruction.Get<hlo::WindowAttributes>().window));
  }
  if (instruction.Get<hlo::FusionAttributes>().kind == hlo::FusionKind::kCustom) return false;
  for (const Instruction* member : instruction.called_computation()->instructions()) {
    switch (member->opcode()) {
      case Opcode::kDot:
        if (!HasKernels(*member)) return false;
        break;
      // Others go over their results in another order; barriers are blocks that kernels keep.
      case Opcode::kTranspose:
      case Opcode::kConvolution:
      case Opcode::kScatter:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kOptBarrier:
        return false;
      default:
        break;
    }
  }
  return true;
}

int64_t LinkBytes(const Instruction& value) {
  int64_t bytes = 0;
  for (const Shape* leaf : value.shape().Leaves()) bytes += leaf->byte_count();
  return bytes;
}

// What a thread packs of a product's columns: those whose rows lie close together are read where they are.
int64_t PackedBytes(const Instruction& step, const Instruction& dot) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const Shape& rhs = dot.operand(1)->shape();
  const int64_t row_bytes = rhs.dimensions().back() * hlo::ByteWidth(rhs.element_type());
  const bool is_made = &step != &dot && !dot.operand(1)->IsParameter();
  const int64_t rows = dot.shape().dimensions(dot.shape().rank() - 2);
  const int64_t steps = rhs.dimensions(attributes.rhs_contracting[0]);
  const ProductTuning& costs = Tuning().products;
  const bool is_packed = is_made || attributes.rhs_contracting[0] == rhs.rank() - 1 ||
                         row_bytes >= costs.wide_row_bytes || costs.PacksCloseRows(rows, row_bytes, steps) ||
                         rhs.element_type() == PrimitiveType::kBF16;
  int64_t batches = 1;
  for (int64_t d : attributes.rhs_batch) batches *= rhs.dimensions(d);
  return is_packed ? rhs.byte_count() / batches : 0;
}

class Chain {
 public:
  Chain(Instruction* last, const absl::flat_hash_map<const Instruction*, size_t>& position,
        analysis::GroupFinder* group_finder)
      : position_(position), group_finder_(*group_finder), members_({last}) {}

  // Takes in what the members alone read, as far as groups of rows allow it.
  void Grow(const absl::flat_hash_set<const Instruction*>& taken) {
    for (size_t i = 0; i < members_.size() && members_.size() < kMaxChainSteps; ++i) {
      for (Instruction* operand : members_[i]->operands()) {
        auto* value = const_cast<Instruction*>(analysis::BehindViews(operand));
        if (!IsStep(*value) || taken.contains(value) || absl::c_linear_search(members_, value) ||
            !IsReadByMembers(*value) || members_.size() == kMaxChainSteps) {
          continue;
        }
        members_.push_back(value);
        if (!HasGroups()) members_.pop_back();
      }
      // What was left out for another reader may have found it among the members.
      if (i + 1 == members_.size() && std::exchange(seen_, members_.size()) != members_.size()) i = size_t(-1);
    }
  }

  // Leaves out those taken in last as long as what they pack is not worth what they keep, and what is made of as much
  // that stays outside, in whose place it could be. False where all would go.
  bool MakeWorthIt() {
    absl::flat_hash_set<const Instruction*> left_out;
    const auto is_made_of_as_much = [&](const Instruction& step) {
      return absl::c_any_of(step.operands(), [&](const Instruction* operand) {
        const Instruction* value = analysis::BehindViews(operand);
        return left_out.contains(value) && LinkBytes(*value) >= LinkBytes(step);
      });
    };
    while (members_.size() > 1 && (!IsWorthIt() || is_made_of_as_much(*members_.back()))) {
      left_out.insert(members_.back());
      members_.pop_back();
    }
    return members_.size() > 1;
  }

  const std::vector<Instruction*>& members() const { return members_; }

  // The fusion in the place of the members.
  void Fuse() const {
    FusionBody body(members_[0]->parent()->parent(), "row_chain");
    absl::flat_hash_set<const Instruction*> added;
    const auto add = [&](const auto& self, const Instruction* value) -> void {
      if (!IsInside(*value) || !added.insert(value).second) return;
      for (const Instruction* operand : value->operands()) self(self, operand);
      body.AddWhole(*value);
    };
    for (const Instruction* member : InOrder()) add(add, member);
    Instruction* root = members_[0];
    body.Finish({&root, 1}, hlo::FusionKind::kCustom, "row_chain_fusion");
  }

 private:
  bool IsWorthIt() const {
    std::vector<int64_t> bytes;
    int64_t packed = 0, products = 0;
    for (const Instruction* member : members_) {
      if (const Instruction* dot = DotOf(*member)) packed += PackedBytes(*member, *dot), ++products;
      if (member != members_[0]) bytes.push_back(LinkBytes(*member));
    }
    if (bytes.empty()) return false;
    // A value and the one made of it are there at once. A kernel would have written over what it read.
    absl::c_sort(bytes, std::greater<>());
    const int64_t kept = bytes[0] + (bytes.size() > 1 ? bytes[1] : 0);
    const bool may_write_over = DotOf(*members_[0]) == nullptr && members_[0]->opcode() != Opcode::kReduceWindow;
    const int64_t written_over = may_write_over ? LinkBytes(*members_[0]) : 0;
    return kept - written_over >= kMinChainBytes &&
           kept >= (packed > kCachedBytes ? kMinGain : kMinCachedGain) * packed;
  }

  bool IsReadByMembers(const Instruction& value) const {
    if (value.IsRoot() || value.users().empty()) return false;
    return absl::c_all_of(value.users(), [&](const Instruction* user) {
      if (analysis::BehindViews(user) != user) return IsReadByMembers(*user);
      return absl::c_linear_search(members_, user);
    });
  }

  // A member, or a view of one.
  bool IsInside(const Instruction& value) const {
    return absl::c_linear_search(members_, analysis::BehindViews(&value));
  }

  std::vector<const Instruction*> InOrder() const {
    std::vector<const Instruction*> steps(members_.begin(), members_.end());
    absl::c_sort(steps, [&](const Instruction* a, const Instruction* b) { return position_.at(a) < position_.at(b); });
    return steps;
  }

  bool HasGroups() const {
    const int64_t groups = group_finder_.Between(InOrder());
    int64_t bytes = 0;
    for (const Instruction* member : members_) bytes += member == members_[0] ? 0 : LinkBytes(*member);
    return groups >= kMinGroups && bytes / groups <= kMaxGroupBytes;
  }

  const absl::flat_hash_map<const Instruction*, size_t>& position_;
  analysis::GroupFinder& group_finder_;
  std::vector<Instruction*> members_;  // the last step first
  size_t seen_ = 0;
};

bool FuseRowChainsIn(Computation* computation) {
  if (!computation->MayContain(Opcode::kDot) && !computation->MayContain(Opcode::kFusion)) return false;
  const std::vector<Instruction*> order = computation->PostOrder();
  absl::flat_hash_map<const Instruction*, size_t> position;
  for (const Instruction* instruction : order) position[instruction] = position.size();
  absl::flat_hash_set<const Instruction*> taken;
  analysis::GroupFinder group_finder;
  bool changed = false;
  for (size_t i = order.size(); i-- > 0;) {
    if (taken.contains(order[i]) || !IsStep(*order[i])) continue;
    Chain chain(order[i], position, &group_finder);
    chain.Grow(taken);
    if (!chain.MakeWorthIt()) continue;
    chain.Fuse();
    taken.insert(chain.members().begin(), chain.members().end());
    changed = true;
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> FuseRowChains(Module* module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) changed |= FuseRowChainsIn(computation);
  return changed;
}

}  // namespace kiln::passes
