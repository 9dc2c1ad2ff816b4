// fft of the four kinds and any length: recursion over the prime factors of the length, in long double.
#include <cmath>
#include <utility>

#include "src/hlo/elements.h"
#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {
namespace {

using WideComplex = std::complex<long double>;

int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// The discrete transform of n values `step` apart: out[k] = sum_j in[j] w^(jk), w = roots[root_step] the n-th root.
void Transform(int64_t n, const WideComplex* in, int64_t step, const std::vector<WideComplex>& roots, int64_t root_step,
               WideComplex* out) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const int64_t p = SmallestFactor(n), m = n / p;
  std::vector<WideComplex> parts(n);
  for (int64_t q = 0; q < p; ++q) Transform(m, in + q * step, step * p, roots, root_step * p, parts.data() + q * m);
  for (int64_t k = 0; k < n; ++k) {
    WideComplex sum = 0;
    for (int64_t q = 0; q < p; ++q) sum += parts[q * m + k % m] * roots[(q * k % n) * root_step];
    out[k] = sum;
  }
}

// In place along one dimension of an array of these dimensions.
absl::Status TransformDimension(Evaluation& evaluation, std::vector<WideComplex>* values,
                                const DimensionVector& dimensions, int64_t dimension, bool inverse) {
  const int64_t n = dimensions[dimension];
  const int64_t stride = StridesOf(dimensions)[dimension];
  const int64_t lines = static_cast<int64_t>(values->size()) / n;
  std::vector<WideComplex> roots(n), line(n), transformed(n);
  const long double turn = 2 * acosl(-1.0L) / static_cast<long double>(n);
  for (int64_t k = 0; k < n; ++k) {
    const long double angle = turn * static_cast<long double>(k);
    roots[k] = WideComplex(cosl(angle), inverse ? sinl(angle) : -sinl(angle));
  }
  // Exact where the angle is a multiple of a quarter turn.
  roots[0] = WideComplex(1, 0);
  if (n % 2 == 0) roots[n / 2] = WideComplex(-1, 0);
  if (n % 4 == 0) roots[n / 4] = WideComplex(0, inverse ? 1 : -1), roots[3 * n / 4] = WideComplex(0, inverse ? -1 : 1);
  int64_t factors = 0;
  for (int64_t rest = n; rest > 1;) {
    const int64_t p = SmallestFactor(rest);
    factors += p;
    rest /= p;
  }
  for (int64_t l = 0; l < lines; ++l) {
    KILN_RETURN_IF_ERROR(evaluation.Charge(factors > (int64_t{1} << 40) / n ? int64_t{1} << 40 : n * factors));
    WideComplex* first = values->data() + l / stride * stride * n + l % stride;
    for (int64_t i = 0; i < n; ++i) line[i] = first[i * stride];
    Transform(n, line.data(), 1, roots, 1, transformed.data());
    for (int64_t i = 0; i < n; ++i) {
      first[i * stride] = inverse ? transformed[i] / static_cast<long double>(n) : transformed[i];
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Literal> EvaluateFft(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<FftAttributes>();
  const Literal& operand = operands[0];
  const Shape& shape = operand.shape();
  const Shape& result_shape = instruction.shape();
  const int64_t rank = shape.rank(), transformed = static_cast<int64_t>(attributes.length.size());
  const bool real_input = attributes.type == FftType::kRfft, real_output = attributes.type == FftType::kIrfft;
  // The dimensions of the complex transform between the real sides.
  DimensionVector full = shape.dimensions();
  for (int64_t i = 0; i < transformed; ++i) full[rank - transformed + i] = attributes.length[i];
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(result_shape));
  if (result_shape.element_count() == 0 || shape.element_count() == 0) return result;
  KILN_RETURN_IF_ERROR(ValidateShape(Shape(PrimitiveType::kC128, full)));
  const int64_t total = Shape(PrimitiveType::kC128, full).element_count();
  KILN_RETURN_IF_ERROR(evaluation.Charge(total));
  const int64_t last = full[rank - 1], operand_last = shape.dimensions(rank - 1);
  const PrimitiveType type = shape.element_type(), result_type = result_shape.element_type();
  std::vector<WideComplex> values(total);
  for (int64_t row = 0; row < total / last; ++row) {
    for (int64_t i = 0; i < operand_last; ++i) {
      const std::byte* element = operand.bytes().data() + (row * operand_last + i) * ByteWidth(type);
      values[row * last + i] = real_input ? WideComplex(LoadElement<double>(type, element), 0)
                                          : WideComplex(LoadElement<Complex>(type, element));
    }
  }
  const bool inverse = attributes.type == FftType::kIfft || real_output;
  for (int64_t i = 0; i < transformed; ++i) {
    const int64_t d = rank - transformed + i;
    if (real_output && d == rank - 1) {
      // The half that is not given is the conjugate of the other; what must be real is taken as real.
      for (int64_t row = 0; row < total / last; ++row) {
        WideComplex* line = values.data() + row * last;
        line[0].imag(0);
        if (last % 2 == 0) line[last / 2].imag(0);
        for (int64_t k = operand_last; k < last; ++k) line[k] = std::conj(line[last - k]);
      }
    }
    KILN_RETURN_IF_ERROR(TransformDimension(evaluation, &values, full, d, inverse));
  }
  const int64_t result_last = result_shape.dimensions(rank - 1);
  std::byte* out = result.mutable_bytes().data();
  for (int64_t row = 0; row < total / last; ++row) {
    for (int64_t i = 0; i < result_last; ++i, out += ByteWidth(result_type)) {
      const WideComplex value = values[row * last + i];
      if (real_output) {
        StoreReal(result_type, value.real(), out);
      } else {
        const Complex stored(value);
        StoreElements(result_type, &stored, 1, out);
      }
    }
  }
  return result;
}

}  // namespace kiln::hlo::evaluator
