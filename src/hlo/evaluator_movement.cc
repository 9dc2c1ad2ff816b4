// Data movement by index maps that are known without looking at data.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/hlo/elements.h"
#include "src/hlo/physical_copy.h"
#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {

DimensionVector StridesOf(absl::Span<const int64_t> dimensions) {
  DimensionVector strides(dimensions.size(), 1);
  for (int64_t d = static_cast<int64_t>(dimensions.size()) - 2; d >= 0; --d) {
    // Empty arrays are never indexed; their strides only must not overflow.
    strides[d] = strides[d + 1] * std::max<int64_t>(dimensions[d + 1], 1);
  }
  return strides;
}

namespace {

template <int kWidth>
void CopyRow(int64_t n, const std::byte* source, int64_t source_step, std::byte* destination,
             int64_t destination_step) {
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(destination + i * destination_step * kWidth, source + i * source_step * kWidth, kWidth);
  }
}

}  // namespace

void CopyStrided(int width, absl::Span<const int64_t> dimensions, const std::byte* source,
                 absl::Span<const int64_t> source_strides, std::byte* destination,
                 absl::Span<const int64_t> destination_strides) {
  const int64_t rank = static_cast<int64_t>(dimensions.size());
  for (int64_t size : dimensions) {
    if (size <= 0) return;
  }
  const int64_t row = rank == 0 ? 1 : dimensions[rank - 1];
  const int64_t source_step = rank == 0 ? 1 : source_strides[rank - 1];
  const int64_t destination_step = rank == 0 ? 1 : destination_strides[rank - 1];
  const absl::Span<const int64_t> outer = dimensions.subspan(0, std::max<int64_t>(rank - 1, 0));
  DimensionVector index(outer.size(), 0);
  do {
    const std::byte* s = source + OffsetOf(index, source_strides) * width;
    std::byte* t = destination + OffsetOf(index, destination_strides) * width;
    switch (width) {
      case 1: CopyRow<1>(row, s, source_step, t, destination_step); break;
      case 2: CopyRow<2>(row, s, source_step, t, destination_step); break;
      case 4: CopyRow<4>(row, s, source_step, t, destination_step); break;
      case 8: CopyRow<8>(row, s, source_step, t, destination_step); break;
      default: CopyRow<16>(row, s, source_step, t, destination_step); break;
    }
  } while (NextIndex(outer, &index));
}

