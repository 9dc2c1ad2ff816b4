#include "src/frontend/mlir/dense.h"

#include <optional>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace kiln::mlir {

absl::StatusOr<DenseShape> DenseShapeOf(const Type& type) {
  DenseShape shape;
  if (const TensorType* tensor = type.As<TensorType>(); tensor != nullptr && tensor->ranked) {
    shape.dims = &tensor->dims;
    shape.element = tensor->element;
  } else if (const VectorType* vector = type.As<VectorType>()) {
    shape.dims = &vector->dims;
    shape.element = vector->element;
  }
  const std::optional<int64_t> count = shape.dims != nullptr ? ElementCount(*shape.dims) : std::nullopt;
  shape.element_bytes = shape.element != nullptr ? ElementByteSize(*shape.element) : 0;
  if (!count.has_value() || shape.element_bytes <= 0) {
    return InvalidArgument(
        "dense elements need a static shape without too many elements, and an integer, float or complex element type");
  }
  shape.count = *count;
  return shape;
}

absl::StatusOr<AttributeRef> DenseFromBytes(Context& context, TypeRef type, absl::string_view data) {
  KILN_ASSIGN_OR_RETURN(const DenseShape shape, DenseShapeOf(*type));
  DenseAttribute dense;
  dense.type = type;
  const uint64_t size = data.size();
  const uint64_t elements = static_cast<uint64_t>(shape.count);
  const uint64_t bytes = static_cast<uint64_t>(shape.element_bytes);
  // A splat of no elements carries the element that it would repeat.
  if (elements == 0 && size == bytes) return context.MakeAttribute(std::move(dense));
  if (shape.element->IsInteger(1)) {
    // Bit-packed, or one byte per element from old writers; a splat is one byte.
    if (elements != 0 && size == 1 && (elements == 1 || elements > 8 || data[0] == '\xff' || data[0] == '\0')) {
      dense.splat = true;
      dense.data = (static_cast<uint8_t>(data[0]) & 1) != 0 ? absl::string_view("\1", 1) : absl::string_view("\0", 1);
    } else if (size == elements / 8 + (elements % 8 != 0)) {
      std::string unpacked(elements, '\0');
      for (uint64_t i = 0; i < elements; ++i) unpacked[i] = static_cast<uint8_t>(data[i / 8]) >> (i % 8) & 1;
      dense.data = context.Keep(std::move(unpacked));
    } else if (size == elements) {
      std::string normalized(data);
      for (char& value : normalized) value = value != 0;
      dense.data = context.Keep(std::move(normalized));
    } else {
      return InvalidArgument(elements, " booleans in ", size, " bytes");
    }
    return context.MakeAttribute(std::move(dense));
  }
  dense.splat = elements != 0 && size == bytes;
  if (!dense.splat && (size % bytes != 0 || size / bytes != elements)) {
    return InvalidArgument(elements, " elements of ", bytes, " bytes in ", size, " bytes");
  }
  dense.data = data;
  return context.MakeAttribute(std::move(dense));
}

}  // namespace kiln::mlir
