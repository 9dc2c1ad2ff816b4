#include "src/passes/dynamic_rules.h"

#include <utility>

#include "src/base/status.h"

namespace kiln::passes {
namespace {

// One instruction on its way to static shapes. Rules give what stands for it.
struct Rule {
  Instruction* instruction;
  DynamicValues& values;
  Builder builder;
  const Shape declared;  // Of the instruction, as it was.

  Instruction* operand(int64_t index) const { return instruction->operand(index); }
  ArrayValue Value(Instruction* value) { return {&builder, value}; }
  ArrayValue Number(int64_t size) { return SizeConstant(builder, size); }
  ArrayValue Zero(PrimitiveType type) { return Value(builder.Constant(hlo::ZeroLiteral(type))); }
  // `array` with `fill` wherever an index is past the size of one of `dimensions`.
  Instruction* Mask(Instruction* array, absl::Span<const int64_t> dimensions, Instruction* fill) {
    return values.Mask(builder, array, dimensions, fill);
  }
  absl::Status Refuse(absl::string_view why) const {
    return Unimplemented(instruction->Describe(), ": ", hlo::OpcodeName(instruction->opcode()), " ", why);
  }
  // `result` stands for the instruction and has these sizes.
  Instruction* Done(Instruction* result, DynamicSizes sizes) {
    values.Set(result, std::move(sizes));
    return result;
  }
};

using Result = absl::StatusOr<Instruction*>;

DynamicSizes NoSizes(const Instruction* array) { return DynamicSizes(static_cast<size_t>(array->shape().rank())); }

DimensionVector AllDimensions(const Instruction* array) {
  DimensionVector all(static_cast<size_t>(array->shape().rank()));
  absl::c_iota(all, 0);
  return all;
}

// Sizes of the first operand that knows each dimension; scalars beside arrays have none.
Result SameShape(Rule& rule) {
  DynamicSizes sizes = NoSizes(rule.instruction);
  for (Instruction* operand : rule.instruction->operands()) {
    if (operand->shape().rank() != rule.instruction->shape().rank()) continue;
    for (int64_t i = 0; i < operand->shape().rank(); ++i) {
      if (sizes[i] == nullptr) sizes[i] = rule.values.Of(operand, i);
    }
  }
  return rule.Done(rule.instruction, std::move(sizes));
}

// Result dimension map[i] is operand dimension i.
Result Mapped(Rule& rule, const DimensionVector& map) {
  DynamicSizes sizes = NoSizes(rule.instruction);
  for (size_t i = 0; i < map.size(); ++i) sizes[map[i]] = rule.values.Of(rule.operand(0), static_cast<int64_t>(i));
  return rule.Done(rule.instruction, std::move(sizes));
}

Result Broadcast(Rule& rule) { return Mapped(rule, rule.instruction->dimensions()); }

Result Reshape(Rule& rule) { return MakeReshapeStatic(rule.instruction, rule.declared, rule.values); }

Result Transpose(Rule& rule) {
  const DimensionVector& permutation = rule.instruction->dimensions();
  DimensionVector map(permutation.size());
  for (size_t i = 0; i < map.size(); ++i) map[permutation[i]] = static_cast<int64_t>(i);
  return Mapped(rule, map);
}

// The last dimension may come or go; it holds the parts of one element.
Result BitcastConvert(Rule& rule) {
  const Instruction* operand = rule.operand(0);
  DynamicSizes sizes = NoSizes(rule.instruction);
  for (int64_t i = 0; i < operand->shape().rank(); ++i) {
    Instruction* size = rule.values.Of(operand, i);
    if (size == nullptr) continue;
    if (i >= rule.instruction->shape().rank()) return rule.Refuse("joins a dimension of dynamic size");
    sizes[i] = size;
  }
  return rule.Done(rule.instruction, std::move(sizes));
}

// The bound's reverse has its padding in front: it is moved behind.
Result Reverse(Rule& rule) {
  Instruction* operand = rule.operand(0);
  DynamicSizes sizes = rule.values.Of(operand);
  const Shape& shape = rule.instruction->shape();
  // A new one, since users of the old one are moved to what is built on this.
  ArrayValue result(&rule.builder,
                    rule.builder.Add(Opcode::kReverse, shape, {operand}, rule.instruction->attributes()));
  for (int64_t dimension : rule.instruction->dimensions()) {
    if (sizes[dimension] == nullptr) continue;
    std::vector<ArrayValue> starts(static_cast<size_t>(shape.rank()), rule.Number(0));
    starts[dimension] = rule.Number(shape.dimensions(dimension)) - rule.Value(sizes[dimension]);
    DimensionVector twice = shape.dimensions();
    twice[dimension] *= 2;
    const ArrayValue zero = rule.Zero(shape.element_type());
    result = result.PadHigh(twice, zero).DynamicSlice(starts, shape.dimensions());
  }
  return rule.Done(result.instruction(), std::move(sizes));
}

// A dimension keeps its size where all of it is taken; a part of it is there whatever the size.
Result Slice(Rule& rule) {
  DynamicSizes sizes = NoSizes(rule.instruction);
  for (int64_t i = 0; i < rule.instruction->shape().rank(); ++i) {
    if (rule.instruction->shape().dimensions(i) == rule.operand(0)->shape().dimensions(i)) {
      sizes[i] = rule.values.Of(rule.operand(0), i);
    }
  }
  return rule.Done(rule.instruction, std::move(sizes));
}

Result Pad(Rule& rule) {
  const auto& pad = rule.instruction->Get<hlo::PadAttributes>();
  Instruction* operand = rule.operand(0);
  DynamicSizes sizes = rule.values.Of(operand);
  for (int64_t i = 0; i < operand->shape().rank(); ++i) {
    if (sizes[i] == nullptr) continue;
    const ArrayValue size = rule.Value(sizes[i]);
    const ArrayValue gaps = Max(size - rule.Number(1), rule.Number(0)) * rule.Number(pad.interior[i]);
    const ArrayValue total = size + gaps + rule.Number(pad.low[i] + pad.high[i]);
    sizes[i] = Max(total, rule.Number(0)).instruction();
  }
  rule.instruction->ReplaceOperand(0, rule.Mask(operand, AllDimensions(operand), rule.operand(1)));
  return rule.Done(rule.instruction, std::move(sizes));
}

// Each operand is written where the last one ended, over that one's padding.
Result ConcatenateRule(Rule& rule) {
  const int64_t dimension = rule.instruction->dimensions()[0];
  DynamicSizes sizes = NoSizes(rule.instruction);
  bool shifts = false;
  ArrayValue total = rule.Number(0);
  std::vector<ArrayValue> starts;
  for (Instruction* operand : rule.instruction->operands()) {
    for (int64_t i = 0; i < operand->shape().rank(); ++i) {
      if (i != dimension && sizes[i] == nullptr) sizes[i] = rule.values.Of(operand, i);
    }
    starts.push_back(total);
    total = total + rule.values.Size(rule.builder, operand, dimension);
    shifts |= rule.values.Of(operand, dimension) != nullptr;
  }
  if (!shifts) return rule.Done(rule.instruction, std::move(sizes));
  sizes[dimension] = total.instruction();
  const Shape& shape = rule.instruction->shape();
  ArrayValue result = rule.Value(rule.builder.Splat(shape, hlo::ZeroLiteral(shape.element_type())));
  for (size_t i = 0; i < starts.size(); ++i) {
    std::vector<ArrayValue> at(static_cast<size_t>(shape.rank()), rule.Number(0));
    at[dimension] = starts[i];
    result = result.DynamicUpdate(rule.Value(rule.operand(static_cast<int64_t>(i))), at);
  }
  return rule.Done(result.instruction(), std::move(sizes));
}

// The value that a combiner of two scalars leaves alone; the init value where that is not known.
Instruction* Neutral(Rule& rule, const Computation& combiner, Instruction* init) {
  const Instruction& root = *combiner.root();
  const PrimitiveType type = init->shape().element_type();
  const bool is_plain = combiner.parameter_count() == 2 && root.operand_count() == 2 &&
                        root.HasOperand(combiner.parameter(0)) && root.HasOperand(combiner.parameter(1));
  if (!is_plain) return init;
  switch (root.opcode()) {
    case Opcode::kAdd:
      return rule.builder.Constant(hlo::ZeroLiteral(type));
    case Opcode::kMultiply:
      return rule.builder.Constant(hlo::OneLiteral(type));
    case Opcode::kMaximum:
      return rule.builder.Constant(hlo::MinLiteral(type));
    case Opcode::kMinimum:
      return rule.builder.Constant(hlo::MaxLiteral(type));
    default:
      return init;
  }
}

// Masks all inputs of a reduction or window reduction, of which there are as many as init values.
void MaskInputs(Rule& rule, const DimensionVector& dimensions) {
  const int64_t count = rule.instruction->operand_count() / 2;
  for (int64_t i = 0; i < count; ++i) {
    Instruction* init = rule.operand(count + i);
    Instruction* fill = count == 1 ? Neutral(rule, *rule.instruction->called_computation(), init) : init;
    rule.instruction->ReplaceOperand(i, rule.Mask(rule.operand(i), dimensions, fill));
  }
}

Instruction* AllLeaves(Rule& rule, const DynamicSizes& sizes) {
  rule.values.SetLeaves(rule.instruction,
                        std::vector<DynamicSizes>(static_cast<size_t>(rule.instruction->shape().leaf_count()), sizes));
  return rule.instruction;
}

Result Reduce(Rule& rule) {
  const DimensionVector& reduced = rule.instruction->dimensions();
  DynamicSizes sizes;
  for (int64_t i = 0; i < rule.operand(0)->shape().rank(); ++i) {
    if (!Contains(reduced, i)) sizes.push_back(rule.values.Of(rule.operand(0), i));
  }
  MaskInputs(rule, reduced);
  return AllLeaves(rule, sizes);
}

// How often a window fits into a dimension of `size` elements.
ArrayValue WindowCount(Builder& builder, const ArrayValue& size, const hlo::WindowDimension& window) {
  const auto number = [&](int64_t value) { return SizeConstant(builder, value); };
  const ArrayValue dilated = Max((size - number(1)) * number(window.base_dilation) + number(1), number(0));
  const int64_t extent = (window.size - 1) * window.window_dilation + 1;
  const ArrayValue room = dilated + number(window.padding_low + window.padding_high - extent);
  const ArrayValue count = Max(room, number(0)) / number(window.stride) + number(1);
  return Select(room < number(0), number(0), count);
}

Result ReduceWindow(Rule& rule) {
  const auto& window = rule.instruction->Get<hlo::WindowAttributes>().window;
  DynamicSizes sizes = rule.values.Of(rule.operand(0));
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == nullptr) continue;
    sizes[i] = WindowCount(rule.builder, rule.Value(sizes[i]), window[i]).instruction();
  }
  MaskInputs(rule, AllDimensions(rule.operand(0)));
  return AllLeaves(rule, sizes);
}

