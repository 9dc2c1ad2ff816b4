// Bodies of data movement whose index map has conditions or data in it: pad, concatenate, dynamic slices, gather.
#include "absl/algorithm/container.h"
#include "src/base/status.h"
#include "src/kernel/body_builder.h"

namespace kiln::kernel {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

IndexExpr BodyBuilder::Undilate(const IndexExpr& position, int64_t size, int64_t dilation,
                                std::vector<Condition>* conditions) {
  conditions->push_back({position, 0, (size - 1) * dilation + 1});
  if (dilation > 1) conditions->push_back({kernel_.terms.Mod(position, dilation), 0, 1});
  return kernel_.terms.FloorDiv(position, dilation);
}

absl::StatusOr<ValueId> BodyBuilder::EmitPad(const Instruction* instruction, const Index& index) {
  const auto& pad = instruction->Get<hlo::PadAttributes>();
  const Instruction* operand = instruction->operand(0);
  KILN_ASSIGN_OR_RETURN(ValueId padding, Emit(instruction->operand(1), {}));
  std::vector<Condition> conditions;
  Index from;
  bool never = operand->shape().element_count() == 0;
  for (size_t i = 0; i < index.size() && !never; ++i) {
    from.push_back(Undilate(index[i] + -pad.low[i], operand->shape().dimensions(i), pad.interior[i] + 1, &conditions));
  }
  if (never) return padding;
  ValueId inside = AddCondition(std::move(conditions), kNoValue, &never);
  if (never) return padding;
  if (inside == kNoValue) return Emit(operand, from);
  KILN_ASSIGN_OR_RETURN(ValueId value, EmitGuarded(Guard(inside), operand, from));
  return AddElementwise(Opcode::kSelect, instruction->shape().element_type(), {inside, value, padding});
}

absl::StatusOr<ValueId> BodyBuilder::EmitConcatenate(const Instruction* instruction, const Index& index) {
  const int64_t dimension = instruction->dimensions()[0];
  const IndexRange range = kernel_.terms.RangeOf(index[dimension]);
  struct Piece {
    const Instruction* operand;
    int64_t start, end;
  };
  std::vector<Piece> pieces;
  int64_t start = 0;
  for (const Instruction* operand : instruction->operands()) {
    int64_t end = start + operand->shape().dimensions(dimension);
    // Only pieces that this index can meet.
    if (end > start && range.low < end && range.high >= start) pieces.push_back({operand, start, end});
    start = end;
  }
  if (pieces.empty()) return Internal(instruction->Describe(), ": index outside of every operand");
  auto at = [&](const Piece& piece) {
    Index from = index;
    from[dimension] = piece.end - piece.start == 1 ? IndexExpr() : index[dimension] + -piece.start;
    return from;
  };
  if (pieces.size() == 1) return Emit(pieces[0].operand, at(pieces[0]));
  ValueId result = kNoValue;
  for (const Piece& piece : pieces) {
    bool never;
    ValueId inside = AddCondition({{index[dimension], piece.start, piece.end}}, kNoValue, &never);
    KILN_ASSIGN_OR_RETURN(ValueId value, EmitGuarded(Guard(inside), piece.operand, at(piece)));
    result = result == kNoValue
                 ? value
                 : AddElementwise(Opcode::kSelect, instruction->shape().element_type(), {inside, value, result});
  }
  return result;
}

absl::StatusOr<ValueId> BodyBuilder::EmitBitcastConvert(const Instruction* instruction, const Index& index) {
  const PrimitiveType from_type = instruction->operand(0)->shape().element_type();
  const PrimitiveType to_type = instruction->shape().element_type();
  const int from_bits = hlo::BitWidth(from_type), to_bits = hlo::BitWidth(to_type);
  if (from_bits == to_bits) return EmitElementwise(instruction, index);
  if (from_type == PrimitiveType::kPred || to_type == PrimitiveType::kPred || hlo::IsComplex(from_type) ||
      hlo::IsComplex(to_type)) {
    return Unimplemented(instruction->Describe(), ": bitcast-convert from ", hlo::PrimitiveTypeName(from_type), " to ",
                         hlo::PrimitiveTypeName(to_type), " has no kernel");
  }
  auto bits_type = [](int bits) {
    return bits == 2    ? PrimitiveType::kU2
           : bits == 4  ? PrimitiveType::kU4
           : bits == 8  ? PrimitiveType::kU8
           : bits == 16 ? PrimitiveType::kU16
           : bits == 32 ? PrimitiveType::kU32
                        : PrimitiveType::kU64;
  };
  const PrimitiveType wide = bits_type(std::max(from_bits, to_bits)), narrow = bits_type(std::min(from_bits, to_bits));
  const hlo::Shape wide_scalar = hlo::Shape::Scalar(wide);
  if (from_bits > to_bits) {
    // Part k of an element is its bits from k * to_bits up.
    Index from(index.begin(), index.end() - 1);
    KILN_ASSIGN_OR_RETURN(ValueId value, Emit(instruction->operand(0), from));
    value = AddElementwise(Opcode::kBitcastConvert, wide, {value});
    const ValueId shift = AddOp({.kind = OpKind::kIndex, .type = wide, .offset = index.back() * to_bits});
    value = AddElementwise(Opcode::kShiftRightLogical, wide, {value, shift});
    value = AddElementwise(Opcode::kConvert, narrow, {value});
    return AddElementwise(Opcode::kBitcastConvert, to_type, {value});
  }
  ValueId result = kNoValue;
  for (int k = 0; k < to_bits / from_bits; ++k) {
    Index from = index;
    from.push_back(IndexExpr::Constant(k));
    KILN_ASSIGN_OR_RETURN(ValueId part, Emit(instruction->operand(0), from));
    part = AddElementwise(Opcode::kBitcastConvert, narrow, {part});
    part = AddElementwise(Opcode::kConvert, wide, {part});
    ValueId shift = AddConstant(hlo::LiteralOf(wide_scalar, int64_t{k} * from_bits), 0);
    part = AddElementwise(Opcode::kShiftLeft, wide, {part, shift});
    result = result == kNoValue ? part : AddElementwise(Opcode::kOr, wide, {result, part});
  }
  return AddElementwise(Opcode::kBitcastConvert, to_type, {result});
}

absl::StatusOr<ValueId> BodyBuilder::EmitDynamicSlice(const Instruction* instruction, const Index& index) {
  const Instruction* operand = instruction->operand(0);
  Index from;
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t last = operand->shape().dimensions(i) - instruction->shape().dimensions(i);
    KILN_ASSIGN_OR_RETURN(ValueId start, Emit(instruction->operand(i + 1), {}));
    from.push_back(ToIndex(start, {0, last}, /*clamp=*/true) + index[i]);
  }
  return Emit(operand, from);
}

