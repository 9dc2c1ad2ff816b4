// Bodies with reduction loops: reduce, reduce-window, dot, convolution, and map, whose computation is inlined.
#include <functional>

#include "absl/algorithm/container.h"
#include "src/analysis/combiner.h"
#include "src/analysis/fusion_model.h"
#include "src/base/status.h"
#include "src/kernel/body_builder.h"

namespace kiln::kernel {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

namespace {

bool IsNarrow(PrimitiveType type) { return hlo::IsFloating(type) && hlo::BitWidth(type) < 32; }

// The binary op that `combiner` is, if that has an identity and so vector forms.
std::optional<Opcode> SimpleCombiner(const hlo::Computation& combiner) {
  const std::optional<Opcode> opcode = analysis::CombinerOpcode(combiner);
  const bool has = opcode.has_value() && analysis::IdentityOf(*opcode, combiner.root()->shape().element_type());
  return has ? opcode : std::nullopt;
}

// How many elements beside each other are reduced first: one of each column where columns are reduced, so that what
// makes them is computed once per block.
int64_t ElementsOfBlock(const Instruction& reduce) {
  if (!analysis::ReducesBlocks(reduce)) return 1;
  const int64_t row = reduce.operand(0)->shape().dimensions(reduce.operand(0)->shape().rank() - 1);
  for (int64_t i = 0; i < reduce.operand_count() / 2; ++i) {
    const Instruction* columns = analysis::ColumnsOf(*reduce.operand(i));
    if (columns != nullptr && row % columns->operand_count() == 0) return columns->operand_count();
  }
  return 1;
}

// Windows of as many elements are written out where they lie along rows.
constexpr int64_t kMaxWrittenOut = 27;

int64_t ElementsOf(const hlo::Window& window) {
  int64_t elements = 1;
  for (const hlo::WindowDimension& w : window) elements *= w.size;
  return elements;
}

}  // namespace

absl::StatusOr<ValueId> BodyBuilder::EmitMap(const Instruction* instruction, const Index& index) {
  std::vector<ValueId> arguments;
  for (const Instruction* operand : instruction->operands()) {
    KILN_ASSIGN_OR_RETURN(ValueId value, Emit(operand, index));
    arguments.push_back(value);
  }
  KILN_ASSIGN_OR_RETURN(std::vector<ValueId> results, Inline(*instruction->called_computation(), arguments));
  return results[0];
}

bool BodyBuilder::IsWrittenOut(const Instruction& reduce_window) const {
  if (reduce_window.operand_count() != 2 || !inputs_.contains(reduce_window.operand(0))) return false;
  const hlo::Window& window = reduce_window.Get<hlo::WindowAttributes>().window;
  return !window.empty() && window.back().size > 1 && reduce_window.shape().dimensions().back() > 1 &&
         absl::c_all_of(window, [](const hlo::WindowDimension& w) { return w.base_dilation == 1; }) &&
         ElementsOf(window) <= kMaxWrittenOut && SimpleCombiner(*reduce_window.called_computation()).has_value();
}

absl::StatusOr<ValueId> BodyBuilder::EmitWrittenOut(const Instruction* instruction, const Index& index) {
  const Instruction* operand = instruction->operand(0);
  const hlo::Window& window = instruction->Get<hlo::WindowAttributes>().window;
  const Opcode combiner = *SimpleCombiner(*instruction->called_computation());
  const PrimitiveType type = operand->shape().element_type();
  const int64_t elements = ElementsOf(window);
  const bool widens = combiner == Opcode::kAdd && analysis::AddUpInF32(type, elements);
  const PrimitiveType made = widens ? PrimitiveType::kF32 : type;
  KILN_ASSIGN_OR_RETURN(ValueId result, Emit(instruction->operand(1), {}));
  result = Converted(result, made);
  for (int64_t number = 0; number < elements; ++number) {
    Index from(window.size());
    std::vector<Condition> conditions;
    int64_t rest = number;
    for (size_t d = window.size(); d-- > 0; rest /= window[d].size) {
      const hlo::WindowDimension& w = window[d];
      const int64_t offset = rest % w.size * w.window_dilation - w.padding_low;
      from[d] = Undilate(index[d] * w.stride + offset, operand->shape().dimensions(static_cast<int64_t>(d)),
                         /*dilation=*/1, &conditions);
    }
    bool never;
    const ValueId inside = AddCondition(std::move(conditions), kNoValue, &never);
    if (never) continue;
    KILN_ASSIGN_OR_RETURN(ValueId element, EmitGuarded(Guard(inside), operand, from));
    element = Converted(element, made);
    if (inside != kNoValue) {
      element =
          AddElementwise(Opcode::kSelect, made, {inside, element, AddConstant(CombinerIdentity(combiner, made), 0)});
    }
    result = AddElementwise(combiner, made, {result, element});
  }
  return Converted(result, type);
}

absl::StatusOr<ValueId> BodyBuilder::EmitReduce(const Instruction* instruction, const Index& index, int64_t leaf) {
  const int64_t count = instruction->operand_count() / 2;
  const hlo::Shape& input = instruction->operand(0)->shape();
  const bool windowed = instruction->opcode() == Opcode::kReduceWindow;
  if (windowed && IsWrittenOut(*instruction)) return EmitWrittenOut(instruction, index);
  std::vector<ValueId> inits, elements;
  for (int64_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(ValueId init, Emit(instruction->operand(count + i), {}));
    inits.push_back(init);
  }
  if (input.element_count() == 0) return inits[leaf];
  std::vector<int64_t> extents;
  Index from, variables;
  ValueId inside = kNoValue;
  const int64_t block = windowed ? 1 : ElementsOfBlock(*instruction);
  if (windowed) {
    const hlo::Window& window = instruction->Get<hlo::WindowAttributes>().window;
    for (const hlo::WindowDimension& d : window) extents.push_back(d.size);
    KILN_ASSIGN_OR_RETURN(variables, BeginReduce(extents));
    std::vector<Condition> conditions;
    for (size_t d = 0; d < window.size(); ++d) {
      const hlo::WindowDimension& w = window[d];
      const IndexExpr position = index[d] * w.stride + variables[d] * w.window_dilation + -w.padding_low;
      from.push_back(Undilate(position, input.dimensions(d), w.base_dilation, &conditions));
    }
    bool never;
    inside = AddCondition(std::move(conditions), kNoValue, &never);
  } else {
    auto reduced = [&](int64_t d) { return absl::c_linear_search(instruction->dimensions(), d); };
    for (int64_t d = 0; d < input.rank(); ++d) {
      if (reduced(d)) extents.push_back(input.dimensions(d));
    }
    if (block > 1) extents.back() /= block;
    KILN_ASSIGN_OR_RETURN(variables, BeginReduce(extents));
    if (block > 1) variables.back() = variables.back() * block;
    size_t next_kept = 0, next_reduced = 0;
    for (int64_t d = 0; d < input.rank(); ++d) {
      from.push_back(reduced(d) ? variables[next_reduced++] : index[next_kept++]);
    }
  }
  const ValueId guard = Guard(inside);
  const hlo::Computation* combiner = instruction->called_computation();
  const std::optional<Opcode> simple = count == 1 ? SimpleCombiner(*combiner) : std::nullopt;
  for (int64_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(ValueId element, EmitGuarded(guard, instruction->operand(i), from));
    // Padding takes no part.
    if (inside != kNoValue && simple.has_value()) {
      const PrimitiveType type = kernel_.ops[element].type;
      element =
          AddElementwise(Opcode::kSelect, type, {inside, element, AddConstant(CombinerIdentity(*simple, type), 0)});
    }
    elements.push_back(element);
  }
  for (int64_t beside = 1; beside < block; ++beside) {
    Index at = from;
    at.back() = at.back() + beside;
    std::vector<ValueId> next;
    for (int64_t i = 0; i < count; ++i) {
      KILN_ASSIGN_OR_RETURN(ValueId element, Emit(instruction->operand(i), at));
      next.push_back(element);
    }
    if (simple.has_value()) {
      elements = {AddElementwise(*simple, kernel_.ops[next[0]].type, {elements[0], next[0]})};
    } else {
      elements.insert(elements.end(), next.begin(), next.end());
      KILN_ASSIGN_OR_RETURN(elements, Inline(*combiner, elements));
    }
  }
  const PrimitiveType type = kernel_.ops[elements[0]].type;
  // The largest of floats of a byte is found among f32 values: nothing rounds. Sums that are no windows have been
  // widened before (sum-widening).
  const bool finds = simple == Opcode::kMaximum || simple == Opcode::kMinimum;
  const bool widens = windowed
                          ? simple == Opcode::kAdd &&
                                analysis::AddUpInF32(type, absl::c_accumulate(extents, int64_t{1}, std::multiplies<>()))
                          : finds && hlo::IsFloating(type) && hlo::BitWidth(type) < 16;
  if (widens) {
    inits[0] = Converted(inits[0], PrimitiveType::kF32);
    elements[0] = Converted(elements[0], PrimitiveType::kF32);
  }
  std::vector<ValueId> results = EndReduce(std::move(inits), std::move(elements), combiner, simple, inside);
  if (widens) results[0] = Converted(results[0], type);
  for (int64_t i = 0; i < count; ++i) memo_.try_emplace(Key{instruction, i, predicate_, index}, results[i]);
  return results[leaf];
}

// Sums of narrow floats are made in f32 and rounded once.
ValueId BodyBuilder::AddZeroOfSum(PrimitiveType type) {
  return AddConstant(hlo::ZeroLiteral(IsNarrow(type) ? PrimitiveType::kF32 : type), 0);
}

ValueId BodyBuilder::EndSumOfProducts(ValueId zero, ValueId a, ValueId b, ValueId inside, PrimitiveType type) {
  const PrimitiveType sum_type = kernel_.ops[zero].type;
  a = Converted(a, sum_type);
  b = Converted(b, sum_type);
  ValueId product = AddElementwise(Opcode::kMultiply, sum_type, {a, b});
  // What lies in the padding contributes nothing, also against an infinite weight.
  if (inside != kNoValue) product = AddElementwise(Opcode::kSelect, sum_type, {inside, product, zero});
  return Converted(EndReduce({zero}, {product}, nullptr, Opcode::kAdd, inside)[0], type);
}

absl::StatusOr<ValueId> BodyBuilder::EmitDot(const Instruction* instruction, const Index& index) {
  const auto& dot = instruction->Get<hlo::DotAttributes>();
  const Instruction* lhs = instruction->operand(0);
  const Instruction* rhs = instruction->operand(1);
  const PrimitiveType type = instruction->shape().element_type();
  const ValueId zero = AddZeroOfSum(type);
  std::vector<int64_t> extents;
  for (int64_t d : dot.lhs_contracting) extents.push_back(lhs->shape().dimensions(d));
  if (absl::c_linear_search(extents, 0)) return Converted(zero, type);
  KILN_ASSIGN_OR_RETURN(const Index variables, BeginReduce(extents));
  auto operand_index = [&](const Instruction* operand, const hlo::DimensionVector& batch,
                           const hlo::DimensionVector& contracting, size_t first_free) {
    Index at(operand->shape().rank());
    for (size_t i = 0; i < batch.size(); ++i) at[batch[i]] = index[i];
    for (size_t i = 0; i < contracting.size(); ++i) at[contracting[i]] = variables[i];
    for (int64_t d = 0; d < operand->shape().rank(); ++d) {
      if (!absl::c_linear_search(batch, d) && !absl::c_linear_search(contracting, d)) at[d] = index[first_free++];
    }
    return at;
  };
  const size_t lhs_free = dot.lhs_batch.size();
  const size_t rhs_free = lhs_free + lhs->shape().rank() - dot.lhs_batch.size() - dot.lhs_contracting.size();
  KILN_ASSIGN_OR_RETURN(ValueId a, Emit(lhs, operand_index(lhs, dot.lhs_batch, dot.lhs_contracting, lhs_free)));
  KILN_ASSIGN_OR_RETURN(ValueId b, Emit(rhs, operand_index(rhs, dot.rhs_batch, dot.rhs_contracting, rhs_free)));
  return EndSumOfProducts(zero, a, b, /*inside=*/kNoValue, type);
}

absl::StatusOr<ValueId> BodyBuilder::EmitConvolution(const Instruction* instruction, const Index& index) {
  const auto& conv = instruction->Get<hlo::ConvolutionAttributes>();
  const Instruction* lhs = instruction->operand(0);
  const Instruction* rhs = instruction->operand(1);
  const PrimitiveType type = instruction->shape().element_type();
  const ValueId zero = AddZeroOfSum(type);
  if (lhs->shape().element_count() == 0 || rhs->shape().element_count() == 0) return Converted(zero, type);
  const int64_t output_features = rhs->shape().dimensions(conv.kernel_output_feature);
  const int64_t group_inputs = rhs->shape().dimensions(conv.kernel_input_feature);
  std::vector<int64_t> extents;
  for (int64_t d : conv.kernel_spatial) extents.push_back(rhs->shape().dimensions(d));
  extents.push_back(group_inputs);
  KILN_ASSIGN_OR_RETURN(const Index variables, BeginReduce(extents));
  const IndexExpr& feature = index[conv.output_feature];
  Index lhs_index(lhs->shape().rank()), rhs_index(rhs->shape().rank());
  IndexExpr batch = index[conv.output_batch];
  if (conv.batch_group_count > 1) {
    const int64_t group_batch = lhs->shape().dimensions(conv.input_batch) / conv.batch_group_count;
    batch = batch + kernel_.terms.FloorDiv(feature, output_features / conv.batch_group_count) * group_batch;
  }
  lhs_index[conv.input_batch] = batch;
  IndexExpr input_feature = variables.back();
  if (conv.feature_group_count > 1) {
    input_feature =
        input_feature + kernel_.terms.FloorDiv(feature, output_features / conv.feature_group_count) * group_inputs;
  }
  lhs_index[conv.input_feature] = input_feature;
  rhs_index[conv.kernel_input_feature] = variables.back();
  rhs_index[conv.kernel_output_feature] = feature;
  std::vector<Condition> conditions;
  for (size_t s = 0; s < conv.window.size(); ++s) {
    const hlo::WindowDimension& w = conv.window[s];
    const int64_t input_size = lhs->shape().dimensions(conv.input_spatial[s]);
    const IndexExpr position =
        index[conv.output_spatial[s]] * w.stride + variables[s] * w.window_dilation + -w.padding_low;
    lhs_index[conv.input_spatial[s]] = Undilate(position, input_size, w.base_dilation, &conditions);
    rhs_index[conv.kernel_spatial[s]] =
        w.reversal ? IndexExpr::Constant(rhs->shape().dimensions(conv.kernel_spatial[s]) - 1) - variables[s]
                   : variables[s];
  }
  bool never;
  ValueId inside = AddCondition(std::move(conditions), kNoValue, &never);
  KILN_ASSIGN_OR_RETURN(ValueId a, EmitGuarded(Guard(inside), lhs, lhs_index));
  KILN_ASSIGN_OR_RETURN(ValueId b, Emit(rhs, rhs_index));
  return EndSumOfProducts(zero, a, b, inside, type);
}

}  // namespace kiln::kernel
