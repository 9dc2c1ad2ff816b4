#include "src/analysis/row_groups.h"

#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/attention.h"
#include "src/analysis/fusion_model.h"
#include "src/hlo/computation.h"

namespace kiln::analysis {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

// How many leading dimensions tell the group of an element, the last one perhaps with others of its group; -1 where
// groups are no stretches of these.
int64_t LeadingDimensions(const Shape& shape, int64_t groups) {
  int64_t inside = groups;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t size = shape.dimensions(d);
    if (size % inside == 0) return d + 1;
    if (size == 0 || inside % size != 0) return -1;
    inside /= size;
  }
  return -1;
}

// Whether `instruction` keeps apart the groups of operand number `index`.
bool KeepsGroups(const Instruction& instruction, int64_t index, int64_t groups);

bool BodyKeepsGroups(const Instruction& fusion, int64_t index, int64_t groups) {
  const hlo::Computation& body = *fusion.called_computation();
  absl::flat_hash_set<const Instruction*> made = {body.parameter(index)};
  for (const Instruction* member : body.PostOrder()) {
    bool depends = false;
    for (int64_t i = 0; i < member->operand_count(); ++i) {
      if (!made.contains(member->operand(i))) continue;
      if (!KeepsGroups(*member, i, groups)) return false;
      depends = true;
    }
    if (depends) made.insert(member);
  }
  return true;
}

bool KeepsGroups(const Instruction& instruction, int64_t index, int64_t groups) {
  switch (instruction.opcode()) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptBarrier:
      return true;
    case Opcode::kFusion:
      return BodyKeepsGroups(instruction, index, groups);
    default:
      break;
  }
  const Shape& from = instruction.operand(index)->shape();
  if (!from.IsArray() || from.element_count() == 0 || from.element_count() % groups != 0) return false;
  if (instruction.opcode() == Opcode::kReshape) return HasPlainShape(instruction);
  const int64_t leading = LeadingDimensions(from, groups);
  if (leading < 0) return false;
  const auto keeps = [&](absl::Span<const int64_t> dimensions) {  // those of the result, or none of them
    for (int64_t d = 0; d < leading; ++d) {
      if (dimensions[d] != d) return false;
    }
    return true;
  };
  const auto spares = [&](absl::Span<const int64_t> dimensions) {
    return absl::c_all_of(dimensions, [&](int64_t d) { return d >= leading; });
  };
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
      return LeadingDimensions(instruction.shape(), groups) == leading && keeps(instruction.dimensions());
    case Opcode::kTranspose:
      return keeps(instruction.dimensions());
    case Opcode::kReduce:
      return index < instruction.operand_count() / 2 && spares(instruction.dimensions());
    case Opcode::kReduceWindow: {
      const hlo::Window& window = instruction.Get<hlo::WindowAttributes>().window;
      if (!std::all_of(window.begin(), window.begin() + leading,
                       [](const hlo::WindowDimension& of_one) { return of_one == hlo::WindowDimension{}; })) {
        return false;
      }
      return index == 0 && instruction.operand_count() == 2 &&
             LeadingDimensions(instruction.shape(), groups) == leading;
    }
    case Opcode::kReverse:
      return spares(instruction.dimensions());
    case Opcode::kConcatenate:
      return spares(instruction.dimensions()) && LeadingDimensions(instruction.shape(), groups) == leading;
    case Opcode::kSlice: {
      const auto& slice = instruction.Get<hlo::SliceAttributes>();
      for (int64_t d = 0; d < leading; ++d) {
        if (slice.start[d] != 0 || slice.limit[d] != from.dimensions(d) || slice.stride[d] != 1) return false;
      }
      return true;
    }
    case Opcode::kGather: {
      // One place of each row, or rows of a table for each index.
      const auto& gather = instruction.Get<hlo::GatherAttributes>();
      if (!spares(gather.offset_dims) || gather.index_vector_dim < leading ||
          LeadingDimensions(instruction.shape(), groups) != leading) {
        return false;
      }
      if (index == 1) return true;
      const auto is_batch = [&](const hlo::DimensionVector& dimensions) {
        return static_cast<int64_t>(dimensions.size()) >= leading && keeps(dimensions);
      };
      return is_batch(gather.operand_batching_dims) && is_batch(gather.start_indices_batching_dims);
    }
    case Opcode::kPad: {
      const auto& pad = instruction.Get<hlo::PadAttributes>();
      for (int64_t d = 0; d < leading; ++d) {
        if (pad.low[d] != 0 || pad.high[d] != 0 || pad.interior[d] != 0) return false;
      }
      return index == 0;
    }
    case Opcode::kDot: {
      const auto& dot = instruction.Get<hlo::DotAttributes>();
      if (index != 0 || instruction.operand(0) == instruction.operand(1) || !spares(dot.lhs_contracting)) return false;
      int64_t batches = 1;
      for (size_t i = 0; i < dot.lhs_batch.size(); ++i) {
        if (dot.lhs_batch[i] != static_cast<int64_t>(i)) return false;
        batches *= from.dimensions(dot.lhs_batch[i]);
      }
      // Groups of rows of one batch.
      return groups % batches == 0;
    }
    default:
      return IsElementwiseLike(instruction) && instruction.shape().IsArray() &&
             instruction.shape().element_count() == from.element_count();
  }
}

