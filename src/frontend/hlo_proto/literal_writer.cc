// LiteralProto: one field per element type, elements in row-major order.
#include <cstring>
#include <string>
#include <vector>

#include "src/frontend/hlo_proto/element_field.h"
#include "src/frontend/hlo_proto/writer.h"

namespace kiln::hlo_proto {
namespace {

void Array(const hlo::Literal& literal, WireWriter* proto) {
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