// Padding must win no window: it loses against everything under the usual comparisons.
Result SelectAndScatter(Rule& rule) {
  DynamicSizes sizes = rule.values.Of(rule.operand(0));
  const Instruction& root = *rule.instruction->called_computation(0)->root();
  if (root.opcode() != Opcode::kCompare) return rule.Refuse("of dynamic size selects by other than a comparison");
  const ComparisonDirection direction = root.comparison().direction;
  const PrimitiveType type = rule.operand(0)->shape().element_type();
  const bool greatest = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kGt;
  Instruction* loser = rule.builder.Constant(greatest ? hlo::MinLiteral(type) : hlo::MaxLiteral(type));
  Instruction* none = Neutral(rule, *rule.instruction->called_computation(1), rule.operand(2));
  rule.instruction->ReplaceOperand(0, rule.Mask(rule.operand(0), AllDimensions(rule.operand(0)), loser));
  rule.instruction->ReplaceOperand(1, rule.Mask(rule.operand(1), AllDimensions(rule.operand(1)), none));
  return rule.Done(rule.instruction, std::move(sizes));
}

// Along a dynamic dimension another key comes first: whether an element is padding.
Result Sort(Rule& rule) {
  const auto& sort = rule.instruction->Get<hlo::SortAttributes>();
  DynamicSizes sizes = NoSizes(rule.operand(0));
  for (const Instruction* operand : rule.instruction->operands()) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == nullptr) sizes[i] = rule.values.Of(operand, static_cast<int64_t>(i));
    }
  }
  if (sizes[sort.dimension] == nullptr) return AllLeaves(rule, sizes);
  const Shape shape = rule.operand(0)->shape();
  const ArrayValue index = Iota(&rule.builder, PrimitiveType::kS32, shape.dimensions(), sort.dimension);
  const ArrayValue padding = (index >= rule.Value(sizes[sort.dimension])).Convert(PrimitiveType::kS32);
  const int64_t count = rule.instruction->operand_count();
  Computation* comparator = rule.instruction->parent()->parent()->AddComputation("padding_last");
  std::vector<Instruction*> parameters;
  for (int64_t i = 0; i < 2 * count + 2; ++i) {
    const PrimitiveType type = i < 2 * count ? rule.operand(i / 2)->shape().element_type() : PrimitiveType::kS32;
    parameters.push_back(comparator->AddParameter(i, Shape::Scalar(type)));
  }
  Builder body(comparator, nullptr);
  Instruction* before = body.Inline(*rule.instruction->called_computation(),
                                    absl::MakeSpan(parameters).subspan(0, static_cast<size_t>(2 * count)));
  Instruction* lhs = parameters[2 * count];
  Instruction* rhs = parameters[2 * count + 1];
  comparator->set_root(body.Select(body.Compare(ComparisonDirection::kEq, lhs, rhs), before,
                                   body.Compare(ComparisonDirection::kLt, lhs, rhs)));
  std::vector<Instruction*> operands(rule.instruction->operands().begin(), rule.instruction->operands().end());
  operands.push_back(padding.instruction());
  std::vector<Shape> shapes;
  for (const Instruction* operand : operands)
    shapes.push_back(Shape(operand->shape().element_type(), shape.dimensions()));
  Instruction* sorted = rule.builder.Add(Opcode::kSort, Shape::Tuple(shapes), operands, sort, {comparator});
  std::vector<Instruction*> results;
  for (int64_t i = 0; i < count; ++i) results.push_back(rule.builder.GetTupleElement(sorted, i));
  Instruction* result = rule.instruction->shape().IsTuple() ? rule.builder.Tuple(results) : results[0];
  rule.values.SetLeaves(result, std::vector<DynamicSizes>(static_cast<size_t>(count), sizes));
  return result;
}