namespace {

// Result dimensions whose operand dimension is given by `strides` and an offset, all in elements.
absl::StatusOr<Literal> GatherAffine(Evaluation& evaluation, const Instruction& instruction, const Literal& operand,
                                     int64_t offset, absl::Span<const int64_t> strides) {
  const Shape& shape = instruction.shape();
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  if (shape.element_count() == 0) return result;
  const int width = ByteWidth(shape.element_type());
  CopyStrided(width, shape.dimensions(), operand.bytes().data() + offset * width, strides,
              result.mutable_bytes().data(), StridesOf(shape.dimensions()));
  return result;
}

absl::StatusOr<Literal> Broadcast(Evaluation& evaluation, const Instruction& instruction, const Literal& operand) {
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  const Shape& shape = instruction.shape();
  const DimensionVector operand_strides = StridesOf(operand.shape().dimensions());
  DimensionVector strides(shape.rank(), 0);
  for (size_t d = 0; d < attributes.dimensions.size(); ++d) strides[attributes.dimensions[d]] = operand_strides[d];
  return GatherAffine(evaluation, instruction, operand, 0, strides);
}

absl::StatusOr<Literal> Transpose(Evaluation& evaluation, const Instruction& instruction, const Literal& operand) {
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  const Shape& shape = instruction.shape();
  const DimensionVector operand_strides = StridesOf(operand.shape().dimensions());
  DimensionVector strides(shape.rank(), 0);
  for (int64_t d = 0; d < shape.rank(); ++d) strides[d] = operand_strides[attributes.dimensions[d]];
  return GatherAffine(evaluation, instruction, operand, 0, strides);
}

absl::StatusOr<Literal> Reverse(Evaluation& evaluation, const Instruction& instruction, const Literal& operand) {
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  const Shape& shape = instruction.shape();
  DimensionVector strides = StridesOf(shape.dimensions());
  int64_t offset = 0;
  for (int64_t d : attributes.dimensions) {
    offset += (shape.dimensions(d) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return GatherAffine(evaluation, instruction, operand, offset, strides);
}

absl::StatusOr<Literal> Slice(Evaluation& evaluation, const Instruction& instruction, const Literal& operand) {
  const auto& attributes = instruction.Get<SliceAttributes>();
  const Shape& shape = instruction.shape();
  DimensionVector strides = StridesOf(operand.shape().dimensions());
  int64_t offset = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    offset += attributes.start[d] * strides[d];
    // A single element is at the start whatever the stride.
    strides[d] = shape.dimensions(d) > 1 ? strides[d] * attributes.stride[d] : 0;
  }
  return GatherAffine(evaluation, instruction, operand, offset, strides);
}

absl::StatusOr<Literal> Pad(Evaluation& evaluation, const Instruction& instruction, const Literal& operand,
                            const Literal& padding) {
  const auto& attributes = instruction.Get<PadAttributes>();
  const Shape& shape = instruction.shape();
  const size_t rank = static_cast<size_t>(shape.rank());
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  const int width = ByteWidth(shape.element_type());
  std::byte* out = result.mutable_bytes().data();
  const DimensionVector zeros(rank, 0);
  const DimensionVector result_strides = StridesOf(shape.dimensions());
  CopyStrided(width, shape.dimensions(), padding.bytes().data(), zeros, out, result_strides);
  // Of each dimension, the operand's indices [first, first + count) land inside the result.
  DimensionVector counts(rank), steps(rank);
  const DimensionVector operand_strides = StridesOf(operand.shape().dimensions());
  int64_t from = 0, to = 0;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t low = attributes.low[d], interior = attributes.interior[d];
    constexpr int64_t kLimit = int64_t{1} << 48;
    KILN_RETURN_IF_ERROR(Require(instruction, interior >= 0 && interior < kLimit && low > -kLimit && low < kLimit,
                                 "padding is out of range"));
    const int64_t pitch = interior + 1, size = operand.shape().dimensions(d);
    const int64_t first = low >= 0 ? 0 : (-low + pitch - 1) / pitch;
    int64_t end = first;  // first index past the result
    if (shape.dimensions(d) - 1 - low >= 0) end = std::min(size, (shape.dimensions(d) - 1 - low) / pitch + 1);
    counts[d] = std::max<int64_t>(end - first, 0);
    if (counts[d] == 0) return result;
    from += first * operand_strides[d];
    to += (low + first * pitch) * result_strides[d];
    steps[d] = counts[d] > 1 ? pitch * result_strides[d] : 0;
  }
  CopyStrided(width, counts, operand.bytes().data() + from * width, operand_strides, out + to * width, steps);
  return result;
}

absl::StatusOr<Literal> Concatenate(Evaluation& evaluation, const Instruction& instruction, const Operands& operands) {
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  const Shape& shape = instruction.shape();
  const int64_t dimension = attributes.dimensions[0];
  const int width = ByteWidth(shape.element_type());
  const DimensionVector strides = StridesOf(shape.dimensions());
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  std::byte* out = result.mutable_bytes().data();
  int64_t at = 0;
  for (const Literal& operand : operands) {
    if (operand.element_count() == 0) continue;
    CopyStrided(width, operand.shape().dimensions(), operand.bytes().data(), StridesOf(operand.shape().dimensions()),
                out + at * strides[dimension] * width, strides);
    at += operand.shape().dimensions(dimension);
  }
  return result;
}

absl::StatusOr<Literal> Iota(Evaluation& evaluation, const Instruction& instruction) {
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  const Shape& shape = instruction.shape();
  const int64_t dimension = attributes.dimensions[0];
  const PrimitiveType type = shape.element_type();
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  if (shape.element_count() == 0) return result;
  const int width = ByteWidth(type);
  // One number per index of the dimension, then broadcast.
  const int64_t size = shape.dimensions(dimension);
  std::vector<std::byte> numbers(size * width);
  for (int64_t i = 0; i < size; ++i) {
    if (IsIntegral(type) || type == PrimitiveType::kPred) {
      StoreElements(type, &i, 1, numbers.data() + i * width);
    } else {
      StoreReal(type, static_cast<long double>(i), numbers.data() + i * width);
    }
  }
  DimensionVector strides(shape.rank(), 0);
  strides[dimension] = 1;
  CopyStrided(width, shape.dimensions(), numbers.data(), strides, result.mutable_bytes().data(),
              StridesOf(shape.dimensions()));
  return result;
}

// The same buffer under another shape: through the layouts of both.
absl::StatusOr<Literal> Bitcast(Evaluation& evaluation, const Instruction& instruction, const Literal& operand) {
  KILN_RETURN_IF_ERROR(evaluation.Charge(instruction.shape().element_count()));
  std::vector<std::byte> buffer(operand.bytes().size());
  // The operand instruction's shape tells the layout; the literal's may be another.
  ToPhysical(operand, instruction.operand(0)->shape(), buffer.data());
  return FromPhysical(buffer.data(), instruction.shape());
}

// Elements as one stream of bits, each element's lowest bits first: a dimension of narrow elements makes a wide one.
absl::StatusOr<Literal> BitcastConvert(Evaluation& evaluation, const Instruction& instruction,
                                       const Literal& operand) {
  const Shape& shape = instruction.shape();
  const PrimitiveType from = operand.shape().element_type(), to = shape.element_type();
  // A truth value is a byte here.
  const int from_bits = from == PrimitiveType::kPred ? 8 : BitWidth(from);
  const int to_bits = to == PrimitiveType::kPred ? 8 : BitWidth(to);
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  KILN_RETURN_IF_ERROR(Require(instruction,
                               from_bits > 0 && to_bits > 0 &&
                                   operand.element_count() * from_bits == shape.element_count() * to_bits,
                               "operand and result differ in bits"));
  absl::Span<std::byte> out = result.mutable_bytes();
  if (from_bits % 8 == 0 && to_bits % 8 == 0) {
    if (!out.empty()) std::memcpy(out.data(), operand.bytes().data(), out.size());
  } else {
    const int from_width = ByteWidth(from), to_width = ByteWidth(to);
    const int64_t total = operand.element_count() * from_bits;
    for (int64_t bit = 0; bit < total; ++bit) {
      const int64_t element = bit / from_bits, within = bit % from_bits;
      const std::byte source = operand.bytes()[element * from_width + within / 8];
      if (((source >> (within % 8)) & std::byte{1}) == std::byte{0}) continue;
      const int64_t target = bit / to_bits, target_within = bit % to_bits;
      out[target * to_width + target_within / 8] |= std::byte{1} << (target_within % 8);
    }
  }
  // Restore what elements narrower than a byte keep in their other bits.
  if (IsIntegral(to) && to_bits < 8) {
    for (std::byte& element : out) {
      element = std::byte{static_cast<uint8_t>(WrapInteger(to, static_cast<uint8_t>(element)))};
    }
  } else if (to == PrimitiveType::kPred) {
    for (std::byte& element : out) element = std::byte{element != std::byte{0}};
  }
  return result;
}

// Only sizes equal to the static ones are known here.
absl::StatusOr<Literal> DynamicShape(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const Shape& shape = instruction.shape();
  if (instruction.opcode() == Opcode::kDynamicReshape) {
    for (size_t i = 1; i < operands.size(); ++i) {
      const int64_t d = static_cast<int64_t>(i) - 1;
      if (ElementAsInt64(operands[i], 0) != shape.dimensions(d)) {
        return Unimplemented(instruction.Describe(), ": size ", ElementAsInt64(operands[i], 0), " of dimension ", d,
                             " differs from its bound ", shape.dimensions(d));
      }
    }
    return operands[0].Reshaped(shape);
  }
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  const int64_t size = operands[0].shape().dimensions(attributes.dimensions[0]);
  if (instruction.opcode() == Opcode::kGetDimensionSize) {
    KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
    StoreElements(shape.element_type(), &size, 1, result.mutable_bytes().data());
    return result;
  }
  if (ElementAsInt64(operands[1], 0) != size) {
    return Unimplemented(instruction.Describe(), ": size ", ElementAsInt64(operands[1], 0),
                         " differs from the bound ", size);
  }
  return operands[0].Reshaped(shape);
}

}  // namespace

absl::StatusOr<Literal> EvaluateMovement(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  switch (instruction.opcode()) {
    case Opcode::kBitcast: return Bitcast(evaluation, instruction, operands[0]);
    case Opcode::kBitcastConvert: return BitcastConvert(evaluation, instruction, operands[0]);
    case Opcode::kBroadcast: return Broadcast(evaluation, instruction, operands[0]);
    case Opcode::kConcatenate: return Concatenate(evaluation, instruction, operands);
    case Opcode::kCopy: return std::move(operands[0]);
    case Opcode::kIota: return Iota(evaluation, instruction);
    case Opcode::kPad: return Pad(evaluation, instruction, operands[0], operands[1]);
    case Opcode::kReshape: return operands[0].Reshaped(instruction.shape());
    case Opcode::kReverse: return Reverse(evaluation, instruction, operands[0]);
    case Opcode::kSlice: return Slice(evaluation, instruction, operands[0]);
    case Opcode::kTranspose: return Transpose(evaluation, instruction, operands[0]);
    case Opcode::kDynamicReshape:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
      return DynamicShape(evaluation, instruction, operands);
    default: return Unimplemented(instruction.Describe(), ": no data movement the evaluator knows");
  }
}

}  // namespace kiln::hlo::evaluator
