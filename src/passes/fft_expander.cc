#include "src/passes/fft_expander.h"

#include <algorithm>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/passes/array_value.h"
#include "src/passes/matrix_stack.h"
#include "src/passes/replace_ops.h"
#include "src/passes/roots_of_unity.h"

namespace kiln::passes {
namespace {

// Lengths up to this one are one matrix product, and no factor is larger.
constexpr int64_t kMaxFactor = 64;
// A length without small factors is still one product up to this one.
constexpr int64_t kMaxPrimeFactor = 128;
// The factors of a long length lie around this one.
constexpr int64_t kGoodFactor = 32;
// Tables of more entries are computed by the program.
constexpr int64_t kMaxTable = int64_t{1} << 18;
// Bluestein's tables cannot be; a length past this one is refused.
constexpr int64_t kMaxBluestein = int64_t{1} << 22;

// A factor of n of at most kMaxFactor such that the others can be about as large; 1 when there is none.
int64_t FactorOf(int64_t n) {
  int levels = 1;
  for (int64_t reach = kGoodFactor; reach < n; reach *= kGoodFactor) ++levels;
  int64_t best = 1;
  for (int64_t factor = 2; factor <= kMaxFactor; ++factor) {
    if (n % factor != 0) continue;
    best = factor;
    double power = 1;
    for (int i = 0; i < levels; ++i) power *= static_cast<double>(factor);
    if (power >= static_cast<double>(n)) break;
  }
  return best;
}

ArrayValue Constant(const ArrayValue& like, Literal literal) {
  return {like.builder(), like.builder()->Constant(std::move(literal))};
}

// x times the table of x's dimensions [rows, columns] (all but the first) of roots r c / n.
ArrayValue Twiddle(const ArrayValue& x, int64_t n, bool inverse) {
  const int64_t rows = x.shape().dimensions(1), columns = x.shape().dimensions(2);
  const DimensionVector& dimensions = x.shape().dimensions();
  if (n <= kMaxTable) {
    return x * Constant(x, RootTable(x.type(), rows, columns, n, inverse)).Broadcast(dimensions, {1, 2});
  }
  const DimensionVector table = {rows, columns};
  const ArrayValue k =
      Iota(x.builder(), PrimitiveType::kS64, table, 0) * Iota(x.builder(), PrimitiveType::kS64, table, 1);
  const ArrayValue turns = k.Convert(PrimitiveType::kF64);
  const ArrayValue angle = turns * turns.Number((inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n));
  const PrimitiveType part = hlo::ComplexComponentType(x.type());
  const ArrayValue roots(x.builder(), x.builder()->Add(Opcode::kComplex, Shape(x.type(), table),
                                                       {angle.Unary(Opcode::kCos).Convert(part).instruction(),
                                                        angle.Unary(Opcode::kSin).Convert(part).instruction()}));
  return x * roots.Broadcast(dimensions, {1, 2});
}

absl::StatusOr<ArrayValue> TransformRows(const ArrayValue& x, bool inverse);

// As a convolution: with the chirp w, X[k] = w[k] sum_j (x[j] w[j]) conj(w[k - j]).
absl::StatusOr<ArrayValue> Bluestein(const ArrayValue& x, bool inverse) {
  const int64_t rows = x.shape().dimensions(0), n = x.shape().dimensions(1);
  if (n > kMaxBluestein) {
    return Unimplemented("a transform of length ", n, ", which has no factor of at most ", kMaxFactor,
                         "; such lengths are supported up to ", kMaxBluestein);
  }
  int64_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  const std::vector<std::complex<double>> chirp = Chirp(n, inverse);
  std::vector<std::complex<double>> kernel(size);
  for (int64_t k = 0; k < n; ++k) kernel[k] = kernel[(size - k) % size] = std::conj(chirp[k]);
  kernel = Transformed(std::move(kernel));
  for (std::complex<double>& value : kernel) value /= static_cast<double>(size);
  const ArrayValue w = Constant(x, ComplexLiteral(x.type(), chirp)).Broadcast({rows, n}, {1});
  KILN_ASSIGN_OR_RETURN(ArrayValue spectrum, TransformRows((x * w).PadHigh({rows, size}, ZeroOf(x)), false));
  spectrum = spectrum * Constant(x, ComplexLiteral(x.type(), kernel)).Broadcast({rows, size}, {1});
  KILN_ASSIGN_OR_RETURN(ArrayValue convolved, TransformRows(spectrum, true));
  return convolved.Slice(1, 0, n) * w;
}

// The transform of every row of x, not scaled. The length is at least 1.
absl::StatusOr<ArrayValue> TransformRows(const ArrayValue& x, bool inverse) {
  const int64_t rows = x.shape().dimensions(0), n = x.shape().dimensions(1);
  if (n == 1) return x;
  const int64_t factor = n <= kMaxFactor ? n : FactorOf(n);
  if (factor == n || (factor == 1 && n <= kMaxPrimeFactor)) {
    return BatchedDot(x, Constant(x, RootTable(x.type(), n, n, n, inverse)), 0, 1, 0);
  }
  if (factor == 1) return Bluestein(x, inverse);
  // Of element j = j1 rest + j2 to k = k1 + factor k2: sum over j1, turn by j2 k1, sum over j2.
  const int64_t rest = n / factor;
  const ArrayValue by_j1 = x.Reshape({rows, factor, rest}).Transpose({0, 2, 1}).Reshape({rows * rest, factor});
  KILN_ASSIGN_OR_RETURN(ArrayValue inner, TransformRows(by_j1, inverse));
  const ArrayValue turned = Twiddle(inner.Reshape({rows, rest, factor}), n, inverse);
  KILN_ASSIGN_OR_RETURN(ArrayValue outer,
                        TransformRows(turned.Transpose({0, 2, 1}).Reshape({rows * factor, rest}), inverse));
  return outer.Reshape({rows, factor, rest}).Transpose({0, 2, 1}).Reshape({rows, n});
}

// Along one dimension; the inverse is scaled.
absl::StatusOr<ArrayValue> Transform(const ArrayValue& x, int64_t dimension, bool inverse) {
  const DimensionVector& dimensions = x.shape().dimensions();
  const int64_t rank = x.shape().rank(), n = dimensions[dimension];
  // The dimension last; a swap is its own inverse.
  DimensionVector permutation, swapped = dimensions;
  for (int64_t d = 0; d < rank; ++d) permutation.push_back(d);
  std::swap(permutation[dimension], permutation[rank - 1]);
  std::swap(swapped[dimension], swapped[rank - 1]);
  const int64_t rows = x.shape().element_count() / n;
  KILN_ASSIGN_OR_RETURN(ArrayValue result, TransformRows(x.Transpose(permutation).Reshape({rows, n}), inverse));
  if (inverse) result = result * result.Number(1.0 / static_cast<double>(n));
  return result.Reshape(swapped).Transpose(permutation);
}

// The whole spectrum of real values, from the first half of it along the last dimension. What must be real is taken so.
ArrayValue WholeSpectrum(const ArrayValue& half, int64_t length) {
  const int64_t last = half.shape().rank() - 1, kept = length / 2 + 1;
  const ArrayValue place = Iota(half.builder(), PrimitiveType::kS64, half.shape().dimensions(), last);
  auto is = [&](int64_t k) { return place == place.Number(k); };
  const ArrayValue real = FromReal(RealPart(half), half);
  const ArrayValue given = Select(length % 2 == 0 ? is(0) | is(length / 2) : is(0), real, half);
  if (length == kept) return given;
  ArrayValue mirrored = Conjugate(given.Slice(last, 1, length - kept + 1));
  mirrored = {half.builder(), half.builder()->Add(Opcode::kReverse, mirrored.shape(), {mirrored.instruction()},
                                                  hlo::DimensionsAttributes{{last}})};
  return Concatenate({given, mirrored}, last);
}

absl::StatusOr<Instruction*> ExpandFft(Instruction* instruction) {
  const auto& attributes = instruction->Get<hlo::FftAttributes>();
  const Shape& shape = instruction->shape();
  Builder builder(instruction->parent(), instruction);
  ArrayValue value(&builder, instruction->operand(0));
  if (shape.element_count() == 0 || value.shape().element_count() == 0) return builder.Splat(shape, 0.0);
  const int64_t rank = shape.rank(), first = rank - static_cast<int64_t>(attributes.length.size());
  auto transform = [&](int64_t dimension, bool inverse) -> absl::Status {
    absl::StatusOr<ArrayValue> result = Transform(value, dimension, inverse);
    KILN_RETURN_IF_ERROR(Annotate(result.status(), instruction->Describe()));
    value = *result;
    return absl::OkStatus();
  };
  const bool to_real = attributes.type == hlo::FftType::kIrfft;
  const bool inverse = to_real || attributes.type == hlo::FftType::kIfft;
  // The real side is the last dimension: transformed before the others when it is the input, after them otherwise.
  if (attributes.type == hlo::FftType::kRfft) {
    value = value.Convert(shape.element_type());
    KILN_RETURN_IF_ERROR(transform(rank - 1, inverse));
    value = value.Slice(rank - 1, 0, shape.dimensions(rank - 1));
    for (int64_t d = first; d < rank - 1; ++d) KILN_RETURN_IF_ERROR(transform(d, inverse));
    return value.instruction();
  }
  for (int64_t d = first; d < rank - 1; ++d) KILN_RETURN_IF_ERROR(transform(d, inverse));
  if (to_real) value = WholeSpectrum(value, shape.dimensions(rank - 1));
  KILN_RETURN_IF_ERROR(transform(rank - 1, inverse));
  return (to_real ? RealPart(value) : value).instruction();
}

}  // namespace

absl::StatusOr<bool> ExpandFfts(Module* module) { return ReplaceOps(module, {Opcode::kFft}, ExpandFft); }

}  // namespace kiln::passes