// Zeros in the contracted dimensions of both sides: padding may hold what zero times makes no zero.
Result Dot(Rule& rule) {
  const auto& dot = rule.instruction->Get<hlo::DotAttributes>();
  DynamicSizes sizes;
  for (int64_t dimension : dot.lhs_batch) sizes.push_back(rule.values.Of(rule.operand(0), dimension));
  for (int64_t side = 0; side < 2; ++side) {
    Instruction* operand = rule.operand(side);
    const DimensionVector& batch = side == 0 ? dot.lhs_batch : dot.rhs_batch;
    const DimensionVector& contracting = side == 0 ? dot.lhs_contracting : dot.rhs_contracting;
    const DimensionVector& other = side == 0 ? dot.rhs_contracting : dot.lhs_contracting;
    for (int64_t i = 0; i < operand->shape().rank(); ++i) {
      if (!Contains(batch, i) && !Contains(contracting, i)) sizes.push_back(rule.values.Of(operand, i));
    }
    // Either side may be the one that knows the size.
    DynamicSizes known = NoSizes(operand);
    for (size_t i = 0; i < contracting.size(); ++i) {
      Instruction* size = rule.values.Of(operand, contracting[i]);
      known[contracting[i]] = size != nullptr ? size : rule.values.Of(rule.instruction->operand(1 - side), other[i]);
    }
    DynamicValues sides;
    sides.Set(operand, known);
    Instruction* zero = rule.Zero(operand->shape().element_type()).instruction();
    rule.instruction->ReplaceOperand(side, sides.Mask(rule.builder, operand, contracting, zero));
    // The other side still asks for these.
    if (rule.operand(side) != operand) rule.values.Set(rule.operand(side), rule.values.Of(operand));
  }
  return rule.Done(rule.instruction, std::move(sizes));
}

