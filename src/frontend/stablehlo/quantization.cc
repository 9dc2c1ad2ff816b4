// The arithmetic of quantized types: dequantize, quantize, and integer products with their scales.
#include "src/frontend/stablehlo/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/status.h"
#include "src/frontend/stablehlo/types.h"
#include "src/hlo/builder.h"

namespace kiln::stablehlo {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using mlir::QuantizedType;

int StorageBits(const QuantizedType& type) { return static_cast<int>(type.storage->As<mlir::IntegerType>()->width); }

// Types are validated before they get here.
PrimitiveType ExpressedType(const QuantizedType& type) {
  return ToPrimitiveType(*type.expressed).value_or(PrimitiveType::kInvalid);
}
PrimitiveType StorageType(const QuantizedType& type) {
  return StoragePrimitive(type).value_or(PrimitiveType::kInvalid);
}

// Signed and wide enough for any stored value less any zero point.
PrimitiveType DifferenceType(const QuantizedType& type) {
  return StorageBits(type) <= 16 ? PrimitiveType::kS32 : PrimitiveType::kS64;
}

// `values`, one or one per index of dimension `axis`, as an array of `type` with the dimensions of `like`.
Instruction* Spread(hlo::Builder& builder, const std::vector<double>& values, PrimitiveType type,
                    const hlo::Shape& like, int64_t axis) {
  if (values.size() == 1) return builder.BroadcastScalar(builder.Scalar(type, values[0]), like.dimensions());
  hlo::Literal vector(hlo::Shape(type, {static_cast<int64_t>(values.size())}));
  const size_t width = static_cast<size_t>(hlo::ByteWidth(type));
  for (size_t i = 0; i < values.size(); ++i) {
    const hlo::Literal one = hlo::LiteralOf(hlo::Shape::Scalar(type), values[i]);
    std::memcpy(vector.mutable_bytes().data() + i * width, one.bytes().data(), width);
  }
  return builder.Broadcast(builder.Constant(std::move(vector)), like.dimensions(), {axis});
}

std::vector<double> ZeroPoints(const QuantizedType& type) {
  return std::vector<double>(type.zero_points.begin(), type.zero_points.end());
}

bool HasZeroPoint(const QuantizedType& type) {
  return std::any_of(type.zero_points.begin(), type.zero_points.end(), [](int64_t zero) { return zero != 0; });
}

// stored - zero point, in `wide`.
Instruction* Centered(hlo::Builder& builder, Instruction* storage, const QuantizedType& type, PrimitiveType wide) {
  if (!HasZeroPoint(type)) return storage;
  Instruction* value = builder.Convert(storage, wide);
  return builder.Binary(Opcode::kSubtract, value, Spread(builder, ZeroPoints(type), wide, value->shape(), type.axis));
}

bool IsWholeRange(const QuantizedType& type) {
  return type.storage_max - type.storage_min + 1 == int64_t{1} << StorageBits(type);
}

// Equal numbers once they are rounded to `type`.
bool SameIn(PrimitiveType type, const std::vector<double>& a, const std::vector<double>& b) {
  const hlo::Shape scalar = hlo::Shape::Scalar(type);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](double x, double y) { return hlo::LiteralOf(scalar, x) == hlo::LiteralOf(scalar, y); });
}

Instruction* Quantize(hlo::Builder& builder, Instruction* value, const QuantizedType& type) {
  const PrimitiveType expressed = ExpressedType(type);
  const hlo::Shape shape = value->shape();
  value = builder.Binary(Opcode::kDivide, value, Spread(builder, type.scales, expressed, shape, type.axis));
  if (HasZeroPoint(type)) {
    value = builder.Binary(Opcode::kAdd, value, Spread(builder, ZeroPoints(type), expressed, shape, type.axis));
  }
  Instruction* least = builder.Scalar(expressed, static_cast<double>(type.storage_min));
  Instruction* most = builder.Scalar(expressed, static_cast<double>(type.storage_max));
  value = builder.Add(Opcode::kClamp, shape, {least, value, most});
  return builder.Convert(builder.Unary(Opcode::kRoundNearestEven, value), StorageType(type));
}

}  // namespace

const QuantizedType* QuantizedElement(const mlir::Type& type) {
  const auto* tensor = type.As<mlir::TensorType>();
  return tensor != nullptr ? tensor->element->As<QuantizedType>() : nullptr;
}

bool IsQuantized(const mlir::Operation& operation) {
  const auto quantized = [](const mlir::Value* value) { return QuantizedElement(*value->type) != nullptr; };
  return std::any_of(operation.operands.begin(), operation.operands.end(), quantized) ||
         std::any_of(operation.results.begin(), operation.results.end(), quantized);
}

