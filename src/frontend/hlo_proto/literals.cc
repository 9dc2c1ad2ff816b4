// ShapeProto and LiteralProto: one field per element type, elements in row-major order.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "src/frontend/hlo_proto/reader.h"
#include "src/frontend/hlo_proto/writer.h"
#include "src/hlo/physical_copy.h"

namespace kiln::hlo_proto {
namespace {

using hlo::PrimitiveType;

constexpr int kMaxDepth = 64;

struct ElementField {
  PrimitiveType type;
  uint32_t field;
  bool varints = false;  // A list of varints; else bytes, narrow elements zero-extended to one each.
};

constexpr ElementField kElementFields[] = {
    {PrimitiveType::kPred, 2, true},  {PrimitiveType::kU8, 3},
    {PrimitiveType::kS32, 4, true},   {PrimitiveType::kS64, 5, true},
    {PrimitiveType::kU32, 6, true},   {PrimitiveType::kU64, 7, true},
    {PrimitiveType::kF32, 8},         {PrimitiveType::kF64, 9},
    {PrimitiveType::kF16, 11},        {PrimitiveType::kC64, 12},
    {PrimitiveType::kBF16, 13},       {PrimitiveType::kS8, 15},
    {PrimitiveType::kU16, 16},        {PrimitiveType::kS16, 17},
    {PrimitiveType::kC128, 18},       {PrimitiveType::kF8E5M2, 19},
    {PrimitiveType::kF8E4M3FN, 20},   {PrimitiveType::kS4, 21},
    {PrimitiveType::kU4, 22},         {PrimitiveType::kF8E4M3B11FNUZ, 23},
    {PrimitiveType::kF8E5M2FNUZ, 24}, {PrimitiveType::kF8E4M3FNUZ, 25},
    {PrimitiveType::kS2, 26},         {PrimitiveType::kU2, 27},
    {PrimitiveType::kF8E4M3, 28},     {PrimitiveType::kF8E3M4, 29},
    {PrimitiveType::kS1, 30},         {PrimitiveType::kU1, 31},
    {PrimitiveType::kF4E2M1FN, 32},   {PrimitiveType::kF8E8M0FNU, 33},
};

// Field 0 for types without elements.
constexpr ElementField ElementFieldOf(PrimitiveType type) {
  for (const ElementField& row : kElementFields) {
    if (row.type == type) return row;
  }
  return {type, 0};
}

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

void WriteArray(const hlo::Literal& literal, WireWriter* proto) {
  const hlo::PrimitiveType type = literal.shape().element_type();
  const ElementField target = ElementFieldOf(type);
  std::string bytes(reinterpret_cast<const char*>(literal.bytes().data()), literal.bytes().size());
  if (!target.varints) {
    const int bits = hlo::BitWidth(type);
    for (char& byte : bytes) {
      if (bits >= 8) break;
      byte = static_cast<char>(byte & ((1 << bits) - 1));
    }
    return proto->String(target.field, bytes);
  }
  const size_t width = static_cast<size_t>(hlo::ByteWidth(type));
  std::vector<int64_t> values;
  for (size_t i = 0; i < bytes.size(); i += width) {
    int64_t value = 0;
    std::memcpy(&value, bytes.data() + i, width);
    if (width == 4 && hlo::IsSignedIntegral(type)) value = static_cast<int32_t>(value);
    values.push_back(value);
  }
  proto->Integers(target.field, values);
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

WireWriter LiteralProto(const hlo::Literal& literal) {
  WireWriter proto;
  hlo::Shape shape = literal.shape();
  // Elements are written in row-major order, and the shape says so.
  if (shape.IsArray()) shape.ResetLayout();
  proto.Message(1, ShapeProto(shape));
  for (const hlo::Literal& element : literal.elements()) proto.Message(10, LiteralProto(element));
  if (shape.IsArray()) WriteArray(literal, &proto);
  return proto;
}

}  // namespace kiln::hlo_proto