Result Convolution(Rule& rule) {
  const auto& convolution = rule.instruction->Get<hlo::ConvolutionAttributes>();
  Instruction* lhs = rule.operand(0);
  Instruction* rhs = rule.operand(1);
  DynamicSizes sizes = NoSizes(rule.instruction);
  sizes[convolution.output_batch] = rule.values.Of(lhs, convolution.input_batch);
  sizes[convolution.output_feature] = rule.values.Of(rhs, convolution.kernel_output_feature);
  const bool grouped = convolution.feature_group_count > 1 || convolution.batch_group_count > 1;
  if (grouped && (sizes[convolution.output_batch] != nullptr || sizes[convolution.output_feature] != nullptr ||
                  rule.values.Of(lhs, convolution.input_feature) != nullptr)) {
    return rule.Refuse("in groups has a batch or feature dimension of dynamic size");
  }
  DimensionVector summed_lhs = convolution.input_spatial;
  DimensionVector summed_rhs = convolution.kernel_spatial;
  summed_lhs.push_back(convolution.input_feature);
  summed_rhs.push_back(convolution.kernel_input_feature);
  for (size_t i = 0; i < convolution.input_spatial.size(); ++i) {
    if (rule.values.Of(rhs, convolution.kernel_spatial[i]) != nullptr) {
      return rule.Refuse("has a kernel of dynamic size");
    }
    Instruction* size = rule.values.Of(lhs, convolution.input_spatial[i]);
    if (size == nullptr) continue;
    sizes[convolution.output_spatial[i]] =
        WindowCount(rule.builder, rule.Value(size), convolution.window[i]).instruction();
  }
  const auto masked = [&](Instruction* operand, const DimensionVector& dimensions) {
    return rule.Mask(operand, dimensions, rule.Zero(operand->shape().element_type()).instruction());
  };
  rule.instruction->ReplaceOperand(0, masked(lhs, summed_lhs));
  rule.instruction->ReplaceOperand(1, masked(rhs, summed_rhs));
  return rule.Done(rule.instruction, std::move(sizes));
}

