// Linear algebra, transforms, batch normalization and random numbers.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::Opcode;

absl::Status ImportCholesky(OpImport& op) {
  hlo::CholeskyAttributes cholesky;
  KILN_ASSIGN_OR_RETURN(cholesky.lower, op.Bool("lower", false));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  return op.Define(op.Add(Opcode::kCholesky, std::move(shape), op.operands(), cholesky));
}

absl::Status ImportTriangularSolve(OpImport& op) {
  hlo::TriangularSolveAttributes solve;
  KILN_ASSIGN_OR_RETURN(solve.left_side, op.Bool("left_side"));
  KILN_ASSIGN_OR_RETURN(solve.lower, op.Bool("lower"));
  KILN_ASSIGN_OR_RETURN(solve.unit_diagonal, op.Bool("unit_diagonal"));
  KILN_ASSIGN_OR_RETURN(const absl::string_view transpose, op.Enum("transpose_a"));
  if (transpose == "NO_TRANSPOSE") {
    solve.transpose_a = hlo::TransposeKind::kNoTranspose;
  } else if (transpose == "TRANSPOSE") {
    solve.transpose_a = hlo::TransposeKind::kTranspose;
  } else if (transpose == "ADJOINT") {
    solve.transpose_a = hlo::TransposeKind::kAdjoint;
  } else {
    return op.Invalid("unknown transpose_a ", transpose);
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  return op.Define(op.Add(Opcode::kTriangularSolve, std::move(shape), op.operands(), solve));
}

absl::Status ImportFft(OpImport& op) {
  hlo::FftAttributes fft;
  KILN_ASSIGN_OR_RETURN(const absl::string_view type, op.Enum("fft_type"));
  if (type == "FFT") {
    fft.type = hlo::FftType::kFft;
  } else if (type == "IFFT") {
    fft.type = hlo::FftType::kIfft;
  } else if (type == "RFFT") {
    fft.type = hlo::FftType::kRfft;
  } else if (type == "IRFFT") {
    fft.type = hlo::FftType::kIrfft;
  } else {
    return op.Invalid("unknown fft_type ", type);
  }
  KILN_ASSIGN_OR_RETURN(fft.length, op.Integers("fft_length"));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  return op.Define(op.Add(Opcode::kFft, std::move(shape), op.operands(), std::move(fft)));
}

// The shape operand says what the result type says, unless that is open.
absl::Status ImportRng(OpImport& op) {
  hlo::RngAttributes rng;
  KILN_ASSIGN_OR_RETURN(const absl::string_view distribution, op.Enum("rng_distribution"));
  if (distribution == "NORMAL") {
    rng.distribution = hlo::RngDistribution::kNormal;
  } else if (distribution != "UNIFORM") {
    return op.Invalid("unknown rng_distribution ", distribution);
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  if (IsOpen(shape)) {
    KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector sizes, op.ConstantOperand(2, "shape"));
    KILN_ASSIGN_OR_RETURN(shape, op.ResultOfSizes(sizes));
  }
  return op.Define(op.Add(Opcode::kRng, std::move(shape), {op.operand(0), op.operand(1)}, rng));
}

absl::Status ImportBatchNorm(OpImport& op) {
  hlo::BatchNormAttributes norm;
  const std::optional<double> epsilon = mlir::AsDouble(op.attribute("epsilon"));
  if (!epsilon.has_value()) return op.Invalid("attribute epsilon must be a float");
  norm.epsilon = static_cast<float>(*epsilon);
  KILN_ASSIGN_OR_RETURN(norm.feature_index, op.Integer("feature_index"));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShapes());
  return op.DefineTuple(op.Add(op.row().opcode, std::move(shape), op.operands(), norm));
}

constexpr OpRow kRows[] = {
    {"stablehlo.batch_norm_grad", ImportBatchNorm, 5, 3, 0, Opcode::kBatchNormGrad},
    {"stablehlo.batch_norm_inference", ImportBatchNorm, 5, 1, 0, Opcode::kBatchNormInference},
    {"stablehlo.batch_norm_training", ImportBatchNorm, 3, 3, 0, Opcode::kBatchNormTraining},
    {"stablehlo.cholesky", ImportCholesky, 1},
    {"stablehlo.fft", ImportFft, 1},
    {"stablehlo.rng", ImportRng, 3},
    {"stablehlo.rng_bit_generator", ImportRngBitGenerator, 1, 2},
    {"stablehlo.triangular_solve", ImportTriangularSolve, 2},
};

}  // namespace

absl::Status ImportRngBitGenerator(OpImport& op) {
  hlo::RngAttributes rng;
  KILN_ASSIGN_OR_RETURN(const absl::string_view algorithm, op.Enum("rng_algorithm"));
  if (algorithm == "THREE_FRY") {
    rng.algorithm = hlo::RngAlgorithm::kThreeFry;
  } else if (algorithm == "PHILOX") {
    rng.algorithm = hlo::RngAlgorithm::kPhilox;
  } else if (algorithm != "DEFAULT") {
    return op.Invalid("unknown rng_algorithm ", algorithm);
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShapes());
  if (op.operand_count() == 2 && op.result_count() == 2) {
    KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector sizes, op.ConstantOperand(1, "the shape"));
    KILN_ASSIGN_OR_RETURN(hlo::Shape bits, op.ResultOfSizes(sizes, 1));
    shape = hlo::Shape::Tuple({op.operand_shape(0), std::move(bits)});
  }
  return op.DefineTuple(op.Add(Opcode::kRngBitGenerator, std::move(shape), {op.operand(0)}, rng));
}

absl::Span<const OpRow> LinearAlgebraOps() { return kRows; }

}  // namespace kiln::stablehlo