// How many groups the loops of a step go through one after the other: rows of what it gives, and of its product, whose
// batches are not cut.
int64_t GroupsOfCode(const Instruction& step) {
  int64_t groups = 0;
  const auto add_rows = [&](const Shape& shape) {
    if (!shape.IsArray() || shape.rank() < 2) return;
    groups = std::gcd(groups, shape.element_count() / std::max<int64_t>(shape.dimensions().back(), 1));
  };
  const auto add = [&](const Instruction& member) {
    if (member.opcode() == Opcode::kConcatenate) {
      int64_t outside = 1;
      for (int64_t d = 0; d < member.dimensions()[0]; ++d) outside *= member.shape().dimensions(d);
      groups = std::gcd(groups, outside);
    } else if (member.opcode() == Opcode::kDot) {
      add_rows(member.shape());
    }
  };
  for (const Shape* leaf : step.shape().Leaves()) add_rows(*leaf);
  add(step);
  if (step.opcode() == Opcode::kFusion) {
    const hlo::Computation& body = *step.called_computation();
    for (const Instruction* member : body.instructions()) {
      if (member->opcode() == Opcode::kDot || member->IsRoot()) add(*member);
    }
  }
  return groups;
}

}  // namespace

int64_t RowGroups(const Instruction& user, int64_t index, int64_t most) {
  std::vector<int64_t> candidates;
  const auto add = [&](const Shape& shape) {
    if (!shape.IsArray()) return;
    int64_t groups = 1;
    for (int64_t size : shape.dimensions()) {
      groups *= std::max<int64_t>(size, 1);
      candidates.push_back(std::gcd(most, groups));
    }
  };
  add(user.operand(index)->shape());
  for (const Shape* leaf : user.shape().Leaves()) add(*leaf);
  absl::c_sort(candidates, std::greater<>());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (int64_t groups : candidates) {
    if (groups > 1 && KeepsGroups(user, index, groups)) return groups;
  }
  return 1;
}

const Instruction* BehindViews(const Instruction* value) {
  while (value->opcode() == Opcode::kReshape || value->opcode() == Opcode::kGetTupleElement) value = value->operand(0);
  return value;
}

int64_t GroupFinder::OfCode(const Instruction& step) {
  const auto [known, is_new] = of_code_.try_emplace(&step);
  if (is_new) known->second = GroupsOfCode(step);
  return known->second;
}

int64_t GroupFinder::OfOperand(const Instruction& step, int64_t index, int64_t most) {
  const auto [known, is_new] = of_operands_.try_emplace({&step, index, most});
  if (is_new) known->second = RowGroups(step, index, most);
  return known->second;
}

int64_t GroupFinder::Between(const std::vector<const Instruction*>& steps) {
  int64_t groups = 0;
  for (const Instruction* step : steps) groups = std::gcd(groups, OfCode(*step));
  for (const Instruction* step : steps) {
    for (int64_t i = 0; i < step->operand_count(); ++i) {
      if (absl::c_linear_search(steps, BehindViews(step->operand(i)))) groups = OfOperand(*step, i, groups);
    }
  }
  return groups;
}

RowChain FindRowChain(const Instruction& fusion) {
  RowChain chain;
  if (fusion.opcode() != Opcode::kFusion || fusion.Get<hlo::FusionAttributes>().kind != hlo::FusionKind::kCustom ||
      FindAttentionParts(fusion).has_value()) {
    return chain;
  }
  for (const Instruction* step : fusion.called_computation()->PostOrder()) {
    const bool is_source = step->IsParameter() || step->IsConstant();
    const auto* inner = step->GetIf<hlo::FusionAttributes>();
    if (inner != nullptr && inner->kind == hlo::FusionKind::kCustom) return {};
    if (!is_source && BehindViews(step) == step) chain.steps.push_back(step);
  }
  chain.groups = GroupFinder().Between(chain.steps);
  if (chain.steps.size() < 2 || chain.groups < 2 || chain.steps.back() != fusion.called_computation()->root()) {
    chain.steps.clear();
  }
  return chain;
}

}  // namespace kiln::analysis