// Inside a body: the update where the window is, the operand elsewhere.
absl::StatusOr<ValueId> BodyBuilder::EmitDynamicUpdateSlice(const Instruction* instruction, const Index& index) {
  const Instruction* operand = instruction->operand(0);
  const Instruction* update = instruction->operand(1);
  std::vector<Condition> conditions;
  Index from;
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t size = update->shape().dimensions(i);
    if (size == 0) return Emit(operand, index);
    KILN_ASSIGN_OR_RETURN(ValueId start, Emit(instruction->operand(i + 2), {}));
    IndexExpr offset = index[i] - ToIndex(start, {0, operand->shape().dimensions(i) - size}, /*clamp=*/true);
    conditions.push_back({offset, 0, size});
    from.push_back(std::move(offset));
  }
  bool never;
  ValueId inside = AddCondition(std::move(conditions), kNoValue, &never);
  if (inside == kNoValue) return Emit(update, from);
  if (never) return Emit(operand, index);
  KILN_ASSIGN_OR_RETURN(ValueId updated, EmitGuarded(Guard(inside), update, from));
  KILN_ASSIGN_OR_RETURN(ValueId old, Emit(operand, index));
  return AddElementwise(Opcode::kSelect, instruction->shape().element_type(), {inside, updated, old});
}

WindowPlace PlaceInWindow(const WindowDimensions& names, const Index& index, int64_t rank) {
  WindowPlace place{Index(rank), {}, std::vector<int64_t>(rank, -1)};
  std::vector<int64_t> window;
  for (size_t i = 0; i < index.size(); ++i) {
    if (absl::c_linear_search(names.window, static_cast<int64_t>(i))) {
      window.push_back(static_cast<int64_t>(i));
    } else {
      place.batch.push_back(index[i]);
    }
  }
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_linear_search(names.left_out, d) || absl::c_linear_search(names.batching, d)) continue;
    place.dimensions[d] = window[next++];
    place.at[d] = index[place.dimensions[d]];
  }
  // The batch index of dimension k stands at dimension k of the indices, the index vector left out.
  for (size_t k = 0; k < names.batching.size(); ++k) {
    const int64_t in_indices = names.indices_batching[k];
    place.at[names.batching[k]] = place.batch[in_indices > names.index_vector ? in_indices - 1 : in_indices];
  }
  return place;
}

absl::StatusOr<ValueId> BodyBuilder::EmitStart(const Instruction* indices, const Index& batch, int64_t index_vector,
                                               size_t component) {
  Index at = batch;
  if (index_vector < indices->shape().rank()) {
    at.insert(at.begin() + index_vector, IndexExpr::Constant(static_cast<int64_t>(component)));
  }
  return Emit(indices, at);
}

absl::StatusOr<ValueId> BodyBuilder::EmitGather(const Instruction* instruction, const Index& index) {
  const auto& gather = instruction->Get<hlo::GatherAttributes>();
  const Instruction* operand = instruction->operand(0);
  auto [from, batch, dimensions] =
      PlaceInWindow({gather.offset_dims, gather.collapsed_slice_dims, gather.operand_batching_dims,
                     gather.start_indices_batching_dims, gather.index_vector_dim},
                    index, operand->shape().rank());
  for (size_t k = 0; k < gather.start_index_map.size(); ++k) {
    const int64_t d = gather.start_index_map[k];
    const int64_t last = operand->shape().dimensions(d) - gather.slice_sizes[d];
    KILN_ASSIGN_OR_RETURN(ValueId start, EmitStart(instruction->operand(1), batch, gather.index_vector_dim, k));
    from[d] = from[d] + ToIndex(start, {0, last}, /*clamp=*/true);
  }
  return Emit(operand, from);
}

}  // namespace kiln::kernel
