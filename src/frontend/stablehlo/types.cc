#include "src/frontend/stablehlo/types.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "src/base/status.h"
#include "src/frontend/mlir/printer.h"
#include "src/frontend/stablehlo/quantization.h"
#include "src/frontend/stablehlo/refinement.h"

namespace kiln::stablehlo {
namespace {

using hlo::PrimitiveType;
using mlir::FloatKind;

// Names of types in MLIR and HLO differ in case, signedness and booleans.
absl::StatusOr<PrimitiveType> IntegerPrimitive(const mlir::IntegerType& type) {
  const bool is_unsigned = type.signedness == mlir::Signedness::kUnsigned;
  if (type.width == 1 && !is_unsigned) return PrimitiveType::kPred;
  const auto found = hlo::ParsePrimitiveType(absl::StrCat(is_unsigned ? "u" : "s", type.width));
  if (found.has_value()) return *found;
  return Unimplemented("integers of ", type.width, " bits are not supported as element type");
}

absl::StatusOr<PrimitiveType> FloatPrimitive(FloatKind kind) {
  const auto found = hlo::ParsePrimitiveType(absl::AsciiStrToLower(mlir::FloatName(kind)));
  if (found.has_value()) return *found;
  return Unimplemented("element type ", mlir::FloatName(kind), " is not supported");
}

absl::StatusOr<hlo::Shape> TensorShape(const mlir::TensorType& tensor, bool may_be_open) {
  if (!tensor.ranked) return Unimplemented("unranked tensors are not supported");
  if (const auto* quantized = tensor.element->As<mlir::QuantizedType>()) {
    KILN_RETURN_IF_ERROR(ValidateQuantized(*quantized, tensor.dims));
  }
  KILN_ASSIGN_OR_RETURN(const PrimitiveType element, ToPrimitiveType(*tensor.element));
  std::vector<int64_t> dims = tensor.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != mlir::kDynamicSize) continue;
    if (i >= tensor.bounds.size() || tensor.bounds[i] == mlir::kDynamicSize) {
      dims[i] = kOpenSize;
      if (may_be_open) continue;
      return Unimplemented("dimension ", i, " has neither a size nor a bound; give the program static shapes");
    }
    dims[i] = tensor.bounds[i];
  }
  hlo::Shape shape(element, dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (tensor.dims[i] == mlir::kDynamicSize && dims[i] != kOpenSize)
      shape.set_dynamic_dimension(static_cast<int64_t>(i), true);
  }
  return shape;
}

absl::StatusOr<hlo::Shape> ToShapeUnchecked(const mlir::Type& type, bool may_be_open, int depth) {
  constexpr int kMaxDepth = 64;
  if (depth > kMaxDepth) return InvalidArgument("tuples nest deeper than ", kMaxDepth, " levels");
  if (const auto* tensor = type.As<mlir::TensorType>()) return TensorShape(*tensor, may_be_open);
  if (type.As<mlir::TokenType>() != nullptr) return hlo::Shape::Token();
  if (const auto* tuple = type.As<mlir::TupleType>()) {
    std::vector<hlo::Shape> elements;
    for (mlir::TypeRef element : tuple->elements) {
      KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ToShapeUnchecked(*element, may_be_open, depth + 1));
      elements.push_back(std::move(shape));
    }
    return hlo::Shape::Tuple(std::move(elements));
  }
  return Unimplemented("values of this type are not supported");
}

// Four- and two-bit integers come zero-extended to a byte; literals keep signed ones sign-extended.
void NormalizeSmallIntegers(PrimitiveType type, absl::Span<std::byte> bytes) {
  const int width = hlo::BitWidth(type);
  if (width >= 8 || !hlo::IsIntegral(type)) return;
  for (std::byte& value : bytes) {
    const int shifted = static_cast<int>(value) << (8 - width);
    value = hlo::IsSignedIntegral(type) ? static_cast<std::byte>(static_cast<int8_t>(shifted) >> (8 - width))
                                        : static_cast<std::byte>(static_cast<uint8_t>(shifted) >> (8 - width));
  }
}

}  // namespace

absl::StatusOr<PrimitiveType> StoragePrimitive(const mlir::QuantizedType& type) {
  const auto* storage = type.storage->As<mlir::IntegerType>();
  if (storage == nullptr) return InvalidArgument("the storage type of a quantized type must be an integer");
  return IntegerPrimitive({storage->width, type.is_signed ? mlir::Signedness::kSignless : mlir::Signedness::kUnsigned});
}

absl::StatusOr<PrimitiveType> ToPrimitiveType(const mlir::Type& type) {
  if (const auto* quantized = type.As<mlir::QuantizedType>()) return StoragePrimitive(*quantized);
  if (const auto* integer = type.As<mlir::IntegerType>()) return IntegerPrimitive(*integer);
  if (const auto* real = type.As<mlir::FloatType>()) return FloatPrimitive(real->kind);
  if (type.As<mlir::IndexType>() != nullptr) return PrimitiveType::kS64;
  if (const auto* complex = type.As<mlir::ComplexType>()) {
    const auto* part = complex->element->As<mlir::FloatType>();
    if (part != nullptr && part->kind == FloatKind::kF32) return PrimitiveType::kC64;
    if (part != nullptr && part->kind == FloatKind::kF64) return PrimitiveType::kC128;
  }
  return Unimplemented("element type ", mlir::Print(type), " is not supported");
}

absl::StatusOr<hlo::Shape> ToOpenShape(const mlir::Type& type) {
  absl::StatusOr<hlo::Shape> shape = ToShapeUnchecked(type, /*may_be_open=*/true, 0);
  if (!shape.ok()) return Annotate(shape.status(), mlir::Print(type));
  if (!IsOpen(*shape)) return ToShape(type);
  return shape;
}

absl::StatusOr<hlo::Shape> ToShape(const mlir::Type& type) {
  absl::StatusOr<hlo::Shape> shape = ToShapeUnchecked(type, /*may_be_open=*/false, 0);
  const absl::Status status = shape.ok() ? hlo::ValidateShape(*shape) : shape.status();
  if (!status.ok()) return Annotate(status, mlir::Print(type));
  return shape;
}

absl::StatusOr<hlo::Literal> ToLiteral(const mlir::DenseAttribute& dense, const hlo::Shape& shape) {
  if (!shape.IsArray() || shape.has_dynamic_dimensions()) {
    return InvalidArgument("a constant needs a static tensor type, found ", shape.ToString());
  }
  const size_t width = hlo::ByteWidth(shape.element_type());
  const size_t expected = dense.splat ? width : width * static_cast<size_t>(shape.element_count());
  if (dense.data.size() != expected || (dense.splat && shape.element_count() == 0)) {
    return InvalidArgument("a constant of type ", shape.ToString(), " has ", dense.data.size(), " bytes, expected ",
                           expected);
  }
  hlo::Literal literal(shape);
  absl::Span<std::byte> bytes = literal.mutable_bytes();
  if (dense.splat) {
    for (size_t i = 0; i < bytes.size(); i += width) std::memcpy(bytes.data() + i, dense.data.data(), width);
  } else if (!bytes.empty()) {
    std::memcpy(bytes.data(), dense.data.data(), bytes.size());
  }
  NormalizeSmallIntegers(shape.element_type(), bytes);
  return literal;
}

}  // namespace kiln::stablehlo
