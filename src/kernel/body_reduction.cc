// Bodies with reduction loops: reduce, reduce-window, dot, convolution, and map, whose computation is inlined.
#include "src/base/status.h"
#include "src/kernel/body_builder.h"

namespace kiln::kernel {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

namespace {

// The binary op that a two-parameter computation is, or null: those have identities and vector forms.
const Instruction* SimpleCombiner(const hlo::Computation& computation) {
  const Instruction* root = computation.root();
  if (hlo::KindOf(root->opcode()) != hlo::OpKind::kElementwiseBinary || !hlo::IsCommutative(root->opcode())) {
    return nullptr;
  }
  if (computation.parameter_count() != 2) return nullptr;
  const bool is_extreme = root->opcode() == Opcode::kMaximum || root->opcode() == Opcode::kMinimum;
  if (is_extreme && hlo::IsComplex(root->shape().element_type())) return nullptr;  // no identity
  const Instruction* a = computation.parameter(0);
  const Instruction* b = computation.parameter(1);
  if (!(root->operand(0) == a && root->operand(1) == b) && !(root->operand(0) == b && root->operand(1) == a)) {
    return nullptr;
  }
  return root;
}

}  // namespace

// The largest of narrow floats is found among f32 values, which have ordering instructions: nothing rounds.
bool BodyBuilder::WidensExtreme(const Instruction* simple, PrimitiveType type) {
  return simple != nullptr && hlo::IsFloating(type) && hlo::BitWidth(type) < 32 &&
         (simple->opcode() == Opcode::kMaximum || simple->opcode() == Opcode::kMinimum);
}

absl::StatusOr<ValueId> BodyBuilder::EmitMap(const Instruction* instruction, const Index& index) {
  std::vector<ValueId> arguments;
  for (const Instruction* operand : instruction->operands()) {
    KILN_ASSIGN_OR_RETURN(ValueId value, Emit(operand, index));
    arguments.push_back(value);
  }
  KILN_ASSIGN_OR_RETURN(std::vector<ValueId> results, Inline(*instruction->called_computation(), arguments));
  return results[0];
}

absl::StatusOr<ValueId> BodyBuilder::EmitReduce(const Instruction* instruction, const Index& index, int64_t leaf) {
  Key key{instruction, 0, predicate_, index};
  auto found = reduce_memo_.find(key);
  if (found != reduce_memo_.end()) return found->second[leaf];
  const int64_t count = instruction->operand_count() / 2;
  const hlo::Shape& input = instruction->operand(0)->shape();
  std::vector<ValueId> inits;
  for (int64_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(ValueId init, Emit(instruction->operand(count + i), {}));
    inits.push_back(init);
  }
  std::vector<bool> reduced(input.rank(), false);
  for (int64_t d : instruction->dimensions()) reduced[d] = true;
  std::vector<int64_t> extents;
  for (int64_t d = 0; d < input.rank(); ++d) {
    if (reduced[d]) extents.push_back(input.dimensions(d));
  }
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return inits[leaf];
  Index variables;
  KILN_ASSIGN_OR_RETURN(int reduce, BeginReduce(extents, &variables));
  Index from;
  size_t next_kept = 0, next_reduced = 0;
  for (int64_t d = 0; d < input.rank(); ++d) {
    from.push_back(reduced[d] ? variables[next_reduced++] : index[next_kept++]);
  }
  std::vector<ValueId> elements;
  for (int64_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(ValueId element, Emit(instruction->operand(i), from));
    elements.push_back(element);
  }
  const hlo::Computation* combiner = instruction->called_computation();
  const Instruction* simple = count == 1 ? SimpleCombiner(*combiner) : nullptr;
  const PrimitiveType type = kernel_.ops[elements[0]].type;
  const bool widens = WidensExtreme(simple, type);
  if (widens) {
    inits[0] = AddElementwise(Opcode::kConvert, PrimitiveType::kF32, {inits[0]});
    elements[0] = AddElementwise(Opcode::kConvert, PrimitiveType::kF32, {elements[0]});
  }
  KILN_ASSIGN_OR_RETURN(std::vector<ValueId> results,
                        EndReduce(reduce, std::move(inits), std::move(elements), simple ? nullptr : combiner,
                                  simple ? simple->opcode() : Opcode::kAdd));
  if (widens) results[0] = AddElementwise(Opcode::kConvert, type, {results[0]});
  reduce_memo_[key] = results;
  return results[leaf];
}

absl::StatusOr<ValueId> BodyBuilder::EmitReduceWindow(const Instruction* instruction, const Index& index,
                                                      int64_t leaf) {
  Key key{instruction, 0, predicate_, index};
  auto found = reduce_memo_.find(key);
  if (found != reduce_memo_.end()) return found->second[leaf];
  const int64_t count = instruction->operand_count() / 2;
  const hlo::Shape& input = instruction->operand(0)->shape();
  const hlo::Window& window = instruction->Get<hlo::WindowAttributes>().window;
  std::vector<ValueId> inits;
  for (int64_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(ValueId init, Emit(instruction->operand(count + i), {}));
    inits.push_back(init);
  }
  if (input.element_count() == 0) return inits[leaf];
  std::vector<int64_t> extents;
  for (const hlo::WindowDimension& d : window) extents.push_back(d.size);
  Index variables;
  KILN_ASSIGN_OR_RETURN(int reduce, BeginReduce(extents, &variables));
  std::vector<Condition> conditions;
  Index from;
  for (size_t d = 0; d < window.size(); ++d) {
    const hlo::WindowDimension& w = window[d];
    IndexExpr position = index[d] * w.stride + variables[d] * w.window_dilation + -w.padding_low;
    conditions.push_back({position, 0, (input.dimensions(d) - 1) * w.base_dilation + 1});
    if (w.base_dilation > 1) conditions.push_back({kernel_.terms.Mod(position, w.base_dilation), 0, 1});
    from.push_back(kernel_.terms.FloorDiv(position, w.base_dilation));
  }
  bool never;
  ValueId inside = AddCondition(std::move(conditions), kNoValue, &never);
  ValueId guard = predicate_;
  if (inside != kNoValue) {
    guard = predicate_ == kNoValue ? inside
                                   : AddElementwise(Opcode::kAnd, PrimitiveType::kPred, {inside, predicate_});
  }
  const hlo::Computation* combiner = instruction->called_computation();
  const Instruction* simple = count == 1 ? SimpleCombiner(*combiner) : nullptr;
  std::vector<ValueId> elements;
  for (int64_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(ValueId element, EmitUnder(guard, instruction->operand(i), from));
    // Padding takes no part.
    if (inside != kNoValue && simple) {
      const PrimitiveType type = kernel_.ops[element].type;
      ValueId identity = AddConstant(CombinerIdentity(simple->opcode(), type), 0);
      element = AddElementwise(Opcode::kSelect, type, {inside, element, identity});
    }
    elements.push_back(element);
  }
  kernel_.reduces[reduce].inside = inside;
  if (!simple) kernel_.reduces[reduce].predicate = inside;
  KILN_ASSIGN_OR_RETURN(std::vector<ValueId> results,
                        EndReduce(reduce, std::move(inits), std::move(elements), simple ? nullptr : combiner,
                                  simple ? simple->opcode() : Opcode::kAdd));
  reduce_memo_[key] = results;
  return results[leaf];
}

absl::StatusOr<ValueId> BodyBuilder::EmitDot(const Instruction* instruction, const Index& index) {
  const auto& dot = instruction->Get<hlo::DotAttributes>();
  const Instruction* lhs = instruction->operand(0);
  const Instruction* rhs = instruction->operand(1);
  const PrimitiveType type = instruction->shape().element_type();
  // Narrow floats are summed in f32 and rounded once.
  const PrimitiveType sum_type =
      hlo::IsFloating(type) && hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
  std::vector<int64_t> extents;
  for (int64_t d : dot.lhs_contracting) extents.push_back(lhs->shape().dimensions(d));
  ValueId zero = AddConstant(hlo::ZeroLiteral(sum_type), 0);
  auto finish = [&](ValueId sum) {
    return sum_type == type ? sum : AddElementwise(Opcode::kConvert, type, {sum});
  };
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return finish(zero);
  Index variables;
  KILN_ASSIGN_OR_RETURN(int reduce, BeginReduce(extents, &variables));
  auto operand_index = [&](const Instruction* operand, const hlo::DimensionVector& batch,
                           const hlo::DimensionVector& contracting, size_t first_free) {
    Index at(operand->shape().rank());
    std::vector<bool> done(at.size(), false);
    for (size_t i = 0; i < batch.size(); ++i) {
      at[batch[i]] = index[i];
      done[batch[i]] = true;
    }
    for (size_t i = 0; i < contracting.size(); ++i) {
      at[contracting[i]] = variables[i];
      done[contracting[i]] = true;
    }
    for (size_t i = 0; i < at.size(); ++i) {
      if (!done[i]) at[i] = index[first_free++];
    }
    return at;
  };
  const size_t lhs_free = dot.lhs_batch.size();
  const size_t rhs_free = lhs_free + lhs->shape().rank() - dot.lhs_batch.size() - dot.lhs_contracting.size();
  KILN_ASSIGN_OR_RETURN(ValueId a, Emit(lhs, operand_index(lhs, dot.lhs_batch, dot.lhs_contracting, lhs_free)));
  KILN_ASSIGN_OR_RETURN(ValueId b, Emit(rhs, operand_index(rhs, dot.rhs_batch, dot.rhs_contracting, rhs_free)));
  if (kernel_.ops[a].type != sum_type) a = AddElementwise(Opcode::kConvert, sum_type, {a});
  if (kernel_.ops[b].type != sum_type) b = AddElementwise(Opcode::kConvert, sum_type, {b});
  ValueId product = AddElementwise(Opcode::kMultiply, sum_type, {a, b});
  KILN_ASSIGN_OR_RETURN(std::vector<ValueId> results, EndReduce(reduce, {zero}, {product}, nullptr, Opcode::kAdd));
  return finish(results[0]);
}

absl::StatusOr<ValueId> BodyBuilder::EmitConvolution(const Instruction* instruction, const Index& index) {
  const auto& conv = instruction->Get<hlo::ConvolutionAttributes>();
  const Instruction* lhs = instruction->operand(0);
  const Instruction* rhs = instruction->operand(1);
  const PrimitiveType type = instruction->shape().element_type();
  const PrimitiveType sum_type =
      hlo::IsFloating(type) && hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
  ValueId zero = AddConstant(hlo::ZeroLiteral(sum_type), 0);
  auto finish = [&](ValueId sum) {
    return sum_type == type ? sum : AddElementwise(Opcode::kConvert, type, {sum});
  };
  if (lhs->shape().element_count() == 0 || rhs->shape().element_count() == 0) return finish(zero);
  const int64_t output_features = rhs->shape().dimensions(conv.kernel_output_feature);
  const int64_t group_inputs = rhs->shape().dimensions(conv.kernel_input_feature);
  std::vector<int64_t> extents;
  for (int64_t d : conv.kernel_spatial) extents.push_back(rhs->shape().dimensions(d));
  extents.push_back(group_inputs);
  Index variables;
  KILN_ASSIGN_OR_RETURN(int reduce, BeginReduce(extents, &variables));
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
    IndexExpr position =
        index[conv.output_spatial[s]] * w.stride + variables[s] * w.window_dilation + -w.padding_low;
    conditions.push_back({position, 0, (input_size - 1) * w.base_dilation + 1});
    if (w.base_dilation > 1) conditions.push_back({kernel_.terms.Mod(position, w.base_dilation), 0, 1});
    lhs_index[conv.input_spatial[s]] = kernel_.terms.FloorDiv(position, w.base_dilation);
    rhs_index[conv.kernel_spatial[s]] =
        w.reversal ? IndexExpr::Constant(rhs->shape().dimensions(conv.kernel_spatial[s]) - 1) - variables[s]
                   : variables[s];
  }
  bool never;
  ValueId inside = AddCondition(std::move(conditions), kNoValue, &never);
  ValueId guard = predicate_;
  if (inside != kNoValue) {
    guard = predicate_ == kNoValue ? inside
                                   : AddElementwise(Opcode::kAnd, PrimitiveType::kPred, {inside, predicate_});
  }
  KILN_ASSIGN_OR_RETURN(ValueId a, EmitUnder(guard, lhs, lhs_index));
  KILN_ASSIGN_OR_RETURN(ValueId b, Emit(rhs, rhs_index));
  if (kernel_.ops[a].type != sum_type) a = AddElementwise(Opcode::kConvert, sum_type, {a});
  if (kernel_.ops[b].type != sum_type) b = AddElementwise(Opcode::kConvert, sum_type, {b});
  ValueId product = AddElementwise(Opcode::kMultiply, sum_type, {a, b});
  // What lies in the padding contributes nothing, also against an infinite weight.
  if (inside != kNoValue) product = AddElementwise(Opcode::kSelect, sum_type, {inside, product, zero});
  kernel_.reduces[reduce].inside = inside;
  KILN_ASSIGN_OR_RETURN(std::vector<ValueId> results, EndReduce(reduce, {zero}, {product}, nullptr, Opcode::kAdd));
  return finish(results[0]);
}

}  // namespace kiln::kernel
