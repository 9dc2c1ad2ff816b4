// ShapeProto and LiteralProto.
#include <cstring>
#include <utility>

#include "src/frontend/hlo_proto/element_field.h"
#include "src/frontend/hlo_proto/reader.h"
#include "src/hlo/physical_copy.h"

namespace kiln::hlo_proto {
namespace {

using hlo::PrimitiveType;

constexpr int kMaxDepth = 64;

absl::StatusOr<hlo::Literal> ReadArray(const Fields& proto, hlo::Shape shape) {
  const PrimitiveType type = shape.element_type();
  const ElementField source = ElementFieldOf(type);
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
    return InvalidArgument("a literal of ", shape.ToString(false), " has ", bytes.size(),
                           " bytes of elements, expected ", count * width);
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
