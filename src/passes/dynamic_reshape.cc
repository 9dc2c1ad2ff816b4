// Reshapes of arrays whose sizes are values: elements stay in their order without the padding between them.
#include <algorithm>
#include <functional>
#include <utility>

#include "src/base/status.h"
#include "src/passes/dynamic_rules.h"

namespace kiln::passes {
namespace {

// Adjacent dimensions of the operand that become adjacent dimensions of the result: ranges [begin, end).
struct DimensionGroup {
  int64_t in_begin = 0, in_end = 0, out_begin = 0, out_end = 0;
  int64_t size = 1;
};

// The smallest such groups, which together are all dimensions. No dimension is empty.
std::vector<DimensionGroup> FindGroups(const Shape& in, const Shape& out) {
  std::vector<DimensionGroup> groups;
  int64_t i = 0, o = 0;
  while (i < in.rank() || o < out.rank()) {
    DimensionGroup group{i, i, o, o};
    int64_t in_size = 1, out_size = 1;
    do {
      if (i < in.rank() && (in_size <= out_size || o >= out.rank())) {
        in_size *= in.dimensions(i++);
      } else {
        out_size *= out.dimensions(o++);
      }
    } while (in_size != out_size && (i < in.rank() || o < out.rank()));
    group.in_end = i;
    group.out_end = o;
    group.size = in_size;
    groups.push_back(group);
  }
  return groups;
}

// Sizes that a program gives may move elements between groups: all from the first to the last dynamic one are joined.
void JoinDynamic(std::vector<DimensionGroup>& groups, const std::function<bool(const DimensionGroup&)>& is_dynamic) {
  const auto first = absl::c_find_if(groups, is_dynamic);
  if (first == groups.end()) return;
  const auto last = std::find_if(groups.rbegin(), groups.rend(), is_dynamic).base();
  for (auto group = first + 1; group != last; ++group) {
    first->in_end = group->in_end;
    first->out_end = group->out_end;
    first->size *= group->size;
  }
  groups.erase(first + 1, last);
}

// One side of a group: bounds of its dimensions and their sizes.
struct ReshapeSide {
  DimensionVector bounds;
  DynamicSizes sizes;  // Null: the bound.

