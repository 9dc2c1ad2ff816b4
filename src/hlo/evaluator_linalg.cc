// cholesky and triangular-solve, by the textbook, in long double.
#include <cmath>
#include <limits>
#include <utility>

#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_sums.h"

namespace kiln::hlo::evaluator {
namespace {

using Wide = long double;
using WideComplex = std::complex<long double>;

Wide Conjugate(Wide x) { return x; }
WideComplex Conjugate(WideComplex z) { return std::conj(z); }
Wide RealPart(Wide x) { return x; }
Wide RealPart(WideComplex z) { return z.real(); }

template <typename T>
void StoreAll(const std::vector<T>& values, Literal* literal) {
  const PrimitiveType type = literal->shape().element_type();
  std::byte* out = literal->mutable_bytes().data();
  for (size_t i = 0; i < values.size(); ++i) StoreSum(type, values[i], out + static_cast<int64_t>(i) * ByteWidth(type));
}

// Lower factor of the n by n matrix whose lower triangle is given; false when it is not positive definite.
template <typename T>
bool Factorize(int64_t n, T* a) {
  for (int64_t j = 0; j < n; ++j) {
    Wide diagonal = RealPart(a[j * n + j]);
    for (int64_t k = 0; k < j; ++k) diagonal -= RealPart(a[j * n + k] * Conjugate(a[j * n + k]));
    if (!(diagonal > 0)) return false;
    const Wide root = std::sqrt(diagonal);
    a[j * n + j] = T(root);
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * Conjugate(a[j * n + k]);
      a[i * n + j] = sum / root;
    }
  }
  return true;
}

// The other triangle of the result is 0; a matrix that is not positive definite gives NaN throughout its triangle.
template <typename T>
absl::Status CholeskyOf(Evaluation& evaluation, bool lower, const Literal& operand, Literal* result) {
  const Shape& shape = operand.shape();
  const int64_t n = shape.dimensions(shape.rank() - 1);
  const int64_t matrices = shape.element_count() / (n * n);
  const std::vector<T> values = WidenAll<T>(operand);
  std::vector<T> factors(values.size());
  std::vector<T> work(n * n);
  for (int64_t m = 0; m < matrices; ++m) {
    KILN_RETURN_IF_ERROR(evaluation.Charge(n * n * n));
    const T* a = values.data() + m * n * n;
    T* out = factors.data() + m * n * n;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) work[i * n + j] = lower ? a[i * n + j] : Conjugate(a[j * n + i]);
    }
    const bool definite = Factorize(n, work.data());
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const T value = definite ? work[i * n + j] : T(std::numeric_limits<Wide>::quiet_NaN());
        if (lower) {
          out[i * n + j] = value;
        } else {
          out[j * n + i] = Conjugate(value);
        }
      }
    }
  }
  StoreAll(factors, result);
  return absl::OkStatus();
}

absl::StatusOr<Literal> Cholesky(Evaluation& evaluation, const Instruction& instruction, const Literal& operand) {
  const auto& attributes = instruction.Get<CholeskyAttributes>();
  const PrimitiveType type = operand.shape().element_type();
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(instruction.shape()));
  if (operand.element_count() == 0) return result;
  KILN_RETURN_IF_ERROR(IsComplex(type) ? CholeskyOf<WideComplex>(evaluation, attributes.lower, operand, &result)
                                       : CholeskyOf<Wide>(evaluation, attributes.lower, operand, &result));
  return result;
}

template <typename T>
absl::Status SolveAll(Evaluation& evaluation, const TriangularSolveAttributes& attributes, const Literal& a_literal,
                      const Literal& b_literal, Literal* result) {
  const Shape& b_shape = b_literal.shape();
  const int64_t n = a_literal.shape().dimensions(a_literal.shape().rank() - 1);
  const int64_t rows = b_shape.dimensions(b_shape.rank() - 2), columns = b_shape.dimensions(b_shape.rank() - 1);
  const int64_t matrices = a_literal.element_count() / (n * n);
  const std::vector<T> a_values = WidenAll<T>(a_literal);
  std::vector<T> x = WidenAll<T>(b_literal);
  const bool transposed = attributes.transpose_a != TransposeKind::kNoTranspose;
  const bool conjugated = attributes.transpose_a == TransposeKind::kAdjoint;
  for (int64_t m = 0; m < matrices; ++m) {
    KILN_RETURN_IF_ERROR(evaluation.Charge(n * rows * columns));
    // op(A); X op(A) = B is solved as op(A)^T X^T = B^T.
    const T* a = a_values.data() + m * n * n;
    auto entry = [&](int64_t i, int64_t j) {
      if (!attributes.left_side) std::swap(i, j);
      if (transposed) std::swap(i, j);
      if (i == j && attributes.unit_diagonal) return T(1);
      return conjugated ? Conjugate(a[i * n + j]) : a[i * n + j];
    };
    const bool lower = attributes.lower != transposed ? attributes.left_side : !attributes.left_side;
    T* b = x.data() + m * rows * columns;
    const int64_t systems = attributes.left_side ? columns : rows;
    for (int64_t s = 0; s < systems; ++s) {
      auto unknown = [&](int64_t i) -> T& { return attributes.left_side ? b[i * columns + s] : b[s * columns + i]; };
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = lower ? step : n - 1 - step;
        T sum = unknown(i);
        for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) sum -= entry(i, j) * unknown(j);
        unknown(i) = sum / entry(i, i);
      }
    }
  }
  StoreAll(x, result);
  return absl::OkStatus();
}

absl::StatusOr<Literal> TriangularSolve(Evaluation& evaluation, const Instruction& instruction, const Literal& a,
                                        const Literal& b) {
  const auto& attributes = instruction.Get<TriangularSolveAttributes>();
  const PrimitiveType type = a.shape().element_type();
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(instruction.shape()));
  if (b.element_count() == 0) return result;
  KILN_RETURN_IF_ERROR(IsComplex(type) ? SolveAll<WideComplex>(evaluation, attributes, a, b, &result)
                                       : SolveAll<Wide>(evaluation, attributes, a, b, &result));
  return result;
}

}  // namespace

absl::StatusOr<Literal> EvaluateLinearAlgebra(Evaluation& evaluation, const Instruction& instruction,
                                              Operands& operands) {
  switch (instruction.opcode()) {
    case Opcode::kCholesky: return Cholesky(evaluation, instruction, operands[0]);
    case Opcode::kTriangularSolve: return TriangularSolve(evaluation, instruction, operands[0], operands[1]);
    default:
      return Unimplemented(instruction.Describe(), ": the evaluator has no rule for ",
                           OpcodeName(instruction.opcode()));
  }
}

}  // namespace kiln::hlo::evaluator
