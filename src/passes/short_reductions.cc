#include "src/passes/short_reductions.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/analysis/combiner.h"
#include "src/analysis/fusion_model.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

constexpr int64_t kMaxComponents = 4;
// Where a weight of each pair is made of its components and goes back to them, which would be stored in between. Others
// take 2 to 3 times as long, with loads that are so far apart.
constexpr int64_t kMaxWeightedComponents = 8;
// What has components is at most this part of the pairs.
constexpr int64_t kMinGrowth = 8;
constexpr int64_t kMinElements = 1 << 12;
constexpr size_t kMaxValues = 64;

// Whether `value` is made elementwise of arrays that are much smaller, or that have no components.
bool IsMadeOfPairs(const Instruction& value) {
  std::vector<const Instruction*> values = {&value};
  const int64_t components = value.shape().dimensions().back();
  for (size_t i = 0; i < values.size(); ++i) {
    const Instruction& part = *values[i];
    if (part.opcode() == Opcode::kBroadcast) {
      const Shape& from = part.operand(0)->shape();
      const bool has_components = from.rank() > 0 && part.dimensions().back() == part.shape().rank() - 1 &&
                                  from.dimensions().back() == components;
      if (has_components && from.element_count() * kMinGrowth > value.shape().element_count()) return false;
      continue;
    }
    if (!hlo::IsElementwise(part.opcode()) || part.operand_count() == 0 || values.size() > kMaxValues) return false;
    for (const Instruction* operand : part.operands()) {
      if (!absl::c_linear_search(values, operand)) values.push_back(operand);
    }
  }
  return true;
}

// Whether a value of each pair is spread over the components in what `value` is made of, or in what `value` goes to.
bool HasWeights(const Instruction& value, const Shape& components, bool users) {
  std::vector<const Instruction*> values = {&value};
  for (size_t i = 0; i < values.size() && values.size() <= kMaxValues; ++i) {
    const auto next = users ? values[i]->users() : values[i]->operands();
    for (const Instruction* other : next) {
      const bool is_weight = other->opcode() == Opcode::kBroadcast &&
                             hlo::Shape::SameDimensions(other->shape(), components) &&
                             other->operand(0)->shape().rank() == components.rank() - 1 &&
                             !Contains(other->dimensions(), components.rank() - 1);
      if (is_weight) return true;
      if (hlo::IsElementwise(other->opcode()) && !absl::c_linear_search(values, other)) values.push_back(other);
    }
  }
  return false;
}

// Component `c` of such a value and of what it is made from.
class Component {
 public:
  Component(Builder* builder, int64_t c, DimensionVector pairs) : builder_(*builder), c_(c), pairs_(std::move(pairs)) {}

  Instruction* Of(const Instruction* value) {
    if (const auto it = made_.find(value); it != made_.end()) return it->second;
    Instruction* made = value->opcode() == Opcode::kBroadcast ? Spread(*value) : Computed(*value);
    return made_[value] = made;
  }

 private:
  Instruction* Computed(const Instruction& value) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : value.operands()) operands.push_back(Of(operand));
    return builder_.Add(value.opcode(), Shape(value.shape().element_type(), pairs_), std::move(operands),
                        value.attributes());
  }

  Instruction* Spread(const Instruction& broadcast) {
    Instruction* from = broadcast.operands()[0];
    DimensionVector map = broadcast.dimensions();
    if (!map.empty() && map.back() == static_cast<int64_t>(pairs_.size())) {
      const DimensionVector& dimensions = from->shape().dimensions();
      hlo::SliceAttributes slice{DimensionVector(map.size(), 0), dimensions, DimensionVector(map.size(), 1)};
      slice.start.back() = c_;
      slice.limit.back() = c_ + 1;
      from = builder_.Reshape(builder_.Slice(from, slice), absl::Span<const int64_t>(dimensions).first(map.size() - 1));
      map.pop_back();
    }
    return from->shape().dimensions() == pairs_ ? from : builder_.Broadcast(from, pairs_, map);
  }

  Builder& builder_;
  const int64_t c_;
  const DimensionVector pairs_;
  absl::flat_hash_map<const Instruction*, Instruction*> made_;
};

Instruction* ExpandShortReduction(Instruction* reduce) {
  if (reduce->operand_count() != 2 || !analysis::IsReduction(*reduce) || !reduce->operand(1)->IsConstant())
    return nullptr;
  const Shape& from = reduce->operand(0)->shape();
  const std::optional<Opcode> opcode = analysis::CombinerOpcode(*reduce->called_computation());
  const bool joins = reduce->dimensions() == DimensionVector{from.rank() - 1};
  if (!opcode || !analysis::IsIdentityOf(*opcode, reduce->operand(1)->literal()) || from.rank() < 3 ||
      from.dimensions().back() < 2 || from.dimensions().back() > kMaxWeightedComponents ||
      (!joins && Contains(reduce->dimensions(), from.rank() - 1)) || from.element_count() < kMinElements ||
      !IsMadeOfPairs(*reduce->operand(0))) {
    return nullptr;
  }
  if (from.dimensions().back() > kMaxComponents && !HasWeights(joins ? *reduce : *reduce->operand(0), from, joins)) {
    return nullptr;
  }
  Builder builder(reduce->parent(), reduce);
  const DimensionVector pairs(from.dimensions().begin(), from.dimensions().end() - 1);
  DimensionVector kept = reduce->shape().dimensions();
  if (!joins) kept.back() = 1;
  std::vector<Instruction*> components;
  for (int64_t c = 0; c < from.dimensions().back(); ++c) {
    Instruction* component = Component(&builder, c, pairs).Of(reduce->operand(0));
    if (!joins) {
      component = builder.Reshape(
          builder.Reduce(component, reduce->operand(1), reduce->dimensions(), reduce->called_computation()), kept);
    } else if (c > 0) {
      component = builder.Binary(*opcode, components[0], component);
      components.clear();
    }
    components.push_back(component);
  }
  return joins ? components[0] : builder.Concatenate(components, static_cast<int64_t>(kept.size()) - 1);
}

}  // namespace

absl::StatusOr<bool> ExpandShortReductions(Module* module) {
  return ReplaceOps(module, {Opcode::kReduce}, ExpandShortReduction);
}

}  // namespace kiln::passes
