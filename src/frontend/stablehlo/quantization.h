// Quantized tensors, by the StableHLO specification, as integer and float arrays: a value of a quantized type is an
// array of its storage type, and an op over such values either moves storage, or computes on what it means.
#ifndef KILN_FRONTEND_STABLEHLO_QUANTIZATION_H_
#define KILN_FRONTEND_STABLEHLO_QUANTIZATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "src/frontend/mlir/operation.h"
#include "src/hlo/builder.h"

namespace kiln::stablehlo {

// What an op's import sees in place of its quantized operands and results.
enum class QuantizedForm : uint8_t {
  kStorage,    // Integers as they are stored.
  kExpressed,  // Floats: (stored - zero point) * scale, and results quantized again.
  kInteger,    // Exact integers: stored - zero point; results are scaled and quantized. For products and their sums.
};

struct QuantizedView {
  QuantizedForm form = QuantizedForm::kStorage;
  hlo::PrimitiveType accumulator = hlo::PrimitiveType::kInvalid;  // kInteger.
  // kInteger: results carry both operands' scales, the right one's along this dimension of the result; -1 when that is
  // one scale.
  int64_t channel = -1;
};

// The quantized element type of a tensor, or null.
const mlir::QuantizedType* QuantizedElement(const mlir::Type& type);
// True when an operand or a result is a quantized tensor.
bool IsQuantized(const mlir::Operation& operation);

// Checks scales, zero points, storage range and axis of the element type of a tensor of `dims` (kDynamicSize: open).
absl::Status ValidateQuantized(const mlir::QuantizedType& type, absl::Span<const int64_t> dims);

// How an op with quantized operands or results is imported; an error for one that takes none by the specification.
absl::StatusOr<QuantizedView> ChooseView(const mlir::Operation& operation);

// The element type that `view` shows for a value of a quantized type.
hlo::PrimitiveType ViewedElement(const QuantizedView& view, const mlir::QuantizedType& type);

// From storage to what `view` shows of an operand, in the computation that `builder` adds to.
hlo::Instruction* FromStorage(hlo::Builder& builder, hlo::Instruction* storage, const QuantizedView& view,
                              const mlir::QuantizedType& type);
// From the value that an op gave under `view` to the storage of its result type.
hlo::Instruction* ToStorage(hlo::Builder& builder, hlo::Instruction* value, const QuantizedView& view,
                            const mlir::QuantizedType& type, const mlir::Operation& operation);

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_QUANTIZATION_H_
