#include "src/passes/custom_call_flattening.h"

#include <utility>
#include <vector>


namespace kiln::passes {
namespace {

void AppendElements(Builder* builder, Instruction* value, std::vector<Instruction*>* elements) {
  if (!value->shape().IsTuple()) return elements->push_back(value);
  for (size_t i = 0; i < value->shape().tuple_shapes().size(); ++i) {
    AppendElements(builder, builder->GetTupleElement(value, static_cast<int64_t>(i)), elements);
  }
}

// The part of `shape` at `index`; counts the leaves before it.
const Shape& PartOf(const Shape& shape, const DimensionVector& index, int64_t* first) {
  const Shape* at = &shape;
  for (int64_t i : index) {
    for (int64_t before = 0; before < i; ++before) *first += at->tuple_shapes(before).leaf_count();
    at = &at->tuple_shapes(i);
  }
  return *at;
}

// The indices of all leaves of `shape`, each after `index`.
void AppendLeafIndices(const Shape& shape, DimensionVector index, std::vector<DimensionVector>* indices) {
  if (!shape.IsTuple()) return indices->push_back(index);
  for (size_t i = 0; i < shape.tuple_shapes().size(); ++i) {
    index.push_back(static_cast<int64_t>(i));
    AppendLeafIndices(shape.tuple_shapes(static_cast<int64_t>(i)), index, indices);
    index.pop_back();
  }
}

void Flatten(Instruction* call) {
  auto& attributes = *call->GetMutable<hlo::CustomCallAttributes>();
  std::vector<hlo::OutputOperandAlias> aliases;
  for (const hlo::OutputOperandAlias& alias : attributes.aliases) {
    int64_t place = 0, unused = 0;
    for (int64_t i = 0; i < alias.operand; ++i) place += call->operand(i)->shape().leaf_count();
    const Shape& part = PartOf(call->operand(alias.operand)->shape(), alias.operand_index, &place);
    std::vector<DimensionVector> outputs;
    AppendLeafIndices(PartOf(call->shape(), alias.output_index, &unused), alias.output_index, &outputs);
    // Parts of unequal structure stay as they are, for the compiler to refuse.
    if (static_cast<int64_t>(outputs.size()) != part.leaf_count()) return;
    for (DimensionVector& output : outputs) aliases.push_back({std::move(output), place++, {}});
  }
  std::vector<Shape> layouts;
  for (const Shape& operand : attributes.operand_layouts) {
    for (const Shape* leaf : operand.Leaves()) layouts.push_back(*leaf);
  }
  attributes.aliases = std::move(aliases);
  attributes.operand_layouts = std::move(layouts);
  Builder builder(call->parent(), call);
  std::vector<Instruction*> operands;
  for (Instruction* operand : call->operands()) AppendElements(&builder, operand, &operands);
  call->ReplaceAllOperands(std::move(operands));
}

}  // namespace

absl::StatusOr<bool> FlattenCustomCalls(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (!computation->MayContain(Opcode::kCustomCall)) continue;
    for (Instruction* instruction : computation->instructions()) {
      const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
      const absl::Span<Instruction* const> operands = instruction->operands();
      const bool takes_tuple =
          absl::c_any_of(operands, [](const Instruction* operand) { return operand->shape().IsTuple(); });
      if (call == nullptr || call->api_version != hlo::CustomCallApiVersion::kTypedFfi || !takes_tuple) continue;
      Flatten(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace kiln::passes