absl::Status ValidateQuantized(const QuantizedType& type, absl::Span<const int64_t> dims) {
  const auto* storage = type.storage->As<mlir::IntegerType>();
  if (storage == nullptr || storage->width < 2 || storage->width > 32) {
    return InvalidArgument("the storage type of a quantized type must be an integer of 2 to 32 bits");
  }
  const auto* expressed = type.expressed->As<mlir::FloatType>();
  if (expressed == nullptr || mlir::FloatWidth(expressed->kind) < 16) {
    return InvalidArgument("the expressed type of a quantized type must be bf16, f16, f32 or f64");
  }
  KILN_ASSIGN_OR_RETURN(const PrimitiveType real, ToPrimitiveType(*type.expressed));
  const int64_t least = type.is_signed ? -(int64_t{1} << (storage->width - 1)) : 0;
  const int64_t most = least + (int64_t{1} << storage->width) - 1;
  if (type.storage_min < least || type.storage_max > most || type.storage_min >= type.storage_max) {
    return InvalidArgument("the storage range ", type.storage_min, ":", type.storage_max,
                           " of a quantized type must ascend inside ", least, ":", most);
  }
  if (type.scales.empty() || type.scales.size() != type.zero_points.size()) {
    return InvalidArgument("a quantized type has ", type.scales.size(), " scales and ", type.zero_points.size(),
                           " zero points, expected as many of both");
  }
  for (double scale : type.scales) {
    const double rounded = hlo::ElementAsDouble(hlo::LiteralOf(hlo::Shape::Scalar(real), scale), 0);
    if (!(rounded > 0) || !std::isfinite(rounded)) {
      return InvalidArgument("the scale ", scale,
                             " of a quantized type must be positive and finite in its expressed "
                             "type");
    }
  }
  for (int64_t zero : type.zero_points) {
    if (zero < type.storage_min || zero > type.storage_max) {
      return InvalidArgument("the zero point ", zero, " of a quantized type is outside its storage range ",
                             type.storage_min, ":", type.storage_max);
    }
  }
  if (type.axis < 0) {
    if (type.scales.size() == 1) return absl::OkStatus();
    return InvalidArgument("a quantized type without an axis has ", type.scales.size(), " scales, expected one");
  }
  if (type.axis >= static_cast<int64_t>(dims.size())) {
    return InvalidArgument("the quantized dimension ", type.axis, " is outside a tensor of rank ", dims.size());
  }
  const int64_t size = dims[static_cast<size_t>(type.axis)];
  if (size != mlir::kDynamicSize && size != static_cast<int64_t>(type.scales.size())) {
    return InvalidArgument("the quantized dimension ", type.axis, " of size ", size, " has ", type.scales.size(),
                           " scales");
  }
  return absl::OkStatus();
}

PrimitiveType ViewedElement(const QuantizedView& view, const QuantizedType& type) {
  if (view.form == QuantizedForm::kInteger) return view.accumulator;
  return view.form == QuantizedForm::kExpressed ? ExpressedType(type) : StorageType(type);
}

Instruction* FromStorage(hlo::Builder& builder, Instruction* storage, const QuantizedView& view,
                         const QuantizedType& type) {
  if (view.form == QuantizedForm::kStorage) return storage;
  if (view.form == QuantizedForm::kInteger) {
    return builder.Convert(Centered(builder, storage, type, view.accumulator), view.accumulator);
  }
  const PrimitiveType expressed = ExpressedType(type);
  Instruction* value = builder.Convert(Centered(builder, storage, type, DifferenceType(type)), expressed);
  return builder.Binary(Opcode::kMultiply, value, Spread(builder, type.scales, expressed, value->shape(), type.axis));
}

Instruction* ToStorage(hlo::Builder& builder, Instruction* value, const QuantizedView& view, const QuantizedType& type,
                       const mlir::Operation& operation) {
  if (view.form == QuantizedForm::kStorage) return value;
  if (view.form == QuantizedForm::kInteger) {
    const QuantizedType& lhs = *QuantizedElement(*operation.operands[0]->type);
    std::vector<double> scales = QuantizedElement(*operation.operands[1]->type)->scales;
    for (double& scale : scales) scale *= lhs.scales[0];
    const PrimitiveType expressed = ExpressedType(type);
    // The sum itself, when the result stores any sum in the same unit.
    if (StorageType(type) == view.accumulator && IsWholeRange(type) && !HasZeroPoint(type) &&
        type.axis == view.channel && SameIn(expressed, scales, type.scales)) {
      return value;
    }
    value = builder.Convert(value, expressed);
    value = builder.Binary(Opcode::kMultiply, value, Spread(builder, scales, expressed, value->shape(), view.channel));
  }
  return Quantize(builder, value, type);
}

}  // namespace kiln::stablehlo