  // Padding only at the end: no dimension but the first one that is not 1 is dynamic.
  bool IsDense() const {
    const auto first = absl::c_find_if(bounds, [](int64_t bound) { return bound != 1; });
    for (size_t i = static_cast<size_t>(first - bounds.begin()) + 1; i < bounds.size(); ++i) {
      if (sizes[i] != nullptr) return false;
    }
    return true;
  }
  bool IsStatic() const {
    return absl::c_all_of(sizes, [](const Instruction* size) { return size == nullptr; });
  }
  ArrayValue Size(Builder& builder, size_t i) const {
    return sizes[i] != nullptr ? ArrayValue(&builder, sizes[i]) : SizeConstant(builder, bounds[i]);
  }
  ArrayValue Count(Builder& builder) const {
    ArrayValue count = SizeConstant(builder, 1);
    for (size_t i = 0; i < bounds.size(); ++i) count = count * Size(builder, i);
    return count;
  }
};

// For each place of a group in the padded result, the place in the padded operand that its element comes from.
ArrayValue SourcePlaces(Builder& builder, const ReshapeSide& in, const ReshapeSide& out, int64_t size) {
  const auto at_least_one = [&](const ArrayValue& value) { return Max(value, SizeConstant(builder, 1)); };
  const ArrayValue place = Iota(&builder, PrimitiveType::kS32, {size}, 0);
  // The element's number among those that are there.
  ArrayValue number = place.Number(int64_t{0});
  ArrayValue stride = SizeConstant(builder, 1);
  int64_t padded = 1;
  for (size_t i = out.bounds.size(); i-- > 0;) {
    const ArrayValue index = (place / place.Number(padded)).Binary(Opcode::kRemainder, place.Number(out.bounds[i]));
    number = number + index * stride;
    stride = stride * out.Size(builder, i);
    padded *= out.bounds[i];
  }
  ArrayValue source = place.Number(int64_t{0});
  padded = 1;
  for (size_t i = in.bounds.size(); i-- > 0;) {
    const ArrayValue extent = at_least_one(in.Size(builder, i));
    const ArrayValue spread(&builder, builder.BroadcastScalar(extent.instruction(), {size}));
    source = source + number.Binary(Opcode::kRemainder, spread) * place.Number(padded);
    number = number / extent;
    padded *= in.bounds[i];
  }
  return source.Binary(Opcode::kMinimum, place.Number(size - 1));
}

// `value` with the elements of one group moved: value[.., places[j], ..] at j.
Instruction* MoveGroup(Builder& builder, Instruction* value, int64_t before, int64_t size, int64_t after,
                       Instruction* places) {
  Instruction* flat = builder.Reshape(value, {before, size, after});
  hlo::GatherAttributes gather;
  gather.offset_dims = {0, 2};
  gather.collapsed_slice_dims = {1};
  gather.start_index_map = {1};
  gather.index_vector_dim = 1;
  gather.slice_sizes = {before, 1, after};
  return builder.Add(Opcode::kGather, flat->shape(), {flat, places}, gather);
}

}  // namespace

absl::StatusOr<Instruction*> MakeReshapeStatic(Instruction* instruction, const Shape& declared, DynamicValues& values) {
  Builder builder(instruction->parent(), instruction);
  Instruction* operand = instruction->operand(0);
  const Shape& in = operand->shape();
  const Shape out = instruction->shape();
  DynamicSizes sizes(static_cast<size_t>(out.rank()));
  const bool given = instruction->opcode() == Opcode::kDynamicReshape;
  for (int64_t i = 0; given && i < out.rank(); ++i) {
    if (!declared.is_dynamic_dimension(i)) continue;
    const ArrayValue size(&builder, instruction->operand(1 + i));
    sizes[i] = Min(Max(size, SizeConstant(builder, 0)), SizeConstant(builder, out.dimensions(i))).instruction();
  }
  Instruction* result = operand;
  std::vector<DimensionGroup> groups = in.element_count() == 0 ? std::vector<DimensionGroup>() : FindGroups(in, out);
  if (given) {
    JoinDynamic(groups, [&](const DimensionGroup& group) {
      for (int64_t i = group.in_begin; i < group.in_end; ++i) {
        if (values.Of(operand, i) != nullptr) return true;
      }
      for (int64_t i = group.out_begin; i < group.out_end; ++i) {
        if (sizes[i] != nullptr) return true;
      }
      return false;
    });
  }
  int64_t before = 1;
  for (const DimensionGroup& group : groups) {
    ReshapeSide from, to;
    DimensionVector open;  // Result dimensions whose size follows from the count.
    for (int64_t i = group.in_begin; i < group.in_end; ++i) {
      from.bounds.push_back(in.dimensions(i));
      from.sizes.push_back(values.Of(operand, i));
    }
    for (int64_t i = group.out_begin; i < group.out_end; ++i) {
      to.bounds.push_back(out.dimensions(i));
      if (!given && declared.is_dynamic_dimension(i)) open.push_back(i);
    }
    // One dimension for all of the group has the size of that, whether or not it says so.
    for (int64_t i = group.out_begin; !given && open.empty() && i < group.out_end; ++i) {
      if (out.dimensions(i) == group.size && group.size > 1) open.push_back(i);
    }
    if (!from.IsStatic() && !open.empty()) {
      const auto dynamic = [](const Instruction* size) { return size != nullptr; };
      if (open.size() == 1) {
        int64_t others = 1;
        for (int64_t bound : to.bounds) others *= bound;
        others /= out.dimensions(open[0]);
        const ArrayValue count = from.Count(builder);
        sizes[open[0]] = (others == 1 ? count : count / SizeConstant(builder, others)).instruction();
      } else if (from.bounds == to.bounds &&
                 absl::c_count_if(from.sizes, dynamic) == static_cast<int64_t>(open.size())) {
        for (int64_t i : open) sizes[i] = from.sizes[i - group.out_begin];
      } else {
        return Unimplemented(instruction->Describe(), ": a reshape from ", in.ToString(false), " to ",
                             declared.ToString(false), " leaves the size of several dimensions open");
      }
    }
    for (int64_t i = group.out_begin; i < group.out_end; ++i) to.sizes.push_back(sizes[i]);
    const bool same = from.bounds == to.bounds && from.sizes == to.sizes;
    const bool wanted = !from.IsStatic() && (given || !to.IsStatic());
    if (wanted && !same && !(from.IsDense() && to.IsDense())) {
      const ArrayValue places = SourcePlaces(builder, from, to, group.size);
      result = MoveGroup(builder, result, before, group.size, in.element_count() / before / group.size,
                         places.instruction());
    }
    before *= group.size;
  }
  // Never the operand itself, which keeps sizes of its own.
  result =
      result == operand ? builder.Add(Opcode::kReshape, out, {operand}) : builder.Reshape(result, out.dimensions());
  values.Set(result, std::move(sizes));
  return result;
}

}  // namespace kiln::passes