// min(start, size - slice) in the type of `start`, which keeps a slice inside an array that ends before its bound.
Instruction* BoundedStart(Rule& rule, Instruction* start, Instruction* size, int64_t slice) {
  ArrayValue last = Max(rule.Value(size) - rule.Number(slice), rule.Number(0));
  ArrayValue wide = rule.Value(start);
  if (hlo::BitWidth(wide.type()) < 32) wide = wide.Convert(PrimitiveType::kS32);
  return wide.Binary(Opcode::kMinimum, last.Convert(wide.type())).Convert(start->shape().element_type()).instruction();
}

// Starts that are clamped to what the array holds. Separate start operands begin at `first`.
void BoundStarts(Rule& rule, int64_t first, absl::Span<const int64_t> slice) {
  Instruction* array = rule.operand(0);
  const bool vector =
      !slice.empty() && rule.instruction->operand_count() == first + 1 && rule.operand(first)->shape().rank() == 1;
  for (int64_t i = 0; i < array->shape().rank(); ++i) {
    Instruction* size = rule.values.Of(array, i);
    if (vector || size == nullptr || slice[i] == array->shape().dimensions(i)) continue;
    rule.instruction->ReplaceOperand(first + i, BoundedStart(rule, rule.operand(first + i), size, slice[i]));
  }
}

Result DynamicSlice(Rule& rule) {
  const DimensionVector& slice = rule.instruction->shape().dimensions();
  BoundStarts(rule, 1, slice);
  return Slice(rule);
}

