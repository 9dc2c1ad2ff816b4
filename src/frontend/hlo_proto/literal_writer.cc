// LiteralProto: one field per element type, elements in row-major order.
#include <cstring>
#include <string>
#include <vector>

#include "src/frontend/hlo_proto/writer.h"

namespace kiln::hlo_proto {
namespace {

using hlo::PrimitiveType;

template <typename T>
void Integers(uint32_t field, const hlo::Literal& literal, WireWriter* proto) {
  proto->Integers(field, literal.data<T>());
}

// Fixed-width elements, and elements that protos keep as bytes: exactly as the literal has them.
void Raw(uint32_t field, const hlo::Literal& literal, WireWriter* proto) {
  proto->String(field,
                absl::string_view(reinterpret_cast<const char*>(literal.bytes().data()), literal.bytes().size()));
}

// Elements narrower than a byte, which protos want zero-extended.
void Narrow(uint32_t field, const hlo::Literal& literal, WireWriter* proto) {
  const int bits = hlo::BitWidth(literal.shape().element_type());
  std::string bytes;
  for (uint8_t byte : literal.data<uint8_t>()) bytes.push_back(static_cast<char>(byte & ((1 << bits) - 1)));
  proto->String(field, bytes);
}

void Array(const hlo::Literal& literal, WireWriter* proto) {
  switch (literal.shape().element_type()) {
    case PrimitiveType::kPred:
      return Integers<uint8_t>(2, literal, proto);
    case PrimitiveType::kU8:
      return Raw(3, literal, proto);
    case PrimitiveType::kS32:
      return Integers<int32_t>(4, literal, proto);
    case PrimitiveType::kS64:
      return Integers<int64_t>(5, literal, proto);
    case PrimitiveType::kU32:
      return Integers<uint32_t>(6, literal, proto);
    case PrimitiveType::kU64:
      return Integers<uint64_t>(7, literal, proto);
    case PrimitiveType::kF32:
      return Raw(8, literal, proto);
    case PrimitiveType::kF64:
      return Raw(9, literal, proto);
    case PrimitiveType::kF16:
      return Raw(11, literal, proto);
    case PrimitiveType::kC64:
      return Raw(12, literal, proto);
    case PrimitiveType::kBF16:
      return Raw(13, literal, proto);
    case PrimitiveType::kS8:
      return Raw(15, literal, proto);
    case PrimitiveType::kU16:
      return Raw(16, literal, proto);
    case PrimitiveType::kS16:
      return Raw(17, literal, proto);
    case PrimitiveType::kC128:
      return Raw(18, literal, proto);
    case PrimitiveType::kF8E5M2:
      return Raw(19, literal, proto);
    case PrimitiveType::kF8E4M3FN:
      return Raw(20, literal, proto);
    case PrimitiveType::kS4:
      return Narrow(21, literal, proto);
    case PrimitiveType::kU4:
      return Narrow(22, literal, proto);
    case PrimitiveType::kF8E4M3B11FNUZ:
      return Raw(23, literal, proto);
    case PrimitiveType::kF8E5M2FNUZ:
      return Raw(24, literal, proto);
    case PrimitiveType::kF8E4M3FNUZ:
      return Raw(25, literal, proto);
    case PrimitiveType::kS2:
      return Narrow(26, literal, proto);
    case PrimitiveType::kU2:
      return Narrow(27, literal, proto);
    case PrimitiveType::kF8E4M3:
      return Raw(28, literal, proto);
    case PrimitiveType::kF8E3M4:
      return Raw(29, literal, proto);
    case PrimitiveType::kS1:
      return Narrow(30, literal, proto);
    case PrimitiveType::kU1:
      return Narrow(31, literal, proto);
    case PrimitiveType::kF4E2M1FN:
      return Narrow(32, literal, proto);
    case PrimitiveType::kF8E8M0FNU:
      return Raw(33, literal, proto);
    case PrimitiveType::kInvalid:
    case PrimitiveType::kTuple:
    case PrimitiveType::kOpaque:
    case PrimitiveType::kToken:
      return;
  }
}

}  // namespace

WireWriter LiteralProto(const hlo::Literal& literal) {
  WireWriter proto;
  hlo::Shape shape = literal.shape();
  // Elements are written in row-major order, and the shape says so.
  if (shape.IsArray()) shape.ResetLayout();
  proto.Message(1, ShapeProto(shape));
  for (const hlo::Literal& element : literal.elements()) proto.Message(10, LiteralProto(element));
  if (shape.IsArray()) Array(literal, &proto);
  return proto;
}

}  // namespace kiln::hlo_proto
