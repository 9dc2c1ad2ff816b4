// Linear algebra, transforms and normalization.
#include <utility>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

bool IsInexact(PrimitiveType type) { return IsFloating(type) || IsComplex(type); }

absl::Status CheckVectors(const InferenceQuery& query, size_t first, size_t last, int64_t size) {
  for (size_t i = first; i < last; ++i) {
    const Shape& vector = query.operand(i);
    if (vector.rank() != 1 || vector.dimensions(0) != size ||
        vector.element_type() != query.operand(first).element_type()) {
      return query.Fail("operand ", i, " must be a vector of ", size, " ",
                        PrimitiveTypeName(query.operand(first).element_type()), ", got ", vector.ToString(false));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSquare(const InferenceQuery& query, const Shape& matrix) {
  if (!IsInexact(matrix.element_type())) {
    return query.Fail("takes floating-point or complex numbers, got ", matrix.ToString(false));
  }
  if (matrix.rank() < 2 || matrix.dimensions(matrix.rank() - 1) != matrix.dimensions(matrix.rank() - 2)) {
    return query.Fail("takes square matrices, got ", matrix.ToString(false));
  }
  return absl::OkStatus();
}

}  // namespace

// training: x, scale, offset -> (y, mean, variance); inference: x, scale, offset, mean, variance -> y;
// grad: x, scale, mean, variance, dy -> (dx, dscale, doffset)
absl::StatusOr<Shape> InferBatchNorm(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const auto& attributes = query.Get<BatchNormAttributes>();
  if (!IsInexact(operand.element_type())) {
    return query.Fail("takes floating-point numbers, got ", operand.ToString(false));
  }
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, {attributes.feature_index}, operand.rank(), "feature_index"));
  const int64_t features = operand.dimensions(attributes.feature_index);
  const bool grad = query.opcode == Opcode::kBatchNormGrad;
  KILN_RETURN_IF_ERROR(CheckVectors(query, 1, grad ? 4 : query.operands.size(), features));
  if (grad && (!Shape::SameDimensions(query.operand(4), operand) ||
               query.operand(4).element_type() != operand.element_type())) {
    return query.Fail("the output gradient ", query.operand(4).ToString(false), " must be ", operand.ToString(false));
  }
  Shape result(operand.element_type(), operand.dimensions());
  if (query.opcode == Opcode::kBatchNormInference) return result;
  const Shape vector(query.operand(1).element_type(), {features});
  return Shape::Tuple({std::move(result), vector, vector});
}

absl::StatusOr<Shape> InferCholesky(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckSquare(query, query.operand(0)));
  return InferShuffle(query);
}

absl::StatusOr<Shape> InferShuffle(const InferenceQuery& query) {
  return Shape(query.operand(0).element_type(), query.operand(0).dimensions());
}

absl::StatusOr<Shape> InferTriangularSolve(const InferenceQuery& query) {
  const Shape& a = query.operand(0);
  const Shape& b = query.operand(1);
  KILN_RETURN_IF_ERROR(CheckSquare(query, a));
  bool fits = a.rank() == b.rank() && a.element_type() == b.element_type();
  for (int64_t i = 0; fits && i + 2 < a.rank(); ++i) fits = a.dimensions(i) == b.dimensions(i);
  if (fits) {
    const int64_t shared = b.rank() - (query.Get<TriangularSolveAttributes>().left_side ? 2 : 1);
    fits = b.dimensions(shared) == a.dimensions(a.rank() - 1);
  }
  if (!fits) return query.Fail("the sides ", a.ToString(false), " and ", b.ToString(false), " do not fit");
  return Shape(b.element_type(), b.dimensions());
}

absl::StatusOr<Shape> InferFft(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const auto& fft = query.Get<FftAttributes>();
  const int64_t count = static_cast<int64_t>(fft.length.size());
  if (count < 1 || count > 3 || count > operand.rank()) {
    return query.Fail("transforms 1 to 3 dimensions; fft_length has ", count, " for ", operand.ToString(false));
  }
  const PrimitiveType type = operand.element_type();
  const bool real_input = fft.type == FftType::kRfft;
  if (real_input ? type != PrimitiveType::kF32 && type != PrimitiveType::kF64 : !IsComplex(type)) {
    return query.Fail("takes ", real_input ? "f32 or f64" : "complex numbers", ", got ", operand.ToString(false));
  }
  DimensionVector sizes = operand.dimensions();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = fft.length[i];
    int64_t& size = sizes[operand.rank() - count + i];
    if (length < 0) return query.Fail("negative fft_length");
    const bool last = i + 1 == count;
    // Of no element there is one frequency, or none.
    const bool halved = fft.type == FftType::kIrfft && last && (length > 0 || size > 0);
    const int64_t expected = halved ? length / 2 + 1 : length;
    if (size != expected) {
      return query.Fail("fft_length ", length, " needs dimension ", operand.rank() - count + i, " of size ", expected,
                        ", got ", operand.ToString(false));
    }
    if (last && fft.type == FftType::kRfft && length > 0) size = length / 2 + 1;
    if (last && fft.type == FftType::kIrfft) size = length;
  }
  PrimitiveType result = type;
  if (real_input) result = type == PrimitiveType::kF32 ? PrimitiveType::kC64 : PrimitiveType::kC128;
  if (fft.type == FftType::kIrfft) result = ComplexComponentType(type);
  return Shape(result, sizes);
}

}  // namespace kiln::hlo
