#include "src/passes/bitcast_expander.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/passes/fusion_body.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

bool ChangesType(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kBitcast || !instruction.shape().IsArray()) return false;
  const PrimitiveType to = instruction.shape().element_type(), from = instruction.operand(0)->shape().element_type();
  return to != from && hlo::BitWidth(to) >= 8 && hlo::BitWidth(from) >= 8 && to != PrimitiveType::kPred &&
         from != PrimitiveType::kPred;
}

Instruction* ExpandBitcast(const Instruction& bitcast, Builder* builder) {
  Instruction* value = bitcast.operand(0);
  const Shape& from = value->shape();
  const PrimitiveType type = bitcast.shape().element_type();
  const PrimitiveType source = hlo::ComplexComponentType(from.element_type()), target = hlo::ComplexComponentType(type);
  int64_t count = from.element_count();
  // A vector of real numbers of the old type.
  if (hlo::IsComplex(from.element_type())) {
    std::vector<Instruction*> parts;
    for (const Opcode part : {Opcode::kReal, Opcode::kImag}) {
      parts.push_back(builder->Reshape(builder->Add(part, hlo::ChangeElementType(from, source), {value}), {count, 1}));
    }
    value = builder->Concatenate(parts, 1);
    count *= 2;
  }
  // Of the new one.
  const int64_t from_width = hlo::BitWidth(source), to_width = hlo::BitWidth(target);
  if (from_width < to_width) {
    const int64_t share = to_width / from_width;
    count /= share;
    value = builder->Reshape(value, {count, share});
  } else {
    value = builder->Reshape(value, {count});
  }
  if (source != target) {
    DimensionVector dimensions = {count};
    if (from_width > to_width) dimensions.push_back(from_width / to_width);
    value = builder->Add(Opcode::kBitcastConvert, Shape(target, dimensions), {value});
  }
  if (hlo::IsComplex(type)) {
    value = builder->Reshape(value, {bitcast.shape().element_count(), 2});
    std::vector<Instruction*> parts;
    for (int64_t part : {0, 1}) {
      hlo::SliceAttributes slice{{0, part}, {bitcast.shape().element_count(), part + 1}, {1, 1}};
      parts.push_back(builder->Reshape(builder->Slice(value, slice), bitcast.shape().dimensions()));
    }
    return builder->Add(Opcode::kComplex, bitcast.shape(), std::move(parts));
  }
  return builder->Reshape(value, bitcast.shape().dimensions());
}

}  // namespace

absl::StatusOr<bool> ExpandBitcasts(Module* module) {
  const std::vector<Computation*> control = ControlComputations(*module);
  const absl::flat_hash_set<const Computation*> outside(control.begin(), control.end());
  return ReplaceOps(module, {Opcode::kBitcast}, [&](Instruction* instruction) -> Instruction* {
    if (outside.contains(instruction->parent()) || !ChangesType(*instruction)) return nullptr;
    Builder builder(instruction->parent(), instruction);
    return ExpandBitcast(*instruction, &builder);
  });
}

}  // namespace kiln::passes