// An update of dynamic size is put over what the array holds there, which may need room past the bound.
Result DynamicUpdateSlice(Rule& rule) {
  Instruction* array = rule.operand(0);
  Instruction* update = rule.operand(1);
  const DynamicSizes sizes = rule.values.Of(array);
  const Shape& shape = rule.instruction->shape();
  if (!rule.values.IsDynamic(update)) {
    BoundStarts(rule, 2, update->shape().dimensions());
    return rule.Done(rule.instruction, sizes);
  }
  if (rule.instruction->operand_count() != 2 + shape.rank())
    return rule.Refuse("of dynamic size takes starts in a vector");
  std::vector<ArrayValue> starts;
  DimensionVector roomy = shape.dimensions();
  for (int64_t i = 0; i < shape.rank(); ++i) {
    ArrayValue start = rule.Value(rule.operand(2 + i));
    start = start.Convert(PrimitiveType::kS32);
    const ArrayValue last = rule.values.Size(rule.builder, array, i) - rule.values.Size(rule.builder, update, i);
    starts.push_back(Max(Min(start, last), rule.Number(0)));
    roomy[i] += update->shape().dimensions(i);
  }
  const ArrayValue zero = rule.Zero(shape.element_type());
  const ArrayValue base = rule.Value(array).PadHigh(roomy, zero);
  const ArrayValue old = base.DynamicSlice(starts, update->shape().dimensions());
  const ArrayValue merged(
      &rule.builder,
      rule.builder.Select(rule.values.Inside(rule.builder, update, AllDimensions(update)), update, old.instruction()));
  ArrayValue result = base.DynamicUpdate(merged, starts);
  for (int64_t i = 0; i < shape.rank(); ++i) result = result.Slice(i, 0, shape.dimensions(i));
  return rule.Done(result.instruction(), sizes);
}

Result Gather(Rule& rule) {
  const auto& gather = rule.instruction->Get<hlo::GatherAttributes>();
  Instruction* array = rule.operand(0);
  Instruction* indices = rule.operand(1);
  DynamicSizes sizes = NoSizes(rule.instruction);
  size_t window = 0;
  for (int64_t i = 0; i < array->shape().rank(); ++i) {
    if (Contains(gather.collapsed_slice_dims, i) || Contains(gather.operand_batching_dims, i)) continue;
    const int64_t to = gather.offset_dims[window++];
    if (gather.slice_sizes[i] == array->shape().dimensions(i)) sizes[to] = rule.values.Of(array, i);
  }
  int64_t from = 0;
  for (int64_t i = 0; i < rule.instruction->shape().rank(); ++i) {
    if (Contains(gather.offset_dims, i)) continue;
    if (from == gather.index_vector_dim) ++from;
    sizes[i] = rule.values.Of(indices, from++);
  }
  // One bound per entry of an index vector.
  const int64_t vector = gather.index_vector_dim;
  const bool has_vector = vector < indices->shape().rank();
  for (size_t k = 0; k < gather.start_index_map.size(); ++k) {
    const int64_t dimension = gather.start_index_map[k];
    Instruction* size = rule.values.Of(array, dimension);
    if (size == nullptr || gather.slice_sizes[dimension] == array->shape().dimensions(dimension)) continue;
    Instruction* bounded = BoundedStart(rule, indices, size, gather.slice_sizes[dimension]);
    if (has_vector) {
      const ArrayValue entry = Iota(&rule.builder, PrimitiveType::kS32, indices->shape().dimensions(), vector);
      bounded = rule.builder.Select((entry == rule.Number(static_cast<int64_t>(k))).instruction(), bounded, indices);
    }
    indices = bounded;
  }
  rule.instruction->ReplaceOperand(1, indices);
  return rule.Done(rule.instruction, std::move(sizes));
}

// Updates past the sizes go nowhere: their indices point outside.
Result Scatter(Rule& rule) {
  const auto& scatter = rule.instruction->Get<hlo::ScatterAttributes>();
  const int64_t count = rule.instruction->operand_count() / 2;
  Instruction* indices = rule.operand(count);
  DynamicSizes known = NoSizes(indices);
  int64_t from = 0;
  const Instruction* update = rule.operand(count + 1);
  for (int64_t i = 0; i < update->shape().rank(); ++i) {
    Instruction* size = rule.values.Of(update, i);
    if (Contains(scatter.update_window_dims, i)) {
      if (size != nullptr) return rule.Refuse("has windows of dynamic size");
      continue;
    }
    if (from == scatter.index_vector_dim) ++from;
    known[from] = size != nullptr ? size : rule.values.Of(indices, from);
    ++from;
  }
  DynamicValues sizes;
  sizes.Set(indices, known);
  const PrimitiveType type = indices->shape().element_type();
  Instruction* outside = rule.builder.Constant(
      hlo::IsSignedIntegral(type) ? hlo::LiteralOf(Shape::Scalar(type), int64_t{-1}) : hlo::MaxLiteral(type));
  rule.instruction->ReplaceOperand(count, sizes.Mask(rule.builder, indices, AllDimensions(indices), outside));
  std::vector<DynamicSizes> leaves;
  for (int64_t i = 0; i < count; ++i) leaves.push_back(rule.values.Of(rule.operand(i)));
  rule.values.SetLeaves(rule.instruction, std::move(leaves));
  return rule.instruction;
}

