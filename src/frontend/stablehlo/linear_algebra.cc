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
  return op.Finish(Opcode::kCholesky, op.operands(), cholesky);
}

absl::Status ImportTriangularSolve(OpImport& op) {
  hlo::TriangularSolveAttributes solve;
  KILN_ASSIGN_OR_RETURN(solve.left_side, op.Bool("left_side"));
  KILN_ASSIGN_OR_RETURN(solve.lower, op.Bool("lower"));
  KILN_ASSIGN_OR_RETURN(solve.unit_diagonal, op.Bool("unit_diagonal"));
  KILN_ASSIGN_OR_RETURN(solve.transpose_a, op.EnumOf("transpose_a", hlo::kTransposeKindNames));
  return op.Finish(Opcode::kTriangularSolve, op.operands(), solve);
}

absl::Status ImportFft(OpImport& op) {
  hlo::FftAttributes fft;
  KILN_ASSIGN_OR_RETURN(fft.type, op.EnumOf("fft_type", hlo::kFftTypeNames));
  KILN_ASSIGN_OR_RETURN(fft.length, op.Integers("fft_length"));
  return op.Finish(Opcode::kFft, op.operands(), std::move(fft));
}

// The shape operand says what the result type says, unless that is open.
absl::Status ImportRng(OpImport& op) {
  hlo::RngAttributes rng;
  KILN_ASSIGN_OR_RETURN(rng.distribution, op.EnumOf("rng_distribution", hlo::kRngDistributionNames));
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
  return op.Finish(op.row().opcode, op.operands(), norm);
}

constexpr OpRow kLinearAlgebraOps[] = {
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
  KILN_ASSIGN_OR_RETURN(rng.algorithm, op.EnumOf("rng_algorithm", hlo::kRngAlgorithmNames));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShapes());
  if (op.operand_count() == 2 && op.result_count() == 2) {
    KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector sizes, op.ConstantOperand(1, "the shape"));
    KILN_ASSIGN_OR_RETURN(hlo::Shape bits, op.ResultOfSizes(sizes, 1));
    shape = hlo::Shape::Tuple({op.operand_shape(0), std::move(bits)});
  }
  return op.DefineTuple(op.Add(Opcode::kRngBitGenerator, std::move(shape), {op.operand(0)}, rng));
}

absl::Span<const OpRow> LinearAlgebraOps() { return kLinearAlgebraOps; }

}  // namespace kiln::stablehlo
