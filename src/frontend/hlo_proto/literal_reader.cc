// ShapeProto and LiteralProto.
#include <cstring>
#include <utility>

#include "src/frontend/hlo_proto/reader.h"
#include "src/hlo/physical_copy.h"

namespace kiln::hlo_proto {
namespace {

using hlo::PrimitiveType;

constexpr int kMaxDepth = 64;

// The field of LiteralProto that holds elements of a type, and whether as varints rather than bytes.
struct ElementField {
  uint32_t field = 0;
  bool varints = false;
};

ElementField FieldOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kPred:
      return {2, true};
    case PrimitiveType::kU8:
      return {3};
    case PrimitiveType::kS32:
      return {4, true};
    case PrimitiveType::kS64:
      return {5, true};
    case PrimitiveType::kU32:
      return {6, true};
    case PrimitiveType::kU64:
      return {7, true};
    case PrimitiveType::kF32:
      return {8};
    case PrimitiveType::kF64:
      return {9};
    case PrimitiveType::kF16:
      return {11};
    case PrimitiveType::kC64:
      return {12};
    case PrimitiveType::kBF16:
      return {13};
    case PrimitiveType::kS8:
      return {15};
    case PrimitiveType::kU16:
      return {16};
    case PrimitiveType::kS16:
      return {17};
    case PrimitiveType::kC128:
      return {18};
    case PrimitiveType::kF8E5M2:
      return {19};
    case PrimitiveType::kF8E4M3FN:
      return {20};
    case PrimitiveType::kS4:
      return {21};
    case PrimitiveType::kU4:
      return {22};
    case PrimitiveType::kF8E4M3B11FNUZ:
      return {23};
    case PrimitiveType::kF8E5M2FNUZ:
      return {24};
    case PrimitiveType::kF8E4M3FNUZ:
      return {25};
    case PrimitiveType::kS2:
      return {26};
    case PrimitiveType::kU2:
      return {27};
    case PrimitiveType::kF8E4M3:
      return {28};
    case PrimitiveType::kF8E3M4:
      return {29};
    case PrimitiveType::kS1:
      return {30};
    case PrimitiveType::kU1:
      return {31};
    case PrimitiveType::kF4E2M1FN:
      return {32};
    case PrimitiveType::kF8E8M0FNU:
      return {33};
    default:
      return {};
  }
}

absl::StatusOr<hlo::Literal> ReadArray(const Fields& proto, hlo::Shape shape) {
  const PrimitiveType type = shape.element_type();
  const ElementField source = FieldOf(type);
  const size_t width = static_cast<size_t>(hlo::ByteWidth(type));
  const uint64_t count = static_cast<uint64_t>(shape.element_count());
  std::string bytes;  // In the order of the shape's layout.
  if (source.varints) {
    const std::vector<int64_t> values = proto.Ints(source.field);
    bytes.reserve(values.size() * width);
    for (int64_t value : values) {
      if (type == PrimitiveType::kPred) value = value != 0;
      bytes.append(reinterpret_cast<const char*>(&value), width);
    }
  } else {
    // Packed lists may come in pieces.
    for (absl::string_view piece : proto.All(source.field)) bytes.append(piece);
  }
  KILN_RETURN_IF_ERROR(proto.status());
  if (bytes.size() / width != count || bytes.size() % width != 0) {
    return InvalidArgument("a literal of ", shape.ToString(false), " has ", bytes.size(), " bytes of elements, expected ",
                           count * width);
  }
  if (const int bits = hlo::BitWidth(type); bits < 8 && type != PrimitiveType::kPred) {
    // Narrow elements come zero-extended; literals keep signed ones sign-extended.
    for (char& byte : bytes) {
      const int shifted = static_cast<uint8_t>(byte) << (8 - bits);
      byte = static_cast<char>(hlo::IsSignedIntegral(type) ? static_cast<int8_t>(shifted) >> (8 - bits)
                                                           : static_cast<uint8_t>(shifted) >> (8 - bits));
    }
  }
  hlo::Literal literal = hlo::FromPhysical(bytes.data(), shape);
  shape.ResetLayout();
  return hlo::Literal::FromBytes(std::move(shape), literal.bytes());
}

}  // namespace

absl::StatusOr<hlo::Shape> ReadShape(absl::string_view bytes, int depth) {
  if (depth > kMaxDepth) return InvalidArgument("tuple shapes nested deeper than ", kMaxDepth);
  const Fields proto(bytes);
  const int64_t code = proto.Int(2);
  if (code < 0 || code >= hlo::kPrimitiveTypeCount) {
    return Unimplemented("element type ", code, " in a shape is not supported");
  }
  const PrimitiveType type = static_cast<PrimitiveType>(code);
  if (type == PrimitiveType::kTuple) {
    std::vector<hlo::Shape> elements;
    for (absl::string_view element : proto.All(4)) {
      KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ReadShape(element, depth + 1));
      elements.push_back(std::move(shape));
    }
    KILN_RETURN_IF_ERROR(proto.status());
    return hlo::Shape::Tuple(std::move(elements));
  }
  if (type == PrimitiveType::kToken || type == PrimitiveType::kOpaque) {
    return type == PrimitiveType::kToken ? hlo::Shape::Token() : hlo::Shape::Opaque();
  }
  hlo::Shape shape(type, proto.Ints(3));
  if (proto.Has(5)) {
    const Fields layout = proto.Message(5);
    const std::vector<int64_t> order = layout.Ints(1);
    if (!order.empty() || shape.rank() == 0) shape.set_layout(order);
    for (absl::string_view tile : layout.All(6)) {
      const std::vector<int64_t> sizes = Fields(tile).Ints(1);
      shape.mutable_layout()->tiles.emplace_back(sizes.begin(), sizes.end());
    }
    shape.mutable_layout()->element_size_in_bits = layout.Int(7);
    shape.mutable_layout()->memory_space = layout.Int(8);
    KILN_RETURN_IF_ERROR(layout.status());
  }
  const std::vector<int64_t> dynamic = proto.Ints(6);
  for (size_t i = 0; i < dynamic.size() && static_cast<int64_t>(i) < shape.rank(); ++i) {
    if (dynamic[i] != 0) shape.set_dynamic_dimension(static_cast<int64_t>(i), true);
  }
  KILN_RETURN_IF_ERROR(proto.status());
  KILN_RETURN_IF_ERROR(hlo::ValidateShape(shape));
  return shape;
}

absl::StatusOr<hlo::Literal> ReadLiteral(absl::string_view bytes, int depth) {
  if (depth > kMaxDepth) return InvalidArgument("literals nested deeper than ", kMaxDepth);
  const Fields proto(bytes);
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ReadShape(proto.Bytes(1)));
  if (shape.IsArray()) return ReadArray(proto, std::move(shape));
  if (!shape.IsTuple()) return hlo::Literal(shape);
  std::vector<hlo::Literal> elements;
  for (absl::string_view element : proto.All(10)) {
    KILN_ASSIGN_OR_RETURN(hlo::Literal literal, ReadLiteral(element, depth + 1));
    elements.push_back(std::move(literal));
  }
  KILN_RETURN_IF_ERROR(proto.status());
  hlo::Literal tuple = hlo::Literal::Tuple(std::move(elements));
  if (!hlo::Shape::Compatible(tuple.shape(), shape)) {
    return InvalidArgument("a literal is ", tuple.shape().ToString(false), ", its shape ", shape.ToString(false));
  }
  return tuple;
}

}  // namespace kiln::hlo_proto