Result TopK(Rule& rule) {
  Instruction* operand = rule.operand(0);
  DynamicSizes sizes = rule.values.Of(operand);
  const int64_t last = operand->shape().rank() - 1;
  if (sizes[last] != nullptr) {
    const PrimitiveType type = operand->shape().element_type();
    const bool largest = rule.instruction->Get<hlo::TopKAttributes>().largest;
    Instruction* loser = rule.builder.Constant(largest ? hlo::MinLiteral(type) : hlo::MaxLiteral(type));
    rule.instruction->ReplaceOperand(0, rule.Mask(operand, {last}, loser));
    sizes[last] = nullptr;
  }
  return AllLeaves(rule, sizes);
}

Result GetDimensionSize(Rule& rule) {
  return rule.values.Size(rule.builder, rule.operand(0), rule.instruction->dimensions()[0]).instruction();
}

// Sizes outside [0, bound] mean the nearest one inside.
Instruction* InBounds(Rule& rule, Instruction* size, int64_t bound) {
  return Min(Max(rule.Value(size), rule.Number(0)), rule.Number(bound)).instruction();
}

Result SetDimensionSize(Rule& rule) {
  Instruction* operand = rule.operand(0);
  DynamicSizes sizes = rule.values.Of(operand);
  if (sizes.empty()) sizes = NoSizes(operand);
  const int64_t dimension = rule.instruction->dimensions()[0];
  Instruction* size = rule.operand(1);
  const int64_t bound = operand->shape().dimensions(dimension);
  const bool whole = size->IsConstant() && hlo::ElementAsInt64(size->literal(), 0) == bound;
  sizes[dimension] = whole ? nullptr : InBounds(rule, size, bound);
  // A value of its own: the operand keeps its sizes.
  return rule.Done(rule.builder.Unary(Opcode::kReshape, operand), std::move(sizes));
}

Result GetTupleElement(Rule& rule) {
  const Shape& tuple = rule.operand(0)->shape();
  const int64_t index = rule.instruction->tuple_index();
  size_t first = 0;
  for (int64_t i = 0; i < index; ++i) first += static_cast<size_t>(tuple.tuple_shapes(i).leaf_count());
  const std::vector<DynamicSizes> leaves = rule.values.Leaves(rule.operand(0));
  const auto begin = leaves.begin() + static_cast<int64_t>(first);
  rule.values.SetLeaves(rule.instruction, {begin, begin + tuple.tuple_shapes(index).leaf_count()});
  return rule.instruction;
}

// Tuples and barriers: the leaves of all operands.
Result Tuple(Rule& rule) {
  std::vector<DynamicSizes> leaves;
  for (const Instruction* operand : rule.instruction->operands()) {
    for (DynamicSizes& sizes : rule.values.Leaves(operand)) leaves.push_back(std::move(sizes));
  }
  rule.values.SetLeaves(rule.instruction, std::move(leaves));
  return rule.instruction;
}

Result CustomCall(Rule& rule) {
  const std::string& target = rule.instruction->Get<hlo::CustomCallAttributes>().target;
  const int64_t operands = rule.instruction->operand_count();
  if (target == "PadToStatic" && operands == 1 && rule.operand(0)->shape().IsArray()) {
    std::vector<Instruction*> parts = {rule.operand(0)};
    for (int64_t i = 0; i < rule.operand(0)->shape().rank(); ++i) {
      parts.push_back(rule.values.Size(rule.builder, rule.operand(0), i).instruction());
    }
    Instruction* result = rule.builder.Tuple(parts);
    if (Shape::Compatible(result->shape(), rule.instruction->shape())) return result;
  }
  if (target == "SliceToDynamic" && operands > 0 && rule.operand(0)->shape().IsArray() &&
      operands == 1 + rule.operand(0)->shape().rank() &&
      Shape::Compatible(rule.operand(0)->shape(), rule.instruction->shape())) {
    Instruction* result = rule.builder.Unary(Opcode::kReshape, rule.operand(0));
    DynamicSizes sizes = NoSizes(result);
    for (int64_t i = 0; i < result->shape().rank(); ++i) {
      if (!rule.declared.is_dynamic_dimension(i)) continue;
      if (rule.operand(1 + i)->shape() != Shape::Scalar(PrimitiveType::kS32))
        return rule.Refuse("takes sizes that are not s32[]");
      sizes[i] = InBounds(rule, rule.operand(1 + i), result->shape().dimensions(i));
    }
    return rule.Done(result, std::move(sizes));
  }
  return rule.Refuse(absl::StrCat("\"", target, "\" over an array of dynamic size has no meaning here"));
}

// Ops of arrays without dynamic operands whose result is merely declared dynamic.
bool HasDynamicOperand(const Rule& rule) {
  return absl::c_any_of(rule.instruction->operands(),
                        [&](const Instruction* operand) { return rule.values.IsDynamic(operand); });
}

// Elementwise ops have the shape of their operands; what is not here has no rule.
struct RuleOfOp {
  Opcode opcode;
  Result (*rule)(Rule& rule);
  bool asks_for_sizes = false;  // about sizes whether or not an operand is dynamic
};
constexpr RuleOfOp kRules[] = {
    {Opcode::kAllReduce, SameShape},
    {Opcode::kBitcastConvert, BitcastConvert},
    {Opcode::kBroadcast, Broadcast},
    {Opcode::kConcatenate, ConcatenateRule},
    {Opcode::kConvolution, Convolution},
    {Opcode::kCopy, SameShape},
    {Opcode::kCustomCall, CustomCall, /*asks_for_sizes=*/true},
    {Opcode::kDot, Dot},
    {Opcode::kDynamicReshape, Reshape, /*asks_for_sizes=*/true},
    {Opcode::kDynamicSlice, DynamicSlice},
    {Opcode::kDynamicUpdateSlice, DynamicUpdateSlice},
    {Opcode::kGather, Gather},
    {Opcode::kGetDimensionSize, GetDimensionSize, /*asks_for_sizes=*/true},
    {Opcode::kGetTupleElement, GetTupleElement},
    {Opcode::kMap, SameShape},
    {Opcode::kOptBarrier, Tuple},
    {Opcode::kPad, Pad},
    {Opcode::kReduce, Reduce},
    {Opcode::kReduceWindow, ReduceWindow},
    {Opcode::kReshape, Reshape},
    {Opcode::kReverse, Reverse},
    {Opcode::kScatter, Scatter},
    {Opcode::kSelectAndScatter, SelectAndScatter},
    {Opcode::kSetDimensionSize, SetDimensionSize, /*asks_for_sizes=*/true},
    {Opcode::kSlice, Slice},
    {Opcode::kSort, Sort},
    {Opcode::kTopK, TopK},
    {Opcode::kTranspose, Transpose},
    {Opcode::kTuple, Tuple},
};

}  // namespace

absl::StatusOr<Instruction*> MakeStatic(Instruction* instruction, DynamicValues& values) {
  Rule rule{instruction, values, Builder(instruction->parent(), instruction), instruction->shape()};
  *instruction->mutable_shape() = WithoutDynamicDimensions(instruction->shape());
  const Opcode opcode = instruction->opcode();
  const auto* row = absl::c_find_if(kRules, [&](const RuleOfOp& candidate) { return candidate.opcode == opcode; });
  const bool has_rule = row != std::end(kRules);
  if (!(has_rule && row->asks_for_sizes) && !HasDynamicOperand(rule)) return instruction;
  if (has_rule) return row->rule(rule);
  return hlo::IsElementwise(opcode) ? SameShape(rule) : rule.Refuse("over an array of dynamic size is not supported");
}

}  // namespace kiln::passes
